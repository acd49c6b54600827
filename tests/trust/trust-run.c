/* SPDX-License-Identifier: MIT */
#include "trust-run.h"

#include <math.h>
#include <string.h>

#include "ndtcore/sim/scanner/ndt-sim-odometry.h"

#define WRONG_METRES 0.5
#define WRONG_RADIANS (2 * G_PI / 180)
#define RIGHT_METRES 0.2
#define RIGHT_RADIANS (1 * G_PI / 180)
/* 95 % of the distribution of χ² with two degrees of freedom. */
#define CHI2_95 5.991

void
trust_case_init (
    TrustCase *trust, const TrustDrive *drive, const GArray *map_points, double resolution)
{
  memset (trust, 0, sizeof (*trust));
  trust->drive = drive;
  trust->map_points = map_points;
  trust->resolution = resolution;
  ndt_localizer_params_init (&trust->params);
  trust->n = drive->n;
  trust->order = g_new (guint, drive->n);
  trust->times = g_new (gint64, drive->n);
  for (guint i = 0; i < drive->n; i++) {
    trust->order[i] = i;
    trust->times[i] = drive->times[i];
  }
  trust->has_initial = TRUE;
  trust->initial = drive->truths[0];
}

void
trust_case_clear (TrustCase *trust)
{
  g_free (trust->order);
  g_free (trust->times);
  g_free (trust->odometry);
  g_free (trust->is_late);
}

void
trust_case_add_odometry (TrustCase *trust, double translation, double rotation, guint seed)
{
  NdtSimOdometry odometry;
  ndt_sim_odometry_init (&odometry, translation, rotation, seed);
  trust->odometry = g_new (NdtPose, trust->n);
  for (guint i = 0; i < trust->n; i++)
    ndt_sim_odometry_step (&odometry, &trust->drive->truths[trust->order[i]], &trust->odometry[i]);
}

void
trust_case_spoil_odometry (TrustCase *trust, guint at, double jump)
{
  const double twist[6] = {jump};
  NdtPose from, ahead;
  ndt_pose_invert (&trust->odometry[at], &from);
  ndt_pose_exp (twist, &ahead);
  ndt_pose_compose (&trust->odometry[at], &ahead, &ahead);
  for (guint i = at + 1; i < trust->n; i++) {
    NdtPose way;
    ndt_pose_compose (&from, &trust->odometry[i], &way);
    trust->odometry[i] = trust->odometry[at];
    if (jump > 0)
      ndt_pose_compose (&ahead, &way, &trust->odometry[i]);
    ndt_pose_normalize (&trust->odometry[i]);
  }
}

void
trust_case_cut (TrustCase *trust, guint at, guint n)
{
  const gint64 gap = trust->times[at + n] - trust->times[at];
  for (guint i = at; i + n < trust->n; i++) {
    trust->order[i] = trust->order[i + n];
    trust->times[i] = trust->times[i + n] - gap;
  }
  trust->n -= n;
}

/* ---- Errors against the covariance ---- */

/* x of Cx = e by Cholesky's factorization; returns eᵀC⁻¹e, or −1. */
static double
mahalanobis (const double *c, guint stride, guint n, const double *e)
{
  double l[6][6], y[6], sum = 0;
  for (guint j = 0; j < n; j++)
    for (guint i = j; i < n; i++) {
      double v = c[stride * i + j];
      for (guint k = 0; k < j; k++)
        v -= l[i][k] * l[j][k];
      if (i == j && !(v > 0))
        return -1;
      l[i][j] = i == j ? sqrt (v) : v / l[j][j];
    }
  for (guint i = 0; i < n; i++) {
    y[i] = e[i];
    for (guint k = 0; k < i; k++)
      y[i] -= l[i][k] * y[k];
    y[i] /= l[i][i];
    sum += y[i] * y[i];
  }
  return sum;
}

static void
get_error (const NdtPose *truth, const NdtPose *pose, double e[6])
{
  NdtPose inverse = *truth, turn = *pose;
  double twist[6];
  memset (turn.position, 0, sizeof (turn.position));
  memset (inverse.position, 0, sizeof (inverse.position));
  ndt_pose_invert (&inverse, &inverse);
  ndt_pose_compose (&turn, &inverse, &turn);
  ndt_pose_log (&turn, twist);
  for (guint i = 0; i < 3; i++) {
    e[i] = pose->position[i] - truth->position[i];
    e[3 + i] = twist[3 + i];
  }
}

