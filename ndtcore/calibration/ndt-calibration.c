/* SPDX-License-Identifier: MIT */
#include "ndt-calibration.h"

#include <math.h>
#include <string.h>

#include "ndt-calibration-observed.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-workers.h"
#include "ndtcore/expression/ndt-expr-objective.h"
#include "ndtcore/expression/ndt-expr-parse.h"
#include "ndtcore/math/ndt-descent.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/objective/ndt-minimize.h"
#include "ndtcore/registration/ndt-registration.h"

#define N NDT_CALIBRATION_N

/* A cell is a plane where its points' variance across it is less than this of the middle one: in
 * cells of 1 m some 6 cm of noise and corners of more than 30° are not. */
#define NDT_CALIBRATION_FLAT 0.05
/* Scans that are registered for the start, and how near on the body their poses have to be. */
#define NDT_CALIBRATION_STARTS 9
#define NDT_CALIBRATION_NEAR_METRES 0.3
#define NDT_CALIBRATION_NEAR_RADIANS 0.03
/* Distance from a plane within which points are on it in the first association, metres: the error
 * of a start. */
#define NDT_CALIBRATION_REACH 0.5
/* Seconds before and after an instant between which the velocity is taken. */
#define NDT_CALIBRATION_STEP 0.01
/* Parts of the drive, and of the directions around the sensor, that are left out in turn. */
#define NDT_CALIBRATION_PARTS 6
/* Most associations of points to planes, and fewest points on planes. */
#define NDT_CALIBRATION_ITERATIONS 40
#define NDT_CALIBRATION_LEAST_ROWS 100

/* A row: a point of the sensor, the plane (normal in the body's frame and distance) that it is
 * on, and by how much a second moves it off the plane; all but the point in standard deviations. */
enum { X, Y, Z, NX, NY, NZ, D, S, N_COLUMNS };
static const gchar *const columns[N_COLUMNS] = {"x", "y", "z", "nx", "ny", "nz", "d", "s"};
/* 4.685: 95 % efficient where residuals are normal (Holland and Welsch, 1977). */
static const gchar residual_text[] =
    "tukey(nx*transform_x(T, x, y, z) + ny*transform_y(T, x, y, z) + nz*transform_z(T, x, y, z)"
    " - d - s*dt, 4.685)";

typedef struct {
  float p[3];
  float time; /* seconds from the scan's stamp on */
} Point;

typedef struct {
  gint64 time;
  guint first, n; /* of the points */
} Scan;

struct _NdtCalibration {
  NdtVoxelMap *map;
  const NdtTimedPose *body;
  gsize n_body;
  NdtCalibrationParams params;
  GArray *scans;  /* Scan */
  GArray *points; /* Point */
  /* Planes of the map's finest level: normal and whether it is one, by voxel. */
  float *normals;
  /* Of the last association. */
  GArray *rows[N_COLUMNS]; /* double */
  GArray *row_times;       /* double */
  GArray *residuals;       /* double, metres */
};

/* Normals of the cells that are flat: the least eigenvalue of the covariance is less than
 * NDT_CALIBRATION_FLAT of the middle one. Zero of others. */
static void
find_planes (NdtCalibration *c)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (c->map, 0);
  c->normals = g_new0 (float, 3 * (gsize)MAX (level->n_voxels, 1));
  for (gsize i = 0; i < level->n_voxels; i++) {
    double m[6], values[3], v[9];
    for (guint k = 0; k < 6; k++)
      m[k] = (double)level->voxels[i].icov[k];
    /* Of the inverse: the largest is across the plane. */
    ndt_eigen3 (m, values, v);
    if (!(values[1] < NDT_CALIBRATION_FLAT * values[2]))
      continue;
    for (guint k = 0; k < 3; k++)
      c->normals[3 * i + k] = (float)v[3 * k + 2];
  }
}

NdtCalibration *
ndt_calibration_new (
    NdtVoxelMap *map, const NdtTimedPose *body, gsize n_body, const NdtCalibrationParams *params)
{
  NdtCalibration *c = g_new0 (NdtCalibration, 1);
  c->map = ndt_voxel_map_ref (map);
  c->body = body;
  c->n_body = n_body;
  c->params = *params;
  c->scans = g_array_new (FALSE, FALSE, sizeof (Scan));
  c->points = g_array_new (FALSE, FALSE, sizeof (Point));
  for (guint k = 0; k < N_COLUMNS; k++)
    c->rows[k] = g_array_new (FALSE, FALSE, sizeof (double));
  c->row_times = g_array_new (FALSE, FALSE, sizeof (double));
  c->residuals = g_array_new (FALSE, FALSE, sizeof (double));
  find_planes (c);
  return c;
}

