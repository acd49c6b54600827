/* SPDX-License-Identifier: MIT */
/* What all decoders have in common: names, caps and links. */
#include <gst/check/gstcheck.h>

#include <string.h>

static const gchar *const decoders[] = {"velodynedec", "hesaidec", "robosensedec", "ousterdec"};

/* A property's old name is an error that says the one that it has. */
GST_START_TEST (test_renamed)
{
  static const gchar *const names[][3] = {
      {"velodynedec calibration=a", "calibration", "calibration-location"},
      {"hesaidec calibration=a", "calibration", "calibration-location"},
      {"robosensedec calibration=a", "calibration", "calibration-location"},
      {"ousterdec metadata=a", "metadata", "metadata-location"},
      {"lidarpcapsrc port=1", "port", "dst-port"},
      {"lidarpcapsrc address=1.1.1.1", "address", "src-ip"}};
  g_autoptr (GstElement) element = gst_parse_launch (names[__i__][0], NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autoptr (GError) error = NULL;
  fail_unless (element != NULL);
  gst_element_set_bus (element, bus);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, names[__i__][1]) && strstr (error->message, names[__i__][2]),
      "%s", error->message);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
}
GST_END_TEST;

/* Packets, and what has no caps; nothing else. */
GST_START_TEST (test_links)
{
  static const struct {
    const gchar *source;
    gboolean links;
  } sources[] = {{"lidarpcapsrc", TRUE}, {"udpsrc", TRUE}, {"appsrc", TRUE}, {"fakesrc", TRUE},
      {"videotestsrc", FALSE}, {"audiotestsrc", FALSE}, {"lidartestsrc", FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++) {
    g_autofree gchar *line =
        g_strdup_printf ("%s ! %s ! fakesink", sources[i].source, decoders[__i__]);
    g_autoptr (GError) error = NULL;
    g_autoptr (GstElementFactory) factory = gst_element_factory_find (sources[i].source);
    /* Of another package, which need not be there. */
    if (!factory)
      continue;
    g_autoptr (GstElement) pipeline = gst_parse_launch (line, &error);
    fail_unless ((error == NULL) == sources[i].links, "%s", line);
  }
}
GST_END_TEST;

GST_START_TEST (test_names)
{
  g_autoptr (GstElement) element = gst_element_factory_make (decoders[__i__], NULL);
  g_autofree gchar *expected = g_strdup_printf ("application/x-%s-stats", decoders[__i__]);
  g_autoptr (GstStructure) stats = NULL;
  g_object_get (element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_name (stats), expected);
  /* gst-launch's GST_DEBUG=velodynedec:5 finds it. */
  GSList *all = gst_debug_get_all_categories ();
  gboolean is_there = FALSE;
  for (GSList *l = all; l; l = l->next)
    is_there |= g_str_equal (gst_debug_category_get_name (l->data), decoders[__i__]);
  g_slist_free (all);
  fail_unless (is_there);
}
GST_END_TEST;

static Suite *
decoders_suite (void)
{
  Suite *suite = suite_create ("decoders");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_renamed, 0, 6);
  tcase_add_loop_test (tests, test_links, 0, G_N_ELEMENTS (decoders));
  tcase_add_loop_test (tests, test_names, 0, G_N_ELEMENTS (decoders));
  return suite;
}

GST_CHECK_MAIN (decoders);
