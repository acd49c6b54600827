/* SPDX-License-Identifier: MIT */
/* rosbagsrc and mcapdemux over what mcapsink recorded. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <gst/pointcloud/pointcloud.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/ndt-test.h"
#include "tests/ndt-wait.h"

static gchar *folder;

static void
setup (void)
{
  folder = g_dir_make_tmp ("rosbagsrc-XXXXXX", NULL);
  fail_unless (folder != NULL);
}

static void
teardown (void)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    g_unlink (path);
  }
  g_rmdir (folder);
  g_clear_pointer (&folder, g_free);
}

/* What came out of an element named "out", and how the stream went. */
typedef struct {
  GMutex lock;
  GPtrArray *buffers;
  GPtrArray *caps;
  guint n_warnings;
  gchar *warning;
  gchar *error;
} Result;

static void
result_clear (Result *result)
{
  g_ptr_array_unref (result->buffers);
  g_ptr_array_unref (result->caps);
  g_mutex_clear (&result->lock);
  g_free (result->warning);
  g_free (result->error);
}

static void
on_handoff (GstElement *sink, GstBuffer *buffer, GstPad *pad, Result *result)
{
  g_mutex_lock (&result->lock);
  g_ptr_array_add (result->buffers, gst_buffer_ref (buffer));
  g_ptr_array_add (result->caps, gst_pad_get_current_caps (pad));
  g_mutex_unlock (&result->lock);
}

static GstElement *
launch (const gchar *line, Result *result)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error);
  g_assert_no_error (error);
  memset (result, 0, sizeof *result);
  g_mutex_init (&result->lock);
  result->buffers = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  result->caps = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_caps_unref);
  GstElement *out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  if (out) {
    g_object_set (out, "signal-handoffs", TRUE, "sync", FALSE, NULL);
    g_signal_connect (out, "handoff", G_CALLBACK (on_handoff), result);
    gst_object_unref (out);
  }
  return pipeline;
}

static void
wait_for_end (GstElement *pipeline, Result *result)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  gboolean ended = FALSE;
  while (!ended) {
    GstMessage *message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_SEGMENT_DONE);
    GError *error = NULL;
    fail_unless (message != NULL, "the stream does not end");
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning (message, &error, NULL);
      result->n_warnings++;
      g_free (result->warning);
      result->warning = g_strdup (error->message);
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, NULL);
      result->error = g_strdup (error->message);
      ended = TRUE;
    } else {
      ended = TRUE;
    }
    g_clear_error (&error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

static void
run (const gchar *line, Result *result)
{
  GstElement *pipeline = launch (line, result);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline, result);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

G_GNUC_PRINTF (2, 3)
static void
run_format (Result *result, const gchar *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree gchar *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  run (line, result);
}

#define SOURCE "lidartestsrc world=hall rings=16 num-buffers=20 odometry=true"

static void
record (const gchar *name, const gchar *options)
{
  Result result;
  run_format (&result, SOURCE " ! mcapsink location=%s/%s %s", folder, name, options);
  fail_unless_equals_string (result.error, NULL);
  result_clear (&result);
}

static void
assert_equal_buffers (GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (b, &map, GST_MAP_READ));
  fail_unless_equals_int (gst_buffer_get_size (a), map.size);
  fail_unless_equals_int (gst_buffer_memcmp (a, 0, map.data, map.size), 0);
  gst_buffer_unmap (b, &map);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (a), GST_BUFFER_PTS (b));
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (a), GST_BUFFER_DURATION (b));
  for (guint role = GST_POSE_ROLE_ESTIMATE; role <= GST_POSE_ROLE_GROUND_TRUTH; role++) {
    GstPoseMeta *x = gst_buffer_get_pose_meta (a, role), *y = gst_buffer_get_pose_meta (b, role);
    fail_unless ((x == NULL) == (y == NULL));
    if (x) /* all of it, bit by bit */
      fail_unless_equals_int (
          memcmp (&x->role, &y->role, sizeof *x - G_STRUCT_OFFSET (GstPoseMeta, role)), 0);
  }
}

static void
assert_equal_results (const Result *a, const Result *b)
{
  fail_unless_equals_string (b->error, NULL);
  fail_unless_equals_int (b->n_warnings, 0);
  fail_unless_equals_int (a->buffers->len, b->buffers->len);
  for (guint i = 0; i < a->buffers->len; i++) {
    assert_equal_buffers (g_ptr_array_index (a->buffers, i), g_ptr_array_index (b->buffers, i));
    fail_unless (
        gst_caps_is_equal (g_ptr_array_index (a->caps, i), g_ptr_array_index (b->caps, i)));
  }
}

