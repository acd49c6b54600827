/* SPDX-License-Identifier: MIT */
/* What PCL, ndt_omp and Autoware compute on the same scenes, each in its own mode (covariance,
 * neighbours, constants): voxels, pairs, score, derivatives, and where alignments end. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/map/ndt-reference.h"
#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-test.h"

typedef struct {
  const gchar *method; /* in reference.json */
  NdtCovarianceEstimate covariance;
  NdtNeighbours neighbours;
  /* Of score and derivatives: 1e-6, and 1e-5 for ndt_omp, which sums each pair in float. */
  double tolerance;
  gboolean wrong_pitch; /* Hessian (4, 4) has the wrong sign of a term */
} Mode;

static const Mode modes[] = {
    {"pcl_eps0.01", NDT_COVARIANCE_UNBIASED, NDT_NEIGHBOURS_RADIUS, 1e-6, FALSE},
    {"pcl_eps0.0001", NDT_COVARIANCE_UNBIASED, NDT_NEIGHBOURS_RADIUS, 1e-6, FALSE},
    {"omp_kd", NDT_COVARIANCE_NDT_OMP, NDT_NEIGHBOURS_RADIUS, 1e-5, TRUE},
    {"omp_d7", NDT_COVARIANCE_NDT_OMP, NDT_NEIGHBOURS_DIRECT7, 1e-5, TRUE},
    {"omp_d1", NDT_COVARIANCE_NDT_OMP, NDT_NEIGHBOURS_DIRECT1, 1e-5, TRUE},
    {"aw", NDT_COVARIANCE_AUTOWARE, NDT_NEIGHBOURS_RADIUS, 1e-6, FALSE},
};

typedef struct {
  const gchar *scene;
  const Mode *mode;
} Case;

static JsonObject *peers; /* reference.json, NULL without it */
static JsonParser *parser;

static float *
load_points (const gchar *scene, const gchar *name, gsize *n_points)
{
  g_autofree gchar *file = g_strdup_printf ("%s/%s.f32", scene, name);
  g_autofree gchar *path = ndt_test_reference (file);
  gchar *data;
  gsize size;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &data, &size, &error);
  g_assert_no_error (error);
  *n_points = size / 12;
  return (float *)(gpointer)data;
}

static JsonObject *
find_method (const Case *c)
{
  JsonObject *scenes = json_object_get_object_member (peers, "scenes");
  JsonObject *scene = json_object_get_object_member (scenes, c->scene);
  JsonObject *methods = json_object_get_object_member (scene, "methods");
  return json_object_get_object_member (methods, c->mode->method);
}

static void
get_doubles (JsonArray *array, double *out, guint n)
{
  g_assert_cmpuint (json_array_get_length (array), ==, n);
  for (guint i = 0; i < n; i++)
    out[i] = json_array_get_double_element (array, i);
}

static void
get_rows (JsonArray *rows, double *out, guint n)
{
  g_assert_cmpuint (json_array_get_length (rows), ==, n);
  for (guint i = 0; i < n; i++)
    get_doubles (json_array_get_array_element (rows, i), out + n * i, n);
}

