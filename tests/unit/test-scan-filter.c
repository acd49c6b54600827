/* SPDX-License-Identifier: MIT */
/* Thinning of scans, as ndt_backend_set_scan() does it. */
#include <math.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/scan/ndt-scan-filter.h"
#include "tests/ndt-scene.h"

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

static NdtBackend *
open_backend (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  GError *error = NULL;
  NdtBackend *backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  return backend;
}

/* The thinned scan in new memory. */
static float *
thin_view (const NdtCloudView *view, const NdtScanFilter *filter, guint *n)
{
  g_autoptr (NdtBackend) backend = open_backend ();
  GError *error = NULL;
  ndt_backend_set_scan (backend, 3, view, filter, &error);
  g_assert_no_error (error);
  float *out = g_new0 (float, 3 * view->n_points + 3);
  ndt_backend_get_scan (backend, 3, out, (guint)view->n_points, n, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (*n, <=, view->n_points);
  return out;
}

static float *
thin (const float *xyz, guint n_points, const NdtScanFilter *filter, guint *n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n_points);
  return thin_view (&view, filter, n);
}

/* Without a filter: finite points, in their order. */
static void
test_none (void)
{
  const float xyz[] = {1, 2, 3, NAN, 0, 0, 4, 5, 6, 0, INFINITY, 0, 0, 0, -INFINITY, 0, 0, 0, -1e5f,
      1e5f, 0, 100001, 0, 0, 1e30f, 0, 0, 7, 8, 9};
  const float expected[] = {1, 2, 3, 4, 5, 6, 0, 0, 0, -1e5f, 1e5f, 0, 7, 8, 9};
  guint n;
  g_autofree float *out = thin (xyz, 10, &no_filter, &n);
  g_assert_cmpuint (n, ==, 5);
  g_assert_true (memcmp (out, expected, sizeof expected) == 0);
}

