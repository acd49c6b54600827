/* SPDX-License-Identifier: MIT */
#include "gstndtproperties.h"

#include "gst/pointcloud/pointcloud.h"

#define DEGREE (G_PI / 180)

#define AT(member) G_STRUCT_OFFSET (GstNdtSettings, member)

/* When a property may be set. */
#define PLAYING GST_PARAM_MUTABLE_PLAYING
#define READY GST_PARAM_MUTABLE_READY

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

DEFINE_ENUM (optimizer_type, "GstNdtOptimizer",
    { NDT_METHOD_NEWTON, "Newton's method with backtracking", "newton" },
    { NDT_METHOD_LM, "Levenberg-Marquardt: a trust region with the score's Hessian", "lm" },
    { NDT_METHOD_LBFGS, "L-BFGS: values and gradients only", "lbfgs" })

DEFINE_ENUM (covariance_estimate_type, "GstNdtCovarianceEstimate",
    { NDT_COVARIANCE_UNBIASED, "Sample covariance", "unbiased" },
    { NDT_COVARIANCE_AUTOWARE, "As Autoware computes it", "autoware" },
    { NDT_COVARIANCE_NDT_OMP, "As ndt_omp computes it", "ndt-omp" })

DEFINE_ENUM (pose_covariance_type, "GstNdtPoseCovariance",
    { NDT_POSE_COVARIANCE_LAPLACE, "Inverse of the score's negative Hessian", "laplace" },
    { NDT_POSE_COVARIANCE_FIXED, "The fixed-covariance", "fixed" },
    { NDT_POSE_COVARIANCE_MULTI_NDT, "Spread of alignments from offset poses", "multi-ndt" },
    { NDT_POSE_COVARIANCE_MULTI_NDT_SCORE, "Offset poses weighted by their NVTL", "multi-ndt-score" })

DEFINE_ENUM (pose_time_type, "GstNdtPoseTime",
    { GST_NDT_POSE_TIME_START, "The scan's time stamp", "start" },
    { GST_NDT_POSE_TIME_MIDDLE, "Half the scan's duration later", "middle" },
    { GST_NDT_POSE_TIME_END, "The scan's duration later", "end" })

DEFINE_ENUM (stamp_position_type, "GstNdtStampPosition",
    { GST_NDT_POSE_TIME_START, "At its start: its points were measured during its duration from then on", "start" },
    { GST_NDT_POSE_TIME_MIDDLE, "In its middle, or its points are all of that instant", "middle" },
    { GST_NDT_POSE_TIME_END, "At its end", "end" })

DEFINE_ENUM (deskew_type, "GstNdtDeskew",
    { GST_NDT_DESKEW_FALSE, "Never", "false" },
    { GST_NDT_DESKEW_TRUE, "Where points tell when they were measured", "true" },
    { GST_NDT_DESKEW_AUTO, "So, unless caps say or scans show that it was done before", "auto" })
/* clang-format on */

