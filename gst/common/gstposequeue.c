/* SPDX-License-Identifier: MIT */
#include "gstposequeue.h"

#include <math.h>
#include <string.h>

#include <gst/base/gstqueuearray.h>

/* Poses of a stream that wait for scans: whoever brings more waits … */
#define MAX_POSES 65536
/* … unless nobody takes any for so long, microseconds, or the same thread brings the scans. So many
 * wait then at most, 130 MB, and of more the oldest are dropped. */
#define MAX_IDLE (5 * G_USEC_PER_SEC)
#define MAX_GROWN (16 * MAX_POSES)

/* Scans in a row that a stream has no pose for, from which on it is said. */
#define N_MISSING 10

/* @timed comes first: it is an NdtTimedPose as well. */
typedef struct {
  NdtTimedPose timed;
  gboolean has_stddev;
  gdouble stddev[6];
} Entry;

struct _GstPoseStream {
  GstQueueArray *entries; /* Entry, in order of time */
  NdtTimedPose previous;  /* the one before them, if @has_previous */
  gboolean has_previous;
  gboolean has_role;
  GstPoseRole role;
  gint64 position; /* no pose before it will come */
  gint64 period;   /* between the last two poses, 0: not known */
  guint number;    /* of the pad */
  gboolean flushing;
  guint n_missing; /* scans in a row that it had no pose for … */
  gint64 missing;  /* … and how much later than the first of them the nearest pose was */
  gboolean has_complained;
};

struct _GstPoseQueue {
  GstPoseRole *roles;
  guint n_roles;
  guint next_number; /* of a stream */
  GMutex lock;
  GCond changed;
  GPtrArray *streams;
  gint n_streams; /* atomic: most have none, and then nobody takes the lock */
  gboolean flushing;
  gboolean knows_sources;
  gboolean live;
  GstClockTime latency;
  gint64 scan;          /* the newest that has come … */
  GThread *scan_thread; /* … and the thread that brought it */
  guint n_waiting;      /* threads that bring poses and wait */
  gint complains;       /* atomic: a stream has a complaint */
  guint32 seek;
  gboolean seek_result;
  guint64 n_poses;
  guint64 n_missing;
};

gint64
gst_pose_queue_running_time (const GstSegment *segment, GstClockTime time)
{
  guint64 running_time;

  if (segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (time))
    return G_MAXINT64;
  const gint sign =
      gst_segment_to_running_time_full (segment, GST_FORMAT_TIME, time, &running_time);
  if (sign == 0 || running_time >= G_MAXINT64)
    return G_MAXINT64;
  return sign * (gint64)running_time;
}

static void
stream_free (gpointer data)
{
  GstPoseStream *stream = data;
  gst_queue_array_free (stream->entries);
  g_free (stream);
}

GstPoseQueue *
gst_pose_queue_new (const GstPoseRole *roles, guint n_roles)
{
  GstPoseQueue *poses = g_new0 (GstPoseQueue, 1);
  poses->roles = g_memdup2 (roles, n_roles * sizeof (GstPoseRole));
  poses->n_roles = n_roles;
  g_mutex_init (&poses->lock);
  g_cond_init (&poses->changed);
  poses->streams = g_ptr_array_new_with_free_func (stream_free);
  poses->flushing = TRUE;
  poses->scan = G_MININT64;
  return poses;
}

void
gst_pose_queue_free (GstPoseQueue *poses)
{
  g_ptr_array_unref (poses->streams);
  g_cond_clear (&poses->changed);
  g_mutex_clear (&poses->lock);
  g_free (poses->roles);
  g_free (poses);
}

gboolean
gst_pose_queue_has_streams (const GstPoseQueue *poses)
{
  return g_atomic_int_get (&poses->n_streams) > 0;
}

