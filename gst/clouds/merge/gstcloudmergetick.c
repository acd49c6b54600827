/* SPDX-License-Identifier: MIT */
/* Which scans and poses make the next cloud of pointcloudmerge. */
#include "gstpointcloudmergeprivate.h"

/* Of the element. */
GST_DEBUG_CATEGORY_EXTERN (gst_point_cloud_merge_debug);
#define GST_CAT_DEFAULT gst_point_cloud_merge_debug

/* Of a scan whose sensor says neither DURATION nor framerate. */
#define DEFAULT_PERIOD (100 * (gint64)GST_MSECOND)

/* Of a stream of poses any tells the motion; drifting ones do it best, since they do not jump. */
static const GstPoseRole pose_roles[] = {GST_POSE_ROLE_ODOMETRY, GST_POSE_ROLE_ESTIMATE,
    GST_POSE_ROLE_GROUND_TRUTH, GST_POSE_ROLE_PRIOR};

void
gst_cloud_merge_free_pads (GstCloudMergePads *pads)
{
  g_list_free_full (pads, gst_object_unref);
}

GstCloudMergePads *
gst_cloud_merge_list_pads (GstPointCloudMerge *self)
{
  GST_OBJECT_LOCK (self);
  GstCloudMergePads *pads =
      g_list_copy_deep (GST_ELEMENT (self)->sinkpads, (GCopyFunc)gst_object_ref, NULL);
  GST_OBJECT_UNLOCK (self);
  return pads;
}

GstCloudMergePad *
gst_cloud_merge_find_leader (GstPointCloudMerge *self, GstCloudMergePads *pads)
{
  GstCloudMergePad *leader = NULL;

  GST_OBJECT_LOCK (self);
  for (GList *l = pads; l && !leader; l = l->next) {
    GstCloudMergePad *pad = l->data;
    if (!pad->is_pose &&
        (!self->leader || !*self->leader || g_strcmp0 (GST_OBJECT_NAME (pad), self->leader) == 0))
      leader = pad;
  }
  GST_OBJECT_UNLOCK (self);
  return leader;
}

static GstBuffer *
peek (GstCloudMergePad *pad)
{
  return gst_aggregator_pad_peek_buffer (GST_AGGREGATOR_PAD (pad));
}

static void
drop (GstCloudMergePad *pad)
{
  gst_aggregator_pad_drop_buffer (GST_AGGREGATOR_PAD (pad));
}

static gboolean
is_eos (GstCloudMergePad *pad)
{
  return gst_aggregator_pad_is_eos (GST_AGGREGATOR_PAD (pad));
}

gint64
gst_cloud_merge_get_period (GstPointCloudMerge *self)
{
  return self->has_tick ? self->tick.end - self->tick.begin : DEFAULT_PERIOD;
}

typedef enum { HEAD_NONE, HEAD_SCAN, HEAD_ERROR } Head;

/* The scan that a pad has next, without what is none. */
static Head
get_head (GstPointCloudMerge *self, GstCloudMergePad *pad, GstCloudSpan *span)
{
  GstBuffer *head;

  while ((head = peek (pad))) {
    const gboolean is_gap =
        GST_BUFFER_FLAG_IS_SET (head, GST_BUFFER_FLAG_GAP) && gst_buffer_get_size (head) == 0;
    const gboolean has_span = pad->has_info && gst_cloud_merge_pad_get_span (pad, head,
                                                   gst_cloud_merge_get_period (self), span);
    gst_buffer_unref (head);
    if (has_span && !is_gap)
      return HEAD_SCAN;
    if (!is_gap && self->has_failed)
      return HEAD_ERROR;
    self->has_failed = !is_gap;
    if (!pad->has_info && !is_gap) {
      GST_ELEMENT_ERROR (self, CORE, NEGOTIATION,
          ("%s has scans before caps: put a decoder or rawpointcloudparse before it.",
              GST_OBJECT_NAME (pad)),
          (NULL));
      return HEAD_ERROR;
    }
    if (!has_span && !is_gap) {
      GST_ELEMENT_ERROR (self, STREAM, FORMAT,
          ("A scan of %s has no time stamp: put rawpointcloudparse before it, or set do-timestamp "
           "of a live source.",
              GST_OBJECT_NAME (pad)),
          (NULL));
      return HEAD_ERROR;
    }
    drop (pad);
  }
  return HEAD_NONE;
}

