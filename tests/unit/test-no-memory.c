/* SPDX-License-Identifier: MIT */
/* What has the size of maps and scans: without the memory for it, an error, and what was there
 * before stays. */
#include <malloc.h>
#include <string.h>

#include "ndtcore/motion/ndt-deskew.h"
#include "ndtcore/motion/ndt-frames.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "tests/ndt-limit.h"
#include "tests/ndt-scene.h"

/* Limits bind a process: each test has its own. TRUE in that one. */
static gboolean
begin (void)
{
  if (g_getenv ("NDT_TEST_SANITIZER")) {
    g_test_skip ("sanitizers reserve more address space than a limit leaves");
    return FALSE;
  }
  if (g_test_subprocess ()) {
    /* What is small, messages of errors say, comes from memory that is there; what is large never
     * does. */
    mallopt (M_MMAP_THRESHOLD, 64 << 10);
    mallopt (M_TRIM_THRESHOLD, 64 << 20);
    gpointer blocks[64];
    for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
      blocks[i] = g_malloc (32 << 10);
    for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
      g_free (blocks[i]);
    return TRUE;
  }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  return FALSE;
}

#define STEP (256 << 10)

/* With more and more memory, until it is enough: each array in turn is the one that does not fit.
 */
static void
test_map (void)
{
  enum { N = 60000 };
  if (!begin ())
    return;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = 0.3;
  params.min_points = 3;
  params.keep_details = TRUE;
  g_autofree double *xyz = ndt_test_scene_cloud (NDT_TEST_YARD, N, 1);
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (xyz, N);
  g_autoptr (NdtVoxelMap) expected = ndt_voxel_map_new (&params, &points, NULL);
  g_autoptr (NdtVoxelMap) map = NULL;
  const gsize used = ndt_test_used_memory ();
  guint n_added = 0, n_built = 0;
  g_assert_nonnull (expected);
  for (gsize room = 0; !map; room += STEP) {
    g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (&params, NULL);
    g_autoptr (GError) error = NULL;
    const struct rlimit before = ndt_test_limit_memory (used + room);
    const gboolean added = ndt_voxel_map_builder_add (builder, 7, &points, NULL, &error);
    if (added)
      map = ndt_voxel_map_builder_build (builder, &error);
    g_assert_cmpint (setrlimit (RLIMIT_AS, &before), ==, 0);
    n_added += added;
    if (map)
      break;
    g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
    if (!added)
      continue;
    /* The sums are what they were. */
    g_autoptr (NdtVoxelMap) again = ndt_voxel_map_builder_build (builder, NULL);
    ndt_test_assert_maps_equal (again, expected);
    n_built++;
  }
  ndt_test_assert_maps_equal (map, expected);
  /* It was refused while points came and while the map was made. */
  g_assert_cmpuint (n_added, >, 1);
  g_assert_cmpuint (n_built, >, 1);
}

static gboolean
still (double time, NdtPose *pose, gpointer user_data)
{
  *pose = (NdtPose)NDT_POSE_IDENTITY;
  pose->position[0] = time;
  return TRUE;
}

/* Motion compensation takes no memory of a scan's size. */
static void
test_deskew (void)
{
  enum { N = 4 << 20 };
  if (!begin ())
    return;
  const float point[4] = {1, 2, 3, 0.5f};
  const NdtCloudView small = ndt_cloud_view (point, 1, 0, 0, 4, 8, NDT_SCALAR_F32);
  const NdtCloudView points = ndt_cloud_view (point, N, 0, 0, 4, 8, NDT_SCALAR_F32);
  const NdtTimeView times = {(const guint8 *)&point[3], 0, NDT_TIME_F32};
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  g_autofree float *out = g_new (float, 3 * (gsize)N);
  memset (out, 0, 3 * (gsize)N * sizeof (float));
  g_assert_cmpuint (ndt_deskew (deskewer, &small, &times, 0, still, NULL, out), ==, 1);
  ndt_test_limit_memory (ndt_test_used_memory () + (1 << 20));
  g_assert_cmpuint (ndt_deskew (deskewer, &points, &times, 0, still, NULL, out), ==, N);
  for (gsize i = 0; i < N; i++)
    g_assert_cmpfloat (out[3 * i], ==, 1.5f);
}