/* What is recorded comes back: bytes, stamps, caps and poses with all that they say. */
GST_START_TEST (test_round_trip)
{
  static const gchar *const options[] = {
      "compression=none", "compression=lz4", "compression=zstd", "chunk-size=1048576"};
  static const gchar *const sources[] = {"rosbagsrc location=%s/a.mcap",
      "filesrc location=%s/a.mcap ! mcapdemux", "filesrc location=%s/a.mcap ! queue ! mcapdemux"};
  Result original;
  run (SOURCE " ! fakesink name=out", &original);
  fail_unless_equals_int (original.buffers->len, 20);
  fail_unless (
      gst_buffer_get_pose_meta (g_ptr_array_index (original.buffers, 0), GST_POSE_ROLE_ODOMETRY));

  for (guint i = 0; i < G_N_ELEMENTS (options) * G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i % G_N_ELEMENTS (sources)], folder);
    g_autofree gchar *overwrite =
        g_strconcat (options[i / G_N_ELEMENTS (sources)], " overwrite=true", NULL);
    Result replayed;
    record ("a.mcap", overwrite);
    run_format (&replayed, "%s ! fakesink name=out", source);
    assert_equal_results (&original, &replayed);
    result_clear (&replayed);
  }
  result_clear (&original);
}
GST_END_TEST

/* A sequence of recorded scans, localized and recorded: all that left ndtlocalize comes back, bit
 * by bit, and localized again it is the same once more, with the same poses. */
GST_START_TEST (test_sequence)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s/%s",
      "filesrc location=%s/%s ! mcapdemux", "filesrc location=%s/%s ! queue ! mcapdemux"};
  g_autofree gchar *sequence = ndt_test_data ("seq_kitti_drive0005");
  Result original, replayed, again;

  if (!sequence)
    return;
  g_autofree gchar *localize =
      g_strdup_printf ("ndtlocalize map=%s/map_even_0.50.pcd resolution=1 backend=cpu "
                       "initial-pose=0.343,0.007,0,0.85",
          sequence);
  run_format (&original,
      "multifilesrc location=%s/scans/%%06d.pcd ! pcddec framerate=5/1 ! %s ! tee name=t ! queue ! "
      "fakesink name=out t. ! queue ! mcapsink location=%s/a.mcap",
      sequence, localize, folder);
  fail_unless_equals_string (original.error, NULL);
  fail_unless_equals_int (original.buffers->len, 50);
  for (guint i = 0; i < original.buffers->len; i++) {
    const GstPoseMeta *pose =
        gst_buffer_get_pose_meta (g_ptr_array_index (original.buffers, i), GST_POSE_ROLE_ESTIMATE);
    fail_unless (pose && pose->has_pose && pose->has_covariance);
    fail_unless (pose->covariance[0] > 0 && pose->covariance[1] != 0);
    fail_unless_equals_int (pose->status, GST_POSE_STATUS_TRACKING);
    fail_unless (pose->nvtl > 0 && pose->transformation_probability > 0 && pose->iterations > 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], folder, "a.mcap");
    run_format (&replayed, "%s ! pointcloud/x-raw ! fakesink name=out", source);
    assert_equal_results (&original, &replayed);
    result_clear (&replayed);
  }
  run_format (&again,
      "rosbagsrc location=%s/a.mcap ! pointcloud/x-raw ! %s ! tee name=t ! queue ! "
      "fakesink name=out t. ! queue ! mcapsink location=%s/b.mcap",
      folder, localize, folder);
  assert_equal_results (&original, &again);
  run_format (
      &replayed, "rosbagsrc location=%s/b.mcap ! pointcloud/x-raw ! fakesink name=out", folder);
  assert_equal_results (&original, &replayed);
  result_clear (&replayed);
  result_clear (&again);
  result_clear (&original);
}
GST_END_TEST

GST_START_TEST (test_times)
{
  Result result;
  record ("a.mcap", "");
  run_format (&result,
      "rosbagsrc location=%s/a.mcap start-time=500000000 stop-time=1000000000 "
      "! fakesink name=out",
      folder);
  fail_unless_equals_int (result.buffers->len, 6);
  fail_unless_equals_uint64 (
      GST_BUFFER_PTS (g_ptr_array_index (result.buffers, 0)), 500 * GST_MSECOND);
  result_clear (&result);
}
GST_END_TEST

