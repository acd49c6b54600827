/* SPDX-License-Identifier: MIT */
/* What people write for files, in every property of ours that is one: paths, relative ones, "~",
 * URIs, names that are no UTF-8; and what is refused: FIFOs, "-", URIs of other machines. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/ndt-room.h"

#define NAME "M\xfcnchen 1#?"

typedef enum {
  AT_START, /* opened on the way to PAUSED */
  LATER,    /* opened with the first buffer, or beside the stream; its name is looked at here */
} When;

static const struct {
  const gchar *element, *property;
  When when;
  gboolean is_written;
  const gchar *content; /* NULL: the room's map, or nothing */
  const gchar *others;  /* properties that the element needs as well */
} properties[] = {
    {"hesaidec", "calibration-location", AT_START, FALSE, "", NULL},
    {"lidarpcapsrc", "location", AT_START, FALSE, "", NULL},
    {"mcapsink", "location", AT_START, TRUE, NULL, NULL},
    {"ndtlocalize", "map-location", AT_START, FALSE, NULL, NULL},
    {"ousterdec", "metadata-location", AT_START, FALSE,
        "{\"beam_altitude_angles\": [5, 0], \"beam_azimuth_angles\": [1, -1], "
        "\"prod_line\": \"OS-1-2\", \"lidar_mode\": \"32x10\"}",
        NULL},
    {"pcddec", "times-location", AT_START, FALSE, "1.5\n", NULL},
    {"pointclouddeskew", "location", AT_START, FALSE, "0 0 0 0 0 0 0 1\n", NULL},
    {"pointcloudrender", "map-location", LATER, FALSE, NULL, NULL},
    {"pointcloudview", "map-location", LATER, FALSE, NULL, "port=0"},
    {"poseinject", "location", AT_START, FALSE, "0 0 0 0 0 0 0 1\n", NULL},
    {"rawpointcloudparse", "times-location", AT_START, FALSE, "1.5\n", NULL},
    {"robosensedec", "calibration-location", AT_START, FALSE, "", NULL},
    {"rosbagsrc", "location", AT_START, FALSE, "", NULL},
    {"trajectorysink", "location", AT_START, TRUE, NULL, NULL},
    {"trajectorysink", "reference-location", AT_START, FALSE, "0 0 0 0 0 0 0 1\n", NULL},
    {"velodynedec", "calibration-location", AT_START, FALSE, "", NULL},
};

static gchar *folder, *path;

static void
setup (void)
{
  folder = g_dir_make_tmp ("locations-XXXXXX", NULL);
  path = g_build_filename (folder, NAME, NULL);
}

static void
teardown (void)
{
  g_unlink (path);
  fail_unless_equals_int (g_rmdir (folder), 0);
  g_free (path);
  g_free (folder);
}

/* Every property of ours that names a file is in the table. */
GST_START_TEST (test_all)
{
  GList *factories = gst_registry_get_feature_list (gst_registry_get (), GST_TYPE_ELEMENT_FACTORY);
  guint found = 0;

  for (GList *l = factories; l; l = l->next) {
    g_autoptr (GstElement) element = NULL;
    guint n;

    if (!g_str_equal (gst_element_factory_get_metadata (l->data, GST_ELEMENT_METADATA_AUTHOR),
            "The gst-ndt developers"))
      continue;
    element = gst_object_ref_sink (gst_element_factory_create (l->data, NULL));
    g_autofree GParamSpec **all = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
    for (guint i = 0; i < n; i++) {
      gboolean listed = FALSE;

      if (!g_str_has_suffix (all[i]->name, "location") || !(all[i]->flags & G_PARAM_WRITABLE) ||
          all[i]->flags & G_PARAM_DEPRECATED)
        continue;
      for (guint k = 0; k < G_N_ELEMENTS (properties); k++)
        listed |= g_str_equal (properties[k].property, all[i]->name) &&
                  g_str_equal (properties[k].element, GST_OBJECT_NAME (l->data));
      fail_unless (listed, "%s %s", GST_OBJECT_NAME (l->data), all[i]->name);
      found++;
    }
  }
  gst_plugin_feature_list_free (factories);
  fail_unless_equals_int (found, G_N_ELEMENTS (properties));
}
GST_END_TEST;

