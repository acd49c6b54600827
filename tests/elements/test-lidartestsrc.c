/* SPDX-License-Identifier: MIT */
#include "lidartestsrc.h"

#include <math.h>

#include "ndtcore/sim/scanner/ndt-sim-scanner.h"

static gboolean
same_bytes (GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  gboolean same;

  gst_buffer_map (a, &map, GST_MAP_READ);
  same = map.size == gst_buffer_get_size (b) && gst_buffer_memcmp (b, 0, map.data, map.size) == 0;
  gst_buffer_unmap (a, &map);
  return same;
}

static void
assert_equal_buffers (GstBuffer *a, GstBuffer *b)
{
  const NdtPose pose_a = pose_of (a, GST_POSE_ROLE_GROUND_TRUTH);
  const NdtPose pose_b = pose_of (b, GST_POSE_ROLE_GROUND_TRUTH);

  fail_unless (same_bytes (a, b));
  fail_unless (memcmp (&pose_a, &pose_b, sizeof pose_a) == 0);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (a), GST_BUFFER_PTS (b));
}

static const gchar *const formats[] = {"XYZ_F32LE", "XYZI_F32LE", "XYZIRT"};

GST_START_TEST (test_caps)
{
  g_autofree gchar *caps_string =
      g_strdup_printf ("pointcloud/x-raw,format=%s,framerate=5/1,frame-id=roof", formats[__i__]);
  GstHarness *h = harness ("motion-distortion=true", caps_string);
  g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (h->sinkpad);
  GstPointCloudInfo info;
  GstPointCloudMap map;
  const GstPoseMeta *pose;
  guint before = 0;

  fail_unless (gst_point_cloud_info_from_caps (&info, caps, NULL));
  fail_unless_equals_int (info.format, gst_point_cloud_format_from_string (formats[__i__]));
  fail_unless_equals_int (info.fps_n, 5);
  fail_unless_equals_string (g_quark_to_string (info.frame_id), "roof");
  /* Those who read the fields alone find them. */
  fail_unless (gst_structure_has_field (gst_caps_get_structure (caps, 0), "fields"));

  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 0);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 200 * GST_MSECOND);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE));
  fail_unless (gst_point_cloud_map (&map, &info, buffer, GST_MAP_READ, NULL));
  fail_unless (map.n_points > 500 && map.n_points < 16 * 90);
  for (guint i = 0; i < map.n_points; i++) {
    const GstPointField *ring = gst_point_cloud_info_find_field (&info, "ring");
    const GstPointField *time = gst_point_cloud_info_find_field (&info, "time");
    gfloat p[4] = {0};

    memcpy (p, map.data + i * info.point_step, MIN (sizeof p, info.point_step));
    fail_unless (isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]));
    fail_unless (p[3] >= 0 && p[3] <= 1);
    if (ring) {
      const gdouble elevation = atan2 (p[2], hypot (p[0], p[1])) / NDT_SIM_DEG;
      const gdouble azimuth = atan2 (p[1], p[0]) / NDT_SIM_DEG;
      const gdouble number = gst_point_cloud_map_get_value (&map, ring, i, 0);
      const gdouble seconds = gst_point_cloud_map_get_value (&map, time, i, 0);
      const gdouble turned = fmod (540 - azimuth, 360); /* clockwise, from the back */
      const guint column = (guint)round (seconds / 0.2 * 90);

      fail_unless (fabs (elevation - (-15 + 2 * number)) < 1e-3);
      /* 4° from one column to the next, each later than the one before. */
      fail_unless (fabs (remainder (turned - 4.0 * column, 360)) < 1e-3);
      fail_unless (seconds >= 0 && seconds < 0.2);
      fail_unless (column >= before);
      before = column;
    }
  }
  gst_point_cloud_unmap (&map);

  pose = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH);
  fail_unless (pose != NULL && pose->has_pose);
  fail_unless_equals_string (g_quark_to_string (pose->parent_frame), "map");
  fail_unless_equals_string (g_quark_to_string (pose->child_frame), "roof");
  fail_unless_equals_uint64 (pose->timestamp, 200 * GST_MSECOND);
  fail_unless_equals_uint64 (pose->sequence, 0);
  fail_unless (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY) == NULL);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_default_caps)
{
  GstHarness *h = harness ("", NULL);
  g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (h->sinkpad);
  GstPointCloudInfo info;

  fail_unless (gst_point_cloud_info_from_caps (&info, caps, NULL));
  fail_unless_equals_int (info.format, GST_POINT_CLOUD_FORMAT_XYZIRT);
  fail_unless_equals_int (info.fps_n, 10);
  fail_unless_equals_int (info.fps_d, 1);
  fail_unless_equals_int (info.width, 0);
  fail_unless_equals_string (g_quark_to_string (info.frame_id), "lidar");
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_refused_caps)
{
  static const gchar *const refused[] = {
      "pointcloud/x-raw,format=XYZ_F64LE",
      "pointcloud/x-raw,framerate=100/1",
      "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1,width=90,height=16",
      "pointcloud/x-raw,format=XYZI_F32LE,point-step=32",
      "video/x-raw",
  };
  g_autofree gchar *line = g_strdup_printf (SMALL "num-buffers=2 ! %s ! fakesink", refused[__i__]);
  g_autoptr (GError) error = run (line);

  fail_unless (error != NULL, "%s was taken", refused[__i__]);
}

