/* SPDX-License-Identifier: MIT */
/* A map seen from above, and the search of all of it. */
#include <math.h>
#include <string.h>

#include "ndtcore/registration/ndt-overview-search.h"
#include "ndtcore/registration/ndt-overview-views.h"
#include "ndtcore/registration/ndt-registration.h"

/* A yard of 60 × 40 m with walls that repeat nowhere: x, y of both ends. */
static const double walls[][4] = {{0, 0, 60, 0}, {60, 0, 60, 40}, {60, 40, 12, 40}, {0, 28, 0, 0},
    {0, 28, 12, 40}, {20, 10, 32, 10}, {32, 10, 32, 17}, {45, 25, 52, 32}, {14, 22, 14, 30}};

/* Points of walls and floor, 2 cm of noise; @storeys of 6 m. */
static GArray *
make_points (guint storeys, double dx)
{
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint s = 0; s < storeys; s++) {
    for (guint w = 0; w < G_N_ELEMENTS (walls); w++) {
      const double *e = walls[w], length = hypot (e[2] - e[0], e[3] - e[1]);
      for (guint i = 0; i < 60 * length; i++) {
        const double t = g_rand_double (rand), noise = 0.02 * g_rand_double (rand);
        const float p[3] = {(float)(e[0] + t * (e[2] - e[0]) + noise + dx),
            (float)(e[1] + t * (e[3] - e[1]) + noise), (float)(6 * s + 5 * g_rand_double (rand))};
        g_array_append_vals (points, p, 1);
      }
    }
    for (guint i = 0; i < 40000; i++) {
      const float p[3] = {(float)(g_rand_double_range (rand, 0, 60) + dx),
          (float)g_rand_double_range (rand, 0, 40), (float)(6 * s + 0.02 * g_rand_double (rand))};
      g_array_append_vals (points, p, 1);
    }
  }
  return points;
}

static NdtVoxelMap *
make_map (const GArray *points)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view =
      ndt_cloud_view_xyz_f32 ((const float *)(gconstpointer)points->data, points->len);
  GError *error = NULL;
  params.resolution = 1;
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* What of one storey lies within 25 m of a pose, one point in ten. */
static GArray *
make_scan (const NdtPose *pose)
{
  g_autoptr (GArray) points = make_points (1, 0);
  GArray *scan = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  NdtPose inverse;
  ndt_pose_invert (pose, &inverse);
  for (guint i = 0; i < points->len; i += 10) {
    const float *p = (const float *)(gpointer)points->data + 3 * (gsize)i;
    const double in[3] = {(double)p[0], (double)p[1], (double)p[2]};
    double out[3];
    ndt_pose_transform_point (&inverse, in, out);
    const float q[3] = {(float)out[0], (float)out[1], (float)out[2]};
    if (hypot (out[0], out[1]) < 25)
      g_array_append_vals (scan, q, 1);
  }
  return scan;
}

static NdtPose
make_pose (double x, double y, double yaw)
{
  const double at[3] = {x, y, 1.8};
  NdtPose pose;
  ndt_pose_from_rpy (at, 0, 0, yaw, &pose);
  return pose;
}

static void
search_with (guint n_threads, NdtOverview *overview, const GArray *scan, guint most,
    NdtOverviewPlace *places, guint *n)
{
  GError *error = NULL;
  guint nodes;
  g_autoptr (NdtWorkers) workers = ndt_workers_new (n_threads);
  g_assert_true (ndt_overview_search (overview, NULL, workers,
      (const float *)(gconstpointer)scan->data, scan->len, most, places, n, &nodes, &error));
  g_assert_no_error (error);
}

static void
search (NdtOverview *overview, const GArray *scan, guint most, NdtOverviewPlace *places, guint *n)
{
  search_with (1, overview, scan, most, places, n);
}

/* The union of the masks of a window of the finest level. */
static guint8
unite (const NdtOverview *overview, gint x, gint y, gint edge)
{
  guint8 mask = 0;
  for (gint v = y; v < y + edge; v++)
    for (gint u = x; u < x + edge; u++)
      mask |= overview->levels[0][ndt_overview_at (overview, u, v)];
  return mask;
}

