/* SPDX-License-Identifier: MIT */
/* What applications do while rosbagsrc and mcapdemux replay: seeks, changes of state, ends from
 * outside, pads that are linked later. */
#include "replay.h"

#include <string.h>

#include "tests/ndt-wait.h"

GST_START_TEST (test_times)
{
  ReplayResult result;
  replay_record ("a.mcap", "");
  replay_run (&result,
      "rosbagsrc location=%s/a.mcap start-time=500000000 stop-time=1000000000 "
      "! fakesink name=out",
      replay_folder);
  fail_unless_equals_int (result.buffers->len, 6);
  fail_unless_equals_uint64 (
      GST_BUFFER_PTS (g_ptr_array_index (result.buffers, 0)), 500 * GST_MSECOND);
  replay_clear (&result);
}
GST_END_TEST

static void
check_seek (const gchar *source)
{
  ReplayResult result;
  gint64 value;
  replay_record ("a.mcap", "overwrite=true");
  g_autofree gchar *line = g_strdup_printf ("%s ! fakesink name=out", source);
  GstElement *pipeline = replay_launch (line, &result);
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
  replay_wait (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  /* Preroll took the first already; the sink leaves out what is at or after the stop. */
  fail_unless (result.buffers->len >= 4);
  for (guint i = 0; i < result.buffers->len; i++) {
    const GstClockTime pts = GST_BUFFER_PTS (g_ptr_array_index (result.buffers, i));
    fail_unless (pts >= 700 * GST_MSECOND && pts <= 1200 * GST_MSECOND);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  replay_clear (&result);
}

GST_START_TEST (test_seek)
{
  g_autofree gchar *src = g_strdup_printf ("rosbagsrc location=%s/a.mcap", replay_folder);
  g_autofree gchar *demux =
      g_strdup_printf ("filesrc location=%s/a.mcap ! mcapdemux", replay_folder);
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

  replay_record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree gchar *line = g_strdup_printf (lines[i], replay_folder, replay_folder);
    ReplayResult result, recorded;
    GstElement *pipeline = replay_launch (line, &result);

    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    seek_to (pipeline, GST_SECOND);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    replay_wait (pipeline, &result);
    /* What comes after the end is another file. */
    seek_to (pipeline, 1500 * GST_MSECOND);
    replay_wait (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    for (guint file = 0; file < 2; file++) {
      replay_run (
          &recorded, "rosbagsrc location=%s/b-%05u.mcap ! fakesink name=out", replay_folder, file);
      fail_unless_equals_string (recorded.error, NULL);
      fail_unless_equals_int (recorded.buffers->len, file ? 5 : 10);
      fail_unless_equals_uint64 (GST_BUFFER_PTS (g_ptr_array_index (recorded.buffers, 0)),
          (file ? 1500 : 1000) * GST_MSECOND);
      replay_clear (&recorded);
    }
    gst_object_unref (pipeline);
    replay_clear (&result);
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

  replay_record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], replay_folder);
    g_autofree gchar *line =
        g_strdup_printf ("%s attach-poses=false bag. ! queue ! fakesink bag. ! queue ! fakesink "
                         "bag. ! queue ! fakesink",
            source);
    gint n = 0;
    ReplayResult result;
    GstElement *pipeline = replay_launch (line, &result);
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
    replay_clear (&result);
  }
}
GST_END_TEST

