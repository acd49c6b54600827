/* SPDX-License-Identifier: MIT */
#include "ndt-frames.h"

#include <math.h>
#include <string.h>

#include "ndt-device-frames.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndt-frame-points.h"

/* Components of a pose, one array each, so that loops over frames vectorize. */
enum { PX, PY, PZ, QX, QY, QZ, QW, N_COMPONENTS };

#define MATRIX NDT_FRAME_MATRIX

/* The loader resolves such functions before ThreadSanitizer is initialized. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR __attribute__ ((target_clones ("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

struct _NdtFrameTree {
  guint32 n;
  guint32 capacity;
  guint32 *parents;
  guint32 *levels;
  double *local[N_COMPONENTS]; /* by frame */
  double *world[N_COMPONENTS]; /* by frame */
  guint32 *order;              /* frames by level; a permutation */
  GArray *level_ends;          /* guint32 */
  gboolean ordered;
  gboolean propagated;
  /* From each frame to a reference: MATRIX floats each, and one more at the end. */
  float *matrices;
  guint32 n_matrices; /* capacity */
  gboolean have_matrices;
  guint32 reference;

  NdtDeviceFrames *device; /* nullable */
  gboolean device_has_tree;
  guint32 new_begin, new_end; /* frames whose poses the device does not have */

  gsize n_attached;
  gsize attached_capacity;
  float *attached; /* packed points */
  guint32 *attached_frames;
  gboolean attached_on_device;
  gboolean attached_is_new; /* the device was not offered them */
  gsize n_moved;
  gboolean moved_on_device;
  float *moved; /* room for attached_capacity points, or NULL */
};

NdtFrameTree *
ndt_frame_tree_new (void)
{
  NdtFrameTree *tree = g_new0 (NdtFrameTree, 1);
  tree->new_begin = G_MAXUINT32;
  tree->level_ends = g_array_new (FALSE, FALSE, sizeof (guint32));
  return tree;
}

void
ndt_frame_tree_free (NdtFrameTree *tree)
{
  g_clear_pointer (&tree->device, ndt_device_frames_close);
  g_free (tree->attached);
  g_free (tree->attached_frames);
  g_free (tree->moved);
  for (guint k = 0; k < N_COMPONENTS; k++) {
    g_free (tree->local[k]);
    g_free (tree->world[k]);
  }
  g_free (tree->parents);
  g_free (tree->levels);
  g_free (tree->order);
  g_array_unref (tree->level_ends);
  g_free (tree->matrices);
  g_free (tree);
}

void
ndt_frame_tree_clear (NdtFrameTree *tree)
{
  tree->n = 0;
  tree->n_attached = tree->n_moved = 0;
  tree->device_has_tree = FALSE;
  tree->ordered = tree->propagated = tree->have_matrices = FALSE;
}

guint32
ndt_frame_tree_get_n_frames (const NdtFrameTree *tree)
{
  return tree->n;
}

/* What ndt_pose_normalize() takes. */
static inline gboolean
is_valid (const NdtPose *pose)
{
  const double *p = pose->position, *q = pose->orientation;
  const double n2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  return isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]) && isfinite (n2) && n2 >= 1e-12;
}

static gboolean
check_poses (const NdtPose *poses, guint32 n, GError **error)
{
  for (guint32 i = 0; i < n; i++) {
    if (!is_valid (&poses[i])) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "The pose of frame %u of %u is not finite or has no orientation", i, n);
      return FALSE;
    }
  }
  return TRUE;
}

static void
store (double *const components[N_COMPONENTS], guint32 at, const NdtPose *pose)
{
  NdtPose p = *pose;
  ndt_quat_normalize (p.orientation);
  for (guint k = 0; k < 3; k++)
    components[PX + k][at] = p.position[k];
  for (guint k = 0; k < 4; k++)
    components[QX + k][at] = p.orientation[k];
}

static void
load (double *const components[N_COMPONENTS], guint32 at, NdtPose *pose)
{
  for (guint k = 0; k < 3; k++)
    pose->position[k] = components[PX + k][at];
  for (guint k = 0; k < 4; k++)
    pose->orientation[k] = components[QX + k][at];
}

