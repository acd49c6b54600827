/* SPDX-License-Identifier: MIT */
/* A compiled residual takes at most three times as long as the same one written by hand, in the
 * same run: the best of several rounds of each in turn, with more while the limit is not kept. */
#include <string.h>

#include "hand-residual.h"

#define N_ROWS 5000
#define LIMIT 3.0
#define ROUNDS 200

static gint64
best_of (const NdtExprProgram *program, const NdtPose *pose, const NdtExprRows *rows, gint64 best)
{
  double gradient[6], cost;
  const gint64 start = g_get_monotonic_time ();
  for (guint i = 0; i < 10; i++) {
    cost = program ? ndt_expr_evaluate (
                         program, (const double *)(gconstpointer)pose, rows, NULL, gradient, NULL)
                   : hand_evaluate (pose, rows, gradient);
    g_assert_cmpfloat (cost, >, 0);
  }
  return MIN (best, g_get_monotonic_time () - start);
}

static void
test_speed (void)
{
  const NdtPose pose = {{1, 2, 3}, {0, 0, 0.6, 0.8}};
  g_autofree double *data = hand_data (N_ROWS, &pose, 5);
  g_autoptr (NdtExprProgram) program = hand_program ();
  const double *columns[HAND_COLUMNS];
  gint64 compiled = G_MAXINT64, by_hand = G_MAXINT64;

  if (g_getenv ("NDT_TEST_SANITIZER")) {
    g_test_skip ("a sanitizer slows both in its own way");
    return;
  }
  for (guint i = 0; i < HAND_COLUMNS; i++)
    columns[i] = data + i * N_ROWS;
  const NdtExprRows rows = {N_ROWS, columns};
  for (guint i = 0; i < ROUNDS && (i < 10 || compiled > LIMIT * by_hand); i++) {
    compiled = best_of (program, &pose, &rows, compiled);
    by_hand = best_of (NULL, &pose, &rows, by_hand);
  }
  g_test_message ("value and gradient over %u rows: %.1f us compiled, %.1f us by hand", N_ROWS,
      compiled / 10.0, by_hand / 10.0);
  g_assert_cmpint (compiled, <=, LIMIT * by_hand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/expression/speed", test_speed);
  return g_test_run ();
}
