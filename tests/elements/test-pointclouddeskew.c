/* SPDX-License-Identifier: MIT */
/* A sensor at 20 m/s and 45 degrees a second, each of whose points is measured from where it is. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "tests/ndt-limit.h"

#define CAPS "pointcloud/x-raw,format=XYZIRT,framerate=10/1,frame-id=lidar"
#define STEP 24
#define N_POINTS 2000
#define SCAN (100 * GST_MSECOND)

static NdtPose
pose_at (double time)
{
  const double twist[6] = {20 * time, 0, 0, 0, 0, G_PI / 4 * time};
  NdtPose pose;
  ndt_pose_exp (twist, &pose);
  return pose;
}

/* The world's points of a scan. */
static void
world_point (guint scan, guint i, double time, double p[3])
{
  const guint hash = (scan * N_POINTS + i) * 2654435761u;
  const NdtPose pose = pose_at (time);
  p[0] = pose.position[0] + (double)(hash % 1201) / 10 - 60;
  p[1] = pose.position[1] + (double)(hash / 1201 % 1201) / 10 - 60;
  p[2] = (double)(hash % 7);
}

static double
time_of (guint i)
{
  return 0.1 * i / (N_POINTS - 1);
}

static GstBuffer *
new_scan (guint scan, guint n)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n * STEP, NULL);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  if (map.size > 0)
    memset (map.data, 0, map.size);
  for (guint i = 0; i < n; i++) {
    const float time = (float)time_of (i);
    const double at = 0.1 * scan + (double)time;
    const NdtPose pose = pose_at (at);
    NdtPose inverse;
    double p[3];
    float f[3];
    world_point (scan, i, at, p);
    ndt_pose_invert (&pose, &inverse);
    ndt_pose_transform_point (&inverse, p, p);
    for (guint k = 0; k < 3; k++)
      f[k] = (float)p[k];
    memcpy (map.data + i * STEP, f, sizeof (f));
    memcpy (map.data + i * STEP + 20, &time, sizeof (time));
  }
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = scan * SCAN;
  GST_BUFFER_DURATION (buffer) = SCAN;
  return buffer;
}

/* How far points are from the world's, seen from the scan's end: mean and largest. */
static void
measure (GstBuffer *buffer, guint scan, double *mean, double *worst)
{
  const NdtPose end = pose_at (0.1 * (scan + 1));
  GstMapInfo map;
  *mean = *worst = 0;
  gst_buffer_map (buffer, &map, GST_MAP_READ);
  fail_unless_equals_int (map.size, N_POINTS * STEP);
  for (guint i = 0; i < N_POINTS; i++) {
    float f[3], time;
    double p[3], q[3], d = 0;
    memcpy (f, map.data + i * STEP, sizeof (f));
    memcpy (&time, map.data + i * STEP + 20, sizeof (time));
    world_point (scan, i, 0.1 * scan + (double)time, p);
    for (guint k = 0; k < 3; k++)
      q[k] = (double)f[k];
    ndt_pose_transform_point (&end, q, q);
    for (guint k = 0; k < 3; k++)
      d += (q[k] - p[k]) * (q[k] - p[k]);
    *mean += sqrt (d) / N_POINTS;
    *worst = MAX (*worst, sqrt (d));
  }
  gst_buffer_unmap (buffer, &map);
}

static void
assert_compensated (GstBuffer *buffer, guint scan, gboolean compensated)
{
  double mean, worst;
  measure (buffer, scan, &mean, &worst);
  if (compensated)
    /* What is asked for. */
    fail_unless (worst <= 0.02, "a point of scan %u is %g m off", scan, worst);
  else
    fail_unless (mean >= 0.5, "points of scan %u are %g m off on average", scan, mean);
}

static void
add_pose (GstBuffer *buffer, GstPoseRole role, double time)
{
  const NdtPose pose = pose_at (time);
  GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer, role, pose.position, pose.orientation);
  meta->timestamp = (GstClockTime)llround (time * GST_SECOND);
}

/* @user_data: the latency of a live source; NULL: it is not live. */
static GstPadProbeReturn
answer_latency (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_PAD_PROBE_OK;
  gst_query_set_latency (query, user_data != NULL, user_data ? *(const GstClockTime *)user_data : 0,
      GST_CLOCK_TIME_NONE);
  return GST_PAD_PROBE_HANDLED;
}

static void
set_source (GstHarness *h, GstClockTime *latency)
{
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, answer_latency, latency, NULL);
}