/* The error of a start with this location, NULL where there is none. */
static GError *
start (guint i, const gchar *location)
{
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autoptr (GstMessage) message = NULL;
  GstElement *element =
      gst_object_ref_sink (gst_element_factory_make (properties[i].element, NULL));
  GError *error = NULL;

  gst_element_set_bus (element, bus);
  g_object_set (element, properties[i].property, location, NULL);
  if (properties[i].others) {
    g_auto (GStrv) pair = g_strsplit (properties[i].others, "=", 2);
    gst_util_set_object_arg (G_OBJECT (element), pair[0], pair[1]);
  }
  const gboolean failed =
      gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE;
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (failed == (message != NULL), "%s %s: %s", properties[i].element,
      properties[i].property, failed ? "no message" : "an error that is none");
  if (message) {
    gst_message_parse_error (message, &error, NULL);
    fail_unless (g_utf8_validate (error->message, -1, NULL), "%s %s", properties[i].element,
        properties[i].property);
  }
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
  return error;
}

static void
write_content (guint i)
{
  g_autofree gchar *map = NULL;
  gsize size = 0;
  const gchar *content = properties[i].content;

  if (properties[i].is_written)
    return;
  if (!content) {
    fail_unless (g_file_get_contents (ndt_room_map (), &map, &size, NULL));
    content = map;
  } else {
    size = strlen (content);
  }
  fail_unless (g_file_set_contents (path, content, (gssize)size, NULL));
}

/* A file by all its names is the same file: what its content makes of the start is the same. */
GST_START_TEST (test_names)
{
  const guint i = (guint)__i__;
  g_autofree gchar *here = g_get_current_dir ();
  g_autofree gchar *uri = g_filename_to_uri (path, NULL, NULL);
  g_autofree gchar *local = g_strconcat ("file://localhost", uri + strlen ("file://"), NULL);
  const gchar *const names[] = {path, NAME, "./" NAME, "~/" NAME, uri, local};
  gint first_code = 0;

  g_setenv ("HOME", folder, TRUE);
  fail_unless_equals_int (g_chdir (folder), 0);
  write_content (i);
  for (guint k = 0; k < G_N_ELEMENTS (names); k++) {
    g_autoptr (GError) error = start (i, names[k]);

    fail_if (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
    if (k == 0)
      first_code = error ? error->code : -1;
    fail_unless_equals_int (error ? error->code : -1, first_code);
    /* Only what is in the file is wrong. */
    if (error && properties[i].content && *properties[i].content)
      fail (
          "%s %s=%s: %s", properties[i].element, properties[i].property, names[k], error->message);
    if (error)
      fail_if (strstr (error->message, "No such file") != NULL, "%s", error->message);
  }
  fail_unless_equals_int (g_chdir (here), 0);
}
GST_END_TEST;

/* None of these is waited for, and each is refused at the start, by what it is. */
GST_START_TEST (test_refused)
{
  const guint i = (guint)__i__;
  const gboolean is_written = properties[i].is_written;
  const gchar *const refused[] = {
      "-", "ftp://example.org/a", "file://elsewhere/a", "~nobody/a", path, "/dev/zero"};

  if (properties[i].when == LATER)
    return;
  fail_unless_equals_int (mkfifo (path, 0600), 0);
  for (guint k = 0; k < G_N_ELEMENTS (refused); k++) {
    g_autoptr (GError) error = NULL;

    /* A recorder opens its file with the first buffer, and devices are written to. */
    if (is_written && k >= 4)
      continue;
    error = start (i, refused[k]);
    fail_unless (
        error != NULL, "%s %s=%s", properties[i].element, properties[i].property, refused[k]);
    fail_unless (error->domain == GST_RESOURCE_ERROR, "%s %s=%s: %s", properties[i].element,
        properties[i].property, refused[k], error->message);
  }
}
GST_END_TEST;

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
locations_suite (void)
{
  Suite *suite = suite_create ("locations");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_unchecked_fixture (tests, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_all);
  tcase_add_loop_test (tests, test_names, 0, G_N_ELEMENTS (properties));
  tcase_add_loop_test (tests, test_refused, 0, G_N_ELEMENTS (properties));
  return suite;
}

GST_CHECK_MAIN (locations);
