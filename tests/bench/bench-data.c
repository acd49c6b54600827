/* SPDX-License-Identifier: MIT */
#include "bench-data.h"

#include <math.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-test.h"

#define N_NEAR 50 /* starts where the data has none */

static void
case_free (gpointer data)
{
  BenchCase *c = data;
  for (guint i = 0; i < c->n_scans; i++)
    g_free (c->scans[i].xyz);
  g_free (c->scans);
  g_free (c->starts);
  g_free (c->map.xyz);
  g_free (c->name);
  g_free (c);
}

static BenchCase *
case_new (const gchar *name, double resolution, guint n_scans, guint n_starts)
{
  BenchCase *c = g_new0 (BenchCase, 1);
  c->name = g_strdup (name);
  c->resolution = resolution;
  c->scans = g_new0 (BenchCloud, n_scans);
  c->n_scans = n_scans;
  c->starts = g_new0 (BenchStart, n_starts);
  c->n_starts = n_starts;
  return c;
}

/* Raw floats after @skip bytes. */
static gboolean
load_raw (const gchar *folder, const gchar *name, gsize skip, BenchCloud *cloud)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autofree gchar *bytes = NULL;
  gsize size;
  if (!g_file_get_contents (path, &bytes, &size, NULL) || size < skip)
    return FALSE;
  cloud->n = (size - skip) / (3 * sizeof (float));
  cloud->xyz = g_memdup2 (bytes + skip, cloud->n * 3 * sizeof (float));
  return cloud->n > 0;
}

static gboolean
load_pcd (const gchar *folder, const gchar *name, BenchCloud *cloud)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, NULL);
  NdtCloudView view;
  if (!file || !ndt_pcd_file_get_points (file, &view, NULL))
    return FALSE;
  cloud->xyz = g_new (float, 3 * view.n_points);
  cloud->n = 0;
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    if (!isfinite (p[0] + p[1] + p[2]))
      continue;
    for (guint k = 0; k < 3; k++)
      cloud->xyz[3 * cloud->n + k] = (float)p[k];
    cloud->n++;
  }
  return cloud->n > 0;
}

/* Within ±0.5 m and ±3° of the truth, as the town's near starts are. */
static NdtPose
near_guess (const NdtPose *truth, GRand *rand)
{
  double delta[6];
  NdtPose guess;
  for (guint k = 0; k < 6; k++)
    delta[k] = k < 3 ? g_rand_double_range (rand, -0.5, 0.5)
                     : g_rand_double_range (rand, -3, 3) * G_PI / 180;
  ndt_pose_retract (truth, delta, &guess);
  return guess;
}

/* Within ±2 m in x and y, ±0.5 m in z, ±10° of yaw, ±3° of roll and pitch. */
static NdtPose
far_guess (const NdtPose *truth, GRand *rand)
{
  static const double range[6] = {2, 2, 0.5, 3, 3, 10};
  double offset[6], p[3], roll, pitch, yaw;
  NdtPose guess;
  for (guint k = 0; k < 6; k++)
    offset[k] = g_rand_double_range (rand, -range[k], range[k]) * (k < 3 ? 1 : G_PI / 180);
  ndt_pose_to_rpy (truth, &roll, &pitch, &yaw);
  for (guint k = 0; k < 3; k++)
    p[k] = truth->position[k] + offset[k];
  ndt_pose_from_rpy (p, roll + offset[3], pitch + offset[4], yaw + offset[5], &guess);
  return guess;
}

/* Keeps n of the starts, evenly. */
static void
case_limit (BenchCase *c, guint max_starts)
{
  if (max_starts == 0 || max_starts >= c->n_starts)
    return;
  for (guint i = 0; i < max_starts; i++)
    c->starts[i] = c->starts[(gsize)i * c->n_starts / max_starts];
  c->n_starts = max_starts;
}

/* ---- The generated town ---- */

static NdtPose
xyz_euler (const double v[6])
{
  NdtPose pose;
  ndt_pose_from_xyz_euler (v, v[3], v[4], v[5], &pose);
  return pose;
}

static BenchCase *
load_town (const gchar *name, guint n_points, gboolean far)
{
  g_autofree gchar *folder = ndt_test_data ("town_starts");
  if (!folder)
    return NULL;
  g_autofree gchar *scan = g_strdup_printf ("source_%u.bin", n_points);
  g_autofree gchar *truth_path = g_build_filename (folder, "truth.txt", NULL);
  g_autofree gchar *starts_path =
      g_build_filename (folder, far ? "guesses_init.txt" : "guesses.txt", NULL);
  g_autofree gchar *truth_text = NULL, *starts_text = NULL;
  if (!g_file_get_contents (truth_path, &truth_text, NULL, NULL) ||
      !g_file_get_contents (starts_path, &starts_text, NULL, NULL))
    return NULL;
  g_auto (GStrv) lines = g_strsplit (g_strstrip (starts_text), "\n", -1);
  BenchCase *c = case_new (name, 2, 1, g_strv_length (lines));
  c->far = far;
  double v[6] = {0};
  gchar *at = truth_text;
  for (guint k = 0; k < 6; k++)
    v[k] = g_ascii_strtod (at, &at);
  const NdtPose truth = xyz_euler (v);
  for (guint i = 0; i < c->n_starts; i++) {
    at = lines[i];
    for (guint k = 0; k < 6; k++)
      v[k] = g_ascii_strtod (at, &at);
    c->starts[i].guess = xyz_euler (v);
    c->starts[i].truth = truth;
  }
  if (load_raw (folder, "target.bin", 4, &c->map) && load_raw (folder, scan, 4, &c->scans[0]))
    return c;
  case_free (c);
  return NULL;
}

