/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gst/mcap/messages/gstrosfix.h"
#include "gst/mcap/messages/gstrosmessages.h"
#include "gst/mcap/bag/bag-files.h"
#include "gst/mcap/bag/bag-kinds.h"
#include "gst/mcap/bag/bag-merger.h"
#include "gst/mcap/remote/remote-file.h"
#include "gst/mcap/ros/ros-schemas.h"
#include "ndt-replay.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/cloudfile/ndt-projector.h"

/* How much of a recording is searched for a first pose, ns of log time. */
#define START_WINDOW (10 * GST_SECOND)

/* pcap with µs and ns, of both byte orders, and pcapng (IETF opsawg-pcap, opsawg-pcapng). */
static gboolean
is_capture (const guint8 *bytes, gsize size)
{
  static const guint8 magics[][4] = {
      {0xd4, 0xc3, 0xb2, 0xa1},
      {0xa1, 0xb2, 0xc3, 0xd4},
      {0x4d, 0x3c, 0xb2, 0xa1},
      {0xa1, 0xb2, 0x3c, 0x4d},
      {0x0a, 0x0d, 0x0d, 0x0a},
  };

  for (guint i = 0; size >= 4 && i < G_N_ELEMENTS (magics); i++)
    if (memcmp (bytes, magics[i], 4) == 0)
      return TRUE;
  return FALSE;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  g_autofree gchar *key_a = g_utf8_collate_key_for_filename (*(gchar *const *)a, -1);
  g_autofree gchar *key_b = g_utf8_collate_key_for_filename (*(gchar *const *)b, -1);

  return strcmp (key_a, key_b);
}

GPtrArray *
ndt_replay_list_scans (const gchar *folder, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, error);
  const gchar *name;

  if (!dir)
    return NULL;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *lower = g_ascii_strdown (name, -1);
    if (g_str_has_suffix (lower, ".pcd"))
      g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  }
  g_ptr_array_sort (paths, compare_names);
  return g_steal_pointer (&paths);
}

gboolean
ndt_replay_find_kind (const gchar *recording, NdtReplayKind *kind, GError **error)
{
  *kind = NDT_REPLAY_BAG;
  if (remote_is_location (recording))
    return TRUE;
  if (g_file_test (recording, G_FILE_TEST_IS_DIR)) {
    g_autoptr (GPtrArray) bags = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GPtrArray) scans = ndt_replay_list_scans (recording, error);
    if (!scans)
      return FALSE;
    if (scans->len > 0 && !bag_files_find (recording, bags, NULL))
      *kind = NDT_REPLAY_FOLDER;
  } else if (g_file_test (recording, G_FILE_TEST_EXISTS)) {
    guint8 bytes[4];
    FILE *file = fopen (recording, "rb");
    const int code = errno;
    if (!file) {
      g_set_error (
          error, NDT_REPLAY_ERROR, NDT_REPLAY_BAD_INPUT, "%s: %s", recording, g_strerror (code));
      return FALSE;
    }
    if (is_capture (bytes, fread (bytes, 1, sizeof bytes, file)))
      *kind = NDT_REPLAY_CAPTURE;
    fclose (file);
  }
  return TRUE;
}

void
ndt_replay_start_clear (NdtReplayStart *self)
{
  g_clear_pointer (&self->detail, g_free);
  g_clear_pointer (&self->pose, g_free);
  g_clear_pointer (&self->uncertainty, g_free);
}

static gchar *
pose_to_string (const RosPose *ros)
{
  GstPointCloudPose pose;

  memcpy (pose.position, ros->position, sizeof pose.position);
  memcpy (pose.orientation, ros->orientation, sizeof pose.orientation);
  return gst_point_cloud_pose_to_string (&pose);
}

static gboolean
is_in_map (const gchar *frame)
{
  return g_str_equal (frame + (frame[0] == '/'), "map");
}

