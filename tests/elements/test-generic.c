/* SPDX-License-Identifier: MIT */
/* What holds for every element of ours: those in the plugins of GST_PLUGIN_PATH_1_0. */
#include <gst/check/gstcheck.h>

#include <string.h>

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

/* Sets a property to its bounds, or to each of its values. */
static void
set_bounds (GstElement *element, GParamSpec *property)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, property->value_type);
#define BOUNDS(TYPE, Type, type)                                                                   \
  if (G_IS_PARAM_SPEC_##TYPE (property)) {                                                         \
    g_value_set_##type (&value, ((GParamSpec##Type *)property)->minimum);                          \
    set_and_compare (element, property, &value);                                                   \
    g_value_set_##type (&value, ((GParamSpec##Type *)property)->maximum);                          \
    set_and_compare (element, property, &value);                                                   \
  }
  BOUNDS (INT, Int, int)
  BOUNDS (UINT, UInt, uint)
  BOUNDS (INT64, Int64, int64)
  BOUNDS (UINT64, UInt64, uint64)
  BOUNDS (FLOAT, Float, float)
  BOUNDS (DOUBLE, Double, double)
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
    }
  } else if (G_IS_PARAM_SPEC_STRING (property)) {
    g_value_set_static_string (&value, "");
    g_object_set_property (G_OBJECT (element), property->name, &value);
  }
  g_param_value_set_default (property, &value);
  g_object_set_property (G_OBJECT (element), property->name, &value);
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

GST_START_TEST (test_properties)
{
  for_each_factory (check_properties);
}
GST_END_TEST;

static Suite *
generic_suite (void)
{
  Suite *suite = suite_create ("generic");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_metadata);
  tcase_add_test (tests, test_states);
  tcase_add_test (tests, test_properties);
  return suite;
}

GST_CHECK_MAIN (generic);