static void
check_seek (const gchar *source)
{
  Result result;
  gint64 value;
  record ("a.mcap", "overwrite=true");
  g_autofree gchar *line = g_strdup_printf ("%s ! fakesink name=out", source);
  GstElement *pipeline = launch (line, &result);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &value));
  fail_unless_equals_uint64 (value, 1900 * GST_MSECOND);

  /* Backwards is refused. */
  fail_if (gst_element_seek (pipeline, -1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
      0, GST_SEEK_TYPE_SET, GST_SECOND));
  /* So is a stop before the start, and what was prerolled stays. */
  fail_if (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
      GST_SECOND, GST_SEEK_TYPE_SET, 500 * GST_MSECOND));
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, 0), GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, 700 * GST_MSECOND, GST_SEEK_TYPE_SET, 1200 * GST_MSECOND));
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_query_position (pipeline, GST_FORMAT_TIME, &value));
  fail_unless_equals_uint64 (value, 700 * GST_MSECOND);
  g_ptr_array_set_size (result.buffers, 0);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  /* Preroll took the first already; the sink leaves out what is at or after the stop. */
  fail_unless (result.buffers->len >= 4);
  for (guint i = 0; i < result.buffers->len; i++) {
    const GstClockTime pts = GST_BUFFER_PTS (g_ptr_array_index (result.buffers, i));
    fail_unless (pts >= 700 * GST_MSECOND && pts <= 1200 * GST_MSECOND);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  result_clear (&result);
}

GST_START_TEST (test_seek)
{
  g_autofree gchar *src = g_strdup_printf ("rosbagsrc location=%s/a.mcap", folder);
  g_autofree gchar *demux = g_strdup_printf ("filesrc location=%s/a.mcap ! mcapdemux", folder);
  check_seek (src);
  check_seek (demux);
}
GST_END_TEST

static void
seek_to (GstElement *pipeline, GstClockTime time)
{
  fail_unless (
      gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, (gint64)time));
}

/* A pipeline that records is seeked as any other: by its recorder alone, and beside another sink.
 */
GST_START_TEST (test_seek_of_recorder)
{
  static const gchar *const lines[] = {
      "rosbagsrc location=%s/a.mcap ! mcapsink location=%s/b-%%05d.mcap overwrite=true",
      "rosbagsrc location=%s/a.mcap ! tee name=t ! queue ! mcapsink location=%s/b-%%05d.mcap "
      "overwrite=true t. ! queue ! fakesink sync=false"};

  record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree gchar *line = g_strdup_printf (lines[i], folder, folder);
    Result result, recorded;
    GstElement *pipeline = launch (line, &result);

    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    seek_to (pipeline, GST_SECOND);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    wait_for_end (pipeline, &result);
    /* What comes after the end is another file. */
    seek_to (pipeline, 1500 * GST_MSECOND);
    wait_for_end (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    for (guint file = 0; file < 2; file++) {
      run_format (&recorded, "rosbagsrc location=%s/b-%05u.mcap ! fakesink name=out", folder, file);
      fail_unless_equals_string (recorded.error, NULL);
      fail_unless_equals_int (recorded.buffers->len, file ? 5 : 10);
      fail_unless_equals_uint64 (GST_BUFFER_PTS (g_ptr_array_index (recorded.buffers, 0)),
          (file ? 1500 : 1000) * GST_MSECOND);
      result_clear (&recorded);
    }
    gst_object_unref (pipeline);
    result_clear (&result);
  }
}
GST_END_TEST

static GstPadProbeReturn
count_flush (GstPad *pad, GstPadProbeInfo *info, gpointer n)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_START)
    g_atomic_int_inc ((gint *)n);
  return GST_PAD_PROBE_OK;
}

static void
count_flushes (GstElement *source, GstPad *pad, gpointer n)
{
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, count_flush, n, NULL);
}

/* Each sink sends the pipeline's seek, which is done once. */
GST_START_TEST (test_seek_of_sinks)
{
  static const gchar *const sources[] = {
      "rosbagsrc name=bag location=%s/a.mcap", "filesrc location=%s/a.mcap ! mcapdemux name=bag"};

  record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], folder);
    g_autofree gchar *line =
        g_strdup_printf ("%s attach-poses=false bag. ! queue ! fakesink bag. ! queue ! fakesink "
                         "bag. ! queue ! fakesink",
            source);
    gint n = 0;
    Result result;
    GstElement *pipeline = launch (line, &result);
    GstElement *bag = gst_bin_get_by_name (GST_BIN (pipeline), "bag");

    g_signal_connect (bag, "pad-added", G_CALLBACK (count_flushes), &n);
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    const gint n_pads = bag->numsrcpads;
    fail_unless (n_pads >= 3);
    for (gint seek = 1; seek <= 2; seek++) {
      seek_to (pipeline, GST_SECOND);
      fail_unless_equals_int (
          gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
      fail_unless_equals_int (g_atomic_int_get (&n), seek * n_pads);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bag);
    gst_object_unref (pipeline);
    result_clear (&result);
  }
}
GST_END_TEST

