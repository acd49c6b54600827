/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include <math.h>
#include <string.h>

#include "tests/ndt-warnings.h"

static void
parse (const gchar *text, GstPointCloudInfo *info)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  g_autoptr (GError) error = NULL;

  fail_unless (
      gst_point_cloud_info_from_caps (info, caps, &error), "%s", error ? error->message : NULL);
}

GST_START_TEST (test_map)
{
  static const gfloat points[2][4] = {{1, 2, 3, 0.5f}, {-4, 5, NAN, 0.25f}};
  g_autoptr (GstBuffer) buffer = gst_buffer_new_memdup (points, sizeof points);
  GstPointCloudMap map;
  GstPointCloudInfo info;

  parse ("pointcloud/x-raw, format=XYZI_F32LE", &info);
  fail_unless_equals_int (gst_point_cloud_buffer_get_n_points (buffer, &info), 2);
  fail_unless (gst_point_cloud_map (&map, &info, buffer, GST_MAP_READ, NULL));
  fail_unless_equals_int (map.n_points, 2);
  fail_unless (map.buffer == buffer);
  fail_unless (gst_point_cloud_info_is_equal (&map.info, &info));
  fail_unless (memcmp (map.data, points, sizeof points) == 0);
  fail_unless_equals_float (gst_point_cloud_map_get_value (&map, &map.info.fields[0], 1, 0), -4.0);
  fail_unless_equals_float (gst_point_cloud_map_get_value (&map, &map.info.fields[3], 0, 0), 0.5);
  fail_unless (isnan (gst_point_cloud_map_get_value (&map, &map.info.fields[2], 1, 0)));
  gst_point_cloud_unmap (&map);
  fail_unless (map.buffer == NULL);
  gst_point_cloud_unmap (&map);

  /* What was written is in the buffer. */
  fail_unless (gst_point_cloud_map (&map, &info, buffer, GST_MAP_READWRITE, NULL));
  ((gfloat *)map.data)[0] = 7;
  gst_point_cloud_unmap (&map);
  fail_unless (gst_point_cloud_map (&map, &info, buffer, GST_MAP_READ, NULL));
  fail_unless_equals_float (gst_point_cloud_map_get_value (&map, &map.info.fields[0], 0, 0), 7.0);
  gst_point_cloud_unmap (&map);
}
GST_END_TEST;

/* Each type at its extremes, at offsets that no type is aligned to. */
GST_START_TEST (test_types)
{
  guint8 data[2 * 46] = {0};
  g_autoptr (GstBuffer) buffer = NULL;
  GstPointCloudMap map;
  GstPointCloudInfo info;
  const guint8 u8 = 200;
  const gint8 i8 = -128;
  const gint16 i16 = -32768;
  const guint16 u16 = 65535;
  const gint32 i32 = G_MININT32;
  const guint32 u32 = G_MAXUINT32;
  const gfloat f32 = -1.5e-30f;
  const gdouble f64[2] = {3948996.125, G_MAXDOUBLE};
  const gdouble expected[] = {-128, 200, -32768, 65535, G_MININT32, G_MAXUINT32, f32};

  memcpy (data + 46 + 1, &i8, 1);
  memcpy (data + 46 + 2, &u8, 1);
  memcpy (data + 46 + 3, &i16, 2);
  memcpy (data + 46 + 5, &u16, 2);
  memcpy (data + 46 + 7, &i32, 4);
  memcpy (data + 46 + 11, &u32, 4);
  memcpy (data + 46 + 15, &f32, 4);
  memcpy (data + 46 + 19, f64, 16);
  buffer = gst_buffer_new_memdup (data, sizeof data);
  parse ("pointcloud/x-raw, format=CUSTOM, point-step=46, fields=(string)\""
         "a:I8:1,b:U8:2,c:I16:3,d:U16:5,e:I32:7,f:U32:11,g:F32:15,h:F64:19:2\"",
      &info);
  fail_unless (gst_point_cloud_map (&map, &info, buffer, GST_MAP_READ, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++) {
    fail_unless (gst_point_cloud_map_get_value (&map, &info.fields[i], 1, 0) == expected[i]);
    fail_unless (gst_point_cloud_map_get_value (&map, &info.fields[i], 0, 0) == 0);
  }
  fail_unless (gst_point_cloud_map_get_value (&map, &info.fields[7], 1, 0) == f64[0]);
  fail_unless (gst_point_cloud_map_get_value (&map, &info.fields[7], 1, 1) == f64[1]);
  gst_point_cloud_unmap (&map);
}
GST_END_TEST;

static void
assert_refused (GstBuffer *buffer, const GstPointCloudInfo *info, const gchar *reason)
{
  g_autoptr (GError) error = NULL;
  GstPointCloudMap map;

  fail_if (gst_point_cloud_map (&map, info, buffer, GST_MAP_READ, &error));
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, reason) != NULL, "%s", error->message);
  fail_unless (map.buffer == NULL);
  gst_point_cloud_unmap (&map);
  fail_unless_equals_int (gst_point_cloud_buffer_get_n_points (buffer, info), -1);
  fail_unless (gst_point_cloud_buffer_get_xyz (buffer, info, NULL) == NULL);
}