/* A transform of a TFMessage from the map to a body or sensor. */
static gchar *
find_in_tf (const BagMessage *message)
{
  g_autoptr (GArray) poses = ros_read_tf (message->data, message->size, NULL);

  for (guint i = 0; poses && i < poses->len; i++) {
    const RosPose *pose = &g_array_index (poses, RosPose, i);
    const gchar *child = pose->child_frame ? pose->child_frame : "";
    if (is_in_map (pose->parent_frame) && strstr (child, "odom") == NULL)
      return pose_to_string (pose);
  }
  return NULL;
}

/* Poses of a receiver, as Autoware's gnss_poser makes them in the map's frame: a place, with its
 * variances, and no heading. */
static gboolean
is_of_receiver (const gchar *topic)
{
  g_autofree gchar *lower = g_ascii_strdown (topic, -1);

  return strstr (lower, "gnss") || strstr (lower, "gps");
}

/* Standard deviations of a place; variances that are not there, or that no receiver has, are those
 * of a receiver without corrections. */
static gchar *
uncertainty_to_string (const RosPose *ros)
{
  GString *text = g_string_new ("<");

  for (guint i = 0; i < 3; i++) {
    const gdouble variance = ros->covariance[7 * i];
    const gdouble sigma = variance > 0 && variance < 1e6 ? CLAMP (sqrt (variance), 0.5, 20) : 5;
    gchar number[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf (text, "%s,", g_ascii_formatd (number, sizeof number, "%.1f", sigma));
  }
  g_string_append (text, "180>");
  return g_string_free (text, FALSE);
}

/* A pose that somebody set: it is the drive's start. Of a receiver: kept, unless there is one. */
static void
take_pose (NdtReplayStart *self, const NdtReplayOptions *options, const BagMessage *message,
    NdtReplayStart *receiver)
{
  const gchar *topic = message->channel->topic;
  const gboolean is_start = g_str_equal (topic, options->start_topic);
  RosPose pose;

  if ((!is_start && (receiver->pose || !is_of_receiver (topic))) ||
      !ros_read_pose (&pose, message->data, message->size, NULL))
    return;
  if (is_start) {
    self->pose = pose_to_string (&pose);
    self->detail = g_strdup (topic);
  } else if (is_in_map (pose.parent_frame)) {
    receiver->pose = pose_to_string (&pose);
    receiver->detail = g_strdup (topic);
    receiver->uncertainty = uncertainty_to_string (&pose);
  }
  ros_pose_clear (&pose);
}

static gboolean
is_fix (const BagMessage *message)
{
  const gchar *type = message->channel->schema_name;

  return type && bag_is_type (type, ROS_TYPE_FIX);
}

/* A position of a receiver, in the map if that says where it is on Earth. A map that does not, or
 * in a way that cannot be converted, is said once: the start is then searched for. */
static void
take_fix (const NdtReplayOptions *options, const BagMessage *message, NdtReplayStart *receiver,
    gboolean *is_unusable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtProjector) projector = NULL;
  NdtGeoreference georeference = {0};
  RosPose pose = {.orientation = {0, 0, 0, 1}};
  RosFix fix;

  if (*is_unusable || receiver->pose || !ros_read_fix (&fix, message->data, message->size, NULL))
    return;
  const gboolean has_position = ros_fix_has_position (&fix);
  ros_fix_clear (&fix);
  if (!has_position || !options->map)
    return;
  if (ndt_map_image_find_georeference (options->map, &georeference, &error)) {
    *is_unusable = ndt_georeference_is_empty (&georeference);
    if (!*is_unusable)
      projector = ndt_projector_new (&georeference, &error);
  }
  if (error) {
    g_printerr ("ndt-replay: the positions of %s are no start: %s\n", message->channel->topic,
        error->message);
    *is_unusable = TRUE;
  }
  if (!projector ||
      !ndt_projector_forward (projector, fix.latitude, fix.longitude, fix.altitude, pose.position))
    return;
  for (guint k = 0; k < 3; k++)
    pose.covariance[7 * k] = ros_fix_get_sigma (&fix, k) * ros_fix_get_sigma (&fix, k);
  receiver->pose = pose_to_string (&pose);
  receiver->detail = g_strdup (message->channel->topic);
  receiver->uncertainty = uncertainty_to_string (&pose);
}

