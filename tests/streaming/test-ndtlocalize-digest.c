/* SPDX-License-Identifier: MIT */
/* The event "ndt-map": which map scans are aligned with, and its checksums once they are known. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/ndt/engine/gstndtdigest.h"
#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

static GMutex lock;
static GCond changed;
static gboolean held;
static gint n_reading;

static void
hold_up (void)
{
  g_atomic_int_inc (&n_reading);
  g_mutex_lock (&lock);
  while (held)
    g_cond_wait (&changed, &lock);
  g_mutex_unlock (&lock);
}

static void
release (void)
{
  g_mutex_lock (&lock);
  held = FALSE;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
}

/* The newest "ndt-map" on the source pad. */
static GstEvent *
get_map_event (GstHarness *h)
{
  g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");
  GstEvent *event;
  for (guint i = 0; (event = gst_pad_get_sticky_event (src, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, i));
       i++) {
    if (gst_event_has_name (event, "ndt-map"))
      return event;
    gst_event_unref (event);
  }
  return NULL;
}

static gchar *
dup_digest (GstHarness *h)
{
  g_autoptr (GstEvent) event = get_map_event (h);
  fail_unless (event != NULL);
  const GstStructure *structure = gst_event_get_structure (event);
  fail_unless_equals_string (gst_structure_get_string (structure, "location"), ndt_room_map ());
  return g_strdup (gst_structure_get_string (structure, "sha256"));
}

static gchar *
expected_digest (void)
{
  g_autofree gchar *bytes = NULL;
  gsize size;
  fail_unless (g_file_get_contents (ndt_room_map (), &bytes, &size, NULL));
  g_autofree gchar *sum =
      g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)bytes, size);
  return g_strdup_printf ("%s  %s\n", sum, ndt_room_map ());
}

static gchar *
pass_for_digest (GstHarness *h)
{
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  return dup_digest (h);
}

/* It comes with a later scan; scans do not wait for it. */
GST_START_TEST (test_digest)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  g_autofree gchar *expected = expected_digest ();
  g_autofree gchar *digest = NULL;
  held = TRUE;
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint i = 0; i < 5; i++) {
    g_autofree gchar *none = pass_for_digest (h);
    fail_unless (none == NULL);
  }
  release ();
  ndt_wait_for ((digest = pass_for_digest (h)));
  fail_unless_equals_string (digest, expected);
  ndt_harness_free (h);
}
GST_END_TEST

/* Or at the end. */
GST_START_TEST (test_digest_at_the_end)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  held = TRUE;
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  release ();
  g_autoptr (GstNdtDigest) other = gst_ndt_digest_new (ndt_room_map ());
  ndt_wait_for (gst_ndt_digest_get (other));
  ndt_wait_for (g_atomic_int_get (&n_reading) == 2);
  g_usleep (50000); /* the element's has begun before the other one */
  gst_harness_push_event (h, gst_event_new_eos ());
  g_autoptr (GstEvent) eos = NULL;
  do {
    g_clear_pointer (&eos, gst_event_unref);
    eos = gst_harness_pull_event (h);
  } while (GST_EVENT_TYPE (eos) != GST_EVENT_EOS);
  g_autofree gchar *digest = dup_digest (h);
  fail_unless_equals_string (digest, gst_ndt_digest_get (other));
  ndt_harness_free (h);
}
GST_END_TEST

/* Nobody waits for one that takes long: neither the end of the stream nor another map nor the stop.
 */
GST_START_TEST (test_held_up)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  held = TRUE;
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  ndt_wait_for (g_atomic_int_get (&n_reading) == 1);
  g_object_set (h->element, "resolution", 2.0, NULL);
  g_autoptr (GstMessage) message = NULL;
  for (guint i = 0; !message; i++) {
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
    message = ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-map");
  }
  ndt_wait_for (g_atomic_int_get (&n_reading) == 2);
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (
      gst_element_set_state (h->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  ndt_harness_free (h);
  release ();
  g_usleep (20000); /* the threads end */
}
GST_END_TEST

/* Before the tests fork. */
static void
begin (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  gst_ndt_digest_before_reading = hold_up;
  ndt_room_map ();
}

static Suite *
ndtlocalize_digest_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-digest");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, begin, ndt_room_remove_map);
  tcase_add_test (tc, test_digest);
  tcase_add_test (tc, test_digest_at_the_end);
  tcase_add_test (tc, test_held_up);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_digest);