static NdtVoxelMap *
load_map (const Case *c, JsonObject *method)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  gsize n;
  g_autofree float *target = load_points (c->scene, "target", &n);
  g_autoptr (GError) error = NULL;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (target, n);
  params.resolution = json_object_get_double_member (method, "res");
  params.covariance = c->mode->covariance;
  params.keep_details = TRUE;
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* The norm of a − b against that of b, but no less than @scale. */
static void
check_close_scaled (const gchar *what, const double *a, const double *b, guint n, double tolerance,
    double scale, gboolean skip_pitch)
{
  double norm = 0, difference = 0;
  for (guint i = 0; i < n; i++) {
    norm += b[i] * b[i];
    if (!(skip_pitch && n == 36 && i == 28))
      difference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  norm = MAX (sqrt (norm), scale);
  difference = sqrt (difference);
  if (!(difference <= tolerance * norm)) {
    g_test_message ("%s: off by %g of %g, allowed %g", what, difference, norm, tolerance);
    g_test_fail ();
  }
}

static void
check_close (const gchar *what, const double *a, const double *b, guint n, double tolerance,
    gboolean skip_pitch)
{
  check_close_scaled (what, a, b, n, tolerance, 0, skip_pitch);
}

/* The largest norm of a gradient over a method's poses. Near the optimum a gradient is a small
 * difference of sums that large, and rounding is relative to those. */
static double
gradient_scale (JsonArray *poses)
{
  double largest = 0;
  for (guint i = 0; i < json_array_get_length (poses); i++) {
    double g[6], square = 0;
    JsonObject *pose = json_array_get_object_element (poses, i);
    get_doubles (json_object_get_array_member (pose, "gradient"), g, 6);
    for (guint k = 0; k < 6; k++)
      square += g[k] * g[k];
    largest = MAX (largest, sqrt (square));
  }
  return largest;
}

/* Voxel counts exactly; means, covariances and inverses against the table of all voxels. */
static void
check_voxels (const Case *c, JsonObject *method, const NdtVoxelMap *map)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  g_assert_cmpint (level->n_voxels, ==, json_object_get_int_member (method, "n_valid_voxels"));

  g_autofree gchar *path =
      ndt_test_reference (json_object_get_string_member (method, "all_voxels_csv"));
  g_autofree gchar *text = NULL;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = 0;
  for (gchar **line = lines + 1; *line && **line; line++, n++) {
    g_auto (GStrv) cells = g_strsplit (*line, ",", -1);
    double v[19];
    g_assert_cmpuint (g_strv_length (cells), ==, G_N_ELEMENTS (v));
    for (guint i = 0; i < G_N_ELEMENTS (v); i++)
      v[i] = g_ascii_strtod (cells[i], NULL);
    const gint64 at = ndt_voxel_level_find (level, (gint32)((gint64)v[0] - level->origin[0]),
        (gint32)((gint64)v[1] - level->origin[1]), (gint32)((gint64)v[2] - level->origin[2]));
    g_assert_cmpint (at, >=, 0);
    const NdtVoxelDetail *detail = &level->details[at];
    g_assert_cmpuint (detail->n_points, ==, (guint)v[3]);
    /* Their sums of squares at map coordinates lose 1e-16 (30 m)² of a covariance of 0.01 m²,
     * and an inverse magnifies that by the condition, 100. */
    double mean[3];
    for (guint k = 0; k < 3; k++)
      mean[k] = v[k] * level->resolution + detail->mean[k];
    check_close ("mean", mean, v + 4, 3, 1e-12, FALSE);
    check_close ("covariance", detail->cov, v + 7, 6, 1e-9, FALSE);
    check_close ("inverse covariance", detail->icov, v + 13, 6, 1e-7, FALSE);
  }
  g_assert_cmpuint (n, ==, level->n_voxels);
}

static void
check_derivatives (const gchar *what, const NdtSums *sums, const double euler[6],
    JsonObject *expected, double tolerance, double scale, gboolean wrong_pitch)
{
  double gradient[6], hessian[36], their_gradient[6], their_hessian[36];
  const double score = json_object_get_double_member (expected, "score");
  get_doubles (json_object_get_array_member (expected, "gradient"), their_gradient, 6);
  get_rows (json_object_get_array_member (expected, "hessian"), their_hessian, 6);
  ndt_sums_to_xyz_euler (sums, euler[3], euler[4], euler[5], gradient, hessian);
  g_autofree gchar *s = g_strdup_printf ("%s score", what);
  g_autofree gchar *g = g_strdup_printf ("%s gradient", what);
  g_autofree gchar *h = g_strdup_printf ("%s Hessian", what);
  check_close (s, &sums->score, &score, 1, tolerance, FALSE);
  check_close_scaled (g, gradient, their_gradient, 6, tolerance, scale, FALSE);
  check_close (h, hessian, their_hessian, 36, tolerance, wrong_pitch);
}

