/* SPDX-License-Identifier: MIT */
/* What goes wrong on a drive: a stamp, a prior, an odometry's frame, scans that are missing or see
 * nothing, a vehicle that is carried away. The localizer may say that it does not know where it is,
 * but not that it does where it is more than half a metre off, and has to find back. */
#include "drive.h"

/* Scans before the fault, and those from it on. */
#define N_BEFORE 6
#define N_AFTER 14

/* What the localizer is told beside scans and times. */
typedef enum { NOTHING_ELSE, ODOMETRY, PRIORS, HOLDS, N_AIDS } Aid;

static const gchar *const aid_names[] = {"", " with odometry", " with priors", " held by priors"};

/**
 * Fault:
 * @aids: bits of those that it makes sense with
 * @stamp: seconds that the one scan is stamped late
 * @pause: seconds that nobody drives, nor scans
 * @prior: metres that the one scan's prior is off, the first one's that is not blind …
 * @turn: … and rad
 * @jump: metres that the frame of odometry jumps by
 * @dropped: scans that are missing
 * @blind: scans that see nothing but a wall around the vehicle
 * @carried: scans that it is carried on by; from where it is let down the fifth has a prior
 * @recovery: scans after the fault in which it may not be tracking
 */
typedef struct {
  const gchar *name;
  guint aids;
  double stamp, pause, prior, turn, jump;
  guint dropped, blind, carried;
  guint recovery;
} Fault;

#define ANY (1 << NOTHING_ELSE | 1 << ODOMETRY | 1 << PRIORS)
#define HELD (ANY | 1 << HOLDS)
#define FIRST_PRIOR 4

static const Fault faults[] = {
    {"none", HELD},
    {"stamp 0.3 s late", HELD, .stamp = 0.3},
    {"stamp 1 s late", ANY, .stamp = 1},
    {"stamp 5 s late", ANY, .stamp = 5},
    {"stamp 60 s late", HELD, .stamp = 60},
    {"stamp 1 s early", ANY, .stamp = -1},
    {"3 s pause", ANY, .pause = 3},
    {"60 s pause", ANY, .pause = 60},
    {"prior 5 m off", HELD, .prior = 5},
    {"prior 20 m off", HELD, .prior = 20},
    {"prior 100 m off", ANY, .prior = 100},
    {"prior 500 m off", HELD, .prior = 500},
    {"prior turned by 90 degrees", HELD, .turn = G_PI / 2},
    {"odometry jumps by 10 m", 1 << ODOMETRY, .jump = 10},
    {"odometry jumps by 100 m", 1 << ODOMETRY, .jump = 100},
    {"odometry jumps by 500 m", 1 << ODOMETRY, .jump = 500},
    {"3 scans missing", ANY, .dropped = 3},
    {"8 scans missing", HELD, .dropped = 8},
    {"1 scan blind", ANY, .blind = 1},
    {"5 scans blind", HELD, .blind = 5},
    {"1 scan blind, then a prior 30 m off", HELD, .blind = 1, .prior = 30},
    {"carried 12 scans on", 1 << NOTHING_ELSE, .carried = 12, .recovery = FIRST_PRIOR},
};

static void
make_prior (const NdtPose *truth, double metres, double radians, NdtPose *prior)
{
  const double delta[6] = {0.8 * metres, 0.6 * metres, 0, 0, 0, radians};
  ndt_pose_retract (truth, delta, prior);
}

/* Each point on a wall 3 m around. */
static float *
make_blind (const float *scan, guint n)
{
  float *wall = g_new (float, 3 * (gsize)n);
  for (guint i = 0; i < n; i++) {
    const double length = hypot ((double)scan[3 * i], (double)scan[3 * i + 1]);
    const double k = 3 / MAX (length, 0.1);
    for (guint c = 0; c < 3; c++)
      wall[3 * i + c] = (float)(k * (double)scan[3 * i + c]);
  }
  return wall;
}

