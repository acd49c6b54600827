/* SPDX-License-Identifier: MIT */
#include "lidartestsrc.h"

#include <math.h>

#include <glib/gstdio.h>

#include "ndtcore/cloudfile/ndt-pcd.h"

/* Runs ndt-map simulate with @options, which end with NULL. */
static void
simulate (const gchar *path, const gchar *const *options)
{
  g_autoptr (GPtrArray) command = g_ptr_array_new ();
  g_autofree gchar *output = NULL;
  g_autoptr (GError) error = NULL;
  gint status;

  g_ptr_array_add (command, (gpointer)g_getenv ("NDT_MAP"));
  g_ptr_array_add (command, (gpointer) "simulate");
  for (; *options; options++)
    g_ptr_array_add (command, (gpointer)*options);
  g_ptr_array_add (command, (gpointer)path);
  g_ptr_array_add (command, NULL);
  fail_unless (g_spawn_sync (NULL, (gchar **)command->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL,
      &output, NULL, &status, &error));
  fail_unless (g_spawn_check_wait_status (status, NULL));
}

static gchar *
temporary_folder (void)
{
  g_autoptr (GError) error = NULL;
  gchar *folder = g_dir_make_tmp ("lidartestsrc-XXXXXX", &error);

  g_assert_no_error (error);
  return folder;
}

/* Fraction of a scan's points, moved by the true pose, that have a point of the map in their cell
 * of 1 m or in one around it. */
static gdouble
fraction_near_map (GstBuffer *buffer, const NdtCloudView *view, const NdtPose *truth)
{
  const gdouble cell = 1;
  g_autoptr (GHashTable) cells = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  GstMapInfo map;
  guint n_near = 0, n = 0;

  for (gsize i = 0; i < view->n_points; i++) {
    gdouble p[3];
    gint64 key = 0;
    ndt_cloud_view_get (view, i, p);
    for (guint k = 0; k < 3; k++)
      key = key * (1 << 21) + (gint64)floor ((p[k] - truth->position[k]) / cell);
    g_hash_table_add (cells, g_memdup2 (&key, sizeof key));
  }
  gst_buffer_map (buffer, &map, GST_MAP_READ);
  for (gsize i = 0; i < map.size; i += 24, n++) {
    gfloat f[3];
    gdouble p[3], q[3];
    gboolean found = FALSE;

    memcpy (f, map.data + i, sizeof f);
    for (guint k = 0; k < 3; k++)
      p[k] = f[k];
    ndt_pose_transform_point (truth, p, q);
    for (gint around = 0; around < 27 && !found; around++) {
      const gint step[3] = {around % 3 - 1, around / 3 % 3 - 1, around / 9 - 1};
      gint64 key = 0;
      for (guint k = 0; k < 3; k++)
        key = key * (1 << 21) + (gint64)floor ((q[k] - truth->position[k]) / cell) + step[k];
      found = g_hash_table_contains (cells, &key);
    }
    n_near += found;
  }
  gst_buffer_unmap (buffer, &map);
  return (gdouble)n_near / n;
}

static const gchar *const worlds[] = {"town", "tunnel", "highway", "hall", "blocks"};

GST_START_TEST (test_map)
{
  g_autofree gchar *folder = temporary_folder ();
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  g_autofree gchar *properties = g_strdup_printf (
      "world=%s offset=\"388096, 3948996,-5\" moving-objects=0 max-range=20", worlds[__i__]);
  g_autofree gchar *world = g_strdup_printf ("--world=%s", worlds[__i__]);
  g_autoptr (GError) error = NULL;
  simulate (path, (const gchar *[]){world, "--offset=388096, 3948996,-5", "--map-spacing=1", NULL});
  GstHarness *h = harness (properties, NULL);
  NdtPcdFile *file = ndt_pcd_file_open (path, &error);
  g_autoptr (GstBuffer) buffer = gst_harness_pull (h);
  const NdtPose truth = pose_of (buffer, GST_POSE_ROLE_GROUND_TRUTH);
  NdtCloudView view;

  g_assert_no_error (error);
  fail_unless (ndt_pcd_file_get_points (file, &view, &error));
  fail_unless_equals_int (view.scalar, NDT_SCALAR_F64);
  fail_unless (fabs (truth.position[0] - 388096) < 2000);
  fail_unless (fabs (truth.position[1] - 3948996) < 2000);
  fail_unless (fabs (truth.position[2] + 5 - 1.8) < 0.1);
  fail_unless (fraction_near_map (buffer, &view, &truth) > 0.98);
  ndt_pcd_file_free (file);
  gst_harness_teardown (h);
  g_remove (path);
  g_rmdir (folder);
}

GST_END_TEST;

GST_START_TEST (test_map_in_float)
{
  g_autofree gchar *folder = temporary_folder ();
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  g_autoptr (GError) error = NULL;
  NdtPcdFile *file;
  NdtCloudView view;

  simulate (path, (const gchar *[]){"--world=hall", "--map-spacing=1", NULL});
  file = ndt_pcd_file_open (path, &error);
  g_assert_no_error (error);
  fail_unless (ndt_pcd_file_get_points (file, &view, &error));
  fail_unless_equals_int (view.scalar, NDT_SCALAR_F32);
  fail_unless (view.n_points > 10000);
  for (gsize i = 0; i < view.n_points; i++) {
    gdouble p[3];
    ndt_cloud_view_get (&view, i, p);
    fail_unless (fabs (p[0]) < 100 && fabs (p[1]) < 100 && p[2] > -0.2 && p[2] < 10);
  }
  ndt_pcd_file_free (file);
  g_remove (path);
  g_rmdir (folder);
}

GST_END_TEST;

GST_START_TEST (test_bad_settings)
{
  /* What is no pose is refused where it is set. */
  static const gchar *const offsets[] = {"1,2,3,90", "1,2,3,0,0,180"};
  static const gchar *const renamed[] = {"map-location=map.pcd", "map-spacing=1"};

  /* What writes the map is said. */
  for (guint i = 0; i < G_N_ELEMENTS (renamed); i++) {
    g_autofree gchar *line = g_strdup_printf (SMALL "%s num-buffers=1 ! fakesink", renamed[i]);
    g_autoptr (GError) refusal = run (line);
    fail_unless (g_error_matches (refusal, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    fail_unless (strstr (refusal->message, "ndt-map simulate") != NULL, "%s", refusal->message);
  }
  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++) {
    g_autofree gchar *line =
        g_strdup_printf (SMALL "offset=\"%s\" num-buffers=1 ! fakesink", offsets[i]);
    g_autoptr (GError) refusal = run (line);
    fail_unless (g_error_matches (refusal, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
        "offset \"%s\"", offsets[i]);
  }
}

GST_END_TEST;

static Suite *
lidartestsrc_map_suite (void)
{
  Suite *suite = suite_create ("lidartestsrc-map");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_add_loop_test (tc, test_map, 0, G_N_ELEMENTS (worlds));
  tcase_add_test (tc, test_map_in_float);
  tcase_add_test (tc, test_bad_settings);
  return suite;
}

GST_CHECK_MAIN (lidartestsrc_map);
