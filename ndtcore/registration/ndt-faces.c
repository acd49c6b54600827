/* SPDX-License-Identifier: MIT */
#include "ndt-faces.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/scan/ndt-scan-filter.h"

/* Points that are looked at, and the table of their voxels, a power of two. */
#define N_POINTS 2048
#define N_SLOTS (2 * N_POINTS)
/* Nearer points are of the vehicle, metres. */
#define LEAST_RANGE 1.0f
/* A scan that is thinned to half a cell has so many points of a surface in a cell: more of the
 * sample count as these. */
#define MOST_OF_CELL 4.0
/* The inverse variances along a surface, together, are below this / cell²: an even plane has 24. */
#define FLAT 64.0
/* A face has a standard deviation of at most 6 % of a cell, and the one before it, in whose cells
 * columns and cupboards may stand, metres. */
#define THIN_CELLS 0.06
#define FRONT_SIGMA 0.16
/* Two faces are parallel to within 10°, at least so far apart, metres and standard deviations, at
 * most half a cell, and opposite one another to 60 % of a cell. */
#define PARALLEL 0.985
#define APART 0.1
#define APART_PLANES 0.15
#define APART_SIGMAS 3.0
#define APART_FRONT 1.2
#define APART_CELLS 0.5
#define OPPOSITE_CELLS 0.6
/* A wall's foot and head are in cells with the floor's and the ceiling's points: the face beside
 * them, above or below, is its face there as well. */
#define ABOVE_CELLS 1.2
/* A voxel with both faces has a standard deviation of half their distance, metres, … */
#define BOTH_LEAST 0.1
#define BOTH_MOST 0.25
/* … and of that the scan has at most half, in so many points. */
#define BOTH_SCAN 0.25
#define BOTH_POINTS 3
/* Surfaces that are seen at a flatter angle show no face, cosine. */
#define LEAST_COSINE 0.1
/* Eigenvalues of the curvature below this fraction of the largest are feigned by flat surfaces. */
#define LEAST_CURVATURE 0.02
/* Of the flat voxels of a map so many have a face before them or behind them, or such a standard
 * deviation that they may have both. */
#define FACES_SHARE 0.02
#define BOTH_SHARE 0.6
/* Voxels of a map that are looked at, and flat ones at least. */
#define N_VOXELS 4096
#define LEAST_FLAT 20
/* Less is within what the clusters of a scan differ by, cells. */
#define LEAST_SHIFT 0.05

/* Points of the sample in one voxel: their number, Σ of their terms, of their curvatures, of the
 * vectors from the voxel's mean and of the products of these (xx, xy, xz, yy, yz, zz). */
typedef struct {
  guint32 voxel;
  guint32 n;
  float term;
  float curvature[6];
  float from[3];
  float square[6];
} Group;

struct _NdtFaces {
  guint n;
  guint16 slots[N_SLOTS]; /* index + 1 */
  Group groups[N_POINTS];
};

/* The direction across a surface, and the inverse variance along it. */
typedef struct {
  double normal[3];
  double across;
  double along; /* the other two inverse variances, together */
} Plane;

static const guint8 pairs[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};

static void
multiply (const double m[6], const double v[3], double out[3])
{
  out[0] = m[0] * v[0] + m[1] * v[1] + m[2] * v[2];
  out[1] = m[1] * v[0] + m[3] * v[1] + m[4] * v[2];
  out[2] = m[2] * v[0] + m[4] * v[1] + m[5] * v[2];
}