/**
 * Outcome:
 * @n: scans
 * @n_wrong: of these, tracking and off by more than the drive's tolerance
 * @n_lagging: scans from the end of the fault to the last one that is not tracking
 * @n_far: searched from far
 */
typedef struct {
  guint n, n_wrong, n_lagging, n_far;
} Outcome;

static Outcome
drive (const Drive *stream, const NdtLocalizerParams *params, const Fault *fault, Aid aid, guint at)
{
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (stream->backend);
  const guint last = MIN (stream->n, at + fault->dropped + fault->carried + N_AFTER);
  NdtLocalizerParams with = *params;
  Outcome outcome = {0};
  with.regularization_scale = aid == HOLDS ? 0.01 : 0;
  g_assert_true (ndt_localizer_set_params (localizer, &with, NULL));
  for (guint i = at - N_BEFORE; i < last; i++) {
    const gboolean begins = i == at + fault->dropped + fault->carried;
    const guint since = i - (at + fault->dropped + fault->carried);
    if (i >= at && i < at + fault->dropped + fault->carried)
      continue;
    const gboolean is_blind = i >= at && i < at + fault->blind;
    const gboolean begins_to_see = i == at + fault->dropped + fault->carried + fault->blind;
    const gboolean is_over = i >= at + fault->dropped + fault->carried + fault->blind;
    g_autofree float *wall = is_blind ? make_blind (stream->scans[i], stream->sizes[i]) : NULL;
    NdtObservation o = {
        .points = ndt_cloud_view_xyz_f32 (wall ? wall : stream->scans[i], stream->sizes[i]),
        .time = stream->times[i],
        .has_prior = i == at - N_BEFORE || aid >= PRIORS,
        .prior = stream->truths[i],
        .has_odometry = aid == ODOMETRY,
        .odometry = stream->truths[i],
        .point_times = {(const guint8 *)stream->point_times[i], sizeof (float), NDT_TIME_F32},
        .time_on_points = PERIOD,
    };
    if (i >= at)
      o.time += (gint64)(fault->pause * SECOND) + (begins ? (gint64)(fault->stamp * SECOND) : 0);
    if (begins_to_see && (fault->prior > 0 || fault->turn > 0)) {
      o.has_prior = TRUE;
      make_prior (&stream->truths[i], fault->prior, fault->turn, &o.prior);
    }
    if (fault->carried && i >= at) {
      /* As fast as if it had driven on. */
      o.time -= stream->times[at + fault->carried] - stream->times[at];
      o.has_prior = since == FIRST_PRIOR;
    }
    if (i >= at)
      o.odometry.position[0] += fault->jump;

    NdtLocalization l;
    double metres;
    g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
    ndt_pose_difference (&l.registration.pose, &stream->truths[i], &metres, NULL);
    const gboolean is_off = metres > stream->tolerance;
    outcome.n++;
    outcome.n_far += i > at - N_BEFORE + 1 && l.registration.n_starts > 1;
    outcome.n_wrong += is_off && l.status == NDT_TRACK_TRACKING;
    if (is_over && (is_off || l.status != NDT_TRACK_TRACKING))
      outcome.n_lagging = i + 1 - (at + fault->dropped + fault->carried + fault->blind);
    if (g_test_verbose ())
      g_test_message ("  scan %u: %s, %.2f m off, NVTL %.2f, ratio %.2f, starts %u", i,
          ndt_track_status_to_string (l.status), metres, l.registration.nvtl,
          l.registration.matched_ratio, l.registration.n_starts);
  }
  return outcome;
}

