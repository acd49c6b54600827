/* SPDX-License-Identifier: MIT */
#include "gstcloudfields.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Bytes of one element, reversed where @swap says so. */
static inline void
load (gpointer to, const guint8 *from, guint size, gboolean swap)
{
  guint8 *out = to;

  if (!swap) {
    memcpy (out, from, size);
    return;
  }
  for (guint i = 0; i < size; i++)
    out[i] = from[size - 1 - i];
}

#define READ(TYPE)                                                                                 \
  for (gsize i = 0; i < n; i++, data += step) {                                                    \
    TYPE value;                                                                                    \
    load (&value, data, sizeof value, swap);                                                       \
    values[i] = (gdouble)value;                                                                    \
  }                                                                                                \
  break

void
gst_cloud_field_read (
    const guint8 *data, gsize step, GstPointFieldType type, gboolean swap, gsize n, gdouble *values)
{
  switch (type) {
  case GST_POINT_FIELD_TYPE_INT8:
    READ (gint8);
  case GST_POINT_FIELD_TYPE_UINT8:
    READ (guint8);
  case GST_POINT_FIELD_TYPE_INT16:
    READ (gint16);
  case GST_POINT_FIELD_TYPE_UINT16:
    READ (guint16);
  case GST_POINT_FIELD_TYPE_INT32:
    READ (gint32);
  case GST_POINT_FIELD_TYPE_UINT32:
    READ (guint32);
  case GST_POINT_FIELD_TYPE_FLOAT32:
    READ (gfloat);
  case GST_POINT_FIELD_TYPE_FLOAT64:
    READ (gdouble);
  default:
    g_assert_not_reached ();
  }
}

/* NaN is neither above nor below. */
#define WRITE_INTEGER(TYPE, MIN_VALUE, MAX_VALUE)                                                  \
  for (gsize i = 0; i < n; i++, data += step) {                                                    \
    gdouble value = rint (values[i]);                                                              \
    TYPE out;                                                                                      \
    if (value < (MIN_VALUE) || value > (MAX_VALUE) || isnan (value)) {                             \
      value = isnan (value) ? 0 : value < 0 ? (MIN_VALUE) : (MAX_VALUE);                           \
      n_changed++;                                                                                 \
    }                                                                                              \
    out = (TYPE)value;                                                                             \
    load (data, (const guint8 *)&out, sizeof out, swap);                                           \
  }                                                                                                \
  break

guint64
gst_cloud_field_write (
    guint8 *data, gsize step, GstPointFieldType type, gboolean swap, gsize n, const gdouble *values)
{
  guint64 n_changed = 0;

  switch (type) {
  case GST_POINT_FIELD_TYPE_INT8:
    WRITE_INTEGER (gint8, G_MININT8, G_MAXINT8);
  case GST_POINT_FIELD_TYPE_UINT8:
    WRITE_INTEGER (guint8, 0, G_MAXUINT8);
  case GST_POINT_FIELD_TYPE_INT16:
    WRITE_INTEGER (gint16, G_MININT16, G_MAXINT16);
  case GST_POINT_FIELD_TYPE_UINT16:
    WRITE_INTEGER (guint16, 0, G_MAXUINT16);
  case GST_POINT_FIELD_TYPE_INT32:
    WRITE_INTEGER (gint32, G_MININT32, G_MAXINT32);
  case GST_POINT_FIELD_TYPE_UINT32:
    WRITE_INTEGER (guint32, 0, G_MAXUINT32);
  case GST_POINT_FIELD_TYPE_FLOAT32:
    for (gsize i = 0; i < n; i++, data += step) {
      gdouble value = values[i];
      if (fabs (value) > (gdouble)FLT_MAX && !isinf (value)) {
        value = copysign ((gdouble)FLT_MAX, value);
        n_changed++;
      }
      const gfloat out = (gfloat)value;
      load (data, (const guint8 *)&out, sizeof out, swap);
    }
    break;
  case GST_POINT_FIELD_TYPE_FLOAT64:
    for (gsize i = 0; i < n; i++, data += step)
      load (data, (const guint8 *)&values[i], sizeof values[i], swap);
    break;
  default:
    g_assert_not_reached ();
  }
  return n_changed;
}