GstPoseStream *
gst_pose_queue_add_stream (GstPoseQueue *poses, guint *number)
{
  GstPoseStream *stream = g_new0 (GstPoseStream, 1);
  stream->entries = gst_queue_array_new_for_struct (sizeof (Entry), 64);
  stream->position = G_MININT64;
  g_mutex_lock (&poses->lock);
  g_ptr_array_add (poses->streams, stream);
  if (*number == G_MAXUINT)
    *number = poses->next_number;
  stream->number = *number;
  poses->next_number = MAX (poses->next_number, *number + 1);
  g_atomic_int_inc (&poses->n_streams);
  g_mutex_unlock (&poses->lock);
  return stream;
}

void
gst_pose_queue_remove_stream (GstPoseQueue *poses, GstPoseStream *stream)
{
  g_mutex_lock (&poses->lock);
  g_ptr_array_remove (poses->streams, stream);
  g_atomic_int_add (&poses->n_streams, -1);
  g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

static void
reset_stream (GstPoseStream *stream)
{
  gst_queue_array_clear (stream->entries);
  stream->has_previous = FALSE;
  stream->has_role = FALSE;
  stream->position = G_MININT64;
  stream->period = 0;
  stream->n_missing = 0;
}

void
gst_pose_queue_reset_stream (GstPoseQueue *poses, GstPoseStream *stream)
{
  g_mutex_lock (&poses->lock);
  reset_stream (stream);
  poses->knows_sources = FALSE;
  g_mutex_unlock (&poses->lock);
}

gchar *
gst_pose_queue_dup_roles (const GstPoseQueue *poses)
{
  GString *names = g_string_new (NULL);
  GEnumClass *roles = g_type_class_ref (GST_TYPE_POSE_ROLE);
  for (guint i = 0; i < poses->n_roles; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
        g_enum_get_value (roles, (gint)poses->roles[i])->value_nick);
  g_type_class_unref (roles);
  return g_string_free (names, FALSE);
}

const GstPoseMeta *
gst_pose_queue_find (const GstPoseQueue *poses, GstBuffer *buffer)
{
  for (guint i = 0; i < poses->n_roles; i++) {
    const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, poses->roles[i]);
    if (meta)
      return meta;
  }
  return NULL;
}

gboolean
gst_pose_queue_read_stddev (const GstPoseMeta *meta, gdouble stddev[6])
{
  gboolean any = FALSE;
  if (!meta->has_covariance)
    return FALSE;
  for (guint i = 0; i < 6; i++) {
    const gdouble variance = meta->covariance[7 * i];
    if (!(variance >= 0 && isfinite (variance)))
      return FALSE;
    stddev[i] = sqrt (variance);
    any |= variance > 0;
  }
  return any;
}

/* With the lock held, as the following. */
static gboolean
is_full (const GstPoseQueue *poses, const GstPoseStream *stream, guint capacity)
{
  return !poses->flushing && !stream->flushing &&
         gst_queue_array_get_length (stream->entries) >= capacity;
}

/* As a muxer does: until there is space. FALSE where nobody makes any. */
static gboolean
wait_for_space (GstPoseQueue *poses, GstPoseStream *stream)
{
  gint64 scan = poses->scan;
  gint64 end = g_get_monotonic_time () + MAX_IDLE;
  gboolean idle = FALSE;

  poses->n_waiting++;
  while (is_full (poses, stream, MAX_POSES) && !poses->live && !idle && scan != G_MAXINT64 &&
         poses->scan_thread != g_thread_self ()) {
    idle = !g_cond_wait_until (&poses->changed, &poses->lock, end);
    if (poses->scan != scan) {
      scan = poses->scan;
      end = g_get_monotonic_time () + MAX_IDLE;
      idle = FALSE;
    }
  }
  poses->n_waiting--;
  return !idle;
}

static void
wake_waiting (GstPoseQueue *poses)
{
  if (poses->n_waiting > 0)
    g_cond_broadcast (&poses->changed);
}

