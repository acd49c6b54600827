/* SPDX-License-Identifier: MIT */
/* pointcloudmerge: two simulated lidars on one body, against where their points are in the world.
 */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/check/gsttestclock.h>
#include <gst/pointcloud/pointcloud.h>

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "tests/ndt-wait.h"

/* Two sensors of other heights and headings, half a period apart. */
#define DRIVE                                                                                      \
  "seed=3 rings=16 columns=180 speed=20 lateral-acceleration=4 longitudinal-acceleration=3 "       \
  "range-noise=0 motion-distortion=true start-offset=40 "
#define CAPS "pointcloud/x-raw,format=XYZIRT,framerate=10/1"
#define MOUNT_0 "1.2,0.4,0.3,10,0,20"
#define MOUNT_1 "-1.5,-0.5,0.1,0,5,-160"
#define PHASE (50 * GST_MSECOND)
#define PERIOD (100 * GST_MSECOND)

/* ---- The truth ---- */

typedef struct {
  NdtSimWorld *world;
  NdtSimMotion *motion;
  NdtPose mounts[2];
} Truth;

static void
read_pose (const gchar *text, NdtPose *pose)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GstPointCloudPose) parsed = gst_point_cloud_pose_new_from_string (text, &error);

  g_assert_no_error (error);
  memcpy (pose->position, parsed->position, sizeof pose->position);
  memcpy (pose->orientation, parsed->orientation, sizeof pose->orientation);
}

static void
truth_init (Truth *truth)
{
  const NdtSimDriver driver = {
      .speed = 20, .lateral_acceleration = 4, .longitudinal_acceleration = 3};

  truth->world = ndt_sim_world_new (NDT_SIM_WORLD_TOWN, 3);
  truth->motion = ndt_sim_motion_new (truth->world->path, &driver, 40);
  read_pose (MOUNT_0, &truth->mounts[0]);
  read_pose (MOUNT_1, &truth->mounts[1]);
}

static void
truth_clear (Truth *truth)
{
  ndt_sim_motion_free (truth->motion);
  ndt_sim_world_free (truth->world);
}

static void
place (const NdtPose *pose, const float p[3], double out[3])
{
  const NdtPose point = {.position = {p[0], p[1], p[2]}, .orientation = {0, 0, 0, 1}};
  NdtPose placed;

  ndt_pose_compose (pose, &point, &placed);
  memcpy (out, placed.position, sizeof placed.position);
}

/* Where a point of a sensor is in the world. */
static void
place_raw (const Truth *truth, guint sensor, GstClockTime pts, const guint8 *point, double out[3])
{
  float p[3], time;
  NdtPose pose;

  memcpy (p, point, sizeof p);
  memcpy (&time, point + 20, sizeof time);
  ndt_sim_motion_pose (truth->motion, (double)pts / GST_SECOND + (double)time, 1.8, 0, &pose);
  ndt_pose_compose (&pose, &truth->mounts[sensor], &pose);
  place (&pose, p, out);
}

/* ---- A pipeline that keeps what came and what left ---- */

typedef struct {
  GstElement *pipeline;
  GPtrArray *came[2]; /* GstBuffer */
  GPtrArray *left;
  GstClockTime from[2], to[2]; /* scans of a sensor that are dropped, by PTS */
  GPtrArray *warnings;
} Drive;

static GstPadProbeReturn
keep_or_drop (Drive *drive, guint sensor, GstPadProbeInfo *info)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstClockTime pts = GST_BUFFER_PTS (buffer);

  if (pts >= drive->from[sensor] && pts < drive->to[sensor])
    return GST_PAD_PROBE_DROP;
  g_ptr_array_add (drive->came[sensor], gst_buffer_ref (buffer));
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
keep_0 (GstPad *pad, GstPadProbeInfo *info, gpointer drive)
{
  return keep_or_drop (drive, 0, info);
}

static GstPadProbeReturn
keep_1 (GstPad *pad, GstPadProbeInfo *info, gpointer drive)
{
  return keep_or_drop (drive, 1, info);
}

static GstPadProbeReturn
keep_left (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Drive *drive = user_data;

  g_ptr_array_add (drive->left, gst_buffer_ref (GST_PAD_PROBE_INFO_BUFFER (info)));
  return GST_PAD_PROBE_OK;
}

