/* SPDX-License-Identifier: MIT */
#include "gstndtsettings.h"

#include <string.h>

#include "gst/common/gstposequeue.h"
#include "ndtcore/expression/ndt-expr-terms.h"

#include "gstndtproperties.h"

/* ---- Lists of numbers ---- */

static void
read_numbers (GstNdtNumbers *numbers, const GValue *array)
{
  numbers->n = gst_value_array_get_size (array);
  for (guint i = 0; i < MIN (numbers->n, G_N_ELEMENTS (numbers->values)); i++)
    numbers->values[i] = g_value_get_double (gst_value_array_get_value (array, i));
}

static void
write_numbers (const GstNdtNumbers *numbers, GValue *array)
{
  g_value_reset (array);
  for (guint i = 0; i < MIN (numbers->n, G_N_ELEMENTS (numbers->values)); i++) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, numbers->values[i]);
    gst_value_array_append_and_take_value (array, &value);
  }
}

gchar *
gst_ndt_numbers_to_string (const GstNdtNumbers *numbers)
{
  GString *text = g_string_new ("<");
  for (guint i = 0; i < MIN (numbers->n, G_N_ELEMENTS (numbers->values)); i++) {
    gchar buffer[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append (text, i > 0 ? ", " : "");
    g_string_append (text, g_ascii_formatd (buffer, sizeof buffer, "%g", numbers->values[i]));
  }
  g_string_append (text, numbers->n > G_N_ELEMENTS (numbers->values) ? ", …>" : ">");
  return g_string_free (text, FALSE);
}

/* ---- Values ---- */

static gpointer
member (const GstNdtSettings *settings, const GstNdtProperty *property)
{
  return (gpointer)((const guint8 *)settings + property->at);
}

static gdouble
unit_of (const GstNdtProperty *property)
{
  return property->unit > 0 ? property->unit : 1;
}

static void
free_value (const GstNdtProperty *property, gpointer at)
{
  gpointer *pointer = at;

  if (property->kind == GST_NDT_KIND_TEXT)
    g_clear_pointer (pointer, g_free);
  else if (property->kind == GST_NDT_KIND_BOXED && *pointer)
    g_boxed_free (property->type (), g_steal_pointer (pointer));
}

gboolean
gst_ndt_settings_set_property (
    GstNdtSettings *settings, guint id, const GValue *value, GstNdtChange *change)
{
  const GstNdtProperty *property = gst_ndt_property_get (id);

  *change = property ? property->change : GST_NDT_CHANGE_NONE;
  if (!property)
    return FALSE;
  gpointer at = member (settings, property);
  free_value (property, at);
  switch (property->kind) {
  case GST_NDT_KIND_DOUBLE:
    *(gdouble *)at = g_value_get_double (value) * unit_of (property);
    break;
  case GST_NDT_KIND_UINT:
    *(guint *)at = g_value_get_uint (value);
    break;
  case GST_NDT_KIND_UINT64:
    *(guint64 *)at = g_value_get_uint64 (value);
    break;
  case GST_NDT_KIND_INT:
    *(gint *)at = g_value_get_int (value);
    break;
  case GST_NDT_KIND_BOOLEAN:
    *(gboolean *)at = g_value_get_boolean (value);
    break;
  case GST_NDT_KIND_ENUM:
    *(gint *)at = g_value_get_enum (value);
    break;
  case GST_NDT_KIND_TEXT:
    *(gchar **)at = g_value_dup_string (value);
    break;
  case GST_NDT_KIND_BOXED:
    *(gpointer *)at = g_value_dup_boxed (value);
    break;
  case GST_NDT_KIND_NUMBERS:
    read_numbers (at, value);
    break;
  }
  return TRUE;
}

gboolean
gst_ndt_settings_get_property (const GstNdtSettings *settings, guint id, GValue *value)
{
  const GstNdtProperty *property = gst_ndt_property_get (id);

  if (!property)
    return FALSE;
  gconstpointer at = member (settings, property);
  switch (property->kind) {
  case GST_NDT_KIND_DOUBLE:
    g_value_set_double (value, *(const gdouble *)at / unit_of (property));
    break;
  case GST_NDT_KIND_UINT:
    g_value_set_uint (value, *(const guint *)at);
    break;
  case GST_NDT_KIND_UINT64:
    g_value_set_uint64 (value, *(const guint64 *)at);
    break;
  case GST_NDT_KIND_INT:
    g_value_set_int (value, *(const gint *)at);
    break;
  case GST_NDT_KIND_BOOLEAN:
    g_value_set_boolean (value, *(const gboolean *)at);
    break;
  case GST_NDT_KIND_ENUM:
    g_value_set_enum (value, *(const gint *)at);
    break;
  case GST_NDT_KIND_TEXT:
    g_value_set_string (value, *(gchar *const *)at);
    break;
  case GST_NDT_KIND_BOXED:
    g_value_set_boxed (value, *(gconstpointer *)at);
    break;
  case GST_NDT_KIND_NUMBERS:
    write_numbers (at, value);
    break;
  }
  return TRUE;
}

void
gst_ndt_settings_init (GstNdtSettings *settings)
{
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;

  memset (settings, 0, sizeof *settings);
  settings->compiled_terms =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)ndt_expr_terms_unref);
  settings->map_params = map_params;
  settings->config = config;
  ndt_localizer_params_init (&settings->params);
  settings->min_range = (gdouble)settings->params.filter.min_range;
  settings->max_range = (gdouble)settings->params.filter.max_range;
  settings->scan_leaf_size = (gdouble)settings->params.filter.leaf_size;
  settings->batch_size = 8;
  settings->processing_deadline = 20 * GST_MSECOND; /* GstBaseSink's */
  settings->max_pose_gap = 2 * GST_SECOND;
  settings->pose_latency = GST_POSE_QUEUE_DEFAULT_LATENCY;
  settings->pose_distance_limit = 10;
  settings->deskew = GST_NDT_DESKEW_AUTO;
  settings->pose_time = GST_NDT_POSE_TIME_END;
  settings->stamp_position = GST_NDT_POSE_TIME_MIDDLE;
  settings->map_frame = g_strdup ("map");
  settings->body_frame = g_strdup ("base_link");
}

