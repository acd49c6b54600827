/* SPDX-License-Identifier: MIT */
/* What the files hold is checked in tests/record by readers that we did not write; here: states,
 * caps, events, errors. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/ndt-wait.h"

#define CAPS "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1"
#define POINT_SIZE 12
#define MAGIC "\x89MCAP0\r\n"

static GstElement *pipeline;
static GstElement *sink;
static GstBus *bus;
static gchar *folder;
static gchar *path;

static void
setup (void)
{
  folder = g_dir_make_tmp ("mcapsink-XXXXXX", NULL);
  path = g_build_filename (folder, "out.mcap", NULL);
  pipeline = gst_pipeline_new (NULL);
  sink = gst_element_factory_make ("mcapsink", "rec");
  fail_unless (sink != NULL);
  g_object_set (sink, "location", path, NULL);
  gst_bin_add (GST_BIN (pipeline), sink);
  bus = gst_element_get_bus (pipeline);
}

static void
teardown (void)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *file = g_build_filename (folder, name, NULL);
    g_unlink (file);
  }
  g_dir_close (dir);
  g_rmdir (folder);
  g_free (path);
  g_free (folder);
}

static void
set_state (GstState state)
{
  fail_if (gst_element_set_state (pipeline, state) == GST_STATE_CHANGE_FAILURE);
}

/* A source pad of the test, linked to a requested pad. */
static GstPad *
add_source (const gchar *template, const gchar *caps, GstFormat format)
{
  GstPad *source = gst_pad_new ("src", GST_PAD_SRC);
  GstPad *input = gst_element_request_pad_simple (sink, template);
  GstSegment segment;

  fail_unless (input != NULL);
  fail_unless_equals_int (gst_pad_link (source, input), GST_PAD_LINK_OK);
  gst_object_unref (input);
  gst_pad_set_active (source, TRUE);
  gst_pad_push_event (source, gst_event_new_stream_start (template));
  if (caps) {
    g_autoptr (GstCaps) c = gst_caps_from_string (caps);
    gst_pad_push_event (source, gst_event_new_caps (c));
  }
  gst_segment_init (&segment, format);
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  return source;
}

static void
remove_source (GstPad *source)
{
  GstPad *input = gst_pad_get_peer (source);

  gst_pad_set_active (source, FALSE);
  if (input) {
    gst_pad_unlink (source, input);
    gst_element_release_request_pad (sink, input);
    gst_object_unref (input);
  }
  gst_object_unref (source);
}

static GstBuffer *
make_scan (guint n_points, GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n_points * POINT_SIZE, NULL);

  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = pts;
  return buffer;
}

static void
push (GstPad *source, guint n_points, GstClockTime pts)
{
  fail_unless_equals_int (gst_pad_push (source, make_scan (n_points, pts)), GST_FLOW_OK);
}

static guint64
get_stat (const gchar *name)
{
  GstStructure *stats;
  guint64 value;

  g_object_get (sink, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value), "%s", name);
  gst_structure_free (stats);
  return value;
}

static gboolean
has_message (GstMessageType type)
{
  GstMessage *message = gst_bus_pop_filtered (bus, type);

  if (message)
    gst_message_unref (message);
  return message != NULL;
}

static void
expect_error (GQuark domain, gint code)
{
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;

  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, domain, code), "%s", error->message);
  gst_message_unref (message);
}

/* A file with its end. */
static void
expect_complete (const gchar *file)
{
  g_autofree gchar *content = NULL;
  gsize size;

  fail_unless (g_file_get_contents (file, &content, &size, NULL), "%s", file);
  fail_unless (size > 16);
  fail_unless (memcmp (content, MAGIC, 8) == 0);
  fail_unless (memcmp (content + size - 8, MAGIC, 8) == 0);
}

static void
expect_content (gboolean expected, const gchar *text)
{
  g_autofree gchar *content = NULL;
  gsize size;

  fail_unless (g_file_get_contents (path, &content, &size, NULL));
  for (gsize i = 0; i < size; i++)
    if (content[i] == '\0')
      content[i] = ' ';
  fail_unless_equals_int (strstr (content, text) != NULL, expected);
}