/* Extends the range of frames whose poses the device does not have. */
static void
note_new (NdtFrameTree *tree, guint32 first, guint32 n)
{
  tree->new_begin = MIN (tree->new_begin, first);
  tree->new_end = MAX (tree->new_end, first + n);
}

static gboolean
reserve (NdtFrameTree *tree, guint32 n, GError **error)
{
  if (n <= tree->capacity)
    return TRUE;
  const guint32 capacity = MAX (n, 2 * tree->capacity);
  gboolean ok = TRUE;
  for (guint k = 0; k < N_COMPONENTS && ok; k++)
    ok = ndt_grow (tree->local[k], capacity) && ndt_grow (tree->world[k], capacity);
  if (!ok || !ndt_grow (tree->parents, capacity) || !ndt_grow (tree->levels, capacity) ||
      !ndt_grow (tree->order, capacity))
    return ndt_refuse_memory (error, "%" G_GSIZE_FORMAT " frames", (gsize)n);
  tree->capacity = capacity;
  return TRUE;
}

guint32
ndt_frame_tree_add (
    NdtFrameTree *tree, guint32 n, const guint32 *parents, const NdtPose *poses, GError **error)
{
  const guint32 first = tree->n;
  if (n > G_MAXUINT32 / 4 - first) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "Too many frames");
    return NDT_FRAME_NONE;
  }
  for (guint32 i = 0; parents && i < n; i++)
    if (parents[i] != NDT_FRAME_NONE && parents[i] >= first + i) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "Frame %u has frame %u as its parent, which does not exist before it", first + i,
          parents[i]);
      return NDT_FRAME_NONE;
    }
  if (!check_poses (poses, n, error))
    return NDT_FRAME_NONE;
  if (!reserve (tree, first + n, error))
    return NDT_FRAME_NONE;
  for (guint32 i = 0; i < n; i++) {
    const guint32 parent = parents ? parents[i] : NDT_FRAME_NONE;
    tree->parents[first + i] = parent;
    tree->levels[first + i] = parent == NDT_FRAME_NONE ? 0 : tree->levels[parent] + 1;
    store (tree->local, first + i, &poses[i]);
  }
  tree->n += n;
  tree->device_has_tree = FALSE;
  tree->ordered = tree->propagated = tree->have_matrices = FALSE;
  return first;
}

gboolean
ndt_frame_tree_set (
    NdtFrameTree *tree, guint32 first, guint32 n, const NdtPose *poses, GError **error)
{
  if (first > tree->n || n > tree->n - first) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "There is no frame %u: the tree has %u", first + n - 1, tree->n);
    return FALSE;
  }
  if (!check_poses (poses, n, error))
    return FALSE;
  for (guint32 i = 0; i < n; i++)
    store (tree->local, first + i, &poses[i]);
  note_new (tree, first, n);
  tree->propagated = tree->have_matrices = FALSE;
  return TRUE;
}

/* Counting sort by level. */
static void
order_by_level (NdtFrameTree *tree)
{
  guint32 n_levels = 0, sum = 0;
  for (guint32 i = 0; i < tree->n; i++)
    n_levels = MAX (n_levels, tree->levels[i] + 1);
  g_array_set_size (tree->level_ends, n_levels);
  guint32 *ends = (guint32 *)(gpointer)tree->level_ends->data;
  if (n_levels > 0)
    memset (ends, 0, n_levels * sizeof (guint32));
  for (guint32 i = 0; i < tree->n; i++)
    ends[tree->levels[i]]++;
  for (guint32 l = 0; l < n_levels; l++) {
    const guint32 count = ends[l];
    ends[l] = sum;
    sum += count;
  }
  for (guint32 i = 0; i < tree->n; i++)
    tree->order[ends[tree->levels[i]]++] = i;
  tree->ordered = TRUE;
}

