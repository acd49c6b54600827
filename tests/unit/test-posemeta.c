/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <string.h>

static const gdouble position[3] = {388096.125, 3948996.25, -12.1};
static const gdouble orientation[4] = {0.1, -0.2, 0.3, 0.9273618495495703};

/* An estimate with every member different from its default. */
static GstPoseMeta *
add_estimate (GstBuffer *buffer)
{
  GstPoseMeta *pose =
      gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE, position, orientation);

  pose->status = GST_POSE_STATUS_DEGRADED;
  pose->has_covariance = TRUE;
  for (guint i = 0; i < 36; i++)
    pose->covariance[i] = i / 7.0;
  pose->parent_frame = g_quark_from_static_string ("map");
  pose->child_frame = g_quark_from_static_string ("lidar \"top\", left");
  pose->timestamp = G_GUINT64_CONSTANT (1700000000123456789);
  pose->sequence = G_MAXUINT64 - 1;
  pose->transformation_probability = 1.0 / 3;
  pose->nvtl = 2.3;
  pose->matched_ratio = 0.75;
  pose->iterations = 5;
  pose->has_no_ground = TRUE;
  pose->no_ground_points = 321;
  pose->no_ground_transformation_probability = 2.0 / 7;
  pose->no_ground_nvtl = 2.1;
  pose->reason = GST_POSE_REASON_DEGENERATE;
  pose->reason_value = 1.0 / 9;
  pose->reason_bound = 0.05;
  pose->has_fit = TRUE;
  pose->fit = 1.0 / 11;
  pose->sigma = 1.0 / 9;
  pose->degenerate = TRUE;
  pose->has_confidence = TRUE;
  pose->confidence = 1.0 / 17;
  pose->unexplained = 1.0 / 19;
  pose->n_open = 2;
  for (guint i = 0; i < 6; i++)
    pose->open_directions[i] = i / 13.0;
  return pose;
}

static void
assert_same (const GstPoseMeta *a, const GstPoseMeta *b)
{
  fail_unless (a != NULL && b != NULL);
  fail_unless_equals_int (a->role, b->role);
  fail_unless_equals_int (a->status, b->status);
  fail_unless_equals_int (a->has_pose, b->has_pose);
  fail_unless (memcmp (a->position, b->position, sizeof a->position) == 0);
  fail_unless (memcmp (a->orientation, b->orientation, sizeof a->orientation) == 0);
  fail_unless_equals_int (a->has_covariance, b->has_covariance);
  fail_unless (memcmp (a->covariance, b->covariance, sizeof a->covariance) == 0);
  fail_unless_equals_int (a->parent_frame, b->parent_frame);
  fail_unless_equals_int (a->child_frame, b->child_frame);
  fail_unless_equals_uint64 (a->timestamp, b->timestamp);
  fail_unless_equals_uint64 (a->sequence, b->sequence);
  fail_unless (a->transformation_probability == b->transformation_probability);
  fail_unless (a->nvtl == b->nvtl);
  fail_unless (a->matched_ratio == b->matched_ratio);
  fail_unless_equals_int (a->iterations, b->iterations);
  fail_unless_equals_int (a->has_no_ground, b->has_no_ground);
  fail_unless_equals_int (a->no_ground_points, b->no_ground_points);
  fail_unless (a->no_ground_transformation_probability == b->no_ground_transformation_probability);
  fail_unless (a->no_ground_nvtl == b->no_ground_nvtl);
  fail_unless_equals_int (a->reason, b->reason);
  fail_unless (a->reason_value == b->reason_value && a->reason_bound == b->reason_bound);
  fail_unless_equals_int (a->has_fit, b->has_fit);
  fail_unless (a->fit == b->fit && a->sigma == b->sigma);
  fail_unless_equals_int (a->has_confidence, b->has_confidence);
  fail_unless (a->confidence == b->confidence && a->unexplained == b->unexplained);
  fail_unless_equals_int (a->degenerate, b->degenerate);
  fail_unless_equals_int (a->n_open, b->n_open);
  fail_unless (memcmp (a->open_directions, b->open_directions, sizeof a->open_directions) == 0);
}