GST_START_TEST (test_sizes)
{
  g_autoptr (GstBuffer) empty = gst_buffer_new ();
  g_autoptr (GstBuffer) torn = gst_buffer_new_allocate (NULL, 12 * 6 + 1, NULL);
  g_autoptr (GstBuffer) eight = gst_buffer_new_allocate (NULL, 12 * 8, NULL);
  g_autoptr (GstBuffer) nine = gst_buffer_new_allocate (NULL, 12 * 9, NULL);
  GstPointCloudMap map;
  GstPointCloudInfo info;

  parse ("pointcloud/x-raw, format=XYZ_F32LE", &info);
  fail_unless (gst_point_cloud_map (&map, &info, empty, GST_MAP_READ, NULL));
  fail_unless_equals_int (map.n_points, 0);
  gst_point_cloud_unmap (&map);
  fail_unless_equals_int (gst_point_cloud_buffer_get_n_points (empty, &info), 0);
  assert_refused (torn, &info, "73 bytes is no whole number of points of 12 bytes");
  fail_unless_equals_int (gst_point_cloud_buffer_get_n_points (nine, &info), 9);

  parse ("pointcloud/x-raw, format=XYZ_F32LE, width=4, height=2", &info);
  fail_unless_equals_int (gst_point_cloud_buffer_get_n_points (eight, &info), 8);
  assert_refused (nine, &info, "9 points does not have the 4 × 2");
  assert_refused (empty, &info, "0 points does not have the 4 × 2");
}
GST_END_TEST;

/* Memory that cannot be mapped for writing. */
GST_START_TEST (test_not_mappable)
{
  static gfloat points[3] = {1, 2, 3};
  g_autoptr (GstBuffer) buffer = gst_buffer_new_wrapped_full (
      GST_MEMORY_FLAG_READONLY, points, sizeof points, 0, sizeof points, NULL, NULL);
  g_autoptr (GstBuffer) other = gst_buffer_ref (buffer);
  g_autoptr (GError) error = NULL;
  GstPointCloudMap map;
  GstPointCloudInfo info;
  gboolean mapped = TRUE;

  parse ("pointcloud/x-raw, format=XYZ_F32LE", &info);
  NDT_EXPECT_LOG (
      ASSERT_CRITICAL (mapped = gst_point_cloud_map (&map, &info, buffer, GST_MAP_WRITE, &error)));
  fail_if (mapped);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ));
}
GST_END_TEST;

GST_START_TEST (test_get_xyz)
{
  static const gdouble points[2][3] = {{388096.25, 3948996.5, INFINITY}, {1, 2, 3}};
  g_autoptr (GstBuffer) buffer = gst_buffer_new_memdup (points, sizeof points);
  g_autoptr (GBytes) xyz = NULL, y = NULL, none = NULL;
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;
  gsize size;

  parse ("pointcloud/x-raw, format=XYZ_F64LE", &info);
  xyz = gst_point_cloud_buffer_get_xyz (buffer, &info, NULL);
  fail_unless (memcmp (g_bytes_get_data (xyz, &size), points, sizeof points) == 0);
  fail_unless_equals_int (size, sizeof points);
  y = gst_point_cloud_buffer_get_values (buffer, &info, "y", NULL);
  fail_unless_equals_int (g_bytes_get_size (y), 2 * sizeof (gdouble));
  fail_unless (((const gdouble *)g_bytes_get_data (y, NULL))[0] == 3948996.5);
  fail_unless (((const gdouble *)g_bytes_get_data (y, NULL))[1] == 2);

  fail_unless (gst_point_cloud_buffer_get_values (buffer, &info, "time", &error) == NULL);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, "\"time\"") != NULL);
  g_clear_error (&error);

  /* Floats are widened; the elements of a field lie beside each other. */
  parse ("pointcloud/x-raw, format=CUSTOM, point-step=24, fields=(string)\"v:F64:0:3\"", &info);
  none = gst_point_cloud_buffer_get_values (buffer, &info, "v", NULL);
  fail_unless (memcmp (g_bytes_get_data (none, &size), points, sizeof points) == 0);
  fail_unless_equals_int (size, sizeof points);
  fail_unless (gst_point_cloud_buffer_get_xyz (buffer, &info, &error) == NULL);
  fail_unless (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
}
GST_END_TEST;

GST_START_TEST (test_flag)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new_allocate (NULL, 12, NULL);
  g_autoptr (GstBuffer) copy = NULL;

  GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
  copy = gst_buffer_copy (buffer);
  fail_unless (GST_BUFFER_FLAG_IS_SET (copy, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE));
}
GST_END_TEST;

static Suite *
pointcloudbuffer_suite (void)
{
  Suite *suite = suite_create ("pointcloudbuffer");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_map);
  tcase_add_test (tests, test_types);
  tcase_add_test (tests, test_sizes);
  tcase_add_test (tests, test_not_mappable);
  tcase_add_test (tests, test_get_xyz);
  tcase_add_test (tests, test_flag);
  return suite;
}

GST_CHECK_MAIN (pointcloudbuffer);
