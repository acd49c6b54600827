/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include "tests/ndt-warnings.h"

#define XYZ "x:F32:0,y:F32:4,z:F32:8"

static gboolean
parse (const gchar *text, GstPointCloudInfo *info, GError **error)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);

  fail_unless (caps != NULL, "%s", text);
  return gst_point_cloud_info_from_caps (info, caps, error);
}

static void
parse_well (const gchar *text, GstPointCloudInfo *info)
{
  g_autoptr (GError) error = NULL;

  fail_unless (parse (text, info, &error), "%s: %s", text, error ? error->message : NULL);
  fail_unless (error == NULL);
}

static void
assert_field (const GstPointCloudInfo *info, guint index, const gchar *name, GstPointFieldType type,
    guint offset, guint count)
{
  const GstPointField *field = gst_point_cloud_info_get_field (info, index);

  fail_unless (field != NULL);
  fail_unless_equals_string (field->name, name);
  fail_unless_equals_int (field->type, type);
  fail_unless_equals_int (field->offset, offset);
  fail_unless_equals_int (field->count, count);
  fail_unless (gst_point_cloud_info_find_field (info, name) == field);
}

static const struct {
  const gchar *name;
  GstPointCloudFormat format;
  guint point_step;
  const gchar *fields;
} formats[] = {
    {"XYZ_F32LE", GST_POINT_CLOUD_FORMAT_XYZ_F32LE, 12, XYZ},
    {"XYZI_F32LE", GST_POINT_CLOUD_FORMAT_XYZI_F32LE, 16, XYZ ",intensity:F32:12"},
    {"XYZ_F64LE", GST_POINT_CLOUD_FORMAT_XYZ_F64LE, 24, "x:F64:0,y:F64:8,z:F64:16"},
    {"XYZIRT", GST_POINT_CLOUD_FORMAT_XYZIRT, 24, XYZ ",intensity:F32:12,ring:U16:16,time:F32:20"},
};

GST_START_TEST (test_known_formats)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree gchar *text = g_strdup_printf ("pointcloud/x-raw, format=%s", formats[i].name);
    g_autofree gchar *whole = g_strdup_printf (
        "pointcloud/x-raw, format=%s, point-step=%u, fields=(string)\"%s\", layout=interleaved, "
        "framerate=0/1",
        formats[i].name, formats[i].point_step, formats[i].fields);
    g_autoptr (GstCaps) expected = gst_caps_from_string (whole);
    g_autoptr (GstCaps) caps = NULL;
    GstPointCloudInfo info, again;

    parse_well (text, &info);
    fail_unless_equals_int (info.format, formats[i].format);
    fail_unless_equals_int (info.point_step, formats[i].point_step);
    fail_unless_equals_int (info.width, 0);
    fail_unless_equals_int (info.height, 0);
    fail_unless_equals_int (info.fps_n, 0);
    fail_unless_equals_int (info.fps_d, 1);
    fail_unless_equals_int (info.frame_id, 0);
    fail_unless (gst_point_cloud_info_has_xyz (&info, NULL));
    fail_unless_equals_string (gst_point_cloud_format_to_string (info.format), formats[i].name);

    caps = gst_point_cloud_info_to_caps (&info);
    fail_unless (gst_caps_is_fixed (caps));
    gst_check_caps_equal (caps, expected);
    parse_well (whole, &again);
    fail_unless (gst_point_cloud_info_is_equal (&info, &again));
  }
}
GST_END_TEST;

