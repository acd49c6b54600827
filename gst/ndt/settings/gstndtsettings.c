/* SPDX-License-Identifier: MIT */
#include "gst/ndt/settings/gstndtsettings.h"

#include <string.h>

#define DEGREE (G_PI / 180)

enum {
  PROP_0,
  /* numbers: see below */
  PROP_RESOLUTION,
  PROP_MAP_RADIUS,
  PROP_OUTLIER_RATIO,
  PROP_MAX_ITERATIONS,
  PROP_TRANSLATION_EPSILON,
  PROP_ROTATION_EPSILON,
  PROP_STEP_SIZE,
  PROP_MAX_ROTATION_STEP,
  PROP_COVARIANCE_SCALE,
  PROP_COVARIANCE_TEMPERATURE,
  PROP_MIN_RANGE,
  PROP_MAX_RANGE,
  PROP_SCAN_LEAF_SIZE,
  PROP_MIN_POINTS,
  PROP_TP_THRESHOLD,
  PROP_NVTL_THRESHOLD,
  PROP_NVTL_THRESHOLD_FRACTION,
  PROP_MATCHED_RATIO_THRESHOLD,
  PROP_MAX_SKIPS,
  PROP_SCORE_DROP,
  PROP_INITIAL_POSE_CANDIDATES,
  PROP_REGULARIZATION_SCALE,
  PROP_NO_GROUND_MARGIN,
  PROP_THREADS,
  PROP_BATCH_SIZE,
  PROP_BATCH_TIMEOUT,
  PROP_PROCESSING_DEADLINE,
  PROP_DEADLINE,
  PROP_POSE_TIMEOUT,
  PROP_POSE_DISTANCE_LIMIT,
  PROP_MEMORY_BUDGET,
  PROP_N_NUMBERS,
  /* texts */
  PROP_MAP = PROP_N_NUMBERS,
  PROP_CROP_BOX,
  PROP_FIXED_COVARIANCE,
  PROP_COVARIANCE_OFFSETS,
  PROP_INITIAL_POSE,
  PROP_INITIAL_POSE_UNCERTAINTY,
  PROP_SENSOR_POSE,
  PROP_MAP_FRAME,
  PROP_SENSOR_FRAME,
  PROP_BODY_FRAME,
  PROP_TIMES_LOCATION,
  PROP_N_TEXTS,
  /* choices */
  PROP_NEIGHBOUR_SEARCH = PROP_N_TEXTS,
  PROP_COVARIANCE_ESTIMATE,
  PROP_POSE_COVARIANCE,
  PROP_BACKEND,
  PROP_POSE_TIME,
  PROP_N_CHOICES,
  /* others */
  PROP_CUDA_DEVICE_ID = PROP_N_CHOICES,
  PROP_POST_MESSAGES,
  PROP_DESKEW,
};

#define AT(member) G_STRUCT_OFFSET (GstNdtSettings, member)

/* When a property may be set. */
#define PLAYING GST_PARAM_MUTABLE_PLAYING
#define READY GST_PARAM_MUTABLE_READY

typedef enum { DOUBLE, FLOAT, UINT, UINT64 } NumberType;

typedef struct {
  guint id;
  const gchar *name;
  const gchar *blurb;
  gsize at;
  NumberType type;
  gdouble min;
  gdouble max;
  gdouble unit; /* what is stored is the property times this */
  GParamFlags flags;
  GstNdtChange change;
} Number;

