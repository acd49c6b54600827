/* SPDX-License-Identifier: MIT */
#include "gstcloudfiltersettings.h"

#include <gst/pointcloud/pointcloud.h>

enum {
  PROP_0,
  PROP_INCLUDE_BOXES,
  PROP_EXCLUDE_BOXES,
  PROP_MIN_RANGE,
  PROP_MAX_RANGE,
  PROP_MIN_INTENSITY,
  PROP_MAX_INTENSITY,
  PROP_INTENSITY_FIELD,
  PROP_RINGS,
  PROP_NTH,
  PROP_FRACTION,
  PROP_SEED,
  PROP_LEAF_SIZE,
  PROP_LEAF_POINT,
};
G_STATIC_ASSERT (PROP_LEAF_POINT < GST_CLOUD_FILTER_SETTINGS_END);

#define DEFAULT_INTENSITY_FIELD "intensity"
#define FLAGS (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING)

static const GEnumValue leaf_points[] = {
    {GST_CLOUD_LEAF_CENTROID, "The first point, moved to the mean of all", "centroid"},
    {GST_CLOUD_LEAF_FIRST, "The first point", "first"}, {0, NULL, NULL}};

static GType
leaf_point_get_type (void)
{
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstCloudLeafPoint", leaf_points));
  return type;
}

void
gst_cloud_filter_settings_init (GstCloudFilterSettings *settings)
{
  *settings = (GstCloudFilterSettings){
      .include = g_array_new (FALSE, FALSE, sizeof (gdouble)),
      .exclude = g_array_new (FALSE, FALSE, sizeof (gdouble)),
      .rings = g_array_new (FALSE, FALSE, sizeof (guint)),
      .min_intensity = -G_MAXDOUBLE,
      .max_intensity = G_MAXDOUBLE,
      .intensity_field = g_strdup (DEFAULT_INTENSITY_FIELD),
      .nth = 1,
      .fraction = 1,
  };
}

void
gst_cloud_filter_settings_clear (GstCloudFilterSettings *settings)
{
  g_array_unref (settings->include);
  g_array_unref (settings->exclude);
  g_array_unref (settings->rings);
  g_free (settings->intensity_field);
  g_free (settings->box_errors[0]);
  g_free (settings->box_errors[1]);
}

void
gst_cloud_filter_settings_copy (
    const GstCloudFilterSettings *settings, GstCloudFilterSettings *copy)
{
  *copy = *settings;
  copy->include = g_array_copy (settings->include);
  copy->exclude = g_array_copy (settings->exclude);
  copy->rings = g_array_copy (settings->rings);
  copy->intensity_field = g_strdup (settings->intensity_field);
  for (guint i = 0; i < 2; i++)
    copy->box_errors[i] = g_strdup (settings->box_errors[i]);
}

static GParamSpec *
box_array (const gchar *name, const gchar *nick, const gchar *blurb)
{
  return gst_param_spec_array (name, nick, blurb,
      g_param_spec_string ("box", "Box", "\"xmin,ymin,zmin,xmax,ymax,zmax\" in metres", NULL,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS),
      FLAGS);
}

