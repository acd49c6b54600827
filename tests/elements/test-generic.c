/* SPDX-License-Identifier: MIT */
/* What holds for every element of ours: those in the plugins of GST_PLUGIN_PATH_1_0. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <gst/base/gstbasesink.h>
#include <math.h>
#include <string.h>

#include "tests/ndt-room.h"
#include "tests/ndt-warnings.h"

typedef void (*FactoryFunc) (GstElementFactory *factory);

static gboolean
plugin_is_ours (GstPlugin *plugin)
{
  g_auto (GStrv) folders = g_strsplit (g_getenv ("GST_PLUGIN_PATH_1_0"), ":", -1);
  const gchar *filename = gst_plugin_get_filename (plugin);
  g_autofree gchar *folder = filename ? g_path_get_dirname (filename) : NULL;

  return folder && g_strv_contains ((const gchar *const *)folders, folder);
}

/* Calls @function with each of our factories; fails where a folder has a plugin less than it
 * should. */
static void
for_each_factory (FactoryFunc function)
{
  GstRegistry *registry = gst_registry_get ();
  GList *plugins = gst_registry_get_plugin_list (registry);
  guint n_plugins = 0, n_factories = 0;
  g_auto (GStrv) folders = g_strsplit (g_getenv ("GST_PLUGIN_PATH_1_0"), ":", -1);

  for (GList *p = plugins; p; p = p->next) {
    GList *features;

    if (!plugin_is_ours (p->data))
      continue;
    n_plugins++;
    fail_unless_equals_string (gst_plugin_get_license (p->data), "MIT/X11");
    features = gst_registry_get_feature_list_by_plugin (registry, gst_plugin_get_name (p->data));
    for (GList *f = features; f; f = f->next) {
      if (!GST_IS_ELEMENT_FACTORY (f->data))
        continue;
      n_factories++;
      function (f->data);
    }
    gst_plugin_feature_list_free (features);
  }
  gst_plugin_list_free (plugins);
  fail_unless (n_plugins >= g_strv_length (folders), "%u plugins in %s", n_plugins,
      g_getenv ("GST_PLUGIN_PATH_1_0"));
  fail_unless (n_factories >= n_plugins);
}

static GstElement *
make (GstElementFactory *factory)
{
  GstElement *element = gst_element_factory_create (factory, NULL);

  fail_unless (element != NULL, "%s", GST_OBJECT_NAME (factory));
  return gst_object_ref_sink (element);
}

static void
check_metadata (GstElementFactory *factory)
{
  static const gchar *const keys[] = {GST_ELEMENT_METADATA_LONGNAME, GST_ELEMENT_METADATA_KLASS,
      GST_ELEMENT_METADATA_DESCRIPTION, GST_ELEMENT_METADATA_AUTHOR};

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    const gchar *value = gst_element_factory_get_metadata (factory, keys[i]);

    fail_unless (value && *value, "%s has no %s", GST_OBJECT_NAME (factory), keys[i]);
  }
  for (const GList *t = gst_element_factory_get_static_pad_templates (factory); t; t = t->next) {
    g_autoptr (GstCaps) caps =
        gst_static_caps_get (&((GstStaticPadTemplate *)t->data)->static_caps);

    fail_unless (caps && !gst_caps_is_empty (caps), "%s", GST_OBJECT_NAME (factory));
  }
}

GST_START_TEST (test_metadata)
{
  for_each_factory (check_metadata);
}
GST_END_TEST;