static void
probe (GstElement *pipeline, const gchar *element, const gchar *pad, GstPadProbeCallback callback,
    Drive *drive)
{
  g_autoptr (GstElement) found = gst_bin_get_by_name (GST_BIN (pipeline), element);
  g_autoptr (GstPad) static_pad = gst_element_get_static_pad (found, pad);

  gst_pad_add_probe (static_pad, GST_PAD_PROBE_TYPE_BUFFER, callback, drive, NULL);
}

/* Runs to the end. @options: of the merger. Returns its statistics. */
static GstStructure *
run_drive (Drive *drive, const gchar *options, const gchar *more)
{
  g_autofree gchar *line = g_strdup_printf (
      "lidartestsrc name=a sensor-pose=" MOUNT_0 " num-buffers=50 " DRIVE " ! m. "
      "lidartestsrc name=b sensor-pose=" MOUNT_1 " num-buffers=50 start-time=50000000 " DRIVE
      " ! m. pointcloudmerge name=m %s sink_0::sensor-pose=" MOUNT_0 " sink_1::sensor-pose=" MOUNT_1
      " ! fakesink %s",
      options, more);
  g_autoptr (GError) error = NULL;
  GstStructure *stats = NULL;

  drive->pipeline = gst_parse_launch (line, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2; i++)
    drive->came[i] = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  drive->left = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  drive->warnings = g_ptr_array_new_with_free_func (g_free);
  probe (drive->pipeline, "a", "src", keep_0, drive);
  probe (drive->pipeline, "b", "src", keep_1, drive);
  probe (drive->pipeline, "m", "src", keep_left, drive);
  g_autoptr (GstBus) bus = gst_element_get_bus (drive->pipeline);
  gst_element_set_state (drive->pipeline, GST_STATE_PLAYING);
  for (gboolean done = FALSE; !done;) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_INFO);
    g_autoptr (GError) told = NULL;

    fail_unless (message != NULL);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &told, NULL);
      g_error ("%s", told->message);
    }
    done = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &told, NULL);
    else if (!done)
      gst_message_parse_info (message, &told, NULL);
    if (told)
      g_ptr_array_add (drive->warnings, g_strdup (told->message));
  }
  g_autoptr (GstElement) merger = gst_bin_get_by_name (GST_BIN (drive->pipeline), "m");
  g_object_get (merger, "stats", &stats, NULL);
  gst_element_set_state (drive->pipeline, GST_STATE_NULL);
  return stats;
}

static void
drive_clear (Drive *drive)
{
  gst_object_unref (drive->pipeline);
  for (guint i = 0; i < 2; i++)
    g_ptr_array_unref (drive->came[i]);
  g_ptr_array_unref (drive->left);
  g_ptr_array_unref (drive->warnings);
}

static guint64
count (const GstStructure *stats, const gchar *name)
{
  guint64 n = 0;

  fail_unless (gst_structure_get_uint64 (stats, name, &n), "%s", name);
  return n;
}

static gboolean
was_told (const Drive *drive, const gchar *text)
{
  for (guint i = 0; i < drive->warnings->len; i++)
    if (strstr (g_ptr_array_index (drive->warnings, i), text))
      return TRUE;
  return FALSE;
}

/* Each cloud has the points of its scans, those of the first pad first. Largest distance of a point
 * from where it is in the world; FALSE where a cloud has other points. @from: the first cloud that
 * is looked at. */
