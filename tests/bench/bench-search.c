/* SPDX-License-Identifier: MIT */
/* Searches of the whole map in the background of a stream:
 *
 *   bench-search [starts|beside] [RUNS]      default: both, 2000 alignments
 *
 * Starts without a pose: from a drive's first scan until it is tracking, with a localizer on the
 * device and one on the CPU, of a town of the simulator and recorded drives, from different scans.
 * Beside: thinning and alignment of a scan of the town near where it is, host to host, one after
 * the other, alone and while another thread searches the town's map for scans of it without a
 * pause: by a relocalizer on the CPU, by one on the same device, and by a backend of its own on it.
 * The recorded drives are those of NDT_TEST_DATA. */
#include <stdio.h>
#include <string.h>

#include "bench-time.h"
#include "cuda/ndt-cuda.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/track/ndt-relocalizer.h"
#include "tests/trust/trust-drive.h"

#define RESOLUTION 1.0
#define N_STARTS 15
#define N_TOWN 120
#define MOST_SCANS 30
#define NO_CACHE "/nonexistent"

static NdtVoxelMap *
make_map (const GArray *points, double resolution)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view =
      ndt_cloud_view_xyz_f32 ((const float *)(gconstpointer)points->data, points->len);
  params.resolution = resolution;
  return ndt_voxel_map_new (&params, &view, NULL);
}

static NdtBackend *
open_backend (gboolean on_device, NdtVoxelMap *map)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (GError) error = NULL;
  NdtBackend *backend =
      on_device ? ndt_cuda_backend_open (&config, &error) : ndt_backend_open_cpu (&config, &error);
  if (!backend || !ndt_backend_set_map (backend, map, &error))
    g_error ("%s", error->message);
  return backend;
}

static NdtCloudView
get_scan (const TrustDrive *drive, guint i)
{
  return ndt_cloud_view_xyz_f32 (drive->scans[i], drive->sizes[i]);
}

/* ---- Starts ---- */

/* Milliseconds until the drive is tracking from scan @first on; 0: it was not. */
static double
start (NdtBackend *backend, const TrustDrive *drive, guint first, guint *n_scans)
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  NdtLocalization out = {0};
  g_autoptr (GError) error = NULL;
  ndt_localizer_params_init (&params);
  ndt_localizer_set_params (localizer, &params, NULL);
  const double since = bench_now_us ();
  double took = 0;
  for (guint i = 0; i < MOST_SCANS && first + i < drive->n && took == 0; i++) {
    const NdtObservation observation = {
        .points = get_scan (drive, first + i), .time = drive->times[first + i]};
    if (!ndt_localizer_process (localizer, &observation, &out, &error))
      g_error ("%s", error->message);
    *n_scans = i + 1;
    if (out.status == NDT_TRACK_TRACKING)
      took = 1e-3 * (bench_now_us () - since);
  }
  if (took > 0) {
    double metres;
    ndt_pose_difference (
        &out.registration.pose, &drive->truths[first + *n_scans - 1], &metres, NULL);
    if (metres > 0.5)
      printf ("  %.1f m off\n", metres);
  }
  ndt_localizer_free (localizer);
  return took;
}

static void
bench_starts (const gchar *name, const TrustDrive *drive, const GArray *points, double resolution)
{
  for (guint on_device = 0; on_device < 2; on_device++) {
    /* The first start makes the map as seen from above. */
    g_autoptr (NdtVoxelMap) map = make_map (points, resolution);
    g_autoptr (NdtBackend) backend = open_backend (on_device, map);
    double times[N_STARTS], first = 0;
    guint n = 0, n_scans, most = 0;
    for (guint i = 0; i < N_STARTS; i++) {
      const double took = start (backend, drive, i * (drive->n - MOST_SCANS) / N_STARTS, &n_scans);
      first = i == 0 ? took : first;
      if (took == 0)
        continue;
      times[n++] = took;
      most = MAX (most, n_scans);
    }
    printf ("%-6s %4.1f m %-5s %2u of %u tracking, at most with scan %2u; ms: first %7.1f", name,
        resolution, on_device ? "cuda" : "cpu", n, N_STARTS, most, first);
    if (n > 0)
      printf (" median %7.1f most %7.1f", bench_percentile (times, n, 0.5),
          bench_percentile (times, n, 1));
    printf ("\n");
    fflush (stdout);
  }
}