static void
check_poses (const Case *c, JsonObject *method, NdtVoxelMap *map)
{
  const Mode *mode = c->mode;
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtRegistrationParams params;
  gsize n;
  g_autoptr (GError) error = NULL;
  g_autofree float *source = load_points (c->scene, "source", &n);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (source, n);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  ndt_registration_params_init (&params);
  params.align.neighbours = mode->neighbours;
  params.align.translation_epsilon = params.align.rotation_epsilon = 1e-5;
  params.align.max_iterations = 100;
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &filter, NULL));

  JsonArray *poses = json_object_get_array_member (method, "poses");
  const double scale = gradient_scale (poses);
  for (guint i = 0; i < json_array_get_length (poses); i++) {
    JsonObject *expected = json_array_get_object_element (poses, i);
    const gchar *name = json_object_get_string_member (expected, "name");
    double euler[6];
    NdtPose pose;
    NdtSums sums;
    get_doubles (json_object_get_array_member (expected, "p_xyzrpy"), euler, 6);
    ndt_pose_from_xyz_euler (euler, euler[3], euler[4], euler[5], &pose);

    /* From the points as that program transformed them. */
    g_autofree gchar *trans = g_strdup_printf ("trans_%s", name);
    gsize n_transformed;
    g_autofree float *transformed = load_points (c->scene, trans, &n_transformed);
    g_autofree double *xyz = g_new (double, 3 * n), *arms = g_new (double, 3 * n);
    g_assert_cmpuint (n_transformed, ==, n);
    for (gsize k = 0; k < 3 * n; k++) {
      xyz[k] = (double)transformed[k];
      arms[k] = (double)source[k];
    }
    for (gsize k = 0; k < n; k++)
      ndt_quat_rotate (pose.orientation, arms + 3 * k, arms + 3 * k);
    g_autoptr (GArray) pairs = ndt_reference_pairs (map, transformed, n, mode->neighbours);
    g_test_message ("%s %s %s: %u pairs", c->scene, mode->method, name, pairs->len);
    if (json_object_has_member (expected, "pairs"))
      g_assert_cmpint (pairs->len, ==, json_object_get_int_member (expected, "pairs"));
    ndt_reference_sums (map, pairs, xyz, arms, 0.55, &sums);
    if (json_object_has_member (expected, "points_with_voxel"))
      g_assert_cmpint (
          (gint64)sums.n_matched, ==, json_object_get_int_member (expected, "points_with_voxel"));
    check_derivatives (
        "their points:", &sums, euler, expected, mode->tolerance, 0, mode->wrong_pitch);
    if (json_object_has_member (expected, "nvtl")) {
      const double nvtl = sums.nvtl / (double)sums.n_matched;
      const double their_nvtl = json_object_get_double_member (expected, "nvtl");
      check_close ("NVTL", &nvtl, &their_nvtl, 1, mode->tolerance, FALSE);
    }

    /* From points that the backend transforms, in float relative to its anchor: 3e-5 of the norm.
     * Where their own float transform moves the gradient by more than that (a rotation in float
     * turns a point at 60 m by 4 µm, which sharp voxels feel at the optimum), no farther from the
     * exact value than theirs, half as much again. */
    NdtSums exact;
    double exact_gradient[6], their_gradient[6], theirs_off = 0;
    for (gsize k = 0; k < 3 * n; k++)
      xyz[k] = arms[k] + pose.position[k % 3];
    ndt_reference_sums (map, pairs, xyz, arms, 0.55, &exact);
    ndt_sums_to_xyz_euler (&exact, euler[3], euler[4], euler[5], exact_gradient, NULL);
    get_doubles (json_object_get_array_member (expected, "gradient"), their_gradient, 6);
    for (guint k = 0; k < 6; k++)
      theirs_off += pow (their_gradient[k] - exact_gradient[k], 2);
    theirs_off = sqrt (theirs_off);
    g_assert_true (
        ndt_backend_evaluate (backend, 0, &params.align, 0, NDT_KIND_SCORE, &pose, 1, &sums, NULL));
    check_derivatives ("our points:", &sums, euler, expected, 3e-5,
        MAX (scale, 1.5 * theirs_off / 3e-5), mode->wrong_pitch);

    /* From here their alignment went somewhere: ours has to reach at least that score. */
    JsonObject *aligned = json_object_get_object_member (expected, "align_from_here");
    double matrix[16], metres;
    NdtPose theirs;
    NdtRegistration ours;
    get_rows (json_object_get_array_member (aligned, "T"), matrix, 4);
    g_assert_true (ndt_pose_from_matrix4 (matrix, &theirs));
    g_assert_true (ndt_backend_evaluate (
        backend, 0, &params.align, 0, NDT_KIND_SCORE, &theirs, 1, &sums, NULL));
    g_assert_true (ndt_register (backend, 0, &params, NDT_SEARCH_FAR, &pose, 1, &ours, &error));
    g_assert_no_error (error);
    ndt_pose_difference (&ours.pose, &theirs, &metres, NULL);
    const double off = json_object_get_double_member (aligned, "err_t_vs_truth");
    g_test_message ("  aligned: score %.3f, theirs %.3f (%.3f m from the truth); %.4f m apart",
        ours.score, sums.score, off, metres);
    /* The score is not continuous: a pair that enters or leaves at the radius changes it by 0.15 of
     * a term, and some hundred do within a centimetre, so that maxima of different heights lie
     * millimetres apart. From 103 of the 108 starts ours is at least theirs, from five it is short
     * by up to 2.4e-4; searching on a few millimetres around finds higher maxima a centimetre away.
     */
    if (ours.score < sums.score * (1 - 2.5e-4)) {
      g_test_message ("  a lower score");
      g_test_fail ();
    }
    /* Near the truth is within 3 cm. Where PCL starts at the truth it stops after its first step, a
     * centimetre before the maximum of its own score: results whose score is short of ours by more
     * than a thousandth did not get anywhere yet. */
    const double limit = mode->neighbours == NDT_NEIGHBOURS_DIRECT1 ? 0.03 : 0.01;
    if (off <= 0.03 && sums.score > 0.999 * ours.score && !(metres <= limit)) {
      g_test_message ("  too far from a result near the truth");
      g_test_fail ();
    }
  }
}

