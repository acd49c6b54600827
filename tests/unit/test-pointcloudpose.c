/* SPDX-License-Identifier: MIT */
/* The boxed types that properties have: poses and boxes, and how they are written. */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include <string.h>

#include "tests/ndt-warnings.h"

static gboolean
read_value (GType type, const gchar *text, GValue *value)
{
  *value = (GValue)G_VALUE_INIT;
  g_value_init (value, type);
  return gst_value_deserialize (value, text);
}

GST_START_TEST (test_forms)
{
  const struct {
    const gchar *text;
    gdouble orientation[4];
  } good[] = {
      {"1,-2,3.5", {0, 0, 0, 1}},
      {" 1 -2\t3.5\n", {0, 0, 0, 1}},
      {"1; -2; 3.5, 180", {0, 0, 1, 0}},
      {"1,-2,3.5,0,0,180", {0, 0, 1, 0}},
      {"1,-2,3.5,180,0,0", {1, 0, 0, 0}},
      {"1,-2,3.5,0,0,0,-1", {0, 0, 0, -1}},
      {"\"1,-2,3.5,0,0,0,2\"", {0, 0, 0, 1}},
  };
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    GValue value;
    fail_unless (read_value (GST_TYPE_POINT_CLOUD_POSE, good[i].text, &value), "%s", good[i].text);
    const GstPointCloudPose *pose = g_value_get_boxed (&value);
    fail_unless_equals_float (pose->position[0], 1);
    fail_unless_equals_float (pose->position[1], -2);
    fail_unless_equals_float (pose->position[2], 3.5);
    for (guint k = 0; k < 4; k++) /* the cosine of 90 degrees, rounded */
      fail_unless (ABS (pose->orientation[k] - good[i].orientation[k]) < 1e-15);
    g_value_unset (&value);
  }
  GValue value;
  fail_unless (read_value (GST_TYPE_POINT_CLOUD_BOX, "-1,-2,-3, 4 5;6", &value));
  const GstPointCloudBox *box = g_value_get_boxed (&value);
  for (guint i = 0; i < 3; i++) {
    fail_unless_equals_float (box->min[i], -1 - (gdouble)i);
    fail_unless_equals_float (box->max[i], 4 + (gdouble)i);
  }
  g_value_unset (&value);
}
GST_END_TEST

GST_START_TEST (test_refusals)
{
  const gchar *const no_pose[] = {"1", "1,2", "1,2,3,4,5", "a,b,c", "1,,2,3", "1,2,3,", "1,2,nan",
      "1,2,3,0,0,0,0", "\"1,2,3", "1,2,3,4,5,6,7,8"};
  const gchar *const no_box[] = {"1,2,3", "2,0,0,1,1,1", "0,0,0,1,1,inf", "0,0,0,1,1,1,1", "box"};
  GValue value;
  for (guint i = 0; i < G_N_ELEMENTS (no_pose); i++) {
    g_autoptr (GError) error = NULL;
    fail_if (read_value (GST_TYPE_POINT_CLOUD_POSE, no_pose[i], &value), "%s", no_pose[i]);
    g_value_unset (&value);
    fail_if (gst_point_cloud_pose_new_from_string (no_pose[i], &error));
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (strstr (error->message, no_pose[i]) != NULL);
  }
  for (guint i = 0; i < G_N_ELEMENTS (no_box); i++) {
    g_autoptr (GError) error = NULL;
    fail_if (read_value (GST_TYPE_POINT_CLOUD_BOX, no_box[i], &value), "%s", no_box[i]);
    g_value_unset (&value);
    fail_if (gst_point_cloud_box_new_from_string (no_box[i], &error));
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
  }
}
GST_END_TEST

/* By itself and in a structure, where a comma would end a value. */
static void
assert_written_back (GType type, gconstpointer boxed)
{
  GValue value = G_VALUE_INIT, back;
  g_value_init (&value, type);
  g_value_set_boxed (&value, boxed);
  g_autofree gchar *text = gst_value_serialize (&value);
  fail_unless (read_value (type, text, &back), "%s", text);
  fail_unless_equals_int (gst_value_compare (&value, &back), GST_VALUE_EQUAL);
  g_value_unset (&back);

  g_autoptr (GstStructure) structure = gst_structure_new ("s", "after", G_TYPE_INT, 7, NULL);
  gst_structure_set_value (structure, "v", &value);
  g_autofree gchar *whole = gst_structure_to_string (structure);
  g_autoptr (GstStructure) read = gst_structure_from_string (whole, NULL);
  fail_unless (read != NULL && gst_structure_is_equal (read, structure), "%s", whole);
  g_value_unset (&value);
}