/* READY needs no map and no file, and two instances do not hinder each other. */
static void
check_states (GstElementFactory *factory)
{
  GstElement *elements[2] = {make (factory), make (factory)};

  for (guint round = 0; round < 2; round++) {
    for (guint i = 0; i < 2; i++)
      fail_unless_equals_int (
          gst_element_set_state (elements[i], GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    for (guint i = 0; i < 2; i++)
      fail_unless_equals_int (
          gst_element_set_state (elements[i], GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  for (guint i = 0; i < 2; i++)
    gst_check_object_destroyed_on_unref (elements[i]);
}

GST_START_TEST (test_states)
{
  for_each_factory (check_states);
}
GST_END_TEST;

static void
set_and_compare (GstElement *element, GParamSpec *property, const GValue *value)
{
  GValue read = G_VALUE_INIT;

  g_object_set_property (G_OBJECT (element), property->name, value);
  g_value_init (&read, property->value_type);
  g_object_get_property (G_OBJECT (element), property->name, &read);
  fail_unless (g_param_values_cmp (property, value, &read) == 0, "%s.%s is not what was set",
      G_OBJECT_TYPE_NAME (element), property->name);
  g_value_unset (&read);
}

/* As gst-launch-1.0 sets it. */
static void
set_text_and_compare (GstElement *element, GParamSpec *property, const GValue *value)
{
  g_autofree gchar *text = gst_value_serialize (value);
  GValue read = G_VALUE_INIT;

  gst_util_set_object_arg (G_OBJECT (element), property->name, text);
  g_value_init (&read, property->value_type);
  g_object_get_property (G_OBJECT (element), property->name, &read);
  fail_unless (g_param_values_cmp (property, value, &read) == 0, "%s.%s=%s is not what was set",
      G_OBJECT_TYPE_NAME (element), property->name, text);
  g_value_unset (&read);
}

/* Out of range is refused by a message of GLib, which names the property; the value stays. */
static void
refuse (GstElement *element, GParamSpec *property, const GValue *refused)
{
  GValue before = G_VALUE_INIT, after = G_VALUE_INIT;

  g_value_init (&before, property->value_type);
  g_value_init (&after, property->value_type);
  g_object_get_property (G_OBJECT (element), property->name, &before);
  /* As ASSERT_WARNING and ASSERT_CRITICAL: it is the one in GLib 2.74 and the other in 2.84. */
  _gst_check_expecting_log = TRUE;
  _gst_check_raised_warning = _gst_check_raised_critical = FALSE;
  NDT_EXPECT_LOG (g_object_set_property (G_OBJECT (element), property->name, refused));
  _gst_check_expecting_log = FALSE;
  fail_unless (_gst_check_raised_warning || _gst_check_raised_critical, "%s.%s refuses nothing",
      G_OBJECT_TYPE_NAME (element), property->name);
  g_object_get_property (G_OBJECT (element), property->name, &after);
  fail_unless (g_param_values_cmp (property, &before, &after) == 0, "%s.%s took what it refused",
      G_OBJECT_TYPE_NAME (element), property->name);
  g_value_unset (&before);
  g_value_unset (&after);
}

/* Sets a property to its bounds and beyond, or to each of its values, and leaves its default. */
static void
set_bounds (GstElement *element, GParamSpec *property)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, property->value_type);
#define BOUNDS(TYPE, Type, type, LOWEST, HIGHEST, step)                                            \
  if (G_IS_PARAM_SPEC_##TYPE (property)) {                                                         \
    const GParamSpec##Type *range = (GParamSpec##Type *)property;                                  \
    g_value_set_##type (&value, range->minimum);                                                   \
    set_and_compare (element, property, &value);                                                   \
    set_text_and_compare (element, property, &value);                                              \
    g_value_set_##type (&value, range->maximum);                                                   \
    set_and_compare (element, property, &value);                                                   \
    set_text_and_compare (element, property, &value);                                              \
    if (range->minimum > LOWEST) {                                                                 \
      g_value_set_##type (&value, range->minimum - step (range->minimum));                         \
      refuse (element, property, &value);                                                          \
    }                                                                                              \
    if (range->maximum < HIGHEST) {                                                                \
      g_value_set_##type (&value, range->maximum + step (range->maximum));                         \
      refuse (element, property, &value);                                                          \
    }                                                                                              \
  }
#define ONE(x) 1
  /* GLib lets a float be out of range by its epsilon. */
#define TENTH(x) (ABS (x) / 10 + (gfloat)1e-3)
  BOUNDS (INT, Int, int, G_MININT, G_MAXINT, ONE)
  BOUNDS (UINT, UInt, uint, 0, G_MAXUINT, ONE)
  BOUNDS (INT64, Int64, int64, G_MININT64, G_MAXINT64, ONE)
  BOUNDS (UINT64, UInt64, uint64, 0, G_MAXUINT64, ONE)
  BOUNDS (FLOAT, Float, float, -G_MAXFLOAT, G_MAXFLOAT, TENTH)
  BOUNDS (DOUBLE, Double, double, -G_MAXDOUBLE, G_MAXDOUBLE, TENTH)
#undef ONE
#undef TENTH
#undef BOUNDS
  if (G_IS_PARAM_SPEC_BOOLEAN (property)) {
    for (gint i = 1; i >= 0; i--) {
      g_value_set_boolean (&value, i);
      set_and_compare (element, property, &value);
    }
  } else if (G_IS_PARAM_SPEC_ENUM (property)) {
    const GEnumClass *klass = G_PARAM_SPEC_ENUM (property)->enum_class;

    for (guint i = 0; i < klass->n_values; i++) {
      g_value_set_enum (&value, klass->values[i].value);
      set_and_compare (element, property, &value);
      set_text_and_compare (element, property, &value);
    }
  } else if (G_IS_PARAM_SPEC_STRING (property)) {
    g_value_set_static_string (&value, "");
    g_object_set_property (G_OBJECT (element), property->name, &value);
  }
  g_param_value_set_default (property, &value);
  set_and_compare (element, property, &value);
  g_value_unset (&value);
}

/* A property of ours, not of a base class, is documented and says when it may be set. */
static void
check_properties (GstElementFactory *factory)
{
  const guint mutable =
      GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED | GST_PARAM_MUTABLE_PLAYING;
  GstElement *element = make (factory);
  GType type = G_OBJECT_TYPE (element);
  guint n;
  g_autofree GParamSpec **properties =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    GParamSpec *property = properties[i];

    if (property->owner_type != type)
      continue;
    fail_unless (g_param_spec_get_blurb (property) && *g_param_spec_get_blurb (property),
        "%s.%s has no blurb", g_type_name (type), property->name);
    /* A name that was: check_renamed(). */
    if (property->flags & G_PARAM_DEPRECATED)
      continue;
    if (property->flags & G_PARAM_READABLE) {
      GValue value = G_VALUE_INIT;

      g_value_init (&value, property->value_type);
      g_object_get_property (G_OBJECT (element), property->name, &value);
      if (property->flags & G_PARAM_WRITABLE)
        fail_unless (g_param_value_defaults (property, &value), "%s.%s is not its default",
            g_type_name (type), property->name);
      g_value_unset (&value);
    }
    if (!(property->flags & G_PARAM_WRITABLE) || (property->flags & G_PARAM_CONSTRUCT_ONLY))
      continue;
    fail_unless (property->flags & mutable, "%s.%s does not say in which states it may be set",
        g_type_name (type), property->name);
    set_bounds (element, property);
  }
  gst_object_unref (element);
}

/* An old name of a property is an error that says what to use, in its own type and from a launch
 * line. */
static void
check_renamed (GstElementFactory *factory)
{
  g_autoptr (GstElement) probe = make (factory);
  guint n;
  g_autofree GParamSpec **properties =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (probe), &n);

  for (guint i = 0; i < n; i++) {
    const GParamSpec *property = properties[i];
    g_autoptr (GstElement) element = NULL;
    g_autoptr (GstBus) bus = gst_bus_new ();
    g_autoptr (GstMessage) message = NULL;
    g_autoptr (GError) error = NULL;
    g_autofree gchar *sentence = NULL;

    /* Base classes of GStreamer have deprecated properties of their own. */
    if (!(property->flags & G_PARAM_DEPRECATED) ||
        !g_str_equal (g_param_spec_get_nick ((GParamSpec *)property), "Renamed"))
      continue;
    element = make (factory);
    gst_element_set_bus (element, bus);
    gst_util_set_object_arg (G_OBJECT (element), property->name, "1");
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless (message != NULL, "%s.%s", GST_OBJECT_NAME (factory), property->name);
    gst_message_parse_error (message, &error, NULL);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    sentence = g_strdup_printf (
        "The property “%s” %s.", property->name, g_param_spec_get_blurb ((GParamSpec *)property));
    fail_unless_equals_string (error->message, sentence);
    gst_element_set_bus (element, NULL);
    gst_element_set_state (element, GST_STATE_NULL);
  }
}

GST_START_TEST (test_renamed)
{
  for_each_factory (check_renamed);
}
GST_END_TEST;

GST_START_TEST (test_properties)
{
  for_each_factory (check_properties);
}
GST_END_TEST;

static void
set_file (GstElement *element, const gchar *property, const gchar *folder, const gchar *content)
{
  g_autofree gchar *path =
      g_build_filename (folder, GST_OBJECT_NAME (gst_element_get_factory (element)), NULL);

  fail_unless (g_file_set_contents (path, content, -1, NULL));
  g_object_set (element, property, path, NULL);
}

/* What an element needs to run; a file that it writes or reads is in @folder and has its name. */
static void
prepare (GstElement *element, const gchar *folder)
{
  const gchar *name = GST_OBJECT_NAME (gst_element_get_factory (element));

  if (g_str_equal (name, "ndtlocalize")) {
    g_object_set (element, "map-location", ndt_room_map (), NULL);
  } else if (g_str_equal (name, "lidarpcapsrc")) {
    const gchar *root =
        g_getenv ("NDT_TEST_ROOT"); /* set where the tests run elsewhere than built */
    g_autofree gchar *path = g_build_filename (
        root ? root : NDT_TEST_ROOT, "tests/fuzz/corpus/capture/ethernet.pcap", NULL);

    g_object_set (element, "location", path, NULL);
  } else if (g_str_equal (name, "poseinject")) {
    set_file (element, "location", folder, "0 0 0 0 0 0 0 1\n");
  } else if (g_str_equal (name, "ousterdec")) {
    set_file (element, "metadata-location", folder,
        "{\"beam_altitude_angles\": [5, 0], \"beam_azimuth_angles\": [1, -1], "
        "\"prod_line\": \"OS-1-2\", \"lidar_mode\": \"32x10\"}");
  } else if (g_str_equal (name, "pointcloudview")) {
    g_object_set (element, "port", 0, NULL);
  } else if (GST_OBJECT_FLAG_IS_SET (element, GST_ELEMENT_FLAG_SINK)) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);

    g_object_set (element, "location", path, NULL);
  }
}

