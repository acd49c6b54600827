/* SPDX-License-Identifier: MIT */
/* Maps of simulated drives: poses, closures and points against the truth. NDT_TEST_MAPPING=all runs
 * three rounds of a town as well. --row NAME runs one and prints its closures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mapping-drive.h"
#include "ndtcore/mapping/ndt-map-clean.h"
#include "ndtcore/mapping/ndt-map-maker-private.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/registration/ndt-registration.h"
#include "ndtcore/sim/world/ndt-sim-map.h"

/* @mean, @worst: metres that poses may be off, the first one aligned. @closes: closures at least.
 * @ghosts: of points, the share that lies on nothing that stands, at most. */
typedef struct {
  const gchar *name;
  MappingSim sim;
  guint closes;
  double mean;
  double worst;
  double ghosts;
  gboolean is_long;
  double drift; /* of the maker; 0: the default */
  /* The same drive with odometry that is made worse: 0.4 % aside, 0.5 % up and 0.011 degrees a
   * metre, which is 10 to 30 m over a round. Metres that poses may then be off in the mean; 0: not
   * tried; INFINITY: only false closures are counted. */
  double worse;
} Row;

static const Row rows[] = {
    /* A round of 0.9 km that ends where it began, with traffic. */
    {"round", {"town", 3, 1, 1100, 32, 512, 20, FALSE, 12}, 4, 0.1, 0.3, 0.01, FALSE, 0, 2},
    /* Aisles that look alike. */
    {"hall", {"hall", 3, 1, 960, 32, 512, 7, FALSE, 0}, 1, 0.1, 0.3, 0.01, FALSE},
    /* A town whose blocks are equal: another place looks like this one every 72 m. */
    {"blocks", {"blocks", 3, 1, 1150, 32, 512, 20, FALSE, 6}, 1, 0.1, 0.3, 0.01, TRUE},
    /* … and odometry is taken to be off by more than that. */
    {"blocks-far", {"blocks", 3, 1, 1200, 32, 512, 20, FALSE, 0}, 1, 0.1, 0.3, 0.01, FALSE, 0.1,
        INFINITY},
    {"three-rounds", {"town", 0, 5, 3600, 32, 1024, 10, FALSE, 8}, 50, 0.1, 0.3, 0.01, TRUE, 0, 2},
};

static gint64
cell_of (const double p[3])
{
  gint64 key = 0;
  for (guint k = 0; k < 3; k++)
    key = (key << 21) ^ ((gint64)floor (p[k] / 0.5) & 0x1fffff);
  return key;
}

/* Cells of 0.5 m that have something static in them. */
static GHashTable *
make_static (const Row *row)
{
  GHashTable *cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  NdtSimWorldKind kind;
  g_assert_true (ndt_sim_world_kind_from_name (row->sim.world, &kind));
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, row->sim.seed);
  g_autoptr (GArray) sample = ndt_sim_map_sample (world, 0.25, 0, 0);
  const double *xyz = (const double *)(gpointer)sample->data;
  gint64 last = 0;
  for (guint i = 0; i < sample->len; i++) {
    const gint64 key = cell_of (xyz + 3 * i);
    if (i == 0 || key != last)
      g_hash_table_add (cells, g_memdup2 (&key, sizeof key));
    last = key;
  }
  return cells;
}

/* Is there something static in a point's cell, or in one beside it? */
static gboolean
is_static (GHashTable *cells, const double p[3])
{
  for (gint j = 0; j < 27; j++) {
    const double q[3] = {
        p[0] + 0.5 * (j % 3 - 1), p[1] + 0.5 * (j / 3 % 3 - 1), p[2] + 0.5 * (j / 9 - 1)};
    const gint64 key = cell_of (q);
    if (g_hash_table_contains (cells, &key))
      return TRUE;
  }
  return FALSE;
}