/* Doubles that are too large for float, and an odd layout. */
static void
test_doubles (void)
{
  guint8 data[5 * 43];
  const double values[5][3] = {
      {1.1, -2.2, 3.3}, {1e300, 0, 0}, {0, -1e39, 0}, {0, 0, NAN}, {4, 5, 6}};
  const NdtCloudView view = ndt_cloud_view (data, 5, 43, 27, 1, 11, NDT_SCALAR_F64);
  for (guint i = 0; i < 5; i++) {
    memcpy (data + 43 * i + 27, &values[i][0], 8);
    memcpy (data + 43 * i + 1, &values[i][1], 8);
    memcpy (data + 43 * i + 11, &values[i][2], 8);
  }
  guint n;
  g_autofree float *out = thin_view (&view, &no_filter, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpfloat (out[0], ==, 1.1f);
  g_assert_cmpfloat (out[1], ==, -2.2f);
  g_assert_cmpfloat (out[2], ==, 3.3f);
  g_assert_cmpfloat (out[5], ==, 6);
}

static void
test_range (void)
{
  /* Exactly representable distances: the bounds belong to what is kept. */
  const float xyz[] = {3, 4, 0, 0, 0, 0, 0, 0, -4.99f, 6, 8, 0, 0, 10.01f, 0, 0, -5, 0};
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  guint n;
  filter.min_range = 5;
  filter.max_range = 10;
  g_autofree float *out = thin (xyz, 6, &filter, &n);
  const float expected[] = {3, 4, 0, 6, 8, 0, 0, -5, 0};
  g_assert_cmpuint (n, ==, 3);
  g_assert_true (memcmp (out, expected, sizeof expected) == 0);

  filter.min_range = 0;
  filter.max_range = INFINITY;
  g_autofree float *all = thin (xyz, 6, &filter, &n);
  g_assert_cmpuint (n, ==, 6);
}

static void
test_box (void)
{
  const float xyz[] = {0, 0, 0, 1, 1, 1, 1.001f, 0, 0, 0, -2.001f, 0, -1, -2, -3, 0, 0, 3.5f};
  NdtScanFilter filter = {0, 0, TRUE, {-1, -2, -3}, {1, 1, 3}, 0};
  guint n;
  g_autofree float *out = thin (xyz, 6, &filter, &n);
  const float expected[] = {0, 0, 0, 1, 1, 1, -1, -2, -3};
  g_assert_cmpuint (n, ==, 3);
  g_assert_true (memcmp (out, expected, sizeof expected) == 0);
  filter.use_box = FALSE;
  g_autofree float *all = thin (xyz, 6, &filter, &n);
  g_assert_cmpuint (n, ==, 6);
}

typedef struct {
  gint64 cell[3];
  double sum[3];
  guint n;
} Leaf;

/* Centroids of leaves by brute force in double, ordered by each leaf's first point. */
static void
check_leaves (const float *xyz, guint n_points, float leaf_size)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_autoptr (GArray) leaves = g_array_new (FALSE, TRUE, sizeof (Leaf));
  g_autofree gint *clean = g_new (gint, n_points);
  double largest = 0;
  for (guint i = 0; i < n_points; i++) {
    gint64 cell[3];
    guint j;
    for (guint k = 0; k < 3; k++) {
      cell[k] = (gint64)floor ((double)xyz[3 * i + k] / (double)leaf_size);
      largest = MAX (largest, fabs ((double)xyz[3 * i + k]));
    }
    for (j = 0; j < leaves->len; j++)
      if (memcmp (g_array_index (leaves, Leaf, j).cell, cell, sizeof cell) == 0)
        break;
    if (j == leaves->len) {
      g_array_set_size (leaves, j + 1);
      memcpy (g_array_index (leaves, Leaf, j).cell, cell, sizeof cell);
    }
    Leaf *leaf = &g_array_index (leaves, Leaf, j);
    leaf->n++;
    for (guint k = 0; k < 3; k++)
      leaf->sum[k] += (double)xyz[3 * i + k];
  }
  guint n;
  filter.leaf_size = leaf_size;
  g_autofree float *out = thin (xyz, n_points, &filter, &n);
  g_assert_cmpuint (n, ==, leaves->len);
  /* A step of the sums, and float's rounding of the coordinate: one unit in its last place in the
   * offset and one in the result. */
  const double bound = (double)leaf_size / 1048576 + 2 * 1.2e-7 * (largest + (double)leaf_size);
  for (guint j = 0; j < n; j++)
    for (guint k = 0; k < 3; k++) {
      const Leaf *leaf = &g_array_index (leaves, Leaf, j);
      g_assert_cmpfloat_with_epsilon (out[3 * j + k], leaf->sum[k] / leaf->n, bound);
    }
}

static void
test_leaves (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  static const float sizes[] = {0.1f, 0.25f, 1, 3.3f};
  for (guint run = 0; run < 16; run++) {
    const guint n = 2000;
    const float leaf = sizes[run % 4];
    const double range = run < 8 ? 5 * leaf : 30 * leaf;
    g_autofree float *xyz = g_new (float, 3 * n);
    for (guint i = 0; i < 3 * n; i++) {
      /* Not within a thousandth of a border, where floor in float may differ from double's. */
      const double cell = floor (g_rand_double_range (rand, -range, range) / (double)leaf);
      xyz[i] = (float)((cell + g_rand_double_range (rand, 0.001, 0.999)) * (double)leaf);
    }
    check_leaves (xyz, n, leaf);
  }
}

/* On a border, just below zero, and the same point many times. */
static void
test_leaf_borders (void)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  guint n;
  filter.leaf_size = 0.5f;
  const float xyz[] = {-0.1f, 0, 0, 0.1f, 0, 0, 0.5f, 0, 0, 0.4f, 0, 0};
  const float expected[] = {-0.1f, 0, 0, 0.25f, 0, 0, 0.5f, 0, 0};
  g_autofree float *out = thin (xyz, 4, &filter, &n);
  g_assert_cmpuint (n, ==, 3);
  for (guint i = 0; i < 9; i++)
    g_assert_cmpfloat_with_epsilon (out[i], expected[i], 1e-6);

  const guint many = 300000;
  g_autofree float *same = g_new (float, 3 * many);
  for (guint i = 0; i < 3 * many; i++)
    same[i] = i % 3 == 0 ? 0.3f : i % 3 == 1 ? -77.7f : 12.34f;
  g_autofree float *one = thin (same, many, &filter, &n);
  g_assert_cmpuint (n, ==, 1);
  /* A step of 0.5 m / 2^20, and float at 77 m. */
  for (guint i = 0; i < 3; i++)
    g_assert_cmpfloat_with_epsilon (one[i], same[i], 8e-6);
}

