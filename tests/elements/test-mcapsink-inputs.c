/* SPDX-License-Identifier: MIT */
/* Inputs of mcapsink: pads, their properties, caps and buffers, events, and what is said of the
 * pipeline. */
#include "mcapsink.h"

#include <math.h>

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
  /* Without the last point, which is not whole. */
  fail_unless_equals_uint64 (get_stat ("messages"), 5);
  fail_unless_equals_uint64 (get_stat ("dropped"), 0);
  fail_unless_equals_uint64 (get_stat ("cut"), 2);
  fail_unless (has_message (GST_MESSAGE_WARNING));
  fail_if (has_message (GST_MESSAGE_WARNING));
  expect_complete (path);
  remove_source (source);
}
GST_END_TEST;

/* An organized cloud has the size that its caps say. */
GST_START_TEST (test_organized)
{
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS ",width=2,height=2", GST_FORMAT_TIME);
  for (guint i = 0; i < 4; i++)
    push (source, i % 2 ? 3 : 4, i);
  gst_pad_push_event (source, gst_event_new_eos ());
  fail_unless_equals_uint64 (get_stat ("messages"), 2);
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

/* Clouds without time stamps are refused by the name of the element that makes scans of bytes. */
GST_START_TEST (test_bytes_segment)
{
  GstMessage *message;
  g_autoptr (GError) error = NULL;
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_BYTES);
  fail_unless (gst_pad_push (source, make_scan (1, GST_CLOCK_TIME_NONE)) != GST_FLOW_OK);
  message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, "rawpointcloudparse") != NULL, "%s", error->message);
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

/* Names that are no UTF-8: of the file, of a file of another element, of topics and frames. */
GST_START_TEST (test_names_without_utf8)
{
  GstElement *own = gst_element_factory_make_full ("trajectorysink", "location",
      "/tmp/Stra\xdf"
      "e.txt",
      NULL);
  GstMessage *message;
  GstPad *source;

  g_free (path);
  path = g_build_filename (folder,
      "Stra\xdf"
      "e.mcap",
      NULL);
  g_object_set (sink, "location", path, "tf-topic",
      "/\xfc"
      "f",
      NULL);
  gst_element_set_locked_state (own, TRUE);
  gst_bin_add (GST_BIN (pipeline), own);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  gst_child_proxy_set (GST_CHILD_PROXY (sink), "cloud_0::topic",
      "/gr\xfc"
      "n",
      "cloud_0::frame-id", "\xe4", NULL);
  push (source, 1, 0);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message && gst_message_has_name (message, "mcap-file-closed"));
  fail_unless (g_str_has_suffix (
      gst_structure_get_string (gst_message_get_structure (message), "location"), "e.mcap"));
  gst_message_unref (message);
  expect_content (TRUE, "e.txt");
  expect_content (TRUE, "/gr\xef\xbf\xbdn");
  expect_content (FALSE, "\xfc");
  remove_source (source);
}
GST_END_TEST;

#define N_THREADS 4
#define N_REQUESTS 200

static gpointer
request_pads (gpointer names)
{
  for (guint i = 0; i < N_REQUESTS; i++) {
    GstPad *pad = gst_element_request_pad_simple (sink, "cloud_%u");
    fail_unless (pad != NULL);
    g_ptr_array_add (names, pad);
    /* Some are let go of meanwhile, and their names are free again. */
    if (i % 3 == 0) {
      gst_element_release_request_pad (sink, pad);
      gst_object_unref (g_ptr_array_steal_index (names, ((GPtrArray *)names)->len - 1));
    }
  }
  return NULL;
}

/* Threads that request pads at once get pads of their own, each added to the element. */
GST_START_TEST (test_requests_of_threads)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  GThread *threads[N_THREADS];
  GPtrArray *pads[N_THREADS];

  for (guint i = 0; i < N_THREADS; i++) {
    pads[i] = g_ptr_array_new_with_free_func (gst_object_unref);
    threads[i] = g_thread_new ("request", request_pads, pads[i]);
  }
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < N_THREADS; i++)
    for (guint k = 0; k < pads[i]->len; k++) {
      GstPad *pad = g_ptr_array_index (pads[i], k);
      fail_unless (g_hash_table_add (names, GST_OBJECT_NAME (pad)), "%s", GST_OBJECT_NAME (pad));
      fail_unless (GST_OBJECT_PARENT (pad) == GST_OBJECT (sink));
    }
  fail_unless_equals_int (
      gst_child_proxy_get_children_count (GST_CHILD_PROXY (sink)), g_hash_table_size (names));
  for (guint i = 0; i < N_THREADS; i++) {
    for (guint k = 0; k < pads[i]->len; k++)
      gst_element_release_request_pad (sink, g_ptr_array_index (pads[i], k));
    g_ptr_array_unref (pads[i]);
  }
}
GST_END_TEST;