/* The share of the map's points that lie on nothing, with what moved and without. */
static void
count_ghosts (const Row *row, const NdtMapMaker *maker, const NdtPose *first, double share[2])
{
  const GArray *keys = ndt_map_maker_get_keys (maker);
  g_autoptr (GHashTable) cells = make_static (row);
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  for (guint i = 0; i < keys->len; i++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, i);
    for (guint k = 0; k < key->n_points; k += 20) {
      const float *f = key->points + 3 * k;
      double p[3] = {(double)f[0], (double)f[1], (double)f[2]};
      ndt_pose_transform_point (&key->sensor, p, p);
      g_array_append_vals (points, p, 1);
    }
  }
  const double *xyz = (const double *)(gpointer)points->data;
  g_autofree guint8 *moved = g_new0 (guint8, points->len);
  ndt_map_clean (xyz, points->len, keys, 40, moved);
  guint n_ghosts[2] = {0, 0}, n[2] = {0, 0}, n_lost = 0;
  for (guint i = 0; i < points->len; i++) {
    double p[3];
    ndt_pose_transform_point (first, xyz + 3 * i, p);
    const gboolean is_ghost = fabs (p[2]) > 0.5 && !is_static (cells, p);
    n[0]++;
    n_ghosts[0] += is_ghost;
    n[1] += !moved[i];
    n_ghosts[1] += is_ghost && !moved[i];
    n_lost += !is_ghost && moved[i];
  }
  for (guint k = 0; k < 2; k++)
    share[k] = (double)n_ghosts[k] / n[k];
  g_print ("# ghosts %.3f %% of %u points, %.3f %% of %u cleaned; %.3f %% of static points lost\n",
      100 * share[0], n[0], 100 * share[1], n[1], 100.0 * n_lost / n[0]);
  g_assert_cmpfloat ((double)n_lost / n[0], <=, 0.02);
}

/* Metres that poses are off, in the mean and at most, the first one aligned. */
static void
compare (const NdtMapMaker *maker, const NdtPose *truths, double *mean, double *worst)
{
  const guint n = ndt_map_maker_get_n_scans (maker);
  double sum = 0;
  *worst = 0;
  for (guint i = 0; i < n; i++) {
    NdtPose truth, pose;
    double metres, radians;
    g_assert_true (ndt_map_maker_get_pose (maker, i, &pose));
    ndt_pose_between (&truths[0], &truths[i], &truth);
    ndt_pose_difference (&truth, &pose, &metres, &radians);
    sum += metres;
    *worst = MAX (*worst, metres);
  }
  *mean = sum / n;
}

/* A closure joins first keys of submaps. @apart: metres that a right one may be off. */
static void
count_closures (const NdtMapMaker *maker, const NdtPose *truths, double apart, gboolean verbose,
    guint *n_closed, guint *n_false)
{
  const GArray *closures = ndt_map_maker_get_closures (maker);
  *n_closed = *n_false = 0;
  for (guint i = 0; i < closures->len; i++) {
    const NdtClosure *closure = &g_array_index (closures, NdtClosure, i);
    if (verbose)
      g_print ("# %u to %u: %s, fit %.2f, residual %.3f m\n", closure->edge.a, closure->edge.b,
          ndt_closure_verdict_to_string (closure->verdict), closure->fit, closure->edge.residual);
    if (closure->verdict != NDT_CLOSURE_ACCEPTED)
      continue;
    (*n_closed)++;
    guint scans[2];
    NdtPose between;
    double metres, radians;
    ndt_map_maker_get_submap_scans (maker, closure->edge.a, closure->edge.b, scans);
    ndt_pose_between (&truths[scans[0]], &truths[scans[1]], &between);
    ndt_pose_difference (&between, &closure->edge.between, &metres, &radians);
    *n_false += metres > apart;
  }
}

/* eᵀ C⁻¹ e by Cholesky's factor. */
static double
get_square (const double covariance[36], const double error[6])
{
  double l[36] = {0}, y[6], square = 0;
  for (guint i = 0; i < 6; i++) {
    for (guint j = 0; j <= i; j++) {
      double sum = covariance[6 * i + j];
      for (guint k = 0; k < j; k++)
        sum -= l[6 * i + k] * l[6 * j + k];
      if (i == j)
        g_assert_cmpfloat (sum, >, 0);
      l[6 * i + j] = i == j ? sqrt (sum) : sum / l[6 * j + j];
    }
    y[i] = error[i];
    for (guint k = 0; k < i; k++)
      y[i] -= l[6 * i + k] * y[k];
    y[i] /= l[6 * i + i];
    square += y[i] * y[i];
  }
  return square;
}

/* The mean normalized square of the errors of submaps' poses over its expectation, 6: 1 where
 * covariances are right, below it where they are too large. */