GstPoseQueueState
gst_pose_queue_put (GstPoseQueue *poses, GstPoseStream *stream, GstPoseRole role, gint64 time,
    const NdtPose *pose, const gdouble *stddev)
{
  Entry entry = {.timed = {time, *pose}, .has_stddev = stddev != NULL};
  GstPoseQueueState state = GST_POSE_QUEUE_OK;
  if (stddev)
    memcpy (entry.stddev, stddev, sizeof entry.stddev);

  g_mutex_lock (&poses->lock);
  /* Once nobody took any, more only grows. */
  if (is_full (poses, stream, MAX_POSES) &&
      gst_queue_array_get_length (stream->entries) == MAX_POSES && !wait_for_space (poses, stream))
    state = GST_POSE_QUEUE_IDLE;
  const NdtTimedPose *tail = gst_queue_array_peek_tail_struct (stream->entries);
  if ((!stream->has_role || stream->role == role) && (!tail || time > tail->time)) {
    stream->has_role = TRUE;
    stream->role = role;
    if (tail)
      stream->period = time - tail->time;
    if (is_full (poses, stream, poses->live ? MAX_POSES : MAX_GROWN)) {
      gst_queue_array_pop_head_struct (stream->entries);
      state = GST_POSE_QUEUE_DROPS;
    }
    gst_queue_array_push_tail_struct (stream->entries, (gpointer)&entry);
    poses->n_poses++;
    stream->position = MAX (stream->position, time);
    g_cond_broadcast (&poses->changed);
  }
  g_mutex_unlock (&poses->lock);
  return state;
}