static GstHarness *
new_harness (void)
{
  GstHarness *h = gst_harness_new_with_padnames ("pointclouddeskew", "sink", "src");
  gst_harness_set_src_caps_str (h, CAPS);
  return h;
}

static guint64
get_count (GstHarness *h, const gchar *name)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 value = G_MAXUINT64;
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value));
  return value;
}

/* Poses on the scans, of their ends: but for the first. */
GST_START_TEST (test_poses_on_scans)
{
  GstHarness *h = new_harness ();
  g_object_set (h->element, "role", GST_POSE_ROLE_GROUND_TRUTH, NULL);
  for (guint i = 0; i < 5; i++) {
    GstBuffer *in = new_scan (i, N_POINTS);
    add_pose (in, GST_POSE_ROLE_GROUND_TRUTH, 0.1 * (i + 1));
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    assert_compensated (out, i, i > 0);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * SCAN);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), SCAN);
    fail_unless (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  }
  fail_unless_equals_uint64 (get_count (h, "scans"), 5);
  fail_unless_equals_uint64 (get_count (h, "compensated"), 4);
  fail_unless_equals_uint64 (get_count (h, "points-left"), 0);

  /* After a flush there is no scan before. */
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  GstBuffer *in = new_scan (6, N_POINTS);
  add_pose (in, GST_POSE_ROLE_GROUND_TRUTH, 0.7);
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
  assert_compensated (out, 6, FALSE);
  gst_harness_teardown (h);
}
GST_END_TEST

/* Doubles 5,000 km off, as of a map's coordinates, keep their micrometres; a float steps by half a
 * metre there. Times are instants that the motion is asked for at. */
GST_START_TEST (test_double)
{
  enum { N = 2048, STEP_F64 = 32 };
  const gdouble speed = 20;
  GstHarness *h = gst_harness_new_with_padnames ("pointclouddeskew", "sink", "src");
  gst_harness_set_src_caps_str (h,
      "pointcloud/x-raw,format=CUSTOM,point-step=32,layout=interleaved,framerate=10/1,"
      "fields=\"x:F64:0,y:F64:8,z:F64:16,time:F64:24\"");
  g_object_set (h->element, "role", GST_POSE_ROLE_GROUND_TRUTH, NULL);
  for (guint scan = 0; scan < 2; scan++) {
    GstBuffer *in = gst_buffer_new_allocate (NULL, N * STEP_F64, NULL);
    const gdouble position[3] = {speed * 0.1 * (scan + 1), 0, 0}, orientation[4] = {0, 0, 0, 1};
    gdouble p[4] = {0, 4e6, 12.25, 0};
    GstMapInfo map;
    for (guint i = 0; i < N; i++) {
      p[0] = 5e6 + i / 1024.0;
      p[3] = 0.1 / (N - 1) * i;
      gst_buffer_fill (in, i * STEP_F64, p, sizeof (p));
    }
    GST_BUFFER_PTS (in) = scan * SCAN;
    GST_BUFFER_DURATION (in) = SCAN;
    gst_buffer_add_pose_meta (in, GST_POSE_ROLE_GROUND_TRUTH, position, orientation)->timestamp =
        (scan + 1) * SCAN;
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    gst_buffer_map (out, &map, GST_MAP_READ);
    for (guint i = 0; i < N; i++) {
      const gdouble time = 0.1 / (N - 1) * i;
      const gdouble x = 5e6 + i / 1024.0 - (scan > 0 ? speed * (0.1 - time) : 0);
      memcpy (p, map.data + i * STEP_F64, sizeof (p));
      fail_unless (fabs (p[0] - x) < 1e-7 && fabs (p[1] - 4e6) < 1e-7 && fabs (p[2] - 12.25) < 1e-7,
          "point %u of scan %u is %g m off", i, scan, p[0] - x);
      fail_unless_equals_float (p[3], time);
    }
    gst_buffer_unmap (out, &map);
  }
  fail_unless_equals_uint64 (get_count (h, "compensated"), 1);
  gst_harness_teardown (h);
}
GST_END_TEST

/* Somebody else's scan is not written to. */
GST_START_TEST (test_shared)
{
  GstHarness *h = new_harness ();
  g_object_set (h->element, "role", GST_POSE_ROLE_GROUND_TRUTH, NULL);
  for (guint i = 0; i < 2; i++) {
    GstBuffer *in = new_scan (i, N_POINTS);
    add_pose (in, GST_POSE_ROLE_GROUND_TRUTH, 0.1 * (i + 1));
    g_autoptr (GstBuffer) mine = gst_buffer_ref (in);
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    assert_compensated (mine, i, FALSE);
    assert_compensated (out, i, i > 0);
  }
  gst_harness_teardown (h);
}
GST_END_TEST