static double
get_nees (const NdtMapMaker *maker, const NdtPose *truths)
{
  const guint n = maker->submaps->len;
  double sum = 0;
  for (guint i = 1; i < n; i++) {
    guint scans[2];
    double covariance[36], error[6];
    NdtPose truth, pose;
    ndt_map_maker_get_submap_scans (maker, 0, i, scans);
    g_assert_true (ndt_map_maker_get_pose (maker, scans[1], &pose));
    ndt_pose_between (&truths[0], &truths[scans[1]], &truth);
    ndt_map_maker_get_covariance (maker, scans[1], covariance);
    const NdtPose inverse = ndt_pose_inverse (&truth);
    const NdtPose off = ndt_pose_mul (&pose, &inverse);
    ndt_pose_to_twist (&off, error);
    for (guint k = 0; k < 3; k++)
      error[k] = pose.position[k] - truth.position[k];
    sum += get_square (covariance, error);
  }
  return sum / (6 * (n - 1));
}

/* Makes odometry worse: each step goes too far and turns too much. */
static void
spoil (NdtMapMaker *maker)
{
  NdtMapScan *scans = (NdtMapScan *)(gpointer)maker->scans->data;
  g_autofree NdtPose *moves = g_new (NdtPose, maker->scans->len);
  NdtPose last = scans[0].odometry, spoiled = last;
  for (guint i = 0; i < maker->scans->len; i++) {
    NdtPose step, bias;
    double metres, radians;
    const NdtPose pose = scans[i].odometry, inverse = ndt_pose_inverse (&pose);
    ndt_pose_difference (&last, &pose, &metres, &radians);
    const double twist[6] = {0.002 * metres, 0.004 * metres, 0.005 * metres, 0, 0, 2e-4 * metres};
    bias = ndt_pose_from_twist (twist);
    ndt_pose_between (&last, &pose, &step);
    spoiled = ndt_pose_mul (&spoiled, &step);
    spoiled = ndt_pose_mul (&spoiled, &bias);
    last = pose;
    scans[i].odometry = spoiled;
    moves[i] = ndt_pose_mul (&spoiled, &inverse);
  }
  for (guint i = 0; i < maker->keys->len; i++) {
    NdtKeyScan *key = ndt_map_maker_get_key (maker, i);
    key->odometry = key->sensor = ndt_pose_mul (&moves[key->scan], &key->odometry);
  }
}

static void
run_worse (const Row *row, NdtBackend *backend, const NdtMapMakerParams *params,
    const GByteArray *state, GByteArray *floats, const NdtPose *truths, gboolean verbose)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtMapMaker) maker = ndt_map_maker_new (backend, params, &error);
  NdtSaved saved = {state->data, state->len}, points = {floats->data, floats->len};
  double before, mean, worst;
  guint n_closed, n_false;
  g_assert_true (ndt_map_maker_restore (maker, &saved, &points, &error));
  spoil (maker);
  compare (maker, truths, &mean, &before);
  const gint64 start = g_get_monotonic_time ();
  g_assert_true (ndt_map_maker_close (maker, NULL, NULL, &error));
  g_assert_no_error (error);
  const double seconds = 1e-6 * (double)(g_get_monotonic_time () - start);
  compare (maker, truths, &mean, &worst);
  /* A closure is of places up to 30 m apart, over which odometry is 0.2 m off, and two submaps. */
  count_closures (maker, truths, 1, verbose, &n_closed, &n_false);
  g_print (
      "# %s, odometry made worse: off by %.3f m in the mean, %.3f m at most (odometry %.1f m); "
      "closures %u of %u, false %u; %.1f s\n",
      row->name, mean, worst, before, n_closed, ndt_map_maker_get_closures (maker)->len, n_false,
      seconds);
  g_assert_cmpfloat (before, >=, 10);
  g_assert_cmpuint (n_false, ==, 0);
  if (isfinite (row->worse))
    g_assert_cmpuint (n_closed, >=, 2);
  g_assert_cmpfloat (mean, <=, row->worse);
}