void
gst_cloud_filter_settings_install (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_INCLUDE_BOXES,
      box_array ("include-boxes", "Include Boxes",
          "Boxes \"xmin,ymin,zmin,xmax,ymax,zmax\" (m) that points have to be in one of (none = "
          "anywhere)"));
  g_object_class_install_property (klass, PROP_EXCLUDE_BOXES,
      box_array ("exclude-boxes", "Exclude Boxes",
          "Boxes \"xmin,ymin,zmin,xmax,ymax,zmax\" (m) that points may not be in, such as the "
          "vehicle itself"));
  g_object_class_install_property (klass, PROP_MIN_RANGE,
      g_param_spec_double ("min-range", "Minimum Range",
          "Points nearer to the sensor than this are removed, metres", 0, G_MAXDOUBLE, 0, FLAGS));
  g_object_class_install_property (klass, PROP_MAX_RANGE,
      g_param_spec_double ("max-range", "Maximum Range",
          "Points farther from the sensor than this are removed, metres (0 = none)", 0, G_MAXDOUBLE,
          0, FLAGS));
  g_object_class_install_property (klass, PROP_MIN_INTENSITY,
      g_param_spec_double ("min-intensity", "Minimum Intensity",
          "Points with less are removed, in the unit of the field", -G_MAXDOUBLE, G_MAXDOUBLE,
          -G_MAXDOUBLE, FLAGS));
  g_object_class_install_property (klass, PROP_MAX_INTENSITY,
      g_param_spec_double ("max-intensity", "Maximum Intensity",
          "Points with more are removed, in the unit of the field", -G_MAXDOUBLE, G_MAXDOUBLE,
          G_MAXDOUBLE, FLAGS));
  g_object_class_install_property (klass, PROP_INTENSITY_FIELD,
      g_param_spec_string ("intensity-field", "Intensity Field",
          "Name of the field that min-intensity and max-intensity are about",
          DEFAULT_INTENSITY_FIELD, FLAGS));
  g_object_class_install_property (klass, PROP_RINGS,
      gst_param_spec_array ("rings", "Rings",
          "Numbers of the lasers, by the field ring, whose points stay (none = all)",
          g_param_spec_int ("ring", "Ring", "Number of a laser", 0, NDT_CLOUD_FILTER_RINGS - 1, 0,
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS),
          FLAGS));
  g_object_class_install_property (klass, PROP_NTH,
      g_param_spec_uint ("nth", "Nth",
          "Of the points that the rules above leave the first stays and each n-th after it (1 = "
          "all)",
          1, G_MAXUINT, 1, FLAGS));
  g_object_class_install_property (klass, PROP_FRACTION,
      g_param_spec_double ("fraction", "Fraction",
          "Share of those points that stays, at random (1 = all)", 0, 1, 1, FLAGS));
  g_object_class_install_property (klass, PROP_SEED,
      g_param_spec_uint64 ("seed", "Seed",
          "Of the random choice: the same seed, time stamp and points give the same", 0,
          G_MAXUINT64, 0, FLAGS));
  g_object_class_install_property (klass, PROP_LEAF_SIZE,
      g_param_spec_double ("leaf-size", "Leaf Size",
          "Edge of cubes of which one point each stays, metres (0 = all points stay)", 0, 1000, 0,
          FLAGS));
  g_object_class_install_property (klass, PROP_LEAF_POINT,
      g_param_spec_enum ("leaf-point", "Leaf Point", "Which point stands for those of a leaf",
          leaf_point_get_type (), GST_CLOUD_LEAF_CENTROID, FLAGS));
  gst_type_mark_as_plugin_api (leaf_point_get_type (), 0);
}

/* A property cannot be refused when it is set: the element does it when it starts, or warns. */
static void
set_boxes (GArray *boxes, gchar **trouble, const GValue *array)
{
  g_array_set_size (boxes, 0);
  g_clear_pointer (trouble, g_free);
  for (guint i = 0; i < gst_value_array_get_size (array); i++) {
    const GValue *value = gst_value_array_get_value (array, i);
    const gchar *text = G_VALUE_HOLDS_STRING (value) ? g_value_get_string (value) : NULL;
    g_autoptr (GError) error = NULL;
    g_autoptr (GstPointCloudBox) box =
        gst_point_cloud_box_new_from_string (text ? text : "", &error);

    if (box) {
      g_array_append_vals (boxes, box->min, 3);
      g_array_append_vals (boxes, box->max, 3);
    } else {
      g_free (*trouble);
      *trouble = g_strdup (error ? error->message : "a box is empty");
    }
  }
}

static void
get_boxes (const GArray *boxes, GValue *array)
{
  for (guint i = 0; i + 6 <= boxes->len; i += 6) {
    GstPointCloudBox box;
    GValue string = G_VALUE_INIT;

    for (guint k = 0; k < 3; k++) {
      box.min[k] = g_array_index (boxes, gdouble, i + k);
      box.max[k] = g_array_index (boxes, gdouble, i + 3 + k);
    }
    g_value_init (&string, G_TYPE_STRING);
    g_value_take_string (&string, gst_point_cloud_box_to_string (&box));
    gst_value_array_append_and_take_value (array, &string);
  }
}