static void
bench_recorded (const gchar *name, const gchar *folder, const gchar *file)
{
  g_autoptr (TrustDrive) drive = trust_drive_read (folder, 0, 1);
  g_autoptr (GArray) points = trust_map_read (folder, file);
  if (!drive || !points) {
    printf ("%s: not in NDT_TEST_DATA\n", name);
    return;
  }
  for (double resolution = 1; resolution <= 2; resolution++)
    bench_starts (name, drive, points, resolution);
}

/* ---- Beside a stream ---- */

typedef enum { ALONE, ON_CPU, IN_BACKGROUND, AS_ANOTHER, N_BESIDE } Beside;

/* @thinned: points of the drive's scans; @sizes: how many */
typedef struct {
  Beside beside;
  NdtBackend *stream;
  const TrustDrive *drive;
  float **thinned;
  guint *sizes;
  NdtVoxelMap *map;
  gint stop;
  guint n;
  double milliseconds;
} Search;

static void
search_by_relocalizer (Search *search, NdtRelocalizer *relocalizer, guint i)
{
  NdtRelocalizerTask task = {.map = search->map, .anywhere = TRUE, .least_fit = 0.95};
  NdtRelocation found;
  ndt_registration_params_init (&task.registration);
  ndt_relocalizer_begin (relocalizer, &task);
  for (guint k = 0; k < NDT_RELOCALIZER_SCANS; k++) {
    const guint at = (i + k) % search->drive->n, n = search->sizes[at];
    NdtRelocalizerScan scan = {
        .xyz = g_memdup2 (search->thinned[at], 3 * (gsize)n * sizeof (float)),
        .n = n,
        .time = search->drive->times[at]};
    ndt_relocalizer_add (relocalizer, &scan);
  }
  ndt_relocalizer_get (relocalizer, TRUE, &found);
  ndt_relocalizer_drop (relocalizer);
}

static void
search_by_backend (Search *search, NdtBackend *backend, guint i)
{
  const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  const guint at = i % search->drive->n;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (search->thinned[at], search->sizes[at]);
  NdtRegistrationParams params;
  NdtRegistration r;
  g_autoptr (GError) error = NULL;
  ndt_registration_params_init (&params);
  if (!ndt_backend_set_scan (backend, 0, &view, &filter, &error) ||
      !ndt_register_anywhere (backend, 0, &params, &r, &error))
    g_error ("%s", error->message);
}

static gpointer
keep_searching (gpointer data)
{
  Search *search = data;
  NdtRelocalizer *relocalizer =
      ndt_relocalizer_new (search->beside == IN_BACKGROUND ? search->stream : NULL);
  g_autoptr (NdtBackend) other =
      search->beside == AS_ANOTHER ? open_backend (TRUE, search->map) : NULL;
  while (!g_atomic_int_get (&search->stop)) {
    const double since = bench_now_us ();
    if (other)
      search_by_backend (search, other, 7 * search->n);
    else
      search_by_relocalizer (search, relocalizer, 7 * search->n);
    search->milliseconds += 1e-3 * (bench_now_us () - since);
    search->n++;
  }
  g_autoptr (GError) failure = ndt_relocalizer_take_failure (relocalizer);
  if (failure)
    printf ("  %s\n", failure->message);
  ndt_relocalizer_free (relocalizer);
  return NULL;
}

static NdtScanFilter
get_filter (void)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  filter.leaf_size = (float)(0.5 * RESOLUTION);
  return filter;
}