static double
dot (const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void
widen (const float *from, guint n, double *to)
{
  for (guint k = 0; k < n; k++)
    to[k] = (double)from[k];
}

/* The largest eigenvector of the inverse covariance, from its eighth power: of a surface the next
 * eigenvalue is a third or less. */
static void
get_plane (const NdtVoxel *voxel, Plane *plane)
{
  double m[6], power[6], v[3];
  widen (voxel->icov, 6, m);
  const double trace = m[0] + m[3] + m[5];
  for (guint k = 0; k < 6; k++)
    power[k] = m[k] / trace;
  for (guint i = 0; i < 3; i++) {
    const double p[6] = {power[0], power[1], power[2], power[3], power[4], power[5]};
    power[0] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    power[1] = p[0] * p[1] + p[1] * p[3] + p[2] * p[4];
    power[2] = p[0] * p[2] + p[1] * p[4] + p[2] * p[5];
    power[3] = p[1] * p[1] + p[3] * p[3] + p[4] * p[4];
    power[4] = p[1] * p[2] + p[3] * p[4] + p[4] * p[5];
    power[5] = p[2] * p[2] + p[4] * p[4] + p[5] * p[5];
  }
  const guint best =
      power[0] >= power[3] ? (power[0] >= power[5] ? 0 : 2) : (power[3] >= power[5] ? 1 : 2);
  const double columns[3][3] = {{power[0], power[1], power[2]}, {power[1], power[3], power[4]},
      {power[2], power[4], power[5]}};
  const double length = sqrt (dot (columns[best], columns[best]));
  for (guint k = 0; k < 3; k++)
    plane->normal[k] = columns[best][k] / length;
  multiply (m, plane->normal, v);
  plane->across = dot (plane->normal, v);
  plane->along = trace - plane->across;
}

NdtFaces *
ndt_faces_new (void)
{
  return g_new (NdtFaces, 1);
}

void
ndt_faces_free (NdtFaces *faces)
{
  g_free (faces);
}

/* ---- Sample ---- */

static Group *
find_group (NdtFaces *faces, guint32 voxel)
{
  guint at = voxel * 2654435761u >> 20; /* of N_SLOTS */
  while (faces->slots[at]) {
    Group *group = &faces->groups[faces->slots[at] - 1];
    if (group->voxel == voxel)
      return group;
    at = (at + 1) % N_SLOTS;
  }
  Group *group = &faces->groups[faces->n++];
  faces->slots[at] = (guint16)faces->n;
  *group = (Group){.voxel = voxel};
  return group;
}

static void
add_point (Group *group, const NdtVoxel *voxel, const double from[3], double d2)
{
  double m[6], c[3];
  widen (voxel->icov, 6, m);
  multiply (m, from, c);
  const double term = exp (-0.5 * d2 * dot (from, c));
  group->n++;
  group->term += (float)term;
  for (guint k = 0; k < 3; k++)
    group->from[k] += (float)from[k];
  for (guint k = 0; k < 6; k++) {
    const guint i = pairs[k][0], j = pairs[k][1];
    group->curvature[k] += (float)(term * (m[k] - d2 * c[i] * c[j]));
    group->square[k] += (float)(from[i] * from[j]);
  }
}

/* The i-th point of the sample, in no step that lines or columns of a sensor may have. */
static gsize
choose (gsize n_points, gsize n, gsize i)
{
  const gsize step = n_points / n;
  return i * n_points / n + (step > 1 ? (guint32)(i * 2654435761u) % step : 0);
}

/* @origin: the sensor's position from the level's origin. */
static void
collect (NdtFaces *faces, const NdtVoxelLevel *level, const NdtCloudView *points,
    const NdtScanFilter *filter, const NdtPose *sensor, const double origin[3], double d2)
{
  const double r = level->resolution;
  const float least = MAX (filter->min_range, LEAST_RANGE);
  const gsize n = MIN (points->n_points, N_POINTS);
  double rotation[9];
  ndt_pose_get_rotation (sensor, rotation);
  for (gsize i = 0; i < n; i++) {
    double p[3], from[3];
    gint32 cell[3];
    ndt_cloud_view_get (points, choose (points->n_points, n, i), p);
    if (!ndt_scan_keep ((float)p[0], (float)p[1], (float)p[2], least, filter->max_range,
            filter->use_box, filter->box_min, filter->box_max))
      continue;
    gboolean in_range = TRUE;
    for (guint k = 0; k < 3; k++) {
      from[k] = origin[k] + dot (rotation + 3 * k, p);
      in_range = in_range && fabs (from[k]) < NDT_KEY_LIMIT * r;
      cell[k] = in_range ? (gint32)floor (from[k] / r) : 0;
    }
    const gint64 at = in_range ? ndt_voxel_level_find (level, cell[0], cell[1], cell[2]) : -1;
    if (at < 0)
      continue;
    const NdtVoxel *voxel = &level->voxels[at];
    for (guint k = 0; k < 3; k++)
      from[k] -= r * cell[k] + (double)voxel->mean[k];
    add_point (find_group (faces, (guint32)at), voxel, from, d2);
  }
}

/* ---- Faces ---- */

/* Distance along @plane's normal from @voxel to the face @other, where that is one before it;
 * @away: cosine of normal and ray. 0: it is none. */
static double
get_front (const NdtVoxelLevel *level, const NdtVoxel *voxel, const Plane *plane, double away,
    const gint32 cell[3], double most_above)
{
  const double r = level->resolution;
  const gint64 at = ndt_voxel_level_find (level, cell[0], cell[1], cell[2]);
  Plane front;
  double d[3];
  if (at < 0)
    return 0;
  const NdtVoxel *other = &level->voxels[at];
  get_plane (other, &front);
  for (guint k = 0; k < 3; k++)
    d[k] = r * (cell[k] - voxel->cell[k]) + (double)other->mean[k] - (double)voxel->mean[k];
  const double t = dot (d, plane->normal), c = dot (front.normal, plane->normal);
  /* Of a surface that bends its own plane leads back to @voxel. */
  const double by_front = fabs (c) > PARALLEL ? dot (d, front.normal) / c : 0;
  const double beside = dot (d, d) - t * t;
  const double level_beside = most_above > OPPOSITE_CELLS ? beside - d[2] * d[2] : beside;
  const double sigma = 1 / sqrt (plane->across), front_sigma = 1 / sqrt (front.across);
  if (t * away >= 0 || fabs (c) < PARALLEL || by_front * t <= 0 || fabs (t) < APART ||
      fabs (by_front) < APART_PLANES || fabs (t) > APART_CELLS * r ||
      beside > most_above * most_above * r * r ||
      level_beside > OPPOSITE_CELLS * OPPOSITE_CELLS * r * r || front_sigma > FRONT_SIGMA ||
      fabs (t) < MAX (APART_FRONT * front_sigma, APART_SIGMAS * sigma))
    return 0;
  return t;
}

/* Of the faces before a thin voxel the nearest one. */
static double
find_front (const NdtVoxelLevel *level, const NdtVoxel *voxel, const Plane *plane, double away)
{
  guint axis = 0;
  for (guint k = 1; k < 3; k++)
    if (fabs (plane->normal[k]) > fabs (plane->normal[axis]))
      axis = k;
  gint32 cell[3] = {voxel->cell[0], voxel->cell[1], voxel->cell[2]};
  cell[axis] += plane->normal[axis] * away > 0 ? -1 : 1;
  if (ndt_voxel_level_find (level, cell[0], cell[1], cell[2]) < 0)
    return 0;
  double best = get_front (level, voxel, plane, away, cell, OPPOSITE_CELLS);
  for (gint side = -1; side <= 1 && axis != 2 && best == 0; side += 2) {
    const gint32 above[3] = {cell[0], cell[1], cell[2] + side};
    best = get_front (level, voxel, plane, away, above, ABOVE_CELLS);
  }
  return best;
}

enum { NO_FACES = 1, HAS_FACES };

gboolean
ndt_faces_are_in (NdtVoxelMap *map)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  gint *known = ndt_voxel_map_get_faces (map), state = g_atomic_int_get (known);
  const double r = level->resolution;
  const guint32 step = 1 + level->n_voxels / N_VOXELS;
  guint n_flat = 0, n_faces = 0, n_both = 0;
  for (guint32 i = 0; i < level->n_voxels && state == 0; i += step) {
    Plane plane;
    get_plane (&level->voxels[i], &plane);
    const double sigma = 1 / sqrt (plane.across);
    if (plane.along > FLAT / (r * r) || sigma > BOTH_MOST)
      continue;
    n_flat++;
    n_both += sigma >= BOTH_LEAST;
    n_faces +=
        sigma <= THIN_CELLS * r && (find_front (level, &level->voxels[i], &plane, 1) != 0 ||
                                       find_front (level, &level->voxels[i], &plane, -1) != 0);
  }
  if (state == 0) {
    state = n_flat >= LEAST_FLAT && (n_faces > FACES_SHARE * n_flat || n_both > BOTH_SHARE * n_flat)
                ? HAS_FACES
                : NO_FACES;
    g_atomic_int_set (known, state);
  }
  return state == HAS_FACES;
}

