/* SPDX-License-Identifier: MIT */
/* What programs that were built before rely on (docs/contract.md, "Versions of the library"): where
 * the members of structures lie, and the values of enumerations. A change here needs another
 * soversion, but for what is added at a structure's end. */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#define AT(type, member, offset) fail_unless_equals_int (G_STRUCT_OFFSET (type, member), offset)

GST_START_TEST (test_structures)
{
  if (sizeof (gpointer) != 8 || sizeof (glong) != 8)
    return; /* numbers are of 64-bit systems */
  /* Applications have these themselves: they stay as large as they are. */
  fail_unless_equals_int (sizeof (GstPointField), 24);
  AT (GstPointField, type, 8);
  AT (GstPointField, offset, 12);
  AT (GstPointField, count, 16);
  fail_unless_equals_int (sizeof (GstPointCloudInfo), 840);
  AT (GstPointCloudInfo, point_step, 4);
  AT (GstPointCloudInfo, n_fields, 8);
  AT (GstPointCloudInfo, fields, 16);
  AT (GstPointCloudInfo, width, 784);
  AT (GstPointCloudInfo, height, 788);
  AT (GstPointCloudInfo, fps_n, 792);
  AT (GstPointCloudInfo, fps_d, 796);
  AT (GstPointCloudInfo, frame_id, 800);
  fail_unless_equals_int (sizeof (GstPointCloudMap), 1000);
  AT (GstPointCloudMap, buffer, 840);
  AT (GstPointCloudMap, map, 848);
  AT (GstPointCloudMap, data, 952);
  AT (GstPointCloudMap, n_points, 960);
  fail_unless_equals_int (sizeof (GstPointCloudPose), 56);
  AT (GstPointCloudPose, orientation, 24);
  fail_unless_equals_int (sizeof (GstPointCloudBox), 48);
  AT (GstPointCloudBox, max, 24);
  /* The library makes these: members may be added. */
  AT (GstPoseMeta, role, 16);
  AT (GstPoseMeta, status, 20);
  AT (GstPoseMeta, has_pose, 24);
  AT (GstPoseMeta, position, 32);
  AT (GstPoseMeta, orientation, 56);
  AT (GstPoseMeta, has_covariance, 88);
  AT (GstPoseMeta, covariance, 96);
  AT (GstPoseMeta, parent_frame, 384);
  AT (GstPoseMeta, child_frame, 388);
  AT (GstPoseMeta, timestamp, 392);
  AT (GstPoseMeta, sequence, 400);
  AT (GstPoseMeta, transformation_probability, 408);
  AT (GstPoseMeta, nvtl, 416);
  AT (GstPoseMeta, matched_ratio, 424);
  AT (GstPoseMeta, iterations, 432);
  AT (GstPoseMeta, has_no_ground, 436);
  AT (GstPoseMeta, no_ground_points, 440);
  AT (GstPoseMeta, no_ground_transformation_probability, 448);
  AT (GstPoseMeta, no_ground_nvtl, 456);
  AT (GstPoseMeta, reason, 464);
  AT (GstPoseMeta, reason_value, 472);
  AT (GstPoseMeta, reason_bound, 480);
  AT (GstPoseMeta, has_fit, 488);
  AT (GstPoseMeta, fit, 496);
  AT (GstPoseMeta, sigma, 504);
  AT (GstPoseMeta, degenerate, 512);
  AT (GstPoseMeta, n_open, 516);
  AT (GstPoseMeta, open_directions, 520);
  AT (GstPoseMeta, has_confidence, 592);
  AT (GstPoseMeta, confidence, 600);
  AT (GstPoseMeta, unexplained, 608);
}
GST_END_TEST

GST_START_TEST (test_values)
{
  fail_unless_equals_int (GST_POINT_FIELD_TYPE_FLOAT64, 8);
  fail_unless_equals_int (GST_POINT_CLOUD_FORMAT_CUSTOM, 1);
  fail_unless_equals_int (GST_POINT_CLOUD_FORMAT_XYZ_F32LE, 2);
  fail_unless_equals_int (GST_POINT_CLOUD_FORMAT_XYZI_F32LE, 3);
  fail_unless_equals_int (GST_POINT_CLOUD_FORMAT_XYZ_F64LE, 4);
  fail_unless_equals_int (GST_POINT_CLOUD_FORMAT_XYZIRT, 5);
  fail_unless_equals_int (GST_POSE_ROLE_ESTIMATE, 0);
  fail_unless_equals_int (GST_POSE_ROLE_PRIOR, 1);
  fail_unless_equals_int (GST_POSE_ROLE_ODOMETRY, 2);
  fail_unless_equals_int (GST_POSE_ROLE_GROUND_TRUTH, 3);
  fail_unless_equals_int (GST_POSE_STATUS_NONE, 0);
  fail_unless_equals_int (GST_POSE_STATUS_INITIALIZING, 1);
  fail_unless_equals_int (GST_POSE_STATUS_TRACKING, 2);
  fail_unless_equals_int (GST_POSE_STATUS_DEGRADED, 3);
  fail_unless_equals_int (GST_POSE_STATUS_LOST, 4);
  fail_unless_equals_int (GST_POSE_STATUS_SKIPPED, 5);
  fail_unless_equals_int (GST_POSE_REASON_NONE, 0);
  fail_unless_equals_int (GST_POSE_REASON_BAD_FIT, 1);
  fail_unless_equals_int (GST_POSE_REASON_NO_MAP, 2);
  fail_unless_equals_int (GST_POSE_REASON_NO_START, 3);
  fail_unless_equals_int (GST_POSE_REASON_WEAK_OVERLAP, 4);
  fail_unless_equals_int (GST_POSE_REASON_STALE_PREDICTION, 5);
  fail_unless_equals_int (GST_POSE_REASON_TOO_LATE, 6);
  fail_unless_equals_int (GST_POSE_REASON_DEGENERATE, 7);
  fail_unless_equals_int (GST_POSE_REASON_AMBIGUOUS, 8);
  fail_unless_equals_int (GST_POSE_REASON_IMPLAUSIBLE_MOTION, 9);
  fail_unless_equals_int (GST_POSE_REASON_TOO_FEW_POINTS, 10);
  fail_unless_equals_int (GST_POINT_CLOUD_MAX_FIELDS, 32);
}
GST_END_TEST

static Suite *
pointcloudabi_suite (void)
{
  Suite *suite = suite_create ("pointcloudabi");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_structures);
  tcase_add_test (tc, test_values);
  return suite;
}

GST_CHECK_MAIN (pointcloudabi);