/* Far away with small leaves: what has no index is dropped, and nothing wraps. */
static void
test_leaf_far (void)
{
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  const float xyz[] = {
      1e5f, -1e5f, 1e5f, 1000, 1000, 1000, -1000, 1000, 1000, 1049, 0, 0, 0, -1049, 0};
  guint n;
  filter.leaf_size = 0.001f;
  g_autofree float *out = thin (xyz, 5, &filter, &n);
  g_assert_cmpuint (n, ==, 2);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat_with_epsilon (out[i], xyz[3 + i], 0.001);
  filter.leaf_size = 1000;
  g_autofree float *coarse = thin (xyz, 5, &filter, &n);
  /* (100, −100, 100), (1, 1, 1), (−1, 1, 1), (1, 0, 0), (0, −2, 0) */
  g_assert_cmpuint (n, ==, 5);
  for (guint i = 0; i < 15; i++)
    g_assert_cmpfloat_with_epsilon (coarse[i], xyz[i], 0.02);
}

/* Filter first, centroids then; slots hold what was put there; scans shrink and grow. */
static void
test_slots (void)
{
  g_autoptr (NdtBackend) backend = open_backend ();
  const NdtPose origin = {{0, 0, 1.5}, {0, 0, 0, 1}};
  float out[3 * 5000];
  guint sizes[NDT_MAX_SCANS], n;
  for (guint round = 0; round < 3; round++)
    for (guint slot = 0; slot < NDT_MAX_SCANS; slot++) {
      const guint n_points = (slot * 37 + round * 1111) % 4000;
      g_autofree float *xyz =
          ndt_test_scene_scan (NDT_TEST_YARD, &origin, n_points + 1, slot + 100 * round);
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n_points);
      NdtScanFilter filter = {3, 15, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
      g_assert_true (ndt_backend_set_scan (backend, slot, &view, &filter, NULL));
      g_assert_true (ndt_backend_get_scan (backend, slot, out, 5000, &sizes[slot], NULL));
      for (guint i = 0; i < sizes[slot]; i++)
        g_assert_cmpfloat (hypotf (out[3 * i], out[3 * i + 1]), <=, 15.001);
    }
  for (guint slot = 0; slot < NDT_MAX_SCANS; slot++) {
    g_assert_true (ndt_backend_get_scan (backend, slot, out, 5000, &n, NULL));
    g_assert_cmpuint (n, ==, sizes[slot]);
  }
  /* Fewer than there are: as many as fit, and how many there were. */
  out[3] = 1234;
  g_assert_true (ndt_backend_get_scan (backend, 5, out, 1, &n, NULL));
  g_assert_cmpuint (n, ==, sizes[5]);
  g_assert_cmpfloat (out[3], ==, 1234);
  g_assert_true (ndt_backend_get_scan (backend, 5, NULL, 0, &n, NULL));
  g_assert_cmpuint (n, ==, sizes[5]);

  const NdtCloudView nothing = ndt_cloud_view_xyz_f32 (NULL, 0);
  NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  g_assert_true (ndt_backend_set_scan (backend, 5, &nothing, &filter, NULL));
  g_assert_true (ndt_backend_get_scan (backend, 5, out, 5000, &n, NULL));
  g_assert_cmpuint (n, ==, 0);
  filter.leaf_size = 1;
  g_assert_true (ndt_backend_set_scan (backend, 63, &nothing, &filter, NULL));
  g_assert_true (ndt_backend_get_scan (backend, 63, out, 5000, &n, NULL));
  g_assert_cmpuint (n, ==, 0);
}

/* ---- The same bits in each way ---- */