/* εᵀ C⁻¹ ε of the first @n errors, the covariance of the truth added; −1 where C is singular. */
static double
nees_of (const TrustCase *trust, const double c[36], const double e[6], guint n)
{
  double sum[36];
  memcpy (sum, c, sizeof (sum));
  for (guint i = 0; i < 6; i++)
    sum[7 * i] += trust->reference[i / 3] * trust->reference[i / 3];
  return mahalanobis (sum, 6, n, e);
}

/* name, seed, scan, status, reason, counts, metres, degrees, right, wrong, fit, overlap,
 * innovation, sigma, points, pairs, rays, those unexplained and pierced, passes, confidence, the
 * error and the covariance. */
static void
write_scan (const TrustCase *trust, guint i, const NdtLocalization *l, double metres,
    double radians, const double e[6], gboolean right, gboolean wrong)
{
  const gboolean counts = !trust->is_counted || trust->is_counted (trust, i);
  fprintf (trust->scans, "%s,%u,%u,%s,%s,%d,%.5f,%.5f,%d,%d,%.5f,%.5f,%.5f,%.5f,%u,%u,%u,%u,%u",
      trust->name, trust->seed, i, ndt_track_status_to_string (l->status),
      ndt_reason_to_string (l->reason), counts, metres, radians * 180 / G_PI, right, wrong, l->fit,
      l->overlap, l->innovation, l->sigma, l->registration.n_points, (guint)l->registration.n_pairs,
      l->rays.n, l->rays.n_unexplained, l->rays.n_pierced);
  fprintf (trust->scans, ",%.2f,%.4f", l->registration.passes, l->confidence);
  for (guint k = 0; k < 6; k++)
    fprintf (trust->scans, ",%.9g", e[k]);
  for (guint k = 0; k < 36; k++)
    fprintf (trust->scans, ",%.9g", l->registration.covariance[k]);
  fputc ('\n', trust->scans);
}

/* What docs/tracking.md ("Passes") allows a scan, more where scans are compensated, and for the two
 * of a start. Where nothing is left an alignment takes one pass yet. */
static double
get_most_passes (const TrustCase *trust, guint i)
{
  return trust->params.deskew ? (i < 2 ? 126 : 49) : (i < 2 ? 84 : 28);
}

