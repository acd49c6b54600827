/* SPDX-License-Identifier: MIT */
/* The score as an objective, on the CPU. */
#include "score-checks.h"

static NdtBackend *
open_backend (const Scene *s)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  scene_give (backend, s);
  return backend;
}

static void
test_reweighted (void)
{
  Scene s = scene_new (60, 60000, 1501, 2, NULL);
  g_autoptr (NdtBackend) backend = open_backend (&s);
  check_reweighted (backend, &s);
  scene_clear (&s);
}

static void
test_asynchronous (void)
{
  Scene s = scene_new (60, 60000, 1501, 2, NULL);
  g_autoptr (NdtBackend) backend = open_backend (&s);
  check_asynchronous (backend, &s, 300);
  scene_clear (&s);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/score/reweighted", test_reweighted);
  g_test_add_func ("/score/asynchronous", test_asynchronous);
  return g_test_run ();
}