static const Number numbers[] = {
    {PROP_RESOLUTION, "resolution", "Edge of the map's cells in metres (0.01 to 1000)",
        AT (map_params.resolution), DOUBLE, 0.01, 1000, 1, PLAYING, GST_NDT_CHANGE_MAP},
    {PROP_MAP_RADIUS, "map-radius",
        "Of a map in tiles (a folder) those within this distance of the vehicle are in memory, in "
        "metres; they are read and dropped in the background as it moves (0 = all are in memory)",
        AT (map_radius), DOUBLE, 0, 1e6, 1, READY, GST_NDT_CHANGE_NONE},
    {PROP_OUTLIER_RATIO, "outlier-ratio", "Share of points that the map does not explain (0 to 1)",
        AT (params.registration.align.outlier_ratio), DOUBLE, 0.001, 0.999, 1, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_MAX_ITERATIONS, "max-iterations", "Largest number of Newton steps per alignment",
        AT (params.registration.align.max_iterations), UINT, 1, 1000, 1, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_TRANSLATION_EPSILON, "translation-epsilon",
        "Alignment has converged when a step is shorter than this, in metres, and turns by less "
        "than rotation-epsilon",
        AT (params.registration.align.translation_epsilon), DOUBLE, 1e-9, 10, 1, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_ROTATION_EPSILON, "rotation-epsilon",
        "Alignment has converged when a step turns by less than this, in degrees, and is shorter "
        "than translation-epsilon",
        AT (params.registration.align.rotation_epsilon), DOUBLE, 1e-7, 90, DEGREE, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_STEP_SIZE, "step-size", "Longest step of an alignment in metres",
        AT (params.registration.align.max_translation_step), DOUBLE, 1e-6, 1000, 1, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_MAX_ROTATION_STEP, "max-rotation-step", "Largest turn of a step in degrees",
        AT (params.registration.align.max_rotation_step), DOUBLE, 1e-6, 180, DEGREE, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_COVARIANCE_SCALE, "covariance-scale", "Factor on the estimated covariance of a pose",
        AT (params.registration.covariance_scale), DOUBLE, 1e-9, 1e9, 1, PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_COVARIANCE_TEMPERATURE, "covariance-temperature",
        "Temperature of the weights of pose-covariance=multi-ndt-score, in units of NVTL",
        AT (params.registration.temperature), DOUBLE, 1e-6, 1e6, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MIN_RANGE, "min-range",
        "Points nearer to the sensor are not aligned, metres (0 = all are)",
        AT (params.filter.min_range), FLOAT, 0, 1e6, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MAX_RANGE, "max-range",
        "Points farther from the sensor are not aligned, metres (0 = no limit)",
        AT (params.filter.max_range), FLOAT, 0, 1e6, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_SCAN_LEAF_SIZE, "scan-leaf-size",
        "Edge in metres of the voxel grid that thins a scan before alignment (0 = no thinning); "
        "the "
        "scan that leaves is untouched",
        AT (params.filter.leaf_size), FLOAT, 0, 1000, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MIN_POINTS, "min-points",
        "Scans with fewer points after thinning are not aligned (status skipped)",
        AT (params.min_points), UINT, 1, G_MAXINT, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_TP_THRESHOLD, "tp-threshold",
        "Smallest transformation probability of a tracking scan (0 = no check)",
        AT (params.tp_threshold), DOUBLE, 0, 1e9, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_NVTL_THRESHOLD, "nvtl-threshold",
        "Smallest nearest voxel transformation likelihood of a tracking scan (0 = no check); its "
        "maximum depends on the resolution: see nvtl-threshold-fraction",
        AT (params.nvtl_threshold), DOUBLE, 0, 1e9, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_NVTL_THRESHOLD_FRACTION, "nvtl-threshold-fraction",
        "The same threshold as a fraction of the largest possible value (0 to 1; 0 = no check)",
        AT (params.nvtl_threshold_fraction), DOUBLE, 0, 1, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MATCHED_RATIO_THRESHOLD, "matched-ratio-threshold",
        "Smallest share of points with a voxel in a tracking scan (0 to 1; 0 = no check)",
        AT (params.matched_ratio_threshold), DOUBLE, 0, 1, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MAX_SKIPS, "max-skips",
        "Consecutive scans that are not tracking before the state is lost", AT (params.max_skips),
        UINT, 0, G_MAXINT, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_SCORE_DROP, "score-drop",
        "A scan whose NVTL times matched ratio falls below this fraction of the average of the "
        "last "
        "tracking ones is degraded. Half-way there it is searched from far (0 to 1; 0 = never)",
        AT (params.score_drop), DOUBLE, 0, 1, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_REGULARIZATION_SCALE, "regularization-scale",
        "Priors hold the vehicle along its heading instead of leading to where it is looked for: "
        "the penalty on the score per pair of point and voxel and square metre (0 = off; 0.001 to "
        "0.1 is useful, 0.01 is what Autoware has)",
        AT (params.regularization_scale), DOUBLE, 0, 1000, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_INITIAL_POSE_CANDIDATES, "initial-pose-candidates",
        "Poses that are looked at where a scan is searched for around one that is known to metres "
        "(0 = as many as the uncertainty takes)",
        AT (params.start.n_candidates), UINT, 0, 1000000, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_NO_GROUND_MARGIN, "no-ground-margin",
        "Points that lie this much higher in the map than the pose are scored by themselves as "
        "well, metres (0 = off); messages have these scores",
        AT (params.no_ground_margin), DOUBLE, 0, 1e6, 1, PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_THREADS, "threads",
        "Threads of the CPU backend (0 = one per processor); poses do not depend on it",
        AT (config.n_threads), UINT, 0, 256, 1, READY, GST_NDT_CHANGE_BACKEND},
    {PROP_BATCH_SIZE, "batch-size",
        "Largest number of waiting scans that are aligned in one submission (1 to 64); poses do "
        "not depend on it",
        AT (batch_size), UINT, 1, NDT_MAX_SCANS, 1, PLAYING, GST_NDT_CHANGE_QUEUE},
    {PROP_BATCH_TIMEOUT, "batch-timeout",
        "Nanoseconds to wait for a batch to fill, from its first scan's arrival on (0 = do not "
        "wait)",
        AT (batch_timeout), UINT64, 0, 3600e9, 1, PLAYING, GST_NDT_CHANGE_QUEUE},
    {PROP_PROCESSING_DEADLINE, "processing-deadline",
        "Nanoseconds that an alignment may take: part of the reported latency, and longer ones "
        "count "
        "as late",
        AT (processing_deadline), UINT64, 0, 3600e9, 1, PLAYING, GST_NDT_CHANGE_QUEUE},
    {PROP_DEADLINE, "deadline",
        "Nanoseconds that a scan may wait, in queues upstream as well where the source is live: "
        "one "
        "that has waited longer when its turn comes is passed on without alignment, status skipped "
        "(0 = all are aligned)",
        AT (deadline), UINT64, 0, 3600e9, 1, PLAYING, GST_NDT_CHANGE_SCANS},
    {PROP_POSE_TIMEOUT, "pose-timeout",
        "Nanoseconds of stream time that a pose of a pose pad may be away from a scan, before and "
        "after it; live, a scan waits as long for poses, which is part of the reported latency",
        AT (pose_timeout), UINT64, 0, 3600e9, 1, PLAYING,
        GST_NDT_CHANGE_SCANS | GST_NDT_CHANGE_QUEUE},
    {PROP_POSE_DISTANCE_LIMIT, "pose-distance-limit",
        "Metres between two poses of a pose pad, above which nothing is interpolated between them "
        "(0 = no limit)",
        AT (pose_distance_limit), DOUBLE, 0, 1e9, 1, PLAYING, GST_NDT_CHANGE_SCANS},
    {PROP_MEMORY_BUDGET, "memory-budget",
        "Bytes of device memory that scans and maps take at most; what is beyond lies in the "
        "host's "
        "memory, slower and with the same results (0 = no limit)",
        AT (config.memory_budget), UINT64, 0, 0x1p62, 1, READY, GST_NDT_CHANGE_BACKEND},
};