/* Metres along the normal from where the points of a group are to the face that they belong to. */
static double
find_offset (const NdtVoxelLevel *level, const Group *group, const double origin[3], Plane *plane)
{
  const NdtVoxel *voxel = &level->voxels[group->voxel];
  const double r = level->resolution, n = group->n;
  double ray[3], square[6], from[3], v[3];
  get_plane (voxel, plane);
  if (plane->along > FLAT / (r * r))
    return 0;
  for (guint k = 0; k < 3; k++)
    ray[k] = r * voxel->cell[k] + (double)voxel->mean[k] - origin[k];
  const double away = dot (plane->normal, ray) / sqrt (dot (ray, ray));
  const double sigma = 1 / sqrt (plane->across);
  if (fabs (away) < LEAST_COSINE)
    return 0;
  const double front = sigma <= THIN_CELLS * r ? find_front (level, voxel, plane, away) : 0;
  if (front != 0)
    return front;
  if (sigma < BOTH_LEAST || sigma > BOTH_MOST || group->n < BOTH_POINTS)
    return 0;
  widen (group->square, 6, square);
  widen (group->from, 3, from);
  multiply (square, plane->normal, v);
  const double mean = dot (plane->normal, from) / n;
  const double variance = (dot (plane->normal, v) - n * mean * mean) / (n - 1);
  if (variance > BOTH_SCAN * sigma * sigma)
    return 0;
  const double half = sqrt (sigma * sigma - MAX (variance, 0));
  const double beyond = away > 0 ? mean : -mean;
  return (away > 0 ? -1 : 1) * MAX (half + beyond, 0);
}