/* ---- A stream of poses ---- */

static GstHarness *
new_pose_harness (GstHarness *h)
{
  GstHarness *poses = gst_harness_new_with_element (h->element, "pose_%u", NULL);
  gst_harness_set_src_caps_str (poses, "pose/x-raw");
  return poses;
}

static void
push_pose (GstHarness *poses, GstPoseRole role, double time)
{
  GstBuffer *buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = (GstClockTime)llround (time * GST_SECOND);
  add_pose (buffer, role, time);
  fail_unless_equals_int (gst_harness_push (poses, buffer), GST_FLOW_OK);
}

/* At 50 poses a second; the poses of a scan come before it, and the last ends with the stream. */
GST_START_TEST (test_pose_pad)
{
  const GstPoseRole role = (GstPoseRole)__i__;
  GstHarness *h = new_harness ();
  GstHarness *poses = new_pose_harness (h);
  set_source (h, NULL);
  set_source (poses, NULL);
  for (guint i = 0; i <= 25; i++)
    push_pose (poses, role, 0.02 * i);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, new_scan (i, N_POINTS));
    assert_compensated (out, i, TRUE);
  }
  fail_unless (gst_harness_push_event (poses, gst_event_new_eos ()));
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, new_scan (5, N_POINTS));
  assert_compensated (out, 5, FALSE);
  fail_unless_equals_uint64 (get_count (h, "compensated"), 5);
  gst_harness_teardown (poses);
  gst_harness_teardown (h);
}
GST_END_TEST

static gpointer
push_scan (gpointer h)
{
  return GINT_TO_POINTER (gst_harness_push (h, new_scan (0, N_POINTS)));
}

/* Long enough for another thread to go wrong in. */
static void
assert_waits (GstHarness *h)
{
  g_usleep (50000);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
}

/* A scan waits for the poses up to its end; a GAP or EOS tells that there are none; a flush wakes
 * it, and so does a stop. */
GST_START_TEST (test_wait)
{
  for (guint way = 0; way < 5; way++) {
    GstHarness *h = new_harness ();
    GstHarness *poses = new_pose_harness (h);
    set_source (h, NULL);
    set_source (poses, NULL);
    push_pose (poses, GST_POSE_ROLE_ODOMETRY, 0);
    push_pose (poses, GST_POSE_ROLE_ODOMETRY, 0.05);
    GThread *thread = g_thread_new ("scans", push_scan, h);
    assert_waits (h);
    if (way == 0)
      push_pose (poses, GST_POSE_ROLE_ODOMETRY, 0.1);
    else if (way == 1)
      gst_harness_push_event (poses, gst_event_new_gap (50 * GST_MSECOND, 100 * GST_MSECOND));
    else if (way == 2)
      gst_harness_push_event (poses, gst_event_new_eos ());
    else if (way == 3)
      gst_harness_push_event (h, gst_event_new_flush_start ());
    else
      gst_element_set_state (h->element, GST_STATE_NULL);
    const GstFlowReturn flow = (GstFlowReturn)GPOINTER_TO_INT (g_thread_join (thread));
    if (way < 3) {
      g_autoptr (GstBuffer) out = gst_harness_pull (h);
      fail_unless_equals_int (flow, GST_FLOW_OK);
      /* Where it is not known where the scan ends, nothing can be brought there. */
      assert_compensated (out, 0, way == 0);
    } else if (way == 3) {
      gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    }
    gst_harness_teardown (poses);
    gst_harness_teardown (h);
  }
}
GST_END_TEST

static guint
count_seeks (GstHarness *h)
{
  guint n = 0;
  for (;;) {
    g_autoptr (GstEvent) event = gst_harness_try_pull_upstream_event (h);
    if (!event)
      return n;
    n += GST_EVENT_TYPE (event) == GST_EVENT_SEEK;
  }
}