void
trust_case_run (const TrustCase *trust, gboolean verbose, TrustResult *result)
{
  const NdtBackendConfig config = {-1, 1, 0};
  const TrustDrive *drive = trust->drive;
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  map_params.resolution = trust->resolution;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (
      (const float *)(gconstpointer)trust->map_points->data, trust->map_points->len);
  GError *error = NULL;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &points, &error);
  g_assert_no_error (error);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_assert_true (ndt_localizer_set_params (localizer, &trust->params, &error));
  if (trust->has_initial)
    ndt_localizer_set_initial_pose (localizer, &trust->initial);
  guint row = 0, n_mean = 0, n_nees = 0, n_rays = 0;
  gint64 back = -1;
  memset (result, 0, sizeof (*result));
  for (guint i = 0; i < trust->n; i++) {
    const guint scan = trust->order[i];
    const NdtPose *truth = &drive->truths[scan];
    g_autofree float *changed =
        trust->change ? g_new (float, 3 * (gsize)drive->sizes[scan] + 3) : NULL;
    guint n = drive->sizes[scan];
    if (changed)
      n = trust->change (trust, i, drive->scans[scan], n, changed);
    NdtObservation o = {
        .points = ndt_cloud_view_xyz_f32 (changed ? changed : drive->scans[scan], n),
        .time = trust->times[i],
        .deadline = trust->is_late && trust->is_late[i] ? 1 : 0,
        .has_odometry = trust->odometry != NULL,
    };
    if (drive->point_times[scan] && !changed)
      o.point_times =
          (NdtTimeView){(const guint8 *)drive->point_times[scan], sizeof (float), NDT_TIME_F32};
    o.time_on_points = drive->period;
    if (trust->odometry)
      o.odometry = trust->odometry[i];
    NdtLocalization l;
    g_assert_true (ndt_localizer_process (localizer, &o, &l, &error));
    double metres, radians, e[6];
    ndt_pose_difference (&l.registration.pose, truth, &metres, &radians);
    const gboolean tracks = l.status == NDT_TRACK_TRACKING;
    const gboolean counts = !trust->is_counted || trust->is_counted (trust, i);
    const double k = trust->tolerance > 0 ? trust->tolerance : 1;
    const double k_turn = trust->turn_tolerance > 0 ? trust->turn_tolerance : k;
    const gboolean wrong = metres > k * WRONG_METRES || radians > k_turn * WRONG_RADIANS;
    const gboolean right =
        metres <= k * RIGHT_METRES && radians <= k_turn * RIGHT_RADIANS && l.has_pose;
    get_error (truth, &l.registration.pose, e);
    const double *c = l.registration.covariance;
    const double out = l.has_pose ? mahalanobis (c, 6, 2, e) : -1;
    const double nees = l.has_pose ? nees_of (trust, c, e, 6) : -1;
    result->n++;
    result->n_tracking += tracks;
    result->n_lost += l.status == NDT_TRACK_LOST;
    result->n_wrong += tracks && wrong;
    row = tracks && wrong ? row + 1 : 0;
    result->n_wrong_row = MAX (result->n_wrong_row, row);
    /* At the right place what a scan leaves open follows from the scan and the map alone. */
    const gboolean decides = counts && right && (!trust->is_determined || l.n_open == 0);
    result->n_right += decides;
    result->n_right_tracking += decides && tracks;
    result->n_counted += counts;
    result->n_counted_tracking += counts && tracks;
    result->n_outside += counts && out > 9;
    result->n_sure += tracks && sqrt (MAX (c[0], c[7])) > 0.5;
    if (tracks)
      result->largest_wrong = MAX (result->largest_wrong, metres);
    if (tracks && !wrong) {
      result->mean += metres;
      n_mean++;
    }
    if (tracks && nees >= 0) {
      result->nees += nees;
      result->in_ellipse += nees_of (trust, c, e, 2) <= CHI2_95;
      n_nees++;
    }
    if (right && l.rays.n > 0) {
      result->unexplained += (double)l.rays.n_unexplained / l.rays.n;
      n_rays++;
    }
    if (!tracks || !right)
      back = -1;
    else if (back < 0)
      back = trust->times[i];
    result->passes += l.registration.passes;
    result->most_passes = MAX (result->most_passes, l.registration.passes);
    result->n_costly += l.registration.passes > get_most_passes (trust, i) + 1;
    double turn;
    ndt_pose_difference (&l.registration.pose, &l.guess, NULL, &turn);
    if (trust->scans)
      write_scan (trust, i, &l, metres, radians, e, right, wrong);
    if (verbose)
      g_print (
          "    %3u %-8s %-10s from %-17s %6.2f m %5.1f deg, nvtl/max %.3f x %.3f = %.3f, %u "
          "points, %.0f passes, fit %.2f/%.2f innov %.2f %.1f sig %.2f sigma %.4f %.4f deg %u%s\n",
          i, ndt_track_status_to_string (l.status), ndt_reason_to_string (l.reason),
          ndt_prediction_to_string (l.prediction), metres, 180 / G_PI * radians,
          l.registration.max_nvtl > 0 ? l.registration.nvtl / l.registration.max_nvtl : 0,
          l.registration.matched_ratio,
          l.registration.max_nvtl > 0
              ? l.registration.nvtl / l.registration.max_nvtl * l.registration.matched_ratio
              : 0,
          l.registration.n_points, l.registration.passes, l.fit, l.fit_bound, l.innovation,
          180 / G_PI * turn, l.sigma,
          sqrt (0.5 * (c[0] + c[7]) - sqrt (0.25 * (c[0] - c[7]) * (c[0] - c[7]) + c[1] * c[1])),
          sqrt (0.5 * (c[0] + c[7]) + sqrt (0.25 * (c[0] - c[7]) * (c[0] - c[7]) + c[1] * c[1])),
          l.registration.n_degenerate, out > 9 ? " !" : "");
  }
  result->mean /= MAX (n_mean, 1);
  result->nees /= MAX (n_nees, 1);
  result->in_ellipse /= MAX (n_nees, 1);
  result->unexplained /= MAX (n_rays, 1);
  result->passes /= MAX (result->n, 1);
  result->back = back < 0 ? -1 : 1e-9 * (double)(back - trust->times[trust->since]);
}
