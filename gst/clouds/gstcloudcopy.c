/* SPDX-License-Identifier: MIT */
#include "gstcloudcopy.h"

#include <string.h>

#include "gst/common/gstpointtimes.h"
#include "gstcloudfields.h"

/* Points that are done field by field while they are in the first-level cache. */
#define CHUNK 256

/* Of an element, or of several that are moved together. */
typedef struct {
  guint from; /* offsets in a point */
  guint to;
  guint size; /* bytes that are moved; 0: a value is converted */
  GstPointFieldType from_type, to_type;
  gdouble scale;
} Part;

struct _GstCloudCopy {
  gsize from_step, to_step;
  gboolean from_swap, to_swap;
  gboolean has_gaps; /* bytes of a point that no part writes */
  GArray *parts;     /* Part */
  gchar *missing;    /* nullable */
};

static gboolean
is_time (const gchar *name)
{
  g_auto (GStrv) names = g_strsplit (GST_POINT_TIMES_FIELDS, ", ", 0);

  return g_strv_contains ((const gchar *const *)names, name);
}

static gboolean
is_float (GstPointFieldType type)
{
  return type == GST_POINT_FIELD_TYPE_FLOAT32 || type == GST_POINT_FIELD_TYPE_FLOAT64;
}

/* The name in the layout copied from of what is to be called @name. */
static const GstPointField *
find_source (const GstPointCloudInfo *from, GHashTable *renames, const gchar *name)
{
  const gchar *other = g_hash_table_lookup (renames, name);
  const GstPointField *field = gst_point_cloud_info_find_field (from, other ? other : name);
  g_auto (GStrv) times = NULL;

  if (field || !is_time (name))
    return field;
  times = g_strsplit (GST_POINT_TIMES_FIELDS, ", ", 0);
  for (guint i = 0; times[i] && !field; i++)
    field = gst_point_cloud_info_find_field (from, times[i]);
  return field;
}

static GHashTable *
parse_renames (const gchar *text, GError **error)
{
  g_autoptr (GHashTable) table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_auto (GStrv) items = g_strsplit (text ? text : "", ",", 0);

  for (guint i = 0; items[i]; i++) {
    g_auto (GStrv) names = g_strsplit (items[i], ":", 0);

    if (g_strv_length (names) != 2 || !*g_strstrip (names[0]) || !*g_strstrip (names[1])) {
      g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION,
          "\"%s\" in the property “rename” is not written as from:to", items[i]);
      return NULL;
    }
    g_hash_table_insert (table, g_strdup (names[1]), g_strdup (names[0]));
  }
  return g_steal_pointer (&table);
}

static void
add_part (GstCloudCopy *copy, const Part *part)
{
  Part *last =
      copy->parts->len > 0 ? &g_array_index (copy->parts, Part, copy->parts->len - 1) : NULL;

  /* Neighbours in both layouts are moved at once. */
  if (last && part->size > 0 && last->size > 0 && copy->from_swap == copy->to_swap &&
      last->from + last->size == part->from && last->to + last->size == part->to)
    last->size += part->size;
  else
    g_array_append_val (copy->parts, *part);
}

static void
add_field (GstCloudCopy *copy, const GstPointField *from, const GstPointField *to)
{
  const guint from_size = gst_point_field_type_get_size (from->type);
  const guint to_size = gst_point_field_type_get_size (to->type);
  gdouble scale = 1;

  if (is_time (from->name) && is_time (to->name) && is_float (from->type) != is_float (to->type))
    scale = is_float (from->type) ? 1e9 : 1e-9;
  for (guint i = 0; i < MIN (from->count, to->count); i++) {
    const Part part = {
        .from = from->offset + i * from_size,
        .to = to->offset + i * to_size,
        .size = from->type == to->type ? to_size : 0,
        .from_type = from->type,
        .to_type = to->type,
        .scale = scale,
    };
    add_part (copy, &part);
  }
}

/* Parts that are in order take one pass. The step comes from caps: a table of its bytes might be
 * 2 GiB. */
static gboolean
has_gaps (const GstCloudCopy *copy)
{
  gsize end, next = 0;

  do {
    end = next;
    for (guint i = 0; i < copy->parts->len; i++) {
      const Part *part = &g_array_index (copy->parts, Part, i);
      const gsize size = part->size ? part->size : gst_point_field_type_get_size (part->to_type);

      if (part->to <= next)
        next = MAX (next, part->to + size);
    }
  } while (next > end);
  return end < copy->to_step;
}

