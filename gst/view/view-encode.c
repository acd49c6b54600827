/* SPDX-License-Identifier: MIT */
#include "view-encode.h"

#include <math.h>
#include <string.h>

enum { KIND_MAP = 1, KIND_SCAN = 2, KIND_STEPS = 3 };
enum { HAS_POSE = 1, HAS_COVARIANCE = 2, HAS_INTENSITY = 4, HAS_RING = 8, HAS_RESIDUAL = 16 };

static void
put_u32 (GByteArray *out, guint32 value)
{
  value = GUINT32_TO_LE (value);
  g_byte_array_append (out, (const guint8 *)&value, sizeof value);
}

static void
put_doubles (GByteArray *out, const double *values, guint n)
{
  for (guint i = 0; i < n; i++) {
    guint64 bits;
    memcpy (&bits, &values[i], sizeof bits);
    bits = GUINT64_TO_LE (bits);
    g_byte_array_append (out, (const guint8 *)&bits, sizeof bits);
  }
}

static void
put_i16 (GByteArray *out, double value)
{
  const gint16 rounded = GINT16_TO_LE ((gint16)CLAMP (lrint (value), -32767, 32767));

  g_byte_array_append (out, (const guint8 *)&rounded, sizeof rounded);
}

static GBytes *
finish (GByteArray *out)
{
  GBytes *message = view_message_new (out->data, out->len, FALSE);

  g_byte_array_unref (out);
  return message;
}

/* Every @step-th point. The scale makes the farthest coordinate fit: 1 cm at 300 m. */
static GBytes *
encode_scan (const SceneScan *scan, guint step)
{
  const ScenePoints *points = &scan->points;
  const guint n = (points->n + step - 1) / step;
  GByteArray *out = g_byte_array_sized_new (180 + n * 9);
  double scale = 0;

  for (guint i = 0; i < 3 * points->n; i++)
    scale = MAX (scale, fabs ((double)points->xyz[i]));
  scale = scale > 0 ? scale / 32767 : 1;

  put_u32 (out, KIND_SCAN);
  put_u32 (out, n);
  put_u32 (out, (scan->has_pose ? HAS_POSE : 0) | (scan->has_covariance ? HAS_COVARIANCE : 0) |
                    (points->intensity ? HAS_INTENSITY : 0) | (points->ring ? HAS_RING : 0) |
                    (points->residual ? HAS_RESIDUAL : 0));
  put_u32 (out, scan->status | scan->reason << 8);
  put_doubles (out, &scan->seconds, 1);
  put_doubles (out, (const double[]){(double)scan->sequence}, 1);
  put_doubles (out, scan->pose.position, 3);
  put_doubles (out, scan->pose.orientation, 4);
  put_doubles (out, scan->covariance, 5);
  put_doubles (out, (const double[]){scan->nvtl, scan->matched_ratio, scan->iterations, scale}, 4);
  for (guint i = 0; i < points->n; i += step)
    for (guint axis = 0; axis < 3; axis++)
      put_i16 (out, (double)points->xyz[3 * i + axis] / scale);
  const guint8 *values[] = {points->intensity, points->ring, points->residual};
  for (guint k = 0; k < G_N_ELEMENTS (values); k++)
    for (guint i = 0; values[k] && i < points->n; i += step)
      g_byte_array_append (out, &values[k][i], 1);
  return finish (out);
}

void
view_encode_scan (const SceneScan *scan, GBytes *levels[VIEW_LEVELS])
{
  for (guint level = 0, step = 1; level < VIEW_LEVELS; level++, step *= 4)
    levels[level] = encode_scan (scan, step);
}

GBytes *
view_encode_steps (const SceneStep *steps, guint n)
{
  GByteArray *out = g_byte_array_sized_new (16 + n * 32);

  put_u32 (out, KIND_STEPS);
  put_u32 (out, n);
  for (guint i = 0; i < n; i++) {
    put_doubles (out, steps[i].position, 3);
    put_doubles (out, (const double[]){steps[i].status}, 1);
  }
  return finish (out);
}

static GBytes *
encode_chunk (const double *xyz, guint n, guint index, guint n_chunks)
{
  GByteArray *out = g_byte_array_sized_new (48 + n * 6);
  double min[3], max[3], origin[3], scale = 0;

  memcpy (min, xyz, sizeof min);
  memcpy (max, xyz, sizeof max);
  for (guint i = 0; i < n; i++)
    for (guint axis = 0; axis < 3; axis++) {
      min[axis] = MIN (min[axis], xyz[3 * i + axis]);
      max[axis] = MAX (max[axis], xyz[3 * i + axis]);
    }
  for (guint axis = 0; axis < 3; axis++) {
    origin[axis] = min[axis] + (max[axis] - min[axis]) / 2;
    scale = MAX (scale, (max[axis] - min[axis]) / 2);
  }
  scale = scale > 0 ? scale / 32767 : 1;
  put_u32 (out, KIND_MAP);
  put_u32 (out, n);
  put_u32 (out, index);
  put_u32 (out, n_chunks);
  put_doubles (out, origin, 3);
  put_doubles (out, &scale, 1);
  for (guint i = 0; i < n; i++)
    for (guint axis = 0; axis < 3; axis++)
      put_i16 (out, (xyz[3 * i + axis] - origin[axis]) / scale);
  return finish (out);
}

GPtrArray *
view_encode_map (const double *xyz, gsize n)
{
  GPtrArray *messages = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  const guint n_chunks = (guint)((n + VIEW_CHUNK_POINTS - 1) / VIEW_CHUNK_POINTS);

  for (guint chunk = 0; chunk < n_chunks; chunk++) {
    const gsize first = (gsize)chunk * VIEW_CHUNK_POINTS;
    g_ptr_array_add (messages,
        encode_chunk (xyz + 3 * first, (guint)MIN (n - first, VIEW_CHUNK_POINTS), chunk, n_chunks));
  }
  return messages;
}
