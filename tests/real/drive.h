/* SPDX-License-Identifier: MIT */
/* Recorded and simulated drives with true poses. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/sim/world/ndt-sim-map.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-test.h"

#define MAX_SCANS 50
#define PERIOD 0.1 /* of a scan whose points have times */
#define SECOND G_GINT64_CONSTANT (1000000000)

/**
 * Drive:
 * @backend: with a map of it
 * @point_times: seconds from the scan's start; NULL: all at its end
 * @tolerance: largest error of a tracking scan, metres
 * @patience: most scans after a fault until that is so again
 */
typedef struct {
  NdtBackend *backend;
  guint n;
  NdtPose truths[MAX_SCANS];
  gint64 times[MAX_SCANS];
  float *scans[MAX_SCANS];
  float *point_times[MAX_SCANS];
  guint sizes[MAX_SCANS];
  double tolerance;
  guint patience;
} Drive;

static inline void
open_backend (Drive *stream, NdtVoxelMap *map)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  stream->backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (stream->backend, map, NULL));
}

/* FALSE where there is none. */
static inline gboolean
read_drive (Drive *stream, const gchar *name, const gchar *map_name)
{
  g_autofree gchar *folder = ndt_test_data (name);
  g_autoptr (GError) error = NULL;
  if (!folder)
    return FALSE;
  g_autofree gchar *poses = g_build_filename (folder, "poses.txt", NULL);
  g_autofree gchar *map_path = g_build_filename (folder, map_name, NULL);
  g_autofree gchar *text = NULL;
  g_assert_true (g_file_get_contents (poses, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] && lines[i][0] && i < MAX_SCANS; i++) {
    NdtPose *truth = &stream->truths[i];
    double time, *p = truth->position, *q = truth->orientation;
    g_assert_cmpint (sscanf (lines[i], "%lf %lf %lf %lf %lf %lf %lf %lf", &time, &p[0], &p[1],
                         &p[2], &q[0], &q[1], &q[2], &q[3]),
        ==, 8);
    g_assert_true (ndt_pose_normalize (truth));
    stream->times[i] = (gint64)llround (1e9 * time) + 100 * SECOND;
    g_autofree gchar *file = g_strdup_printf ("%s/scans/%06u.pcd", folder, i);
    NdtCloudView view;
    NdtPcdFile *pcd = ndt_pcd_file_open (file, &error);
    g_assert_no_error (error);
    g_assert_true (ndt_pcd_file_get_points (pcd, &view, &error));
    stream->sizes[i] = (guint)view.n_points;
    stream->scans[i] = g_new (float, 3 * view.n_points);
    for (gsize k = 0; k < view.n_points; k++) {
      memcpy (stream->scans[i] + 3 * k, view.x + k * view.stride, sizeof (float));
      memcpy (stream->scans[i] + 3 * k + 1, view.y + k * view.stride, sizeof (float));
      memcpy (stream->scans[i] + 3 * k + 2, view.z + k * view.stride, sizeof (float));
    }
    ndt_pcd_file_free (pcd);
    stream->n = i + 1;
  }
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = 1;
  g_autoptr (NdtVoxelMap) map = ndt_map_load (map_path, &params, &error);
  g_assert_no_error (error);
  open_backend (stream, map);
  return TRUE;
}

static inline void
free_drive (Drive *stream)
{
  ndt_backend_close (stream->backend);
  for (guint i = 0; i < stream->n; i++) {
    g_free (stream->scans[i]);
    g_free (stream->point_times[i]);
  }
}

/* Ten scans a second of 16 rings at @speed, in a map with cells of 2 m; @moving: with points that
 * are measured on the way. */
static inline void
simulate_drive (Drive *stream, NdtSimWorldKind kind, double speed, gboolean moving)
{
  enum { COLUMNS = 360, RINGS = 16 };
  const NdtSimDriver driver = {speed, 2, 1.5};
  const NdtSimSensor sensor = {.n_rings = RINGS,
      .n_columns = COLUMNS,
      .max_range = 60,
      .range_noise = 0.02,
      .motion_distortion = moving,
      .mount_height = 1.8,
      .noise_seed = 1};
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, 1);
  g_autoptr (NdtSimMotion) motion = ndt_sim_motion_new (world->path, &driver, 0);
  g_autoptr (NdtSimScanner) scanner = ndt_sim_scanner_new (world, motion, motion, &sensor, 0);
  g_autoptr (GArray) points = ndt_sim_map_sample (world, 0.4, 0.02, 1);
  g_autofree NdtSimReturn *returns = g_new (NdtSimReturn, COLUMNS * RINGS);
  const NdtCloudView view =
      ndt_cloud_view_xyz_f64 ((const double *)(gpointer)points->data, points->len);
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  map_params.resolution = 2;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &view, NULL);
  open_backend (stream, map);
  stream->n = MAX_SCANS;
  for (guint i = 0; i < MAX_SCANS; i++) {
    const double start = 5 + PERIOD * i, end = start + PERIOD;
    float *scan = stream->scans[i] = g_new (float, 3 * COLUMNS * RINGS);
    float *times = stream->point_times[i] = moving ? g_new (float, COLUMNS *RINGS) : NULL;
    ndt_sim_scanner_cast (scanner, i, start, end, returns);
    for (guint c = 0; c < COLUMNS; c++)
      for (guint r = 0; r < RINGS; r++) {
        double beam[3];
        const float range = returns[c * RINGS + r].range;
        if (!(range > 0))
          continue;
        ndt_sim_scanner_get_beam (scanner, c, r, beam);
        for (guint k = 0; k < 3; k++)
          scan[3 * stream->sizes[i] + k] = (float)(beam[k] * (double)range);
        if (moving)
          times[stream->sizes[i]] = (float)(PERIOD * c / COLUMNS);
        stream->sizes[i]++;
      }
    ndt_sim_scanner_get_pose (scanner, end, &stream->truths[i]);
    stream->times[i] = (gint64)llround (1e9 * end);
  }
}
