/* SPDX-License-Identifier: MIT */
/* ndtlocalize's properties: bounds, texts and maps that cannot be used. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

static GstBuffer *
scan_with (guint index, GstPoseRole role, const NdtPose *pose)
{
  GstBuffer *scan = ndt_room_scan (index);
  gst_buffer_add_pose_meta (scan, role, pose->position, pose->orientation);
  return scan;
}

/* The next warning that is not about a scan. */
static GError *
wait_for_warning (GstHarness *h)
{
  GError *error = NULL;
  while (!error) {
    ndt_wait_for ((error = ndt_harness_error (h->element, GST_MESSAGE_WARNING)));
    if (error->domain == GST_STREAM_ERROR)
      g_clear_error (&error);
  }
  return error;
}

static GstMessage *
pass_for_map (GstHarness *h)
{
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  return ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-map");
}

/* Passes scans until a new map is used. */
static void
assert_new_map (GstHarness *h, const gchar *location)
{
  g_autoptr (GstMessage) message = NULL;
  ndt_wait_for ((message = pass_for_map (h)));
  const GstStructure *structure = gst_message_get_structure (message);
  guint64 scan;
  fail_unless_equals_string (gst_structure_get_string (structure, "location"), location);
  fail_unless (gst_structure_get_uint64 (structure, "scan", &scan) && scan > 0);
}

/* Whatever notifications are put together, the last comes when the value is what it stays. */
static void
note_map (GObject *object, GParamSpec *spec, gpointer user_data)
{
  static GMutex lock;
  gchar **noted = user_data;
  g_mutex_lock (&lock);
  g_free (*noted);
  g_object_get (object, "map-location", noted, NULL);
  g_mutex_unlock (&lock);
}

GST_START_TEST (test_map_changes_while_playing)
{
  static const double offset[3] = {100, -50, 2};
  g_autofree gchar *moved = g_strconcat (ndt_room_map (), ".moved.pcd", NULL);
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  ndt_room_write_map (moved, offset);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  g_object_set (h->element, "map-location", moved, NULL);
  assert_new_map (h, moved);

  NdtPose pose;
  ndt_room_pose (1, &pose);
  for (guint k = 0; k < 3; k++)
    pose.position[k] += offset[k];
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_with (1, GST_POSE_ROLE_PRIOR, &pose));
  fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
  const NdtPose found = ndt_harness_pose_of (out);
  double metres;
  ndt_pose_difference (&pose, &found, &metres, NULL);
  fail_unless (metres <= 0.03); /* as in test-ndtlocalize.c */

  /* One that cannot be read changes nothing … */
  g_autofree gchar *noted = NULL;
  const gulong handler =
      g_signal_connect (h->element, "notify::map-location", G_CALLBACK (note_map), &noted);
  g_object_set (h->element, "map-location", "/nowhere/map.pcd", NULL);
  g_autoptr (GError) warning = wait_for_warning (h);
  fail_unless (g_error_matches (warning, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ));
  fail_unless (strstr (warning->message, "/nowhere/map.pcd") &&
                   strstr (warning->message, "going on with the one before"),
      "%s", warning->message);
  fail_unless_equals_int (ndt_harness_pass_status (h, scan_with (1, GST_POSE_ROLE_PRIOR, &pose)),
      GST_POSE_STATUS_TRACKING);
  g_autofree gchar *location = NULL;
  g_object_get (h->element, "map-location", &location, NULL);
  fail_unless_equals_string (location, moved);
  g_signal_handler_disconnect (h->element, handler);
  fail_unless_equals_string (noted, moved);

  /* … and does not stand in the way of what is set later, */
  g_object_set (h->element, "resolution", 1.5, NULL);
  assert_new_map (h, moved);
  /* nor of what is set beside it. */
  g_object_set (h->element, "map-location", "/nowhere/map.pcd", "resolution", 2.0, NULL);
  assert_new_map (h, moved);
  gdouble resolution;
  g_object_get (h->element, "resolution", &resolution, NULL);
  fail_unless (resolution == 2.0);
  g_autoptr (GError) again = wait_for_warning (h);
  fail_unless (strstr (again->message, "/nowhere/map.pcd") != NULL);

  /* The same for cells in which no voxel can be. */
  g_object_set (h->element, "resolution", 0.01, NULL);
  g_autoptr (GError) empty = wait_for_warning (h);
  fail_unless (empty != NULL);
  g_object_get (h->element, "resolution", &resolution, NULL);
  fail_unless (resolution == 2.0);
  g_object_set (h->element, "map-location", ndt_room_map (), NULL);
  assert_new_map (h, ndt_room_map ());
  ndt_harness_free (h);
  g_unlink (moved);
}
GST_END_TEST