static void
run (const Row *row, gboolean verbose)
{
  static const NdtBackendConfig config = {-1, 1, 0, NULL};
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (MappingDrive) drive = mapping_drive_simulate (&row->sim);
  g_autofree NdtPose *truths = g_new (NdtPose, row->sim.n);
  NdtMapMakerParams params;
  ndt_map_maker_params_init (&params);
  if (row->drift > 0)
    params.drift = row->drift;
  g_autoptr (NdtMapMaker) maker = ndt_map_maker_new (backend, &params, &error);
  g_assert_no_error (error);
  double before = 0, mean, worst, ghosts[2];
  for (guint i = 0; i < row->sim.n; i++) {
    MappingScan scan;
    NdtOdometryResult result;
    mapping_drive_get (drive, i, &scan);
    const NdtOdometryScan in = {scan.points, scan.time, scan.times, scan.time_on_points};
    g_assert_true (ndt_map_maker_add (maker, &in, &result, &error));
    truths[i] = scan.truth;
    NdtPose truth;
    double metres, radians;
    ndt_pose_between (&truths[0], &truths[i], &truth);
    ndt_pose_difference (&truth, &result.pose, &metres, &radians);
    before = MAX (before, metres);
  }
  g_autoptr (GByteArray) state = g_byte_array_new (), floats = g_byte_array_new ();
  if (row->worse > 0) {
    g_assert_true (ndt_map_maker_save (maker, state));
    for (guint i = 0; i < maker->keys->len; i++) {
      const NdtKeyScan *key = ndt_map_maker_get_key (maker, i);
      g_byte_array_append (
          floats, (const guint8 *)key->points, (guint)(3 * sizeof (float) * key->n_points));
    }
  }
  g_assert_true (ndt_map_maker_close (maker, NULL, NULL, &error));
  g_assert_no_error (error);
  compare (maker, truths, &mean, &worst);
  guint n_closed, n_false;
  count_closures (maker, truths, 0.3, verbose, &n_closed, &n_false);
  const double nees = get_nees (maker, truths);
  g_print ("# %s: off by %.3f m in the mean, %.3f m at most (odometry %.3f m); closures %u of %u, "
           "false %u; NEES %.2f\n",
      row->name, mean, worst, before, n_closed, ndt_map_maker_get_closures (maker)->len, n_false,
      nees);
  if (row->worse > 0)
    run_worse (row, backend, &params, state, floats, truths, verbose);
  count_ghosts (row, maker, &truths[0], ghosts);
  g_assert_cmpuint (n_false, ==, 0);
  g_assert_cmpuint (n_closed, >=, row->closes);
  g_assert_cmpfloat (mean, <=, row->mean);
  g_assert_cmpfloat (worst, <=, row->worst);
  g_assert_cmpfloat (ghosts[1], <=, row->ghosts);
}

static void
test_row (gconstpointer data)
{
  const Row *row = data;
  if (row->is_long && g_strcmp0 (g_getenv ("NDT_TEST_MAPPING"), "all") != 0) {
    g_test_skip ("only with NDT_TEST_MAPPING=all");
    return;
  }
  run (row, FALSE);
}

/* A square of poses whose odometry turns too far: a closure brings them back; one that is wrong
 * does little. */
