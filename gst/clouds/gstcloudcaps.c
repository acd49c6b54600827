/* SPDX-License-Identifier: MIT */
#include "gstcloudcaps.h"

#include <string.h>

/* Of our caps, what conversion does not change. */
static const gchar *const kept[] = {"framerate", "frame-id", "motion-compensated", "instant"};

static gboolean
is_raw (const GstStructure *structure)
{
  return gst_structure_has_name (structure, GST_POINT_CLOUD_CAPS_NAME);
}

/* Of any layout, with what @from says of the stream. */
static GstStructure *
make_raw (const GstStructure *from, gboolean with_size)
{
  GstStructure *raw =
      gst_structure_new_from_string (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL));

  if (!is_raw (from))
    return raw;
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if (gst_structure_has_field (from, kept[i]))
      gst_structure_set_value (raw, kept[i], gst_structure_get_value (from, kept[i]));
  if (with_size && gst_structure_has_field (from, "width") &&
      gst_structure_has_field (from, "height")) {
    gst_structure_set_value (raw, "width", gst_structure_get_value (from, "width"));
    gst_structure_set_value (raw, "height", gst_structure_get_value (from, "height"));
  }
  return raw;
}

GstCaps *
gst_cloud_caps_transform (const GstCaps *caps, GstPadDirection direction, gboolean organized)
{
  GstCaps *out = gst_caps_new_empty ();

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    GstStructure *same = gst_structure_copy (structure);

    if (is_raw (structure) && direction == GST_PAD_SINK && !organized)
      gst_structure_remove_fields (same, "width", "height", NULL);
    if (direction == GST_PAD_SRC && gst_structure_has_name (structure, GST_CLOUD_CAPS_BYTES))
      gst_structure_free (same);
    else
      out = gst_caps_merge_structure (out, same);
  }
  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    out = gst_caps_merge_structure (
        out, make_raw (gst_caps_get_structure (caps, i), direction == GST_PAD_SINK && organized));
  out = gst_caps_merge (out, gst_caps_from_string (GST_CLOUD_CAPS_OTHERS));
  if (direction == GST_PAD_SINK)
    out = gst_caps_merge (out, gst_caps_from_string (GST_CLOUD_CAPS_BYTES));
  return out;
}

/* The layout that @structure, our own caps of the fixed format @name, has or is to get; FALSE where
 * it cannot be. */
static gboolean
choose_layout (const GstStructure *structure, const gchar *name, const GstCloudLayout *from,
    GstPointCloudInfo *info)
{
  const gchar *fields = gst_structure_get_string (structure, "fields");
  gint step = 0;

  gst_point_cloud_info_init (info);
  info->format = gst_point_cloud_format_from_string (name);
  if (info->format != GST_POINT_CLOUD_FORMAT_CUSTOM)
    return gst_point_cloud_info_set_format (info, info->format);
  gst_structure_get_int (structure, "point-step", &step);
  if (!fields) {
    *info = from->info;
    info->format = GST_POINT_CLOUD_FORMAT_CUSTOM;
    if (step > 0)
      info->point_step = (guint)step;
    return gst_cloud_layout_get_end (info) <= info->point_step;
  }
  /* As large as may be until the fields have said where they end. */
  g_autoptr (GstCaps) caps = gst_caps_new_simple (GST_POINT_CLOUD_CAPS_NAME, "format",
      G_TYPE_STRING, "CUSTOM", "point-step", G_TYPE_INT, step > 0 ? step : G_MAXINT, "fields",
      G_TYPE_STRING, fields, NULL);
  if (!gst_point_cloud_info_from_caps (info, caps, NULL))
    return FALSE;
  if (step <= 0)
    info->point_step = gst_cloud_layout_get_end (info);
  return TRUE;
}

/* How much of @from is in @to: fields, and of these the more where coordinates keep their digits.
 */
static guint
rate_layout (const GstPointCloudInfo *from, const GstPointCloudInfo *to)
{
  const GstPointField *x = gst_point_cloud_info_find_field (from, "x");
  const GstPointField *to_x = gst_point_cloud_info_find_field (to, "x");
  guint rating = 1;

  for (guint i = 0; i < from->n_fields; i++)
    rating += gst_point_cloud_info_find_field (to, from->fields[i].name) != NULL;
  if (x && to_x && x->type == GST_POINT_FIELD_TYPE_FLOAT64 && to_x->type == x->type)
    rating += GST_POINT_CLOUD_MAX_FIELDS;
  return rating;
}