/* What is set while a map is read that will be refused is used with the map that stays. The
 * folder's first file shows that reading has begun, its second is no map. */
GST_START_TEST (test_change_while_map_is_refused)
{
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-map-XXXXXX", NULL);
  g_autofree gchar *readable = g_build_filename (folder, "1.pcd", NULL);
  g_autofree gchar *refused = g_build_filename (folder, "2.pcd", NULL);
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  struct inotify_event event;

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  fail_unless_equals_int (symlink (ndt_room_map (), readable), 0);
  fail_unless (g_file_set_contents (refused, "no points", -1, NULL));
  const int opened = inotify_init1 (IN_CLOEXEC);
  fail_unless (inotify_add_watch (opened, ndt_room_map (), IN_OPEN) >= 0);

  g_object_set (h->element, "map-location", folder, NULL);
  fail_unless_equals_int (read (opened, &event, sizeof event), sizeof event);
  g_object_set (h->element, "resolution", 2.0, NULL);
  assert_new_map (h, ndt_room_map ());
  close (opened);

  gdouble resolution;
  g_autofree gchar *location = NULL;
  g_object_get (h->element, "resolution", &resolution, "map-location", &location, NULL);
  fail_unless (resolution == 2.0);
  fail_unless_equals_string (location, ndt_room_map ());
  g_autoptr (GError) warning = wait_for_warning (h);
  fail_unless (strstr (warning->message, refused) != NULL, "%s", warning->message);
  ndt_harness_free (h);
  g_unlink (readable);
  g_unlink (refused);
  g_rmdir (folder);
}
GST_END_TEST

static gboolean
has_default_bounds (GParamSpec *spec)
{
  return G_IS_PARAM_SPEC_DOUBLE (spec) || G_IS_PARAM_SPEC_FLOAT (spec) ||
         G_IS_PARAM_SPEC_UINT (spec) || G_IS_PARAM_SPEC_UINT64 (spec) || G_IS_PARAM_SPEC_INT (spec);
}

/* Smallest or largest value that a property takes. */
static void
bound (GParamSpec *spec, gboolean upper, GValue *value)
{
  g_value_init (value, spec->value_type);
  if (G_IS_PARAM_SPEC_DOUBLE (spec))
    g_value_set_double (
        value, upper ? G_PARAM_SPEC_DOUBLE (spec)->maximum : G_PARAM_SPEC_DOUBLE (spec)->minimum);
  else if (G_IS_PARAM_SPEC_FLOAT (spec))
    g_value_set_float (
        value, upper ? G_PARAM_SPEC_FLOAT (spec)->maximum : G_PARAM_SPEC_FLOAT (spec)->minimum);
  else if (G_IS_PARAM_SPEC_UINT (spec))
    g_value_set_uint (
        value, upper ? G_PARAM_SPEC_UINT (spec)->maximum : G_PARAM_SPEC_UINT (spec)->minimum);
  else if (G_IS_PARAM_SPEC_UINT64 (spec))
    g_value_set_uint64 (
        value, upper ? G_PARAM_SPEC_UINT64 (spec)->maximum : G_PARAM_SPEC_UINT64 (spec)->minimum);
  else
    g_value_set_int (
        value, upper ? G_PARAM_SPEC_INT (spec)->maximum : G_PARAM_SPEC_INT (spec)->minimum);
}

