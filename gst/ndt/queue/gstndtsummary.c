/* SPDX-License-Identifier: MIT */
#include "gstndtsummary.h"

#include <string.h>

void
gst_ndt_summary_init (GstNdtSummary *summary)
{
  memset (summary, 0, sizeof *summary);
  summary->first = summary->tracked = summary->loss_time = GST_CLOCK_TIME_NONE;
}

static void
add_time (GstNdtSummary *summary, GstClockTime time, gboolean is_tracking)
{
  const GstClockTime since =
      GST_CLOCK_TIME_IS_VALID (summary->tracked) ? summary->tracked : summary->first;

  if (!GST_CLOCK_TIME_IS_VALID (time))
    return;
  if (!GST_CLOCK_TIME_IS_VALID (since) || time < since) {
    summary->first = time;
    summary->tracked = GST_CLOCK_TIME_NONE;
  } else {
    summary->largest_gap = MAX (summary->largest_gap, time - since);
  }
  if (is_tracking)
    summary->tracked = time;
}

static void
add_loss (GstNdtSummary *summary, const GstPoseMeta *meta, GstClockTime time)
{
  g_autofree gchar *why = gst_pose_meta_describe_reason (meta);

  summary->has_loss = TRUE;
  summary->loss = meta->sequence;
  summary->loss_since = meta->sequence + 1 - MIN (summary->run, meta->sequence + 1);
  summary->loss_time = time;
  summary->loss_reason = meta->reason;
  g_strlcpy (summary->loss_why, why ? why : "", sizeof summary->loss_why);
}

void
gst_ndt_summary_add (GstNdtSummary *summary, const GstPoseMeta *meta, GstClockTime time)
{
  const gboolean is_tracking = meta->status == GST_POSE_STATUS_TRACKING;

  summary->scans++;
  summary->status[meta->status]++;
  summary->reason[meta->reason]++;
  if (is_tracking)
    summary->fit += meta->fit;
  add_time (summary, time, is_tracking);
  summary->run = is_tracking ? 0 : summary->run + 1;
  summary->longest_run = MAX (summary->longest_run, summary->run);
  if (meta->status != GST_POSE_STATUS_SKIPPED)
    summary->last = meta->status;
  if (meta->status == GST_POSE_STATUS_LOST && !summary->has_loss)
    add_loss (summary, meta, time);
}

gboolean
gst_ndt_summary_is_lost (const GstNdtSummary *summary)
{
  return summary->scans > 0 &&
         (summary->last == GST_POSE_STATUS_LOST || summary->last == GST_POSE_STATUS_INITIALIZING ||
             2 * summary->status[GST_POSE_STATUS_TRACKING] < summary->scans);
}

static gdouble
mean_fit (const GstNdtSummary *summary)
{
  const guint64 n = summary->status[GST_POSE_STATUS_TRACKING];
  return n ? summary->fit / (gdouble)n : 0;
}

static const gchar *
reason_to_string (GstPoseReason reason)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (GST_TYPE_POSE_REASON);
  return g_enum_get_value (G_ENUM_CLASS (klass), (gint)reason)->value_nick;
}

void
gst_ndt_summary_to_structure (const GstNdtSummary *summary, GstStructure *structure)
{
  gst_structure_set (structure, "scans", G_TYPE_UINT64, summary->scans, "mean-fit", G_TYPE_DOUBLE,
      mean_fit (summary), "largest-gap", G_TYPE_UINT64, summary->largest_gap, "largest-gap-scans",
      G_TYPE_UINT64, summary->longest_run, "is-lost", G_TYPE_BOOLEAN,
      gst_ndt_summary_is_lost (summary), NULL);
  if (summary->has_loss)
    gst_structure_set (structure, "first-loss", G_TYPE_UINT64, summary->loss, "first-loss-since",
        G_TYPE_UINT64, summary->loss_since, "first-loss-time", G_TYPE_UINT64, summary->loss_time,
        "first-loss-reason", G_TYPE_STRING, reason_to_string (summary->loss_reason),
        "first-loss-why", G_TYPE_STRING, summary->loss_why, "first-loss-advice", G_TYPE_STRING,
        gst_pose_reason_get_advice (summary->loss_reason), NULL);
}

gchar *
gst_ndt_summary_to_string (const GstNdtSummary *summary)
{
  const guint64 *status = summary->status, *reason = summary->reason;
  GString *text = g_string_new (NULL);
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (text,
      "scans=%" G_GUINT64_FORMAT " tracking=%" G_GUINT64_FORMAT " degraded=%" G_GUINT64_FORMAT
      " lost=%" G_GUINT64_FORMAT " initializing=%" G_GUINT64_FORMAT " skipped=%" G_GUINT64_FORMAT
      " too_late=%" G_GUINT64_FORMAT " too_few_points=%" G_GUINT64_FORMAT,
      summary->scans, status[GST_POSE_STATUS_TRACKING], status[GST_POSE_STATUS_DEGRADED],
      status[GST_POSE_STATUS_LOST], status[GST_POSE_STATUS_INITIALIZING],
      status[GST_POSE_STATUS_SKIPPED], reason[GST_POSE_REASON_TOO_LATE],
      reason[GST_POSE_REASON_TOO_FEW_POINTS]);
  g_string_append_printf (
      text, " mean_fit=%s", g_ascii_formatd (number, sizeof number, "%.3f", mean_fit (summary)));
  g_string_append_printf (text, " largest_gap_s=%s",
      g_ascii_formatd (number, sizeof number, "%.3f", (gdouble)summary->largest_gap / GST_SECOND));
  g_string_append_printf (text, " largest_gap_scans=%" G_GUINT64_FORMAT " is_lost=%s",
      summary->longest_run, gst_ndt_summary_is_lost (summary) ? "yes" : "no");
  if (summary->has_loss)
    g_string_append_printf (text,
        " first_loss=%" G_GUINT64_FORMAT " first_loss_since=%" G_GUINT64_FORMAT
        " first_loss_reason=%s",
        summary->loss, summary->loss_since, reason_to_string (summary->loss_reason));
  return g_string_free (text, FALSE);
}