GST_END_TEST;

GST_START_TEST (test_determinism)
{
  GstHarness *a = harness ("seed=5 noise-seed=6 dropout=0.1 n-threads=1", NULL);
  GstHarness *b = harness ("seed=5 noise-seed=6 dropout=0.1 n-threads=4", NULL);
  GstHarness *c = harness ("seed=5 noise-seed=7 dropout=0.1", NULL);
  GstHarness *d = harness ("seed=6 noise-seed=6 dropout=0.1", NULL);

  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) buffer_a = gst_harness_pull (a);
    g_autoptr (GstBuffer) buffer_b = gst_harness_pull (b);
    g_autoptr (GstBuffer) buffer_c = gst_harness_pull (c);
    g_autoptr (GstBuffer) buffer_d = gst_harness_pull (d);
    const NdtPose pose_a = pose_of (buffer_a, GST_POSE_ROLE_GROUND_TRUTH);
    const NdtPose pose_c = pose_of (buffer_c, GST_POSE_ROLE_GROUND_TRUTH);
    const NdtPose pose_d = pose_of (buffer_d, GST_POSE_ROLE_GROUND_TRUTH);

    assert_equal_buffers (buffer_a, buffer_b);
    /* Other noise in the same world, another world. */
    fail_unless (memcmp (&pose_a, &pose_c, sizeof pose_a) == 0);
    fail_if (same_bytes (buffer_a, buffer_c));
    /* All drives start at the origin. */
    fail_unless (i == 0 || memcmp (&pose_a, &pose_d, sizeof pose_a) != 0);
  }
  gst_harness_teardown (a);
  gst_harness_teardown (b);
  gst_harness_teardown (c);
  gst_harness_teardown (d);
}

GST_END_TEST;