/* What may be set while PLAYING is taken there, and the element still stops. */
static void
check_running_properties (GstElementFactory *factory)
{
  GstElement *element = make (factory);
  GType type = G_OBJECT_TYPE (element);
  g_autofree gchar *folder = g_dir_make_tmp ("generic-XXXXXX", NULL);
  g_autofree gchar *file = g_build_filename (folder, GST_OBJECT_NAME (factory), NULL);
  guint n, n_mutable = 0;
  g_autofree GParamSpec **properties =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    GParamSpec *property = properties[i];

    if (property->owner_type != type || !(property->flags & GST_PARAM_MUTABLE_PLAYING))
      continue;
    if (n_mutable++ == 0) {
      prepare (element, folder);
      fail_unless (gst_element_set_state (element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE,
          "%s", GST_OBJECT_NAME (factory));
    }
    set_bounds (element, property);
  }
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  gst_object_unref (element);
  g_unlink (file);
  fail_unless_equals_int (g_rmdir (folder), 0);
}

GST_START_TEST (test_running_properties)
{
  for_each_factory (check_running_properties);
}
GST_END_TEST;

static GstCaps *
caps_for (GstPad *pad)
{
  g_autoptr (GstCaps) all = gst_pad_get_pad_template_caps (pad);
  g_autoptr (GstCaps) clouds = gst_caps_from_string (NDT_ROOM_CAPS);

  return gst_caps_fixate (gst_caps_is_any (all) || gst_caps_can_intersect (all, clouds)
                              ? gst_caps_ref (clouds)
                              : gst_caps_copy (all));
}

