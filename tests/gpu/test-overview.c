/* SPDX-License-Identifier: MIT */
/* The search of a whole map from above: the device finds the places that the CPU finds, bit for
 * bit. */
#include <math.h>
#include <string.h>

#include "gpu-device.h"
#include "ndtcore/registration/ndt-overview-search.h"
#include "tests/ndt-scene.h"
#include "tests/trust/trust-drive.h"

#define N_SCANS 25
#define MOST 24
#define N_MAP 60000

/* Simulated data are not kept. */
#define NO_CACHE "/nonexistent"

typedef struct {
  guint n;
  guint n_nodes;
  NdtOverviewPlace places[MOST];
} Places;

static NdtVoxelMap *
make_map (const GArray *points, double resolution)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view =
      ndt_cloud_view_xyz_f32 ((const float *)(gconstpointer)points->data, points->len);
  g_autoptr (GError) error = NULL;
  params.resolution = resolution;
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* @backend: NULL: the CPU. TRUE where the device counted. */
static gboolean
find (NdtBackend *backend, NdtOverview *overview, const float *xyz, guint n, Places *out)
{
  g_autoptr (NdtWorkers) workers = ndt_workers_new (0);
  g_autoptr (GError) error = NULL;
  NdtBackendCounters before = {0}, after = {0};
  memset (out, 0, sizeof (*out));
  if (backend)
    ndt_backend_get_counters (backend, &before);
  ndt_overview_search (
      overview, backend, workers, xyz, n, MOST, out->places, &out->n, &out->n_nodes, &error);
  g_assert_no_error (error);
  if (backend)
    ndt_backend_get_counters (backend, &after);
  return after.launches > before.launches;
}

static void
assert_same (NdtBackend *cuda, NdtOverview *overview, const float *xyz, guint n, gboolean on_device)
{
  Places a, b;
  find (NULL, overview, xyz, n, &a);
  g_assert_cmpint (find (cuda, overview, xyz, n, &b), ==, on_device);
  g_assert_cmpuint (a.n, >, 0);
  g_assert_cmpuint (a.n, ==, b.n);
  g_assert_cmpuint (a.n_nodes, ==, b.n_nodes);
  for (guint i = 0; i < a.n; i++) {
    const NdtOverviewPlace *p = &a.places[i], *q = &b.places[i];
    g_assert_cmpmem (&p->pose, sizeof (p->pose), &q->pose, sizeof (q->pose));
    g_assert_cmpuint (p->n_heights, ==, q->n_heights);
    g_assert_cmpmem (
        p->heights, p->n_heights * sizeof (double), q->heights, q->n_heights * sizeof (double));
    g_assert_true (p->share == q->share);
  }
}

/* ---- A small scene ---- */

typedef struct {
  NdtVoxelMap *map;
  NdtOverview *overview;
  float *scan;
} Yard;

#define N_YARD 5000

static Yard
make_yard (double resolution)
{
  NdtPose truth = {{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  Yard yard = {ndt_test_scene_map (NDT_TEST_YARD, N_MAP, resolution), NULL, NULL};
  ndt_pose_normalize (&truth);
  yard.overview = ndt_overview_new (yard.map, NULL);
  yard.scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, N_YARD, 7);
  return yard;
}

static void
clear_yard (Yard *yard)
{
  ndt_overview_unref (yard->overview);
  ndt_voxel_map_unref (yard->map);
  g_free (yard->scan);
}

static NdtBackend *
open_background (NdtBackend *cuda)
{
  g_autoptr (GError) error = NULL;
  NdtBackend *background = ndt_backend_open_background (cuda, &error);
  g_assert_no_error (error);
  return background;
}

static guint64
get_device_bytes (NdtBackend *cuda)
{
  NdtBackendCounters counters;
  ndt_backend_get_counters (cuda, &counters);
  return counters.device_bytes;
}

/* A run that is short enough for compute-sanitizer. */
static void
test_sanitize (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) background = open_background (cuda);
  Yard yard = make_yard (2);
  assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
  assert_same (background, yard.overview, yard.scan, N_YARD, TRUE);
  clear_yard (&yard);
}

/* Maps in turn are uploaded each time they change, into the same memory. */
static void
test_map_change (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Yard yards[2] = {make_yard (1), make_yard (2)};
  NdtBackendCounters seen = {0}, counters;
  for (guint i = 0; i < 6; i++) {
    assert_same (cuda, yards[i / 2 % 2].overview, yards[0].scan, N_YARD, TRUE);
    ndt_backend_get_counters (cuda, &counters);
    if (i % 2) /* the same map again */
      g_assert_cmpuint (counters.upload_bytes - seen.upload_bytes, <, 1 << 15);
    else
      g_assert_cmpuint (counters.upload_bytes - seen.upload_bytes, >, 1 << 15);
    if (i > 2)
      g_assert_cmpuint (counters.device_bytes, ==, seen.device_bytes);
    seen = counters;
  }
  for (guint i = 0; i < 2; i++)
    clear_yard (&yards[i]);
}