/* Two recordings in one stream: after a seek all of both is there, and nothing hangs. */
GST_START_TEST (test_seek_of_muxer)
{
  record ("a.mcap", "");
  for (guint round = 0; round < 5; round++) {
    g_autofree gchar *line = g_strdup_printf (
        "mcapmux name=mux ! filesink location=%s/b.mcap rosbagsrc location=%s/a.mcap ! "
        "identity sync=true ! mux.cloud_0 rosbagsrc location=%s/a.mcap ! identity sync=true ! "
        "mux.cloud_1",
        folder, folder, folder);
    Result result, recorded;
    GstElement *pipeline = launch (line, &result);

    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    seek_to (pipeline, 1700 * GST_MSECOND);
    wait_for_end (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    result_clear (&result);
    for (guint topic = 0; topic < 2; topic++) {
      run_format (&recorded, "rosbagsrc location=%s/b.mcap topics=%s ! fakesink name=out", folder,
          topic ? "/points_1" : "/points");
      fail_unless_equals_string (recorded.error, NULL);
      fail_unless_equals_int (recorded.buffers->len, 3);
      result_clear (&recorded);
    }
  }
}
GST_END_TEST

static void
link_cloud (GstElement *source, GstPad *pad, GstElement *sink)
{
  GstPad *to = gst_element_get_static_pad (sink, "sink");
  if (g_str_has_prefix (GST_PAD_NAME (pad), "cloud"))
    fail_unless_equals_int (gst_pad_link (pad, to), GST_PAD_LINK_OK);
  gst_object_unref (to);
}

/* Seeks and stops at any moment, states up and down. */
GST_START_TEST (test_states)
{
  Result result;
  record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc name=source0 location=%s/a.mcap fakesink name=sink0 sync=false "
      "filesrc location=%s/a.mcap ! mcapdemux name=source1 fakesink name=sink1 sync=false "
      "filesrc location=%s/a.mcap ! queue ! mcapdemux name=source2 fakesink name=sink2 sync=false",
      folder, folder, folder);
  GstElement *pipeline = launch (line, &result);
  for (guint i = 0; i < 3; i++) {
    g_autofree gchar *from = g_strdup_printf ("source%u", i);
    g_autofree gchar *to = g_strdup_printf ("sink%u", i);
    GstElement *source = gst_bin_get_by_name (GST_BIN (pipeline), from);
    GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), to);
    g_signal_connect_object (source, "pad-added", G_CALLBACK (link_cloud), sink, 0);
    gst_object_unref (source);
    gst_object_unref (sink);
  }
  for (guint i = 0; i < 20; i++) {
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    if (i % 2)
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND);
    if (i % 3 == 0)
      gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, i * GST_MSECOND);
    gst_element_set_state (pipeline, i % 4 ? GST_STATE_READY : GST_STATE_NULL);
  }
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  result_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_eos_from_outside)
{
  Result result;
  guint64 messages;
  GstStructure *stats;
  record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc name=bag location=%s/a.mcap ! identity sleep-time=1000000 ! fakesink name=out",
      folder);
  GstElement *pipeline = launch (line, &result);
  GstElement *bag = gst_bin_get_by_name (GST_BIN (pipeline), "bag");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND);
  fail_unless (gst_element_send_event (pipeline, gst_event_new_eos ()));
  wait_for_end (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  fail_unless (result.buffers->len < 20);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_object_get (bag, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "messages", &messages));
  fail_unless (messages >= result.buffers->len);
  gst_structure_free (stats);
  gst_object_unref (bag);
  gst_object_unref (pipeline);
  result_clear (&result);
}
GST_END_TEST

static GstPadProbeReturn
end_source (GstPad *pad, GstPadProbeInfo *info, gpointer source)
{
  gst_element_send_event (source, gst_event_new_eos ());
  return GST_PAD_PROBE_REMOVE;
}

static void
on_pad_to_end (GstElement *demux, GstPad *pad, gpointer source)
{
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, end_source, source, NULL);
}

