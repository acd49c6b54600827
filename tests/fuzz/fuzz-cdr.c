/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "gst/mcap/replay/gstbagmessages.h"
#include "gst/mcap/messages/gstrosfix.h"
#include "gst/mcap/messages/gstrosmessages.h"

/* Frames become quarks, whose table GLib leaks each time that it grows. */
const char *__asan_default_options (void);
const char *
__asan_default_options (void)
{
  return "detect_leaks=0";
}

/* A message of each kind. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const BagKind kinds[] = {BAG_KIND_POSE, BAG_KIND_POSE_WITH_COVARIANCE, BAG_KIND_ODOMETRY,
      BAG_KIND_TF, BAG_KIND_DIAGNOSTICS};
  g_autoptr (GHashTable) metadata = g_hash_table_new (g_str_hash, g_str_equal);
  BagChannel channel = {0, (gchar *)"t", (gchar *)"cdr", (gchar *)"x", (gchar *)"", NULL, metadata};
  const BagMessage message = {&channel, 0, 1, 1, data, size};

  if (!gst_is_initialized ()) {
    gst_init (NULL, NULL);
    g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  }
  g_autoptr (GError) error = NULL;
  BagCloudCaps caps = {0};
  GstBuffer *cloud = bag_message_to_cloud (&message, NULL, &caps, &error);
  g_assert_true ((cloud != NULL) == (error == NULL));
  if (cloud) {
    GstPointCloudInfo info;
    GstMapInfo map;
    volatile guint total = 0;
    gst_point_cloud_info_from_caps (&info, caps.caps, &error);
    g_assert_no_error (error);
    g_assert_true (gst_buffer_map (cloud, &map, GST_MAP_READ));
    g_assert_cmpuint (map.size % info.point_step, ==, 0);
    g_assert_cmpuint (map.size, <=, size);
    for (gsize i = 0; i < map.size; i++)
      total += map.data[i];
    gst_buffer_unmap (cloud, &map);
    gst_buffer_unref (cloud);
  }
  bag_cloud_caps_clear (&caps);
  RosFix fix;
  g_autoptr (GError) no_fix = NULL;
  const gboolean is_fix = ros_read_fix (&fix, data, size, &no_fix);
  g_assert_true (is_fix == (no_fix == NULL));
  if (is_fix) {
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat (ros_fix_get_sigma (&fix, k), >=, 0);
    g_assert_true (!ros_fix_has_position (&fix) || fix.latitude <= 90);
    ros_fix_clear (&fix);
  }
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    GstBuffer *buffer = gst_buffer_new ();
    guint diagnosed = 0;
    bag_message_get_stamp (&message, kinds[i]);
    if (kinds[i] != BAG_KIND_DIAGNOSTICS)
      bag_message_add_poses (&message, kinds[i], GST_POSE_ROLE_ESTIMATE, 0, 1, NULL, buffer, NULL);
    bag_message_complete_pose (&message, kinds[i], NULL, buffer, &diagnosed, NULL);
    gst_buffer_unref (buffer);
  }
  return 0;
}