GstCloudCopy *
gst_cloud_copy_new (
    const GstCloudLayout *from, const GstCloudLayout *to, const gchar *renames, GError **error)
{
  g_autoptr (GHashTable) table = parse_renames (renames, error);
  g_autoptr (GString) missing = g_string_new (NULL);
  g_autoptr (GstCloudCopy) copy = NULL;

  if (!table)
    return NULL;
  copy = g_new0 (GstCloudCopy, 1);
  copy->from_step = from->info.point_step;
  copy->to_step = to->info.point_step;
  copy->from_swap = from->big_endian;
  copy->to_swap = to->big_endian;
  copy->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  for (guint i = 0; i < to->info.n_fields; i++) {
    const GstPointField *field = &to->info.fields[i];
    const GstPointField *source = find_source (&from->info, table, field->name);

    if (source) {
      add_field (copy, source, field);
      continue;
    }
    g_string_append_printf (missing, "%s%s", missing->len ? ", " : "", field->name);
    if (strlen (field->name) == 1 && strchr ("xyz", field->name[0])) {
      g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION,
          "The field \"%s\" is missing in the clouds that come; name the field that it is to be "
          "made of in the property “rename”",
          field->name);
      return NULL;
    }
  }
  copy->has_gaps = has_gaps (copy);
  copy->missing = missing->len > 0 ? g_strdup (missing->str) : NULL;
  return g_steal_pointer (&copy);
}

void
gst_cloud_copy_free (GstCloudCopy *copy)
{
  if (!copy)
    return;
  g_array_unref (copy->parts);
  g_free (copy->missing);
  g_free (copy);
}

const gchar *
gst_cloud_copy_get_missing (const GstCloudCopy *copy)
{
  return copy->missing;
}

/* Sizes that the compiler makes single instructions of. */
static void
move (const guint8 *from, gsize from_step, guint8 *to, gsize to_step, gsize size, gsize n)
{
#define MOVE(SIZE)                                                                                 \
  for (gsize i = 0; i < n; i++, from += from_step, to += to_step)                                  \
    memcpy (to, from, SIZE);                                                                       \
  break
  switch (size) {
  case 1:
    MOVE (1);
  case 2:
    MOVE (2);
  case 4:
    MOVE (4);
  case 8:
    MOVE (8);
  case 12:
    MOVE (12);
  case 16:
    MOVE (16);
  case 24:
    MOVE (24);
  default:
    MOVE (size);
  }
#undef MOVE
}

static void
move_reversed (const guint8 *from, gsize from_step, guint8 *to, gsize to_step, guint size, gsize n)
{
  for (gsize i = 0; i < n; i++, from += from_step, to += to_step)
    for (guint k = 0; k < size; k++)
      to[k] = from[size - 1 - k];
}

static guint64
run_part (const GstCloudCopy *copy, const Part *part, const guint8 *from, guint8 *to, gsize n)
{
  gdouble values[CHUNK];

  if (part->size > 0 && copy->from_swap == copy->to_swap) {
    move (from, copy->from_step, to, copy->to_step, part->size, n);
    return 0;
  }
  if (part->size > 0) {
    move_reversed (from, copy->from_step, to, copy->to_step, part->size, n);
    return 0;
  }
  gst_cloud_field_read (from, copy->from_step, part->from_type, copy->from_swap, n, values);
  if (part->scale != 1)
    for (gsize i = 0; i < n; i++)
      values[i] *= part->scale;
  return gst_cloud_field_write (to, copy->to_step, part->to_type, copy->to_swap, n, values);
}

guint64
gst_cloud_copy_run (const GstCloudCopy *copy, const guint8 *from, guint8 *to, gsize n)
{
  guint64 n_changed = 0;

  if (copy->has_gaps && n > 0)
    memset (to, 0, n * copy->to_step);
  for (gsize first = 0; first < n; first += CHUNK) {
    const gsize n_now = MIN (CHUNK, n - first);

    for (guint i = 0; i < copy->parts->len; i++) {
      const Part *part = &g_array_index (copy->parts, Part, i);
      n_changed += run_part (copy, part, from + first * copy->from_step + part->from,
          to + first * copy->to_step + part->to, n_now);
    }
  }
  return n_changed;
}