GST_START_TEST (test_records_until_eos)
{
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 0, 0);
  push (source, 1, 1);
  push (source, 1000, 2);
  fail_if (has_message (GST_MESSAGE_EOS));
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless (has_message (GST_MESSAGE_EOS));
  expect_complete (path);
  fail_unless_equals_uint64 (get_stat ("messages"), 3);
  fail_unless_equals_uint64 (get_stat ("dropped"), 0);
  fail_unless_equals_int (gst_pad_push (source, make_scan (1, 3)), GST_FLOW_EOS);
  remove_source (source);
}
GST_END_TEST;

GST_START_TEST (test_finishes_on_the_way_to_ready)
{
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 10, 0);
  set_state (GST_STATE_READY);
  expect_complete (path);
  /* Once more, in the same file: not without overwrite. */
  set_state (GST_STATE_PLAYING);
  remove_source (source);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  fail_unless_equals_int (gst_pad_push (source, make_scan (1, 0)), GST_FLOW_ERROR);
  expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE);
  set_state (GST_STATE_READY);
  expect_complete (path);
  g_object_set (sink, "overwrite", TRUE, NULL);
  set_state (GST_STATE_PLAYING);
  remove_source (source);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 1, 0);
  set_state (GST_STATE_NULL);
  expect_complete (path);
  remove_source (source);
}
GST_END_TEST;

/* None waits for another, whichever is sparse; the end is that of all that are linked. */
GST_START_TEST (test_inputs)
{
  GstPad *clouds, *poses, *data, *unlinked;
  GstMessage *message;

  set_state (GST_STATE_PLAYING);
  unlinked = gst_element_request_pad_simple (sink, "data_7");
  clouds = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  poses = add_source ("pose_%u", "pose/x-raw", GST_FORMAT_TIME);
  data = add_source ("data_%u", NULL, GST_FORMAT_BYTES);
  for (guint i = 0; i < 50; i++)
    push (clouds, 100, i);
  gst_pad_push_event (poses, gst_event_new_gap (0, GST_SECOND));
  fail_unless_equals_int (gst_pad_push (data, gst_buffer_new_memdup ("abc", 3)), GST_FLOW_OK);
  gst_pad_push_event (clouds, gst_event_new_eos ());
  gst_pad_push_event (data, gst_event_new_eos ());
  fail_if (has_message (GST_MESSAGE_EOS));
  fail_unless_equals_int (gst_pad_push (poses, gst_buffer_new ()), GST_FLOW_OK);
  remove_source (poses);
  message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_EOS);
  fail_unless (message != NULL);
  gst_message_unref (message);
  fail_unless_equals_uint64 (get_stat ("messages"), 51);
  expect_complete (path);
  remove_source (clouds);
  remove_source (data);
  gst_element_release_request_pad (sink, unlinked);
  gst_object_unref (unlinked);
}
GST_END_TEST;

GST_START_TEST (test_bad_scans)
{
  GstPad *source;
  GstBuffer *buffer;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  for (guint i = 0; i < 2; i++) {
    push (source, 3, 2 * i);
    buffer = make_scan (3, 2 * i + 1);
    gst_buffer_set_size (buffer, 3 * POINT_SIZE - 1);
    fail_unless_equals_int (gst_pad_push (source, buffer), GST_FLOW_OK);
  }
  /* Values mean nothing to a recorder. */
  buffer = make_scan (1, 5);
  gst_buffer_fill (buffer, 0, (const gfloat[]){NAN, INFINITY, -INFINITY}, POINT_SIZE);
  fail_unless_equals_int (gst_pad_push (source, buffer), GST_FLOW_OK);
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless_equals_uint64 (get_stat ("messages"), 3);
  fail_unless_equals_uint64 (get_stat ("dropped"), 2);
  fail_unless (has_message (GST_MESSAGE_WARNING));
  fail_if (has_message (GST_MESSAGE_WARNING));
  expect_complete (path);
  remove_source (source);
}
GST_END_TEST;

