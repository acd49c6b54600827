/* SPDX-License-Identifier: MIT */
/* Drives whose scans do not tell how far along the vehicle is, with priors as GNSS gives them: off
 * by half a metre, or by many metres now and then. And one whose scans tell all: nothing gets worse
 * there. */
#include "ndtcore/math/ndt-formulas.h"
#include "tests/ndt-scene.h"
#include "drive.h"

#define NOISE 0.5
/* Scans that it may take to find back from a wrong start. */
#define N_RECOVERY 20
/* Scans before priors are biased. */
#define N_TRUE 20
/* Drives with other noise, from seed 1 on; more by NDT_REGULARIZATION_SEEDS. */
#define N_SEEDS 5
/* The goal of docs/tracking-figures.md, "What is missed", for every drive: no more scans in a row
 * may be wrong and tracking. */
#define N_ROW 3

/**
 * Run:
 * @noise: standard deviation of priors, a coordinate, metres; below 0: the first scan has one only
 * @scale: of the regularization
 * @outlier: every tenth prior is so far ahead of where it should be, metres
 * @start: and the first one
 * @bias: and all of those from %N_TRUE on
 * @ignores_drops: no scan is doubted for its scores
 * @turn: of priors, but for the first one, rad
 * @passes: bound of a scan's, where it is not the default
 * @is_factor: priors are factors by their covariance, and not by the scale
 */
typedef struct {
  double noise;
  double scale;
  double outlier;
  double start;
  double bias;
  gboolean ignores_drops;
  double turn;
  double passes;
  gboolean is_factor;
} Run;

/**
 * Errors:
 * @worst: largest, metres
 * @mean: over the scans
 * @late: largest after the first %N_RECOVERY scans
 * @n_off: scans that are more than 2 m off
 * @n_wrong: scans that are, and tracking …
 * @n_row: … most of them in a row
 * @n_tracking: scans
 */
typedef struct {
  double worst, mean, late;
  guint n_off;
  guint n_wrong;
  guint n_row;
  guint n_tracking;
} Errors;

/* How far ahead of the truth the prior of a scan is, but for noise. */
static double
get_offset (const Run *run, guint i)
{
  return i == 0                               ? run->start
         : i % 10 == 9 && run->outlier != 0.0 ? run->outlier
         : i >= N_TRUE                        ? run->bias
                                              : 0;
}

static Errors
localize (const Drive *drive, const Run *run, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (drive->backend);
  NdtLocalizerParams params;
  Errors errors = {0};
  guint row = 0;
  ndt_localizer_params_init (&params);
  params.regularization_scale = run->scale;
  params.prior_factor = run->is_factor;
  if (run->passes > 0)
    params.max_search_passes = run->passes;
  params.deskew = drive->point_times[0] != NULL;
  if (run->ignores_drops)
    params.score_drop = 0;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < drive->n; i++) {
    const NdtPose *truth = &drive->truths[i];
    NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (drive->scans[i], drive->sizes[i]),
        .time = drive->times[i],
        .has_prior = i == 0 || run->noise >= 0,
        .has_prior_stddev = i > 0 && run->is_factor,
        .prior_stddev = {NOISE, NOISE, NOISE},
        .point_times = {(const guint8 *)drive->point_times[i], sizeof (float), NDT_TIME_F32},
        .time_on_points = PERIOD};
    NdtLocalization l;
    double metres, delta[6] = {0}, r[9];
    ndt_quat_to_matrix (truth->orientation, r);
    for (guint k = 0; k < 3; k++) {
      delta[k] = get_offset (run, i) * r[3 * k];
      if (i > 0 && run->noise > 0)
        delta[k] += run->noise * ndt_test_normal (rand);
    }
    delta[5] = i > 0 ? run->turn : 0;
    ndt_pose_retract (truth, delta, &o.prior);
    g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
    ndt_pose_difference (&l.registration.pose, truth, &metres, NULL);
    errors.worst = MAX (errors.worst, metres);
    errors.mean += metres / drive->n;
    errors.n_off += metres > 2;
    const gboolean is_wrong = metres > 2 && l.status == NDT_TRACK_TRACKING;
    row = is_wrong ? row + 1 : 0;
    errors.n_wrong += is_wrong;
    errors.n_row = MAX (errors.n_row, row);
    errors.n_tracking += l.status == NDT_TRACK_TRACKING;
    if (i >= N_RECOVERY)
      errors.late = MAX (errors.late, metres);
    if (g_test_verbose ())
      g_test_message ("  scan %u: %.3f m, %s, %s", i, metres, ndt_track_status_to_string (l.status),
          ndt_prediction_to_string (l.prediction));
  }
  g_test_message (
      "noise %g m, scale %g, outliers %g m, start %g m off, bias %g m%s, turned by %g%s: "
      "mean %.3f m, "
      "worst %.3f m, %.3f m in the end, %u off, %u of them and %u of %u tracking",
      run->noise, run->scale, run->outlier, run->start, run->bias,
      run->ignores_drops ? ", score-drop 0" : "", run->turn, run->is_factor ? ", factors" : "",
      errors.mean, errors.worst, errors.late, errors.n_off, errors.n_wrong, errors.n_tracking,
      drive->n);
  return errors;
}

