/* SPDX-License-Identifier: MIT */
#include "ndtcore/align/ndt-backend.h"

typedef struct {
  NdtLog log;
  GPtrArray *lines;
  guint n_evaluated;
} Log;

static void
receive (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  Log *log = user_data;
  g_ptr_array_add (log->lines, g_strdup_printf ("%d %s %s", level, category, message));
}

static void
log_init (Log *log, NdtLogLevel level)
{
  log->log = (NdtLog){receive, log, level};
  log->lines = g_ptr_array_new_with_free_func (g_free);
  log->n_evaluated = 0;
}

static guint
evaluate (Log *log)
{
  return ++log->n_evaluated;
}

static const gchar *
line (const Log *log, guint index)
{
  g_assert_cmpuint (index, <, log->lines->len);
  return g_ptr_array_index (log->lines, index);
}

static void
test_levels (void)
{
  Log log;
  log_init (&log, NDT_LOG_INFO);
  ndt_log (&log.log, NDT_LOG_DEBUG, "search", "%u", evaluate (&log));
  g_assert_cmpuint (log.lines->len, ==, 0);
  g_assert_cmpuint (log.n_evaluated, ==, 0);
  ndt_log (&log.log, NDT_LOG_INFO, "search", "%s %u", "candidates", evaluate (&log));
  g_assert_cmpstr (line (&log, 0), ==, "3 search candidates 1");
  ndt_log_set_level (&log.log, NDT_LOG_TRACE);
  ndt_log (&log.log, NDT_LOG_TRACE, "search", "plain");
  g_assert_cmpstr (line (&log, 1), ==, "5 search plain");
  ndt_log_set_level (&log.log, NDT_LOG_NONE);
  ndt_log (&log.log, NDT_LOG_ERROR, "search", "plain");
  ndt_log ((const NdtLog *)NULL, NDT_LOG_ERROR, "search", "%u", evaluate (&log));
  g_assert_cmpuint (log.lines->len, ==, 2);
  g_assert_cmpuint (log.n_evaluated, ==, 1);
  g_ptr_array_unref (log.lines);
}

/* A backend says which one it is and what map it has. */
static void
test_backend (void)
{
  static const float points[6][3] = {{0.1f, 0.1f, 0.1f}, {0.2f, 0.3f, 0}, {0.5f, 0, 0.4f},
      {1, 1, 1}, {0.7f, 1.2f, 0.3f}, {0, 1, 0}};
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (points[0], G_N_ELEMENTS (points));
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  Log log;
  log_init (&log, NDT_LOG_INFO);
  g_assert_null (config.log);
  config.n_threads = 1;
  config.log = &log.log;
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_get_log (backend) == &log.log);
  g_assert_true (
      g_pattern_match_simple ("3 backend CPU backend: * kernel, 1 threads*", line (&log, 0)));
  g_assert_true (ndt_backend_set_map_from_points (backend, &params, &view, NULL, NULL));
  g_assert_true (g_pattern_match_simple (
      "3 map cpu backend: a map of 1 voxels of 2 m, 3 levels, * from 6 points *", line (&log, 1)));
  ndt_backend_close (backend);
  g_assert_cmpuint (log.lines->len, ==, 2);
  g_ptr_array_unref (log.lines);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/log/levels", test_levels);
  g_test_add_func ("/log/backend", test_backend);
  return g_test_run ();
}