static double
worst_distance (
    const Drive *drive, const Truth *truth, guint from, guint *n_scans, double *share_above)
{
  guint next[2] = {0, 0};
  double worst = 0;
  guint64 n_points = 0, n_above = 0;

  *n_scans = 0;
  for (guint i = 0; i < drive->left->len; i++) {
    GstBuffer *cloud = g_ptr_array_index (drive->left, i);
    const GstClockTime end = GST_BUFFER_PTS (cloud) + GST_BUFFER_DURATION (cloud);
    GstMapInfo out;
    gsize at = 0;
    NdtPose body;

    ndt_sim_motion_pose (truth->motion, (double)end / GST_SECOND, 1.8, 0, &body);
    fail_unless (gst_buffer_map (cloud, &out, GST_MAP_READ));
    for (guint sensor = 0; sensor < 2; sensor++) {
      for (; next[sensor] < drive->came[sensor]->len; next[sensor]++, (*n_scans)++) {
        GstBuffer *scan = g_ptr_array_index (drive->came[sensor], next[sensor]);
        GstMapInfo in;
        if (GST_BUFFER_PTS (scan) + GST_BUFFER_DURATION (scan) > end)
          break;
        fail_unless (gst_buffer_map (scan, &in, GST_MAP_READ));
        fail_unless (at + in.size <= out.size, "cloud %u lacks a scan", i);
        for (gsize k = 0; k < in.size && i >= from; k += 24) {
          double is[3], should[3];
          float p[3], time, scan_time;

          place_raw (truth, sensor, GST_BUFFER_PTS (scan), in.data + k, should);
          memcpy (p, out.data + at + k, sizeof p);
          place (&body, p, is);
          const double distance = sqrt ((is[0] - should[0]) * (is[0] - should[0]) +
                                        (is[1] - should[1]) * (is[1] - should[1]) +
                                        (is[2] - should[2]) * (is[2] - should[2]));
          worst = MAX (worst, distance);
          n_points++;
          n_above += distance > 0.02;
          /* Intensity and ring stay; times count from the cloud's stamp on. */
          fail_unless (memcmp (in.data + k + 12, out.data + at + k + 12, 6) == 0);
          memcpy (&time, out.data + at + k + 20, sizeof time);
          memcpy (&scan_time, in.data + k + 20, sizeof scan_time);
          fail_unless (fabs ((double)time - (double)scan_time -
                             ((double)GST_BUFFER_PTS (scan) - (double)GST_BUFFER_PTS (cloud)) /
                                 GST_SECOND) < 1e-6);
        }
        at += in.size;
        gst_buffer_unmap (scan, &in);
      }
    }
    fail_unless_equals_uint64 (at, out.size);
    gst_buffer_unmap (cloud, &out);
  }
  *share_above = (double)n_above / (double)n_points;
  return worst;
}

static void
check_pace (const Drive *drive)
{
  for (guint i = 0; i < drive->left->len; i++) {
    GstBuffer *cloud = g_ptr_array_index (drive->left, i);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (cloud), i * PERIOD);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (cloud), PERIOD);
  }
}

GST_START_TEST (test_to_one_instant)
{
  Drive drive = {.from = {G_MAXUINT64, G_MAXUINT64}};
  Truth truth;
  guint n_scans;
  double above;

  truth_init (&truth);
  g_autoptr (GstStructure) stats = run_drive (&drive, "role=ground-truth", "");
  /* The last scan of the second sensor ends after that of the first. */
  fail_unless_equals_int (drive.left->len, 51);
  check_pace (&drive);
  const double worst = worst_distance (&drive, &truth, 1, &n_scans, &above);
  fail_unless_equals_int (n_scans, 100);
  g_print (
      "# at 20 m/s: points within %.4f m of the world, %.4f %% above 2 cm\n", worst, 100 * above);
  /* What docs/elements/pointcloudmerge.md says. */
  fail_unless (worst < 0.02, "%f m", worst);
  /* Before the first cloud's end there is no pose: its motion is that after, a tenth of a second
   * carried on. */
  const double worst_first = worst_distance (&drive, &truth, 0, &n_scans, &above);
  fail_unless (worst_first < 0.03, "%f m", worst_first);
  fail_unless_equals_uint64 (count (stats, "clouds"), 51);
  fail_unless_equals_uint64 (count (stats, "compensated"), 51);
  fail_unless_equals_uint64 (count (stats, "losses"), 0);
  fail_unless_equals_uint64 (count (stats, "late"), 0);
  fail_unless_equals_int (drive.warnings->len, 0);
  drive_clear (&drive);
  truth_clear (&truth);
}
GST_END_TEST