void
gst_ndt_settings_clear (GstNdtSettings *settings)
{
  const GstNdtProperty *property;

  for (guint id = 1; (property = gst_ndt_property_get (id)); id++)
    free_value (property, member (settings, property));
  g_clear_pointer (&settings->compiled_terms, g_hash_table_unref);
}

/* ---- Properties ---- */

static GParamSpec *
make_spec (const GstNdtProperty *p, const GValue *value, GParamFlags flags)
{
  switch (p->kind) {
  case GST_NDT_KIND_DOUBLE:
    return g_param_spec_double (
        p->name, p->nick, p->blurb, p->min, p->max, g_value_get_double (value), flags);
  case GST_NDT_KIND_UINT:
    return g_param_spec_uint (
        p->name, p->nick, p->blurb, (guint)p->min, (guint)p->max, g_value_get_uint (value), flags);
  case GST_NDT_KIND_UINT64:
    return g_param_spec_uint64 (p->name, p->nick, p->blurb, (guint64)p->min, (guint64)p->max,
        g_value_get_uint64 (value), flags);
  case GST_NDT_KIND_INT:
    return g_param_spec_int (
        p->name, p->nick, p->blurb, (gint)p->min, (gint)p->max, g_value_get_int (value), flags);
  case GST_NDT_KIND_BOOLEAN:
    return g_param_spec_boolean (p->name, p->nick, p->blurb, g_value_get_boolean (value), flags);
  case GST_NDT_KIND_ENUM:
    return g_param_spec_enum (
        p->name, p->nick, p->blurb, p->type (), g_value_get_enum (value), flags);
  case GST_NDT_KIND_TEXT:
    return g_param_spec_string (p->name, p->nick, p->blurb, g_value_get_string (value), flags);
  case GST_NDT_KIND_BOXED:
    return g_param_spec_boxed (p->name, p->nick, p->blurb, p->type (), flags);
  default:
    return gst_param_spec_array (p->name, p->nick, p->blurb,
        g_param_spec_double (
            "number", "Number", "One of them", -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags),
        flags);
  }
}

static GType
type_of (const GstNdtProperty *property)
{
  static const GType types[] = {
      [GST_NDT_KIND_DOUBLE] = G_TYPE_DOUBLE,
      [GST_NDT_KIND_UINT] = G_TYPE_UINT,
      [GST_NDT_KIND_UINT64] = G_TYPE_UINT64,
      [GST_NDT_KIND_INT] = G_TYPE_INT,
      [GST_NDT_KIND_BOOLEAN] = G_TYPE_BOOLEAN,
      [GST_NDT_KIND_TEXT] = G_TYPE_STRING,
  };
  if (property->type)
    return property->type ();
  return property->kind == GST_NDT_KIND_NUMBERS ? GST_TYPE_ARRAY : types[property->kind];
}

void
gst_ndt_settings_install_properties (GObjectClass *klass)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  const GstNdtProperty *property;
  GstNdtSettings defaults;

  gst_ndt_settings_init (&defaults);
  for (guint id = 1; (property = gst_ndt_property_get (id)); id++) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, type_of (property));
    gst_ndt_settings_get_property (&defaults, id, &value);
    g_object_class_install_property (
        klass, id, make_spec (property, &value, flags | property->flags));
    if (property->kind == GST_NDT_KIND_ENUM)
      gst_type_mark_as_plugin_api (property->type (), 0);
    g_value_unset (&value);
  }
  gst_ndt_settings_clear (&defaults);
}

void
gst_ndt_settings_get_scan_settings (const GstNdtSettings *settings, GstNdtScanSettings *scans)
{
  scans->map_frame = g_quark_from_string (settings->map_frame);
  /* 0 where unset */
  scans->sensor_frame =
      g_quark_from_string (settings->sensor_pose ? settings->body_frame : settings->sensor_frame);
  scans->deskew = settings->deskew;
  scans->pose_time = settings->pose_time;
  scans->stamp_position = settings->stamp_position;
  scans->max_pose_gap = settings->max_pose_gap;
  scans->pose_latency = settings->pose_latency;
  scans->pose_distance_limit = settings->pose_distance_limit;
  scans->max_lateness = settings->max_lateness;
  scans->processing_deadline = settings->processing_deadline;
  scans->post_messages = settings->post_messages;
}

void
gst_ndt_settings_describe (const GstNdtSettings *settings, guint64 ids, GstStructure *structure)
{
  const GstNdtProperty *property;

  for (guint id = 1; (property = gst_ndt_property_get (id)); id++) {
    if (!(ids & G_GUINT64_CONSTANT (1) << id))
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init (&value, type_of (property));
    gst_ndt_settings_get_property (settings, id, &value);
    gst_structure_take_value (structure, property->name, &value);
  }
}