/* An application ends what a file is read by: the recording is no damaged one for that. */
GST_START_TEST (test_source_ends)
{
  Result result;
  GstStructure *stats;
  guint64 damaged;

  record ("a.mcap", "chunk-size=1");
  g_autofree gchar *line = g_strdup_printf (
      "filesrc name=file location=%s/a.mcap ! mcapdemux name=demux ! fakesink name=out", folder);
  GstElement *pipeline = launch (line, &result);
  GstElement *file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  GstElement *demux = gst_bin_get_by_name (GST_BIN (pipeline), "demux");
  g_signal_connect (demux, "pad-added", G_CALLBACK (on_pad_to_end), file);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  fail_unless_equals_int (result.n_warnings, 0);
  fail_unless (result.buffers->len > 0 && result.buffers->len < 20);
  g_object_get (demux, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "damaged", &damaged));
  fail_unless_equals_uint64 (damaged, 0);
  gst_structure_free (stats);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (file);
  gst_object_unref (demux);
  gst_object_unref (pipeline);
  result_clear (&result);
}
GST_END_TEST

/* Before there are pads nobody else would say so. */
GST_START_TEST (test_source_ends_at_once)
{
  Result result;

  record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "filesrc name=file location=%s/a.mcap ! mcapdemux ! fakesink name=out", folder);
  GstElement *pipeline = launch (line, &result);
  GstElement *file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  GstPad *pad = gst_element_get_static_pad (file, "src");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_PULL | GST_PAD_PROBE_TYPE_BLOCK, end_source, file, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline, &result);
  fail_unless (result.error && strstr (result.error, "ended before"), "%s", result.error);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (file);
  gst_object_unref (pipeline);
  result_clear (&result);
}
GST_END_TEST

static GstProgressType
parse_progress (GstMessage *message, gdouble *percent)
{
  GstProgressType type;
  g_autofree gchar *code = NULL;
  g_autofree gchar *text = NULL;
  gst_message_parse_progress (message, &type, &code, &text);
  fail_unless_equals_string (code, "replay");
  *percent = g_ascii_strtod (text, NULL);
  fail_unless (strstr (text, " of 1.9 s") != NULL, "%s", text);
  return type;
}

/* From start to end while the pipeline plays, and not before: applications would wait for the end
 * of what is under way before they let it play. */
GST_START_TEST (test_progress)
{
  Result result;
  gdouble last = 0, percent;
  guint n = 0;
  gboolean complete = FALSE, ended = FALSE;
  record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc location=%s/a.mcap ! identity sleep-time=100000 ! fakesink name=out", folder);
  GstElement *pipeline = launch (line, &result);
  GstBus *bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_PROGRESS) == NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!ended) {
    GstMessage *message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND,
        GST_MESSAGE_PROGRESS | GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    fail_unless (message != NULL && GST_MESSAGE_TYPE (message) != GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
      ended = TRUE;
    } else {
      const GstProgressType type = parse_progress (message, &percent);
      fail_unless (!complete && percent >= last && percent <= 100);
      fail_unless ((type == GST_PROGRESS_TYPE_START) == (n == 0));
      complete = type == GST_PROGRESS_TYPE_COMPLETE;
      fail_unless (complete || n == 0 || type == GST_PROGRESS_TYPE_CONTINUE);
      last = percent;
      n++;
    }
    gst_message_unref (message);
  }
  /* Two a second over two seconds, fewer on a busy machine. */
  fail_unless (complete && last == 100 && n >= 3, "%u messages up to %g %%", n, last);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  result_clear (&result);
}
GST_END_TEST

/* A file of one message of that type, whose bytes are those of the corpus. */
static void
write_message (const gchar *name, const gchar *type, const gchar *corpus)
{
  Result result;
  g_autofree gchar *caps = g_strdup_printf (
      "application/x-mcap-message,topic=(string)/t,message-encoding=(string)cdr,"
      "schema-name=(string)%s,schema-encoding=(string)ros2msg,schema-data=(buffer)00",
      type);
  run_format (&result,
      "filesrc location=%s/tests/fuzz/corpus/cdr/%s blocksize=65536 ! capsfilter caps=\"%s\" "
      "! rec.data_0 mcapsink name=rec location=%s/%s overwrite=true",
      NDT_TEST_ROOT, corpus, caps, folder, name);
  fail_unless_equals_string (result.error, NULL);
  result_clear (&result);
}

static void
read_message (Result *result, const gchar *options)
{
  run_format (result, "rosbagsrc location=%s/m.mcap %s ! fakesink name=out", folder, options);
  fail_unless_equals_string (result->error, NULL);
}

