/* SPDX-License-Identifier: MIT */
/* What the files of pointcloudmerge share. */
#pragma once

#include "gstcloudjoin.h"
#include "gstpointcloudmerge.h"

G_BEGIN_DECLS

struct _GstPointCloudMerge {
  GstAggregator parent;

  /* under the object lock */
  gchar *leader;
  gchar *frame_id;
  GstClockTime scan_latency;
  gboolean compensate;
  GstPoseRole role;
  guint64 max_pose_gap;
  guint64 n_clouds, n_leaderless, n_compensated, n_points_left, n_bad;

  gint is_flushed; /* atomic: forget what was taken before anything else is */

  /* the source pad's task */
  GstCloudJoin *join;
  GArray *poses; /* NdtTimedPose, of all sensors */
  gboolean has_layout;
  GstCloudLayout layout; /* of the clouds that leave */
  gboolean is_compensated;
  gboolean has_tick; /* a cloud has left, or could have */
  GstCloudSpan tick;
  gint64 first_end;    /* of the first tick */
  gboolean has_failed; /* an error was posted: nothing leaves until a flush or a start */
};

/* Sink pads (GstCloudMergePad), with references. */
typedef GList GstCloudMergePads;

GstCloudMergePads *gst_cloud_merge_list_pads (GstPointCloudMerge *self);
void gst_cloud_merge_free_pads (GstCloudMergePads *pads);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstCloudMergePads, gst_cloud_merge_free_pads)

/* The sensor that is to lead: of the property, else the first. NULL: there is none. */
GstCloudMergePad *gst_cloud_merge_find_leader (GstPointCloudMerge *self, GstCloudMergePads *pads);

/* Of a tick; before the first a tenth of a second. */
gint64 gst_cloud_merge_get_period (GstPointCloudMerge *self);

/* What the next cloud is of. @with_leader: (out): it is the leader's next scan, which is not taken.
 * GST_AGGREGATOR_FLOW_NEED_DATA: that is not known. */
GstFlowReturn gst_cloud_merge_choose_tick (GstPointCloudMerge *self, GstCloudMergePads *pads,
    GstCloudMergePad *leader, gboolean timeout, GstCloudSpan *tick, gboolean *with_leader);
/* Takes what belongs to the tick: of sensors but the leader, and poses. FALSE: more may come. */
gboolean gst_cloud_merge_gather (GstPointCloudMerge *self, GstCloudMergePads *pads,
    GstCloudMergePad *leader, const GstCloudSpan *tick);
/* The leader's scan that the tick is of. */
void gst_cloud_merge_take_leader (GstPointCloudMerge *self, GstCloudMergePad *leader);
/* The running time that a live cloud has to be made at, less the latency. */
GstClockTime gst_cloud_merge_get_next_time (GstPointCloudMerge *self);

/* Makes the cloud of what was taken and sends it; GST_AGGREGATOR_FLOW_NEED_DATA: there is nothing.
 */
GstFlowReturn gst_cloud_merge_push (GstPointCloudMerge *self, GstCloudMergePads *pads,
    GstCloudMergePad *leader, const GstCloudSpan *tick, gboolean with_leader);
/* Of what leaves. (transfer full) */
GstCaps *gst_cloud_merge_make_caps (GstPointCloudMerge *self);

G_END_DECLS
