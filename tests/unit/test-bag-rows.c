/* SPDX-License-Identifier: MIT */
/* Rows of several runs, many of one time: in order from the first, the last, and any time between.
 */
#include "gst/mcap/bag/bag-rows.h"

/* More than three runs. */
#define N 200000

static void
test_order (void)
{
  g_autoptr (BagRows) rows = bag_rows_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  static const gint64 starts[] = {G_MININT64, 0, 1, 500, 999, 1000, G_MAXINT64};
  guint counts[1001] = {0};

  for (gint64 i = 0; i < N; i++) {
    const gint64 time = g_rand_int_range (rand, 0, 1000);
    bag_rows_add (rows, &(BagRow){time, N - i, i % 7});
    counts[time]++;
  }
  for (guint s = 0; s < G_N_ELEMENTS (starts); s++) {
    BagRow row, last = {-1, 0, 0};
    guint n = 0, expected = 0;
    for (gint64 time = MAX (starts[s], 0); time < 1000; time++)
      expected += counts[time];
    bag_rows_seek (rows, starts[s]);
    for (; bag_rows_next (rows, &row); n++) {
      g_assert_cmpint (row.time, >=, starts[s]);
      g_assert_true (row.time > last.time || (row.time == last.time && row.id > last.id));
      g_assert_cmpint (row.topic, ==, (N - row.id) % 7);
      last = row;
    }
    g_assert_cmpuint (n, ==, expected);
  }
}

static void
test_none (void)
{
  g_autoptr (BagRows) rows = bag_rows_new ();
  BagRow row;

  bag_rows_seek (rows, 0);
  g_assert_false (bag_rows_next (rows, &row));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bag-rows/order", test_order);
  g_test_add_func ("/bag-rows/none", test_none);
  return g_test_run ();
}