/* Two recordings in one stream: after a seek all of both is there, and nothing hangs. */
GST_START_TEST (test_seek_of_muxer)
{
  replay_record ("a.mcap", "");
  for (guint round = 0; round < 5; round++) {
    g_autofree gchar *line = g_strdup_printf (
        "mcapmux name=mux ! filesink location=%s/b.mcap rosbagsrc location=%s/a.mcap ! "
        "identity sync=true ! mux.cloud_0 rosbagsrc location=%s/a.mcap ! identity sync=true ! "
        "mux.cloud_1",
        replay_folder, replay_folder, replay_folder);
    ReplayResult result, recorded;
    GstElement *pipeline = replay_launch (line, &result);

    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, 60 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    seek_to (pipeline, 1700 * GST_MSECOND);
    replay_wait (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
    replay_clear (&result);
    for (guint topic = 0; topic < 2; topic++) {
      replay_run (&recorded, "rosbagsrc location=%s/b.mcap topics=<%s> ! fakesink name=out",
          replay_folder, topic ? "/points_1" : "/points");
      fail_unless_equals_string (recorded.error, NULL);
      fail_unless_equals_int (recorded.buffers->len, 3);
      replay_clear (&recorded);
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
  ReplayResult result;
  replay_record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc name=source0 location=%s/a.mcap fakesink name=sink0 sync=false "
      "filesrc location=%s/a.mcap ! mcapdemux name=source1 fakesink name=sink1 sync=false "
      "filesrc location=%s/a.mcap ! queue ! mcapdemux name=source2 fakesink name=sink2 sync=false",
      replay_folder, replay_folder, replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
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
  replay_wait (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  replay_clear (&result);
}
GST_END_TEST

GST_START_TEST (test_eos_from_outside)
{
  ReplayResult result;
  guint64 messages;
  GstStructure *stats;
  replay_record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc name=bag location=%s/a.mcap ! identity sleep-time=1000000 ! fakesink name=out",
      replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
  GstElement *bag = gst_bin_get_by_name (GST_BIN (pipeline), "bag");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND);
  fail_unless (gst_element_send_event (pipeline, gst_event_new_eos ()));
  replay_wait (pipeline, &result);
  fail_unless_equals_string (result.error, NULL);
  fail_unless (result.buffers->len < 20);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_object_get (bag, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "messages", &messages));
  fail_unless (messages >= result.buffers->len);
  gst_structure_free (stats);
  gst_object_unref (bag);
  gst_object_unref (pipeline);
  replay_clear (&result);
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
  ReplayResult result;
  GstStructure *stats;
  guint64 damaged;

  replay_record ("a.mcap", "chunk-size=1");
  g_autofree gchar *line = g_strdup_printf (
      "filesrc name=file location=%s/a.mcap ! mcapdemux name=demux ! fakesink name=out",
      replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
  GstElement *file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  GstElement *demux = gst_bin_get_by_name (GST_BIN (pipeline), "demux");
  g_signal_connect (demux, "pad-added", G_CALLBACK (on_pad_to_end), file);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &result);
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
  replay_clear (&result);
}
GST_END_TEST

/* Before there are pads nobody else would say so. */
GST_START_TEST (test_source_ends_at_once)
{
  ReplayResult result;

  replay_record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "filesrc name=file location=%s/a.mcap ! mcapdemux ! fakesink name=out", replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
  GstElement *file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  GstPad *pad = gst_element_get_static_pad (file, "src");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_PULL | GST_PAD_PROBE_TYPE_BLOCK, end_source, file, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, &result);
  fail_unless (result.error && strstr (result.error, "ended before"), "%s", result.error);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (file);
  gst_object_unref (pipeline);
  replay_clear (&result);
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
  ReplayResult result;
  gdouble last = 0, percent;
  guint n = 0;
  gboolean complete = FALSE, ended = FALSE;
  replay_record ("a.mcap", "");
  g_autofree gchar *line = g_strdup_printf (
      "rosbagsrc location=%s/a.mcap ! identity sleep-time=100000 ! fakesink name=out",
      replay_folder);
  GstElement *pipeline = replay_launch (line, &result);
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
  replay_clear (&result);
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

  replay_record ("a.mcap", "");
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *source = g_strdup_printf (sources[i], replay_folder);
    g_autofree gchar *line = g_strdup_printf ("%s fakesink name=out", source);
    Late late = {0};
    ReplayResult result;
    GstElement *pipeline = replay_launch (line, &result);
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
    replay_wait (pipeline, &result);
    fail_unless_equals_string (result.error, NULL);
    fail_unless_equals_int (result.buffers->len, 20);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (late.pad);
    gst_object_unref (input);
    gst_object_unref (out);
    gst_object_unref (bag);
    gst_object_unref (pipeline);
    replay_clear (&result);
  }
}
GST_END_TEST