/* Scans and poses are sought alike. */
GST_START_TEST (test_seek)
{
  GstHarness *h = new_harness ();
  GstHarness *poses = new_pose_harness (h);
  g_autoptr (GstEvent) seek = gst_event_new_seek (1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, GST_SECOND, GST_SEEK_TYPE_NONE, 0);
  count_seeks (h);
  for (guint i = 0; i < 2; i++)
    fail_unless (gst_harness_push_upstream_event (h, gst_event_ref (seek)));
  fail_unless_equals_int (count_seeks (h), 1);
  fail_unless_equals_int (count_seeks (poses), 1);
  gst_harness_teardown (poses);
  gst_harness_teardown (h);
}
GST_END_TEST

/* The later of both and what a scan may wait beyond; and no live one waits for ever, though no
 * query has told the element that it is live. */
GST_START_TEST (test_live)
{
  GstClockTime scans = 100 * GST_MSECOND, late = 130 * GST_MSECOND;
  GstHarness *h = new_harness ();
  GstHarness *poses = new_pose_harness (h);
  g_object_set (h->element, "pose-latency", 50 * GST_MSECOND, NULL);
  set_source (h, &scans);
  set_source (poses, &late);
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, new_scan (0, N_POINTS));
  assert_compensated (out, 0, FALSE);
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  gboolean live;
  GstClockTime min, max;
  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, &live, &min, &max);
  fail_unless (live);
  fail_unless_equals_uint64 (min, late + 50 * GST_MSECOND);
  fail_unless_equals_uint64 (max, GST_CLOCK_TIME_NONE);
  gst_harness_teardown (poses);
  gst_harness_teardown (h);
}
GST_END_TEST

/* ---- What any element has to bear ---- */

GST_START_TEST (test_odd_scans)
{
  GstHarness *h = new_harness ();
  const float nowhere = NAN, infinite = INFINITY;
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_object_set (h->element, "role", GST_POSE_ROLE_GROUND_TRUTH, NULL);
  gst_element_set_bus (h->element, bus);
  for (guint i = 0; i < 6; i++) {
    const guint n = i == 1 ? 0 : i == 2 ? 1 : 10;
    GstBuffer *in = new_scan (i, n);
    if (i == 3)
      gst_buffer_set_size (in, 10 * STEP - 5);
    if (i == 4) {
      gst_buffer_fill (in, 0, &nowhere, sizeof (nowhere));
      gst_buffer_fill (in, STEP + 4, &infinite, sizeof (infinite));
      gst_buffer_fill (in, 2 * STEP + 20, &nowhere, sizeof (nowhere));
      gst_buffer_fill (in, 3 * STEP + 20, &infinite, sizeof (infinite));
    }
    const gsize size = gst_buffer_get_size (in);
    add_pose (in, GST_POSE_ROLE_GROUND_TRUTH, 0.1 * (i + 1));
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
    /* Whole points. */
    fail_unless_equals_int (gst_buffer_get_size (out), size / STEP * STEP);
    if (i == 4) {
      float x;
      gst_buffer_extract (out, 0, &x, sizeof (x));
      fail_unless (isnan (x));
      fail_unless_equals_uint64 (get_count (h, "points-left"), 2);
    }
  }
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  fail_unless (message != NULL, "a scan that is no whole number of points came without a warning");
  gst_element_set_bus (h->element, NULL);
  gst_harness_teardown (h);
}
GST_END_TEST

GST_START_TEST (test_events)
{
  GstHarness *h = new_harness ();
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, new_scan (0, N_POINTS));
  GstEvent *event;
  guint n_gaps = 0, n_eos = 0;
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (SCAN, SCAN)));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  while ((event = gst_harness_try_pull_event (h))) {
    n_gaps += GST_EVENT_TYPE (event) == GST_EVENT_GAP;
    n_eos += GST_EVENT_TYPE (event) == GST_EVENT_EOS;
    gst_event_unref (event);
  }
  fail_unless_equals_int (n_gaps, 1);
  fail_unless_equals_int (n_eos, 1);
  fail_unless_equals_int (gst_harness_push (h, new_scan (1, N_POINTS)), GST_FLOW_EOS);
  gst_harness_teardown (h);
}
GST_END_TEST

/* A source of bytes, and scans without stamps, are sent to rawpointcloudparse. */
GST_START_TEST (test_bytes)
{
  GstHarness *h = gst_harness_new_with_padnames ("pointclouddeskew", "sink", "src");
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstSegment segment;
  gst_element_set_bus (h->element, bus);
  gst_harness_push_event (h, gst_event_new_stream_start ("bytes"));
  gst_harness_push_event (h, gst_event_new_caps (caps));
  gst_segment_init (&segment, __i__ == 0 ? GST_FORMAT_BYTES : GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  GstBuffer *in = new_scan (0, N_POINTS);
  GST_BUFFER_PTS (in) = GST_CLOCK_TIME_NONE;
  fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_ERROR);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, "rawpointcloudparse") != NULL, "%s", error->message);
  gst_element_set_bus (h->element, NULL);
  gst_harness_teardown (h);
}
GST_END_TEST