void
gst_pose_queue_get_extent (
    GstPoseQueue *poses, GstPoseStream *stream, guint *n, gint64 *first, gint64 *last, gint64 *scan)
{
  g_mutex_lock (&poses->lock);
  const NdtTimedPose *head = gst_queue_array_peek_head_struct (stream->entries);
  const NdtTimedPose *tail = gst_queue_array_peek_tail_struct (stream->entries);
  *n = gst_queue_array_get_length (stream->entries);
  *first = head ? head->time : GST_POSE_QUEUE_NO_TIME;
  *last = tail ? tail->time : GST_POSE_QUEUE_NO_TIME;
  *scan = poses->scan == G_MININT64 ? GST_POSE_QUEUE_NO_TIME : poses->scan;
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_set_stream_flushing (GstPoseQueue *poses, GstPoseStream *stream, gboolean flushing)
{
  g_mutex_lock (&poses->lock);
  stream->flushing = flushing;
  g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_advance (GstPoseQueue *poses, GstPoseStream *stream, gint64 time)
{
  g_mutex_lock (&poses->lock);
  stream->position = MAX (stream->position, time);
  g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_start (GstPoseQueue *poses)
{
  g_mutex_lock (&poses->lock);
  poses->flushing = FALSE;
  poses->knows_sources = FALSE;
  poses->scan = G_MININT64;
  poses->scan_thread = NULL;
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_flush (GstPoseQueue *poses)
{
  g_mutex_lock (&poses->lock);
  poses->flushing = TRUE;
  g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

gboolean
gst_pose_queue_knows_sources (GstPoseQueue *poses)
{
  g_mutex_lock (&poses->lock);
  const gboolean known = poses->knows_sources;
  g_mutex_unlock (&poses->lock);
  return known;
}

void
gst_pose_queue_set_sources (GstPoseQueue *poses, gboolean live, GstClockTime latency)
{
  g_mutex_lock (&poses->lock);
  poses->knows_sources = TRUE;
  poses->live = live;
  poses->latency = latency;
  g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

gint64
gst_pose_queue_get_deadline (
    GstPoseQueue *poses, GstElement *element, gint64 time, GstClockTime timeout)
{
  const GstClockTime now = gst_element_get_current_running_time (element);

  /* While the pipeline is paused no time runs. */
  if (GST_STATE (element) != GST_STATE_PLAYING || !GST_CLOCK_TIME_IS_VALID (now) ||
      time == GST_POSE_QUEUE_NO_TIME)
    return 0;
  g_mutex_lock (&poses->lock);
  const gint64 end = time + (gint64)poses->latency + (gint64)timeout;
  g_mutex_unlock (&poses->lock);
  return MAX (g_get_monotonic_time () + (end - (gint64)now) / (gint64)GST_USECOND, 1);
}

void
gst_pose_queue_scan (GstPoseQueue *poses, gint64 time)
{
  if (!gst_pose_queue_has_streams (poses))
    return;
  g_mutex_lock (&poses->lock);
  poses->scan = time;
  poses->scan_thread = g_thread_self ();
  if (poses->live || poses->n_waiting > 0)
    g_cond_broadcast (&poses->changed);
  g_mutex_unlock (&poses->lock);
}

gboolean
gst_pose_queue_begin_seek (GstPoseQueue *poses, guint32 seqnum, gboolean *result)
{
  g_mutex_lock (&poses->lock);
  const gboolean is_new = poses->seek != seqnum;
  if (is_new)
    poses->seek_result = TRUE;
  poses->seek = seqnum;
  *result = poses->seek_result;
  g_mutex_unlock (&poses->lock);
  return is_new;
}

void
gst_pose_queue_end_seek (GstPoseQueue *poses, guint32 seqnum, gboolean result)
{
  g_mutex_lock (&poses->lock);
  if (poses->seek == seqnum)
    poses->seek_result = result;
  g_mutex_unlock (&poses->lock);
}

/* With the lock held. */
static gboolean
reached (const GstPoseQueue *poses, gint64 time, GstClockTime latency)
{
  const gint64 wait = (gint64)MIN (latency, G_MAXINT64 / 4);

  for (guint i = 0; i < poses->streams->len; i++) {
    const GstPoseStream *stream = g_ptr_array_index (poses->streams, i);
    /* Live poses of 1 Hz are not waited for that come after the wait is over. */
    const gboolean comes =
        !poses->live || stream->period <= wait || stream->position + stream->period <= time + wait;
    if (stream->position < time && comes)
      return FALSE;
  }
  return TRUE;
}

gboolean
gst_pose_queue_reached (GstPoseQueue *poses, gint64 time, GstClockTime latency)
{
  if (!gst_pose_queue_has_streams (poses))
    return TRUE;
  g_mutex_lock (&poses->lock);
  const gboolean all = time == GST_POSE_QUEUE_NO_TIME || reached (poses, time, latency);
  g_mutex_unlock (&poses->lock);
  return all;
}

gboolean
gst_pose_queue_wait (GstPoseQueue *poses, gint64 time, GstClockTime latency, gint64 deadline)
{
  gboolean late = FALSE;

  g_mutex_lock (&poses->lock);
  while (!poses->flushing && time != GST_POSE_QUEUE_NO_TIME && !reached (poses, time, latency) &&
         !late &&
         !(poses->live && poses->scan >= time && (guint64)poses->scan - (guint64)time >= latency)) {
    if (poses->live && deadline > 0)
      late = !g_cond_wait_until (&poses->changed, &poses->lock, deadline);
    else
      g_cond_wait (&poses->changed, &poses->lock);
  }
  const gboolean ok = !poses->flushing;
  g_mutex_unlock (&poses->lock);
  return ok;
}

/* With the lock held: a scan had no pose of the stream. */
static void
note_missing (GstPoseQueue *poses, GstPoseStream *stream, gint64 time)
{
  const NdtTimedPose *head = gst_queue_array_peek_head_struct (stream->entries);
  const NdtTimedPose *tail = gst_queue_array_peek_tail_struct (stream->entries);

  poses->n_missing++;
  if (!head || time == GST_POSE_QUEUE_NO_TIME)
    return;
  /* Of the first of them: poses before the others are not forgotten meanwhile. */
  const gint64 missing = head->time > time   ? head->time - time
                         : tail->time < time ? tail->time - time
                                             : 0;
  if (stream->n_missing == 0 || missing == 0)
    stream->missing = missing;
  if (++stream->n_missing == N_MISSING && !stream->has_complained)
    g_atomic_int_set (&poses->complains, TRUE);
}

/* Known differences of clocks, seconds. */
static const gchar *
get_clocks (gdouble seconds)
{
  static const struct {
    gdouble seconds;
    const gchar *clocks;
  } known[] = {{37, "TAI and UTC"}, {18, "GPS time and UTC"}, {19, "TAI and GPS time"}};
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (fabs (fabs (seconds) - known[i].seconds) < 1.5)
      return known[i].clocks;
  return NULL;
}

gchar *
gst_pose_queue_take_complaint (GstPoseQueue *poses)
{
  gchar *text = NULL;

  if (!g_atomic_int_get (&poses->complains))
    return NULL;
  g_mutex_lock (&poses->lock);
  g_atomic_int_set (&poses->complains, FALSE);
  for (guint i = 0; i < poses->streams->len && !text; i++) {
    GstPoseStream *stream = g_ptr_array_index (poses->streams, i);
    if (stream->n_missing < N_MISSING || stream->has_complained)
      continue;
    stream->has_complained = TRUE;
    const gdouble seconds = 1e-9 * (gdouble)stream->missing;
    const gchar *clocks = get_clocks (seconds);
    if (stream->missing == 0)
      text =
          g_strdup_printf ("%u scans in a row have no pose of pose_%u: its poses are too far from "
                           "one another, see max-pose-gap and pose-distance-limit",
              stream->n_missing, stream->number);
    else
      text = g_strdup_printf ("%u scans in a row have no pose of pose_%u: the nearest one is %.1f "
                              "s %s than the scan%s%s%s",
          stream->n_missing, stream->number, fabs (seconds), seconds > 0 ? "later" : "earlier",
          clocks ? ", as far as " : "", clocks ? clocks : "",
          clocks ? " are apart: bring both to one clock"
                 : ". Are they of one clock, and is pose-latency long enough?");
  }
  g_mutex_unlock (&poses->lock);
  return text;
}

static gdouble
distance_between (const NdtPose *a, const NdtPose *b)
{
  gdouble metres;
  ndt_pose_difference (a, b, &metres, NULL);
  return metres;
}

/* The second of the poses that wait. */
static const NdtTimedPose *
peek_next (GstQueueArray *entries)
{
  return gst_queue_array_get_length (entries) > 1 ? gst_queue_array_peek_nth_struct (entries, 1)
                                                  : NULL;
}

/* With the lock held: the stream's pose at a time. */
static gboolean
interpolate (
    GstPoseStream *stream, gint64 time, GstClockTime max_gap, gdouble distance, NdtPose *pose)
{
  GstQueueArray *entries = stream->entries;
  const NdtTimedPose *next = peek_next (entries);
  while (next && next->time <= time) {
    stream->previous = *(const NdtTimedPose *)gst_queue_array_pop_head_struct (entries);
    stream->has_previous = TRUE;
    next = peek_next (entries);
  }
  const NdtTimedPose *before = gst_queue_array_peek_head_struct (entries);
  if (!before || before->time > time)
    return FALSE;
  if (before->time == time) {
    *pose = before->pose;
    return TRUE;
  }
  if (!next || (max_gap > 0 && (guint64)next->time - (guint64)before->time > max_gap) ||
      (distance > 0 && distance_between (&before->pose, &next->pose) > distance))
    return FALSE;
  ndt_pose_interpolate (&before->pose, &next->pose,
      (gdouble)(time - before->time) / (gdouble)(next->time - before->time), pose);
  return TRUE;
}

/* With the lock held, after interpolate(): the velocity between the poses before and after a time;
 * at a pose, between the one before and it, since the next may not have come. */
static gboolean
get_velocity (const GstPoseStream *stream, gint64 time, GstClockTime max_gap, gdouble twist[6])
{
  const NdtTimedPose *from = gst_queue_array_peek_head_struct (stream->entries);
  const NdtTimedPose *to = peek_next (stream->entries);
  NdtPose step;
  if (from->time == time) {
    to = from;
    from = stream->has_previous ? &stream->previous : NULL;
  }
  if (!from || !to || from->time >= to->time ||
      (guint64)to->time - (guint64)from->time >
          (max_gap > 0 ? MIN (max_gap, GST_SECOND) : GST_SECOND))
    return FALSE;
  ndt_pose_between (&from->pose, &to->pose, &step);
  ndt_pose_log (&step, twist);
  for (guint i = 0; i < 6; i++)
    twist[i] *= (gdouble)GST_SECOND / (gdouble)(to->time - from->time);
  return TRUE;
}

/* With the lock held, after interpolate(): the worse of the poses before and after. */
static gboolean
get_stddev (const GstPoseStream *stream, gint64 time, gdouble stddev[6])
{
  const Entry *before = gst_queue_array_peek_head_struct (stream->entries);
  const Entry *next = (const Entry *)peek_next (stream->entries);
  memcpy (stddev, before->stddev, sizeof before->stddev);
  if (before->timed.time == time || !next)
    return before->has_stddev;
  for (guint i = 0; i < 6; i++)
    stddev[i] = MAX (before->stddev[i], next->stddev[i]);
  return before->has_stddev && next->has_stddev;
}

void
gst_pose_queue_get (GstPoseQueue *poses, gint64 time, GstClockTime max_gap, gdouble distance,
    NdtObservation *observation)
{
  if (!gst_pose_queue_has_streams (poses))
    return;
  g_mutex_lock (&poses->lock);
  for (guint i = 0; i < poses->streams->len; i++) {
    GstPoseStream *stream = g_ptr_array_index (poses->streams, i);
    NdtPose pose;
    if (time == GST_POSE_QUEUE_NO_TIME || !interpolate (stream, time, max_gap, distance, &pose)) {
      note_missing (poses, stream, time);
      continue;
    }
    stream->n_missing = 0;
    if (stream->role == GST_POSE_ROLE_PRIOR && !observation->has_prior) {
      observation->has_prior = TRUE;
      observation->prior = pose;
      observation->has_prior_stddev = get_stddev (stream, time, observation->prior_stddev);
    } else if (stream->role == GST_POSE_ROLE_ODOMETRY && !observation->has_odometry) {
      observation->has_odometry = TRUE;
      observation->odometry = pose;
      /* Absolute poses jump from one to the next. */
      observation->has_velocity = get_velocity (stream, time, max_gap, observation->velocity);
    }
  }
  wake_waiting (poses);
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_get_window (GstPoseQueue *poses, gint64 from, gint64 to, GArray *window)
{
  g_mutex_lock (&poses->lock);
  for (guint i = 0; i < poses->streams->len && window->len == 0; i++) {
    GstPoseStream *stream = g_ptr_array_index (poses->streams, i);
    GstQueueArray *entries = stream->entries;
    guint n_after = 0;
    const NdtTimedPose *third;
    while (gst_queue_array_get_length (entries) > 2 &&
           (third = gst_queue_array_peek_nth_struct (entries, 2)) && third->time <= from)
      gst_queue_array_pop_head_struct (entries);
    for (guint k = 0; k < gst_queue_array_get_length (entries) && n_after < 2; k++) {
      const NdtTimedPose *entry = gst_queue_array_peek_nth_struct (entries, k);
      n_after += entry->time > to;
      g_array_append_val (window, *entry);
    }
    const NdtTimedPose *last = gst_queue_array_peek_tail_struct (entries);
    const NdtTimedPose *first = gst_queue_array_peek_head_struct (entries);
    if (!last || last->time < from || first->time > to)
      note_missing (poses, stream, from);
    else
      stream->n_missing = 0;
  }
  wake_waiting (poses);
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_get_counts (GstPoseQueue *poses, guint64 *n_poses, guint64 *n_missing)
{
  g_mutex_lock (&poses->lock);
  *n_poses = poses->n_poses;
  *n_missing = poses->n_missing;
  g_mutex_unlock (&poses->lock);
}

void
gst_pose_queue_clear (GstPoseQueue *poses)
{
  g_mutex_lock (&poses->lock);
  for (guint i = 0; i < poses->streams->len; i++)
    reset_stream (g_ptr_array_index (poses->streams, i));
  poses->n_poses = poses->n_missing = 0;
  g_mutex_unlock (&poses->lock);
}