static guint
get_n_seeds (void)
{
  const gchar *seeds = g_getenv ("NDT_REGULARIZATION_SEEDS");
  return seeds ? (guint)MAX (atoi (seeds), 1) : N_SEEDS;
}

/**
 * Starts:
 * @n: drives that start off
 * @n_wrong: scans that are more than 2 m off and tracking
 * @n_late: drives that are more than 2 m off after %N_RECOVERY scans …
 * @n_lasting: … and tracking there for more than %N_ROW scans in a row
 * @n_off, @n_turned_off: scans that are more than 2 m off, with the yaw of priors known, and with
 *   one that is wrong
 */
typedef struct {
  guint n, n_wrong, n_late, n_lasting, n_off, n_turned_off;
} Starts;

static Errors
start_off (const Drive *drive, double metres, double turn, guint seed, Starts *sum)
{
  const Run run = {NOISE, 0.01, 0, metres, .turn = turn};
  const Errors e = localize (drive, &run, seed);
  sum->n++;
  sum->n_wrong += e.n_wrong;
  sum->n_late += e.late >= 2;
  sum->n_lasting += e.n_row > N_ROW;
  return e;
}

/* Priors are normally distributed, so that of 50 one may be three deviations off, 1.5 m; the
 * vehicle, which has to follow them where nothing else holds, and their change, is not much
 * farther off. */
static void
test_open (gconstpointer data)
{
  const gboolean on_highway = GPOINTER_TO_INT (data);
  static const Run alone = {-1, 0, 0, 0}, led = {NOISE, 0, 0, 0}, held = {NOISE, 0.01, 0, 0};
  static const double outliers[] = {-5, 8, -20, 20, -200, 200}, starts[] = {-12, -6, -3, 3, 6, 12};
  Starts sum = {0};
  Drive drive = {0};
  guint n_scans = 0, n_tracking = 0;
  simulate_drive (&drive, on_highway ? NDT_SIM_WORLD_HIGHWAY : NDT_SIM_WORLD_TUNNEL,
      on_highway ? 25 : 14, FALSE);
  /* In the tunnel it stays behind, and its scores say that all is well. */
  const Errors a = localize (&drive, &alone, 1);
  if (!on_highway)
    g_assert_cmpfloat (a.worst, >, 20);
  localize (&drive, &led, 1);
  for (guint seed = 1; seed <= get_n_seeds (); seed++) {
    const Errors h = localize (&drive, &held, seed);
    g_assert_cmpfloat (h.worst, <, 2);
    g_assert_cmpfloat (h.mean, <, NOISE);
    g_assert_cmpuint (h.n_tracking, ==, drive.n);
    /* One in ten may be anywhere: it pulls by less than a near one, and not for long. */
    for (guint i = 0; i < G_N_ELEMENTS (outliers); i++) {
      const Run run = {NOISE, 0.01, outliers[i], 0};
      const Errors e = localize (&drive, &run, seed);
      g_assert_cmpfloat (e.worst, <, 2.5);
      g_assert_cmpfloat (e.mean, <, NOISE);
      n_scans += drive.n;
      n_tracking += e.n_tracking;
    }
    /* One after the other is right. */
    for (guint i = 0; i < G_N_ELEMENTS (starts); i++) {
      sum.n_off += start_off (&drive, starts[i], 0, seed, &sum).n_off;
      sum.n_turned_off += start_off (&drive, starts[i], G_PI / 2, seed, &sum).n_off;
    }
  }
  g_test_message ("of %u drives that start off: %u scans wrong and tracking, %u drives late, %u "
                  "wrong and tracking for long; %u scans off, %u with a wrong yaw of priors; %u of "
                  "%u scans with outliers tracking",
      sum.n, sum.n_wrong, sum.n_late, sum.n_lasting, sum.n_off, sum.n_turned_off, n_tracking,
      n_scans);
  g_assert_cmpuint (n_tracking, ==, n_scans);
  /* Of the false start. The highway's direction is not always open, so that it may fit in the next
   * scan as well. */
  g_assert_cmpuint (sum.n_wrong, <=, on_highway ? 2 * sum.n : 5 * sum.n / 4);
  g_assert_cmpuint (sum.n_lasting, ==, 0);
  /* Velocities between positions with the noise of priors may be metres a second off: one drive in
   * twenty takes longer. */
  g_assert_cmpuint (sum.n_late, <=, sum.n / 20);
  /* And no later where priors do not know their yaw, but for two scans in the mean. */
  g_assert_cmpuint (sum.n_turned_off, <=, sum.n_off + sum.n);
  free_drive (&drive);
}