/* Stopped after a second, and started again after another. */
static void
stop_and_start (guint sensor)
{
  Drive drive = {.from = {G_MAXUINT64, G_MAXUINT64}};
  const gchar *name = sensor == 0 ? "sink_0" : "sink_1";
  g_autofree gchar *lost = g_strdup_printf ("%s has brought no scan", name);
  g_autofree gchar *again = g_strdup_printf ("%s brings scans again", name);
  Truth truth;
  guint n_scans;
  double above;

  truth_init (&truth);
  drive.from[sensor] = GST_SECOND;
  drive.to[sensor] = 2 * GST_SECOND;
  g_autoptr (GstStructure) stats = run_drive (&drive, "role=ground-truth", "");
  fail_unless_equals_int (drive.left->len, 51);
  check_pace (&drive);
  const double worst = worst_distance (&drive, &truth, 1, &n_scans, &above);
  fail_unless_equals_int (n_scans, 90);
  g_print ("# %s stopped: points within %.4f m of the world, %.4f %% above 2 cm\n", name, worst,
      100 * above);
  /* Without the leader's poses those of the other, ten a second, are half a period from the clouds'
   * ends, with one after these: an angle of 0.2 mrad is 2 cm at 100 m. */
  fail_unless (worst < (sensor == 0 ? 0.025 : 0.02), "%f m", worst);
  fail_unless (above < 1e-4, "%f", above);
  fail_unless (was_told (&drive, lost));
  fail_unless (was_told (&drive, again));
  fail_unless_equals_int (drive.warnings->len, 2);
  fail_unless_equals_uint64 (count (stats, "losses"), 1);
  fail_unless_equals_uint64 (count (stats, "late"), 0);
  /* And the cloud after the leader's end. */
  fail_unless_equals_uint64 (count (stats, "without-leader"), sensor == 0 ? 11 : 1);
  drive_clear (&drive);
  truth_clear (&truth);
}

GST_START_TEST (test_stopped_follower)
{
  stop_and_start (1);
}
GST_END_TEST

GST_START_TEST (test_stopped_leader)
{
  stop_and_start (0);
}
GST_END_TEST

/* ---- Layouts, roles of pads ---- */

/* A body that drives at 20 m/s along x and turns left by 0.5 rad/s, at @seconds. */
static void
turn (double seconds, NdtPose *pose)
{
  const double yaw = 0.5 * seconds, radius = 40;

  ndt_pose_set_identity (pose);
  pose->position[0] = radius * sin (yaw);
  pose->position[1] = radius * (1 - cos (yaw));
  pose->orientation[2] = sin (yaw / 2);
  pose->orientation[3] = cos (yaw / 2);
}