GST_START_TEST (test_layouts)
{
  Result result;
  GstPointCloudInfo info;
  guint8 byte;

  /* Two rows of two points of 40 bytes, with 16 bytes of padding after a row; the data count up. */
  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "rows.bin");
  read_message (&result, "");
  fail_unless_equals_int (result.buffers->len, 1);
  GstBuffer *buffer = g_ptr_array_index (result.buffers, 0);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 160);
  gst_buffer_extract (buffer, 80, &byte, 1);
  fail_unless_equals_int (byte, 96);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 5 * GST_SECOND + 6);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE));
  fail_unless (gst_point_cloud_info_from_caps (&info, g_ptr_array_index (result.caps, 0), NULL));
  fail_unless_equals_int (info.point_step, 40);
  fail_unless_equals_int (info.width, 2);
  fail_unless_equals_int (info.height, 2);
  fail_unless_equals_string (g_quark_to_string (info.frame_id), "lidar");
  fail_unless_equals_int (gst_point_cloud_info_find_field (&info, "ring")->offset, 12);
  fail_unless_equals_int (gst_point_cloud_info_find_field (&info, "t")->count, 2);
  result_clear (&result);

  /* No points are a cloud as well. */
  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "none.bin");
  read_message (&result, "");
  fail_unless_equals_int (result.buffers->len, 1);
  fail_unless_equals_int (gst_buffer_get_size (g_ptr_array_index (result.buffers, 0)), 0);
  result_clear (&result);

  write_message ("m.mcap", "sensor_msgs/msg/PointCloud2", "big.bin");
  read_message (&result, "");
  fail_unless_equals_int (result.buffers->len, 0);
  fail_unless_equals_int (result.n_warnings, 1);
  fail_unless (strstr (result.warning, "big-endian") != NULL);
  result_clear (&result);

  read_message (&result, "raw=true");
  fail_unless_equals_int (result.buffers->len, 1);
  fail_unless_equals_int (result.n_warnings, 0);
  result_clear (&result);
}
GST_END_TEST

static const GstPoseMeta *
read_pose (Result *result, const gchar *type, const gchar *corpus, GstPoseRole role)
{
  write_message ("m.mcap", type, corpus);
  read_message (result, "pose-role=prior");
  fail_unless_equals_int (result->buffers->len, 1);
  GstBuffer *buffer = g_ptr_array_index (result->buffers, 0);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  fail_unless (meta != NULL);
  fail_unless (meta->has_pose);
  fail_unless (meta->position[0] == 1 && meta->position[1] == 2 && meta->position[2] == 3);
  fail_unless (meta->orientation[3] == 1);
  fail_unless_equals_uint64 (meta->timestamp, 5 * GST_SECOND + 6);
  fail_unless_equals_string (g_quark_to_string (meta->parent_frame), "lidar");
  return meta;
}