GST_START_TEST (test_again)
{
  GstHarness *h = harness ("odometry=true", NULL);
  g_autoptr (GstBuffer) one = gst_harness_pull (h);
  NdtPose odometry;
  const NdtPose identity = NDT_POSE_IDENTITY;

  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_int (
      gst_element_set_state (h->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  while (gst_harness_buffers_in_queue (h) > 0)
    gst_buffer_unref (gst_harness_pull (h));
  gst_harness_play (h);
  g_autoptr (GstBuffer) again = gst_harness_pull (h);
  assert_equal_buffers (one, again);
  odometry = pose_of (again, GST_POSE_ROLE_ODOMETRY);
  fail_unless (memcmp (&odometry, &identity, sizeof identity) == 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Whole metres along the path. */
static gdouble
sharpest_turn (const NdtSimPath *path)
{
  gdouble best = 0, sharpest = 0;

  for (gdouble s = 0; s < ndt_sim_path_get_length (path); s++) {
    const gdouble curvature = fabs (ndt_sim_path_at (path, s, 0).curvature);
    if (curvature > sharpest) {
      sharpest = curvature;
      best = s;
    }
  }
  return best;
}

/* Every point lies where a ray through the world, from where the sensor was, ends. */
static void
check_truth (gboolean distortion)
{
  const guint seed = 3, n_scans = 4;
  const gdouble lateral = -0.5;
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (NDT_SIM_WORLD_TOWN, seed);
  const gdouble start_offset = sharpest_turn (world->path) - 1;
  g_autofree gchar *all = g_strdup_printf ("seed=%u range-noise=0 moving-objects=0 "
                                           "start-offset=%.1f path-offset=%g motion-distortion=%d "
                                           "mount-height=2",
      seed, start_offset, lateral, distortion);
  GstHarness *h = harness (all, "pointcloud/x-raw,format=XYZIRT,framerate=10/1");
  const NdtSimDriver driver = {8, 2, 1.5};
  g_autoptr (NdtSimMotion) motion = ndt_sim_motion_new (world->path, &driver, start_offset);
  guint n_points = 0, n_off = 0;
  gdouble turned = 0;
  NdtPose previous;

  for (guint k = 0; k < n_scans; k++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    const NdtPose truth = pose_of (buffer, GST_POSE_ROLE_GROUND_TRUTH);
    const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH);
    const GstClockTime instant =
        GST_BUFFER_PTS (buffer) + (distortion ? GST_BUFFER_DURATION (buffer) : 0);
    GstMapInfo map;
    NdtPose expected;
    gdouble metres, radians;

    fail_unless_equals_uint64 (meta->timestamp, instant);
    ndt_sim_motion_pose (motion, (gdouble)instant / GST_SECOND, 2, lateral, &expected);
    fail_unless (memcmp (&expected, &truth, sizeof truth) == 0);
    if (k > 0) {
      ndt_pose_difference (&previous, &truth, &metres, &radians);
      turned += radians;
      fail_unless (metres > 0.2 && metres < 0.85);
    }
    previous = truth;

    gst_buffer_map (buffer, &map, GST_MAP_READ);
    fail_unless (map.size > 24 * 500);
    for (gsize i = 0; i < map.size; i += 24) {
      gfloat f[6];
      gdouble p[3], q[3], length, time;
      NdtPose pose = truth;
      NdtSimRay ray;
      NdtSimHit hit;

      memcpy (f, map.data + i, sizeof f);
      time = (gdouble)GST_BUFFER_PTS (buffer) / GST_SECOND + f[5];
      if (distortion)
        ndt_sim_motion_pose (motion, time, 2, lateral, &pose);
      else
        fail_unless (f[5] == 0);
      for (guint axis = 0; axis < 3; axis++)
        p[axis] = f[axis];
      length = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
      ndt_pose_transform_point (&pose, p, q);
      for (guint axis = 0; axis < 3; axis++) {
        ray.origin[axis] = pose.position[axis];
        ray.direction[axis] = (q[axis] - pose.position[axis]) / length;
      }
      n_points++;
      /* Floats of up to 100 m are off by 4e-6 m and their directions by 6e-8 rad, which a grazing
       * angle of at least 0.01 enlarges to 6e-4 m. At an edge a ray may miss what it had hit:
       * that is rare. */
      if (!ndt_sim_world_cast (world, &ray, NDT_SIM_MIN_RANGE, 200, &hit) || hit.cosine < 0.01 ||
          fabs (hit.range - length) > 0.001)
        n_off++;
    }
    gst_buffer_unmap (buffer, &map);
  }
  fail_unless (n_off < n_points / 200, "%u of %u points", n_off, n_points);
  fail_unless (turned > 0.1, "%g rad", turned);
  gst_harness_teardown (h);
}

GST_START_TEST (test_truth)
{
  check_truth (FALSE);
}

GST_END_TEST;

GST_START_TEST (test_motion_distortion)
{
  check_truth (TRUE);
}

GST_END_TEST;

GST_START_TEST (test_odometry)
{
  GstHarness *exact = harness (
      "odometry=true odometry-translation-noise=0 odometry-rotation-noise=0 offset=1000,2000,30",
      NULL);
  GstHarness *noisy = harness ("odometry=true odometry-translation-noise=0.05 "
                               "odometry-rotation-noise=1",
      NULL);
  NdtPose first_truth, previous_truth, previous_noisy;
  gdouble metres, radians, square_metres = 0, square_radians = 0, travelled = 0;
  const guint n = 60;

  for (guint i = 0; i < n; i++) {
    g_autoptr (GstBuffer) a = gst_harness_pull (exact);
    g_autoptr (GstBuffer) b = gst_harness_pull (noisy);
    const NdtPose truth = pose_of (a, GST_POSE_ROLE_GROUND_TRUTH);
    const NdtPose odometry = pose_of (a, GST_POSE_ROLE_ODOMETRY);
    const NdtPose drifting = pose_of (b, GST_POSE_ROLE_ODOMETRY);
    const GstPoseMeta *meta = gst_buffer_get_pose_meta (a, GST_POSE_ROLE_ODOMETRY);
    NdtPose relative, step, noisy_step;

    fail_unless_equals_string (g_quark_to_string (meta->parent_frame), "odom");
    fail_unless_equals_string (g_quark_to_string (meta->child_frame), "lidar");
    fail_unless_equals_uint64 (meta->timestamp, GST_BUFFER_PTS (a));
    if (i == 0)
      first_truth = truth;
    /* Without noise: the truth as seen from the first scan, to rounding. */
    ndt_pose_between (&first_truth, &truth, &relative);
    ndt_pose_difference (&relative, &odometry, &metres, &radians);
    fail_unless (metres < 1e-9 && radians < 1e-7);
    if (i > 0) {
      ndt_pose_between (&previous_truth, &truth, &step);
      ndt_pose_between (&previous_noisy, &drifting, &noisy_step);
      ndt_pose_difference (&step, &noisy_step, &metres, &radians);
      square_metres += metres * metres;
      square_radians += radians * radians;
      ndt_pose_difference (&previous_truth, &truth, &metres, NULL);
      travelled += metres * metres;
    }
    previous_truth = truth;
    previous_noisy = drifting;
  }
  /* Three axes with 5 % and 1° each; 59 steps of three axes: 4 standard errors are 21 %. */
  fail_unless (fabs (sqrt (square_metres / (3 * travelled)) / 0.05 - 1) < 0.21);
  fail_unless (fabs (sqrt (square_radians / (3 * (n - 1))) / NDT_SIM_DEG - 1) < 0.21);
  gst_harness_teardown (exact);
  gst_harness_teardown (noisy);
}

GST_END_TEST;

GST_START_TEST (test_standing_still)
{
  GstHarness *h = harness ("speed=0 start-offset=10 moving-objects=20 odometry=true "
                           "odometry-rotation-noise=0 range-noise=0",
      NULL);
  g_autoptr (GstBuffer) first = gst_harness_pull (h);
  const NdtPose pose = pose_of (first, GST_POSE_ROLE_GROUND_TRUTH);
  const NdtPose identity = NDT_POSE_IDENTITY;
  gboolean traffic = FALSE;

  for (guint i = 0; i < 40; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    const NdtPose same = pose_of (buffer, GST_POSE_ROLE_GROUND_TRUTH);
    const NdtPose odometry = pose_of (buffer, GST_POSE_ROLE_ODOMETRY);
    gdouble metres, radians;

    fail_unless (memcmp (&pose, &same, sizeof pose) == 0);
    ndt_pose_difference (&odometry, &identity, &metres, &radians);
    fail_unless (metres < 1e-9 && radians < 1e-7);
    traffic |= !same_bytes (buffer, first);
  }
  /* The others drive on. */
  fail_unless (traffic);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_bounds)
{
  /* Nothing returns, or hardly anything; buffers of the pool come back after they were empty. */
  GstHarness *h = harness ("dropout=1", NULL);
  for (guint i = 0; i < 10; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless_equals_uint64 (gst_buffer_get_size (buffer), 0);
    fail_unless (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  }
  gst_harness_teardown (h);

  h = harness ("dropout=0.999", NULL);
  for (guint i = 0; i < 10; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless (gst_buffer_get_size (buffer) < 24 * 20);
    fail_unless_equals_uint64 (gst_buffer_get_size (buffer) % 24, 0);
  }
  gst_harness_teardown (h);

  h = harness ("max-range=1 columns=16 mount-height=0.3 speed=60 moving-objects=200 n-threads=64 "
               "range-noise=1 start-offset=-1e6 path-offset=1",
      NULL);
  for (guint i = 0; i < 10; i++)
    gst_buffer_unref (gst_harness_pull (h));
  gst_harness_teardown (h);

  for (guint k = 0; k < 4; k++) {
    g_autofree gchar *properties =
        g_strdup_printf ("rings=%u world=%u columns=%u", 16 << k, k, 8192 >> k);
    h = harness (properties, NULL);
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless (gst_buffer_get_size (buffer) > (gsize)24 * 8192 * 16 / 2);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

GST_START_TEST (test_eos)
{
  GstHarness *h = harness ("num-buffers=3", NULL);

  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * 100 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), i);
  }
  for (;;) {
    g_autoptr (GstEvent) event = gst_harness_pull_event (h);
    fail_unless (event != NULL);
    if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT) {
      const GstSegment *segment;
      gst_event_parse_segment (event, &segment);
      fail_unless_equals_int (segment->format, GST_FORMAT_TIME);
    }
    if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
      break;
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* 7 Hz: a period that is no whole number of nanoseconds. */
GST_START_TEST (test_times)
{
  GstHarness *h = harness ("", "pointcloud/x-raw,framerate=7/1");
  GstClockTime expected = 0;

  for (guint i = 0; i < 30; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), expected);
    expected = gst_util_uint64_scale (i + 1, GST_SECOND, 7);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer), expected);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_renegotiation)
{
  GstHarness *h = gst_harness_new_parse (
      SMALL "! capsfilter name=filter caps=pointcloud/x-raw,format=XYZIRT,framerate=10/1");
  GstElement *filter = gst_bin_get_by_name (GST_BIN (h->element), "filter");
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("pointcloud/x-raw,format=XYZ_F32LE,framerate=20/1");
  GstClockTime end = 0;
  NdtPose previous;
  gboolean changed = FALSE;

  gst_harness_play (h);
  /* How many scans wait already when the caps change is the scheduler's. */
  const gint64 give_up = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
  for (guint i = 0; g_get_monotonic_time () < give_up && !changed; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    const NdtPose pose = pose_of (buffer, GST_POSE_ROLE_GROUND_TRUTH);

    if (i == 3)
      g_object_set (filter, "caps", caps, NULL);
    /* Time and the drive go on without a gap. */
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), end);
    end = GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer);
    if (i > 0) {
      gdouble metres;
      ndt_pose_difference (&previous, &pose, &metres, NULL);
      fail_unless (metres < 0.81);
    }
    previous = pose;
    changed = GST_BUFFER_DURATION (buffer) == 50 * GST_MSECOND;
    if (changed)
      fail_unless_equals_uint64 (gst_buffer_get_size (buffer) % 12, 0);
  }
  fail_unless (changed);
  gst_object_unref (filter);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_live)
{
  GstHarness *h = gst_harness_new_parse (SMALL "is-live=true");

  gst_harness_use_testclock (h);
  gst_harness_play (h);
  for (guint i = 0; i < 4; i++) {
    GstTestClock *clock = gst_harness_get_testclock (h);
    GstBuffer *buffer;

    /* Not before the round is over. */
    fail_unless (gst_harness_wait_for_clock_id_waits (h, 1, 60));
    fail_unless_equals_uint64 (
        gst_test_clock_get_next_entry_time (clock), (i + 1) * 100 * GST_MSECOND);
    fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
    fail_unless (gst_harness_crank_single_clock_wait (h));
    buffer = gst_harness_pull (h);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * 100 * GST_MSECOND);
    gst_buffer_unref (buffer);
    gst_object_unref (clock);
  }
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 100 * GST_MSECOND);
  gst_harness_teardown (h);

  h = harness ("", NULL);
  gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