/* Takes the scan that is next for the cloud that is made, or leaves it out where it is of more than
 * a period before the last one. */
static void
take_head (GstPointCloudMerge *self, GstCloudMergePad *pad, const GstCloudSpan *span)
{
  GstBuffer *scan = gst_aggregator_pad_pop_buffer (GST_AGGREGATOR_PAD (pad));

  if (!scan)
    return; /* flushed */
  scan = gst_point_cloud_element_take_scan (GST_ELEMENT (self), &pad->info, scan);
  if (!self->has_tick || span->end > self->tick.end - gst_cloud_merge_get_period (self)) {
    GST_OBJECT_LOCK (self);
    const GstPoseRole role = self->role;
    GST_OBJECT_UNLOCK (self);
    gst_cloud_merge_pad_add_pose (pad, scan, &role, 1);
    gst_cloud_merge_pad_take (pad, scan, span);
    return;
  }
  pad->last = *span;
  pad->has_last = TRUE;
  gst_buffer_unref (scan);
  GST_OBJECT_LOCK (pad);
  const gboolean is_first = pad->n_late++ == 0;
  GST_OBJECT_UNLOCK (pad);
  GST_DEBUG_OBJECT (
      pad, "a scan came too late: of %" GST_STIME_FORMAT, GST_STIME_ARGS (span->begin));
  if (is_first)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("A scan of %s came after the clouds that it is of had left, and is left out, as any other "
         "will be: raise “scan-latency”.",
            GST_OBJECT_NAME (pad)),
        (NULL));
}

/* The earliest end of a scan that waits or was taken, of all sensors but @leader. */
static gboolean
find_earliest (GstPointCloudMerge *self, GstCloudMergePads *pads, const GstCloudMergePad *leader,
    GstCloudSpan *earliest)
{
  gboolean found = FALSE;

  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;
    GstCloudSpan span;

    if (pad->is_pose || pad == leader)
      continue;
    if (pad->spans->len > 0)
      span = g_array_index (pad->spans, GstCloudSpan, 0);
    else if (get_head (self, pad, &span) != HEAD_SCAN)
      continue;
    if (!found || span.end < earliest->end)
      *earliest = span;
    found = TRUE;
  }
  return found;
}

static gboolean
all_eos (GstCloudMergePads *pads)
{
  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;
    if (!pad->is_pose && !is_eos (pad))
      return FALSE;
  }
  return TRUE;
}

/* The leader's next scan where it would be by its pace; at once the first one that has something of
 * the others in it, unless it is a clock that waits. */
static void
extrapolate (
    GstPointCloudMerge *self, const GstCloudSpan *earliest, gboolean skip, GstCloudSpan *tick)
{
  const gint64 period = gst_cloud_merge_get_period (self);

  tick->begin = self->tick.begin + period;
  if (skip && earliest->end > tick->begin + period)
    tick->begin += (earliest->end - tick->begin - 1) / period * period;
  tick->end = tick->begin + period;
}

GstFlowReturn
gst_cloud_merge_choose_tick (GstPointCloudMerge *self, GstCloudMergePads *pads,
    GstCloudMergePad *leader, gboolean timeout, GstCloudSpan *tick, gboolean *with_leader)
{
  GstCloudSpan head, earliest;
  Head state = HEAD_NONE;

  *with_leader = FALSE;
  while (leader && (state = get_head (self, leader, &head)) == HEAD_SCAN && self->has_tick &&
         head.end <= self->tick.end)
    take_head (self, leader, &head); /* came after a cloud had to leave without it */
  if (state == HEAD_ERROR)
    return GST_FLOW_ERROR;
  if (state == HEAD_NONE && leader && !is_eos (leader) && !timeout)
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  const gboolean has_others = find_earliest (self, pads, leader, &earliest);
  if (state == HEAD_SCAN) {
    /* After a gap the others go on at its pace until it is there. */
    const gint64 period = gst_cloud_merge_get_period (self);
    if (!self->has_tick || head.begin - self->tick.begin < period + period / 2 || !has_others ||
        earliest.end > head.begin) {
      *tick = head;
      *with_leader = TRUE;
      return GST_FLOW_OK;
    }
    extrapolate (self, &earliest, TRUE, tick);
    return GST_FLOW_OK;
  }
  if (!has_others && all_eos (pads)) {
    /* What came of the leader after its cloud had left is one more. */
    if (!self->has_tick || !leader || leader->scans->len == 0)
      return GST_FLOW_EOS;
    extrapolate (self, NULL, FALSE, tick);
    return GST_FLOW_OK;
  }
  if (!self->has_tick) {
    if (!has_others)
      return GST_AGGREGATOR_FLOW_NEED_DATA;
    *tick = earliest;
    return GST_FLOW_OK;
  }
  if (!has_others && !timeout)
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  extrapolate (self, &earliest, has_others && !timeout, tick);
  return GST_FLOW_OK;
}

