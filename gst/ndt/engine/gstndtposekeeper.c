/* SPDX-License-Identifier: MIT */
#include "gstndtposekeeper.h"

struct _GstNdtPoseKeeper {
  gchar *name;
  GThread *thread;

  GMutex lock; /* guards the members below */
  GCond changed;
  NdtLastPose last;
  gboolean waits; /* @last is not in the file … */
  gboolean busy;  /* … or is being written */
  gboolean ends;
  GError *error;
};

static gpointer
write_poses (gpointer data)
{
  GstNdtPoseKeeper *keeper = data;

  g_mutex_lock (&keeper->lock);
  for (;;) {
    while (!keeper->waits && !keeper->ends)
      g_cond_wait (&keeper->changed, &keeper->lock);
    if (!keeper->waits)
      break;
    const NdtLastPose last = keeper->last;
    GError *error = NULL;
    keeper->waits = FALSE;
    keeper->busy = TRUE;
    g_mutex_unlock (&keeper->lock);
    ndt_last_pose_write (keeper->name, &last, &error);
    g_mutex_lock (&keeper->lock);
    keeper->busy = FALSE;
    if (error && keeper->error)
      g_error_free (error);
    else if (error)
      keeper->error = error;
    g_cond_broadcast (&keeper->changed);
  }
  g_mutex_unlock (&keeper->lock);
  return NULL;
}

GstNdtPoseKeeper *
gst_ndt_pose_keeper_new (const gchar *name)
{
  GstNdtPoseKeeper *keeper = g_new0 (GstNdtPoseKeeper, 1);

  keeper->name = g_strdup (name);
  g_mutex_init (&keeper->lock);
  g_cond_init (&keeper->changed);
  keeper->thread = g_thread_new ("ndt-pose-file", write_poses, keeper);
  return keeper;
}

void
gst_ndt_pose_keeper_free (GstNdtPoseKeeper *keeper)
{
  if (!keeper)
    return;
  g_mutex_lock (&keeper->lock);
  keeper->ends = TRUE;
  g_cond_broadcast (&keeper->changed);
  g_mutex_unlock (&keeper->lock);
  g_thread_join (keeper->thread);
  g_clear_error (&keeper->error);
  g_mutex_clear (&keeper->lock);
  g_cond_clear (&keeper->changed);
  g_free (keeper->name);
  g_free (keeper);
}

void
gst_ndt_pose_keeper_put (GstNdtPoseKeeper *keeper, const NdtLastPose *last)
{
  g_mutex_lock (&keeper->lock);
  keeper->last = *last;
  keeper->waits = TRUE;
  g_cond_broadcast (&keeper->changed);
  g_mutex_unlock (&keeper->lock);
}

void
gst_ndt_pose_keeper_flush (GstNdtPoseKeeper *keeper)
{
  g_mutex_lock (&keeper->lock);
  while (keeper->waits || keeper->busy)
    g_cond_wait (&keeper->changed, &keeper->lock);
  g_mutex_unlock (&keeper->lock);
}

GError *
gst_ndt_pose_keeper_take_error (GstNdtPoseKeeper *keeper)
{
  g_mutex_lock (&keeper->lock);
  GError *error = g_steal_pointer (&keeper->error);
  g_mutex_unlock (&keeper->lock);
  return error;
}