typedef struct {
  guint id;
  const gchar *name;
  const gchar *blurb;
  gsize at;
  GParamFlags flags;
  GstNdtChange change;
} Text;

static const Text texts[] = {
    {PROP_MAP, "map",
        "A PCD file, or a folder of PCD files, that the map is built from. Set while playing, it "
        "is "
        "read in the background and used from a following scan on",
        AT (map), PLAYING, GST_NDT_CHANGE_MAP},
    {PROP_CROP_BOX, "crop-box",
        "Only points inside are aligned: \"xmin,ymin,zmin,xmax,ymax,zmax\", metres, sensor frame",
        AT (crop_box), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_FIXED_COVARIANCE, "fixed-covariance",
        "Diagonal of pose-covariance=fixed, and floor of the multi-ndt estimates, in the body "
        "frame: variances of x, y, z in m² and of the rotations about x, y, z in rad²",
        AT (fixed_covariance), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_COVARIANCE_OFFSETS, "covariance-offsets",
        "Poses that the multi-ndt estimates start from: \"x1,y1 x2,y2 …\", up to 32, metres, body "
        "frame",
        AT (covariance_offsets), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_INITIAL_POSE, "initial-pose",
        "Where the sensor is in the map at the start, roughly: \"x,y,z\", \"x,y,z,yaw\", "
        "\"x,y,z,roll,pitch,yaw\" (m, degrees) or \"x,y,z,qx,qy,qz,qw\". Set while playing, the "
        "next "
        "scan starts there",
        AT (initial_pose), PLAYING, GST_NDT_CHANGE_INITIAL_POSE},
    {PROP_INITIAL_POSE_UNCERTAINTY, "initial-pose-uncertainty",
        "Standard deviations of initial-pose, and of priors without a covariance that it starts "
        "from: \"x,y,z,yaw\" or \"x,y,z,roll,pitch,yaw\" (m, degrees; a yaw of 180 is any). What "
        "lies within 2.5 of them is searched (unset = 2 m and 10 degrees around)",
        AT (initial_pose_uncertainty), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_SENSOR_POSE, "sensor-pose",
        "Where the sensor is on the body (same forms as initial-pose; unset = there is no body). "
        "All "
        "poses, those that come in as well, are then the body's",
        AT (sensor_pose), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_MAP_FRAME, "map-frame", "Name of the map's frame in poses", AT (map_frame), PLAYING,
        GST_NDT_CHANGE_SCANS},
    {PROP_SENSOR_FRAME, "sensor-frame",
        "Name of the sensor's frame in poses (unset = the caps' frame-id, or \"lidar\")",
        AT (sensor_frame), PLAYING, GST_NDT_CHANGE_SCANS},
    {PROP_BODY_FRAME, "body-frame", "Name of the body's frame in poses, where sensor-pose is set",
        AT (body_frame), PLAYING, GST_NDT_CHANGE_SCANS},
    {PROP_TIMES_LOCATION, "times-location",
        "File with one time in seconds per line for scans without a time stamp (unset = from the "
        "framerate)",
        AT (times_location), READY, GST_NDT_CHANGE_NONE},
};

