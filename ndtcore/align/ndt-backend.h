/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/motion/ndt-deskew.h"
#include "ndtcore/motion/ndt-device-frames.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-log.h"
#include "ndtcore/math/ndt-extra-terms.h"
#include "ndtcore/map/ndt-overview.h"
#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

/* Slots of a backend for scans, and one more for the sample of ndt_register(). */
#define NDT_MAX_SCANS 64
#define NDT_SEARCH_SLOT NDT_MAX_SCANS
#define NDT_N_SLOTS (NDT_MAX_SCANS + 1)

/**
 * NdtScanFilter:
 * @min_range: nearer points are dropped, metres from the sensor; 0 keeps all
 * @max_range: farther points are dropped, > @min_range; 0 keeps all
 * @use_box: drop points outside the box
 * @box_min: metres, sensor frame
 * @box_max: metres, sensor frame
 * @leaf_size: edge in metres of a voxel grid, of each cell of which the centroid is used; 0: all
 *   points are used
 *
 * Thinning of a scan before it is aligned. The result is the same, bit for bit, on every backend:
 * the rules are in ndt-scan-filter.h.
 */
typedef struct {
  float min_range;
  float max_range;
  gboolean use_box;
  float box_min[3];
  float box_max[3];
  float leaf_size;
} NdtScanFilter;

#define NDT_SCAN_FILTER_NONE                                                                       \
  {                                                                                                \
    0, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0                                                           \
  }

/**
 * NdtAlignParams:
 * @outlier_ratio: ρ in (0, 1)
 * @neighbours: which voxels a point is paired with when the score is maximized
 * @max_iterations: of the maximization, at least 1
 * @max_evaluations: passes over the scan of one alignment, at most, those of the approach and of
 *   steps that are shortened included; at least 2 with an approach; 0: no bound
 * @translation_epsilon: converged when a step is shorter than this, metres, at least 1e-9 …
 * @rotation_epsilon: … and turns by less than this, rad, at least 1e-9
 * @max_translation_step: longest step, metres, > 0
 * @max_rotation_step: largest turn in a step, rad, > 0
 * @method: how the score is maximized
 * @clusters: the spread of the result will be asked for by ndt_backend_spread(), after
 *   ndt_backend_align_end(): a device prepares for it beside the alignment
 * @terms: (nullable): terms that are added to the score of starts with values for them
 *   (NdtExtraValues); they outlive the alignment
 */
typedef struct {
  double outlier_ratio;
  NdtNeighbours neighbours;
  guint max_iterations;
  guint max_evaluations;
  double translation_epsilon;
  double rotation_epsilon;
  double max_translation_step;
  double max_rotation_step;
  NdtMethod method;
  gboolean clusters;
  const NdtExtraTerms *terms;
} NdtAlignParams;

#define NDT_ALIGN_PARAMS_DEFAULT                                                                   \
  {                                                                                                \
    0.55, NDT_NEIGHBOURS_RADIUS, 30, 0, 0.01, 0.001, 1.0, 0.2, NDT_METHOD_NEWTON, FALSE, NULL      \
  }

/**
 * NdtAlignResult:
 * @pose: of the sensor in the map
 * @sums: the score there, over the finest level, without a penalty
 * @objective: the maximized value: the score less the penalty of the start's regularization
 * @max_term: −d1, the value that no term exceeds
 * @n_points: points of the thinned scan
 * @iterations: steps taken, those of the approach included
 * @evaluations: passes over the scan, all of them
 * @oscillation: longest run of steps whose directions reverse (cosine below −0.9)
 * @stop: why it ended
 * @n_clusters: chunks of neighbouring points (NDT_CHUNK) that have pairs; 0: @spread is not known,
 *   as of a device before ndt_backend_spread()
 * @spread: Σ g gᵀ of the clusters' gradients g at @pose, packed (%NDT_H6)
 */
typedef struct {
  NdtPose pose;
  NdtSums sums;
  double objective;
  double max_term;
  guint32 n_points;
  guint32 iterations;
  guint32 evaluations;
  guint32 oscillation;
  NdtStop stop;
  guint32 n_clusters;
  double spread[21];
} NdtAlignResult;

/**
 * NdtDevicePriority:
 * @NDT_DEVICE_PRIORITY_HIGH: before other work of the device
 * @NDT_DEVICE_PRIORITY_NORMAL: as all work that sets no priority
 */
typedef enum {
  NDT_DEVICE_PRIORITY_HIGH,
  NDT_DEVICE_PRIORITY_NORMAL,
} NdtDevicePriority;