/* Each property at its bounds, and that the stream goes on with it while playing. */
GST_START_TEST (test_property_bounds)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  guint n_specs;
  g_autofree GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (h->element), &n_specs);

  for (guint i = 0; i < n_specs; i++) {
    GParamSpec *spec = specs[i];
    if (spec->owner_type != G_OBJECT_TYPE (h->element) || !has_default_bounds (spec) ||
        !(spec->flags & GST_PARAM_MUTABLE_PLAYING) ||
        g_str_has_prefix (spec->name, "batch-timeout"))
      continue;
    GValue before = G_VALUE_INIT;
    g_value_init (&before, spec->value_type);
    g_object_get_property (G_OBJECT (h->element), spec->name, &before);
    for (guint upper = 0; upper < 2; upper++) {
      GValue set = G_VALUE_INIT, got = G_VALUE_INIT;
      bound (spec, upper, &set);
      g_value_init (&got, spec->value_type);
      g_object_set_property (G_OBJECT (h->element), spec->name, &set);
      g_object_get_property (G_OBJECT (h->element), spec->name, &got);
      /* Degrees are kept as rad. */
      if (G_IS_PARAM_SPEC_DOUBLE (spec))
        fail_unless (fabs (g_value_get_double (&set) - g_value_get_double (&got)) <=
                         1e-12 * fabs (g_value_get_double (&set)),
            "%s", spec->name);
      else
        fail_unless (gst_value_compare (&set, &got) == GST_VALUE_EQUAL, "%s", spec->name);
      gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
      g_value_unset (&set);
      g_value_unset (&got);
    }
    g_object_set_property (G_OBJECT (h->element), spec->name, &before);
    g_value_unset (&before);
  }
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_ERROR, NULL) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* Nor do ranges that would leave no point. */
GST_START_TEST (test_unusable_ranges)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "max-range", 50.0, NULL);
  gdouble min_range = -1;
  g_object_set (h->element, "min-range", 60.0, NULL);
  g_object_get (h->element, "min-range", &min_range, NULL);
  fail_unless (min_range == 0);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (g_error_matches (warning, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
  fail_unless (strstr (warning->message, "below max-range, 50 m") != NULL, "%s", warning->message);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);

  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", ndt_room_map (), "min-range", 50.0, "max-range", 10.0,
      "backend", 2, NULL);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
  g_autoptr (GError) error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
  fail_unless (strstr (error->message, "min-range") != NULL, "%s", error->message);
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