/* Each sensor sees the same ten places in the world, one after the other over its scan. */
static GstBuffer *
see (const gchar *mount_text, GstClockTime pts, gboolean is_f64)
{
  NdtPose mount;
  GstBuffer *scan = gst_buffer_new_allocate (NULL, 10 * (is_f64 ? 28 : 24), NULL);
  GstMapInfo map;

  read_pose (mount_text, &mount);
  gst_buffer_map (scan, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (guint i = 0; i < 10; i++) {
    const double time = 0.01 * i;
    const NdtPose place_of = {.position = {10.0 + i, 5.0 - i, 1}, .orientation = {0, 0, 0, 1}};
    NdtPose sensor, seen;
    turn ((double)pts / GST_SECOND + time, &sensor);
    ndt_pose_compose (&sensor, &mount, &sensor);
    ndt_pose_invert (&sensor, &sensor);
    ndt_pose_compose (&sensor, &place_of, &seen);
    if (is_f64) {
      const guint32 t = (guint32)(time * 1e9);
      memcpy (map.data + 28 * i, seen.position, 24);
      memcpy (map.data + 28 * i + 24, &t, 4);
    } else {
      const float p[6] = {(float)seen.position[0], (float)seen.position[1], (float)seen.position[2],
          0, 0, (float)time};
      memcpy (map.data + 24 * i, p, 24);
    }
  }
  gst_buffer_unmap (scan, &map);
  GST_BUFFER_PTS (scan) = pts;
  GST_BUFFER_DURATION (scan) = PERIOD;
  return scan;
}

/* Poses of a stream of their own at 50 Hz, and sensors of different layouts: what leaves is the
 * leader's layout. */
GST_START_TEST (test_pose_pad)
{
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch (
      "appsrc name=a format=time caps=\"pointcloud/x-raw,format=CUSTOM,point-step=28,"
      "fields=(string)\\\"x:F64:0,y:F64:8,z:F64:16,t:U32:24\\\"\" ! m. "
      "appsrc name=b format=time caps=" CAPS " ! m. "
      "appsrc name=p format=time caps=pose/x-raw ! m.pose_0 "
      "pointcloudmerge name=m sink_0::sensor-pose=" MOUNT_0 " sink_1::sensor-pose=" MOUNT_1
      " ! appsink name=s sync=false",
      &error);
  g_assert_no_error (error);
  GstElement *elements[4];
  for (guint i = 0; i < 4; i++) {
    const gchar name[2] = {"abps"[i], 0};
    elements[i] = gst_bin_get_by_name (GST_BIN (pipeline), name);
  }
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 5; i++) {
    GstFlowReturn flow;
    GstBuffer *one = see (MOUNT_0, i * PERIOD, TRUE);
    GstBuffer *other = see (MOUNT_1, i * PERIOD - (i > 0 ? PHASE : 0), FALSE);
    g_signal_emit_by_name (elements[0], "push-buffer", one, &flow);
    g_signal_emit_by_name (elements[1], "push-buffer", other, &flow);
    gst_buffer_unref (one);
    gst_buffer_unref (other);
  }
  for (guint i = 0; i < 30; i++) {
    GstBuffer *pose = gst_buffer_new ();
    GstFlowReturn flow;
    NdtPose body;
    turn (0.02 * i, &body);
    GST_BUFFER_PTS (pose) = i * 20 * GST_MSECOND;
    gst_buffer_add_pose_meta (pose, GST_POSE_ROLE_ODOMETRY, body.position, body.orientation);
    g_signal_emit_by_name (elements[2], "push-buffer", pose, &flow);
    gst_buffer_unref (pose);
  }
  for (guint i = 0; i < 3; i++) {
    GstFlowReturn flow;
    g_signal_emit_by_name (elements[i], "end-of-stream", &flow);
  }
  for (guint i = 0; i < 5; i++) {
    GstSample *sample = NULL;
    g_signal_emit_by_name (elements[3], "pull-sample", &sample);
    fail_unless (sample != NULL);
    GstPointCloudInfo info;
    g_autoptr (GBytes) xyz = NULL;
    fail_unless (gst_point_cloud_info_from_caps (&info, gst_sample_get_caps (sample), NULL));
    fail_unless_equals_int (info.point_step, 28);
    xyz = gst_point_cloud_buffer_get_xyz (gst_sample_get_buffer (sample), &info, NULL);
    const double *p = g_bytes_get_data (xyz, NULL);
    NdtPose body;
    turn (0.1 * (i + 1), &body);
    fail_unless_equals_uint64 (g_bytes_get_size (xyz), 20 * 24);
    for (guint k = 0; k < 20; k++) {
      const float point[3] = {(float)p[3 * k], (float)p[3 * k + 1], (float)p[3 * k + 2]};
      double placed[3];
      place (&body, point, placed);
      /* ndt_deskew() takes an instant up to 25 µs off, 0.5 mm at 20 m/s. */
      fail_unless (fabs (placed[0] - (10.0 + k % 10)) < 1e-3);
      fail_unless (fabs (placed[1] - (5.0 - k % 10)) < 1e-3);
      fail_unless (fabs (placed[2] - 1) < 1e-3);
    }
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  for (guint i = 0; i < 4; i++)
    gst_object_unref (elements[i]);
  gst_object_unref (pipeline);
}
GST_END_TEST

static Suite *
pointcloudmerge_suite (void)
{
  Suite *suite = suite_create ("pointcloudmerge");
  TCase *tcase = tcase_create ("general");

  suite_add_tcase (suite, tcase);
  tcase_add_test (tcase, test_to_one_instant);
  tcase_add_test (tcase, test_stopped_follower);
  tcase_add_test (tcase, test_stopped_leader);
  tcase_add_test (tcase, test_pose_pad);
  return suite;
}

GST_CHECK_MAIN (pointcloudmerge)
