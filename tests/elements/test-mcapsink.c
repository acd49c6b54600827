/* SPDX-License-Identifier: MIT */
/* What the files hold is checked in tests/record by readers that we did not write; here: states,
 * ends, files, errors. */
#include "mcapsink.h"

#include <sys/stat.h>
#include <unistd.h>

GST_START_TEST (test_records_until_eos)
{
  const GstStructure *closed;
  GstMessage *message;
  guint64 messages, bytes;
  GstPad *source;
  GStatBuf about;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 0, 0);
  push (source, 1, 1);
  push (source, 1000, 2);
  fail_if (has_message (GST_MESSAGE_EOS));
  gst_pad_push_event (source, gst_event_new_eos ());
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message && gst_message_has_name (message, "mcap-file-closed"));
  closed = gst_message_get_structure (message);
  fail_unless (gst_structure_get_uint64 (closed, "messages", &messages) && messages == 3);
  fail_unless_equals_int (g_stat (path, &about), 0);
  fail_unless (gst_structure_get_uint64 (closed, "bytes", &bytes));
  fail_unless_equals_uint64 (bytes, (guint64)about.st_size);
  fail_unless_equals_string (gst_structure_get_string (closed, "location"), path);
  gst_message_unref (message);
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
      {"-", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"~nobody/a.mcap", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"http://example.org/a.mcap", 0, GST_RESOURCE_ERROR_SETTINGS},
      {"/", 0, GST_RESOURCE_ERROR_SETTINGS},
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

/* Of two chunks' worth of memory: they are written before they are full. */
GST_START_TEST (test_memory_of_chunks)
{
  GstPad *source;

  g_object_set (sink, "max-memory", G_GUINT64_CONSTANT (100000), "chunk-size", 1 << 20,
      "chunk-duration", G_GUINT64_CONSTANT (0), NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  for (guint i = 0; i < 20; i++)
    push (source, 1000, i);
  /* 20 of 12,000 bytes, three of which fit twice beside an index of some hundreds. */
  fail_unless (get_stat ("chunks") >= 4, "%" G_GUINT64_FORMAT, get_stat ("chunks"));
  /* One that fits nowhere. */
  fail_unless_equals_int (gst_pad_push (source, make_scan (5000, 30)), GST_FLOW_ERROR);
  expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
  set_state (GST_STATE_READY);
  remove_source (source);
  expect_complete (path);
}
GST_END_TEST;

/* The index of a file grows by each chunk. */
GST_START_TEST (test_memory_of_index)
{
  for (guint several = 0; several < 2; several++) {
    g_autofree gchar *pattern = g_build_filename (folder, "%d.mcap", NULL);
    GstPad *source;
    guint i;

    g_object_set (sink, "location", several ? pattern : path, "max-memory",
        G_GUINT64_CONSTANT (20000), "chunk-size", 1, "attach-pipeline", FALSE, NULL);
    set_state (GST_STATE_PLAYING);
    source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
    for (i = 0; i < 1000; i++)
      if (gst_pad_push (source, make_scan (1, i)) != GST_FLOW_OK)
        break;
    if (several) {
      fail_unless_equals_int (i, 1000);
      fail_unless (get_stat ("files") > 1);
      fail_unless_equals_uint64 (get_stat ("messages"), 1000);
      gst_pad_push_event (source, gst_event_new_eos ());
    } else {
      /* At least 64 bytes a chunk. */
      fail_unless (i > 50 && i < 20000 / 64, "%u", i);
      expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
    }
    set_state (GST_STATE_READY);
    remove_source (source);
    if (!several)
      expect_complete (path);
  }
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

/* Who deletes a recording is not told by the file system, and the recorder says so: with the next
 * chunk or at the end. */
GST_START_TEST (test_deleted)
{
  for (guint at_end = 0; at_end < 2; at_end++) {
    GstPad *source;

    g_object_set (sink, "chunk-size", 1, NULL);
    set_state (GST_STATE_PLAYING);
    source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
    push (source, 10, 0);
    fail_unless_equals_int (g_unlink (path), 0);
    if (at_end)
      gst_pad_push_event (source, gst_event_new_eos ());
    else
      fail_unless_equals_int (gst_pad_push (source, make_scan (10, 1)), GST_FLOW_ERROR);
    expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE);
    fail_if (has_message (GST_MESSAGE_EOS));
    fail_if (g_file_test (path, G_FILE_TEST_EXISTS));
    set_state (GST_STATE_READY);
    remove_source (source);
  }
}
GST_END_TEST;

static void
push_map (GstPad *source, const gchar *location, const gchar *digest)
{
  GstStructure *structure =
      gst_structure_new ("ndt-map", "location", G_TYPE_STRING, location, NULL);

  if (digest)
    gst_structure_set (structure, "sha256", G_TYPE_STRING, digest, NULL);
  gst_pad_push_event (source, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, structure));
}