typedef struct {
  guint id;
  const gchar *name;
  const gchar *blurb;
  GType (*type) (void);
  gsize at;
  GParamFlags flags;
  GstNdtChange change;
} Choice;

#define DEFINE_ENUM(function, name, ...)                                                           \
  static GType function (void)                                                                     \
  {                                                                                                \
    static const GEnumValue values[] = {__VA_ARGS__, {0, NULL, NULL}};                             \
    static gsize type = 0;                                                                         \
    if (g_once_init_enter (&type))                                                                 \
      g_once_init_leave (&type, g_enum_register_static (name, values));                            \
    return type;                                                                                   \
  }

/* clang-format off */
DEFINE_ENUM (neighbour_search_type, "GstNdtNeighbourSearch",
    { NDT_NEIGHBOURS_RADIUS, "Voxels whose mean is nearer than the resolution", "radius" },
    { NDT_NEIGHBOURS_DIRECT7, "The point's cell and the six that share a face", "direct7" },
    { NDT_NEIGHBOURS_DIRECT1, "The point's cell", "direct1" })

DEFINE_ENUM (covariance_estimate_type, "GstNdtCovarianceEstimate",
    { NDT_COVARIANCE_UNBIASED, "Sample covariance", "unbiased" },
    { NDT_COVARIANCE_AUTOWARE, "As Autoware computes it", "autoware" },
    { NDT_COVARIANCE_NDT_OMP, "As ndt_omp computes it", "ndt-omp" })