GST_START_TEST (test_fields_of_known_format)
{
  GstPointCloudInfo info;

  parse_well ("pointcloud/x-raw, format=XYZIRT", &info);
  fail_unless_equals_int (info.n_fields, 6);
  assert_field (&info, 0, "x", GST_POINT_FIELD_TYPE_FLOAT32, 0, 1);
  assert_field (&info, 1, "y", GST_POINT_FIELD_TYPE_FLOAT32, 4, 1);
  assert_field (&info, 2, "z", GST_POINT_FIELD_TYPE_FLOAT32, 8, 1);
  assert_field (&info, 3, "intensity", GST_POINT_FIELD_TYPE_FLOAT32, 12, 1);
  assert_field (&info, 4, "ring", GST_POINT_FIELD_TYPE_UINT16, 16, 1);
  assert_field (&info, 5, "time", GST_POINT_FIELD_TYPE_FLOAT32, 20, 1);
  fail_unless (gst_point_cloud_info_get_field (&info, 6) == NULL);
  fail_unless (gst_point_cloud_info_find_field (&info, "rings") == NULL);

  /* The order in which the fields of a format are written says nothing. */
  parse_well ("pointcloud/x-raw, format=XYZ_F32LE, fields=\"z:F32:8, y:F32:4:1, x:F32:0\"", &info);
  assert_field (&info, 0, "x", GST_POINT_FIELD_TYPE_FLOAT32, 0, 1);
}
GST_END_TEST;

GST_START_TEST (test_custom)
{
  g_autoptr (GstCaps) caps = NULL;
  GstPointCloudInfo info, again;

  /* All types of ROS's PointField, not aligned, with a gap and an element count. */
  parse_well ("pointcloud/x-raw, format=CUSTOM, point-step=61, fields=(string)\""
              "a:I8:0,b:U8:1,c:I16:2,d:U16:4,e:I32:6,f:U32:10,x:F32:14,y:F32:18,z:F32:22,"
              "g:F64:27:3,h:I8:60\", layout=interleaved, framerate=20/3, frame-id=lidar_top, "
              "width=1024, height=64",
      &info);
  fail_unless_equals_int (info.format, GST_POINT_CLOUD_FORMAT_CUSTOM);
  fail_unless_equals_int (info.point_step, 61);
  fail_unless_equals_int (info.n_fields, 11);
  assert_field (&info, 0, "a", GST_POINT_FIELD_TYPE_INT8, 0, 1);
  assert_field (&info, 1, "b", GST_POINT_FIELD_TYPE_UINT8, 1, 1);
  assert_field (&info, 2, "c", GST_POINT_FIELD_TYPE_INT16, 2, 1);
  assert_field (&info, 3, "d", GST_POINT_FIELD_TYPE_UINT16, 4, 1);
  assert_field (&info, 4, "e", GST_POINT_FIELD_TYPE_INT32, 6, 1);
  assert_field (&info, 5, "f", GST_POINT_FIELD_TYPE_UINT32, 10, 1);
  assert_field (&info, 6, "x", GST_POINT_FIELD_TYPE_FLOAT32, 14, 1);
  assert_field (&info, 9, "g", GST_POINT_FIELD_TYPE_FLOAT64, 27, 3);
  assert_field (&info, 10, "h", GST_POINT_FIELD_TYPE_INT8, 60, 1);
  fail_unless_equals_int (info.fps_n, 20);
  fail_unless_equals_int (info.fps_d, 3);
  fail_unless_equals_int (info.width, 1024);
  fail_unless_equals_int (info.height, 64);
  fail_unless_equals_string (g_quark_to_string (info.frame_id), "lidar_top");

  caps = gst_point_cloud_info_to_caps (&info);
  fail_unless (gst_point_cloud_info_from_caps (&again, caps, NULL));
  fail_unless (gst_point_cloud_info_is_equal (&info, &again));
}
GST_END_TEST;

