/* SPDX-License-Identifier: MIT */
#include "trust-drive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/scan/ndt-scan-filter.h"
#include "tests/ndt-test.h"

#define RINGS 32
#define PERIOD 0.1
#define SECOND 1e9

static TrustDrive *
drive_new (guint n)
{
  TrustDrive *drive = g_new0 (TrustDrive, 1);
  drive->n = n;
  drive->scans = g_new0 (float *, n);
  drive->point_times = g_new0 (float *, n);
  drive->sizes = g_new0 (guint, n);
  drive->times = g_new0 (gint64, n);
  drive->truths = g_new0 (NdtPose, n);
  return drive;
}

void
trust_drive_free (TrustDrive *drive)
{
  for (guint i = 0; i < drive->n; i++) {
    g_free (drive->scans[i]);
    g_free (drive->point_times[i]);
  }
  g_free (drive->scans);
  g_free (drive->point_times);
  g_free (drive->sizes);
  g_free (drive->times);
  g_free (drive->truths);
  g_free (drive);
}

/* ---- The cache ---- */

static gboolean
load (const gchar *path, TrustDrive *drive)
{
  FILE *file = fopen (path, "rb");
  gboolean ok = file != NULL;
  for (guint i = 0; i < drive->n && ok; i++) {
    guint32 head[2];
    ok = fread (head, sizeof head, 1, file) == 1 &&
         fread (&drive->times[i], sizeof (gint64), 1, file) == 1 &&
         fread (&drive->truths[i], sizeof (NdtPose), 1, file) == 1;
    if (!ok)
      break;
    drive->sizes[i] = head[0];
    drive->scans[i] = g_new (float, 3 * (gsize)head[0] + 1);
    ok = fread (drive->scans[i], 3 * sizeof (float), head[0], file) == head[0];
    if (ok && head[1]) {
      drive->point_times[i] = g_new (float, (gsize)head[0] + 1);
      ok = fread (drive->point_times[i], sizeof (float), head[0], file) == head[0];
    }
  }
  if (file)
    fclose (file);
  return ok;
}

/* Whole or not at all: programs that run at once share the folder. */
static void
save (const gchar *path, const TrustDrive *drive)
{
  g_autofree gchar *temporary = g_strdup_printf ("%s.%08x", path, g_random_int ());
  FILE *file = fopen (temporary, "wb");
  if (!file)
    return;
  for (guint i = 0; i < drive->n; i++) {
    const guint32 head[2] = {drive->sizes[i], drive->point_times[i] != NULL};
    fwrite (head, sizeof head, 1, file);
    fwrite (&drive->times[i], sizeof (gint64), 1, file);
    fwrite (&drive->truths[i], sizeof (NdtPose), 1, file);
    fwrite (drive->scans[i], 3 * sizeof (float), head[0], file);
    if (head[1])
      fwrite (drive->point_times[i], sizeof (float), head[0], file);
  }
  const gboolean is_whole = !ferror (file);
  if (fclose (file) != 0 || !is_whole || rename (temporary, path) != 0)
    remove (temporary);
}

/* ---- Simulation ---- */

/* The sensor turns on the spot: each column is fired from where it is then. */
static void
cast_spinning (const NdtSimWorld *world, const NdtSimScanner *scanner, const TrustSim *sim,
    double end, TrustDrive *drive, guint i)
{
  const gboolean is_carried = sim->carried != 0 && i >= sim->n / 2;
  const double spin = is_carried ? sim->spin_then : sim->spin;
  const NdtSimPathPoint spot =
      ndt_sim_path_at (world->path, sim->start + (is_carried ? sim->carried : 0), 0);
  const double at[3] = {spot.x, spot.y, 1.8};
  ndt_pose_from_rpy (at, 0, 0, spot.heading + spin * end, &drive->truths[i]);
  for (guint c = 0; c < sim->columns; c++) {
    const double since = PERIOD * c / sim->columns;
    const double yaw = spot.heading + spin * (end - PERIOD + since);
    for (guint r = 0; r < RINGS; r++) {
      double beam[3];
      NdtSimHit hit;
      ndt_sim_scanner_get_beam (scanner, c, r, beam);
      const NdtSimRay ray = {
          .origin = {at[0], at[1], at[2]},
          .direction = {cos (yaw) * beam[0] - sin (yaw) * beam[1],
              sin (yaw) * beam[0] + cos (yaw) * beam[1], beam[2]},
      };
      if (!ndt_sim_world_cast (world, &ray, NDT_SIM_MIN_RANGE, 100, &hit))
        continue;
      const guint n = drive->sizes[i]++;
      /* 2 cm of noise from a hash of the beam. */
      guint32 h = (i * 512 + c) * RINGS + r;
      h = (h ^ (h >> 16)) * 0x45d9f3bu;
      h = (h ^ (h >> 16)) * 0x45d9f3bu;
      h ^= h >> 16;
      const double noise = 0.035 * (h / 4294967296.0 * 2 - 1);
      for (guint k = 0; k < 3; k++)
        drive->scans[i][3 * n + k] = (float)(beam[k] * (hit.range + noise));
      drive->point_times[i][n] = (float)since;
    }
  }
}

