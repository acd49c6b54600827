/* SPDX-License-Identifier: MIT */
#include "gstpointcloudtimer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "gstlocation.h"

#define DEFAULT_FPS_N 10
#define DEFAULT_FPS_D 1
/* 2^63 ns: beyond it signed arithmetic on times overflows. */
#define MAX_SECONDS 9223372036.0

struct _GstPointCloudTimer {
  GstElement *element; /* not owned: owns the timer */
  GstSegment segment;
  gint fps_n;
  gint fps_d;

  /* A scan without PTS gets that of the anchor plus the scans since over the framerate. */
  GstClockTime anchor;
  guint64 since_anchor;

  guint64 index;
  GstClockTime last_pts;
  guint64 n_backwards;

  GArray *times; /* of GstClockTime, NULL: none */
  GstClockTime first_time;

  gboolean warned_framerate;
  gboolean warned_times;
};

/**
 * gst_point_cloud_timer_new
 * @element: (transfer none): what warnings are posted by; has to outlive the timer
 *
 * Returns: (transfer full): a timer without a file of times
 */
GstPointCloudTimer *
gst_point_cloud_timer_new (GstElement *element)
{
  GstPointCloudTimer *timer;

  g_return_val_if_fail (GST_IS_ELEMENT (element), NULL);

  timer = g_new0 (GstPointCloudTimer, 1);
  timer->element = element;
  gst_point_cloud_timer_reset (timer);
  return timer;
}

/**
 * gst_point_cloud_timer_free
 * @timer: (transfer full): a timer
 */
void
gst_point_cloud_timer_free (GstPointCloudTimer *timer)
{
  g_return_if_fail (timer != NULL);

  g_clear_pointer (&timer->times, g_array_unref);
  g_free (timer);
}

/**
 * gst_point_cloud_timer_reset
 * @timer: a timer
 *
 * For start and flush-stop: index, segment and the count of times that run backwards anew; the
 * framerate and the file of times stay.
 */
void
gst_point_cloud_timer_reset (GstPointCloudTimer *timer)
{
  g_return_if_fail (timer != NULL);

  gst_segment_init (&timer->segment, GST_FORMAT_TIME);
  timer->anchor = 0;
  timer->since_anchor = 0;
  timer->index = 0;
  timer->last_pts = GST_CLOCK_TIME_NONE;
  timer->n_backwards = 0;
}

/* Nanoseconds of a number of seconds. Plain decimals are read digit by digit, because a double
 * holds an epoch to a quarter of a microsecond only. */
static gboolean
parse_seconds (const gchar *text, GstClockTime *time)
{
  const gchar *p = text;
  gchar *end;
  guint64 seconds = 0, nanoseconds = 0, unit = GST_SECOND / 10;
  gdouble value;

  value = g_ascii_strtod (text, &end);
  if (end == text || *end || !isfinite (value) || value < 0 || value >= MAX_SECONDS)
    return FALSE;

  for (; g_ascii_isdigit (*p); p++)
    seconds = seconds * 10 + (guint64)g_ascii_digit_value (*p);
  if (*p == '.')
    for (p++; g_ascii_isdigit (*p); p++, unit /= 10)
      nanoseconds += (guint64)g_ascii_digit_value (*p) * unit;
  if (*p)
    *time = (GstClockTime)llround (value * (gdouble)GST_SECOND);
  else
    *time = seconds * GST_SECOND + nanoseconds;
  return TRUE;
}

static GArray *
parse_times (const gchar *text, const gchar *location, GError **error)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (GstClockTime));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i]; i++) {
    gchar *line = g_strstrip (lines[i]);
    GstClockTime time;

    if (!*line || *line == '#')
      continue;
    line[strcspn (line, " \t,;")] = '\0';
    if (!parse_seconds (line, &time)) {
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "\"%s\", line %u: \"%s\" is no time in seconds from 0 on", location, i + 1, line);
      return NULL;
    }
    g_array_append_val (times, time);
  }
  if (times->len == 0) {
    g_set_error (
        error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ, "\"%s\" holds no times", location);
    return NULL;
  }
  return g_steal_pointer (&times);
}