/* world = parent's world ∘ local, for frames whose parents are done. */
static void
propagate_level (NdtFrameTree *tree, const guint32 *frames, guint32 n)
{
  double *const *l = tree->local;
  double *const *w = tree->world;
  for (guint32 i = 0; i < n; i++) {
    const guint32 f = frames[i], p = tree->parents[f];
    const double a[4] = {w[QX][p], w[QY][p], w[QZ][p], w[QW][p]};
    const double b[4] = {l[QX][f], l[QY][f], l[QZ][f], l[QW][f]};
    const double ax = a[0], ay = a[1], az = a[2], aw = a[3];
    double q[4];
    const double vx = l[PX][f], vy = l[PY][f], vz = l[PZ][f];
    const double tx = 2 * (ay * vz - az * vy), ty = 2 * (az * vx - ax * vz),
                 tz = 2 * (ax * vy - ay * vx);
    w[PX][f] = w[PX][p] + vx + aw * tx + ay * tz - az * ty;
    w[PY][f] = w[PY][p] + vy + aw * ty + az * tx - ax * tz;
    w[PZ][f] = w[PZ][p] + vz + aw * tz + ax * ty - ay * tx;
    ndt_quat_multiply (a, b, q);
    /* In long chains the length would drift. */
    ndt_quat_normalize (q);
    for (guint k = 0; k < 4; k++)
      w[QX + k][f] = q[k];
  }
}

static void
propagate (NdtFrameTree *tree)
{
  if (tree->propagated)
    return;
  if (!tree->ordered)
    order_by_level (tree);
  const guint32 *ends = (const guint32 *)(gconstpointer)tree->level_ends->data;
  for (guint l = 0; l < tree->level_ends->len; l++) {
    const guint32 begin = l == 0 ? 0 : ends[l - 1];
    if (l == 0) {
      for (guint k = 0; k < N_COMPONENTS; k++)
        for (guint32 i = begin; i < ends[l]; i++)
          tree->world[k][tree->order[i]] = tree->local[k][tree->order[i]];
    } else {
      propagate_level (tree, tree->order + begin, ends[l] - begin);
    }
  }
  tree->propagated = TRUE;
}

/* ---- The device ---- */

/* Closes the device's copy after an error; the CPU computes from then on. */
static void
leave_device (NdtFrameTree *tree, GError *error)
{
  ndt_log (tree->device->log, NDT_LOG_WARNING, "frames", "a frame tree goes on on the CPU: %s",
      error->message);
  g_error_free (error);
  g_clear_pointer (&tree->device, ndt_device_frames_close);
}

static gboolean
update_device (NdtFrameTree *tree, GError **error)
{
  const NdtDeviceFramesClass *klass = tree->device->klass;
  if (!tree->device_has_tree) {
    if (!tree->ordered)
      order_by_level (tree);
    if (!klass->set_tree (tree->device, tree->n, tree->parents, tree->order,
            (const guint32 *)(gconstpointer)tree->level_ends->data, tree->level_ends->len, error))
      return FALSE;
    tree->device_has_tree = TRUE;
    note_new (tree, 0, tree->n);
  }
  const guint32 first = tree->new_begin, end = MIN (tree->new_end, tree->n);
  tree->new_begin = G_MAXUINT32;
  tree->new_end = 0;
  if (first >= end)
    return TRUE;
  double *to = klass->map_local (tree->device) + NDT_FRAME_DOUBLES * (gsize)first;
  for (guint32 i = first; i < end; i++, to += NDT_FRAME_DOUBLES) {
    for (guint k = 0; k < 3; k++)
      to[k] = tree->local[PX + k][i];
    to[3] = 0;
    for (guint k = 0; k < 4; k++)
      to[4 + k] = tree->local[QX + k][i];
  }
  return klass->set_local (tree->device, first, end - first, error);
}

/* Copies frames that are new to the device, if there is one. FALSE where it failed or there is
 * none. */
static gboolean
use_device (NdtFrameTree *tree)
{
  GError *error = NULL;
  if (!tree->device || tree->n == 0)
    return FALSE;
  if (!update_device (tree, &error))
    leave_device (tree, error);
  return tree->device != NULL;
}

void
ndt_frame_tree_set_device (NdtFrameTree *tree, NdtDeviceFrames *device)
{
  g_clear_pointer (&tree->device, ndt_device_frames_close);
  tree->device = device;
  tree->device_has_tree = tree->attached_on_device = FALSE;
  tree->attached_is_new = TRUE;
  tree->n_moved = 0;
}

gboolean
ndt_frame_tree_is_on_device (const NdtFrameTree *tree)
{
  return tree->device != NULL;
}

