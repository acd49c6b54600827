/* SPDX-License-Identifier: MIT */
#include "ndt-deskew.h"

#include <math.h>
#include <string.h>

#include "ndt-deskew-slots.h"
#include "ndtcore/base/ndt-tuning.h"

#define N_SLOTS NDT_DESKEW_SLOTS

struct _NdtDeskewer {
  NdtFrameTree *tree;
  double first; /* instant of the first slot, and width of a slot, seconds */
  double width;
  NdtPose poses[N_SLOTS + 1];
  gboolean known[N_SLOTS + 1];
};

NdtDeskewer *
ndt_deskewer_new (void)
{
  NdtDeskewer *deskewer = g_new0 (NdtDeskewer, 1);
  deskewer->tree = ndt_frame_tree_new ();
  return deskewer;
}

void
ndt_deskewer_free (NdtDeskewer *deskewer)
{
  ndt_frame_tree_free (deskewer->tree);
  g_free (deskewer);
}

static gboolean
is_finite (const NdtPose *pose)
{
  const double *p = pose->position, *q = pose->orientation;
  return isfinite (p[0] + p[1] + p[2]) && isfinite (q[0] + q[1] + q[2] + q[3]);
}

/* The motion to the reference at each slot's instant. */
static void
set_slots (NdtDeskewer *deskewer, gsize n, const NdtTimeView *times, double reference,
    NdtMotionFunc motion, gpointer user_data)
{
  double first = INFINITY, last = -INFINITY;
  NdtPose at_reference = NDT_POSE_IDENTITY;
  const gboolean have_reference = motion (reference, &at_reference, user_data);

  for (gsize i = 0; i < n; i++) {
    const double t = ndt_time_view_get (times, i);
    if (isfinite (t)) {
      first = MIN (first, t);
      last = MAX (last, t);
    }
  }
  /* Slots around the scan's instants. Points without a finite time belong to one more, the last,
   * which is not moved. */
  const double width = ndt_deskew_width (first, last);
  for (guint s = 0; s <= N_SLOTS; s++) {
    ndt_pose_set_identity (&deskewer->poses[s]);
    deskewer->known[s] = have_reference && s < N_SLOTS && first + s * width <= last + 0.5 * width &&
                         motion (first + s * width, &deskewer->poses[s], user_data) &&
                         is_finite (&deskewer->poses[s]);
    if (deskewer->known[s])
      ndt_pose_between (&at_reference, &deskewer->poses[s], &deskewer->poses[s]);
    else
      ndt_pose_set_identity (&deskewer->poses[s]);
  }
  deskewer->first = first;
  deskewer->width = width;
}

static inline guint32
slot_of (const NdtDeskewer *deskewer, const NdtTimeView *times, gsize i)
{
  return ndt_deskew_slot (ndt_time_view_get (times, i), deskewer->first, deskewer->width);
}

gsize
ndt_deskew (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, float *out)
{
  guint32 slots[NDT_DESKEW_POINTS_AT_ONCE];
  gsize n_moved = 0;
  set_slots (deskewer, points->n_points, times, reference, motion, user_data);
  ndt_frame_tree_clear (deskewer->tree);
  if (ndt_frame_tree_add (deskewer->tree, N_SLOTS + 1, NULL, deskewer->poses, NULL) != 0)
    return 0;
  for (gsize first = 0; first < points->n_points; first += NDT_DESKEW_POINTS_AT_ONCE) {
    const gsize n = MIN (points->n_points - first, NDT_DESKEW_POINTS_AT_ONCE);
    const NdtCloudView part = {points->x + first * points->stride,
        points->y + first * points->stride, points->z + first * points->stride, points->stride, n,
        points->scalar};
    for (gsize i = 0; i < n; i++) {
      slots[i] = slot_of (deskewer, times, first + i);
      n_moved += deskewer->known[slots[i]];
    }
    ndt_frame_tree_transform (deskewer->tree, NDT_FRAME_NONE, &part, slots, out + 3 * first, NULL);
  }
  return n_moved;
}

gsize
ndt_deskew_f64 (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, double *out)
{
  gsize n_moved = 0;
  set_slots (deskewer, points->n_points, times, reference, motion, user_data);
  for (gsize i = 0; i < points->n_points; i++) {
    const guint32 slot = slot_of (deskewer, times, i);
    double p[3];
    ndt_cloud_view_get (points, i, p);
    if (deskewer->known[slot])
      ndt_pose_transform_point (&deskewer->poses[slot], p, out + 3 * i);
    else
      memcpy (out + 3 * i, p, sizeof (p));
    n_moved += deskewer->known[slot];
  }
  return n_moved;
}

static gboolean
get_pose (double time, NdtPose *pose, gpointer user_data)
{
  const NdtScanMotion *motion = user_data;
  *pose = ndt_deskew_step (motion->velocity, motion->acceleration, time - motion->reference);
  return TRUE;
}

gsize
ndt_deskew_motion (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    const NdtScanMotion *motion, float *out)
{
  NdtScanMotion copy = *motion;
  return ndt_deskew (deskewer, points, times, motion->reference, get_pose, &copy, out);
}