typedef struct {
  guint64 key;
  gint32 index[3];
  gint64 sum[3];
  guint32 n;
} PlainLeaf;

/* By the rules of ndt-scan-filter.h, point after point. The number of leaves. */
static guint
thin_plainly (const NdtCloudView *view, const NdtScanFilter *filter, float *out)
{
  g_autoptr (GHashTable) numbers =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray) leaves = g_array_new (FALSE, TRUE, sizeof (PlainLeaf));
  const float leaf_size = filter->leaf_size, inverse = 1.0f / leaf_size;
  for (gsize i = 0; i < view->n_points; i++) {
    double d[3];
    gint32 index[3];
    ndt_cloud_view_get (view, i, d);
    const float p[3] = {(float)d[0], (float)d[1], (float)d[2]};
    if (!ndt_scan_keep (p[0], p[1], p[2], filter->min_range, filter->max_range, filter->use_box,
            filter->box_min, filter->box_max))
      continue;
    for (guint k = 0; k < 3; k++)
      index[k] = ndt_leaf_index (p[k], inverse);
    if (!ndt_leaf_in_range (index[0]) || !ndt_leaf_in_range (index[1]) ||
        !ndt_leaf_in_range (index[2]))
      continue;
    const guint64 key = ndt_block_key (index[0], index[1], index[2]);
    gpointer number;
    if (!g_hash_table_lookup_extended (numbers, &key, NULL, &number)) {
      PlainLeaf leaf = {.key = key, .index = {index[0], index[1], index[2]}};
      number = GUINT_TO_POINTER (leaves->len);
      g_hash_table_insert (numbers, g_memdup2 (&key, sizeof key), number);
      g_array_append_val (leaves, leaf);
    }
    PlainLeaf *leaf = &g_array_index (leaves, PlainLeaf, GPOINTER_TO_UINT (number));
    for (guint k = 0; k < 3; k++)
      leaf->sum[k] += ndt_leaf_offset (p[k], index[k], leaf_size, inverse);
    leaf->n++;
  }
  for (guint i = 0; i < leaves->len; i++) {
    const PlainLeaf *leaf = &g_array_index (leaves, PlainLeaf, i);
    for (guint k = 0; k < 3; k++)
      out[3 * i + k] = ndt_leaf_centroid (leaf->sum[k], leaf->n, leaf->index[k], leaf_size);
  }
  return leaves->len;
}

/* Records of @stride bytes; coordinates from @at on, and others between them where they are not
 * side by side. A quarter lies near the point before, as a sensor's points do. */
static guint8 *
make_records (guint n, gsize stride, gsize at, gsize step, double range, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  /* No byte more than there is: reading beyond the last point is found by a sanitizer. */
  guint8 *records = g_malloc0 (n * stride);
  float p[3] = {0};
  for (guint i = 0; i < n; i++) {
    const gboolean near = g_rand_int_range (rand, 0, 4) > 0;
    for (guint k = 0; k < 3; k++)
      p[k] = near && isfinite (p[k]) ? p[k] + (float)g_rand_double_range (rand, -0.05, 0.05)
                                     : (float)g_rand_double_range (rand, -range, range);
    if (i % 97 == 5)
      p[i % 3] = i % 2 ? NAN : -INFINITY;
    if (i % 101 == 7)
      p[i % 3] = 1e9f;
    for (guint k = 0; k < 3; k++)
      memcpy (records + i * stride + at + k * step, &p[k], sizeof (float));
  }
  return records;
}