static gpointer
get_overview (gpointer map)
{
  return ndt_overview_of_map (map, NULL);
}

/* Whoever has a map has the same overview of it, also threads that ask for it at once, and a
 * backend that was opened later; one that is referenced outlives the map. */
static void
test_once (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) made = ndt_overview_new (map, NULL);
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  GThread *threads[4];
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("overview", get_overview, map);
  g_autoptr (NdtOverview) overview = ndt_overview_of_map (map, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++) {
    NdtOverview *other = g_thread_join (threads[i]);
    g_assert_true (other == overview);
    ndt_overview_unref (other);
  }
  for (guint i = 0; i < 2; i++) {
    NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
    g_autoptr (NdtOverview) other = ndt_backend_get_overview (backend, NULL);
    g_assert_true (other == overview);
    ndt_backend_close (backend);
  }
  g_clear_pointer (&map, ndt_voxel_map_unref);
  const gsize size = (gsize)made->stride * (gsize)(made->height + 2 * NDT_OVERVIEW_PAD);
  g_assert_cmpmem (overview->quads, 4 * size, made->quads, 4 * size);
}

/* Each level is the union of those windows of the finest. */
static void
test_levels (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  guint n = 0;
  for (gint y = -32; y < overview->height + 32; y += 7)
    for (gint x = -32; x < overview->width + 32; x += 5) {
      const gsize at = ndt_overview_at (overview, x, y);
      const guint8 window = unite (overview, x, y, 8);
      g_assert_cmphex (overview->levels[1][at], ==, unite (overview, x, y, 2));
      for (gint k = 0; k < 4; k++)
        g_assert_cmphex (overview->quads[4 * at + (gsize)k], ==,
            unite (overview, x + k % 2 * 4, y + k / 2 * 4, 4));
      g_assert_cmphex (overview->windows[ndt_overview_window (overview, x, y)], ==, window);
      g_assert_cmphex (overview->windows[ndt_overview_window (overview, x % 8, y % 8) +
                                         (gsize)(x / 8 + y / 8 * overview->window_stride)],
          ==, window);
      n += window != 0;
    }
  g_assert_cmpuint (n, >, 100);
}

/* Counts of windows that are taken together are those of each alone. */
static void
test_counts (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (NdtOverviewMark));
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  NdtOverviewViews views;
  guint highest = 0;
  for (guint i = 0; i < 70; i++) {
    const NdtOverviewMark mark = {(float)g_rand_double_range (rand, -20, 20),
        (float)g_rand_double_range (rand, -20, 20), (guint8)g_rand_int_range (rand, 1, 256)};
    g_array_append_val (marks, mark);
  }
  NdtOverviewTask task = {(const NdtOverviewMark *)(gconstpointer)marks->data, marks->len};
  task.n_turns = ndt_overview_count_turns (task.marks, task.n_marks, overview->cell);
  g_assert_true (ndt_overview_views_init (&views, overview, &task));
  const gint nx = overview->n_windows[0], ny = overview->n_windows[1];
  g_autofree guint8 *counts = g_new (guint8, (gsize)nx * (gsize)ny);
  for (guint t = 0; t < views.n_turns; t += 7) {
    const gint32 *offsets = views.offsets + (gsize)t * views.n_marks;
    const guint8 *masks = views.masks + (gsize)t * views.n_marks;
    ndt_overview_count_all (&views, overview, t, counts);
    for (gint i = 0; i < nx * ny; i++) {
      const gint x = i % nx * 8, y = i / nx * 8;
      guint top = 0, quad[4] = {0, 0, 0, 0};
      guint8 together[4];
      for (guint m = 0; m < views.n_marks; m++) {
        const guint8 *four =
            overview->quads + 4 * ((gssize)ndt_overview_at (overview, x, y) + offsets[m]);
        for (guint k = 0; k < 4; k++)
          quad[k] += (four[k] & masks[m]) != 0;
        top += ((four[0] | four[1] | four[2] | four[3]) & masks[m]) != 0;
      }
      g_assert_cmpuint (counts[i], ==, top);
      ndt_overview_count_quad (&views, overview, x, y, t, 1, together);
      for (guint k = 0; k < 4; k++) {
        const gint u = x + (gint)(k % 2) * 4, v = y + (gint)(k / 2) * 4;
        g_assert_cmpuint (together[k], ==, quad[k]);
        g_assert_cmpuint (together[k], <=, top);
        g_assert_cmpuint (ndt_overview_count (&views, overview, u, v, t, 1, 1), <=, together[k]);
      }
      highest = MAX (highest, top);
    }
  }
  g_assert_cmpuint (highest, >, 30);
  ndt_overview_views_clear (&views);
}