/* In the first seconds: the pose that somebody set wins over a transform, which has a heading, and
 * that over a receiver's. */
static gboolean
find_in_recording (NdtReplayStart *self, const NdtReplayOptions *options, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) failure = NULL;
  g_autofree gchar *from_tf = NULL;
  NdtReplayStart receiver = {0};
  gboolean is_unusable = FALSE;
  guint64 first, last;
  BagMessage message;

  if (!bag_files_find (options->recording, paths, error))
    return FALSE;
  BagLimits limits = BAG_LIMITS_INIT;
  limits.cache = options->cache;
  g_autoptr (BagMerger) recording = bag_merger_new (paths, &limits, error);
  if (!recording)
    return FALSE;
  bag_merger_end_opening (recording);
  if (!bag_merger_get_range (recording, &first, &last))
    return TRUE;
  while (!self->pose && bag_merger_next (recording, &message, &failure) &&
         message.log_time - first <= START_WINDOW) {
    const BagKind kind = bag_channel_get_kind (message.channel);
    if (kind == BAG_KIND_TF && !from_tf && g_str_equal (message.channel->topic, "/tf")) {
      from_tf = find_in_tf (&message);
    } else if (kind == BAG_KIND_POSE || kind == BAG_KIND_POSE_WITH_COVARIANCE) {
      take_pose (self, options, &message, &receiver);
    } else if (kind == BAG_KIND_MESSAGE && is_fix (&message)) {
      take_fix (options, &message, &receiver, &is_unusable);
    }
  }
  if (failure) {
    ndt_replay_start_clear (&receiver);
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  if (!self->pose && from_tf) {
    self->pose = g_steal_pointer (&from_tf);
    self->detail = g_strdup ("/tf");
  }
  if (!self->pose && receiver.pose) {
    self->pose = g_steal_pointer (&receiver.pose);
    self->detail = g_steal_pointer (&receiver.detail);
    self->uncertainty = g_steal_pointer (&receiver.uncertainty);
  }
  ndt_replay_start_clear (&receiver);
  return TRUE;
}

/* The table has lines "RECORDING,POSE": a name, or the end of a path, and a pose as initial-pose
 * takes it. Empty lines and those that begin with # are left out. */
static gboolean
find_in_table (NdtReplayStart *self, const NdtReplayOptions *options, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autofree gchar *recording = g_canonicalize_filename (options->recording, NULL);

  if (!g_file_get_contents (options->starts, &text, NULL, error))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] && !self->pose; i++) {
    const gchar *line = g_strstrip (lines[i]);
    const gchar *comma = strchr (line, ',');
    if (!comma || *line == '#')
      continue;
    g_autofree gchar *name = g_strstrip (g_strndup (line, (gsize)(comma - line)));
    g_autofree gchar *end = g_strconcat ("/", name, NULL);
    if (*name && (g_str_equal (recording, name) || g_str_has_suffix (recording, end))) {
      self->pose = g_strstrip (g_strdup (comma + 1));
      self->detail = g_strdup (options->starts);
    }
  }
  return TRUE;
}

gboolean
ndt_replay_find_start (
    NdtReplayStart *self, const NdtReplayOptions *options, NdtReplayKind kind, GError **error)
{
  *self = (NdtReplayStart){.source = "search"};
  if (!g_str_equal (options->start, "auto")) {
    if (!g_str_equal (options->start, "search")) {
      self->source = "given";
      self->pose = g_strdup (options->start);
    }
    return TRUE;
  }
  if (options->starts && !find_in_table (self, options, error))
    return FALSE;
  if (self->pose) {
    self->source = "table";
    return TRUE;
  }
  if (kind == NDT_REPLAY_BAG && !find_in_recording (self, options, error))
    return FALSE;
  if (self->pose)
    self->source = "recording";
  return TRUE;
}