static void
thin (Search *search)
{
  const NdtScanFilter filter = get_filter ();
  const TrustDrive *drive = search->drive;
  g_autoptr (NdtBackend) cpu = open_backend (FALSE, search->map);
  search->thinned = g_new (float *, drive->n);
  search->sizes = g_new (guint, drive->n);
  for (guint i = 0; i < drive->n; i++) {
    const NdtCloudView view = get_scan (drive, i);
    search->thinned[i] = g_new (float, 3 * (gsize)drive->sizes[i]);
    ndt_backend_set_scan (cpu, 0, &view, &filter, NULL);
    ndt_backend_get_scan (cpu, 0, search->thinned[i], drive->sizes[i], &search->sizes[i], NULL);
  }
}

static void
measure (NdtBackend *backend, const TrustDrive *drive, guint n_runs, double *times)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  const NdtScanFilter filter = get_filter ();
  static const double delta[6] = {0.2, -0.1, 0.05, 0, 0, 0.01};
  for (gint i = -50; i < (gint)n_runs; i++) {
    const guint at = (guint)(i + 50) % drive->n;
    const NdtCloudView view = get_scan (drive, at);
    NdtStart near = {0};
    NdtAlignResult result;
    g_autoptr (GError) error = NULL;
    ndt_pose_retract (&drive->truths[at], delta, &near.guess);
    const double since = bench_now_us ();
    if (!ndt_backend_set_scan (backend, 0, &view, &filter, &error) ||
        !ndt_backend_align (backend, 0, &params, &near, 1, &result, &error))
      g_error ("%s", error->message);
    if (i >= 0)
      times[i] = bench_now_us () - since;
  }
}

static void
bench_beside (const TrustDrive *drive, NdtVoxelMap *map, guint n_runs)
{
  static const gchar *const names[N_BESIDE] = {
      "alone", "the CPU", "the background", "another backend"};
  g_autofree double *times = g_new (double, n_runs);
  g_autoptr (NdtBackend) backend = open_backend (TRUE, map);
  Search search = {.stream = backend, .drive = drive, .map = map};
  thin (&search);
  for (guint beside = 0; beside < N_BESIDE; beside++) {
    search.beside = beside;
    search.n = 0;
    search.milliseconds = 0;
    g_atomic_int_set (&search.stop, FALSE);
    GThread *thread = beside != ALONE ? g_thread_new ("search", keep_searching, &search) : NULL;
    if (thread)
      g_usleep (300000); /* the map from above is made */
    measure (backend, drive, n_runs, times);
    g_atomic_int_set (&search.stop, TRUE);
    if (thread)
      g_thread_join (thread);
    const double median = bench_percentile (times, n_runs, 0.5);
    printf ("%-16s us: median %7.1f 99th %8.1f 99.9th %8.1f most %8.1f; a search %.1f ms\n",
        names[beside], median, bench_percentile (times, n_runs, 0.99),
        bench_percentile (times, n_runs, 0.999), bench_percentile (times, n_runs, 1),
        search.milliseconds / MAX (search.n, 1));
    fflush (stdout);
  }
  for (guint i = 0; i < drive->n; i++)
    g_free (search.thinned[i]);
  g_free (search.thinned);
  g_free (search.sizes);
}

int
main (int argc, char **argv)
{
  const gchar *what = argc > 1 ? argv[1] : "";
  const guint n_runs = argc > 2 ? (guint)CLAMP (atoi (argv[2]), 10, 1000000) : 2000;
  const TrustSim sim = {NDT_SIM_WORLD_TOWN, 1, N_TOWN, 512, 0, 0, 0};
  g_autoptr (TrustDrive) drive = trust_drive_simulate (&sim, NO_CACHE);
  g_autoptr (GArray) points = trust_map_simulate (NDT_SIM_WORLD_TOWN, 1, NO_CACHE);
  if (strcmp (what, "beside") != 0) {
    for (double resolution = 1; resolution <= 2; resolution++)
      bench_starts ("town", drive, points, resolution);
    bench_recorded ("KITTI", "seq_kitti_drive0005", "map_even_0.25.pcd");
    bench_recorded ("BALM", "seq_balm_os0", "map_even_0.20.pcd");
  }
  if (strcmp (what, "starts") != 0) {
    g_autoptr (NdtVoxelMap) map = make_map (points, RESOLUTION);
    bench_beside (drive, map, n_runs);
  }
  return 0;
}