/* Of a surface that across it: along it that of its other voxels, which are not looked at, makes up
 * for it. */
static void
add_curvature (const Group *group, const Plane *plane, double r, double weight, double curvature[6])
{
  const double *n = plane->normal;
  double own[6], v[3];
  widen (group->curvature, 6, own);
  multiply (own, n, v);
  const double across = dot (n, v);
  for (guint k = 0; k < 6; k++)
    curvature[k] +=
        weight *
        (plane->along > FLAT / (r * r) ? own[k] : across * n[pairs[k][0]] * n[pairs[k][1]]);
}

gboolean
ndt_faces_get_shift (NdtFaces *faces, const NdtVoxelMap *map, const NdtCloudView *points,
    const NdtScanFilter *filter, const NdtPose *sensor, double d2, double shift[3])
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const double r = level->resolution;
  double origin[3], curvature[6] = {0}, gradient[3] = {0}, values[3], vectors[9], square = 0;
  memset (shift, 0, 3 * sizeof (double));
  for (guint k = 0; k < 3; k++) {
    origin[k] = sensor->position[k] - r * (double)level->origin[k];
    if (!(fabs (origin[k]) < NDT_KEY_LIMIT * r))
      return FALSE;
  }
  faces->n = 0;
  memset (faces->slots, 0, sizeof (faces->slots));
  collect (faces, level, points, filter, sensor, origin, d2);
  for (guint i = 0; i < faces->n; i++) {
    const Group *group = &faces->groups[i];
    const double weight = MIN (group->n, MOST_OF_CELL) / group->n;
    Plane plane;
    double m[6], drawn[3];
    const double offset = find_offset (level, group, origin, &plane);
    add_curvature (group, &plane, r, weight, curvature);
    if (offset == 0)
      continue;
    widen (level->voxels[group->voxel].icov, 6, m);
    multiply (m, plane.normal, drawn);
    for (guint k = 0; k < 3; k++)
      gradient[k] += weight * (double)group->term * offset * drawn[k];
  }
  ndt_eigen3 (curvature, values, vectors);
  if (!(values[2] > 0) || dot (gradient, gradient) == 0)
    return FALSE;
  for (guint j = 0; j < 3; j++) {
    const double axis[3] = {vectors[j], vectors[3 + j], vectors[6 + j]};
    const double step = dot (axis, gradient) / MAX (values[j], LEAST_CURVATURE * values[2]);
    for (guint k = 0; k < 3; k++)
      shift[k] += step * axis[k];
  }
  square = dot (shift, shift);
  if (square >= LEAST_SHIFT * LEAST_SHIFT * r * r)
    return TRUE;
  memset (shift, 0, 3 * sizeof (double));
  return FALSE;
}

void
ndt_faces_raise (const double shift[3], double covariance[36])
{
  const double square = dot (shift, shift);
  double given = 0;
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++)
      given += shift[i] * covariance[6 * i + j] * shift[j] / square;
  for (guint i = 0; i < 3 && given < square; i++)
    for (guint j = 0; j < 3; j++)
      covariance[6 * i + j] += (square - given) / square * shift[i] * shift[j];
}