void
ndt_calibration_free (NdtCalibration *c)
{
  if (!c)
    return;
  ndt_voxel_map_unref (c->map);
  g_array_unref (c->scans);
  g_array_unref (c->points);
  for (guint k = 0; k < N_COLUMNS; k++)
    g_array_unref (c->rows[k]);
  g_array_unref (c->row_times);
  g_array_unref (c->residuals);
  g_free (c->normals);
  g_free (c);
}

void
ndt_calibration_add_scan (
    NdtCalibration *c, gint64 time, const NdtCloudView *points, const NdtTimeView *times)
{
  const gsize step = MAX (
      1, (points->n_points + c->params.points_per_scan - 1) / MAX (c->params.points_per_scan, 1));
  const double max_range = c->params.max_range > 0 ? c->params.max_range : INFINITY;
  Scan scan = {time, c->points->len, 0};

  for (gsize i = 0; i < points->n_points; i += step) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    const double range = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    const double t = times && times->data ? ndt_time_view_get (times, i) : 0;
    if (!(range >= c->params.min_range && range <= max_range) || !isfinite (t))
      continue;
    const Point point = {{(float)p[0], (float)p[1], (float)p[2]}, (float)t};
    g_array_append_val (c->points, point);
  }
  scan.n = c->points->len - scan.first;
  if (scan.n > 0)
    g_array_append_val (c->scans, scan);
}

guint
ndt_calibration_get_n_scans (const NdtCalibration *c)
{
  return c->scans->len;
}

/* ---- The start: scans that are registered one by one ---- */

/* The body's pose; FALSE outside of its trajectory. */
static gboolean
get_body (NdtPoseCurve *curve, gint64 time, double seconds, NdtPose *pose)
{
  return ndt_pose_curve_get (curve, time + (gint64)llround (1e9 * seconds), pose);
}

/* The sensor's pose on the body by one scan. */
static gboolean
register_scan (NdtCalibration *c, NdtBackend *backend, const Scan *scan, NdtPoseCurve *curve,
    const NdtPose *start, NdtPose *found, GError **error)
{
  static const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtRegistrationParams params;
  NdtRegistration registration;
  NdtPose body, guess;
  const Point *first = &g_array_index (c->points, Point, scan->first);
  const NdtCloudView view = ndt_cloud_view (first, scan->n, sizeof (Point),
      G_STRUCT_OFFSET (Point, p), G_STRUCT_OFFSET (Point, p) + sizeof (float),
      G_STRUCT_OFFSET (Point, p) + 2 * sizeof (float), NDT_SCALAR_F32);

  if (!get_body (curve, scan->time, 0, &body))
    return FALSE;
  ndt_pose_compose (&body, start, &guess);
  ndt_registration_params_init (&params);
  if (!ndt_backend_set_scan (backend, 0, &view, &filter, error) ||
      !ndt_register (backend, 0, &params, NDT_SEARCH_FAR, &guess, 1, &registration, error))
    return FALSE;
  ndt_pose_between (&body, &registration.pose, found);
  return registration.stop == NDT_STOP_CONVERGED;
}

/* Of the poses by some scans the one that most others are near to. */
static gboolean
find_start (NdtCalibration *c, const NdtPose *start, NdtPose *found, GError **error)
{
  const NdtBackendConfig config = {.device_id = -1, .n_threads = c->params.n_threads};
  const guint n_scans = c->scans->len, n = MIN (n_scans, NDT_CALIBRATION_STARTS);
  NdtPose poses[NDT_CALIBRATION_STARTS];
  guint n_poses = 0, best = 0;
  NdtPoseCurve curve;
  GError *failure = NULL;
  NdtBackend *backend = ndt_backend_open_cpu (&config, error);

  if (!backend || !ndt_backend_set_map (backend, c->map, error)) {
    g_clear_pointer (&backend, ndt_backend_close);
    return FALSE;
  }
  ndt_pose_curve_init (&curve, c->body, c->n_body, 0, 0);
  for (guint i = 0; i < n && !failure; i++) {
    const Scan *scan = &g_array_index (c->scans, Scan, (2 * i + 1) * n_scans / (2 * n));
    n_poses += register_scan (c, backend, scan, &curve, start, &poses[n_poses], &failure);
  }
  ndt_backend_close (backend);
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  for (guint i = 0; i < n_poses; i++) {
    guint near = 0;
    for (guint k = 0; k < n_poses; k++) {
      double metres, radians;
      ndt_pose_difference (&poses[i], &poses[k], &metres, &radians);
      near += metres < NDT_CALIBRATION_NEAR_METRES && radians < NDT_CALIBRATION_NEAR_RADIANS;
    }
    if (near > best) {
      best = near;
      *found = poses[i];
    }
  }
  if (best >= 2 || (best == 1 && n == 1))
    return TRUE;
  g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED,
      "of %u scans no two are at the same pose on the body where they fit the map: the sensor's "
      "start, the map or the trajectory's times may be wrong",
      n);
  return FALSE;
}