static void
test_bits (void)
{
  static const gchar *kernels[] = {"generic", "avx2", "avx512"};
  static const struct {
    guint n;
    gsize stride, at, step;
    double range;
    NdtScanFilter filter;
  } cases[] = {
      {70003, 16, 0, 4, 80, {0, 0, FALSE, {0}, {0}, 0.5f}},
      {70003, 12, 0, 4, 80, {2, 60, FALSE, {0}, {0}, 1}},
      {40000, 37, 5, 9, 40, {0, 30, TRUE, {-20, -30, -5}, {30, 20, 25}, 0.3f}},
      {257, 12, 0, 4, 5, {0, 0, FALSE, {0}, {0}, 3.3f}},
      {1, 12, 0, 4, 5, {0, 0, FALSE, {0}, {0}, 1}},
      /* Offsets beyond a leaf, of points with large indices. */
      {9001, 16, 0, 4, 1040, {0, 0, FALSE, {0}, {0}, 0.001f}},
      {30001, 16, 0, 4, 99000, {0, 0, FALSE, {0}, {0}, 0.1f}},
  };
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    const guint n = cases[c].n;
    g_autofree guint8 *records =
        make_records (n, cases[c].stride, cases[c].at, cases[c].step, cases[c].range, c);
    const gsize at = cases[c].at, step = cases[c].step;
    const NdtCloudView view =
        ndt_cloud_view (records, n, cases[c].stride, at, at + step, at + 2 * step, NDT_SCALAR_F32);
    g_autofree float *expected = g_new (float, 3 * n), *out = g_new (float, 3 * n);
    const guint n_expected = thin_plainly (&view, &cases[c].filter, expected);
    g_assert_cmpuint (n_expected, >, 0);
    for (guint k = 0; k < G_N_ELEMENTS (kernels); k++)
      for (guint n_threads = 1; n_threads <= 7; n_threads += 3) {
        const NdtBackendConfig config = {.device_id = -1, .n_threads = n_threads};
        guint n_out;
        g_setenv ("NDT_KERNEL", kernels[k], TRUE);
        g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
        g_unsetenv ("NDT_KERNEL");
        for (guint turn = 0; turn < 2; turn++) {
          g_assert_true (ndt_backend_set_scan (backend, turn, &view, &cases[c].filter, NULL));
          g_assert_true (ndt_backend_get_scan (backend, turn, out, n, &n_out, NULL));
          g_assert_cmpuint (n_out, ==, n_expected);
          g_assert_cmpmem (out, 3 * n_out * sizeof *out, expected, 3 * n_expected * sizeof *out);
        }
      }
  }
}

static void
test_refused (void)
{
  g_autoptr (NdtBackend) backend = open_backend ();
  const float xyz[3] = {1, 2, 3};
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, 1);
  static const float bad[] = {-1, NAN, -INFINITY};
  float out[3];
  guint n;
  for (guint i = 0; i < 3 * G_N_ELEMENTS (bad) + 3; i++) {
    NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
    g_autoptr (GError) error = NULL;
    if (i < 3)
      filter.min_range = bad[i];
    else if (i < 6)
      filter.max_range = bad[i - 3];
    else
      filter.leaf_size = i < 9 ? bad[i - 6] : i == 9 ? 0.0009f : i == 10 ? 1001 : INFINITY;
    g_assert_false (ndt_backend_set_scan (backend, 0, &view, &filter, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  /* Ranges that leave nothing. */
  for (guint i = 0; i < 2; i++) {
    NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
    g_autoptr (GError) error = NULL;
    filter.min_range = i ? 10 : 50;
    filter.max_range = 10;
    g_assert_false (ndt_backend_set_scan (backend, 0, &view, &filter, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_assert_nonnull (strstr (error->message, "max-range"));
  }
  g_autoptr (GError) error = NULL, other = NULL;
  g_assert_false (ndt_backend_set_scan (backend, NDT_N_SLOTS, &view, &no_filter, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_assert_false (ndt_backend_get_scan (backend, NDT_N_SLOTS, out, 1, &n, &other));
  g_assert_error (other, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan-filter/none", test_none);
  g_test_add_func ("/scan-filter/doubles", test_doubles);
  g_test_add_func ("/scan-filter/range", test_range);
  g_test_add_func ("/scan-filter/box", test_box);
  g_test_add_func ("/scan-filter/leaves", test_leaves);
  g_test_add_func ("/scan-filter/leaf-borders", test_leaf_borders);
  g_test_add_func ("/scan-filter/leaf-far", test_leaf_far);
  g_test_add_func ("/scan-filter/slots", test_slots);
  g_test_add_func ("/scan-filter/bits", test_bits);
  g_test_add_func ("/scan-filter/refused", test_refused);
  return g_test_run ();
}