static gint stop_pushing;
static gint is_starting; /* sources let the state go first, which the lock alone does not */
/* Held to read while a source pushes. Sources that go on from READY to PLAYING would have to begin
 * anew, which these do not; on the way down and while they are let go of nothing is held. */
static GRWLock start_lock;

/* Inputs that come, bring something and go. */
static gpointer
come_and_go (gpointer unused)
{
  while (!g_atomic_int_get (&stop_pushing)) {
    GstPad *source;

    while (g_atomic_int_get (&is_starting))
      g_usleep (100);
    g_rw_lock_reader_lock (&start_lock);
    source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
    for (guint i = 0; i < 5; i++)
      gst_pad_push (source, make_scan (10, i));
    g_rw_lock_reader_unlock (&start_lock);
    remove_source (source);
  }
  return NULL;
}

/* Meanwhile the state changes: a pad that is being released is none that a change of state waits
 * for, and what it still brings is not recorded. */
GST_START_TEST (test_inputs_come_and_go)
{
  GThread *threads[N_THREADS];

  g_object_set (sink, "overwrite", TRUE, "attach-pipeline", FALSE, "sync-interval",
      G_GUINT64_CONSTANT (0), NULL);
  g_atomic_int_set (&stop_pushing, FALSE);
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("inputs", come_and_go, NULL);
  for (guint i = 0; i < 100; i++) {
    g_atomic_int_set (&is_starting, TRUE);
    g_rw_lock_writer_lock (&start_lock);
    set_state (GST_STATE_PLAYING);
    g_atomic_int_set (&is_starting, FALSE);
    g_rw_lock_writer_unlock (&start_lock);
    g_usleep (1000);
    set_state (GST_STATE_READY);
  }
  g_atomic_int_set (&stop_pushing, TRUE);
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  set_state (GST_STATE_NULL);
  fail_if (has_message (GST_MESSAGE_ERROR));
}
GST_END_TEST;

/* What is made of events has their sequence numbers and their group. */
GST_START_TEST (test_origins)
{
  GstPad *source = gst_pad_new ("src", GST_PAD_SRC);
  GstPad *input = gst_element_request_pad_simple (sink, "data_%u");
  GstEvent *start = gst_event_new_stream_start ("stream");
  GstEvent *eos = gst_event_new_eos ();
  const guint32 seqnums[] = {gst_event_get_seqnum (start), gst_event_get_seqnum (eos)};
  GstMessage *message;
  guint group_id;

  fail_unless_equals_int (gst_pad_link (source, input), GST_PAD_LINK_OK);
  gst_object_unref (input);
  gst_pad_set_active (source, TRUE);
  set_state (GST_STATE_PLAYING);
  gst_event_set_group_id (start, 1234567);
  gst_pad_push_event (source, start);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_STREAM_START);
  fail_unless (message != NULL);
  fail_unless_equals_int (gst_message_get_seqnum (message), seqnums[0]);
  fail_unless (gst_message_parse_group_id (message, &group_id));
  fail_unless_equals_int (group_id, 1234567);
  gst_message_unref (message);
  gst_pad_push_event (source, eos);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_EOS);
  fail_unless (message != NULL);
  fail_unless_equals_int (gst_message_get_seqnum (message), seqnums[1]);
  gst_message_unref (message);
  remove_source (source);
}
GST_END_TEST;

static Suite *
mcapsink_inputs_suite (void)
{
  Suite *suite = suite_create ("mcapsink-inputs");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_inputs);
  tcase_add_test (tests, test_bad_scans);
  tcase_add_test (tests, test_organized);
  tcase_add_test (tests, test_caps);
  tcase_add_test (tests, test_bytes_segment);
  tcase_add_test (tests, test_pad_properties);
  tcase_add_test (tests, test_topic_while_playing);
  tcase_add_test (tests, test_pipeline_without_secrets);
  tcase_add_test (tests, test_events_from_outside);
  tcase_add_test (tests, test_names_without_utf8);
  tcase_add_test (tests, test_requests_of_threads);
  tcase_add_test (tests, test_inputs_come_and_go);
  tcase_add_test (tests, test_origins);
  return suite;
}

GST_CHECK_MAIN (mcapsink_inputs);