/* ---- All scans ---- */

static void
add_row (NdtCalibration *c, const double row[N_COLUMNS], double time)
{
  for (guint k = 0; k < N_COLUMNS; k++)
    g_array_append_val (c->rows[k], row[k]);
  g_array_append_val (c->row_times, time);
}

/* Row of a point where the cell that it lies in is a plane within @reach. @before, @after: the
 * body's poses STEP before and after. */
static void
associate_point (NdtCalibration *c, const Point *point, const NdtPose *pose, const NdtPose *body,
    const NdtPose *before, const NdtPose *after, double reach, double time)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (c->map, 0);
  const double p[3] = {(double)point->p[0], (double)point->p[1], (double)point->p[2]};
  double q[3], m[3], m0[3], m1[3], rotation[9], n[3], distance = 0, speed = 0;
  gint32 cell[3];
  double row[N_COLUMNS] = {[X] = p[0], [Y] = p[1], [Z] = p[2]};

  ndt_pose_transform_point (pose, p, q);
  ndt_pose_transform_point (body, q, m);
  for (guint k = 0; k < 3; k++) {
    const double index = floor (m[k] / level->resolution) - (double)level->origin[k];
    if (!(fabs (index) < NDT_KEY_LIMIT))
      return;
    cell[k] = (gint32)index;
  }
  const gint64 voxel = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
  const float *normal = c->normals + 3 * voxel;
  if (voxel < 0 || (normal[0] == 0 && normal[1] == 0 && normal[2] == 0))
    return;
  ndt_pose_transform_point (before, q, m0);
  ndt_pose_transform_point (after, q, m1);
  double mean[3];
  for (guint k = 0; k < 3; k++) {
    n[k] = (double)normal[k];
    mean[k] = (double)(level->origin[k] + cell[k]) * level->resolution +
              (double)level->voxels[voxel].mean[k];
    distance += n[k] * (m[k] - mean[k]);
    speed += n[k] * (m1[k] - m0[k]) / (2 * NDT_CALIBRATION_STEP);
  }
  if (fabs (distance) > reach)
    return;
  ndt_pose_get_rotation (body, rotation);
  for (guint k = 0; k < 3; k++) {
    row[NX + k] = rotation[k] * n[0] + rotation[3 + k] * n[1] + rotation[6 + k] * n[2];
    row[D] += n[k] * (mean[k] - body->position[k]);
  }
  row[S] = speed;
  add_row (c, row, time);
  g_array_append_val (c->residuals, distance);
}

