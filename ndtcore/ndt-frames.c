/* SPDX-License-Identifier: MIT */
#include "ndt-frames.h"

#include <math.h>
#include <string.h>

#include "ndt-formulas.h"

/* Components of a pose, one array each, so that the loops over a level vectorize. */
enum { PX, PY, PZ, QX, QY, QZ, QW, N_COMPONENTS };

typedef float Column __attribute__ ((vector_size (16)));

/* Columns of a 3×4 matrix, in float; the fourth element of each is unused. */
typedef struct {
  Column c[4];
} Matrix;

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
  Matrix *matrices; /* of ndt_frame_tree_transform() */
  guint32 n_matrices;
};

NdtFrameTree *
ndt_frame_tree_new (void)
{
  NdtFrameTree *tree = g_new0 (NdtFrameTree, 1);
  tree->level_ends = g_array_new (FALSE, FALSE, sizeof (guint32));
  return tree;
}

void
ndt_frame_tree_free (NdtFrameTree *tree)
{
  for (guint k = 0; k < N_COMPONENTS; k++) {
    g_free (tree->local[k]);
    g_free (tree->world[k]);
  }
  g_free (tree->parents);
  g_free (tree->levels);
  g_free (tree->order);
  g_array_unref (tree->level_ends);
  g_aligned_free (tree->matrices);
  g_free (tree);
}

void
ndt_frame_tree_clear (NdtFrameTree *tree)
{
  tree->n = 0;
  tree->ordered = tree->propagated = FALSE;
}

guint32
ndt_frame_tree_get_n_frames (const NdtFrameTree *tree)
{
  return tree->n;
}

static gboolean
check_poses (const NdtPose *poses, guint32 n, GError **error)
{
  for (guint32 i = 0; i < n; i++) {
    NdtPose pose = poses[i];
    if (!ndt_pose_normalize (&pose)) {
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

static void
reserve (NdtFrameTree *tree, guint32 n)
{
  if (n <= tree->capacity)
    return;
  tree->capacity = MAX (n, 2 * tree->capacity);
  for (guint k = 0; k < N_COMPONENTS; k++) {
    tree->local[k] = g_renew (double, tree->local[k], tree->capacity);
    tree->world[k] = g_renew (double, tree->world[k], tree->capacity);
  }
  tree->parents = g_renew (guint32, tree->parents, tree->capacity);
  tree->levels = g_renew (guint32, tree->levels, tree->capacity);
  tree->order = g_renew (guint32, tree->order, tree->capacity);
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
  reserve (tree, first + n);
  for (guint32 i = 0; i < n; i++) {
    const guint32 parent = parents ? parents[i] : NDT_FRAME_NONE;
    tree->parents[first + i] = parent;
    tree->levels[first + i] = parent == NDT_FRAME_NONE ? 0 : tree->levels[parent] + 1;
    store (tree->local, first + i, &poses[i]);
  }
  tree->n += n;
  tree->ordered = tree->propagated = FALSE;
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
  tree->propagated = FALSE;
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
    const double ax = w[QX][p], ay = w[QY][p], az = w[QZ][p], aw = w[QW][p];
    const double bx = l[QX][f], by = l[QY][f], bz = l[QZ][f], bw = l[QW][f];
    const double vx = l[PX][f], vy = l[PY][f], vz = l[PZ][f];
    const double tx = 2 * (ay * vz - az * vy), ty = 2 * (az * vx - ax * vz),
                 tz = 2 * (ax * vy - ay * vx);
    w[PX][f] = w[PX][p] + vx + aw * tx + ay * tz - az * ty;
    w[PY][f] = w[PY][p] + vy + aw * ty + az * tx - ax * tz;
    w[PZ][f] = w[PZ][p] + vz + aw * tz + ax * ty - ay * tx;
    const double x = aw * bx + ax * bw + ay * bz - az * by;
    const double y = aw * by - ax * bz + ay * bw + az * bx;
    const double z = aw * bz + ax * by - ay * bx + az * bw;
    const double c = aw * bw - ax * bx - ay * by - az * bz;
    /* Down a long chain lengths would drift. */
    const double k = 1 / sqrt (x * x + y * y + z * z + c * c);
    w[QX][f] = x * k;
    w[QY][f] = y * k;
    w[QZ][f] = z * k;
    w[QW][f] = c * k;
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
      for (guint32 i = begin; i < ends[l]; i++)
        for (guint k = 0; k < N_COMPONENTS; k++)
          tree->world[k][tree->order[i]] = tree->local[k][tree->order[i]];
    } else {
      propagate_level (tree, tree->order + begin, ends[l] - begin);
    }
  }
  tree->propagated = TRUE;
}

void
ndt_frame_tree_get_world (
    NdtFrameTree *tree, guint32 first, guint32 n, double *positions, double *orientations)
{
  g_return_if_fail (first <= tree->n && n <= tree->n - first);
  propagate (tree);
  for (guint32 i = 0; i < n; i++) {
    for (guint k = 0; positions && k < 3; k++)
      positions[3 * (gsize)i + k] = tree->world[PX + k][first + i];
    for (guint k = 0; orientations && k < 4; k++)
      orientations[4 * (gsize)i + k] = tree->world[QX + k][first + i];
  }
}

/* Matrices from each frame to the reference: differences in double, so that floats do at any
 * world coordinates. */
static void
set_matrices (NdtFrameTree *tree, guint32 reference)
{
  NdtPose to_reference = NDT_POSE_IDENTITY;
  if (tree->n > tree->n_matrices) {
    g_aligned_free (tree->matrices);
    tree->n_matrices = tree->capacity;
    tree->matrices = g_aligned_alloc (tree->n_matrices, sizeof (Matrix), 16);
  }
  if (reference != NDT_FRAME_NONE) {
    NdtPose pose;
    load (tree->world, reference, &pose);
    to_reference = ndt_pose_inverse (&pose);
  }
  for (guint32 i = 0; i < tree->n; i++) {
    NdtPose pose;
    double r[9];
    load (tree->world, i, &pose);
    pose = ndt_pose_mul (&to_reference, &pose);
    ndt_quat_to_matrix (pose.orientation, r);
    Matrix *m = &tree->matrices[i];
    for (guint k = 0; k < 3; k++)
      m->c[k] = (Column){(float)r[k], (float)r[3 + k], (float)r[6 + k], 0};
    m->c[3] =
        (Column){(float)pose.position[0], (float)pose.position[1], (float)pose.position[2], 0};
  }
}

static inline Column
transform (const Matrix *m, float x, float y, float z)
{
  return m->c[0] * x + m->c[1] * y + m->c[2] * z + m->c[3];
}

/* The choice is made while the program is being loaded, before ThreadSanitizer can run. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR __attribute__ ((target_clones ("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* Packed float points of one frame. Vectorized by the compiler for each instruction set; @out may
 * be @in (then it runs unvectorized). */
FOR_EACH_PROCESSOR static void
transform_run (const float m[12], const float *in, gsize n, float *out)
{
  for (gsize i = 0; i < n; i++) {
    const float x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2];
    out[3 * i] = m[0] * x + m[3] * y + m[6] * z + m[9];
    out[3 * i + 1] = m[1] * x + m[4] * y + m[7] * z + m[10];
    out[3 * i + 2] = m[2] * x + m[5] * y + m[8] * z + m[11];
  }
}