GST_START_TEST (test_caps)
{
  GstHarness *h = gst_harness_new_with_padnames ("pointclouddeskew", "sink", "src");
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (h->element, bus);
  /* No coordinates. */
  gst_harness_set_src_caps_str (h,
      "pointcloud/x-raw,format=CUSTOM,point-step=4,fields=(string)\"time:F32:0\",framerate=10/1");
  fail_unless_equals_int (gst_harness_push (h, new_scan (0, 1)), GST_FLOW_NOT_NEGOTIATED);
  g_autoptr (GstMessage) error = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (error != NULL);
  gst_element_set_bus (h->element, NULL);
  gst_harness_teardown (h);
}
GST_END_TEST

/* A scan for which there is not the memory ends the stream by an error, not the process. */
GST_START_TEST (test_no_memory)
{
  enum { N = 4000000 };
  if (g_getenv ("NDT_TEST_SANITIZER"))
    return; /* they reserve more address space than a limit leaves */
  GstHarness *h = new_harness ();
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autoptr (GError) error = NULL;
  gst_element_set_bus (h->element, bus);
  g_object_set (h->element, "role", GST_POSE_ROLE_GROUND_TRUTH, NULL);
  for (guint i = 0; i < 2; i++) {
    GstBuffer *in = new_scan (i, N_POINTS);
    add_pose (in, GST_POSE_ROLE_GROUND_TRUTH, 0.1 * (i + 1));
    gst_buffer_unref (gst_harness_push_and_pull (h, in));
  }
  GstBuffer *scan = gst_buffer_new_allocate (NULL, (gsize)N * STEP, NULL);
  gst_buffer_memset (scan, 0, 0, (gsize)N * STEP);
  GST_BUFFER_PTS (scan) = 2 * SCAN;
  GST_BUFFER_DURATION (scan) = SCAN;
  add_pose (scan, GST_POSE_ROLE_GROUND_TRUTH, 0.3);
  const struct rlimit before = ndt_test_limit_memory (ndt_test_used_memory () + (32 << 20));
  const GstFlowReturn flow = gst_harness_push (h, scan);
  fail_unless_equals_int (setrlimit (RLIMIT_AS, &before), 0);
  fail_unless_equals_int (flow, GST_FLOW_ERROR);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT), "%s",
      error->message);
  fail_unless (strstr (error->message, "4000000 points") != NULL, "%s", error->message);
  gst_element_set_bus (h->element, NULL);
  gst_harness_teardown (h);
}
GST_END_TEST

/* Each has its own poses. */
GST_START_TEST (test_two)
{
  GstHarness *a = new_harness (), *b = new_harness ();
  GstHarness *poses = new_pose_harness (a);
  for (guint i = 0; i <= 10; i++)
    push_pose (poses, GST_POSE_ROLE_ESTIMATE, 0.02 * i);
  g_autoptr (GstBuffer) with = gst_harness_push_and_pull (a, new_scan (0, N_POINTS));
  g_autoptr (GstBuffer) without = gst_harness_push_and_pull (b, new_scan (0, N_POINTS));
  assert_compensated (with, 0, TRUE);
  assert_compensated (without, 0, FALSE);
  gst_harness_teardown (poses);
  gst_harness_teardown (a);
  gst_harness_teardown (b);
}
GST_END_TEST

static Suite *
pointclouddeskew_suite (void)
{
  Suite *suite = suite_create ("pointclouddeskew");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_poses_on_scans);
  tcase_add_test (tc, test_double);
  tcase_add_test (tc, test_shared);
  tcase_add_loop_test (tc, test_pose_pad, GST_POSE_ROLE_ESTIMATE, GST_POSE_ROLE_GROUND_TRUTH + 1);
  tcase_add_test (tc, test_wait);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_seek);
  tcase_add_test (tc, test_odd_scans);
  tcase_add_test (tc, test_events);
  tcase_add_loop_test (tc, test_bytes, 0, 2);
  tcase_add_test (tc, test_caps);
  tcase_add_test (tc, test_no_memory);
  tcase_add_test (tc, test_two);
  return suite;
}

GST_CHECK_MAIN (pointclouddeskew);