/* Rows of all points at @pose and @offset. */
static void
associate (NdtCalibration *c, const NdtPose *pose, double offset, double reach)
{
  NdtPoseCurve curve, early, late;

  for (guint k = 0; k < N_COLUMNS; k++)
    g_array_set_size (c->rows[k], 0);
  g_array_set_size (c->row_times, 0);
  g_array_set_size (c->residuals, 0);
  ndt_pose_curve_init (&curve, c->body, c->n_body, 0, 0);
  ndt_pose_curve_init (&early, c->body, c->n_body, 0, (gint64)(2e9 * NDT_CALIBRATION_STEP));
  ndt_pose_curve_init (&late, c->body, c->n_body, 0, (gint64)(2e9 * NDT_CALIBRATION_STEP));
  for (guint i = 0; i < c->scans->len; i++) {
    const Scan *scan = &g_array_index (c->scans, Scan, i);
    const double start = 1e-9 * (double)(scan->time - c->body[0].time);
    NdtPose body, before, after;
    float last = NAN;
    gboolean have = FALSE;
    for (guint k = 0; k < scan->n; k++) {
      const Point *point = &g_array_index (c->points, Point, scan->first + k);
      if (point->time != last) {
        const double t = (double)point->time - offset;
        last = point->time;
        have = get_body (&curve, scan->time, t, &body) &&
               get_body (&early, scan->time, t - NDT_CALIBRATION_STEP, &before) &&
               get_body (&late, scan->time, t + NDT_CALIBRATION_STEP, &after);
      }
      if (have)
        associate_point (
            c, point, pose, &body, &before, &after, reach, start + (double)point->time);
    }
  }
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Standard deviation by the median of absolutes. */
static double
robust_sigma (const GArray *residuals)
{
  if (residuals->len == 0)
    return 0;
  g_autofree double *sizes = g_new (double, residuals->len);
  for (guint i = 0; i < residuals->len; i++)
    sizes[i] = fabs (g_array_index (residuals, double, i));
  qsort (sizes, residuals->len, sizeof *sizes, compare_doubles);
  return 1.4826 * sizes[residuals->len / 2];
}

static NdtExprProgram *
compile (gboolean with_time, GError **error)
{
  g_autoptr (NdtExprGraph) graph = ndt_expr_graph_new ();
  NdtExpr residuals[NDT_EXPR_MAX_RESIDUALS];
  guint n;
  gboolean ok = ndt_expr_graph_add_pose (graph, "T", error);
  ok = ok && (with_time ? ndt_expr_graph_add_number (graph, "dt", error)
                        : ndt_expr_graph_add_constant (graph, "dt", 0, error));
  for (guint k = 0; ok && k < N_COLUMNS; k++)
    ok = ndt_expr_graph_add_column (graph, columns[k], error);
  ok = ok && ndt_expr_parse (graph, residual_text, residuals, &n, error);
  return ok ? ndt_expr_compile (graph, residuals, n, error) : NULL;
}

static const double *
get_column (const NdtCalibration *c, guint k)
{
  return (const double *)(gpointer)c->rows[k]->data;
}

/* A minimization with fixed planes over all rows but those whose @parts, nullable, is @left_out;
 * @x: pose and, where it is estimated, the change of the offset. */
static gboolean
minimize (NdtCalibration *c, NdtExprProgram *program, NdtWorkers *workers, const guint8 *parts,
    guint left_out, double *x, double *hessian, GError **error)
{
  const guint n_all = c->rows[0]->len;
  g_autofree double *some = parts ? g_new (double, (gsize)n_all *N_COLUMNS) : NULL;
  const double *data[N_COLUMNS];
  NdtMinimizeParams params;
  NdtMinimum minimum;
  guint n = n_all;

  for (guint k = 0; k < N_COLUMNS; k++) {
    const double *column = get_column (c, k);
    data[k] = column;
    if (!parts)
      continue;
    double *to = some + (gsize)k * n_all;
    data[k] = to;
    n = 0;
    for (guint i = 0; i < n_all; i++)
      if (parts[i] != left_out)
        to[n++] = column[i];
  }
  const NdtExprRows rows = {n, data};
  g_autoptr (NdtObjective) objective = ndt_expr_objective_new (program, &rows, 1, workers);
  ndt_minimize_params_init (&params, NDT_MINIMIZER_LM);
  params.max_evaluations = 50;
  return ndt_minimize (objective, &params, x, hessian, &minimum, error);
}

/* Distances and normals in units of @sigma. */
static void
scale_rows (NdtCalibration *c, double sigma)
{
  for (guint k = NX; k < N_COLUMNS; k++) {
    double *values = (double *)(gpointer)c->rows[k]->data;
    for (guint i = 0; i < c->rows[k]->len; i++)
      values[i] /= sigma;
  }
}

/* Of each row a part of the drive, or of what the sensor sees around it. (transfer full) */
static guint8 *
part_rows (const NdtCalibration *c, gboolean by_direction)
{
  const guint n = c->rows[0]->len;
  const double *x = get_column (c, 0), *y = get_column (c, 1);
  guint8 *parts = g_new (guint8, MAX (n, 1));
  for (guint i = 0; i < n; i++) {
    const double share =
        by_direction ? atan2 (y[i], x[i]) / (2 * G_PI) + 0.5 : (i + 0.5) / (double)n;
    parts[i] = (guint8)MIN (share * NDT_CALIBRATION_PARTS, NDT_CALIBRATION_PARTS - 1);
  }
  return parts;
}

/* Adds the variance of the result that leaving out each of the parts shows (the jackknife): where
 * what is seen contradicts itself, that is more than what rows that are independent have. By parts
 * of the drive it is what passes, traffic for instance; by directions what is there all along, as
 * surfaces that two sensors see from two sides. */
static gboolean
add_spread (NdtCalibration *c, NdtExprProgram *program, NdtWorkers *workers, gboolean by_direction,
    NdtCalibrationResult *r, GError **error)
{
  const guint n_parts = NDT_CALIBRATION_PARTS;
  g_autofree guint8 *parts = part_rows (c, by_direction);
  double steps[NDT_CALIBRATION_PARTS][N] = {{0}}, mean[N] = {0};

  for (guint g = 0; g < n_parts; g++) {
    double x[8] = {0};
    NdtPose back, pose;
    memcpy (x, &r->pose, sizeof r->pose);
    if (!minimize (c, program, workers, parts, g, x, NULL, error))
      return FALSE;
    memcpy (&pose, x, sizeof pose);
    /* The turn about the body's axes, and the way. */
    NdtPose turn = pose, base = r->pose;
    memset (turn.position, 0, sizeof turn.position);
    memset (base.position, 0, sizeof base.position);
    ndt_pose_invert (&base, &back);
    ndt_pose_compose (&turn, &back, &turn);
    ndt_pose_log (&turn, steps[g]);
    for (guint k = 0; k < 3; k++)
      steps[g][k] = pose.position[k] - r->pose.position[k];
    steps[g][6] = c->params.estimate_time ? x[7] : 0;
    for (guint k = 0; k < N; k++)
      mean[k] += steps[g][k] / n_parts;
  }
  for (guint i = 0; i < N; i++)
    for (guint k = 0; k < N; k++)
      for (guint g = 0; g < n_parts; g++)
        r->covariance[N * i + k] +=
            (n_parts - 1.0) / n_parts * (steps[g][i] - mean[i]) * (steps[g][k] - mean[k]);
  ndt_calibration_judge (r);
  return TRUE;
}

/* Whether a change is less than a hundredth of what makes a parameter observed. */
static gboolean
is_small (const NdtCalibrationResult *r, const NdtPose *before, double offset_change)
{
  double metres, radians;
  ndt_pose_difference (before, &r->pose, &metres, &radians);
  return metres < NDT_CALIBRATION_METRES / 100 && radians < NDT_CALIBRATION_RADIANS / 100 &&
         fabs (offset_change) < NDT_CALIBRATION_SECONDS / 100;
}

gboolean
ndt_calibration_solve (
    NdtCalibration *c, const NdtPose *start, NdtCalibrationResult *r, GError **error)
{
  g_autoptr (NdtExprProgram) program = NULL;
  double hessian[NDT_PACKED_SIZE (N)] = {0};
  double sigma = 0;

  memset (r, 0, sizeof *r);
  r->n_points = c->points->len;
  if (c->scans->len == 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED, "the sensor has no points in range");
    return FALSE;
  }
  associate (c, start, 0, NDT_CALIBRATION_REACH);
  for (guint i = 0; i < c->residuals->len; i++)
    r->rms_start += pow (g_array_index (c->residuals, double, i), 2) / c->residuals->len;
  r->rms_start = sqrt (r->rms_start);
  if (!find_start (c, start, &r->pose, error))
    return FALSE;
  program = compile (c->params.estimate_time, error);
  if (!program)
    return FALSE;

  NdtWorkers *workers = ndt_workers_new (c->params.n_threads);
  gboolean ok = TRUE;
  while (ok && r->n_iterations < NDT_CALIBRATION_ITERATIONS && !r->is_converged) {
    const double reach = r->n_iterations == 0 ? NDT_CALIBRATION_REACH : MAX (6 * sigma, 0.05);
    const NdtPose before = r->pose;
    double x[8];
    associate (c, &r->pose, r->time_offset, reach);
    sigma = MAX (robust_sigma (c->residuals), 1e-4);
    if (c->residuals->len < NDT_CALIBRATION_LEAST_ROWS) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED,
          "only %u of %" G_GSIZE_FORMAT " points lie on planes of the map", c->residuals->len,
          r->n_points);
      ok = FALSE;
      break;
    }
    memcpy (x, &r->pose, sizeof r->pose);
    x[7] = 0;
    scale_rows (c, sigma);
    ok = minimize (c, program, workers, NULL, 0, x, hessian, error);
    memcpy (&r->pose, x, sizeof r->pose);
    r->time_offset += c->params.estimate_time ? x[7] : 0;
    r->n_iterations++;
    r->is_converged = ok && is_small (r, &before, c->params.estimate_time ? x[7] : 0);
  }
  r->n_rows = c->residuals->len;
  r->sigma = sigma;
  ndt_calibration_invert (hessian, c->params.estimate_time ? N : N - 1, r);
  ok = ok && add_spread (c, program, workers, FALSE, r, error) &&
       add_spread (c, program, workers, TRUE, r, error);
  ndt_workers_free (workers);
  return ok;
}

gsize
ndt_calibration_get_residuals (const NdtCalibration *c, double **residuals, double **times)
{
  const gsize n = c->residuals->len;
  *residuals = g_memdup2 (c->residuals->data, n * sizeof (double));
  *times = g_memdup2 (c->row_times->data, n * sizeof (double));
  return n;
}