typedef struct {
  GstBufferPool *pool;
  guint size;
} Proposal;

static GstPadProbeReturn
propose_pool (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  const Proposal *proposal = user_data;
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, proposal->pool, proposal->size, 2, 0);
  return GST_PAD_PROBE_HANDLED;
}

GST_START_TEST (test_allocation)
{
  Proposal proposal = {gst_buffer_pool_new (), 100};
  GstHarness *h = gst_harness_new_parse (SMALL);
  gsize largest;

  gst_pad_add_probe (
      h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose_pool, &proposal, NULL);
  gst_harness_play (h);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless (buffer->pool == proposal.pool);
    gst_buffer_get_sizes (buffer, NULL, &largest);
    fail_unless (largest >= 16 * 90 * 24);
  }
  gst_harness_teardown (h);
  gst_object_unref (proposal.pool);
}

GST_END_TEST;

GST_START_TEST (test_seek_is_refused)
{
  GstHarness *h = harness ("", NULL);

  gst_buffer_unref (gst_harness_pull (h));
  fail_if (gst_element_seek_simple (h->element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SECOND));
  gst_buffer_unref (gst_harness_pull (h));
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_flush)
{
  GstHarness *h = gst_harness_new ("lidartestsrc");
  guint n = 0;
  gboolean segment = FALSE;

  g_object_set (h->element, "rings", 16, "columns", 90, NULL);
  gst_harness_play (h);
  gst_buffer_unref (gst_harness_pull (h));
  fail_unless (gst_element_send_event (h->element, gst_event_new_flush_start ()));
  while (gst_harness_buffers_in_queue (h) > 0)
    gst_buffer_unref (gst_harness_pull (h));
  for (GstEvent *event; (event = gst_harness_try_pull_event (h)); gst_event_unref (event))
    n += GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START;
  fail_unless_equals_int (n, 1);
  fail_unless (gst_element_send_event (h->element, gst_event_new_flush_stop (TRUE)));
  /* It goes on, with a segment first. */
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
    fail_unless (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  }
  for (GstEvent *event; (event = gst_harness_try_pull_event (h)); gst_event_unref (event))
    segment |= GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT;
  fail_unless (segment);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
lidartestsrc_suite (void)
{
  Suite *suite = suite_create ("lidartestsrc");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_add_loop_test (tc, test_caps, 0, G_N_ELEMENTS (formats));
  tcase_add_test (tc, test_default_caps);
  tcase_add_loop_test (tc, test_refused_caps, 0, 5);
  tcase_add_test (tc, test_determinism);
  tcase_add_test (tc, test_again);
  tcase_add_test (tc, test_truth);
  tcase_add_test (tc, test_motion_distortion);
  tcase_add_test (tc, test_odometry);
  tcase_add_test (tc, test_standing_still);
  tcase_add_test (tc, test_bounds);
  tcase_add_test (tc, test_eos);
  tcase_add_test (tc, test_times);
  tcase_add_test (tc, test_renegotiation);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_allocation);
  tcase_add_test (tc, test_seek_is_refused);
  tcase_add_test (tc, test_flush);
  return suite;
}

GST_CHECK_MAIN (lidartestsrc);