DEFINE_ENUM (pose_covariance_type, "GstNdtPoseCovariance",
    { NDT_POSE_COVARIANCE_LAPLACE, "Inverse of the score's negative Hessian", "laplace" },
    { NDT_POSE_COVARIANCE_FIXED, "The fixed-covariance", "fixed" },
    { NDT_POSE_COVARIANCE_MULTI_NDT, "Spread of alignments from offset poses", "multi-ndt" },
    { NDT_POSE_COVARIANCE_MULTI_NDT_SCORE, "Offset poses weighted by their NVTL", "multi-ndt-score" })

DEFINE_ENUM (backend_type, "GstNdtBackend",
    { GST_NDT_BACKEND_AUTO, "CUDA where a device works, CPU otherwise", "auto" },
    { GST_NDT_BACKEND_CUDA, "CUDA, or an error", "cuda" },
    { GST_NDT_BACKEND_CPU, "CPU", "cpu" })

DEFINE_ENUM (pose_time_type, "GstNdtPoseTime",
    { GST_NDT_POSE_TIME_START, "The scan's time stamp", "start" },
    { GST_NDT_POSE_TIME_MIDDLE, "Half the scan's duration later", "middle" },
    { GST_NDT_POSE_TIME_END, "The scan's duration later", "end" })
/* clang-format on */

static const Choice choices[] = {
    {PROP_NEIGHBOUR_SEARCH, "neighbour-search", "Voxels that a point is paired with",
        neighbour_search_type, AT (params.registration.align.neighbours), PLAYING,
        GST_NDT_CHANGE_PARAMS},
    {PROP_COVARIANCE_ESTIMATE, "covariance-estimate",
        "How a voxel's covariance is estimated; others than unbiased are for comparison",
        covariance_estimate_type, AT (map_params.covariance), PLAYING, GST_NDT_CHANGE_MAP},
    {PROP_POSE_COVARIANCE, "pose-covariance", "How the covariance of a pose is estimated",
        pose_covariance_type, AT (params.registration.covariance), PLAYING, GST_NDT_CHANGE_PARAMS},
    {PROP_BACKEND, "backend", "What aligns", backend_type, AT (backend), READY,
        GST_NDT_CHANGE_BACKEND},
    {PROP_POSE_TIME, "pose-time", "The instant of a scan that its pose is of", pose_time_type,
        AT (pose_time), PLAYING, GST_NDT_CHANGE_SCANS},
};

static gpointer
member (const GstNdtSettings *settings, gsize at)
{
  return (gpointer)((const guint8 *)settings + at);
}

static gdouble
number_get (const GstNdtSettings *settings, const Number *number)
{
  gconstpointer at = member (settings, number->at);
  switch (number->type) {
  case DOUBLE:
    return *(const gdouble *)at / number->unit;
  case FLOAT:
    return (gdouble) * (const gfloat *)at;
  case UINT:
    return *(const guint *)at;
  default:
    return (gdouble) * (const guint64 *)at;
  }
}

static void
number_set (GstNdtSettings *settings, const Number *number, const GValue *value)
{
  gpointer at = member (settings, number->at);
  switch (number->type) {
  case DOUBLE:
    *(gdouble *)at = g_value_get_double (value) * number->unit;
    break;
  case FLOAT:
    *(gfloat *)at = g_value_get_float (value);
    break;
  case UINT:
    *(guint *)at = g_value_get_uint (value);
    break;
  default:
    *(guint64 *)at = g_value_get_uint64 (value);
    break;
  }
}