/* A list that cannot be used is said and changes nothing. */
GST_START_TEST (test_unusable_lists)
{
  static const struct {
    const gchar *property;
    const gchar *value;
    const gchar *said;
  } cases[] = {
      {"fixed-covariance", "<1,1,1,1,1,-1>", "<1, 1, 1, 1, 1, -1>"},
      {"fixed-covariance", "<1,1>", "six variances"},
      {"covariance-offsets", "<1,2,3>", "<1, 2, 3>"},
      {"covariance-offsets", "<1,2>", "2 to 32 pairs"},
      {"extra-terms", "pose.x - wheel", "column 10"},
      {"extra-terms", "pose.x - wheel", "there are pose, prior, odometry, first"},
      {"extra-terms", "prior.x", "does not depend on the pose"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    /* While playing: a warning that names both, and the value before stays. */
    g_autofree gchar *start = ndt_harness_pose (0);
    GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
    g_autofree gchar *beginning =
        g_strdup_printf ("The property %s stays as it was: ", cases[i].property);
    g_autofree gchar *before = ndt_harness_get (h->element, cases[i].property);
    ndt_harness_set (h->element, cases[i].property, cases[i].value, NULL);
    g_autofree gchar *after = ndt_harness_get (h->element, cases[i].property);
    fail_unless_equals_string (before, after);
    g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
    fail_unless (g_error_matches (warning, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (
        g_str_has_prefix (warning->message, beginning) && strstr (warning->message, cases[i].said),
        "%s", warning->message);

    /* It does not stand in the way of others. */
    g_object_set (h->element, "outlier-ratio", 0.4, NULL);
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
    g_autoptr (GstMessage) settings =
        ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-settings");
    fail_unless (settings != NULL, "%s=%s holds others up", cases[i].property, cases[i].value);
    gdouble ratio = 0;
    fail_unless (
        gst_structure_get_double (gst_message_get_structure (settings), "outlier-ratio", &ratio));
    fail_unless (ratio == 0.4);
    fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
    ndt_harness_free (h);

    /* At the start: an error that names the property. */
    GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
    g_autoptr (GstBus) bus = gst_bus_new ();
    gst_element_set_bus (element, bus);
    ndt_harness_set (
        element, "map-location", ndt_room_map (), cases[i].property, cases[i].value, NULL);
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    g_autoptr (GstMessage) message = ndt_harness_message (element, GST_MESSAGE_ERROR, NULL);
    g_autoptr (GError) error = NULL;
    gst_message_parse_error (message, &error, NULL);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (strstr (error->message, cases[i].property) != NULL, "%s", error->message);
    ndt_harness_drop_messages (element);
    gst_element_set_bus (element, NULL);
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (element);
  }
}
GST_END_TEST

/* A text that is no pose, box or list never becomes a value. */
GST_START_TEST (test_unreadable_texts)
{
  static const struct {
    const gchar *property;
    const gchar *value;
  } cases[] = {
      {"initial-pose", "1,2"},
      {"initial-pose", "nowhere"},
      {"sensor-pose", "1,2,3,0,0,0,0"},
      {"crop-box", "0,0,0,1,1"},
      {"crop-box", "1,0,0,0,1,1"},
  };
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "sensor-pose", "0,0,1", "crop-box",
      "-100,-100,-100,100,100,100", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *before = ndt_harness_get (h->element, cases[i].property);
    ndt_harness_set (h->element, cases[i].property, cases[i].value, NULL);
    g_autofree gchar *after = ndt_harness_get (h->element, cases[i].property);
    fail_unless_equals_string (before, after);
    g_autoptr (GstElement) element = NULL;
    g_autoptr (GError) error = NULL;
    g_autofree gchar *line =
        g_strdup_printf ("ndtlocalize %s=%s", cases[i].property, cases[i].value);
    element = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    fail_unless (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_COULD_NOT_SET_PROPERTY));
  }
  /* What is written is what is read, also in a preset. */
  g_autofree gchar *pose = ndt_harness_get (h->element, "initial-pose");
  fail_unless (strstr (pose, start) != NULL, "%s is not %s", pose, start);
  fail_unless (GST_IS_PRESET (h->element));
  ndt_harness_free (h);
}
GST_END_TEST

/* Names of the release before: the element does not start, and names the one that is. */
GST_START_TEST (test_renamed)
{
  static const struct {
    const gchar *name;
    const gchar *value;
    const gchar *now;
  } cases[] = {
      {"map", "map.pcd", "map-location"},
      {"deadline", "5", "max-lateness"},
      {"threads", "2", "n-threads"},
      {"step-size", "0.1", "max-translation-step"},
      {"pose-timeout", "100", "pose-latency"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GstElement) element =
        gst_object_ref_sink (gst_element_factory_make ("ndtlocalize", NULL));
    g_autoptr (GstBus) bus = gst_bus_new ();
    gst_element_set_bus (element, bus);
    gst_util_set_object_arg (G_OBJECT (element), cases[i].name, cases[i].value);
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    g_autoptr (GError) error = ndt_harness_error (element, GST_MESSAGE_ERROR);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (strstr (error->message, cases[i].now) != NULL, "%s", error->message);
    ndt_harness_drop_messages (element);
    gst_element_set_bus (element, NULL);
    gst_element_set_state (element, GST_STATE_NULL);
  }
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_properties_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-properties");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_map_changes_while_playing);
  tcase_add_test (tc, test_change_while_map_is_refused);
  tcase_add_test (tc, test_property_bounds);
  tcase_add_test (tc, test_unusable_lists);
  tcase_add_test (tc, test_unreadable_texts);
  tcase_add_test (tc, test_renamed);
  tcase_add_test (tc, test_unusable_ranges);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_properties)