/* All faults, at several places. */
static void
drive_all (const Drive *stream, const NdtLocalizerParams *params, guint aids)
{
  guint n = 0, n_wrong = 0, n_lagging = 0;
  for (guint f = 0; f < G_N_ELEMENTS (faults); f++)
    for (guint aid = 0; aid < N_AIDS; aid++)
      for (guint at = N_BEFORE; at + N_AFTER <= stream->n && (faults[f].aids & aids) >> aid & 1;
           at += 22) {
        if (at + faults[f].dropped + faults[f].carried + 6 > stream->n)
          continue;
        const Outcome outcome = drive (stream, params, &faults[f], (Aid)aid, at);
        n += outcome.n;
        n_wrong += outcome.n_wrong;
        n_lagging += outcome.n_lagging > stream->patience + faults[f].recovery;
        if (outcome.n_wrong > 0 || outcome.n_lagging > stream->patience + faults[f].recovery ||
            f == 0)
          g_test_message ("%s%s at %u: %u scans tracking and off, not tracking for %u, %u of %u "
                          "searched from far",
              faults[f].name, aid_names[aid], at, outcome.n_wrong, outcome.n_lagging, outcome.n_far,
              outcome.n);
        if (f == 0)
          g_assert_cmpuint (outcome.n_far, ==, 0);
      }
  g_test_message ("%u scans, %u tracking and off, %u faults that last", n, n_wrong, n_lagging);
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (n_wrong, ==, 0);
  g_assert_cmpuint (n_lagging, ==, 0);
}

/* A scan to confirm where it is again; three where the bound of a scan's passes leaves it to the
 * search in the background, which takes so many. */
#define PATIENCE 3

/* 15 m/s, five scans a second. */
static void
test_kitti (void)
{
  Drive stream = {.tolerance = 0.5, .patience = PATIENCE};
  NdtLocalizerParams params;
  if (!read_drive (&stream, "seq_kitti_drive0005", "map_even_0.25.pcd")) {
    g_test_skip ("seq_kitti_drive0005 is missing: set NDT_TEST_DATA");
    return;
  }
  ndt_localizer_params_init (&params);
  drive_all (&stream, &params, HELD);
  params.filter.leaf_size = 1;
  drive_all (&stream, &params, ANY);
  free_drive (&stream);
}

/* In the hand, one scan a second and up to 90 degrees from one to the next: without odometry or
 * priors nobody knows where the next one is. */
static void
test_balm (void)
{
  Drive stream = {.tolerance = 0.5, .patience = PATIENCE};
  NdtLocalizerParams params;
  guint n_lost = 0;
  if (!read_drive (&stream, "seq_balm_os0", "map_even_0.20.pcd")) {
    g_test_skip ("seq_balm_os0 is missing: set NDT_TEST_DATA");
    return;
  }
  ndt_localizer_params_init (&params);
  drive_all (&stream, &params, 1 << ODOMETRY | 1 << PRIORS);
  for (guint at = N_BEFORE; at + N_AFTER <= stream.n; at += 7) {
    const Outcome outcome = drive (&stream, &params, &faults[0], NOTHING_ELSE, at);
    g_assert_cmpuint (outcome.n_wrong, ==, 0);
    n_lost += outcome.n_lagging > 0;
  }
  g_test_message ("alone it is lost in %u places", n_lost);
  free_drive (&stream);
}

/* Ten scans a second at 8 m/s, resp. at 15 m/s with points that are measured on the way. */
static void
test_town (gconstpointer data)
{
  const gboolean moving = GPOINTER_TO_INT (data);
  NdtLocalizerParams params;
  /* By one wrong stamp the velocity is wrong for that scan and the next, which are compensated by
   * it: off by up to half of a scan's way, and degraded where nothing moves so. One that is found
   * where motion does not lead is confirmed by the next, by the next two where an area was searched
   * for it. */
  Drive stream = {.tolerance = moving ? 0.75 : 0.5, .patience = moving ? 9 : PATIENCE};
  simulate_drive (&stream, NDT_SIM_WORLD_TOWN, moving ? 15 : 8, moving);
  ndt_localizer_params_init (&params);
  params.deskew = moving;
  drive_all (&stream, &params, HELD);
  free_drive (&stream);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/faults/kitti", test_kitti);
  g_test_add_func ("/faults/balm", test_balm);
  g_test_add_data_func ("/faults/town", GINT_TO_POINTER (FALSE), test_town);
  g_test_add_data_func ("/faults/town-deskewed", GINT_TO_POINTER (TRUE), test_town);
  return g_test_run ();
}