void
ndt_frame_tree_update (NdtFrameTree *tree)
{
  GError *error = NULL;
  if (use_device (tree)) {
    if (tree->device->klass->update (tree->device, &error))
      return;
    leave_device (tree, error);
  }
  propagate (tree);
}

void
ndt_frame_tree_get_world (
    NdtFrameTree *tree, guint32 first, guint32 n, double *positions, double *orientations)
{
  GError *error = NULL;
  g_return_if_fail (first <= tree->n && n <= tree->n - first);
  if (use_device (tree)) {
    if (tree->device->klass->get_world (tree->device, first, n, positions, orientations, &error))
      return;
    leave_device (tree, error);
  }
  propagate (tree);
  for (guint32 i = 0; i < n; i++) {
    for (guint k = 0; positions && k < 3; k++)
      positions[3 * (gsize)i + k] = tree->world[PX + k][first + i];
    for (guint k = 0; orientations && k < 4; k++)
      orientations[4 * (gsize)i + k] = tree->world[QX + k][first + i];
  }
}

/* Matrices of @n frames, at most NDT_FRAMES_AT_ONCE, from @first on, followed by @to. */
FOR_EACH_PROCESSOR static void
make_matrices (double *const w[N_COMPONENTS], const NdtPose *to, guint32 first, guint32 n,
    float *restrict matrices)
{
  float m[MATRIX][NDT_FRAMES_AT_ONCE];
  const double a[4] = {
      to->orientation[0], to->orientation[1], to->orientation[2], to->orientation[3]};
  const double ax = a[0], ay = a[1], az = a[2], aw = a[3];
  const double *qx = w[QX] + first, *qy = w[QY] + first, *qz = w[QZ] + first, *qw = w[QW] + first;
  const double *px = w[PX] + first, *py = w[PY] + first, *pz = w[PZ] + first;
  for (guint32 i = 0; i < n; i++) {
    const double b[4] = {qx[i], qy[i], qz[i], qw[i]};
    double q[4];
    ndt_quat_multiply (a, b, q);
    const double x = q[0], y = q[1], z = q[2], c = q[3];
    m[0][i] = (float)(1 - 2 * (y * y + z * z));
    m[1][i] = (float)(2 * (x * y + c * z));
    m[2][i] = (float)(2 * (x * z - c * y));
    m[3][i] = (float)(2 * (x * y - c * z));
    m[4][i] = (float)(1 - 2 * (x * x + z * z));
    m[5][i] = (float)(2 * (y * z + c * x));
    m[6][i] = (float)(2 * (x * z + c * y));
    m[7][i] = (float)(2 * (y * z - c * x));
    m[8][i] = (float)(1 - 2 * (x * x + y * y));
    const double tx = 2 * (ay * pz[i] - az * py[i]), ty = 2 * (az * px[i] - ax * pz[i]),
                 tz = 2 * (ax * py[i] - ay * px[i]);
    m[9][i] = (float)(to->position[0] + px[i] + aw * tx + ay * tz - az * ty);
    m[10][i] = (float)(to->position[1] + py[i] + aw * ty + az * tx - ax * tz);
    m[11][i] = (float)(to->position[2] + pz[i] + aw * tz + ax * ty - ay * tx);
  }
  for (guint32 i = 0; i < n; i++)
    for (guint k = 0; k < MATRIX; k++)
      matrices[MATRIX * i + k] = m[k][i];
}

/* Matrices from each frame to the reference: differences are taken in double, so that floats
 * suffice at any world coordinates. */
static gboolean
set_matrices (NdtFrameTree *tree, guint32 reference, GError **error)
{
  NdtPose to_reference = NDT_POSE_IDENTITY;
  if (tree->have_matrices && tree->reference == reference)
    return TRUE;
  propagate (tree);
  if (tree->n > tree->n_matrices) {
    g_free (tree->matrices);
    tree->n_matrices = tree->capacity;
    tree->matrices = g_try_new0 (float, MATRIX *(gsize)tree->n_matrices + 1);
    if (!tree->matrices) {
      tree->n_matrices = 0;
      return ndt_refuse_memory (error, "%" G_GSIZE_FORMAT " frames", (gsize)tree->n);
    }
  }
  if (reference != NDT_FRAME_NONE) {
    NdtPose pose;
    load (tree->world, reference, &pose);
    to_reference = ndt_pose_inverse (&pose);
  }
  for (guint32 i = 0; i < tree->n; i += NDT_FRAMES_AT_ONCE)
    make_matrices (tree->world, &to_reference, i, MIN (NDT_FRAMES_AT_ONCE, tree->n - i),
        tree->matrices + MATRIX * (gsize)i);
  tree->have_matrices = TRUE;
  tree->reference = reference;
  return TRUE;
}