GST_START_TEST (test_caps)
{
  GstPad *source;
  g_autoptr (GstCaps) other = gst_caps_from_string ("pointcloud/x-raw,format=XYZ_F64LE");
  g_autoptr (GstCaps) bad = gst_caps_from_string (
      "pointcloud/x-raw,format=CUSTOM,point-step=4,fields=(string)\"x:F32:0,y:F32:4\"");

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 2, 0);
  fail_unless (gst_pad_push_event (source, gst_event_new_caps (other)));
  push (source, 2, 1); /* one of the larger points */
  gst_pad_push_event (source, gst_event_new_caps (bad));
  fail_unless_equals_int (gst_pad_push (source, make_scan (1, 2)), GST_FLOW_NOT_NEGOTIATED);
  expect_error (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless_equals_uint64 (get_stat ("messages"), 2);
  fail_unless_equals_uint64 (get_stat ("dropped"), 0);
  remove_source (source);
}
GST_END_TEST;

static gpointer
push_one (gpointer source)
{
  return GINT_TO_POINTER (gst_pad_push (source, make_scan (1, 0)));
}

/* PAUSED takes nothing, and lets go of what waits. */
GST_START_TEST (test_paused)
{
  GstPad *source;
  GThread *thread;

  set_state (GST_STATE_PAUSED);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  thread = g_thread_new ("push", push_one, source);
  g_usleep (20000);
  fail_unless_equals_uint64 (get_stat ("files"), 0);
  set_state (GST_STATE_PLAYING);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);

  set_state (GST_STATE_PAUSED);
  thread = g_thread_new ("push", push_one, source);
  g_usleep (20000);
  gst_pad_push_event (source, gst_event_new_flush_start ());
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_FLUSHING);
  gst_pad_push_event (source, gst_event_new_flush_stop (TRUE));
  {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_pad_push_event (source, gst_event_new_segment (&segment));
  }

  thread = g_thread_new ("push", push_one, source);
  g_usleep (20000);
  set_state (GST_STATE_READY);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_FLUSHING);
  expect_complete (path);
  remove_source (source);
}
GST_END_TEST;

/* Bins forget the ends of their sinks when they pause. */
GST_START_TEST (test_end_is_told_again)
{
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless (has_message (GST_MESSAGE_EOS));
  expect_complete (path);
  set_state (GST_STATE_PAUSED);
  set_state (GST_STATE_PLAYING);
  fail_unless (has_message (GST_MESSAGE_EOS));
  remove_source (source);
}
GST_END_TEST;

static gpointer
push_eos (gpointer source)
{
  return GINT_TO_POINTER (gst_pad_push_event (source, gst_event_new_eos ()));
}

/* An end that waits to play comes while the state changes, and is one. */
GST_START_TEST (test_end_is_told_once)
{
  GstPad *source;
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  set_state (GST_STATE_PAUSED);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  for (guint i = 0; i < 300; i++) {
    GThread *thread = g_thread_new ("end", push_eos, source);
    guint n = 0;

    /* For it to wait; where it does not yet, there is nothing to find. */
    g_usleep (500);
    set_state (GST_STATE_PLAYING);
    fail_unless (GPOINTER_TO_INT (g_thread_join (thread)));
    while (has_message (GST_MESSAGE_EOS))
      n++;
    fail_unless_equals_int (n, 1);
    set_state (GST_STATE_PAUSED);
    gst_pad_push_event (source, gst_event_new_flush_start ());
    gst_pad_push_event (source, gst_event_new_flush_stop (TRUE));
    gst_pad_push_event (source, gst_event_new_segment (&segment));
  }
  remove_source (source);
}
GST_END_TEST;