/* Each reason has a name, numbers in words and something to do; nothing says nothing. */
GST_START_TEST (test_reasons)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GstPoseMeta *pose = add_estimate (buffer);
  g_autoptr (GTypeClass) klass = g_type_class_ref (GST_TYPE_POSE_REASON);
  const GEnumClass *reasons = G_ENUM_CLASS (klass);

  fail_unless_equals_int (reasons->n_values, GST_POSE_REASON_TOO_FEW_POINTS + 1);
  for (guint i = 0; i < reasons->n_values; i++) {
    pose->reason = (GstPoseReason)i;
    g_autofree gchar *text = gst_pose_meta_describe_reason (pose);
    fail_unless_equals_int (reasons->values[i].value, (gint)i);
    if (i == GST_POSE_REASON_NONE) {
      fail_unless (text == NULL);
      fail_unless_equals_string (gst_pose_reason_get_advice (pose->reason), "");
    } else {
      fail_unless (text && strlen (text) > 10, "%s", reasons->values[i].value_nick);
      fail_unless (strlen (gst_pose_reason_get_advice (pose->reason)) > 10);
    }
  }
  pose->reason = GST_POSE_REASON_BAD_FIT;
  pose->reason_value = 0.55;
  pose->reason_bound = 0.9;
  g_autofree gchar *text = gst_pose_meta_describe_reason (pose);
  fail_unless_equals_string (text, "its fit is 0.55, below 0.90");
  pose->reason = (GstPoseReason)99;
  fail_unless (gst_pose_meta_describe_reason (pose) == NULL);
  fail_unless_equals_string (gst_pose_reason_get_advice (pose->reason), "");
}
GST_END_TEST

/* A structure of another form is no pose. */
GST_START_TEST (test_wrong_reasons)
{
  static const gchar *const texts[] = {"pose, role=estimate, reason=bad-luck",
      "pose, role=estimate, open-directions=<1.0, 2.0>", "pose, role=estimate, open-directions=3",
      "pose, role=estimate, open-directions=<1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,1.0,1.0,1.0>"};
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (GstStructure) structure = gst_structure_from_string (texts[i], NULL);
    fail_unless (structure != NULL);
    fail_unless (gst_buffer_add_pose_meta_from_structure (buffer, structure) == NULL, texts[i]);
  }
}
GST_END_TEST

GST_START_TEST (test_add)
{
  static const gdouble identity[4] = {0, 0, 0, 1};
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GstPoseMeta *pose = gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_PRIOR, NULL, NULL);

  fail_unless_equals_int (pose->role, GST_POSE_ROLE_PRIOR);
  fail_unless_equals_int (pose->status, GST_POSE_STATUS_NONE);
  fail_if (pose->has_pose);
  fail_if (pose->has_covariance);
  fail_unless (memcmp (pose->orientation, identity, sizeof identity) == 0);
  fail_unless (pose->position[0] == 0 && pose->position[1] == 0 && pose->position[2] == 0);
  fail_unless_equals_int (pose->parent_frame, 0);
  fail_unless_equals_int (pose->child_frame, 0);
  fail_unless_equals_uint64 (pose->timestamp, GST_CLOCK_TIME_NONE);
  fail_unless_equals_uint64 (pose->sequence, 0);
  fail_unless_equals_int (pose->iterations, 0);

  pose = gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY, position, NULL);
  fail_unless (pose->has_pose);
  fail_unless (memcmp (pose->position, position, sizeof position) == 0);
  fail_unless (memcmp (pose->orientation, identity, sizeof identity) == 0);
}
GST_END_TEST;