/* Packed floats of n points from @first on. */
static void
gather (const NdtCloudView *points, gsize first, gsize n, float *out)
{
  const gsize at = first * points->stride;
  const guint8 *x = points->x + at, *y = points->y + at, *z = points->z + at;
  if (points->scalar == NDT_SCALAR_F32) {
    for (gsize i = 0; i < n; i++) {
      memcpy (&out[3 * i], x + i * points->stride, sizeof (float));
      memcpy (&out[3 * i + 1], y + i * points->stride, sizeof (float));
      memcpy (&out[3 * i + 2], z + i * points->stride, sizeof (float));
    }
  } else {
    for (gsize i = 0; i < n; i++) {
      double p[3];
      ndt_cloud_view_get (points, first + i, p);
      for (guint k = 0; k < 3; k++)
        out[3 * i + k] = (float)p[k];
    }
  }
}

FOR_EACH_PROCESSOR static guint32
largest_of (const guint32 *frames, gsize n)
{
  guint32 largest = 0;
  for (gsize i = 0; i < n; i++)
    largest = MAX (largest, frames[i]);
  return largest;
}

static gboolean
refuse_frame (const NdtFrameTree *tree, guint32 frame, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "There is no frame %u: the tree has %u", frame, tree->n);
  return FALSE;
}

gboolean
ndt_frame_tree_transform (NdtFrameTree *tree, guint32 reference, const NdtCloudView *points,
    const guint32 *frames, float *out, GError **error)
{
  const gsize n = points->n_points;
  const gboolean packed = points->scalar == NDT_SCALAR_F32 && points->stride == 12 &&
                          points->y == points->x + 4 && points->z == points->x + 8;
  const gboolean in_place = points->x == (const guint8 *)out;
  const gboolean past_caches = 3 * n * sizeof (float) >= NDT_FRAMES_PAST_CACHES && !in_place;
  const gsize lead = past_caches ? ndt_frame_points_before_line (out) : 0;
  float gathered[3 * NDT_FRAME_POINTS_AT_ONCE],
      block[3 * NDT_FRAME_POINTS_AT_ONCE] __attribute__ ((aligned (64)));

  if (reference != NDT_FRAME_NONE && reference >= tree->n)
    return refuse_frame (tree, reference, error);
  if (use_device (tree)) {
    GError *local_error = NULL;
    const guint32 largest = largest_of (frames, n);
    if (n > 0 && largest >= tree->n)
      return refuse_frame (tree, largest, error);
    if (tree->device->klass->transform (tree->device, reference, points, frames, out, &local_error))
      return TRUE;
    leave_device (tree, local_error);
    /* In place some input has been overwritten by results already. */
    if (in_place) {
      g_set_error_literal (
          error, NDT_ERROR, NDT_ERROR_DEVICE, "The points were lost with the device");
      return FALSE;
    }
  }
  if (!set_matrices (tree, reference, error))
    return FALSE;
  for (gsize i = 0, end; i < n; i = end) {
    end = MIN (i < lead ? lead : i + NDT_FRAME_POINTS_AT_ONCE, n);
    const gsize size = end - i;
    const guint32 largest = largest_of (frames + i, size);
    if (largest >= tree->n)
      return refuse_frame (tree, largest, error);
    const gboolean past = past_caches && i >= lead;
    if (!packed)
      gather (points, i, size, gathered);
    ndt_frame_points_transform (tree->matrices,
        packed ? (const float *)(gconstpointer)points->x + 3 * i : gathered, frames + i, size,
        in_place || past ? block : out + 3 * i);
    if (past)
      ndt_frame_points_write (out + 3 * i, block, 3 * size);
    else if (in_place)
      memcpy (out + 3 * i, block, 3 * size * sizeof (float));
  }
  if (past_caches)
    ndt_frame_points_written ();
  return TRUE;
}