/* The checksums of a map are held up: pushes, the next file and the change of state do not wait for
 * them. What comes late is in the file at hand. */
GST_START_TEST (test_digest_is_not_waited_for)
{
  g_autofree gchar *pattern = g_build_filename (folder, "%d.mcap", NULL);
  GstPad *source;

  g_object_set (sink, "location", pattern, "max-size-time", G_GUINT64_CONSTANT (10), NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push_map (source, "/maps/town.pcd", NULL);
  for (guint i = 0; i < 5; i++)
    push (source, 1, 10 * i);
  fail_unless_equals_uint64 (get_stat ("files"), 5);
  push_map (source, "/maps/town.pcd", "0123  /maps/town.pcd\n");
  push (source, 1, 41);
  set_state (GST_STATE_NULL);
  remove_source (source);
  for (guint i = 0; i < 5; i++) {
    g_free (path);
    path = g_strdup_printf ("%s/%u.mcap", folder, i);
    expect_complete (path);
    expect_content (i == 4, "0123  /maps/town.pcd");
  }
}
GST_END_TEST;

/* The checksums come in the event, at once or later. */
GST_START_TEST (test_digest_of_event)
{
  GstPad *source;

  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push_map (source, "/nonexistent/a", "0123  /nonexistent/a\n");
  push (source, 1, 0);
  push_map (source, "/nonexistent/b", "4567  /nonexistent/b\n");
  push (source, 1, 1);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  expect_content (TRUE, "0123  /nonexistent/a\n");
  expect_content (TRUE, "4567  /nonexistent/b\n");
  remove_source (source);
}
GST_END_TEST;

/* A URI is the path that it means. */
GST_START_TEST (test_uri)
{
  g_autofree gchar *uri = g_filename_to_uri (path, NULL, NULL);
  GstPad *source;

  g_object_set (sink, "location", uri, NULL);
  set_state (GST_STATE_PLAYING);
  source = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (source, 1, 0);
  gst_pad_push_event (source, gst_event_new_eos ());
  expect_complete (path);
  remove_source (source);
}
GST_END_TEST;

/* Two recorders of one file: the second is refused, and the first goes on. */
GST_START_TEST (test_two_of_a_file)
{
  GstElement *one = gst_element_factory_make ("mcapsink", NULL), *other = sink;
  GstPad *sources[2];

  g_object_set (one, "location", path, "overwrite", TRUE, NULL);
  g_object_set (other, "overwrite", TRUE, NULL);
  gst_bin_add (GST_BIN (pipeline), one);
  set_state (GST_STATE_PLAYING);
  sources[1] = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  sink = one;
  sources[0] = add_source ("cloud_%u", CAPS, GST_FORMAT_TIME);
  push (sources[0], 10, 0);
  fail_unless_equals_int (gst_pad_push (sources[1], make_scan (1, 0)), GST_FLOW_ERROR);
  expect_error (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY);
  push (sources[0], 10, 1);
  gst_pad_push_event (sources[0], gst_event_new_eos ());
  expect_complete (path);
  fail_unless_equals_uint64 (get_stat ("messages"), 2);
  remove_source (sources[0]);
  sink = other;
  remove_source (sources[1]);
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
  tcase_add_test (tests, test_paused);
  tcase_add_test (tests, test_end_is_told_again);
  tcase_add_test (tests, test_end_is_told_once);
  tcase_add_test (tests, test_locations);
  tcase_add_test (tests, test_numbers);
  tcase_add_test (tests, test_memory_of_chunks);
  tcase_add_test (tests, test_memory_of_index);
  tcase_add_test (tests, test_no_folder);
  tcase_add_test (tests, test_reserved);
  tcase_add_test (tests, test_pipe);
  tcase_add_test (tests, test_pause_of_the_stream);
  tcase_add_test (tests, test_end_after_flush);
  tcase_add_test (tests, test_deleted);
  tcase_add_test (tests, test_digest_is_not_waited_for);
  tcase_add_test (tests, test_digest_of_event);
  tcase_add_test (tests, test_uri);
  tcase_add_test (tests, test_two_of_a_file);
  return suite;
}

GST_CHECK_MAIN (mcapsink);