GST_START_TEST (test_roles)
{
  static const GstPoseRole roles[] = {GST_POSE_ROLE_GROUND_TRUTH, GST_POSE_ROLE_PRIOR,
      GST_POSE_ROLE_ESTIMATE, GST_POSE_ROLE_ODOMETRY};
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GstCaps) ptp = gst_caps_new_empty_simple ("timestamp/x-ptp");

  for (guint i = 0; i < G_N_ELEMENTS (roles); i++)
    fail_unless (gst_buffer_get_pose_meta (buffer, roles[i]) == NULL);
  gst_buffer_add_reference_timestamp_meta (buffer, ptp, 1, GST_CLOCK_TIME_NONE);
  for (guint i = 0; i < G_N_ELEMENTS (roles); i++)
    gst_buffer_add_pose_meta (buffer, roles[i], position, NULL)->sequence = i;
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_PRIOR, position, NULL)->sequence = 9;
  for (guint i = 0; i < G_N_ELEMENTS (roles); i++) {
    GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, roles[i]);

    fail_unless_equals_int (pose->role, roles[i]);
    fail_unless_equals_uint64 (pose->sequence, i); /* the first of its role */
  }
  fail_unless (
      gst_buffer_remove_meta (buffer, (GstMeta *)gst_buffer_get_pose_meta (buffer, roles[1])));
  fail_unless_equals_uint64 (gst_buffer_get_pose_meta (buffer, roles[1])->sequence, 9);
}
GST_END_TEST;

GST_START_TEST (test_copy)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new_allocate (NULL, 120, NULL);
  g_autoptr (GstBuffer) copy = NULL, deep = NULL, region = NULL, appended = NULL;
  GstPoseMeta *estimate = add_estimate (buffer);
  GstPoseMeta *truth;

  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH, position, NULL)->sequence = 3;
  truth = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH);
  copy = gst_buffer_copy (buffer);
  deep = gst_buffer_copy_deep (buffer);
  region = gst_buffer_copy_region (buffer, GST_BUFFER_COPY_ALL, 12, 24);
  appended = gst_buffer_append (gst_buffer_new (), gst_buffer_ref (buffer));

  assert_same (gst_buffer_get_pose_meta (copy, GST_POSE_ROLE_ESTIMATE), estimate);
  assert_same (gst_buffer_get_pose_meta (copy, GST_POSE_ROLE_GROUND_TRUTH), truth);
  assert_same (gst_buffer_get_pose_meta (deep, GST_POSE_ROLE_ESTIMATE), estimate);
  assert_same (gst_buffer_get_pose_meta (region, GST_POSE_ROLE_ESTIMATE), estimate);
  fail_unless_equals_int (gst_buffer_get_n_meta (copy, GST_POSE_META_API_TYPE), 2);

  /* The copy is independent. */
  gst_buffer_get_pose_meta (copy, GST_POSE_ROLE_ESTIMATE)->position[0] = 1;
  fail_unless (estimate->position[0] == position[0]);
}
GST_END_TEST;

/* No tag means that elements which copy metas copy this one. */
GST_START_TEST (test_no_tags)
{
  const gchar *const *tags = gst_meta_api_type_get_tags (GST_POSE_META_API_TYPE);

  fail_unless (tags == NULL || tags[0] == NULL);
  fail_unless (GST_POSE_META_INFO == gst_meta_get_info ("GstPoseMeta"));
}
GST_END_TEST;

static void
assert_survives (const gchar *description)
{
  GstHarness *harness = gst_harness_new_parse (description);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 160, NULL);
  g_autoptr (GstBuffer) expected = NULL, received = NULL;

  gst_buffer_memset (buffer, 0, 0, 160);
  GST_BUFFER_PTS (buffer) = 0;
  add_estimate (buffer);
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY, NULL, NULL)->sequence = 4;
  expected = gst_buffer_copy (buffer);
  gst_harness_set_src_caps_str (
      harness, "audio/x-raw, format=S16LE, layout=interleaved, rate=8000, channels=1");
  fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  received = gst_harness_pull (harness);
  fail_unless (received != NULL, "%s", description);
  assert_same (gst_buffer_get_pose_meta (received, GST_POSE_ROLE_ESTIMATE),
      gst_buffer_get_pose_meta (expected, GST_POSE_ROLE_ESTIMATE));
  assert_same (gst_buffer_get_pose_meta (received, GST_POSE_ROLE_ODOMETRY),
      gst_buffer_get_pose_meta (expected, GST_POSE_ROLE_ODOMETRY));
  gst_harness_teardown (harness);
}