static GParamSpec *
number_spec (const Number *n, gdouble value, GParamFlags flags)
{
  switch (n->type) {
  case DOUBLE:
    return g_param_spec_double (n->name, n->name, n->blurb, n->min, n->max, value, flags);
  case FLOAT:
    return g_param_spec_float (
        n->name, n->name, n->blurb, (gfloat)n->min, (gfloat)n->max, (gfloat)value, flags);
  case UINT:
    return g_param_spec_uint (
        n->name, n->name, n->blurb, (guint)n->min, (guint)n->max, (guint)value, flags);
  default:
    return g_param_spec_uint64 (
        n->name, n->name, n->blurb, (guint64)n->min, (guint64)n->max, (guint64)value, flags);
  }
}

static gchar *
format_numbers (const gdouble *values, guint n)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < n; i++) {
    gchar buffer[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append (text, i ? "," : "");
    g_string_append (text, g_ascii_formatd (buffer, sizeof buffer, "%.9g", values[i]));
  }
  return g_string_free (text, FALSE);
}

void
gst_ndt_settings_init (GstNdtSettings *settings)
{
  const NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;

  memset (settings, 0, sizeof *settings);
  settings->map_params = map_params;
  settings->config = config;
  ndt_localizer_params_init (&settings->params);
  settings->batch_size = 8;
  settings->processing_deadline = 20 * GST_MSECOND; /* GstBaseSink's */
  settings->pose_timeout = GST_SECOND;
  settings->pose_distance_limit = 10;
  settings->pose_time = GST_NDT_POSE_TIME_END;
  settings->map_frame = g_strdup ("map");
  settings->body_frame = g_strdup ("base_link");
  settings->fixed_covariance = format_numbers (settings->params.registration.fixed_variance, 6);

  GString *offsets = g_string_new (NULL);
  for (guint i = 0; i < settings->params.registration.n_offsets; i++) {
    const gdouble xy[2] = {
        settings->params.registration.offset_x[i], settings->params.registration.offset_y[i]};
    g_autofree gchar *pair = format_numbers (xy, 2);
    g_string_append_printf (offsets, "%s%s", i ? " " : "", pair);
  }
  settings->covariance_offsets = g_string_free (offsets, FALSE);
}

void
gst_ndt_settings_clear (GstNdtSettings *settings)
{
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_clear_pointer ((gchar **)member (settings, texts[i].at), g_free);
}

void
gst_ndt_settings_install_properties (GObjectClass *klass)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  GstNdtSettings defaults;
  gst_ndt_settings_init (&defaults);

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const Number *n = &numbers[i];
    g_object_class_install_property (
        klass, n->id, number_spec (n, number_get (&defaults, n), flags | n->flags));
  }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    const Text *t = &texts[i];
    const gchar *value = *(gchar **)member (&defaults, t->at);
    g_object_class_install_property (
        klass, t->id, g_param_spec_string (t->name, t->name, t->blurb, value, flags | t->flags));
  }
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    const Choice *c = &choices[i];
    const gint value = *(gint *)member (&defaults, c->at);
    g_object_class_install_property (klass, c->id,
        g_param_spec_enum (c->name, c->name, c->blurb, c->type (), value, flags | c->flags));
    gst_type_mark_as_plugin_api (c->type (), 0);
  }
  g_object_class_install_property (klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "cuda-device-id",
          "CUDA device to use (-1 = the first that works)", -1, G_MAXINT, defaults.config.device_id,
          flags | READY));
  g_object_class_install_property (klass, PROP_DESKEW,
      g_param_spec_boolean ("deskew", "deskew",
          "Compensate the motion during a scan before it is aligned, by the points' field time "
          "(seconds from the PTS) or t (nanoseconds) and the velocity so far; the scan that leaves "
          "is untouched",
          FALSE, flags | PLAYING));
  g_object_class_install_property (klass, PROP_POST_MESSAGES,
      g_param_spec_boolean ("post-messages", "post-messages",
          "Post an element message \"ndt-pose\" for each scan", FALSE, flags | PLAYING));
  gst_ndt_settings_clear (&defaults);
}