static void
test_graph (void)
{
  enum { N = 40 };
  NdtPose truth[N], nodes[N];
  NdtPoseEdge edges[N + 1] = {{0}};
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < N; i++) {
    const double angle = 2 * G_PI * i / N, p[3] = {20 * sin (angle), 20 - 20 * cos (angle), 0};
    ndt_pose_from_rpy (p, 0, 0, angle, &truth[i]);
    nodes[i] = truth[0];
    if (i == 0)
      continue;
    const double wrong[6] = {0.02, 0, 0.01, 0, 0.001, 0.004};
    NdtPose noise, step;
    ndt_pose_exp (wrong, &noise);
    ndt_pose_between (&truth[i - 1], &truth[i], &step);
    edges[i - 1] = (NdtPoseEdge){.a = i - 1, .b = i, .sigma = 0.02, .sigma_turn = 0.004};
    ndt_pose_compose (&step, &noise, &edges[i - 1].between);
    ndt_pose_compose (&nodes[i - 1], &edges[i - 1].between, &nodes[i]);
  }
  double before, after, radians;
  ndt_pose_difference (&nodes[N - 1], &truth[N - 1], &before, &radians);
  g_assert_cmpfloat (before, >, 1);
  edges[N - 1] =
      (NdtPoseEdge){.a = 0, .b = N - 1, .sigma = 0.01, .sigma_turn = 0.001, .is_closure = TRUE};
  ndt_pose_between (&truth[0], &truth[N - 1], &edges[N - 1].between);
  /* A robust closure is counted in full where the residual is that of its sigma: as the maker does
   * it, by a wide one first. */
  edges[N - 1].is_closure = FALSE;
  g_assert_true (ndt_pose_graph_optimize (nodes, N, edges, N, &error));
  g_assert_no_error (error);
  ndt_pose_difference (&nodes[N - 1], &truth[N - 1], &after, &radians);
  g_assert_cmpfloat (after, <, 0.05);
  for (guint i = 0; i < N; i++) {
    ndt_pose_difference (&nodes[i], &truth[i], &after, &radians);
    g_assert_cmpfloat (after, <, 0.4);
  }
  edges[N] = (NdtPoseEdge){.a = 3, .b = 30, .sigma = 0.01, .sigma_turn = 0.001, .is_closure = TRUE};
  ndt_pose_set_identity (&edges[N].between);
  g_assert_true (ndt_pose_graph_optimize (nodes, N, edges, N + 1, &error));
  ndt_pose_difference (&nodes[N - 1], &truth[N - 1], &after, &radians);
  g_assert_cmpfloat (after, <, 0.06);
  g_assert_cmpfloat (edges[N].residual, >, 10);
  /* A node that nothing is known of. */
  edges[5].b = edges[5].a + 2;
  g_assert_false (ndt_pose_graph_optimize (nodes, N, edges, 6, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

/* The whole-map search: in a town whose blocks are equal it says so, and in a town it does not. */
static void
test_ambiguous (void)
{
  static const struct {
    const gchar *world;
    gboolean is_ambiguous;
  } worlds[] = {{"town", FALSE}, {"blocks", TRUE}};
  static const NdtBackendConfig config = {-1, 1, 0, NULL};
  static const NdtScanFilter all = {.leaf_size = 0.5, .min_range = 1, .max_range = 45};
  for (guint w = 0; w < G_N_ELEMENTS (worlds); w++) {
    const MappingSim sim = {worlds[w].world, 3, 1, 400, 32, 512, 8, FALSE, 0};
    const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
    g_autoptr (GError) error = NULL;
    NdtSimWorldKind kind;
    g_assert_true (ndt_sim_world_kind_from_name (sim.world, &kind));
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, sim.seed);
    g_autoptr (GArray) sample = ndt_sim_map_sample (world, 0.4, 0, 0);
    const NdtCloudView points =
        ndt_cloud_view_xyz_f64 ((const double *)(gpointer)sample->data, sample->len);
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &points, &error);
    g_assert_no_error (error);
    g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
    g_assert_true (ndt_backend_set_map (backend, map, &error));
    g_autoptr (MappingDrive) drive = mapping_drive_simulate (&sim);
    guint n_ambiguous = 0, n_wrong = 0, n = 0;
    for (guint i = 0; i < sim.n; i += 50, n++) {
      NdtRegistrationParams registration;
      NdtRegistration found;
      MappingScan scan;
      double metres, radians;
      ndt_registration_params_init (&registration);
      mapping_drive_get (drive, i, &scan);
      g_assert_true (ndt_backend_set_scan (backend, 0, &scan.points, &all, &error));
      g_assert_true (ndt_register_anywhere (backend, 0, &registration, &found, &error));
      ndt_pose_difference (&scan.truth, &found.pose, &metres, &radians);
      n_ambiguous += found.is_ambiguous;
      n_wrong += !found.is_ambiguous && metres > 0.5;
    }
    g_print ("# %s: %u of %u scans ambiguous, %u wrong and not said to be\n", sim.world,
        n_ambiguous, n, n_wrong);
    g_assert_cmpuint (n_wrong, ==, 0);
    if (worlds[w].is_ambiguous)
      g_assert_cmpuint (n_ambiguous, >=, n / 2);
    else
      g_assert_cmpuint (n_ambiguous, <=, n / 4);
  }
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "--row") == 0) {
    for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
      if (strcmp (rows[i].name, argv[2]) == 0)
        run (&rows[i], TRUE);
    return 0;
  }
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/maps/graph", test_graph);
  g_test_add_func ("/maps/ambiguous", test_ambiguous);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree gchar *path = g_strdup_printf ("/maps/%s", rows[i].name);
    g_test_add_data_func (path, &rows[i], test_row);
  }
  return g_test_run ();
}