static void
test_frames (void)
{
  enum { N = 200000, MANY = 1 << 20 };
  if (!begin ())
    return;
  const float point[3] = {1, 2, 3};
  const NdtCloudView points = ndt_cloud_view (point, MANY, 0, 0, 4, 8, NDT_SCALAR_F32);
  g_autofree guint32 *frames = g_new0 (guint32, MANY);
  g_autofree NdtPose *poses = g_new (NdtPose, N);
  g_autoptr (NdtFrameTree) tree = ndt_frame_tree_new ();
  g_autoptr (GError) error = NULL;
  float out[3];
  for (guint i = 0; i < N; i++)
    poses[i] = (NdtPose)NDT_POSE_IDENTITY;
  g_assert_cmpuint (ndt_frame_tree_add (tree, 1, NULL, poses, NULL), ==, 0);

  const gsize used = ndt_test_used_memory ();
  gboolean added = FALSE;
  guint n_refused = 0;
  for (gsize room = 0; !added; room += 2 << 20) {
    const struct rlimit before = ndt_test_limit_memory (used + room);
    added = ndt_frame_tree_add (tree, N, NULL, poses, &error) == 1;
    g_assert_cmpint (setrlimit (RLIMIT_AS, &before), ==, 0);
    if (added)
      break;
    g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
    g_clear_error (&error);
    n_refused++;
    g_assert_cmpuint (ndt_frame_tree_get_n_frames (tree), ==, 1);
  }
  g_assert_cmpuint (n_refused, >, 2);

  /* Their matrices, points that are attached, and what becomes of these. */
  const NdtCloudView one = ndt_cloud_view_xyz_f32 (point, 1);
  struct rlimit before = ndt_test_limit_memory (ndt_test_used_memory () + (1 << 20));
  g_assert_false (ndt_frame_tree_transform (tree, 0, &one, frames, out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  g_clear_error (&error);
  g_assert_false (ndt_frame_tree_attach (tree, &points, frames, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  g_clear_error (&error);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &before), ==, 0);
  g_assert_true (ndt_frame_tree_move (tree, 0, NULL));
  g_assert_true (ndt_frame_tree_attach (tree, &points, frames, NULL));
  before = ndt_test_limit_memory (ndt_test_used_memory () + (1 << 20));
  g_assert_false (ndt_frame_tree_move (tree, 0, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY);
  g_assert_cmpint (setrlimit (RLIMIT_AS, &before), ==, 0);
  g_assert_true (ndt_frame_tree_move (tree, 0, NULL));
  g_assert_true (ndt_frame_tree_get_moved (tree, MANY - 1, 1, out, NULL));
  g_assert_cmpmem (out, sizeof (out), point, sizeof (point));
}

/* A file that cannot be written is not left behind. */
static void
test_pcd (void)
{
  enum { N = 1 << 20 };
  if (!begin ())
    return;
  const float point[3] = {1, 2, 3};
  const NdtCloudView points = ndt_cloud_view (point, N, 0, 0, 4, 8, NDT_SCALAR_F32);
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-no-memory-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  g_autoptr (GError) error = NULL;
  const struct rlimit before = ndt_test_limit_memory (ndt_test_used_memory () + (1 << 20));
  g_assert_false (ndt_pcd_write (path, &points, NDT_PCD_BINARY_COMPRESSED, &error));
  g_assert_cmpint (setrlimit (RLIMIT_AS, &before), ==, 0);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
  g_assert_nonnull (strstr (error->message, g_strerror (ENOMEM)));
  g_assert_cmpint (rmdir (folder), ==, 0);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/no-memory/map", test_map);
  g_test_add_func ("/no-memory/deskew", test_deskew);
  g_test_add_func ("/no-memory/frames", test_frames);
  g_test_add_func ("/no-memory/pcd", test_pcd);
  return g_test_run ();
}