static void
test_cancelled (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtWorkers) workers = ndt_workers_new (1);
  g_autoptr (GError) error = NULL;
  Yard yard = make_yard (2);
  Places places = {0};
  ndt_backend_cancel (cuda, TRUE);
  g_assert_false (ndt_overview_search (yard.overview, cuda, workers, yard.scan, N_YARD, MOST,
      places.places, &places.n, &places.n_nodes, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  ndt_backend_cancel (cuda, FALSE);
  assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
  clear_yard (&yard);
}

/* Without the device's memory the CPU searches. */
static void
test_refused (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (1 << 20);
  if (!cuda)
    return;
  Yard yard = make_yard (2);
  assert_same (cuda, yard.overview, yard.scan, N_YARD, FALSE);
  clear_yard (&yard);
}

typedef struct {
  NdtBackend *backend;
  gulong delay;
} Cancel;

static gpointer
cancel (gpointer data)
{
  const Cancel *job = data;
  g_usleep (job->delay);
  ndt_backend_cancel (job->backend, TRUE);
  return NULL;
}

/* At any moment: it is cancelled, or its places are those of one that is not. */
static void
test_cancelled_within (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtWorkers) workers = ndt_workers_new (1);
  Yard yard = make_yard (1);
  Places whole, places;
  guint n_cancelled = 0;
  g_assert_true (find (cuda, yard.overview, yard.scan, N_YARD, &whole));
  for (guint i = 0; i < 200; i++) {
    Cancel job = {cuda, 10 * i};
    g_autoptr (GError) error = NULL;
    memset (&places, 0, sizeof (places));
    GThread *thread = g_thread_new ("cancel", cancel, &job);
    const gboolean ok = ndt_overview_search (yard.overview, cuda, workers, yard.scan, N_YARD, MOST,
        places.places, &places.n, &places.n_nodes, &error);
    g_thread_join (thread);
    ndt_backend_cancel (cuda, FALSE);
    n_cancelled += !ok;
    if (ok)
      g_assert_cmpmem (&places, sizeof (places), &whole, sizeof (whole));
    else
      g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  }
  g_assert_cmpuint (n_cancelled, >, 0);
  g_assert_cmpuint (n_cancelled, <, 200);
  assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
  clear_yard (&yard);
}

#ifdef HAVE_NDT_CUDA
static void
cancel_on_device (NdtCudaMoment moment, guint n_blocks, gpointer backend)
{
  if (moment != NDT_CUDA_MOMENT_LAUNCHED)
    ndt_backend_cancel (backend, moment == NDT_CUDA_MOMENT_BEFORE);
}

/* A search that is cancelled only while it is on the device ends there, and its places are of no
 * use. */
static void
test_cancelled_on_device (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtWorkers) workers = ndt_workers_new (1);
  g_autoptr (GError) error = NULL;
  Yard yard = make_yard (1);
  Places places = {0};
  ndt_cuda_testing_watch (cancel_on_device, cuda);
  g_assert_false (ndt_overview_search (yard.overview, cuda, workers, yard.scan, N_YARD, MOST,
      places.places, &places.n, &places.n_nodes, &error));
  ndt_cuda_testing_watch (NULL, NULL);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
  clear_yard (&yard);
}

static void
count_blocks (NdtCudaMoment moment, guint n_blocks, gpointer most)
{
  *(guint *)most = MAX (*(guint *)most, n_blocks);
}

/* A search in the background has a block on half of the multiprocessors, two have one on a quarter
 * each. */
static void
test_shares (void)
{
  static const guint expected[] = {64, 32, 16};
  TEST_CUDA (LIMITS, "64:166912:8:64:128");
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  Yard yard = make_yard (2);
  NdtBackend *backends[3] = {cuda};
  for (guint i = 0; i < G_N_ELEMENTS (expected) && cuda; i++) {
    guint most = 0;
    if (i > 0)
      backends[i] = open_background (cuda);
    ndt_cuda_testing_watch (count_blocks, &most);
    assert_same (backends[i], yard.overview, yard.scan, N_YARD, TRUE);
    ndt_cuda_testing_watch (NULL, NULL);
    g_assert_cmpuint (most, ==, expected[i]);
  }
  for (guint i = 1; i < G_N_ELEMENTS (expected) && cuda; i++)
    ndt_backend_close (backends[i]);
  TEST_CUDA (LIMITS, NULL);
  clear_yard (&yard);
}
#endif

/* Within a budget a search keeps no memory, and finds the same again. */
static void
test_budget (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (256 << 20);
  if (!cuda)
    return;
  Yard yard = make_yard (2);
  const guint64 before = get_device_bytes (cuda);
  for (guint i = 0; i < 3; i++) {
    assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
    g_assert_cmpuint (get_device_bytes (cuda), ==, before);
  }
  clear_yard (&yard);
}

/* A backend in the background takes its memory of the one budget, none of the host in its place,
 * and gives it back, whichever is closed first. */