/**
 * NdtBackendConfig:
 * @device_id: of several devices; -1: the first that works
 * @n_threads: CPU threads; 0: one per processor that the process may run on
 * @memory_budget: most bytes of device memory for scans and maps; 0: no limit. Beyond it, or beyond
 *   the device's memory, host memory is used, which is slower and gives the same results
 * @log: (nullable): receives the messages of the backend and of searches, localizers and frame
 *   trees that use it; has to outlive them
 * @priority: of scans and alignments on a device that is used for other work as well. Blocks of
 *   other kernels that run are not interrupted. Maps are built with normal priority
 */
typedef struct {
  gint device_id;
  guint n_threads;
  guint64 memory_budget;
  const NdtLog *log;
  NdtDevicePriority priority;
} NdtBackendConfig;

#define NDT_BACKEND_CONFIG_DEFAULT                                                                 \
  {                                                                                                \
    -1, 0, 0, NULL, NDT_DEVICE_PRIORITY_HIGH                                                       \
  }

/* Monotonic counts since open. The device's are 0 in a CPU backend. */
typedef struct {
  guint64 scans;
  guint64 alignments;
  guint64 evaluations;
  guint64 allocations; /* host and device, after open */
  guint64 uploads;
  guint64 upload_bytes;
  guint64 downloads;
  guint64 download_bytes;
  guint64 launches;
  guint64 synchronizations;
  guint64 device_bytes; /* allocated, by open_background() as well */
  guint64 host_bytes;   /* allocated, without maps */
} NdtBackendCounters;

typedef struct _NdtBackend NdtBackend;
typedef struct _NdtBackendClass NdtBackendClass;

/**
 * NdtBackendClass:
 *
 * The methods of a backend. A backend is used by one thread at a time, except @set_map (any thread,
 * concurrently with an alignment: the new map is used from the next call of @align or @evaluate
 * on), @get_counters and @cancel (any thread).
 *
 * Every function that returns gboolean sets its GError on FALSE. After %NDT_ERROR_DEVICE each call
 * fails with it. Other errors do not change the backend's state.
 */
struct _NdtBackendClass {
  const gchar *name;
  /* Best number of starts for a call of align, where there are many; 0: 64. */
  guint batch;

  /* Takes a reference. */
  gboolean (*set_map) (NdtBackend *backend, NdtVoxelMap *map, GError **error);
  /* Builds a map from points on the device and sets it. Nullable: the wrapper then builds it on the
   * CPU. @out_map, nullable, receives a host copy. */
  gboolean (*set_map_from_points) (NdtBackend *backend, const NdtVoxelMapParams *params,
      const NdtCloudView *points, NdtVoxelMap **out_map, GError **error);

  /* Thins a scan into slot 0 … NDT_N_SLOTS − 1. May return before @points is read: its
   * memory has to stay valid until a call of align, with that of spread where its result is passed
   * to it, evaluate or get_scan on this slot has returned, or the slot is set again. */
  gboolean (*set_scan) (NdtBackend *backend, guint slot, const NdtCloudView *points,
      const NdtScanFilter *filter, GError **error);
  /* A scan in two steps, for motion compensation: set_moving_scan sets its raw points and their
   * times; *span is of the times of its finite points, and its n_points is 0 where there are none.
   * Then move_scan, once or more, transforms them to one instant as ndt_deskew_motion() does (NULL:
   * not at all) and thins them. Memory of both has to stay valid as for set_scan. With @span NULL
   * set_moving_scan may begin to read the scan, and returns without waiting; it is called again
   * with the same arguments. Nullable, both or none: NdtMovingScan then does it on the CPU. */
  gboolean (*set_moving_scan) (NdtBackend *backend, guint slot, const NdtCloudView *points,
      const NdtTimeView *times, NdtTimeSpan *span, GError **error);
  gboolean (*move_scan) (NdtBackend *backend, guint slot, const NdtScanMotion *motion,
      const NdtScanFilter *filter, GError **error);
  /* The thinned scan as packed float x, y, z in the sensor frame; @xyz has room for max_points
   * points. The number that is stored may be larger. */
  gboolean (*get_scan) (NdtBackend *backend, guint slot, float *xyz, guint max_points,
      guint *n_points, GError **error);
  /* Writes the sample of the thinned scan of @slot to slot @into, by the rules of ndt-scan-sample.h
   * with cubes of edge @leaf, metres, > 0. Nullable: ndt_search_far() then makes the sample from
   * get_scan. */
  gboolean (*sample_scan) (NdtBackend *backend, guint slot, guint into, float leaf, GError **error);