/* Ordinary elements between ours; audioinvert is a BaseTransform in place, audioconvert one that
 * writes into a new buffer. They know nothing of this meta. */
GST_START_TEST (test_pipelines)
{
  assert_survives ("identity");
  assert_survives ("queue");
  assert_survives ("tee ! queue");
  assert_survives ("tee ! identity single-segment=true ! queue ! capsfilter");
  if (gst_registry_check_feature_version (gst_registry_get (), "audioinvert", 1, 0, 0))
    assert_survives ("audioinvert degree=1");
}
GST_END_TEST;

static void
assert_string (const GstStructure *structure, const gchar *name, const gchar *value)
{
  fail_unless_equals_string (gst_structure_get_string (structure, name), value);
}

static void
assert_doubles (const GstStructure *structure, const gchar *name, const gdouble *values, guint n)
{
  const GValue *array = gst_structure_get_value (structure, name);

  fail_unless (GST_VALUE_HOLDS_ARRAY (array));
  fail_unless_equals_int (gst_value_array_get_size (array), n);
  for (guint i = 0; i < n; i++)
    fail_unless (g_value_get_double (gst_value_array_get_value (array, i)) == values[i]);
}

GST_START_TEST (test_to_structure)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GstPoseMeta *pose = add_estimate (buffer);
  g_autoptr (GstStructure) structure = gst_pose_meta_to_structure (pose);
  g_autoptr (GstStructure) bare = NULL;
  guint64 number;
  gdouble value;
  guint iterations, points;

  fail_unless (gst_structure_has_name (structure, "pose"));
  assert_string (structure, "role", "estimate");
  assert_string (structure, "status", "degraded");
  assert_string (structure, "parent-frame", "map");
  assert_string (structure, "child-frame", "lidar \"top\", left");
  assert_doubles (structure, "position", position, 3);
  assert_doubles (structure, "orientation", orientation, 4);
  assert_doubles (structure, "covariance", pose->covariance, 36);
  fail_unless (gst_structure_get_uint64 (structure, "timestamp", &number));
  fail_unless_equals_uint64 (number, pose->timestamp);
  fail_unless (gst_structure_get_uint64 (structure, "sequence", &number));
  fail_unless_equals_uint64 (number, pose->sequence);
  fail_unless (gst_structure_get_double (structure, "transformation-probability", &value));
  fail_unless (value == pose->transformation_probability);
  fail_unless (gst_structure_get_double (structure, "nvtl", &value));
  fail_unless (value == 2.3);
  fail_unless (gst_structure_get_double (structure, "matched-ratio", &value));
  fail_unless (value == 0.75);
  fail_unless (gst_structure_get_uint (structure, "iterations", &iterations));
  fail_unless_equals_int (iterations, 5);
  fail_unless (gst_structure_get_uint (structure, "no-ground-points", &points));
  fail_unless_equals_int (points, 321);
  fail_unless (
      gst_structure_get_double (structure, "no-ground-transformation-probability", &value));
  fail_unless (value == 2.0 / 7);
  fail_unless (gst_structure_get_double (structure, "no-ground-nvtl", &value));
  fail_unless (value == 2.1);

  /* What means nothing is not there. */
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH, NULL, NULL);
  bare = gst_buffer_get_pose_structure (buffer, GST_POSE_ROLE_GROUND_TRUTH);
  assert_string (bare, "role", "ground-truth");
  assert_string (bare, "status", "none");
  fail_if (gst_structure_has_field (bare, "position"));
  fail_if (gst_structure_has_field (bare, "orientation"));
  fail_if (gst_structure_has_field (bare, "covariance"));
  fail_if (gst_structure_has_field (bare, "parent-frame"));
  fail_if (gst_structure_has_field (bare, "child-frame"));
  fail_if (gst_structure_has_field (bare, "timestamp"));
  fail_if (gst_structure_has_field (bare, "no-ground-points"));
  fail_unless (gst_buffer_get_pose_structure (buffer, GST_POSE_ROLE_PRIOR) == NULL);
}
GST_END_TEST;