/* ---- Attached points ---- */

gboolean
ndt_frame_tree_attach (
    NdtFrameTree *tree, const NdtCloudView *points, const guint32 *frames, GError **error)
{
  const gsize n = points->n_points;
  const guint32 largest = largest_of (frames, n);
  tree->n_attached = tree->n_moved = 0;
  if (n > 0 && largest >= tree->n)
    return refuse_frame (tree, largest, error);
  if (n > tree->attached_capacity) {
    g_free (tree->attached);
    g_free (tree->attached_frames);
    g_clear_pointer (&tree->moved, g_free);
    tree->attached_capacity = n + n / 4;
    tree->attached = g_try_new (float, 3 * tree->attached_capacity);
    tree->attached_frames = g_try_new (guint32, tree->attached_capacity);
    if (!tree->attached || !tree->attached_frames) {
      g_clear_pointer (&tree->attached, g_free);
      g_clear_pointer (&tree->attached_frames, g_free);
      tree->attached_capacity = 0;
      return ndt_refuse_memory (error, "%" G_GSIZE_FORMAT " points", (gsize)n);
    }
  }
  gather (points, 0, n, tree->attached);
  if (n > 0)
    memcpy (tree->attached_frames, frames, n * sizeof (guint32));
  tree->n_attached = n;
  tree->attached_is_new = TRUE;
  return TRUE;
}

/* Transforms the attached points on the device, to which they are copied where they are new. FALSE
 * where there is no device, or no memory for them there. */
static gboolean
move_on_device (NdtFrameTree *tree, guint32 reference)
{
  GError *error = NULL;
  if (!use_device (tree))
    return FALSE;
  if (tree->attached_is_new) {
    tree->attached_on_device = tree->device->klass->attach (
        tree->device, tree->attached, tree->attached_frames, tree->n_attached, &error);
    tree->attached_is_new = FALSE;
    if (g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_MEMORY))
      g_clear_error (&error);
  }
  if (!error && tree->attached_on_device &&
      tree->device->klass->move (tree->device, reference, &error))
    return TRUE;
  if (error)
    leave_device (tree, error);
  return FALSE;
}

gboolean
ndt_frame_tree_move (NdtFrameTree *tree, guint32 reference, GError **error)
{
  tree->n_moved = 0;
  if (reference != NDT_FRAME_NONE && reference >= tree->n)
    return refuse_frame (tree, reference, error);
  tree->moved_on_device = move_on_device (tree, reference);
  if (!tree->moved_on_device) {
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (tree->attached, tree->n_attached);
    if (!tree->moved)
      tree->moved = g_try_new (float, MAX (3 * tree->attached_capacity, 1));
    if (!tree->moved)
      return ndt_refuse_memory (error, "%" G_GSIZE_FORMAT " points", (gsize)tree->n_attached);
    if (!ndt_frame_tree_transform (
            tree, reference, &points, tree->attached_frames, tree->moved, error))
      return FALSE;
  }
  tree->n_moved = tree->n_attached;
  return TRUE;
}

gboolean
ndt_frame_tree_get_moved (NdtFrameTree *tree, gsize first, gsize n, float *out, GError **error)
{
  GError *local_error = NULL;
  if (first > tree->n_moved || n > tree->n_moved - first) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%" G_GSIZE_FORMAT " points were moved, and %" G_GSIZE_FORMAT
        " are wanted from %" G_GSIZE_FORMAT " on",
        tree->n_moved, n, first);
    return FALSE;
  }
  if (!tree->moved_on_device) {
    if (n > 0)
      memcpy (out, tree->moved + 3 * first, 3 * n * sizeof (float));
    return TRUE;
  }
  if (tree->device && tree->device->klass->get_moved (tree->device, first, n, out, &local_error))
    return TRUE;
  if (tree->device)
    leave_device (tree, local_error);
  tree->n_moved = 0;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_DEVICE,
      "The points that were moved are lost with the device: move them again");
  return FALSE;
}
