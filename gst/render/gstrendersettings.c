/* SPDX-License-Identifier: MIT */
#include "gstrendersettings.h"

#include <string.h>

#include "ndtcore/math/ndt-pose.h"

#define DEFAULT_DISTANCE 30.0
#define DEFAULT_MAX_MAP_POINTS 1000000

enum {
  PROP_0,
  PROP_VIEW,
  PROP_COLOR,
  PROP_DISTANCE,
  PROP_FOLLOW,
  PROP_WORDS,
  PROP_ROLE,
  PROP_SENSOR_POSE,
  PROP_MAP_LOCATION,
  PROP_MAX_MAP_POINTS,
  N_PROPS
};

#define TYPE_VIEW (get_view_type ())
#define TYPE_COLOR (get_color_type ())

static GType
get_view_type (void)
{
  static const GEnumValue values[] = {
      {RENDER_VIEW_CHASE, "From behind and above", "chase"},
      {RENDER_VIEW_TOP, "From above, north up, without perspective", "top"},
      {RENDER_VIEW_SIDE, "From the south, without perspective", "side"},
      {0, NULL, NULL},
  };
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstPointCloudRenderView", values));
  return type;
}

static GType
get_color_type (void)
{
  static const GEnumValue values[] = {
      {RENDER_COLOR_HEIGHT, "Height in the map", "height"},
      {RENDER_COLOR_INTENSITY, "Intensity", "intensity"},
      {RENDER_COLOR_RING, "Ring", "ring"},
      {RENDER_COLOR_RESIDUAL, "Standard deviations from the map, up to 4", "residual"},
      {0, NULL, NULL},
  };
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstPointCloudRenderColor", values));
  return type;
}

void
gst_render_settings_init (GstRenderSettings *settings)
{
  settings->options.distance = DEFAULT_DISTANCE;
  settings->options.follow = TRUE;
  settings->options.words = TRUE;
  settings->options.color = RENDER_COLOR_RESIDUAL;
  settings->role = GST_POSE_ROLE_ESTIMATE;
  settings->max_map_points = DEFAULT_MAX_MAP_POINTS;
}

void
gst_render_settings_clear (GstRenderSettings *settings)
{
  g_clear_pointer (&settings->sensor_pose, gst_point_cloud_pose_free);
  g_clear_pointer (&settings->map_location, g_free);
}

gboolean
gst_render_settings_set (GstRenderSettings *settings, guint id, const GValue *value)
{
  switch (id) {
  case PROP_VIEW:
    settings->options.view = (RenderView)g_value_get_enum (value);
    return TRUE;
  case PROP_COLOR:
    settings->options.color = (RenderColor)g_value_get_enum (value);
    return TRUE;
  case PROP_DISTANCE:
    settings->options.distance = g_value_get_double (value);
    return TRUE;
  case PROP_FOLLOW:
    settings->options.follow = g_value_get_boolean (value);
    return TRUE;
  case PROP_WORDS:
    settings->options.words = g_value_get_boolean (value);
    return TRUE;
  case PROP_ROLE:
    settings->role = (GstPoseRole)g_value_get_enum (value);
    return TRUE;
  case PROP_SENSOR_POSE:
    g_clear_pointer (&settings->sensor_pose, gst_point_cloud_pose_free);
    settings->sensor_pose = g_value_dup_boxed (value);
    return TRUE;
  case PROP_MAP_LOCATION:
    g_free (settings->map_location);
    settings->map_location = g_value_dup_string (value);
    return TRUE;
  case PROP_MAX_MAP_POINTS:
    settings->max_map_points = g_value_get_uint (value);
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
gst_render_settings_get (const GstRenderSettings *settings, guint id, GValue *value)
{
  switch (id) {
  case PROP_VIEW:
    g_value_set_enum (value, settings->options.view);
    return TRUE;
  case PROP_COLOR:
    g_value_set_enum (value, settings->options.color);
    return TRUE;
  case PROP_DISTANCE:
    g_value_set_double (value, settings->options.distance);
    return TRUE;
  case PROP_FOLLOW:
    g_value_set_boolean (value, settings->options.follow);
    return TRUE;
  case PROP_WORDS:
    g_value_set_boolean (value, settings->options.words);
    return TRUE;
  case PROP_ROLE:
    g_value_set_enum (value, settings->role);
    return TRUE;
  case PROP_SENSOR_POSE:
    g_value_set_boxed (value, settings->sensor_pose);
    return TRUE;
  case PROP_MAP_LOCATION:
    g_value_set_string (value, settings->map_location);
    return TRUE;
  case PROP_MAX_MAP_POINTS:
    g_value_set_uint (value, settings->max_map_points);
    return TRUE;
  default:
    return FALSE;
  }
}

NdtPose
gst_render_settings_get_mount (const GstRenderSettings *settings)
{
  NdtPose mount = NDT_POSE_IDENTITY;

  if (settings->sensor_pose) {
    memcpy (mount.position, settings->sensor_pose->position, sizeof mount.position);
    memcpy (mount.orientation, settings->sensor_pose->orientation, sizeof mount.orientation);
  }
  return mount;
}

guint
gst_render_settings_install (GObjectClass *klass)
{
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  const GParamFlags playing =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;

  g_object_class_install_property (klass, PROP_VIEW,
      g_param_spec_enum (
          "view", "View", "From where it is seen", TYPE_VIEW, RENDER_VIEW_CHASE, playing));
  g_object_class_install_property (klass, PROP_COLOR,
      g_param_spec_enum ("color", "Colour", "What the colours of the scan's points show",
          TYPE_COLOR, RENDER_COLOR_RESIDUAL, playing));
  g_object_class_install_property (klass, PROP_DISTANCE,
      g_param_spec_double ("distance", "Distance",
          "Of the camera from the body, in metres; the other views show as much as from there", 1,
          10000, DEFAULT_DISTANCE, playing));
  g_object_class_install_property (klass, PROP_FOLLOW,
      g_param_spec_boolean ("follow", "Follow",
          "Whether the views from above and from the side go along; else they show all of the map",
          TRUE, playing));
  g_object_class_install_property (klass, PROP_WORDS,
      g_param_spec_boolean ("words", "Words",
          "Status and numbers in the upper left corner, and a scale bar where there is no "
          "perspective",
          TRUE, playing));
  g_object_class_install_property (klass, PROP_ROLE,
      g_param_spec_enum ("role", "Role", "Role of the poses that are shown", GST_TYPE_POSE_ROLE,
          GST_POSE_ROLE_ESTIMATE, playing));
  g_object_class_install_property (klass, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Pose of the sensor on the body that the poses are of, as ndtlocalize has it: x,y,z in "
          "m, or x,y,z,yaw or x,y,z,roll,pitch,yaw in degrees",
          GST_TYPE_POINT_CLOUD_POSE, playing));
  g_object_class_install_property (klass, PROP_MAP_LOCATION,
      g_param_spec_string ("map-location", "Map Location",
          "Map to show, a file of points or a folder of them; unset: the one that ndtlocalize uses",
          NULL, ready));
  g_object_class_install_property (klass, PROP_MAX_MAP_POINTS,
      g_param_spec_uint ("max-map-points", "Maximum Map Points",
          "Points of the map that are drawn; more are thinned to one a cube", 1000, 50000000,
          DEFAULT_MAX_MAP_POINTS, ready));
  return N_PROPS - 1;
}