/* By way of text as well, which is how the meta is serialized. */
GST_START_TEST (test_from_structure)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GstBuffer) read = gst_buffer_new ();

  add_estimate (buffer);
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY, NULL, NULL);
  for (guint role = GST_POSE_ROLE_ESTIMATE; role <= GST_POSE_ROLE_ODOMETRY; role += 2) {
    g_autoptr (GstStructure) structure = gst_buffer_get_pose_structure (buffer, (GstPoseRole)role);
    g_autofree gchar *text = gst_structure_to_string (structure);
    g_autoptr (GstStructure) parsed = gst_structure_from_string (text, NULL);
    GstPoseMeta *pose = gst_buffer_add_pose_meta_from_structure (read, structure);

    assert_same (pose, gst_buffer_get_pose_meta (buffer, (GstPoseRole)role));
    fail_unless (parsed != NULL, "%s", text);
    pose = gst_buffer_add_pose_meta_from_structure (read, parsed);
    assert_same (pose, gst_buffer_get_pose_meta (buffer, (GstPoseRole)role));
  }
}
GST_END_TEST;

static const gchar *const no_poses[] = {
    "pose",
    "position, role=estimate",
    "pose, role=guess",
    "pose, role=(int)1",
    "pose, role=prior, status=found",
    "pose, role=prior, position=(double)< 1.0, 2.0, 3.0 >",
    "pose, role=prior, orientation=(double)< 0.0, 0.0, 0.0, 1.0 >",
    "pose, role=prior, position=(double)< 1.0, 2.0 >, orientation=(double)< 0.0, 0.0, 0.0, 1.0 >",
    "pose, role=prior, position=(int)< 1, 2, 3 >, orientation=(double)< 0.0, 0.0, 0.0, 1.0 >",
    "pose, role=prior, position=(double)1.0, orientation=(double)< 0.0, 0.0, 0.0, 1.0 >",
    "pose, role=prior, covariance=(double)< 1.0 >",
};

GST_START_TEST (test_no_pose)
{
  g_autoptr (GstStructure) structure = gst_structure_from_string (no_poses[__i__], NULL);
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();

  fail_unless (structure != NULL, "%s", no_poses[__i__]);
  fail_unless (
      gst_buffer_add_pose_meta_from_structure (buffer, structure) == NULL, "%s", no_poses[__i__]);
  fail_unless_equals_int (gst_buffer_get_n_meta (buffer, GST_POSE_META_API_TYPE), 0);
}
GST_END_TEST;

#if GST_CHECK_VERSION(1, 24, 0)
GST_START_TEST (test_serialize)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GstBuffer) read = gst_buffer_new ();
  g_autoptr (GByteArray) data = g_byte_array_new ();
  GstPoseMeta *pose = add_estimate (buffer);
  GstMeta *meta;
  guint32 consumed;

  fail_unless (gst_meta_serialize_simple ((GstMeta *)pose, data));
  meta = gst_meta_deserialize (read, data->data, data->len, &consumed);
  fail_unless_equals_int (consumed, data->len);
  assert_same ((GstPoseMeta *)meta, pose);
  assert_same (gst_buffer_get_pose_meta (read, GST_POSE_ROLE_ESTIMATE), pose);

  /* Cut short it is no pose. */
  fail_unless (gst_meta_deserialize (read, data->data, data->len - 40, &consumed) == NULL);
}
GST_END_TEST;
#endif

static Suite *
posemeta_suite (void)
{
  Suite *suite = suite_create ("posemeta");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_add);
  tcase_add_test (tests, test_reasons);
  tcase_add_test (tests, test_wrong_reasons);
  tcase_add_test (tests, test_roles);
  tcase_add_test (tests, test_copy);
  tcase_add_test (tests, test_no_tags);
  tcase_add_test (tests, test_pipelines);
  tcase_add_test (tests, test_to_structure);
  tcase_add_test (tests, test_from_structure);
  tcase_add_loop_test (tests, test_no_pose, 0, G_N_ELEMENTS (no_poses));
#if GST_CHECK_VERSION(1, 24, 0)
  tcase_add_test (tests, test_serialize);
#endif
  return suite;
}

GST_CHECK_MAIN (posemeta);