GST_START_TEST (test_locations)
{
  static const struct {
    const gchar *location;
    guint64 max_size_time;
    gint code;
  } cases[] = {
      {NULL, 0, GST_RESOURCE_ERROR_NOT_FOUND},
      {"", 0, GST_RESOURCE_ERROR_NOT_FOUND},
      {"a%s.mcap", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"a%d%d.mcap", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"a%", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"a%999d", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"a%%.mcap", 1, GST_RESOURCE_ERROR_SETTINGS},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_object_set (
        sink, "location", cases[i].location, "max-size-time", cases[i].max_size_time, NULL);
    fail_unless_equals_int (
        gst_element_set_state (pipeline, GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    expect_error (GST_RESOURCE_ERROR, cases[i].code);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}
GST_END_TEST;

GST_START_TEST (test_numbers)
{
  g_autofree gchar *pattern = g_build_filename (folder, "100%%-%03d.mcap", NULL);
  g_autofree gchar *current = NULL;

  g_object_set (sink, "location", pattern, "max-size-time", G_GUINT64_CONSTANT (10), NULL);
  for (guint run = 0; run < 2; run++) {
    GstPad *source;

    set_state (GST_STATE_PLAYING);
    source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
    push (source, 1, 0);
    push (source, 1, 9);
    push (source, 1, 10);
    gst_pad_push_event (source, gst_event_new_eos ());
    set_state (GST_STATE_READY);
    remove_source (source);
    for (guint i = 0; i < 2 * run + 2; i++) {
      g_autofree gchar *name = g_strdup_printf ("100%%-%03u.mcap", i);
      g_autofree gchar *file = g_build_filename (folder, name, NULL);
      expect_complete (file);
    }
  }
  g_object_get (sink, "current-location", &current, NULL);
  fail_unless (current == NULL);
}
GST_END_TEST;

GST_START_TEST (test_no_folder)
{
  GstPad *source;

  g_object_set (sink, "location", "/nonexistent/folder/a.mcap", NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  fail_unless_equals_int (gst_pad_push (source, make_scan (1, 0)), GST_FLOW_ERROR);
  expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE);
  remove_source (source);
}
GST_END_TEST;

/* What is kept of the disk is in proportion to the file: several recordings fit on a small one. */
GST_START_TEST (test_reserved)
{
  GstPad *source;
  GStatBuf about;

  g_object_set (sink, "chunk-size", (guint64)100000, "compression", 0, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  for (guint i = 0; i < 10; i++) {
    push (source, 10000, i * GST_SECOND);
    fail_unless_equals_int (g_stat (path, &about), 0);
    fail_unless ((gint64)about.st_size > (gint64)i * 10000 * POINT_SIZE);
    /* An eighth, the end of the file, and the file system's own. */
    fail_unless ((gint64)about.st_blocks * 512 < about.st_size * 5 / 4 + 100000,
        "%" G_GINT64_FORMAT " bytes on the disk for %" G_GINT64_FORMAT,
        (gint64)about.st_blocks * 512, (gint64)about.st_size);
  }
  set_state (GST_STATE_NULL);
  remove_source (source);
}
GST_END_TEST;

/* Nobody waits for a pipe's other end. */
GST_START_TEST (test_pipe)
{
  GstPad *source;

  fail_unless_equals_int (mkfifo (path, 0600), 0);
  g_object_set (sink, "location", path, "overwrite", TRUE, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  fail_unless_equals_int (gst_pad_push (source, make_scan (1, 0)), GST_FLOW_ERROR);
  expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE);
  remove_source (source);
}
GST_END_TEST;

/* Clouds of a BYTES segment without stamps are timed by their framerate. */
GST_START_TEST (test_bytes_segment)
{
  GstMessage *message;
  GstPad *source;
  guint64 messages;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_BYTES);
  for (guint i = 0; i < 3; i++)
    push (source, 1, GST_CLOCK_TIME_NONE);
  gst_pad_push_event (source, gst_event_new_eos ());
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message && gst_message_has_name (message, "mcap-file-closed"));
  fail_unless (
      gst_structure_get_uint64 (gst_message_get_structure (message), "messages", &messages));
  fail_unless_equals_uint64 (messages, 3);
  fail_unless_equals_string (
      gst_structure_get_string (gst_message_get_structure (message), "location"), path);
  gst_message_unref (message);
  remove_source (source);
}
GST_END_TEST;

GST_START_TEST (test_pad_properties)
{
  GstPad *pad = gst_element_request_pad_simple (sink, "cloud_3");
  g_autofree gchar *topic = NULL;

  fail_unless_equals_string (GST_OBJECT_NAME (pad), "cloud_3");
  gst_child_proxy_set (GST_CHILD_PROXY (sink), "cloud_3::topic", "/a", "cloud_3::frame-id", "f",
      "cloud_3::pose-topic", "", "cloud_3::parent-frame-id", "p", NULL);
  g_object_get (pad, "topic", &topic, NULL);
  fail_unless_equals_string (topic, "/a");
  fail_unless_equals_int (gst_child_proxy_get_children_count (GST_CHILD_PROXY (sink)), 1);
  gst_element_release_request_pad (sink, pad);
  gst_object_unref (pad);
  fail_unless_equals_int (gst_child_proxy_get_children_count (GST_CHILD_PROXY (sink)), 0);
}
GST_END_TEST;

/* From the next message on. */
GST_START_TEST (test_topic_while_playing)
{
  GstPad *source;

  g_object_set (sink, "attach-pipeline", FALSE, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 1, 0);
  gst_child_proxy_set (
      GST_CHILD_PROXY (sink), "cloud_0::topic", "/another", "cloud_0::frame-id", "mast", NULL);
  push (source, 1, 1);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  fail_unless_equals_uint64 (get_stat ("messages"), 2);
  expect_content (TRUE, "/points");
  expect_content (TRUE, "/another");
  expect_content (TRUE, "mast");
  remove_source (source);
}
GST_END_TEST;

static void
expect_stat (const gchar *name, guint64 value)
{
  ndt_wait_for (get_stat (name) >= value);
  fail_unless_equals_uint64 (get_stat (name), value);
}

/* What came is written after chunk-duration and on the disk after sync-interval, also where nothing
 * more comes; and not before. */
GST_START_TEST (test_pause_of_the_stream)
{
  GstPad *source;
  gboolean is_early;
  guint64 chunks;
  gint64 start;

  g_object_set (sink, "chunk-duration", 200 * GST_MSECOND, "sync-interval", 10 * GST_MSECOND, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  start = g_get_monotonic_time ();
  push (source, 10, 0);
  push (source, 10, 1);
  chunks = get_stat ("chunks");
  is_early = g_get_monotonic_time () - start < 200000;
  fail_unless (!is_early || chunks == 0);
  expect_stat ("messages", 2);
  fail_unless (g_get_monotonic_time () - start >= 200000);
  /* Two where the second scan came too late for the first one's. */
  chunks = get_stat ("chunks");
  fail_unless (chunks == 1 || (!is_early && chunks == 2));
  expect_stat ("synced-bytes", get_stat ("bytes"));

  /* In PAUSED as well. */
  push (source, 10, 2);
  set_state (GST_STATE_PAUSED);
  expect_stat ("chunks", chunks + 1);
  expect_stat ("synced-bytes", get_stat ("bytes"));
  set_state (GST_STATE_PLAYING);
  push (source, 10, 3);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  fail_unless_equals_uint64 (get_stat ("messages"), 4);
  fail_unless_equals_uint64 (get_stat ("chunks"), chunks + 2);
  remove_source (source);
}
GST_END_TEST;

/* An element of somebody else, with a property that is nobody's business. */
typedef struct {
  GstElement parent;
  gchar *token;
} TestSecret;
typedef GstElementClass TestSecretClass;

static GType test_secret_get_type (void);
G_DEFINE_TYPE (TestSecret, test_secret, GST_TYPE_ELEMENT)

static void
test_secret_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  TestSecret *self = (TestSecret *)object;

  g_free (self->token);
  self->token = g_value_dup_string (value);
}

static void
test_secret_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  g_value_set_string (value, ((TestSecret *)object)->token);
}

static void
test_secret_finalize (GObject *object)
{
  g_free (((TestSecret *)object)->token);
  G_OBJECT_CLASS (test_secret_parent_class)->finalize (object);
}

static void
test_secret_class_init (TestSecretClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = test_secret_set_property;
  object_class->get_property = test_secret_get_property;
  object_class->finalize = test_secret_finalize;
  g_object_class_install_property (object_class, 1,
      g_param_spec_string (
          "token", "token", "Token", NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  gst_element_class_set_static_metadata (klass, "Secret", "Generic", "Has a secret", "tests");
}

static void
test_secret_init (TestSecret *self)
{
}

/* A recording tells what made it, to anyone who gets it, and no secrets. */
GST_START_TEST (test_pipeline_without_secrets)
{
  GstElement *secret, *own;
  GstPad *source;

  fail_unless (gst_element_register (NULL, "secret", GST_RANK_NONE, test_secret_get_type ()));
  secret = gst_element_factory_make_full ("secret", "name", "keeper", "token", "SESAME", NULL);
  own = gst_element_factory_make_full (
      "trajectorysink", "location", "http://somebody:SES/AM@E@example.org/t?u=v", NULL);
  gst_element_set_locked_state (own, TRUE);
  gst_bin_add_many (GST_BIN (pipeline), secret, own, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  gst_child_proxy_set (GST_CHILD_PROXY (sink), "cloud_0::topic", "/above", NULL);
  push (source, 1, 0);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  expect_content (TRUE, "keeper\\lsecret\\lTestSecret\\l\"");
  expect_content (FALSE, "SESAME");
  expect_content (TRUE, "\\llocation=http://***@example.org/t?u=v\\l");
  expect_content (FALSE, "somebody");
  expect_content (FALSE, "SES/AM");
  expect_content (TRUE, "\\lcloud_0::topic=/above\\l");
  remove_source (source);
}
GST_END_TEST;

static guint n_seeks, n_latencies;

static gboolean
take_upstream (GstPad *pad, GstObject *parent, GstEvent *event)
{
  const gboolean seekable = g_object_get_data (G_OBJECT (pad), "seekable") != NULL;
  const GstEventType type = GST_EVENT_TYPE (event);

  n_seeks += type == GST_EVENT_SEEK;
  n_latencies += type == GST_EVENT_LATENCY;
  gst_event_unref (event);
  return seekable || type != GST_EVENT_SEEK;
}

/* What an application sends goes to every source, of which one is enough that takes it. */
GST_START_TEST (test_events_from_outside)
{
  GstPad *sources[2], *unlinked;

  unlinked = gst_element_request_pad_simple (sink, "data_%u");
  set_state (GST_STATE_PLAYING);
  fail_if (gst_element_seek_simple (sink, GST_FORMAT_TIME, GST_SEEK_FLAG_NONE, 0));
  for (guint i = 0; i < 2; i++) {
    sources[i] = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
    gst_pad_set_event_function (sources[i], take_upstream);
  }
  n_seeks = n_latencies = 0;
  fail_if (gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_NONE, 0));
  fail_unless_equals_int (n_seeks, 2);
  for (guint i = 0; i < 2; i++) {
    g_object_set_data (G_OBJECT (sources[i]), "seekable", GINT_TO_POINTER (TRUE));
    fail_unless (gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_NONE, 0));
    fail_unless_equals_int (n_seeks, 4 + 2 * i);
  }
  fail_unless (gst_element_send_event (sink, gst_event_new_latency (GST_SECOND)));
  fail_unless_equals_int (n_latencies, 2);
  remove_source (sources[0]);
  remove_source (sources[1]);
  gst_element_release_request_pad (sink, unlinked);
  gst_object_unref (unlinked);
}
GST_END_TEST;

/* After an end and a seek there may be nothing, and an end again. */
GST_START_TEST (test_end_after_flush)
{
  GstPad *source;
  GstSegment segment;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 1, 0);
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless (has_message (GST_MESSAGE_EOS));
  gst_pad_push_event (source, gst_event_new_flush_start ());
  set_state (GST_STATE_PAUSED);
  gst_pad_push_event (source, gst_event_new_flush_stop (TRUE));
  set_state (GST_STATE_PLAYING);
  /* Not the one of before, told again. */
  fail_if (has_message (GST_MESSAGE_EOS));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless (has_message (GST_MESSAGE_EOS));
  expect_complete (path);
  fail_unless_equals_uint64 (get_stat ("messages"), 1);
  remove_source (source);
}
GST_END_TEST;

static Suite *
mcapsink_suite (void)
{
  Suite *suite = suite_create ("mcapsink");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_records_until_eos);
  tcase_add_test (tests, test_finishes_on_the_way_to_ready);
  tcase_add_test (tests, test_inputs);
  tcase_add_test (tests, test_bad_scans);
  tcase_add_test (tests, test_caps);
  tcase_add_test (tests, test_paused);
  tcase_add_test (tests, test_end_is_told_again);
  tcase_add_test (tests, test_end_is_told_once);
  tcase_add_test (tests, test_locations);
  tcase_add_test (tests, test_numbers);
  tcase_add_test (tests, test_no_folder);
  tcase_add_test (tests, test_reserved);
  tcase_add_test (tests, test_pipe);
  tcase_add_test (tests, test_bytes_segment);
  tcase_add_test (tests, test_pad_properties);
  tcase_add_test (tests, test_topic_while_playing);
  tcase_add_test (tests, test_pause_of_the_stream);
  tcase_add_test (tests, test_pipeline_without_secrets);
  tcase_add_test (tests, test_events_from_outside);
  tcase_add_test (tests, test_end_after_flush);
  return suite;
}

GST_CHECK_MAIN (mcapsink);