static void
test_background (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (256 << 20);
  if (!cuda)
    return;
  g_autoptr (GError) error = NULL;
  Yard yard = make_yard (2);
  const guint64 before = get_device_bytes (cuda);
  NdtBackend *background = open_background (cuda);
  g_assert_true (ndt_backend_set_map (background, yard.map, &error));
  g_assert_cmpuint (get_device_bytes (cuda), >, before);
  g_assert_cmpuint (get_device_bytes (cuda), ==, get_device_bytes (background));
  ndt_backend_close (background);
  g_assert_cmpuint (get_device_bytes (cuda), ==, before);

  g_autoptr (NdtBackend) last = open_background (cuda);
  g_clear_pointer (&cuda, ndt_backend_close);
  assert_same (last, yard.overview, yard.scan, N_YARD, TRUE);

  /* What is always needed is within this one, but no map. */
  g_autoptr (NdtBackend) little = open_cuda (1);
  background = ndt_backend_open_background (little, &error);
  g_assert_null (background);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  g_clear_error (&error);
  g_autoptr (NdtBackend) some = open_cuda (2 * before + 10000);
  g_autoptr (NdtBackend) poor = open_background (some);
  g_assert_false (ndt_backend_set_map (poor, yard.map, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  clear_yard (&yard);
}

#ifdef HAVE_NDT_CUDA
/* Closing frees the copy of the map and what a search takes. Other processes on the device may take
 * memory meanwhile; what is not freed is missing each time. */
static void
test_freed (void)
{
  Yard yard = make_yard (2);
  guint64 n_free = 0;
  guint n_same = 0;
  for (guint i = 0; i < 8 && n_same < 2; i++) {
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    if (!cuda) {
      clear_yard (&yard);
      return;
    }
    assert_same (cuda, yard.overview, yard.scan, N_YARD, TRUE);
    g_clear_pointer (&cuda, ndt_backend_close);
    const guint64 left = ndt_cuda_testing_get_free_memory ();
    /* The first time the driver loads the kernels. */
    if (i > 0 && left >= n_free - MIN (n_free, 1 << 20))
      n_same++;
    n_free = left;
  }
  g_assert_cmpuint (n_same, ==, 2);
  clear_yard (&yard);
}
#endif

/* ---- Drives ---- */

/* @drive: of N_SCANS scans or more, which are spread over it. */
static void
compare_drive (NdtBackend *cuda, const GArray *points, const TrustDrive *drive, double resolution)
{
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (NdtVoxelMap) map = make_map (points, resolution);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  for (guint i = 0; i < N_SCANS; i++) {
    const guint at = i * drive->n / N_SCANS;
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (drive->scans[at], drive->sizes[at]);
    NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
    g_autofree float *xyz = g_new (float, 3 * (gsize)drive->sizes[at] + 3);
    guint n;
    filter.leaf_size = (float)(0.5 * resolution);
    g_assert_true (ndt_backend_set_scan (cpu, 0, &view, &filter, NULL));
    g_assert_true (ndt_backend_get_scan (cpu, 0, xyz, drive->sizes[at], &n, NULL));
    assert_same (cuda, overview, xyz, n, TRUE);
  }
}

static void
test_town (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  const TrustSim sim = {NDT_SIM_WORLD_TOWN, 1, N_SCANS, 512, 40, 0, 0};
  g_autoptr (TrustDrive) drive = trust_drive_simulate (&sim, NO_CACHE);
  g_autoptr (GArray) points = trust_map_simulate (NDT_SIM_WORLD_TOWN, 1, NO_CACHE);
  for (guint i = 1; i <= 2; i++)
    compare_drive (cuda, points, drive, i);
  g_autoptr (NdtBackend) background = open_background (cuda);
  compare_drive (background, points, drive, 2);
}

static void
compare_recorded (const gchar *folder, const gchar *map)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (TrustDrive) drive = trust_drive_read (folder, 0, 1);
  g_autoptr (GArray) points = trust_map_read (folder, map);
  if (!drive || !points) {
    g_test_skip ("NDT_TEST_DATA has not the drive");
    return;
  }
  for (guint i = 1; i <= 2; i++)
    compare_drive (cuda, points, drive, i);
}

static void
test_kitti (void)
{
  compare_recorded ("seq_kitti_drive0005", "map_even_0.25.pcd");
}

static void
test_balm (void)
{
  compare_recorded ("seq_balm_os0", "map_even_0.20.pcd");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/overview/sanitize", test_sanitize);
  g_test_add_func ("/gpu/overview/map-change", test_map_change);
  g_test_add_func ("/gpu/overview/cancelled", test_cancelled);
  g_test_add_func ("/gpu/overview/cancelled-within", test_cancelled_within);
  g_test_add_func ("/gpu/overview/refused", test_refused);
  g_test_add_func ("/gpu/overview/budget", test_budget);
  g_test_add_func ("/gpu/overview/background", test_background);
#ifdef HAVE_NDT_CUDA
  g_test_add_func ("/gpu/overview/cancelled-on-device", test_cancelled_on_device);
  g_test_add_func ("/gpu/overview/shares", test_shares);
  g_test_add_func ("/gpu/overview/freed", test_freed);
#endif
  g_test_add_func ("/gpu/overview/town", test_town);
  g_test_add_func ("/gpu/overview/kitti", test_kitti);
  g_test_add_func ("/gpu/overview/balm", test_balm);
  return g_test_run ();
}