  /* Aligns one scan from n_starts poses, in parallel where the device can. Results are in the order
   * of starts, and each has the bits of a call with that start alone. */
  gboolean (*align) (NdtBackend *backend, guint slot, const NdtAlignParams *params,
      const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error);
  /* For scans whose starts depend on the result of the scan before: align_begin returns without the
   * result, align_end waits for it. Results have the bits of align. Scans in the n_following slots
   * after this one are set and will probably be begun next, in turn: the kernel may stay resident
   * and read them ahead, so that their memory has to stay valid until align_stop, or any other call
   * except align_begin, align_end, spread and the thread-safe ones. Between begin and end only
   * spread, of the scan before, and the thread-safe ones may be called. Nullable, all three or
   * none.
   */
  gboolean (*align_begin) (NdtBackend *backend, guint slot, const NdtAlignParams *params,
      const NdtStart *start, guint n_following, GError **error);
  gboolean (*align_end) (NdtBackend *backend, NdtAlignResult *result, GError **error);
  void (*align_stop) (NdtBackend *backend);
  /* Sets n_clusters and spread of a result of the scan in @slot, which is not set again since.
   * May be called, for a result of align_end, between begin and end of the next scan's, which may
   * have another map. Nullable: align sets them. */
  gboolean (*spread) (NdtBackend *backend, guint slot, const NdtAlignParams *params,
      NdtAlignResult *result, GError **error);
  /* The objective at n_poses poses, over one level of the map. */
  gboolean (*evaluate) (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
      NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error);

  /* Finds the places of a scan in a map seen from above: those of ndt_overview_search() on the CPU,
   * bit for bit. May keep a copy of the overview until it is called with another one or closed.
   * *done is FALSE, without an error, where the search needs more memory than there is: it is then
   * made on the CPU. Nullable: so is each. */
  gboolean (*search_overview) (NdtBackend *backend, NdtOverview *overview,
      const NdtOverviewTask *task, NdtOverviewFound *found, gboolean *done, GError **error);

  /* Opens another backend on the same device for searches in the background of this one: of the
   * device's lowest priority, on half of it at most, with device memory within this one's budget
   * and no memory of the host in its place. Either may be closed first. Any thread. Nullable. */
  NdtBackend *(*open_background) (NdtBackend *backend, GError **error);

  /* A copy of a frame tree on the device; closed before the backend. Nullable. */
  NdtDeviceFrames *(*open_frames) (NdtBackend *backend, GError **error);

  /* Page-locked host memory, which uploads fast. Nullable. alloc_host returns NULL where there is
   * none; the caller then uses pageable memory. Any thread; memory may outlive the backend. */
  gpointer (*alloc_host) (NdtBackend *backend, gsize size);
  void (*free_host) (gpointer memory, gsize size);

  void (*get_counters) (NdtBackend *backend, NdtBackendCounters *counters);
  /* TRUE: a running align, and later ones, return soon with NDT_ERROR_CANCELLED; until FALSE is
   * set. */
  void (*cancel) (NdtBackend *backend, gboolean cancelled);
  void (*close) (NdtBackend *backend);
};

/* Called about once a second by a search that takes longer, in the thread that aligns: so much of
 * its @n_candidates is done, from 0 to 1, the last time 1. */
typedef void (*NdtSearchProgress) (double fraction, guint n_candidates, gpointer user_data);

/* First member of the structure of each backend, which sets @klass and @log (of the config) and
 * zeroes the rest; where it computes on the CPU, @n_threads as well (of the config). */
struct _NdtBackend {
  const NdtBackendClass *klass;
  const NdtLog *log;
  guint n_threads; /* of searches of the whole map; 0: one per processor */
  /*< private >*/
  NdtSearchProgress progress;
  gpointer progress_data;
  gint resolution_um; /* these are atomic: of the map that was set last */
  gint share_ppm[NDT_MAX_LEVELS];
  gint density_milli[NDT_MAX_LEVELS];
  gint fit_level;
  GMutex map_lock; /* guards map */
  NdtVoxelMap *map;
  guint begun_slot;
  NdtAlignParams begun_params;
  NdtStart begun_start;
};

/* The CPU backend. Opening it fails with NDT_ERROR_INVALID_ARGUMENT only; where the system refuses
 * threads it has fewer than configured. Calls fail with NDT_ERROR_INVALID_ARGUMENT,
 * NDT_ERROR_NO_MAP, NDT_ERROR_CANCELLED, and NDT_ERROR_NO_MEMORY for a scan that does not fit; then
 * the slot has no points. */
NdtBackend *ndt_backend_open_cpu (const NdtBackendConfig *config, GError **error);

