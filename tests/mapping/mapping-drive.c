/* SPDX-License-Identifier: MIT */
#include "mapping-drive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "tests/ndt-test.h"

#define PERIOD 0.1

struct _MappingDrive {
  guint n;
  MappingSim sim;
  NdtSimWorld *world;
  NdtSimMotion *motion;
  NdtSimScanner *scanner;
  NdtSimReturn *returns;
  float *points;
  float *times;

  gchar *folder; /* of a recorded one */
  NdtPose *truths;
  gint64 *stamps;
  NdtPcdFile *file;
};

MappingDrive *
mapping_drive_simulate (const MappingSim *sim)
{
  MappingDrive *drive = g_new0 (MappingDrive, 1);
  NdtSimWorldKind kind;
  const NdtSimSensor sensor = {.n_rings = sim->rings,
      .n_columns = sim->columns,
      .max_range = 100,
      .range_noise = 0.02,
      .motion_distortion = sim->distortion,
      .mount_height = 1.8,
      .noise_seed = sim->noise_seed,
      .n_vehicles = sim->vehicles};
  g_assert_true (ndt_sim_world_kind_from_name (sim->world, &kind));
  drive->sim = *sim;
  drive->n = sim->n;
  drive->world = ndt_sim_world_new (kind, sim->seed);
  const NdtSimDriver driver = {sim->speed > 0 ? sim->speed : drive->world->default_speed, 2, 1.5};
  drive->motion = ndt_sim_motion_new (drive->world->path, &driver, 0);
  drive->scanner = ndt_sim_scanner_new (drive->world, drive->motion, drive->motion, &sensor, 1);
  drive->returns = g_new (NdtSimReturn, sim->rings * sim->columns);
  drive->points = g_new (float, 3 * sim->rings * sim->columns);
  drive->times = g_new (float, sim->rings * sim->columns);
  return drive;
}

MappingDrive *
mapping_drive_read (const gchar *folder)
{
  g_autofree gchar *root = ndt_test_data (folder);
  if (!root)
    return NULL;
  g_autofree gchar *path = g_build_filename (root, "poses_all.txt", NULL);
  g_autofree gchar *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  MappingDrive *drive = g_new0 (MappingDrive, 1);
  while (lines[drive->n] && lines[drive->n][0])
    drive->n++;
  drive->folder = g_build_filename (root, "scans_all", NULL);
  drive->truths = g_new (NdtPose, drive->n);
  drive->stamps = g_new (gint64, drive->n);
  for (guint i = 0; i < drive->n; i++) {
    double time, *p = drive->truths[i].position, *q = drive->truths[i].orientation;
    g_assert_cmpint (sscanf (lines[i], "%lf %lf %lf %lf %lf %lf %lf %lf", &time, &p[0], &p[1],
                         &p[2], &q[0], &q[1], &q[2], &q[3]),
        ==, 8);
    g_assert_true (ndt_pose_normalize (&drive->truths[i]));
    drive->stamps[i] = (gint64)llround (1e9 * time);
  }
  return drive;
}

void
mapping_drive_free (MappingDrive *drive)
{
  g_clear_pointer (&drive->scanner, ndt_sim_scanner_free);
  g_clear_pointer (&drive->motion, ndt_sim_motion_free);
  g_clear_pointer (&drive->world, ndt_sim_world_free);
  g_clear_pointer (&drive->file, ndt_pcd_file_free);
  g_free (drive->returns);
  g_free (drive->points);
  g_free (drive->times);
  g_free (drive->folder);
  g_free (drive->truths);
  g_free (drive->stamps);
  g_free (drive);
}

guint
mapping_drive_get_n (const MappingDrive *drive)
{
  return drive->n;
}

static void
read_scan (MappingDrive *drive, guint i, MappingScan *scan)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = g_strdup_printf ("%s/%06u.pcd", drive->folder, i);
  g_clear_pointer (&drive->file, ndt_pcd_file_free);
  drive->file = ndt_pcd_file_open (path, &error);
  g_assert_no_error (error);
  g_assert_true (ndt_pcd_file_get_points (drive->file, &scan->points, &error));
  scan->time = drive->stamps[i];
  scan->truth = drive->truths[i];
}

void
mapping_drive_get (MappingDrive *drive, guint i, MappingScan *scan)
{
  const MappingSim *sim = &drive->sim;
  gsize n = 0;
  memset (scan, 0, sizeof (*scan));
  if (drive->folder) {
    read_scan (drive, i, scan);
    return;
  }
  const double start = PERIOD * i, end = sim->distortion ? start + PERIOD : start;
  ndt_sim_scanner_cast (drive->scanner, i, start, end, drive->returns);
  for (guint c = 0; c < sim->columns; c++)
    for (guint r = 0; r < sim->rings; r++) {
      const double range = (double)drive->returns[c * sim->rings + r].range;
      double beam[3];
      if (!(range > 0))
        continue;
      ndt_sim_scanner_get_beam (drive->scanner, c, r, beam);
      for (guint k = 0; k < 3; k++)
        drive->points[3 * n + k] = (float)(beam[k] * range);
      drive->times[n++] = (float)(PERIOD * c / sim->columns);
    }
  scan->points = ndt_cloud_view_xyz_f32 (drive->points, n);
  scan->time = (gint64)llround (1e9 * end);
  if (sim->distortion) {
    scan->times = (NdtTimeView){(const guint8 *)drive->times, sizeof (float), NDT_TIME_F32};
    scan->time_on_points = PERIOD;
  }
  ndt_sim_scanner_get_pose (drive->scanner, end, &scan->truth);
}