/* ---- The pair that NDT programs print results for ---- */

/* n_points: 0 all. */
static BenchCase *
load_pair (const gchar *name, const gchar *reference, double resolution, guint n_points)
{
  g_autofree gchar *folder = ndt_test_reference (reference);
  g_autofree gchar *pair = ndt_test_data ("pair_ndt_omp");
  if (!folder || !pair)
    return NULL;
  g_autofree gchar *path = g_build_filename (pair, "T_target_source.txt", NULL);
  g_autofree gchar *text = NULL;
  NdtPose truth;
  double m[16];
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  gchar *at = text;
  for (guint k = 0; k < 16; k++)
    m[k] = g_ascii_strtod (at, &at);
  if (!ndt_pose_from_matrix4 (m, &truth))
    return NULL;
  BenchCase *c = case_new (name, resolution, 1, N_NEAR);
  BenchCloud *scan = &c->scans[0];
  if (!load_raw (folder, "target.f32", 0, &c->map) || !load_raw (folder, "source.f32", 0, scan)) {
    case_free (c);
    return NULL;
  }
  if (n_points > 0 && n_points < scan->n) {
    for (gsize i = 0; i < n_points; i++)
      memmove (scan->xyz + 3 * i, scan->xyz + 3 * (i * scan->n / n_points), 3 * sizeof (float));
    scan->n = n_points;
  }
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint i = 0; i < c->n_starts; i++) {
    c->starts[i].truth = truth;
    c->starts[i].guess = near_guess (&truth, rand);
  }
  return c;
}

/* ---- Real sequences: every scan once ---- */

static BenchCase *
load_sequence (const gchar *name, const gchar *set, const gchar *map, gboolean far)
{
  g_autofree gchar *folder = ndt_test_data (set);
  if (!folder)
    return NULL;
  g_autofree gchar *path = g_build_filename (folder, "poses.txt", NULL);
  g_autoptr (NdtTrajectory) poses = ndt_trajectory_load (path, NDT_TRAJECTORY_TUM, NULL);
  if (!poses)
    return NULL;
  const guint n = (guint)ndt_trajectory_get_n_poses (poses);
  BenchCase *c = case_new (name, 1, n, n);
  c->far = far;
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  gboolean ok = load_pcd (folder, map, &c->map);
  for (guint i = 0; i < n && ok; i++) {
    g_autofree gchar *scan = g_strdup_printf ("scans/%06u.pcd", i);
    ok = load_pcd (folder, scan, &c->scans[i]);
    c->starts[i].scan = i;
    c->starts[i].truth = *ndt_trajectory_get_pose (poses, i);
    c->starts[i].guess = (far ? far_guess : near_guess) (&c->starts[i].truth, rand);
  }
  if (ok)
    return c;
  case_free (c);
  return NULL;
}

GPtrArray *
bench_cases_load (const gchar *name, guint max_starts)
{
  static const struct {
    const gchar *name;
    guint town; /* points of the town's scan */
    gboolean far;
    const gchar *reference;
    double resolution;
    guint n_points;
    const gchar *sequence;
    const gchar *map;
  } all[] = {
      {.name = "pair-1m", .reference = "lab_vg01_r1", .resolution = 1},
      {.name = "pair-2m-1500", .reference = "lab_vg01_r2", .resolution = 2, .n_points = 1500},
      {.name = "kitti-1m", .sequence = "seq_kitti_drive0005", .map = "map_even_0.25.pcd"},
      {.name = "balm-1m", .sequence = "seq_balm_os0", .map = "map_even_0.20.pcd"},
      {.name = "town-756", .town = 756},
      {.name = "town-1500", .town = 1500},
      {.name = "town-5000", .town = 5000},
      {.name = "town-20000", .town = 20000},
      {.name = "town-756-far", .town = 756, .far = TRUE},
      {.name = "town-1500-far", .town = 1500, .far = TRUE},
      {.name = "town-5000-far", .town = 5000, .far = TRUE},
      {.name = "town-20000-far", .town = 20000, .far = TRUE},
      {.name = "kitti-1m-far",
          .sequence = "seq_kitti_drive0005",
          .map = "map_even_0.25.pcd",
          .far = TRUE},
      {.name = "balm-1m-far", .sequence = "seq_balm_os0", .map = "map_even_0.20.pcd", .far = TRUE},
  };
  GPtrArray *cases = g_ptr_array_new_with_free_func (case_free);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    BenchCase *c;
    if (name && !g_str_equal (name, all[i].name))
      continue;
    if (all[i].town)
      c = load_town (all[i].name, all[i].town, all[i].far);
    else if (all[i].reference)
      c = load_pair (all[i].name, all[i].reference, all[i].resolution, all[i].n_points);
    else
      c = load_sequence (all[i].name, all[i].sequence, all[i].map, all[i].far);
    if (!c) {
      g_printerr ("%s: no data\n", all[i].name);
      continue;
    }
    case_limit (c, max_starts);
    g_ptr_array_add (cases, c);
  }
  return cases;
}