GST_START_TEST (test_types)
{
  static const struct {
    const gchar *name;
    GstPointFieldType type;
    guint ros, size;
  } types[] = {
      {"I8", GST_POINT_FIELD_TYPE_INT8, 1, 1},
      {"U8", GST_POINT_FIELD_TYPE_UINT8, 2, 1},
      {"I16", GST_POINT_FIELD_TYPE_INT16, 3, 2},
      {"U16", GST_POINT_FIELD_TYPE_UINT16, 4, 2},
      {"I32", GST_POINT_FIELD_TYPE_INT32, 5, 4},
      {"U32", GST_POINT_FIELD_TYPE_UINT32, 6, 4},
      {"F32", GST_POINT_FIELD_TYPE_FLOAT32, 7, 4},
      {"F64", GST_POINT_FIELD_TYPE_FLOAT64, 8, 8},
  };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    fail_unless_equals_int (types[i].type, types[i].ros);
    fail_unless_equals_int (gst_point_field_type_get_size (types[i].type), types[i].size);
    fail_unless_equals_string (gst_point_field_type_to_string (types[i].type), types[i].name);
    fail_unless_equals_int (gst_point_field_type_from_string (types[i].name), types[i].type);
  }
  fail_unless_equals_int (gst_point_field_type_get_size (GST_POINT_FIELD_TYPE_INVALID), 0);
  fail_unless (gst_point_field_type_to_string (GST_POINT_FIELD_TYPE_INVALID) == NULL);
  fail_unless_equals_int (gst_point_field_type_from_string ("f32"), GST_POINT_FIELD_TYPE_INVALID);
  fail_unless_equals_int (gst_point_field_type_from_string (NULL), GST_POINT_FIELD_TYPE_INVALID);
  fail_unless (gst_point_cloud_format_to_string (GST_POINT_CLOUD_FORMAT_UNKNOWN) == NULL);
  fail_unless_equals_int (
      gst_point_cloud_format_from_string ("XYZ"), GST_POINT_CLOUD_FORMAT_UNKNOWN);
  fail_unless_equals_string (
      gst_point_cloud_format_to_string (GST_POINT_CLOUD_FORMAT_CUSTOM), "CUSTOM");
}
GST_END_TEST;

#define CUSTOM "pointcloud/x-raw, format=CUSTOM, point-step=16, fields=(string)"
#define KNOWN "pointcloud/x-raw, format=XYZ_F32LE, "