/* Rates the structure's formats; @best and @name: those of the best so far. TRUE: there is a better
 * one. */
static gboolean
rate_structure (
    const GstStructure *structure, const GstCloudLayout *from, guint *best, const gchar **name)
{
  const GValue *formats = gst_structure_get_value (structure, "format");
  const guint n = !formats                         ? 0
                  : GST_VALUE_HOLDS_LIST (formats) ? gst_value_list_get_size (formats)
                                                   : 1;
  gboolean better = FALSE;

  for (guint i = 0; i < n; i++) {
    const GValue *value =
        GST_VALUE_HOLDS_LIST (formats) ? gst_value_list_get_value (formats, i) : formats;
    const gchar *format = g_value_get_string (value);
    GstPointCloudInfo info;
    guint rating;

    if (!choose_layout (structure, format, from, &info))
      continue;
    rating = rate_layout (&from->info, &info);
    if (rating > *best) {
      *best = rating;
      *name = format;
      better = TRUE;
    }
  }
  return better;
}

static void
set_layout (GstStructure *structure, const GstPointCloudInfo *info)
{
  g_autoptr (GstCaps) caps = gst_point_cloud_info_to_caps (info);
  const GstStructure *full = gst_caps_get_structure (caps, 0);
  static const gchar *const names[] = {"format", "point-step", "fields", "layout"};

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (gst_structure_has_field (full, names[i]))
      gst_structure_set_value (structure, names[i], gst_structure_get_value (full, names[i]));
}

static GstCaps *
fixate_pointcloud2 (GstCaps *caps, const GstCloudLayout *from, gboolean organized)
{
  GstStructure *structure;
  GstPointCloudInfo info;

  caps = gst_caps_make_writable (gst_caps_truncate (caps));
  structure = gst_caps_get_structure (caps, 0);
  if (choose_layout (structure, "CUSTOM", from, &info)) {
    g_autoptr (GstCaps) full = gst_point_cloud_info_to_caps (&info);
    gst_structure_set_value (
        structure, "fields", gst_structure_get_value (gst_caps_get_structure (full, 0), "fields"));
    gst_structure_set (structure, "point-step", G_TYPE_INT, (gint)info.point_step, NULL);
  }
  /* Where the cloud is not organized its first scan says how many points there are. */
  if (organized && from->info.width > 0) {
    gst_structure_fixate_field_nearest_int (structure, "width", (gint)from->info.width);
    gst_structure_fixate_field_nearest_int (structure, "height", (gint)from->info.height);
  }
  gst_structure_fixate_field_boolean (structure, "is-bigendian", FALSE);
  gst_structure_fixate_field_boolean (structure, "is-dense", FALSE);
  return gst_caps_fixate (caps);
}

GstCaps *
gst_cloud_caps_fixate (
    GstCaps *caps, const GstCloudLayout *layout, GstCaps *other, gboolean organized)
{
  const gchar *name = NULL;
  guint best = 0, at = 0;

  if ((organized || layout->info.width == 0) && gst_caps_is_subset (caps, other)) {
    gst_caps_unref (other);
    return gst_caps_ref (caps);
  }
  for (guint i = 0; i < gst_caps_get_size (other); i++) {
    const GstStructure *structure = gst_caps_get_structure (other, i);
    if (is_raw (structure) && rate_structure (structure, layout, &best, &name))
      at = i;
  }
  if (best > 0) {
    g_autoptr (GstCaps) chosen = gst_caps_copy_nth (other, at);
    GstStructure *structure = gst_caps_get_structure (chosen, 0);
    GstPointCloudInfo info;

    choose_layout (structure, name, layout, &info);
    info.width = info.height = 0;
    set_layout (structure, &info);
    if (organized && layout->info.width > 0 && !gst_structure_has_field (structure, "width"))
      gst_structure_set (structure, "width", G_TYPE_INT, (gint)layout->info.width, "height",
          G_TYPE_INT, (gint)layout->info.height, NULL);
    if (!gst_structure_has_field (structure, "framerate"))
      gst_structure_set (
          structure, "framerate", GST_TYPE_FRACTION, layout->info.fps_n, layout->info.fps_d, NULL);
    gst_caps_unref (other);
    return gst_caps_fixate (g_steal_pointer (&chosen));
  }
  if (gst_caps_get_size (other) > 0 &&
      gst_structure_has_name (gst_caps_get_structure (other, 0), GST_CLOUD_CAPS_POINTCLOUD2))
    return fixate_pointcloud2 (other, layout, organized);
  return gst_caps_fixate (gst_caps_truncate (other));
}