/* Nor is their noise motion that no vehicle can have, where motion is compensated; nor does it
 * depend on some alignments more or less at the start. */
static void
test_deskewed (void)
{
  static const double passes[] = {20, 28, 36};
  Drive drive = {0};
  simulate_drive (&drive, NDT_SIM_WORLD_TUNNEL, 14, TRUE);
  for (guint seed = 1; seed <= get_n_seeds (); seed++)
    for (guint i = 0; i < G_N_ELEMENTS (passes); i++) {
      const Run held = {NOISE, 0.01, .passes = passes[i]};
      const Errors h = localize (&drive, &held, seed);
      g_assert_cmpfloat (h.worst, <, 2);
      g_assert_cmpfloat (h.mean, <, NOISE);
      g_assert_cmpuint (h.n_tracking, ==, drive.n);
    }
  free_drive (&drive);
}

/* Priors that say how far they are off. Alone the last of 50 scans would be 60 m off. */
static void
test_factors (void)
{
  static const double starts[] = {-12, -6, -3, 3, 6, 12};
  Starts sum = {0};
  Drive drive = {0};
  simulate_drive (&drive, NDT_SIM_WORLD_TUNNEL, 14, FALSE);
  for (guint seed = 1; seed <= get_n_seeds (); seed++) {
    const Run held = {NOISE, .is_factor = TRUE},
              outliers = {NOISE, .outlier = 20, .is_factor = TRUE};
    const Errors h = localize (&drive, &held, seed), o = localize (&drive, &outliers, seed);
    g_assert_cmpfloat (h.worst, <, 3 * NOISE);
    g_assert_cmpfloat (h.mean, <, 0.5 * NOISE);
    g_assert_cmpuint (h.n_tracking, ==, drive.n);
    g_assert_cmpfloat (o.worst, <, 3 * NOISE);
    g_assert_cmpuint (o.n_tracking, ==, drive.n);
    for (guint i = 0; i < G_N_ELEMENTS (starts); i++) {
      const Run run = {NOISE, .start = starts[i], .is_factor = TRUE};
      const Errors e = localize (&drive, &run, seed);
      sum.n++;
      sum.n_wrong += e.n_wrong;
      sum.n_late += e.late >= 2;
      sum.n_lasting += e.n_row > N_ROW;
    }
  }
  /* That of the false start itself, and in one of two drives another one. */
  g_assert_cmpuint (sum.n_wrong, <=, 3 * sum.n / 2);
  g_assert_cmpuint (sum.n_late, ==, 0);
  g_assert_cmpuint (sum.n_lasting, ==, 0);
  free_drive (&drive);
}

/* Where scans tell all, priors that are half a metre off, or much more now and then, move poses by
 * millimetres. */
static void
test_kitti (void)
{
  static const Run alone = {-1, 0, 0, 0};
  static const Run runs[] = {{0, 0.01, 0, 0}, {NOISE, 0.01, 0, 0}, {NOISE, 0.01, 5, 0},
      {NOISE, 0.01, -20, 0}, {NOISE, 0.01, 100, 0}};
  static const double biases[] = {3, 5, 8, 10, 20, -5, -10};
  Drive drive = {0};
  if (!read_drive (&drive, "seq_kitti_drive0005", "map_even_0.25.pcd")) {
    g_test_skip ("seq_kitti_drive0005 is missing: set NDT_TEST_DATA");
    return;
  }
  const Errors a = localize (&drive, &alone, 1);
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++) {
    const Errors e = localize (&drive, &runs[i], 1);
    g_assert_cmpfloat (e.worst, <, 0.05);
    g_assert_cmpfloat (e.mean, <, a.mean + 0.005);
    g_assert_cmpuint (e.n_tracking, ==, drive.n);
  }
  /* Priors that all are metres off are doubted, tried, and clearly worse, whatever scans are called
   * degraded. Near ones pull on a scan's pose by a decimetre at most. */
  for (guint i = 0; i < G_N_ELEMENTS (biases); i++)
    for (guint ignores = 0; ignores < 2; ignores++) {
      const Run run = {0.3, 0.01, 0, 0, biases[i], (gboolean)ignores};
      const Errors e = localize (&drive, &run, 1);
      g_assert_cmpfloat (e.worst, <, 0.15);
      g_assert_cmpuint (e.n_tracking, ==, drive.n);
    }
  free_drive (&drive);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/regularization/tunnel", GINT_TO_POINTER (FALSE), test_open);
  g_test_add_data_func ("/regularization/highway", GINT_TO_POINTER (TRUE), test_open);
  g_test_add_func ("/regularization/deskewed", test_deskewed);
  g_test_add_func ("/regularization/factors", test_factors);
  g_test_add_func ("/regularization/kitti", test_kitti);
  return g_test_run ();
}