static const struct {
  const gchar *caps;
  const gchar *reason; /* what the message has to say */
} refusals[] = {
    {"video/x-raw, format=XYZ_F32LE", "\"video/x-raw\" is not pointcloud/x-raw"},
    {"pointcloud/x-raw", "\"format\" is missing"},
    {"pointcloud/x-raw, format=(string){ XYZ_F32LE, XYZIRT }", "leave something open"},
    {"ANY", "leave something open"},
    {"EMPTY", "leave something open"},
    {"pointcloud/x-raw, format=(int)1", "\"format\" is no (string)"},
    {"pointcloud/x-raw, format=XYZRGB", "format \"XYZRGB\" is unknown"},
    {"pointcloud/x-raw, format=CUSTOM, point-step=16", "\"fields\" is missing"},
    {"pointcloud/x-raw, format=CUSTOM, fields=(string)\"" XYZ "\"", "\"point-step\" is missing"},
    {"pointcloud/x-raw, format=CUSTOM, point-step=0, fields=(string)\"" XYZ "\"",
        "\"point-step\" is no positive (int)"},
    {"pointcloud/x-raw, format=CUSTOM, point-step=(string)16, fields=(string)\"" XYZ "\"",
        "\"point-step\" is no positive (int)"},
    {CUSTOM "\"\"", "\"fields\" is empty"},
    {"pointcloud/x-raw, format=CUSTOM, point-step=16, fields=(int)1", "\"fields\" is no (string)"},
    {CUSTOM "\"x:F32:0,,y:F32:4\"", "Field \"\" is not written as"},
    {CUSTOM "\"x:F32:0,y:F32\"", "Field \"y:F32\" is not written as"},
    {CUSTOM "\"x:F32:0,:F32:4\"", "Field \":F32:4\" is not written as"},
    {CUSTOM "\"x:F32:0:1:1\"", "Field \"x:F32:0:1:1\" is not written as"},
    {CUSTOM "\"x:F32:0,y:F16:4\"", "Field \"y\" has the unknown type \"F16\""},
    {CUSTOM "\"x:F32:-4\"", "Field \"x\" has the offset \"-4\""},
    {CUSTOM "\"x:F32:4294967296\"", "Field \"x\" has the offset \"4294967296\""},
    {CUSTOM "\"x:F32:\"", "Field \"x\" has the offset \"\""},
    {CUSTOM "\"x:F32:0:0\"", "Field \"x\" has the count \"0\""},
    {CUSTOM "\"x:F32:0:two\"", "Field \"x\" has the count \"two\""},
    {CUSTOM "\"x:F32:0,y:F32:4,x:F32:8\"", "Field \"x\" is there twice"},
    {CUSTOM "\"x:F32:0,y:F32:13\"", "Field \"y\" ends at byte 17, beyond the point-step of 16"},
    {CUSTOM "\"x:F32:0:5\"", "Field \"x\" ends at byte 20, beyond the point-step of 16"},
    {CUSTOM "\"x:F64:2147483647:2147483647\"", "Field \"x\" ends at byte 19327352823"},
    {KNOWN "point-step=16", "\"point-step\" is 16, but format XYZ_F32LE has 12"},
    {KNOWN "fields=(string)\"x:F32:0,y:F32:8,z:F32:4\"",
        "Field \"y\" is not as format XYZ_F32LE has it"},
    {KNOWN "fields=(string)\"" XYZ ",i:F32:12\"", "Field \"i\" is not as format XYZ_F32LE"},
    {KNOWN "fields=(string)\"x:F32:0,y:F32:4\"",
        "\"fields\" lacks the field \"z\" of format XYZ_F32LE"},
    {KNOWN "layout=planar", "layout \"planar\" is unknown"},
    {KNOWN "layout=(int)1", "\"layout\" is no (string)"},
    {KNOWN "framerate=-1/2", "\"framerate\" is no (fraction) from 0/1 on"},
    {KNOWN "framerate=(int)10", "\"framerate\" is no (fraction) from 0/1 on"},
    {KNOWN "frame-id=(int)10", "\"frame-id\" is no (string)"},
    {KNOWN "width=4", "\"height\" is missing"},
    {KNOWN "height=4", "\"width\" is missing"},
    {KNOWN "width=0, height=4", "\"width\" is no positive (int)"},
    {KNOWN "width=4, height=-4", "\"height\" is no positive (int)"},
    {KNOWN "width=2147483647, height=2147483647", "\"width\" 2147483647 and \"height\" 2147483647"},
};