/* Wrappers that check arguments (NDT_ERROR_INVALID_ARGUMENT) and call the class. Units and
 * ownership as above. */
void ndt_backend_close (NdtBackend *backend);
const gchar *ndt_backend_get_name (const NdtBackend *backend);
/* (nullable): the log of its config, for ndt_log(). Any thread. */
const NdtLog *ndt_backend_get_log (const NdtBackend *backend);
/* Before the first alignment. @progress: (nullable) */
void ndt_backend_set_progress (NdtBackend *backend, NdtSearchProgress progress, gpointer user_data);
gboolean ndt_backend_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error);
gboolean ndt_backend_set_map_from_points (NdtBackend *backend, const NdtVoxelMapParams *params,
    const NdtCloudView *points, NdtVoxelMap **out_map, GError **error);
/* Edge of the cells of the map that was set last, metres, to the micrometre; 0 without one. Any
 * thread. */
double ndt_backend_get_resolution (const NdtBackend *backend);
/* @share: fraction of that map's points that lie in voxels; @density: mean number of points of a
 *   voxel. 1 and 100 where they are not known, 0 and 0 without a map. Any thread. */
void ndt_backend_get_map_density (const NdtBackend *backend, double *share, double *density);
/* The level of that map by which scans are compared with it, ndt_voxel_map_get_fit_level(); 0 where
 * shares are not known, as of a map that was made on a device. @resolution: edge of its cells,
 * metres; @share, @density: as above, of its voxels. Any thread. */
guint ndt_backend_get_fit_level (
    const NdtBackend *backend, double *resolution, double *share, double *density);
/* (transfer full) (nullable): that map; NULL without one, and where it exists on the device alone.
 * Any thread. */
NdtVoxelMap *ndt_backend_ref_map (NdtBackend *backend);
/* (transfer full): that map seen from above, by ndt_overview_of_map(). NULL with NDT_ERROR_NO_MAP
 * where there is none or it exists on the device alone. Any thread. */
NdtOverview *ndt_backend_get_overview (NdtBackend *backend, GError **error);
gboolean ndt_backend_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error);
/* For backends with these methods. */
gboolean ndt_backend_set_moving_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, NdtTimeSpan *span, GError **error);
gboolean ndt_backend_move_scan (NdtBackend *backend, guint slot, const NdtScanMotion *motion,
    const NdtScanFilter *filter, GError **error);
gboolean ndt_backend_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error);
gboolean ndt_backend_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error);
/* Of backends without these methods, the end computes the alignment. */
gboolean ndt_backend_align_begin (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *start, guint n_following, GError **error);
gboolean ndt_backend_align_end (NdtBackend *backend, NdtAlignResult *result, GError **error);
void ndt_backend_align_stop (NdtBackend *backend);
guint ndt_backend_get_batch (const NdtBackend *backend);
/* Backends that know the spread with the alignment have done so. */
gboolean ndt_backend_spread (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtAlignResult *result, GError **error);
gboolean ndt_backend_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    guint level, NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error);
/* Whether an error of a device says something about it, not about what was asked of it: the CPU
 * may succeed. */
gboolean ndt_backend_is_failure (const GError *error);
gboolean ndt_backend_can_open_background (const NdtBackend *backend);
/* (transfer full): NULL with NDT_ERROR_NO_DEVICE of a backend without a device, and as of opening
 * one. Any thread. */
NdtBackend *ndt_backend_open_background (NdtBackend *backend, GError **error);
/* (transfer full): for ndt_frame_tree_set_device(); to be closed before the backend. NULL with
 * NDT_ERROR_NO_DEVICE of a backend without a device, with other errors where its device fails. */
NdtDeviceFrames *ndt_backend_open_frames (NdtBackend *backend, GError **error);
gpointer ndt_backend_alloc_host (NdtBackend *backend, gsize size);
void ndt_backend_get_counters (NdtBackend *backend, NdtBackendCounters *counters);
void ndt_backend_cancel (NdtBackend *backend, gboolean cancelled);

/* TRUE where @a has a higher objective than @b; values that are not finite are the lowest. */
gboolean ndt_align_result_is_better (const NdtAlignResult *a, const NdtAlignResult *b);

/* Whether all fields are equal; of @terms, the same ones. */
gboolean ndt_align_params_equal (const NdtAlignParams *a, const NdtAlignParams *b);
/* FALSE with NDT_ERROR_INVALID_ARGUMENT and the name of the parameter that is out of range. */
gboolean ndt_align_params_check (const NdtAlignParams *params, GError **error);
gboolean ndt_scan_filter_check (const NdtScanFilter *filter, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtBackend, ndt_backend_close)

G_END_DECLS
