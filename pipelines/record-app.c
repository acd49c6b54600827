/* SPDX-License-Identifier: MIT */
/* A recording application: embeds a pipeline that localizes a lidar's scans, and records them with
 * their poses as a KITTI sequence, which pipelines/kitti.sh replays.
 *
 *   record-app MAP INITIAL_POSE FOLDER SOURCE
 *   record-app town.pcd 0,0,1.8 day1 "lidartestsrc num-buffers=100"
 *
 * SOURCE is written as for gst-launch-1.0, with scans of any layout. FOLDER gets
 * velodyne/000000.bin … (x, y, z, intensity as floats), times.txt (seconds) and poses.tum (time,
 * position, quaternion; localized scans only). Ctrl-C ends the recording in good order. The exit
 * status is 1 after an error. */
#include <errno.h>
#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/pointcloud/pointcloud.h>
#include <math.h>
#include <stdio.h>

typedef struct {
  GMainLoop *loop;
  GstElement *pipeline;
  gchar *scans; /* folder */
  FILE *times;
  FILE *poses;
  guint n_scans; /* written by the streaming thread, read after the pipeline has stopped */
  guint n_localized;
  gboolean failed;
} App;

/* The points of a scan with coordinates, four floats each, whatever the layout is. NULL with an
 * error. */
static GArray *
make_points (GstBuffer *buffer, const GstPointCloudInfo *info, GError **error)
{
  g_autoptr (GBytes) xyz_bytes = gst_point_cloud_buffer_get_xyz (buffer, info, error);
  g_autoptr (GBytes) intensity_bytes = NULL;
  gsize size = 0;

  if (!xyz_bytes)
    return NULL;
  if (gst_point_cloud_info_find_field (info, "intensity")) {
    intensity_bytes = gst_point_cloud_buffer_get_values (buffer, info, "intensity", error);
    if (!intensity_bytes)
      return NULL;
  }
  const double *xyz = g_bytes_get_data (xyz_bytes, &size);
  const double *intensity = intensity_bytes ? g_bytes_get_data (intensity_bytes, NULL) : NULL;
  GArray *points = g_array_new (FALSE, FALSE, 4 * sizeof (float));
  for (gsize i = 0; i < size / (3 * sizeof *xyz); i++) {
    const float point[4] = {(float)xyz[3 * i], (float)xyz[3 * i + 1], (float)xyz[3 * i + 2],
        intensity ? (float)intensity[i] : 0};
    if (isfinite (point[0]) && isfinite (point[1]) && isfinite (point[2]))
      g_array_append_val (points, point);
  }
  return points;
}

/* Writes scan number @n; a failure ends the recording by the bus. */
static void
write_scan (App *app, GstPad *pad, GstBuffer *buffer, guint n)
{
  g_autofree gchar *path = g_strdup_printf ("%s/%06u.bin", app->scans, n);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) points = NULL;
  GstPointCloudInfo info;

  if (gst_point_cloud_info_from_caps (&info, caps, &error))
    points = make_points (buffer, &info, &error);
  if (!points ||
      !g_file_set_contents (path, points->data, (gssize)points->len * 4 * sizeof (float), &error)) {
    g_autoptr (GstElement) localizer = gst_pad_get_parent_element (pad);
    gst_element_post_message (localizer,
        gst_message_new_error (GST_OBJECT (localizer), error, "a scan could not be written"));
  }
}

/* Streaming thread: each scan, with what ndtlocalize found, on its way to the files. */
static GstPadProbeReturn
on_scan (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  App *app = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const double seconds = GST_BUFFER_PTS (buffer) / (double)GST_SECOND;
  const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE);

  write_scan (app, pad, buffer, app->n_scans++);
  fprintf (app->times, "%.9f\n", seconds);
  if (pose && pose->has_pose && pose->status == GST_POSE_STATUS_TRACKING) {
    const double *p = pose->position, *q = pose->orientation;
    app->n_localized++;
    fprintf (app->poses, "%.9f %.6f %.6f %.6f %.9f %.9f %.9f %.9f\n", seconds, p[0], p[1], p[2],
        q[0], q[1], q[2], q[3]);
  }
  return GST_PAD_PROBE_OK;
}