GST_START_TEST (test_refusal)
{
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;

  fail_if (parse (refusals[__i__].caps, &info, &error), "%s", refusals[__i__].caps);
  fail_unless (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
  fail_unless (strstr (error->message, refusals[__i__].reason) != NULL, "%s: \"%s\", not \"%s\"",
      refusals[__i__].caps, error->message, refusals[__i__].reason);
  fail_if (parse (refusals[__i__].caps, &info, NULL));
}
GST_END_TEST;

GST_START_TEST (test_number_of_fields)
{
  g_autoptr (GString) fields = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *text = NULL, *too_many = NULL;
  GstPointCloudInfo info;

  for (guint i = 0; i < GST_POINT_CLOUD_MAX_FIELDS; i++)
    g_string_append_printf (fields, "%sf%u:U8:%u", i ? "," : "", i, i);
  text = g_strdup_printf (
      "pointcloud/x-raw, format=CUSTOM, point-step=32, fields=(string)\"%s\"", fields->str);
  parse_well (text, &info);
  fail_unless_equals_int (info.n_fields, GST_POINT_CLOUD_MAX_FIELDS);
  fail_if (gst_point_cloud_info_add_field (&info, "more", GST_POINT_FIELD_TYPE_INT8, 0, 1));

  too_many = g_strdup_printf (
      "pointcloud/x-raw, format=CUSTOM, point-step=32, fields=(string)\"%s,more:U8:0\"",
      fields->str);
  fail_if (parse (too_many, &info, &error));
  fail_unless (
      strstr (error->message, "Field \"more\" is one too many") != NULL, "%s", error->message);
}
GST_END_TEST;

GST_START_TEST (test_build)
{
  g_autoptr (GstPointCloudInfo) info = gst_point_cloud_info_new ();
  g_autoptr (GstPointCloudInfo) copy = NULL;
  g_autoptr (GstCaps) caps = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *text = NULL;

  fail_if (gst_point_cloud_info_validate (info, &error));
  fail_unless_equals_string (error->message, "\"format\" is missing");
  g_clear_error (&error);
  NDT_EXPECT_LOG (ASSERT_CRITICAL (gst_point_cloud_info_to_caps (info)));

  fail_if (gst_point_cloud_info_set_format (info, GST_POINT_CLOUD_FORMAT_CUSTOM));
  fail_if (gst_point_cloud_info_set_format (info, GST_POINT_CLOUD_FORMAT_UNKNOWN));
  info->format = GST_POINT_CLOUD_FORMAT_CUSTOM;
  info->point_step = 30;
  fail_if (gst_point_cloud_info_validate (info, &error));
  fail_unless_equals_string (error->message, "\"fields\" is missing");

  fail_if (gst_point_cloud_info_add_field (info, "", GST_POINT_FIELD_TYPE_INT8, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, NULL, GST_POINT_FIELD_TYPE_INT8, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, "a,b", GST_POINT_FIELD_TYPE_INT8, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, "a:b", GST_POINT_FIELD_TYPE_INT8, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, "a", GST_POINT_FIELD_TYPE_INVALID, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, "a", (GstPointFieldType)9, 0, 1));
  fail_if (gst_point_cloud_info_add_field (info, "a", GST_POINT_FIELD_TYPE_INT8, 0, 0));
  fail_unless_equals_int (info->n_fields, 0);
  fail_unless (gst_point_cloud_info_add_field (info, "a", GST_POINT_FIELD_TYPE_FLOAT64, 6, 3));
  fail_if (gst_point_cloud_info_add_field (info, "a", GST_POINT_FIELD_TYPE_INT8, 0, 1));
  fail_unless_equals_int (info->n_fields, 1);

  caps = gst_point_cloud_info_to_caps (info);
  text = gst_caps_to_string (caps);
  fail_unless_equals_string (text,
      "pointcloud/x-raw, format=(string)CUSTOM, point-step=(int)30, fields=(string)a:F64:6:3, "
      "layout=(string)interleaved, framerate=(fraction)0/1");
  copy = gst_point_cloud_info_new_from_caps (caps, NULL);
  fail_unless (gst_point_cloud_info_is_equal (info, copy));
}
GST_END_TEST;

GST_START_TEST (test_is_equal)
{
  static const gchar *const different[] = {
      "pointcloud/x-raw, format=XYZIRT, framerate=10/1, frame-id=lidar, width=8, height=2",
      KNOWN "framerate=5/1, frame-id=lidar, width=8, height=2",
      KNOWN "framerate=10/3, frame-id=lidar, width=8, height=2",
      KNOWN "framerate=10/1, frame-id=radar, width=8, height=2",
      KNOWN "framerate=10/1, width=8, height=2",
      KNOWN "framerate=10/1, frame-id=lidar, width=4, height=2",
      KNOWN "framerate=10/1, frame-id=lidar, width=8, height=4",
      KNOWN "framerate=10/1, frame-id=lidar",
      "pointcloud/x-raw, format=CUSTOM, point-step=12, fields=(string)\"" XYZ
      "\", framerate=10/1, frame-id=lidar, width=8, height=2",
  };
  GstPointCloudInfo info, other;

  parse_well (KNOWN "framerate=10/1, frame-id=lidar, width=8, height=2", &info);
  parse_well (KNOWN "framerate=20/2, height=2, frame-id=lidar, width=8", &other);
  fail_unless (gst_point_cloud_info_is_equal (&info, &other));
  for (guint i = 0; i < G_N_ELEMENTS (different); i++) {
    parse_well (different[i], &other);
    fail_if (gst_point_cloud_info_is_equal (&info, &other), "%s", different[i]);
  }
}
GST_END_TEST;

GST_START_TEST (test_has_xyz)
{
  static const struct {
    const gchar *fields;
    const gchar *reason; /* NULL: it has */
  } cases[] = {
      {"x:F64:0,y:F64:8,z:F64:16", NULL},
      {"z:F32:20,i:U8:16,y:F32:4,x:F32:0", NULL},
      {"x:F32:0,y:F32:4", "\"z\" is missing"},
      {"X:F32:0,y:F32:4,z:F32:8", "\"x\" is missing"},
      {"x:F32:0,y:F64:8,z:F32:16", "\"y\" is F64:1"},
      {"x:F32:0,y:F32:4,z:F32:8:2", "\"z\" is F32:2"},
      {"x:I32:0,y:I32:4,z:I32:8", "\"x\" is I32:1"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *text = g_strdup_printf (
        "pointcloud/x-raw, format=CUSTOM, point-step=24, fields=(string)\"%s\"", cases[i].fields);
    g_autoptr (GError) error = NULL;
    GstPointCloudInfo info;
    gboolean has;

    parse_well (text, &info);
    has = gst_point_cloud_info_has_xyz (&info, &error);
    fail_unless_equals_int (has, cases[i].reason == NULL);
    if (cases[i].reason) {
      fail_unless (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
      fail_unless (strstr (error->message, cases[i].reason) != NULL, "%s", error->message);
    }
  }
}
GST_END_TEST;

/* A pad takes caps that are a subset of its template: what people write for a file source has to
 * be one, and so do the caps that an info makes. */
GST_START_TEST (test_template)
{
  static GstStaticPadTemplate template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
      GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
  static const struct {
    const gchar *caps;
    gboolean accepted;
  } cases[] = {
      {"pointcloud/x-raw, format=XYZI_F32LE, framerate=10/1", TRUE},
      {"pointcloud/x-raw, format=XYZI_F32LE", TRUE},
      {"pointcloud/x-raw, format=XYZ_F32LE, layout=interleaved, framerate=0/1, width=4, height=2",
          TRUE},
      {CUSTOM "\"" XYZ "\"", TRUE},
      {"pointcloud/x-raw, format=XYZRGB", FALSE},
      {"pointcloud/x-raw, framerate=10/1", FALSE},
      {"video/x-raw, format=RGB", FALSE},
  };
  g_autoptr (GstPad) pad = gst_pad_new_from_static_template (&template, "sink");
  g_autoptr (GstCaps) any = gst_static_pad_template_get_caps (&template);

  gst_object_ref_sink (pad);
  fail_if (gst_caps_is_fixed (any));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GstCaps) caps = gst_caps_from_string (cases[i].caps);

    fail_unless_equals_int (gst_pad_query_accept_caps (pad, caps), cases[i].accepted);
    if (cases[i].accepted) {
      g_autoptr (GstPointCloudInfo) info = gst_point_cloud_info_new_from_caps (caps, NULL);
      g_autoptr (GstCaps) whole = gst_point_cloud_info_to_caps (info);

      fail_unless (gst_caps_can_intersect (caps, any));
      fail_unless (gst_pad_query_accept_caps (pad, whole));
      fail_unless (gst_caps_can_intersect (caps, whole));
    }
  }
}
GST_END_TEST;

static Suite *
pointcloudinfo_suite (void)
{
  Suite *suite = suite_create ("pointcloudinfo");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_known_formats);
  tcase_add_test (tests, test_fields_of_known_format);
  tcase_add_test (tests, test_custom);
  tcase_add_test (tests, test_types);
  tcase_add_loop_test (tests, test_refusal, 0, G_N_ELEMENTS (refusals));
  tcase_add_test (tests, test_number_of_fields);
  tcase_add_test (tests, test_build);
  tcase_add_test (tests, test_is_equal);
  tcase_add_test (tests, test_has_xyz);
  tcase_add_test (tests, test_template);
  return suite;
}

GST_CHECK_MAIN (pointcloudinfo);