TrustDrive *
trust_drive_simulate (const TrustSim *sim, const gchar *cache)
{
  g_autofree gchar *name =
      g_strdup_printf ("drive-%d-%u-%u-%u-%g-%g-%g-%g-%g", sim->kind, sim->seed, sim->n,
          sim->columns, sim->speed, sim->start, sim->spin, sim->carried, sim->spin_then);
  g_autofree gchar *path = g_build_filename (cache, name, NULL);
  TrustDrive *drive = drive_new (sim->n);
  drive->period = sim->spin != 0 ? PERIOD : 0;
  if (load (path, drive))
    return drive;

  trust_drive_free (drive);
  drive = drive_new (sim->n);
  drive->period = sim->spin != 0 ? PERIOD : 0;
  const NdtSimSensor sensor = {.n_rings = RINGS,
      .n_columns = sim->columns,
      .max_range = 100,
      .range_noise = 0.02,
      .mount_height = 1.8,
      .noise_seed = sim->seed,
      .n_vehicles = 8};
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (sim->kind, sim->seed);
  const NdtSimDriver driver = {sim->speed > 0 ? sim->speed : world->default_speed, 2, 1.5};
  g_autoptr (NdtSimMotion) motion = ndt_sim_motion_new (world->path, &driver, sim->start);
  g_autoptr (NdtSimScanner) scanner = ndt_sim_scanner_new (world, motion, motion, &sensor, 1);
  g_autofree NdtSimReturn *returns = g_new (NdtSimReturn, sim->columns * RINGS);
  for (guint i = 0; i < sim->n; i++) {
    const double start = PERIOD * i, end = start + PERIOD;
    drive->scans[i] = g_new (float, 3 * sim->columns * RINGS);
    drive->times[i] = (gint64)llround (SECOND * end);
    if (sim->spin != 0) {
      drive->point_times[i] = g_new (float, sim->columns *RINGS);
      cast_spinning (world, scanner, sim, end, drive, i);
      continue;
    }
    ndt_sim_scanner_cast (scanner, i, start, end, returns);
    ndt_sim_scanner_get_pose (scanner, end, &drive->truths[i]);
    for (guint c = 0; c < sim->columns; c++)
      for (guint r = 0; r < RINGS; r++) {
        const double range = (double)returns[c * RINGS + r].range;
        double beam[3];
        if (!(range > 0))
          continue;
        ndt_sim_scanner_get_beam (scanner, c, r, beam);
        for (guint k = 0; k < 3; k++)
          drive->scans[i][3 * drive->sizes[i] + k] = (float)(beam[k] * range);
        drive->sizes[i]++;
      }
  }
  save (path, drive);
  return drive;
}

GArray *
trust_map_simulate (NdtSimWorldKind kind, guint seed, const gchar *cache)
{
  g_autofree gchar *name = g_strdup_printf ("map-%d-%u", kind, seed);
  g_autofree gchar *path = g_build_filename (cache, name, NULL);
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autofree gchar *bytes = NULL;
  gsize size;
  if (g_file_get_contents (path, &bytes, &size, NULL)) {
    g_array_append_vals (points, bytes, (guint)(size / (3 * sizeof (float))));
    return points;
  }
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, seed);
  g_autoptr (GArray) sample = ndt_sim_map_sample (world, 0.25, 0.02, seed);
  const double *xyz = (const double *)(gpointer)sample->data;
  for (guint i = 0; i < sample->len; i++) {
    const float point[3] = {
        (float)xyz[3 * (gsize)i], (float)xyz[3 * (gsize)i + 1], (float)xyz[3 * (gsize)i + 2]};
    g_array_append_vals (points, point, 1);
  }
  g_file_set_contents (path, points->data, (gssize)(points->len * 3 * sizeof (float)), NULL);
  return points;
}

/* ---- Recorded ---- */

static GArray *
read_points (const gchar *path)
{
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
  NdtCloudView view;
  g_assert_no_error (error);
  g_assert_true (ndt_pcd_file_get_points (file, &view, &error));
  for (gsize i = 0; i < view.n_points; i++) {
    float p[3];
    memcpy (&p[0], view.x + i * view.stride, sizeof (float));
    memcpy (&p[1], view.y + i * view.stride, sizeof (float));
    memcpy (&p[2], view.z + i * view.stride, sizeof (float));
    g_array_append_vals (points, p, 1);
  }
  return points;
}

