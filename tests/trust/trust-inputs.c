/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "trust-rows.h"

#define COLUMNS 512

static void
free_points (gpointer points)
{
  g_array_unref (points);
}

static void
free_drive (gpointer drive)
{
  trust_drive_free (drive);
}

TrustInputs *
trust_inputs_new (const gchar *cache)
{
  TrustInputs *inputs = g_new0 (TrustInputs, 1);
  inputs->cache = g_strdup (cache);
  g_mkdir_with_parents (cache, 0755);
  inputs->drives = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_drive);
  inputs->maps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_points);
  return inputs;
}

void
trust_inputs_free (TrustInputs *inputs)
{
  g_hash_table_unref (inputs->drives);
  g_hash_table_unref (inputs->maps);
  g_free (inputs->cache);
  g_free (inputs);
}

/* ---- Inputs ---- */

static void
keep_drive (TrustInputs *inputs, gchar *key, TrustDrive *drive)
{
  const double origin[3] = {inputs->moved, inputs->moved, inputs->moved};
  NdtPose from;
  ndt_pose_from_rpy (origin, 0, 0, inputs->turned, &from);
  for (guint i = 0; i < drive->n; i++)
    ndt_pose_compose (&from, &drive->truths[i], &drive->truths[i]);
  g_hash_table_insert (inputs->drives, key, drive);
}

const TrustDrive *
trust_inputs_get_sim (TrustInputs *inputs, gint world, guint seed, guint n, double spin,
    double carried, double spin_then)
{
  const TrustSim sim = {
      (NdtSimWorldKind)world, seed, n, COLUMNS, 0, 31.0 * seed, spin, carried, spin_then};
  gchar *key = g_strdup_printf ("%d-%u-%u-%g-%g-%g", world, seed, n, spin, carried, spin_then);
  TrustDrive *drive = g_hash_table_lookup (inputs->drives, key);
  if (drive) {
    g_free (key);
    return drive;
  }
  drive = trust_drive_simulate (&sim, inputs->cache);
  keep_drive (inputs, key, drive);
  return drive;
}

static const TrustDrive *
get_recorded (TrustInputs *inputs, gint which)
{
  static const gchar *const folders[] = {
      "seq_kitti_drive0005", "seq_balm_os0", "seq_robot_building"};
  const gchar *folder = folders[which - TRUST_KITTI];
  TrustDrive *drive = g_hash_table_lookup (inputs->drives, folder);
  if (!drive) {
    drive = trust_drive_read (folder, which == TRUST_ROBOT, which == TRUST_ROBOT ? 2 : 1);
    if (drive)
      keep_drive (inputs, g_strdup (folder), drive);
  }
  return drive;
}

const TrustDrive *
trust_inputs_get_drive (TrustInputs *inputs, gint which, guint seed, guint n)
{
  return which >= TRUST_KITTI ? get_recorded (inputs, which)
                              : trust_inputs_get_sim (inputs, which, seed, n, 0, 0, 0);
}

/* Removes the points of a hall's walls and roof that lie on their outer faces, 0.3 m behind those
 * that scans see. */
static void
remove_outside (GArray *points)
{
  static const float least[3] = {-24.32f, -4.15f, -1}, most[3] = {24.38f, 69.15f, 8.65f};
  float *p = (float *)(gpointer)points->data;
  guint n = 0;
  for (guint i = 0; i < points->len; i++) {
    gboolean inside = TRUE;
    for (guint k = 0; k < 3; k++)
      inside = inside && p[3 * i + k] > least[k] && p[3 * i + k] < most[k];
    if (inside)
      memmove (p + 3 * n++, p + 3 * i, 3 * sizeof (float));
  }
  g_array_set_size (points, n);
}

const GArray *
trust_inputs_get_map (TrustInputs *inputs, gint which, guint seed)
{
  gchar *key = g_strdup_printf ("%d-%u", which, which >= TRUST_KITTI ? 0 : seed);
  GArray *points = g_hash_table_lookup (inputs->maps, key);
  if (points) {
    g_free (key);
    return points;
  }
  if (which == TRUST_KITTI)
    points = trust_map_read ("seq_kitti_drive0005", "map_even_0.25.pcd");
  else if (which == TRUST_BALM)
    points = trust_map_read ("seq_balm_os0", "map_even_0.20.pcd");
  else if (which == TRUST_ROBOT) {
    g_autoptr (TrustDrive) even = trust_drive_read ("seq_robot_building", 0, 2);
    points = even ? trust_map_of_drive (even) : NULL;
  } else {
    points = trust_map_simulate ((NdtSimWorldKind)which, seed, inputs->cache);
    if (inputs->inside && which == NDT_SIM_WORLD_HALL)
      remove_outside (points);
  }
  for (guint i = 0; points && i < points->len; i++) {
    float *p = (float *)(gpointer)points->data + 3 * i;
    const double x = (double)p[0], y = (double)p[1];
    p[0] = (float)(cos (inputs->turned) * x - sin (inputs->turned) * y + inputs->moved);
    p[1] = (float)(sin (inputs->turned) * x + cos (inputs->turned) * y + inputs->moved);
    p[2] += (float)inputs->moved;
  }
  if (points)
    g_hash_table_insert (inputs->maps, key, points);
  else
    g_free (key);
  return points;
}