static const GstNdtProperty properties[] = {
    {"map-location", "Map Location",
        "An .ndtmap, or a PCD, PLY or LAS file, or a folder of them, that the map is built from. "
        "Set while "
        "playing, it "
        "is read in the background and used from a following scan on",
        GST_NDT_KIND_TEXT, AT (map_location), PLAYING, GST_NDT_CHANGE_MAP},
    {"map-radius", "Map Radius",
        "Of a map in tiles (a folder) those within this distance of the vehicle are in memory, in "
        "metres; they are read and dropped in the background as it moves (0 = all are in memory)",
        GST_NDT_KIND_DOUBLE, AT (map_radius), READY, GST_NDT_CHANGE_NONE, 0, 1e6},
    {"resolution", "Resolution", "Edge of the map's cells in metres (0.01 to 1000)",
        GST_NDT_KIND_DOUBLE, AT (map_params.resolution), PLAYING, GST_NDT_CHANGE_MAP, 0.01, 1000},
    {"covariance-estimate", "Covariance Estimate",
        "How a voxel's covariance is estimated; others than unbiased are for comparison",
        GST_NDT_KIND_ENUM, AT (map_params.covariance), PLAYING, GST_NDT_CHANGE_MAP,
        .type = covariance_estimate_type},
    {"neighbour-search", "Neighbour Search", "Voxels that a point is paired with",
        GST_NDT_KIND_ENUM, AT (params.registration.align.neighbours), PLAYING,
        GST_NDT_CHANGE_PARAMS, .type = neighbour_search_type},
    {"outlier-ratio", "Outlier Ratio", "Share of points that the map does not explain (0 to 1)",
        GST_NDT_KIND_DOUBLE, AT (params.registration.align.outlier_ratio), PLAYING,
        GST_NDT_CHANGE_PARAMS, 0.001, 0.999},
    {"optimizer", "Optimizer", "How the score of a scan is maximized", GST_NDT_KIND_ENUM,
        AT (params.registration.align.method), PLAYING, GST_NDT_CHANGE_PARAMS,
        .type = optimizer_type},
    {"max-iterations", "Maximum Iterations", "Largest number of steps per alignment",
        GST_NDT_KIND_UINT, AT (params.registration.align.max_iterations), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1, 1000},
    {"translation-epsilon", "Translation Epsilon",
        "Alignment has converged when a step is shorter than this, in metres, and turns by less "
        "than rotation-epsilon",
        GST_NDT_KIND_DOUBLE, AT (params.registration.align.translation_epsilon), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1e-9, 10},
    {"rotation-epsilon", "Rotation Epsilon",
        "Alignment has converged when a step turns by less than this, in degrees, and is shorter "
        "than translation-epsilon",
        GST_NDT_KIND_DOUBLE, AT (params.registration.align.rotation_epsilon), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1e-7, 90, DEGREE},
    {"max-translation-step", "Maximum Translation Step", "Longest step of an alignment in metres",
        GST_NDT_KIND_DOUBLE, AT (params.registration.align.max_translation_step), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1e-6, 1000},
    {"max-rotation-step", "Maximum Rotation Step", "Largest turn of a step in degrees",
        GST_NDT_KIND_DOUBLE, AT (params.registration.align.max_rotation_step), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1e-6, 180, DEGREE},
    {"pose-covariance", "Pose Covariance", "How the covariance of a pose is estimated",
        GST_NDT_KIND_ENUM, AT (params.registration.covariance), PLAYING, GST_NDT_CHANGE_PARAMS,
        .type = pose_covariance_type},
    {"covariance-scale", "Covariance Scale", "Factor on the estimated covariance of a pose",
        GST_NDT_KIND_DOUBLE, AT (params.registration.covariance_scale), PLAYING,
        GST_NDT_CHANGE_PARAMS, 1e-9, 1e9},
    {"covariance-temperature", "Covariance Temperature",
        "Temperature of the weights of pose-covariance=multi-ndt-score, in units of NVTL",
        GST_NDT_KIND_DOUBLE, AT (params.registration.temperature), PLAYING, GST_NDT_CHANGE_PARAMS,
        1e-6, 1e6},
    {"fixed-covariance", "Fixed Covariance",
        "Diagonal of pose-covariance=fixed, and floor of the multi-ndt estimates, in the body "
        "frame: six variances, of x, y, z in m² and of the rotations about x, y, z in rad² (empty "
        "= (0.15 m)² and (0.025 rad)²)",
        GST_NDT_KIND_NUMBERS, AT (fixed_covariance), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"covariance-offsets", "Covariance Offsets",
        "Poses that the multi-ndt estimates start from: <x1, y1, x2, y2, …>, 2 to 32 pairs, "
        "metres, body frame (empty = 0.5 m to both sides, 0.5 m and 1 m ahead and behind)",
        GST_NDT_KIND_NUMBERS, AT (covariance_offsets), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"min-range", "Minimum Range",
        "Points nearer to the sensor are not aligned, metres (0 = all are)", GST_NDT_KIND_DOUBLE,
        AT (min_range), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e6},
    {"max-range", "Maximum Range",
        "Points farther from the sensor are not aligned, metres (0 = no limit)",
        GST_NDT_KIND_DOUBLE, AT (max_range), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e6},
    {"crop-box", "Crop Box",
        "Only points inside are aligned: xmin,ymin,zmin,xmax,ymax,zmax in metres, sensor frame "
        "(unset = all)",
        GST_NDT_KIND_BOXED, AT (crop_box), PLAYING, GST_NDT_CHANGE_PARAMS,
        .type = gst_point_cloud_box_get_type},
    {"scan-leaf-size", "Scan Leaf Size",
        "Edge in metres of the voxel grid that thins a scan before alignment (-1 = half of "
        "resolution, 0 = no thinning); the scan that leaves is untouched",
        GST_NDT_KIND_DOUBLE, AT (scan_leaf_size), PLAYING, GST_NDT_CHANGE_PARAMS, -1, 1000},
    {"min-points", "Minimum Points",
        "Scans with fewer points after thinning are not aligned (status skipped)",
        GST_NDT_KIND_UINT, AT (params.min_points), PLAYING, GST_NDT_CHANGE_PARAMS, 1, G_MAXINT},
    {"tp-threshold", "TP Threshold",
        "Smallest transformation probability of a tracking scan (0 = no check)",
        GST_NDT_KIND_DOUBLE, AT (params.tp_threshold), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e9},
    {"nvtl-threshold", "NVTL Threshold",
        "Smallest nearest voxel transformation likelihood of a tracking scan (0 = no check); its "
        "maximum depends on the resolution: see nvtl-threshold-fraction",
        GST_NDT_KIND_DOUBLE, AT (params.nvtl_threshold), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e9},
    {"nvtl-threshold-fraction", "NVTL Threshold Fraction",
        "The same threshold as a fraction of the largest possible value (0 to 1; 0 = no check)",
        GST_NDT_KIND_DOUBLE, AT (params.nvtl_threshold_fraction), PLAYING, GST_NDT_CHANGE_PARAMS, 0,
        1},
    {"matched-ratio-threshold", "Matched Ratio Threshold",
        "Smallest share of points with a voxel in a tracking scan (0 to 1; 0 = no check)",
        GST_NDT_KIND_DOUBLE, AT (params.matched_ratio_threshold), PLAYING, GST_NDT_CHANGE_PARAMS, 0,
        1},
    {"min-fit", "Minimum Fit",
        "Smallest fit of a tracking scan that lies where motion leads: NVTL times matched ratio as "
        "a fraction of what they come to in place on this map (0 to 1; 0 = no check)",
        GST_NDT_KIND_DOUBLE, AT (params.min_fit), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1},
    {"min-start-fit", "Minimum Start Fit",
        "The same of a start, and of a scan that is found elsewhere (0 to 1; 0 = no check)",
        GST_NDT_KIND_DOUBLE, AT (params.min_start_fit), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1},
    {"max-sigma", "Maximum Sigma",
        "Largest standard deviation of the position of a tracking scan, metres. Along directions "
        "that scans leave open the position goes where motion leads (0 = neither)",
        GST_NDT_KIND_DOUBLE, AT (params.max_sigma), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e6},
    {"max-skips", "Maximum Skips",
        "Scans in a row that do not fit the map before the state is lost", GST_NDT_KIND_UINT,
        AT (params.max_skips), PLAYING, GST_NDT_CHANGE_PARAMS, 0, G_MAXINT},
    {"score-drop", "Score Drop",
        "A scan whose NVTL times matched ratio falls below this fraction of the average of the "
        "last tracking ones is degraded. Half-way there it is searched from far (0 to 1; 0 = "
        "never)",
        GST_NDT_KIND_DOUBLE, AT (params.score_drop), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1},
    {"regularization-scale", "Regularization Scale",
        "Priors constrain the pose along the vehicle's heading instead of being where the search "
        "starts: the penalty on the score per pair of point and voxel and square metre (0 = off; "
        "0.001 to 0.1 is useful, 0.01 is Autoware's)",
        GST_NDT_KIND_DOUBLE, AT (params.regularization_scale), PLAYING, GST_NDT_CHANGE_PARAMS, 0,
        1000},
    {"prior-factor", "Prior Factor",
        "Poses of role prior with a covariance take part in the alignment, weighted by it, instead "
        "of being where the search starts",
        GST_NDT_KIND_BOOLEAN, AT (params.prior_factor), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"odometry-factor", "Odometry Factor",
        "The pose that odometry leads to takes part in the alignment: known to 2 % of the way "
        "beside what was known before",
        GST_NDT_KIND_BOOLEAN, AT (params.odometry_factor), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"planar", "Planar",
        "A robot on a floor: its height and its tilt stay what they were at the first scan that "
        "was localized, to 5 cm and half a degree",
        GST_NDT_KIND_BOOLEAN, AT (params.planar), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"extra-terms", "Extra Terms",
        "Residuals of the pose that are added to the alignment, each in units of its standard "
        "deviation and separated by ;. They name pose, prior, odometry and first (the first scan "
        "that was localized), as \"(pose.z - first.z)/0.05\" (unset = none)",
        GST_NDT_KIND_TEXT, AT (extra_terms), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"no-ground-margin", "No-Ground Margin",
        "Points that lie this much higher in the map than the pose are scored by themselves as "
        "well, metres (0 = off); messages have these scores",
        GST_NDT_KIND_DOUBLE, AT (params.no_ground_margin), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e6},
    {"initial-pose", "Initial Pose",
        "Where the sensor is in the map at the start, roughly: x,y,z or x,y,z,yaw or "
        "x,y,z,roll,pitch,yaw (m, degrees) or x,y,z,qx,qy,qz,qw. Set while playing, the next scan "
        "starts there; the action set-initial-pose takes the same as a string (arg0)",
        GST_NDT_KIND_BOXED, AT (initial_pose), PLAYING, GST_NDT_CHANGE_INITIAL_POSE,
        .type = gst_point_cloud_pose_get_type},
    {"initial-pose-uncertainty", "Initial Pose Uncertainty",
        "Standard deviations of initial-pose, and of priors without a covariance that the "
        "localizer starts from: <x, y, z, yaw> or <x, y, z, roll, pitch, yaw> (m, degrees; a yaw "
        "of 180 is any). What lies within 2.5 of them is searched (empty = 2 m and 10 degrees "
        "around)",
        GST_NDT_KIND_NUMBERS, AT (initial_pose_uncertainty), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"initial-pose-candidates", "Initial Pose Candidates",
        "Poses that are evaluated where a scan is searched for around one that is known to metres "
        "(0 = as many as the uncertainty takes)",
        GST_NDT_KIND_UINT, AT (params.start.n_candidates), PLAYING, GST_NDT_CHANGE_PARAMS, 0,
        1000000},
    {"pose-file", "Pose File",
        "A file in which the last good pose is kept, at most once a second of the stream and at "
        "its "
        "end. Where there is no initial-pose the next start is from there, if it is of the same "
        "map "
        "and the scan fits there as at an initial-pose; the map is searched otherwise",
        GST_NDT_KIND_TEXT, AT (pose_file), READY, GST_NDT_CHANGE_NONE},
    {"map-search", "Map Search",
        "Where nothing says where the body is (no initial-pose, no prior) the whole map is "
        "searched "
        "for the scan, of a body that stands upright",
        GST_NDT_KIND_BOOLEAN, AT (params.search_map), PLAYING, GST_NDT_CHANGE_PARAMS},
    {"max-search-passes", "Maximum Search Passes",
        "Passes over its points that a scan takes at most, one over a sample counting for its "
        "part: "
        "where it does not fit it is searched for with what its alignment leaves of them, and what "
        "they do not suffice for is left to the search of the map in the background. 1.75 times as "
        "many where the scan is compensated, and 3 and 4.5 times as many for the first two scans "
        "of a start, and where a prior and motion contradict each other; without map-search there "
        "is no bound (0 = no bound)",
        GST_NDT_KIND_DOUBLE, AT (params.max_search_passes), PLAYING, GST_NDT_CHANGE_PARAMS, 0, 1e6},
    {"sensor-pose", "Sensor Pose",
        "Where the sensor is on the body (same forms as initial-pose; unset = there is no body). "
        "All poses, those that come in as well, are then the body's",
        GST_NDT_KIND_BOXED, AT (sensor_pose), PLAYING, GST_NDT_CHANGE_PARAMS,
        .type = gst_point_cloud_pose_get_type},
    {"deskew", "Deskew",
        "Whether to compensate the motion during a scan before it is aligned, by the times of its "
        "points and the velocity so far; the scan that leaves is untouched",
        GST_NDT_KIND_ENUM, AT (deskew), PLAYING, GST_NDT_CHANGE_SCANS, .type = deskew_type},
    {"pose-time", "Pose Time",
        "The instant that the pose of a compensated scan is of. Without compensation it is of the "
        "mean time of the scan's points",
        GST_NDT_KIND_ENUM, AT (pose_time), PLAYING, GST_NDT_CHANGE_SCANS, .type = pose_time_type},
    {"stamp-position", "Stamp Position",
        "Where the time stamp lies in a scan whose points do not tell when they were measured. Its "
        "pose is of the scan's middle",
        GST_NDT_KIND_ENUM, AT (stamp_position), PLAYING, GST_NDT_CHANGE_SCANS,
        .type = stamp_position_type},
    {"max-pose-gap", "Maximum Pose Gap",
        "Nanoseconds between two poses of a pose pad, beyond which nothing is interpolated between "
        "them (0 = no limit)",
        GST_NDT_KIND_UINT64, AT (max_pose_gap), PLAYING, GST_NDT_CHANGE_SCANS, 0, 3600e9},
    {"pose-distance-limit", "Pose Distance Limit",
        "Metres between two poses of a pose pad, beyond which nothing is interpolated between them "
        "(0 = no limit)",
        GST_NDT_KIND_DOUBLE, AT (pose_distance_limit), PLAYING, GST_NDT_CHANGE_SCANS, 0, 1e9},
    {"pose-latency", "Pose Latency",
        "Live: nanoseconds that a scan waits at most for the poses of pose pads; part of the "
        "reported latency",
        GST_NDT_KIND_UINT64, AT (pose_latency), PLAYING,
        GST_NDT_CHANGE_SCANS | GST_NDT_CHANGE_QUEUE, 0, 3600e9},
    {"map-frame", "Map Frame", "Name of the map's frame in poses", GST_NDT_KIND_TEXT,
        AT (map_frame), PLAYING, GST_NDT_CHANGE_SCANS},
    {"sensor-frame", "Sensor Frame",
        "Name of the sensor's frame in poses (unset = the caps' frame-id, or \"lidar\")",
        GST_NDT_KIND_TEXT, AT (sensor_frame), PLAYING, GST_NDT_CHANGE_SCANS},
    {"body-frame", "Body Frame", "Name of the body's frame in poses, where sensor-pose is set",
        GST_NDT_KIND_TEXT, AT (body_frame), PLAYING, GST_NDT_CHANGE_SCANS},
    {"post-messages", "Post Messages", "Post an element message \"ndt-pose\" for each scan",
        GST_NDT_KIND_BOOLEAN, AT (post_messages), PLAYING, GST_NDT_CHANGE_NONE},
    {"backend", "Backend", "What aligns", GST_NDT_KIND_ENUM, AT (backend), READY,
        GST_NDT_CHANGE_BACKEND, .type = gst_ndt_backend_get_type},
    {"cuda-device-id", "CUDA Device ID", "CUDA device to use (-1 = the first that works)",
        GST_NDT_KIND_INT, AT (config.device_id), READY, GST_NDT_CHANGE_BACKEND, -1, G_MAXINT},
    {"memory-budget", "Memory Budget",
        "Bytes of device memory that scans, maps and searches in the background take at most; what "
        "is beyond lies in the host's memory, slower and with the same results, and searches "
        "run on the CPU (0 = no limit)",
        GST_NDT_KIND_UINT64, AT (config.memory_budget), READY, GST_NDT_CHANGE_BACKEND, 0, 0x1p62},
    {"device-priority", "Device Priority",
        "Priority of scans and alignments on a device that is used for other work as well",
        GST_NDT_KIND_ENUM, AT (config.priority), READY, GST_NDT_CHANGE_BACKEND,
        .type = gst_ndt_device_priority_get_type},
    {"n-threads", "Number of Threads",
        "Most threads of the CPU backend, which all elements share (0 = one per processor that "
        "affinity and CPU quota leave); poses do not depend on it",
        GST_NDT_KIND_UINT, AT (config.n_threads), READY, GST_NDT_CHANGE_BACKEND, 0, 256},
    {"batch-size", "Batch Size",
        "Largest number of waiting scans that are aligned in one submission (1 to 64); poses do "
        "not depend on it",
        GST_NDT_KIND_UINT, AT (batch_size), PLAYING, GST_NDT_CHANGE_QUEUE, 1, NDT_MAX_SCANS},
    {"batch-timeout", "Batch Timeout",
        "Nanoseconds to wait for a batch to fill, from its first scan's arrival on (0 = do not "
        "wait)",
        GST_NDT_KIND_UINT64, AT (batch_timeout), PLAYING, GST_NDT_CHANGE_QUEUE, 0, 3600e9},
    {"processing-deadline", "Processing Deadline",
        "Nanoseconds that an alignment may take: part of the reported latency, and longer ones "
        "count as late",
        GST_NDT_KIND_UINT64, AT (processing_deadline), PLAYING, GST_NDT_CHANGE_QUEUE, 0, 3600e9},
    {"max-lateness", "Maximum Lateness",
        "Nanoseconds that a scan may wait, in queues upstream as well where the source is live: "
        "one that has waited longer when its turn comes is passed on without alignment, status "
        "skipped (0 = all are aligned)",
        GST_NDT_KIND_UINT64, AT (max_lateness), PLAYING, GST_NDT_CHANGE_SCANS, 0, 3600e9},
};

/* Changes of properties are bits of a guint64. */
G_STATIC_ASSERT (G_N_ELEMENTS (properties) < 64);

const GstNdtProperty *
gst_ndt_property_get (guint id)
{
  return id > 0 && id <= G_N_ELEMENTS (properties) ? &properties[id - 1] : NULL;
}