gboolean
gst_ndt_settings_set_property (
    GstNdtSettings *settings, guint id, const GValue *value, GstNdtChange *change)
{
  *change = GST_NDT_CHANGE_NONE;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    if (numbers[i].id == id) {
      number_set (settings, &numbers[i], value);
      *change = numbers[i].change;
      return TRUE;
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    if (texts[i].id == id) {
      gchar **text = member (settings, texts[i].at);
      g_free (*text);
      *text = g_value_dup_string (value);
      *change = texts[i].change;
      return TRUE;
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    if (choices[i].id == id) {
      *(gint *)member (settings, choices[i].at) = g_value_get_enum (value);
      *change = choices[i].change;
      return TRUE;
    }
  }
  switch (id) {
  case PROP_CUDA_DEVICE_ID:
    settings->config.device_id = g_value_get_int (value);
    *change = GST_NDT_CHANGE_BACKEND;
    return TRUE;
  case PROP_DESKEW:
    settings->params.deskew = g_value_get_boolean (value);
    *change = GST_NDT_CHANGE_PARAMS;
    return TRUE;
  case PROP_POST_MESSAGES:
    settings->post_messages = g_value_get_boolean (value);
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
gst_ndt_settings_get_property (const GstNdtSettings *settings, guint id, GValue *value)
{
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const Number *n = &numbers[i];
    if (n->id != id)
      continue;
    if (n->type == DOUBLE)
      g_value_set_double (value, number_get (settings, n));
    else if (n->type == FLOAT)
      g_value_set_float (value, *(gfloat *)member (settings, n->at));
    else if (n->type == UINT)
      g_value_set_uint (value, *(guint *)member (settings, n->at));
    else
      g_value_set_uint64 (value, *(guint64 *)member (settings, n->at));
    return TRUE;
  }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    if (texts[i].id == id) {
      g_value_set_string (value, *(gchar **)member (settings, texts[i].at));
      return TRUE;
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    if (choices[i].id == id) {
      g_value_set_enum (value, *(gint *)member (settings, choices[i].at));
      return TRUE;
    }
  }
  switch (id) {
  case PROP_CUDA_DEVICE_ID:
    g_value_set_int (value, settings->config.device_id);
    return TRUE;
  case PROP_POST_MESSAGES:
    g_value_set_boolean (value, settings->post_messages);
    return TRUE;
  case PROP_DESKEW:
    g_value_set_boolean (value, settings->params.deskew);
    return TRUE;
  default:
    return FALSE;
  }
}

void
gst_ndt_settings_get_scan_settings (const GstNdtSettings *settings, GstNdtScanSettings *scans)
{
  scans->map_frame = g_quark_from_string (settings->map_frame);
  if (settings->sensor_pose && settings->sensor_pose[0] != '\0')
    scans->sensor_frame = g_quark_from_string (settings->body_frame);
  else
    scans->sensor_frame = g_quark_from_string (settings->sensor_frame); /* 0 where unset */
  scans->pose_time = settings->pose_time;
  scans->pose_timeout = settings->pose_timeout;
  scans->pose_distance_limit = settings->pose_distance_limit;
  scans->deadline = settings->deadline;
  scans->processing_deadline = settings->processing_deadline;
  scans->post_messages = settings->post_messages;
}

void
gst_ndt_settings_describe (
    const GstNdtSettings *settings, guint64 ids, GObjectClass *klass, GstStructure *structure)
{
  guint n;
  g_autofree GParamSpec **specs = g_object_class_list_properties (klass, &n);

  for (guint i = 0; i < n; i++) {
    const guint id = specs[i]->param_id;
    if (id >= 64 || !(ids & G_GUINT64_CONSTANT (1) << id) ||
        specs[i]->owner_type != G_OBJECT_CLASS_TYPE (klass))
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init (&value, specs[i]->value_type);
    gst_ndt_settings_get_property (settings, id, &value);
    gst_structure_take_value (structure, specs[i]->name, &value);
  }
}