/* A state change deactivates source pads first: what comes until the sink pad follows is refused as
 * flushing. Anything else is an error, which the source upstream would post. */
static void
check_deactivation (GstElementFactory *factory)
{
  GstElement *element = make (factory);
  g_autofree gchar *folder = g_dir_make_tmp ("generic-XXXXXX", NULL);
  g_autofree gchar *file = g_build_filename (folder, GST_OBJECT_NAME (factory), NULL);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstPad) src = gst_element_get_static_pad (element, "src");

  if (sink && src) {
    g_autoptr (GstPad) upstream = gst_pad_new ("src", GST_PAD_SRC);
    g_autoptr (GstCaps) caps = caps_for (sink);
    GstSegment segment;

    prepare (element, folder);
    gst_pad_set_active (upstream, TRUE);
    fail_unless_equals_int (gst_pad_link (upstream, sink), GST_PAD_LINK_OK);
    fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE,
        "%s", GST_OBJECT_NAME (factory));
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_pad_push_event (upstream, gst_event_new_stream_start ("deactivation"));
    gst_pad_push_event (upstream, gst_event_new_caps (caps));
    gst_pad_push_event (upstream, gst_event_new_segment (&segment));
    gst_pad_set_active (src, FALSE);
    gst_pad_push_event (upstream, gst_event_new_stream_start ("again"));
    const GstFlowReturn flow = gst_pad_push (upstream, gst_buffer_new ());
    fail_unless (
        flow == GST_FLOW_FLUSHING, "%s: %s", GST_OBJECT_NAME (factory), gst_flow_get_name (flow));
    gst_pad_set_active (upstream, FALSE);
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  gst_object_unref (element);
  g_unlink (file);
  fail_unless_equals_int (g_rmdir (folder), 0);
}

GST_START_TEST (test_deactivation)
{
  for_each_factory (check_deactivation);
}
GST_END_TEST;

/* 300 or 301 points of x, y, z and intensity as a sensor that turns has them, which caps say to be
 * x, y, z: the size is a whole number of these or not. */