TrustDrive *
trust_drive_read (const gchar *folder, guint first, guint step)
{
  g_autofree gchar *root = ndt_test_data (folder);
  if (!root)
    return NULL;
  g_autofree gchar *poses = g_build_filename (root, "poses.txt", NULL);
  g_autofree gchar *text = NULL;
  g_assert_true (g_file_get_contents (poses, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n_lines = 0, n = 0;
  while (lines[n_lines] && lines[n_lines][0])
    n_lines++;
  TrustDrive *drive = drive_new (n_lines > first ? (n_lines - first + step - 1) / step : 0);
  for (guint i = first; i < n_lines; i += step, n++) {
    double time, *p = drive->truths[n].position, *q = drive->truths[n].orientation;
    g_assert_cmpint (sscanf (lines[i], "%lf %lf %lf %lf %lf %lf %lf %lf", &time, &p[0], &p[1],
                         &p[2], &q[0], &q[1], &q[2], &q[3]),
        ==, 8);
    g_assert_true (ndt_pose_normalize (&drive->truths[n]));
    drive->times[n] = (gint64)llround (SECOND * time) + (gint64)(100 * SECOND);
    g_autofree gchar *path = g_strdup_printf ("%s/scans/%06u.pcd", root, i);
    GArray *points = read_points (path);
    drive->sizes[n] = points->len;
    drive->scans[n] = (float *)(gpointer)g_array_free (points, FALSE);
  }
  return drive;
}

TrustDrive *
trust_drive_turn (const TrustDrive *drive, double spin)
{
  TrustDrive *turned = drive_new (drive->n);
  turned->period = 0.5 * PERIOD;
  for (guint i = 0; i < drive->n; i++) {
    const guint n = turned->sizes[i] = drive->sizes[i];
    const double heading = spin * 1e-9 * (double)(drive->times[i] - drive->times[0]);
    const double turn[6] = {0, 0, 0, 0, 0, heading};
    turned->times[i] = drive->times[i];
    ndt_pose_retract (&drive->truths[i], turn, &turned->truths[i]);
    turned->scans[i] = g_new (float, 3 * (gsize)n + 1);
    turned->point_times[i] = g_new (float, (gsize)n + 1);
    for (guint k = 0; k < n; k++) {
      const float *p = drive->scans[i] + 3 * k;
      float *q = turned->scans[i] + 3 * k;
      const double x = (double)p[0], y = (double)p[1];
      /* Behind it at first; where it is then, the azimuth is the one that it turns by. */
      const double since = PERIOD * atan2 (y, x) / (2 * G_PI);
      const double yaw = heading + spin * since;
      q[0] = (float)(cos (yaw) * x + sin (yaw) * y);
      q[1] = (float)(cos (yaw) * y - sin (yaw) * x);
      q[2] = p[2];
      turned->point_times[i][k] = (float)(since + 0.5 * PERIOD);
    }
  }
  return turned;
}

GArray *
trust_map_read (const gchar *folder, const gchar *file)
{
  g_autofree gchar *root = ndt_test_data (folder);
  if (!root)
    return NULL;
  g_autofree gchar *path = g_build_filename (root, file, NULL);
  return read_points (path);
}

GArray *
trust_map_of_drive (const TrustDrive *drive)
{
  const float leaf = 0.1f;
  GArray *points = g_array_new (FALSE, FALSE, 3 * sizeof (float));
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < drive->n; i++)
    for (guint k = 0; k < drive->sizes[i]; k++) {
      const float *p = drive->scans[i] + 3 * k;
      const double in[3] = {(double)p[0], (double)p[1], (double)p[2]};
      const double range = sqrt (in[0] * in[0] + in[1] * in[1] + in[2] * in[2]);
      double out[3];
      float point[3];
      if (!(range >= 0.5 && range <= 60))
        continue;
      ndt_quat_rotate (drive->truths[i].orientation, in, out);
      gint64 key = 0;
      for (guint c = 0; c < 3; c++) {
        point[c] = (float)(out[c] + drive->truths[i].position[c]);
        key = (key << 21) ^ ((gint64)ndt_leaf_index (point[c], 1 / leaf) & 0x1fffff);
      }
      if (g_hash_table_contains (seen, &key))
        continue;
      gint64 *kept = g_new (gint64, 1);
      *kept = key;
      g_hash_table_add (seen, kept);
      g_array_append_vals (points, point, 1);
    }
  return points;
}