/* The first file of a case that is not there; NULL: all are. */
static gchar *
find_missing (const Case *c, JsonObject *method)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  JsonArray *poses = json_object_get_array_member (method, "poses");
  g_ptr_array_add (names, g_strdup_printf ("%s/target.f32", c->scene));
  g_ptr_array_add (names, g_strdup_printf ("%s/source.f32", c->scene));
  g_ptr_array_add (names, g_strdup (json_object_get_string_member (method, "all_voxels_csv")));
  for (guint i = 0; i < json_array_get_length (poses); i++) {
    JsonObject *pose = json_array_get_object_element (poses, i);
    g_ptr_array_add (names, g_strdup_printf ("%s/trans_%s.f32", c->scene,
                                json_object_get_string_member (pose, "name")));
  }
  for (guint i = 0; i < names->len; i++) {
    g_autofree gchar *path = ndt_test_reference (g_ptr_array_index (names, i));
    if (!path)
      return g_steal_pointer (&g_ptr_array_index (names, i));
  }
  return NULL;
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  if (!peers) {
    g_test_skip ("reference.json of NDT_TEST_REFERENCE is missing");
    return;
  }
  JsonObject *method = find_method (c);
  g_autofree gchar *missing = find_missing (c, method);
  if (missing) {
    g_autofree gchar *reason = g_strdup_printf ("%s of NDT_TEST_REFERENCE is missing", missing);
    g_test_skip (reason);
    return;
  }
  g_autoptr (NdtVoxelMap) map = load_map (c, method);
  check_voxels (c, method, map);
  check_poses (c, method, map);
}

int
main (int argc, char **argv)
{
  static const gchar *const scenes[] = {"lab_vg01_r1", "lab_vg01_r2", "city_n1000_r2"};
  static Case cases[G_N_ELEMENTS (scenes) * G_N_ELEMENTS (modes)];
  g_test_init (&argc, &argv, NULL);
  g_autofree gchar *path = ndt_test_reference ("reference.json");
  if (path) {
    g_autoptr (GError) error = NULL;
    parser = json_parser_new_immutable ();
    json_parser_load_from_file (parser, path, &error);
    g_assert_no_error (error);
    peers = json_node_get_object (json_parser_get_root (parser));
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    cases[i].scene = scenes[i / G_N_ELEMENTS (modes)];
    cases[i].mode = &modes[i % G_N_ELEMENTS (modes)];
    g_autofree gchar *name =
        g_strdup_printf ("/peers/%s/%s", cases[i].scene, cases[i].mode->method);
    g_test_add_data_func (name, &cases[i], test_case);
  }
  const int result = g_test_run ();
  g_clear_object (&parser);
  return result;
}