/* However many threads search two yards of the same. */
static void
test_threads (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (GArray) other = make_points (1, 100);
  g_array_append_vals (points, other->data, other->len);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  const NdtPose truth = make_pose (25, 20, 1);
  g_autoptr (GArray) scan = make_scan (&truth);
  NdtOverviewPlace one[24], more[24];
  guint n, m;
  memset (one, 0, sizeof one);
  search_with (1, overview, scan, G_N_ELEMENTS (one), one, &n);
  g_assert_cmpuint (n, >, 1);
  for (guint n_threads = 2; n_threads <= 8; n_threads += 3) {
    memset (more, 0, sizeof more);
    search_with (n_threads, overview, scan, G_N_ELEMENTS (more), more, &m);
    g_assert_cmpuint (n, ==, m);
    g_assert_cmpmem (one, sizeof one, more, sizeof more);
  }
}

/* The place is the first, within what an alignment reaches, wherever it is and however turned. */
static void
test_places (void)
{
  static const double poses[][3] = {
      {8, 8, 0}, {25, 20, 1}, {50, 10, 2.5}, {40, 33, -2}, {10, 33, 3}};
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (poses); i++) {
    const NdtPose truth = make_pose (poses[i][0], poses[i][1], poses[i][2]);
    g_autoptr (GArray) scan = make_scan (&truth);
    NdtOverviewPlace places[8], again[8];
    guint n, m;
    double metres, radians;
    memset (places, 0, sizeof places);
    memset (again, 0, sizeof again);
    search (overview, scan, G_N_ELEMENTS (places), places, &n);
    search (overview, scan, G_N_ELEMENTS (places), again, &m);
    g_assert_cmpuint (n, >=, 1);
    g_assert_cmpuint (n, ==, m);
    g_assert_cmpmem (places, sizeof places, again, sizeof again);
    ndt_pose_difference (&places[0].pose, &truth, &metres, &radians);
    g_assert_cmpfloat (metres, <, 1.5);
    g_assert_cmpfloat (radians, <, 0.15);
    for (guint k = 1; k < n; k++)
      g_assert_cmpfloat (places[k].share, <=, places[k - 1].share);
  }
}