/* The pose of the scan that is next tells the motion up to the tick's end. */
static void
look_ahead (GstPointCloudMerge *self, GstCloudMergePad *pad)
{
  GstBuffer *head = peek (pad);

  if (!head)
    return; /* flushed */
  GST_OBJECT_LOCK (self);
  const GstPoseRole role = self->role;
  GST_OBJECT_UNLOCK (self);
  gst_cloud_merge_pad_add_pose (pad, head, &role, 1);
  gst_buffer_unref (head);
}

/* Takes all scans that ended by the tick's end. FALSE: another may come. */
static gboolean
gather_scans (GstPointCloudMerge *self, GstCloudMergePad *pad, const GstCloudSpan *tick)
{
  const gboolean is_live = GST_CLOCK_TIME_IS_VALID (gst_aggregator_get_latency (&self->parent));
  GstCloudSpan span;

  while (get_head (self, pad, &span) == HEAD_SCAN) {
    if (span.end > tick->end) {
      look_ahead (self, pad);
      return TRUE;
    }
    take_head (self, pad, &span);
  }
  if (is_eos (pad))
    return TRUE;
  /* Of a live sensor the next one is known not to end by then, but for a quarter of its period. */
  const gint64 period = pad->last.end - pad->last.begin;
  return is_live && pad->has_last && pad->last.end + period - period / 4 > tick->end;
}

/* Poses until after the tick's end. FALSE: more may come. */
static gboolean
gather_poses (GstPointCloudMerge *self, GstCloudMergePad *pad, const GstCloudSpan *tick)
{
  while (pad->poses->len == 0 ||
         g_array_index (pad->poses, NdtTimedPose, pad->poses->len - 1).time < tick->end) {
    GstBuffer *head = peek (pad);
    if (!head)
      return is_eos (pad);
    gst_cloud_merge_pad_add_pose (pad, head, pose_roles, G_N_ELEMENTS (pose_roles));
    gst_buffer_unref (head);
    drop (pad);
  }
  return TRUE;
}

gboolean
gst_cloud_merge_gather (GstPointCloudMerge *self, GstCloudMergePads *pads, GstCloudMergePad *leader,
    const GstCloudSpan *tick)
{
  gboolean complete = TRUE;

  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;
    if (pad->is_pose)
      complete &= gather_poses (self, pad, tick);
    else if (pad != leader)
      complete &= gather_scans (self, pad, tick);
  }
  return complete;
}

void
gst_cloud_merge_take_leader (GstPointCloudMerge *self, GstCloudMergePad *leader)
{
  GstCloudSpan span;

  if (get_head (self, leader, &span) == HEAD_SCAN)
    take_head (self, leader, &span);
}

/* A live cloud leaves by its begin and the latency, whoever is missing. */
GstClockTime
gst_cloud_merge_get_next_time (GstPointCloudMerge *self)
{
  g_autoptr (GstCloudMergePads) pads = gst_cloud_merge_list_pads (self);
  GstCloudMergePad *leader = gst_cloud_merge_find_leader (self, pads);
  GstCloudSpan span;

  if (leader && get_head (self, leader, &span) == HEAD_SCAN)
    return (GstClockTime)MAX (span.begin, 0);
  if (self->has_tick)
    return (GstClockTime)MAX (self->tick.begin + gst_cloud_merge_get_period (self), 0);
  if (find_earliest (self, pads, leader, &span))
    return (GstClockTime)MAX (span.begin, 0);
  return GST_CLOCK_TIME_NONE;
}