/**
 * gst_point_cloud_timer_set_times_location
 * @timer: a timer
 * @location: (nullable): a file with one time in seconds a line (first column; '#' comments), or
 *   %NULL: none
 * @error: return location for an error
 *
 * Scan i without PTS gets the time of line i; scans beyond the last line follow by framerate, once
 * warned. Stays until it is set again; for the time before the stream starts.
 *
 * Returns: %FALSE with %GST_RESOURCE_ERROR_NOT_FOUND, %GST_RESOURCE_ERROR_OPEN_READ or
 *   %GST_RESOURCE_ERROR_READ; the file set before stays then
 */
gboolean
gst_point_cloud_timer_set_times_location (
    GstPointCloudTimer *timer, const gchar *location, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autoptr (GError) cause = NULL;
  GArray *times = NULL;

  g_return_val_if_fail (timer != NULL, FALSE);

  if (location) {
    g_autofree gchar *path = gst_location_resolve (location, GST_LOCATION_READ, error);
    if (!path)
      return FALSE;
    if (!g_file_get_contents (path, &text, NULL, &cause)) {
      g_set_error_literal (error, GST_RESOURCE_ERROR,
          g_error_matches (cause, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? GST_RESOURCE_ERROR_NOT_FOUND
                                                                    : GST_RESOURCE_ERROR_OPEN_READ,
          cause->message);
      return FALSE;
    }
    times = parse_times (text, location, error);
    if (!times)
      return FALSE;
  }

  g_clear_pointer (&timer->times, g_array_unref);
  timer->times = times;
  timer->warned_times = FALSE;
  timer->first_time = 0;
  if (times) {
    timer->first_time = g_array_index (times, GstClockTime, 0);
    for (guint i = 1; i < times->len; i++)
      timer->first_time = MIN (timer->first_time, g_array_index (times, GstClockTime, i));
  }
  return TRUE;
}

static GstClockTime
time_of_scans (const GstPointCloudTimer *timer, guint64 n)
{
  gboolean known = timer->fps_n > 0;

  return gst_util_uint64_scale (n, (guint64)(known ? timer->fps_d : DEFAULT_FPS_D) * GST_SECOND,
      (guint64)(known ? timer->fps_n : DEFAULT_FPS_N));
}

/**
 * gst_point_cloud_timer_set_info
 * @timer: a timer
 * @info: of the caps that came
 *
 * Takes the framerate; scans that follow are stamped by it.
 */
void
gst_point_cloud_timer_set_info (GstPointCloudTimer *timer, const GstPointCloudInfo *info)
{
  g_return_if_fail (timer != NULL);
  g_return_if_fail (info != NULL);

  timer->anchor += time_of_scans (timer, timer->since_anchor);
  timer->since_anchor = 0;
  timer->fps_n = info->fps_n;
  timer->fps_d = info->fps_d;
}

/**
 * gst_point_cloud_timer_segment
 * @timer: a timer
 * @segment: (transfer full): the segment event that came
 *
 * Returns: (transfer full): the event to send on: the same when it is TIME, otherwise one with its
 *   sequence number and a TIME segment from 0 or the earliest of the times of the file
 */
GstEvent *
gst_point_cloud_timer_segment (GstPointCloudTimer *timer, GstEvent *segment)
{
  const GstSegment *received;
  GstEvent *event;

  g_return_val_if_fail (timer != NULL, segment);
  g_return_val_if_fail (GST_IS_EVENT (segment), segment);

  gst_event_parse_segment (segment, &received);
  timer->last_pts = GST_CLOCK_TIME_NONE;
  if (received->format == GST_FORMAT_TIME) {
    gst_segment_copy_into (received, &timer->segment);
    timer->anchor = GST_CLOCK_TIME_IS_VALID (received->start) ? received->start : 0;
    timer->since_anchor = 0;
    return segment;
  }

  gst_segment_init (&timer->segment, GST_FORMAT_TIME);
  timer->segment.start = timer->segment.time = timer->segment.position = timer->first_time;
  event = gst_event_new_segment (&timer->segment);
  gst_event_set_seqnum (event, gst_event_get_seqnum (segment));
  gst_event_unref (segment);
  return event;
}

static GstClockTime
next_time (GstPointCloudTimer *timer)
{
  if (timer->times && timer->index < timer->times->len)
    return g_array_index (timer->times, GstClockTime, timer->index);

  if (timer->times && !timer->warned_times) {
    timer->warned_times = TRUE;
    GST_ELEMENT_WARNING (timer->element, STREAM, FAILED,
        ("The file of times has %u lines only; scans beyond follow by framerate.",
            timer->times->len),
        (NULL));
  }
  if (timer->fps_n <= 0 && !timer->warned_framerate) {
    timer->warned_framerate = TRUE;
    GST_ELEMENT_WARNING (timer->element, STREAM, FORMAT,
        ("Scans have no time stamps and their caps no framerate; %d scans per second are assumed. "
         "Set \"framerate\" or \"times-location\".",
            DEFAULT_FPS_N / DEFAULT_FPS_D),
        (NULL));
  }
  return timer->anchor + time_of_scans (timer, timer->since_anchor);
}

/**
 * gst_point_cloud_timer_stamp
 * @timer: a timer
 * @buffer: (transfer full): the scan that came
 *
 * Stamps a scan that has no PTS: by the file of times, else by framerate on from the last scan that
 * had one, or from the start of the segment. Counts a PTS that runs backwards within
 * a segment. A missing DURATION
 * is set from the framerate, if known. May post a warning: hold no lock.
 *
 * Returns: (transfer full): @buffer, or a writable copy that shares its memory
 */
GstBuffer *
gst_point_cloud_timer_stamp (GstPointCloudTimer *timer, GstBuffer *buffer)
{
  GstClockTime pts;
  gboolean needs_duration;

  g_return_val_if_fail (timer != NULL, buffer);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), buffer);

  pts = GST_BUFFER_PTS (buffer);
  needs_duration = !GST_BUFFER_DURATION_IS_VALID (buffer) && timer->fps_n > 0;
  if (needs_duration || !GST_CLOCK_TIME_IS_VALID (pts))
    buffer = gst_buffer_make_writable (buffer);
  if (needs_duration)
    GST_BUFFER_DURATION (buffer) = time_of_scans (timer, 1);
  if (!GST_CLOCK_TIME_IS_VALID (pts)) {
    pts = GST_BUFFER_PTS (buffer) = next_time (timer);
    timer->since_anchor++;
    if (timer->times && timer->index < timer->times->len) {
      timer->anchor = pts;
      timer->since_anchor = 1;
    }
  } else {
    timer->anchor = pts;
    timer->since_anchor = 1;
  }

  if (GST_CLOCK_TIME_IS_VALID (timer->last_pts) && pts < timer->last_pts)
    timer->n_backwards++;
  timer->last_pts = pts;
  timer->segment.position = pts;
  timer->index++;
  return buffer;
}

/**
 * gst_point_cloud_timer_get_segment
 * @timer: a timer
 *
 * Returns: (transfer none): the TIME segment of the stream that leaves
 */
const GstSegment *
gst_point_cloud_timer_get_segment (const GstPointCloudTimer *timer)
{
  g_return_val_if_fail (timer != NULL, NULL);

  return &timer->segment;
}

/**
 * gst_point_cloud_timer_get_n_backwards
 * @timer: a timer
 *
 * Returns: the number of scans since the last reset whose PTS was before that of the scan before in
 *   the same segment
 */
guint64
gst_point_cloud_timer_get_n_backwards (const GstPointCloudTimer *timer)
{
  g_return_val_if_fail (timer != NULL, 0);

  return timer->n_backwards;
}
