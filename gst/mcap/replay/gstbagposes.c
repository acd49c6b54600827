/* SPDX-License-Identifier: MIT */
#include "gstbagposes.h"

#include <string.h>

#include "gst/mcap/messages/gstrosmessages.h"

/* Older ones belong to clouds that are not in the recording. */
#define MAX_PENDING 64

/* The poses of one cloud. */
typedef struct {
  guint64 log_time;
  gchar *cloud;
  GstBuffer *poses;
  guint diagnosed;
  GstClockTime duration;
} Pending;

static void
free_pending (gpointer data)
{
  Pending *pending = data;
  g_free (pending->cloud);
  gst_buffer_unref (pending->poses);
  g_free (pending);
}

void
gst_bag_poses_init (GstBagPoses *self)
{
  g_queue_init (&self->pending);
}

void
gst_bag_poses_clear (GstBagPoses *self)
{
  g_queue_clear_full (&self->pending, free_pending);
}

gboolean
gst_bag_poses_add (GstBagPoses *self, const gchar *cloud, BagKind kind, const BagMessage *message,
    GstBagNames *names, GError **error)
{
  Pending *pending = NULL;

  for (GList *l = self->pending.tail; l && !pending; l = l->prev) {
    Pending *other = l->data;
    if (other->log_time == message->log_time && strcmp (other->cloud, cloud) == 0)
      pending = other;
  }
  if (!pending) {
    pending = g_new0 (Pending, 1);
    pending->log_time = message->log_time;
    pending->cloud = g_strdup (cloud);
    pending->poses = gst_buffer_new ();
    pending->duration = GST_CLOCK_TIME_NONE;
    g_queue_push_tail (&self->pending, pending);
    if (self->pending.length > MAX_PENDING)
      free_pending (g_queue_pop_head (&self->pending));
  }
  if (kind == BAG_KIND_DURATION)
    return ros_read_duration (&pending->duration, message->data, message->size, error);
  return bag_message_complete_pose (
      message, kind, names, pending->poses, &pending->diagnosed, error);
}

static gboolean
shift_pose (GstBuffer *buffer, GstMeta **meta, gpointer shift)
{
  if ((*meta)->info->api != GST_POSE_META_API_TYPE)
    return TRUE;
  GstPoseMeta *pose = (GstPoseMeta *)*meta;
  if (GST_CLOCK_TIME_IS_VALID (pose->timestamp))
    pose->timestamp = (GstClockTime)MAX ((gint64)pose->timestamp + *(const gint64 *)shift, 0);
  return TRUE;
}

void
gst_bag_poses_attach (GstBagPoses *self, const BagMessage *message, gint64 shift, GstBuffer *buffer)
{
  for (GList *l = self->pending.head, *next; l; l = next) {
    Pending *pending = l->data;
    next = l->next;
    if (strcmp (pending->cloud, message->channel->topic) != 0 ||
        pending->log_time > message->log_time)
      continue;
    if (pending->log_time == message->log_time) {
      if (shift != 0)
        gst_buffer_foreach_meta (pending->poses, shift_pose, &shift);
      if (GST_CLOCK_TIME_IS_VALID (pending->duration))
        GST_BUFFER_DURATION (buffer) = pending->duration;
      gst_buffer_copy_into (buffer, pending->poses, GST_BUFFER_COPY_META, 0, -1);
    }
    g_queue_delete_link (&self->pending, l);
    free_pending (pending);
  }
}