GST_START_TEST (test_poses)
{
  Result result;
  const GstPoseMeta *meta;

  meta = read_pose (&result, "geometry_msgs/msg/PoseStamped", "pose.bin", GST_POSE_ROLE_PRIOR);
  fail_if (meta->has_covariance);
  result_clear (&result);

  meta = read_pose (&result, "geometry_msgs/msg/PoseWithCovarianceStamped", "covariance.bin",
      GST_POSE_ROLE_PRIOR);
  fail_unless (meta->has_covariance && meta->covariance[35] == 35);
  result_clear (&result);

  meta = read_pose (&result, "nav_msgs/msg/Odometry", "odometry.bin", GST_POSE_ROLE_ODOMETRY);
  fail_unless_equals_string (g_quark_to_string (meta->child_frame), "base");
  fail_unless (meta->has_covariance && meta->covariance[35] == 35);
  result_clear (&result);

  meta = read_pose (&result, "tf2_msgs/msg/TFMessage", "tf.bin", GST_POSE_ROLE_PRIOR);
  fail_unless_equals_string (g_quark_to_string (meta->child_frame), "base");
  fail_unless_equals_int (
      gst_buffer_get_n_meta (g_ptr_array_index (result.buffers, 0), GST_POSE_META_API_TYPE), 2);
  result_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_topics)
{
  Result result;
  record ("a.mcap", "");
  run_format (&result,
      "rosbagsrc location=%s/a.mcap attach-poses=false topics=*ground_truth "
      "! fakesink name=out",
      folder);
  fail_unless_equals_int (result.buffers->len, 20);
  GstBuffer *buffer = g_ptr_array_index (result.buffers, 0);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 0);
  fail_unless (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH) != NULL);
  fail_unless (gst_structure_has_name (
      gst_caps_get_structure (g_ptr_array_index (result.caps, 0), 0), "pose/x-raw"));
  result_clear (&result);

  /* Of several files as of one. */
  record ("part-%05d.mcap", "max-size-time=500000000");
  g_autofree gchar *whole = g_build_filename (folder, "a.mcap", NULL);
  g_unlink (whole);
  run_format (&result, "rosbagsrc location=%s ! fakesink name=out", folder);
  fail_unless_equals_int (result.buffers->len, 20);
  result_clear (&result);
  run_format (&result, "rosbagsrc location=%s/part*.mcap ! fakesink name=out", folder);
  fail_unless_equals_int (result.buffers->len, 20);
  result_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_bad_files)
{
  Result result;
  g_autofree gchar *path = g_build_filename (folder, "a.mcap", NULL);
  g_autofree gchar *data = NULL;
  gsize size;

  run_format (&result, "rosbagsrc location=%s/none.mcap ! fakesink name=out", folder);
  fail_unless (strstr (result.error, "none.mcap") != NULL);
  result_clear (&result);
  run_format (&result, "rosbagsrc location=%s ! fakesink name=out", folder);
  fail_unless (strstr (result.error, "neither") != NULL);
  result_clear (&result);
  /* Nobody waits for a pipe's other end. */
  fail_unless_equals_int (mkfifo (path, 0600), 0);
  run_format (&result, "rosbagsrc location=%s ! fakesink name=out", path);
  fail_unless (result.error && strstr (result.error, "not a regular file") != NULL);
  result_clear (&result);
  g_unlink (path);
  fail_unless (g_file_set_contents (path, "It was a dark and stormy night.", -1, NULL));
  run_format (&result, "rosbagsrc location=%s ! fakesink name=out", path);
  fail_unless (strstr (result.error, "neither MCAP") != NULL);
  result_clear (&result);
  run_format (&result, "filesrc location=%s ! queue ! mcapdemux ! fakesink name=out", path);
  fail_unless (result.error != NULL);
  result_clear (&result);

  /* Cut off: what is whole, and a warning. */
  record ("a.mcap", "overwrite=true");
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  fail_unless (g_file_set_contents (path, data, (gssize)(size / 2), NULL));
  static const gchar *const sources[] = {"rosbagsrc location=%s", "filesrc location=%s ! mcapdemux",
      "filesrc location=%s ! queue ! mcapdemux"};
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], path);
    run_format (&result, "%s ! fakesink name=out", source);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.n_warnings, 1);
    fail_unless (result.buffers->len > 4 && result.buffers->len < 12);
    result_clear (&result);
  }
}
GST_END_TEST

/* What is wrong with a recording is told while it is opened: gst-launch-1.0 misses errors of before
 * its main loop, and waits for ever. */
GST_START_TEST (test_errors_at_once)
{
  static const struct {
    const gchar *rest; /* of a pipeline that begins with rosbagsrc location=FOLDER/ */
    GstStateChangeReturn result;
  } cases[] = {
      {"good.mcap ! fakesink", GST_STATE_CHANGE_ASYNC},
      {"empty.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"text.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"none.mcap ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"good.mcap topics=/nothing ! fakesink", GST_STATE_CHANGE_FAILURE},
      {"good.mcap ! video/x-raw ! fakesink", GST_STATE_CHANGE_FAILURE},
  };
  g_autofree gchar *text = g_build_filename (folder, "text.mcap", NULL);
  Result result;

  record ("good.mcap", "");
  fail_unless (g_file_set_contents (text, "It was a dark and stormy night.", -1, NULL));
  run_format (&result, "lidartestsrc num-buffers=0 ! mcapsink location=%s/empty.mcap", folder);
  fail_unless_equals_string (result.error, NULL);
  result_clear (&result);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *line = g_strdup_printf ("rosbagsrc location=%s/%s", folder, cases[i].rest);
    GstElement *pipeline = launch (line, &result);
    fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_PAUSED), cases[i].result);
    if (cases[i].result == GST_STATE_CHANGE_FAILURE) {
      wait_for_end (pipeline, &result);
      fail_unless (result.error != NULL);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    result_clear (&result);
  }
}
GST_END_TEST

static GstPadProbeReturn
on_blocked (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  return GST_PAD_PROBE_OK;
}

typedef struct {
  GMutex lock;
  GCond cond;
  GstPad *pad;
  gulong probe;
} Late;