static void
set_rings (GArray *rings, const GValue *array)
{
  g_array_set_size (rings, 0);
  for (guint i = 0; i < gst_value_array_get_size (array); i++) {
    const GValue *value = gst_value_array_get_value (array, i);
    const guint ring = G_VALUE_HOLDS_INT (value) ? (guint)g_value_get_int (value) : G_MAXUINT;
    if (ring < NDT_CLOUD_FILTER_RINGS)
      g_array_append_val (rings, ring);
  }
}

static void
get_rings (const GArray *rings, GValue *array)
{
  for (guint i = 0; i < rings->len; i++) {
    GValue number = G_VALUE_INIT;
    g_value_init (&number, G_TYPE_INT);
    g_value_set_int (&number, (gint)g_array_index (rings, guint, i));
    gst_value_array_append_and_take_value (array, &number);
  }
}

gboolean
gst_cloud_filter_settings_set (GstCloudFilterSettings *settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_INCLUDE_BOXES:
    set_boxes (settings->include, &settings->box_errors[0], value);
    break;
  case PROP_EXCLUDE_BOXES:
    set_boxes (settings->exclude, &settings->box_errors[1], value);
    break;
  case PROP_MIN_RANGE:
    settings->min_range = g_value_get_double (value);
    break;
  case PROP_MAX_RANGE:
    settings->max_range = g_value_get_double (value);
    break;
  case PROP_MIN_INTENSITY:
    settings->min_intensity = g_value_get_double (value);
    break;
  case PROP_MAX_INTENSITY:
    settings->max_intensity = g_value_get_double (value);
    break;
  case PROP_INTENSITY_FIELD:
    g_free (settings->intensity_field);
    settings->intensity_field = g_value_dup_string (value);
    break;
  case PROP_RINGS:
    set_rings (settings->rings, value);
    break;
  case PROP_NTH:
    settings->nth = g_value_get_uint (value);
    break;
  case PROP_FRACTION:
    settings->fraction = g_value_get_double (value);
    break;
  case PROP_SEED:
    settings->seed = g_value_get_uint64 (value);
    break;
  case PROP_LEAF_SIZE:
    settings->leaf = g_value_get_double (value);
    break;
  case PROP_LEAF_POINT:
    settings->leaf_point = (GstCloudLeafPoint)g_value_get_enum (value);
    break;
  default:
    return FALSE;
  }
  return TRUE;
}

gboolean
gst_cloud_filter_settings_get (const GstCloudFilterSettings *settings, guint id, GValue *value)
{
  switch (id) {
  case PROP_INCLUDE_BOXES:
    get_boxes (settings->include, value);
    break;
  case PROP_EXCLUDE_BOXES:
    get_boxes (settings->exclude, value);
    break;
  case PROP_MIN_RANGE:
    g_value_set_double (value, settings->min_range);
    break;
  case PROP_MAX_RANGE:
    g_value_set_double (value, settings->max_range);
    break;
  case PROP_MIN_INTENSITY:
    g_value_set_double (value, settings->min_intensity);
    break;
  case PROP_MAX_INTENSITY:
    g_value_set_double (value, settings->max_intensity);
    break;
  case PROP_INTENSITY_FIELD:
    g_value_set_string (value, settings->intensity_field);
    break;
  case PROP_RINGS:
    get_rings (settings->rings, value);
    break;
  case PROP_NTH:
    g_value_set_uint (value, settings->nth);
    break;
  case PROP_FRACTION:
    g_value_set_double (value, settings->fraction);
    break;
  case PROP_SEED:
    g_value_set_uint64 (value, settings->seed);
    break;
  case PROP_LEAF_SIZE:
    g_value_set_double (value, settings->leaf);
    break;
  case PROP_LEAF_POINT:
    g_value_set_enum (value, (gint)settings->leaf_point);
    break;
  default:
    return FALSE;
  }
  return TRUE;
}

gboolean
gst_cloud_filter_settings_want_intensity (const GstCloudFilterSettings *settings)
{
  return settings->min_intensity > -G_MAXDOUBLE || settings->max_intensity < G_MAXDOUBLE;
}