#define N_CHANNELS 500

static void
append_u32 (GByteArray *bytes, guint32 value)
{
  const guint32 little = GUINT32_TO_LE (value);
  g_byte_array_append (bytes, (const guint8 *)&little, sizeof little);
}

/* A stream of channels only: the magic, and records of number, no schema, topic, encoding, no
 * metadata. */
static GByteArray *
make_channels (void)
{
  GByteArray *bytes = g_byte_array_new ();
  g_byte_array_append (bytes, (const guint8 *)"\x89MCAP0\r\n", 8);
  for (guint i = 0; i < N_CHANNELS; i++) {
    g_autofree gchar *topic = g_strdup_printf ("/t%u", i);
    const guint8 head[] = {4, (guint8)(4 + 4 + strlen (topic) + 4 + 3 + 4), 0, 0, 0, 0, 0, 0, 0,
        (guint8)i, (guint8)(i >> 8), 0, 0};
    g_byte_array_append (bytes, head, sizeof head);
    append_u32 (bytes, (guint32)strlen (topic));
    g_byte_array_append (bytes, (const guint8 *)topic, (guint)strlen (topic));
    append_u32 (bytes, 3);
    g_byte_array_append (bytes, (const guint8 *)"cdr", 3);
    append_u32 (bytes, 0);
  }
  return bytes;
}

/* All of the stream, which a flush ends. */
static gpointer
push_channels (gpointer pad)
{
  g_autoptr (GByteArray) bytes = make_channels ();
  GstFlowReturn flow = GST_FLOW_OK;
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  gst_pad_push_event (pad, gst_event_new_segment (&segment));
  for (guint at = 0; at < bytes->len && flow == GST_FLOW_OK; at += 1000)
    flow =
        gst_pad_push (pad, gst_buffer_new_memdup (bytes->data + at, MIN (1000, bytes->len - at)));
  return GINT_TO_POINTER (flow);
}

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

/* Flushes begin in another thread than that in which pads are added. */
GST_START_TEST (test_flush_while_pads_come)
{
  for (guint round = 0; round < 20; round++) {
    GstElement *demux = gst_element_factory_make ("mcapdemux", NULL);
    GstPad *pad = gst_check_setup_src_pad (demux, &src_template);
    gst_pad_set_active (pad, TRUE);
    gst_element_set_state (demux, GST_STATE_PLAYING);
    gst_pad_push_event (pad, gst_event_new_stream_start ("s"));
    GThread *thread = g_thread_new ("push", push_channels, pad);
    g_usleep (500 * round);
    gst_pad_push_event (pad, gst_event_new_flush_start ());
    g_thread_join (thread);
    gst_pad_push_event (pad, gst_event_new_flush_stop (TRUE));
    fail_unless_equals_int (GPOINTER_TO_INT (push_channels (pad)), GST_FLOW_OK);
    fail_unless_equals_int (demux->numsrcpads, N_CHANNELS);
    gst_element_set_state (demux, GST_STATE_NULL);
    gst_check_teardown_src_pad (demux);
    gst_object_unref (demux);
  }
}
GST_END_TEST

static Suite *
rosbagsrc_control_suite (void)
{
  Suite *suite = suite_create ("rosbagsrc-control");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, replay_setup, replay_teardown);
  tcase_add_test (tc, test_times);
  tcase_add_test (tc, test_seek);
  tcase_add_test (tc, test_seek_of_recorder);
  tcase_add_test (tc, test_seek_of_sinks);
  tcase_add_test (tc, test_seek_of_muxer);
  tcase_add_test (tc, test_states);
  tcase_add_test (tc, test_eos_from_outside);
  tcase_add_test (tc, test_source_ends);
  tcase_add_test (tc, test_source_ends_at_once);
  tcase_add_test (tc, test_progress);
  tcase_add_test (tc, test_linked_later);
  tcase_add_test (tc, test_flush_while_pads_come);
  return suite;
}

GST_CHECK_MAIN (rosbagsrc_control);