static GstBuffer *
make_other_layout (guint n)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n * 16, NULL);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (guint i = 0; i < n; i++) {
    const gdouble angle = 2 * G_PI * i / n, range = 20 + 5 * sin (3 * angle);
    const gfloat point[] = {(gfloat)(range * cos (angle)), (gfloat)(range * sin (angle)), -1.8f,
        (gfloat)(i * 37 % 100)};
    memcpy (map.data + 16 * i, point, sizeof point);
  }
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = 0;
  GST_BUFFER_DURATION (buffer) = 100 * GST_MSECOND;
  return buffer;
}

static GstFlowReturn
push_layout (GstElement *element, const gchar *format, guint n)
{
  g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstPad) upstream = gst_pad_new ("src", GST_PAD_SRC);
  g_autofree gchar *text = g_strdup_printf ("pointcloud/x-raw, format=%s, framerate=10/1", format);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  GstSegment segment;

  gst_pad_set_active (upstream, TRUE);
  fail_unless_equals_int (gst_pad_link (upstream, sink), GST_PAD_LINK_OK);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (upstream, gst_event_new_stream_start ("layout"));
  gst_pad_push_event (upstream, gst_event_new_caps (caps));
  gst_pad_push_event (upstream, gst_event_new_segment (&segment));
  const GstFlowReturn flow = gst_pad_push (upstream, make_other_layout (n));
  gst_pad_set_active (upstream, FALSE);
  gst_pad_unlink (upstream, sink);
  return flow;
}

/* Caps that somebody wrote by hand and that the first scan is not like, in a stream in TIME. */
static void
check_layout (GstElementFactory *factory)
{
  static const struct {
    const gchar *name, *format;
    guint n;
    gboolean good;
  } cases[] = {{"ndtlocalize", "XYZ_F32LE", 300, FALSE}, {"ndtlocalize", "XYZ_F32LE", 301, FALSE},
      {"ndtlocalize", "XYZI_F32LE", 300, TRUE}, {"poseinject", "XYZ_F32LE", 300, FALSE},
      {"poseinject", "XYZ_F32LE", 301, FALSE}, {"poseinject", "XYZI_F32LE", 301, TRUE},
      {"pointclouddeskew", "XYZ_F64LE", 300, FALSE}, {"pointclouddeskew", "XYZI_F32LE", 301, TRUE},
      {"trajectorysink", "XYZ_F32LE", 301, FALSE}, {"trajectorysink", "XYZIRT", 300, FALSE},
      {"trajectorysink", "XYZI_F32LE", 301, TRUE}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *folder = g_dir_make_tmp ("generic-XXXXXX", NULL);
    g_autofree gchar *file = g_build_filename (folder, GST_OBJECT_NAME (factory), NULL);
    g_autoptr (GstBus) bus = NULL;
    g_autoptr (GstMessage) message = NULL;
    GstElement *element;

    if (g_str_equal (cases[i].name, GST_OBJECT_NAME (factory))) {
      element = make (factory);
      bus = gst_bus_new ();
      gst_element_set_bus (element, bus);
      prepare (element, folder);
      /* GstBaseSink loses its caps where preroll fails. */
      if (GST_IS_BASE_SINK (element))
        g_object_set (element, "async", FALSE, NULL);
      fail_unless (gst_element_set_state (element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
      const GstFlowReturn flow = push_layout (element, cases[i].format, cases[i].n);
      message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
      if (cases[i].good) {
        fail_unless (flow != GST_FLOW_ERROR && message == NULL, "%s: %s", cases[i].name,
            gst_flow_get_name (flow));
      } else {
        g_autoptr (GError) error = NULL;
        fail_unless (flow == GST_FLOW_ERROR && message != NULL, "%s: %s", cases[i].name,
            gst_flow_get_name (flow));
        gst_message_parse_error (message, &error, NULL);
        fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
        fail_unless (strstr (error->message, "XYZI_F32LE") != NULL, "%s", error->message);
      }
      gst_element_set_bus (element, NULL);
      gst_element_set_state (element, GST_STATE_NULL);
      gst_object_unref (element);
    }
    g_unlink (file);
    fail_unless_equals_int (g_rmdir (folder), 0);
  }
}

GST_START_TEST (test_wrong_layout)
{
  for_each_factory (check_layout);
}
GST_END_TEST;

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
generic_suite (void)
{
  Suite *suite = suite_create ("generic");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_metadata);
  tcase_add_test (tests, test_states);
  tcase_add_test (tests, test_properties);
  tcase_add_test (tests, test_renamed);
  tcase_add_unchecked_fixture (tests, write_map, ndt_room_remove_map);
  tcase_add_test (tests, test_running_properties);
  tcase_add_test (tests, test_deactivation);
  tcase_add_test (tests, test_wrong_layout);
  return suite;
}

GST_CHECK_MAIN (generic);