/* Of several storeys each is a height that it may be at. */
static void
test_storeys (void)
{
  g_autoptr (GArray) points = make_points (3, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  const NdtPose truth = make_pose (25, 20, 1);
  g_autoptr (GArray) scan = make_scan (&truth);
  NdtOverviewPlace place;
  guint n, found = 0;
  search (overview, scan, 1, &place, &n);
  g_assert_cmpuint (n, ==, 1);
  for (guint k = 0; k < place.n_heights; k++)
    for (guint s = 0; s < 3; s++)
      if (fabs (place.heights[k] - (1.8 + 6 * s)) < 0.3)
        found |= 1u << s;
  g_assert_cmphex (found, ==, 7);
}

/* A scan of what lies a kilometre above the sensor is not taken from a kilometre below the map. */
static void
test_height (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  const NdtPose truth = make_pose (25, 20, 1);
  g_autoptr (GArray) scan = make_scan (&truth);
  NdtOverviewPlace place;
  guint n;
  for (guint i = 0; i < scan->len; i++)
    ((float *)(gpointer)scan->data)[3 * i + 2] += 1000;
  search (overview, scan, 1, &place, &n);
  for (guint k = 0; k < n * place.n_heights; k++)
    g_assert_cmpfloat (fabs (place.heights[k]), <, 20);
}

/* Nothing that stands upright, no points, and nothing like it on the map. */
static void
test_none (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
  g_autoptr (GArray) floor = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autoptr (GArray) empty = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  NdtOverviewPlace places[4];
  guint n;
  for (guint i = 0; i < 3000; i++) {
    const float p[3] = {(float)g_rand_double_range (rand, -20, 20),
        (float)g_rand_double_range (rand, -20, 20), (float)(0.02 * g_rand_double (rand))};
    g_array_append_vals (floor, p, 1);
  }
  search (overview, floor, G_N_ELEMENTS (places), places, &n);
  g_assert_cmpuint (n, ==, 0);
  search (overview, empty, G_N_ELEMENTS (places), places, &n);
  g_assert_cmpuint (n, ==, 0);
}

static void
register_anywhere (
    NdtVoxelMap *map, const GArray *scan, const NdtRegistrationParams *params, NdtRegistration *out)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const NdtCloudView view =
      ndt_cloud_view_xyz_f32 ((const float *)(gconstpointer)scan->data, scan->len);
  GError *error = NULL;
  config.n_threads = 1;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_false (ndt_register_anywhere (backend, 0, params, out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
  g_clear_error (&error);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, NULL));
  g_assert_true (ndt_register_anywhere (backend, 0, params, out, &error));
  g_assert_no_error (error);
}

/* A sensor that lies on its side on a body that stands upright. */
static void
test_register (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  const NdtPose body = make_pose (40, 33, -2);
  NdtRegistrationParams params;
  NdtRegistration out;
  double metres, radians;
  const double at[3] = {1, 0.5, 0.3};
  ndt_registration_params_init (&params);
  params.has_mount = TRUE;
  ndt_pose_from_rpy (at, G_PI / 2, 0, 0.3, &params.mount);
  NdtPose truth;
  ndt_pose_compose (&body, &params.mount, &truth);
  g_autoptr (GArray) scan = make_scan (&truth);
  register_anywhere (map, scan, &params, &out);
  ndt_pose_difference (&out.pose, &truth, &metres, &radians);
  /* 2 cm of noise, walls each metre. */
  g_assert_cmpfloat (metres, <, 0.05);
  g_assert_cmpfloat (radians, <, 0.01);
  g_assert_false (out.is_ambiguous);
  g_assert_cmpfloat (out.runner_up, <, NDT_AMBIGUOUS);
}

/* Two yards of the same: nobody knows which. */
static void
test_ambiguous (void)
{
  g_autoptr (GArray) points = make_points (1, 0);
  g_autoptr (GArray) other = make_points (1, 100);
  g_array_append_vals (points, other->data, other->len);
  g_autoptr (NdtVoxelMap) map = make_map (points);
  const NdtPose truth = make_pose (25, 20, 1);
  g_autoptr (GArray) scan = make_scan (&truth);
  NdtRegistrationParams params;
  NdtRegistration out;
  ndt_registration_params_init (&params);
  register_anywhere (map, scan, &params, &out);
  g_assert_true (out.is_ambiguous);
  g_assert_cmpfloat (out.runner_up, >, 0.95);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/whole-map/levels", test_levels);
  g_test_add_func ("/whole-map/once", test_once);
  g_test_add_func ("/whole-map/counts", test_counts);
  g_test_add_func ("/whole-map/threads", test_threads);
  g_test_add_func ("/whole-map/places", test_places);
  g_test_add_func ("/whole-map/storeys", test_storeys);
  g_test_add_func ("/whole-map/height", test_height);
  g_test_add_func ("/whole-map/none", test_none);
  g_test_add_func ("/whole-map/register", test_register);
  g_test_add_func ("/whole-map/ambiguous", test_ambiguous);
  return g_test_run ();
}