/* Neighbours mostly share their frame: a run at a time. */
static void
transform_packed (
    const Matrix *matrices, const float *in, const guint32 *frames, gsize n, float *out)
{
  for (gsize i = 0; i < n;) {
    const guint32 frame = frames[i];
    gsize end = i + 1;
    float m[12];
    while (end < n && frames[end] == frame)
      end++;
    for (guint k = 0; k < 4; k++)
      for (guint j = 0; j < 3; j++)
        m[3 * k + j] = matrices[frame].c[k][j];
    transform_run (m, in + 3 * i, end - i, out + 3 * i);
    i = end;
  }
}

gboolean
ndt_frame_tree_transform (NdtFrameTree *tree, guint32 reference, const NdtCloudView *points,
    const guint32 *frames, float *out, GError **error)
{
  const gsize n = points->n_points;
  guint32 largest = 0;
  for (gsize i = 0; i < n; i++)
    largest = MAX (largest, frames[i]);
  if ((n > 0 && largest >= tree->n) || (reference != NDT_FRAME_NONE && reference >= tree->n)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "There is no frame %u: the tree has %u", n > 0 && largest >= tree->n ? largest : reference,
        tree->n);
    return FALSE;
  }
  propagate (tree);
  set_matrices (tree, reference);
  if (points->scalar == NDT_SCALAR_F32 && points->stride == 12 && points->y == points->x + 4 &&
      points->z == points->x + 8) {
    transform_packed (tree->matrices, (const float *)(gconstpointer)points->x, frames, n, out);
    return TRUE;
  }
  for (gsize i = 0; i < n; i++) {
    float p[3];
    if (points->scalar == NDT_SCALAR_F32) {
      memcpy (&p[0], points->x + i * points->stride, sizeof (float));
      memcpy (&p[1], points->y + i * points->stride, sizeof (float));
      memcpy (&p[2], points->z + i * points->stride, sizeof (float));
    } else {
      double d[3];
      ndt_cloud_view_get (points, i, d);
      for (guint k = 0; k < 3; k++)
        p[k] = (float)d[k];
    }
    const Column q = transform (&tree->matrices[frames[i]], p[0], p[1], p[2]);
    memcpy (out + 3 * i, &q, 3 * sizeof (float));
  }
  return TRUE;
}