GST_START_TEST (test_round_trip)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  for (guint n = 0; n < 10000; n++) {
    g_autofree gchar *text = g_strdup_printf ("%.17g,%.17g,%.17g,%.17g,%.17g,%.17g",
        g_rand_double_range (rand, -4e6, 4e6), g_rand_double_range (rand, -4e6, 4e6),
        g_rand_double_range (rand, -100, 100), g_rand_double_range (rand, -180, 180),
        g_rand_double_range (rand, -90, 90), g_rand_double_range (rand, -180, 180));
    g_autoptr (GstPointCloudPose) pose = gst_point_cloud_pose_new_from_string (text, NULL);
    GstPointCloudBox box;
    for (guint i = 0; i < 3; i++) {
      box.min[i] = g_rand_double_range (rand, -1e3, 0);
      box.max[i] = g_rand_double_range (rand, 0, 1e-3);
    }
    assert_written_back (GST_TYPE_POINT_CLOUD_POSE, pose);
    assert_written_back (GST_TYPE_POINT_CLOUD_BOX, &box);
  }
  assert_written_back (GST_TYPE_POINT_CLOUD_POSE, NULL);
  assert_written_back (GST_TYPE_POINT_CLOUD_BOX, NULL);
}
GST_END_TEST

GST_START_TEST (test_compare)
{
  GValue a, b, none;
  fail_unless (read_value (GST_TYPE_POINT_CLOUD_POSE, "1,2,3", &a));
  fail_unless (read_value (GST_TYPE_POINT_CLOUD_POSE, "1,2,3.0000000001", &b));
  fail_unless (read_value (GST_TYPE_POINT_CLOUD_POSE, " ", &none));
  fail_unless (g_value_get_boxed (&none) == NULL);
  fail_unless_equals_int (gst_value_compare (&a, &a), GST_VALUE_EQUAL);
  fail_unless_equals_int (gst_value_compare (&a, &b), GST_VALUE_UNORDERED);
  fail_unless_equals_int (gst_value_compare (&a, &none), GST_VALUE_UNORDERED);
  fail_unless_equals_int (gst_value_compare (&none, &none), GST_VALUE_EQUAL);
  g_value_unset (&a);
  g_value_unset (&b);
  g_value_unset (&none);
}
GST_END_TEST

/* What g_object_set_property() does with a string, and a binding that shows values as text. */
GST_START_TEST (test_transform)
{
  GValue text = G_VALUE_INIT, value = G_VALUE_INIT;
  g_value_init (&text, G_TYPE_STRING);
  g_value_init (&value, GST_TYPE_POINT_CLOUD_POSE);
  g_value_set_string (&text, "1,2,3,90");
  fail_unless (g_value_transform (&text, &value));
  const GstPointCloudPose *pose = g_value_get_boxed (&value);
  fail_unless_equals_float (pose->position[2], 3);
  g_autoptr (GstPointCloudPose) copy = gst_point_cloud_pose_copy (pose);
  fail_unless (memcmp (pose, copy, sizeof *pose) == 0);
  fail_unless (g_value_transform (&value, &text));
  g_autoptr (GstPointCloudPose) back =
      gst_point_cloud_pose_new_from_string (g_value_get_string (&text), NULL);
  fail_unless (memcmp (copy, back, sizeof *copy) == 0);

  g_value_set_string (&text, NULL);
  fail_unless (g_value_transform (&text, &value));
  fail_unless (g_value_get_boxed (&value) == NULL);
  g_value_set_string (&text, "here");
  NDT_EXPECT_LOG (ASSERT_WARNING (g_value_transform (&text, &value)));
  fail_unless (g_value_get_boxed (&value) == NULL);
  g_value_unset (&value);

  g_value_init (&value, GST_TYPE_POINT_CLOUD_BOX);
  g_value_set_string (&text, "0,0,0,1,2,3");
  fail_unless (g_value_transform (&text, &value));
  const GstPointCloudBox *box = g_value_get_boxed (&value);
  g_autofree gchar *written = gst_point_cloud_box_to_string (box);
  fail_unless_equals_string (written, "0,0,0,1,2,3");
  g_value_unset (&value);
  g_value_unset (&text);
}
GST_END_TEST

static Suite *
pointcloudpose_suite (void)
{
  Suite *suite = suite_create ("pointcloudpose");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_forms);
  tcase_add_test (tc, test_refusals);
  tcase_add_test (tc, test_round_trip);
  tcase_add_test (tc, test_compare);
  tcase_add_test (tc, test_transform);
  return suite;
}

GST_CHECK_MAIN (pointcloudpose);