static void
block_cloud (GstElement *source, GstPad *pad, Late *late)
{
  if (!g_str_has_prefix (GST_PAD_NAME (pad), "cloud"))
    return;
  g_mutex_lock (&late->lock);
  late->pad = gst_object_ref (pad);
  late->probe =
      gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, on_blocked, NULL, NULL);
  g_cond_signal (&late->cond);
  g_mutex_unlock (&late->lock);
}

/* Applications block a pad when it turns up and link it from another thread. */
GST_START_TEST (test_linked_later)
{
  static const gchar *const sources[] = {
      "rosbagsrc name=bag location=%s/a.mcap", "filesrc location=%s/a.mcap ! mcapdemux name=bag"};

  record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], folder);
    g_autofree gchar *line = g_strdup_printf ("%s fakesink name=out", source);
    Late late = {0};
    Result result;
    GstElement *pipeline = launch (line, &result);
    GstElement *bag = gst_bin_get_by_name (GST_BIN (pipeline), "bag");
    GstElement *out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
    GstPad *input = gst_element_get_static_pad (out, "sink");

    g_signal_connect (bag, "pad-added", G_CALLBACK (block_cloud), &late);
    fail_unless_equals_int (
        gst_element_set_state (pipeline, GST_STATE_PLAYING), GST_STATE_CHANGE_ASYNC);
    g_mutex_lock (&late.lock);
    while (!late.pad)
      g_cond_wait (&late.cond, &late.lock);
    g_mutex_unlock (&late.lock);
    g_usleep (20000);
    fail_unless_equals_int (gst_pad_link (late.pad, input), GST_PAD_LINK_OK);
    gst_pad_remove_probe (late.pad, late.probe);
    wait_for_end (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.buffers->len, 20);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (late.pad);
    gst_object_unref (input);
    gst_object_unref (out);
    gst_object_unref (bag);
    gst_object_unref (pipeline);
    result_clear (&result);
  }
}
GST_END_TEST

/* A stream of nothing ends as well. */
GST_START_TEST (test_nothing_wanted)
{
  static const gchar *const sources[] = {"rosbagsrc location=%s topics=%s",
      "filesrc location=%s ! mcapdemux topics=%s",
      "filesrc location=%s ! queue ! mcapdemux topics=%s"};
  g_autofree gchar *path = g_build_filename (folder, "a.mcap", NULL);
  record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    Result result;
    g_autofree gchar *source = g_strdup_printf (sources[i], path, "/nothing");
    run_format (&result, "%s ! fakesink name=out", source);
    fail_unless (result.error && strstr (result.error, "/nothing"));
    result_clear (&result);
    /* Nor where nothing can be linked. */
    g_autofree gchar *all = g_strdup_printf (sources[i], path, "*");
    run_format (&result, "%s ! video/x-raw ! fakesink name=out", all);
    fail_unless (result.error != NULL);
    result_clear (&result);
  }
  /* No MCAP at all, whatever its name: nothing of ours is even asked. */
  fail_unless (g_file_set_contents (path, "It was a dark and stormy night.", -1, NULL));
  for (guint i = 0; i < 20; i++) {
    Result result;
    run_format (&result, "filesrc location=%s ! decodebin ! fakesink name=out", path);
    fail_unless (result.error != NULL);
    result_clear (&result);
  }
}
GST_END_TEST

static Suite *
rosbagsrc_suite (void)
{
  Suite *suite = suite_create ("rosbagsrc");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_round_trip);
  tcase_add_test (tc, test_sequence);
  tcase_add_test (tc, test_times);
  tcase_add_test (tc, test_seek);
  tcase_add_test (tc, test_seek_of_recorder);
  tcase_add_test (tc, test_seek_of_muxer);
  tcase_add_test (tc, test_seek_of_sinks);
  tcase_add_test (tc, test_states);
  tcase_add_test (tc, test_eos_from_outside);
  tcase_add_test (tc, test_source_ends);
  tcase_add_test (tc, test_source_ends_at_once);
  tcase_add_test (tc, test_progress);
  tcase_add_test (tc, test_layouts);
  tcase_add_test (tc, test_poses);
  tcase_add_test (tc, test_topics);
  tcase_add_test (tc, test_bad_files);
  tcase_add_test (tc, test_errors_at_once);
  tcase_add_test (tc, test_linked_later);
  tcase_add_test (tc, test_nothing_wanted);
  return suite;
}

GST_CHECK_MAIN (rosbagsrc);