/* Main thread: ndtlocalize tells by the bus where it is and when it gets lost and found. */
static void
on_localizer_message (const GstStructure *message)
{
  const GValue *position = gst_structure_get_value (message, "position");
  guint64 sequence = 0;

  if (gst_structure_has_name (message, "ndt-state")) {
    g_print ("%s\n", gst_structure_get_string (message, "state"));
  } else if (gst_structure_has_name (message, "ndt-pose") && position &&
             gst_structure_get_uint64 (message, "sequence", &sequence) && sequence % 10 == 0) {
    g_print ("scan %" G_GUINT64_FORMAT ":", sequence);
    for (guint i = 0; i < 3; i++)
      g_print (" %.2f", g_value_get_double (gst_value_array_get_value (position, i)));
    g_print (" m\n");
  }
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer user_data)
{
  App *app = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *debug = NULL;

  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_ERROR:
    gst_message_parse_error (message, &error, &debug);
    g_printerr ("%s: %s\n%s\n", GST_MESSAGE_SRC_NAME (message), error->message, debug ? debug : "");
    app->failed = TRUE;
    g_main_loop_quit (app->loop);
    break;
  case GST_MESSAGE_WARNING:
    gst_message_parse_warning (message, &error, &debug);
    g_printerr ("%s: %s\n", GST_MESSAGE_SRC_NAME (message), error->message);
    break;
  case GST_MESSAGE_ELEMENT:
    on_localizer_message (gst_message_get_structure (message));
    break;
  case GST_MESSAGE_EOS:
    g_main_loop_quit (app->loop);
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static gboolean
on_interrupt (gpointer user_data)
{
  /* Scans under way are still written; the bus tells when they are. */
  gst_element_send_event (((App *)user_data)->pipeline, gst_event_new_eos ());
  return G_SOURCE_CONTINUE;
}

static FILE *
open_file (const gchar *folder, const gchar *name)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  FILE *file = fopen (path, "w");
  if (!file)
    g_printerr ("%s: %s\n", path, g_strerror (errno));
  return file;
}

int
main (int argc, char **argv)
{
  App app = {0};
  g_autoptr (GError) error = NULL;

  gst_init (&argc, &argv);
  if (argc != 5) {
    g_printerr ("usage: %s MAP INITIAL_POSE FOLDER SOURCE\n", argv[0]);
    return 2;
  }

  g_autofree gchar *description =
      g_strdup_printf ("%s ! queue max-size-buffers=64 max-size-bytes=0 max-size-time=0 ! "
                       "ndtlocalize name=localizer ! fakesink",
          argv[4]);
  app.pipeline = gst_parse_launch (description, &error);
  if (!app.pipeline || error) {
    g_printerr ("%s: %s\n", description, error->message);
    return 1;
  }
  app.scans = g_build_filename (argv[3], "velodyne", NULL);
  if (g_mkdir_with_parents (app.scans, 0777) != 0) {
    g_printerr ("%s: %s\n", app.scans, g_strerror (errno));
    return 1;
  }
  if (!(app.times = open_file (argv[3], "times.txt")) ||
      !(app.poses = open_file (argv[3], "poses.tum")))
    return 1;

  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (app.pipeline), "localizer");
  g_object_set (localizer, "map-location", argv[1], "post-messages", TRUE, NULL);
  gst_util_set_object_arg (G_OBJECT (localizer), "initial-pose", argv[2]);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (localizer, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_scan, &app, NULL);

  app.loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GstBus) bus = gst_element_get_bus (app.pipeline);
  gst_bus_add_watch (bus, on_message, &app);
  g_unix_signal_add (SIGINT, on_interrupt, &app);

  gst_element_set_state (app.pipeline, GST_STATE_PLAYING); /* a failure comes by the bus */
  g_main_loop_run (app.loop);

  gst_element_set_state (app.pipeline, GST_STATE_NULL);
  gst_bus_remove_watch (bus);
  gst_object_unref (app.pipeline);
  g_main_loop_unref (app.loop);
  g_free (app.scans);
  /* A full disk shows when the last bytes are written. */
  if (fclose (app.times) != 0 || fclose (app.poses) != 0) {
    g_printerr ("%s: %s\n", argv[3], g_strerror (errno));
    app.failed = TRUE;
  }
  g_print ("%u scans, %u localized\n", app.n_scans, app.n_localized);
  return app.failed ? 1 : 0;
}
