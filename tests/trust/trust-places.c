/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ndtcore/align/ndt-overview-search.h"
#include "ndtcore/track/ndt-fit.h"
#include "trust-rows.h"

#define N 25
#define MOST 24

static double
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int
main (int argc, char *argv[])
{
  static const struct { const gchar *name; gint which; } worlds[] = {
    {"town", NDT_SIM_WORLD_TOWN}, {"hall", NDT_SIM_WORLD_HALL}, {"KITTI", TRUST_KITTI}, {"BALM", TRUST_BALM}, {"robot", TRUST_ROBOT}};
  TrustInputs *inputs = trust_inputs_new ("/tmp/start-cache");
  for (guint w = 0; w < G_N_ELEMENTS (worlds); w++) {
    const gint which = worlds[w].which;
    if (argc > 1 && strcmp (argv[1], worlds[w].name)) continue;
    const GArray *points = trust_inputs_get_map (inputs, which, 1);
    for (double r = 0.5; r <= 2; r *= 2) {
      NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
      const NdtCloudView view = ndt_cloud_view_xyz_f32 ((const float *)(gconstpointer)points->data, points->len);
      params.resolution = r;
      g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &view, NULL);
      double since = now ();
      g_autoptr (NdtOverview) overview = ndt_overview_new (map, NULL);
      g_print ("%s %g m: %d x %d cells of %g m, %.1f ms\n", worlds[w].name, r, overview->width, overview->height, overview->cell, 1e3 * (now () - since));
      guint right = 0, sure = 0, wrong = 0, ranks[N], nr = 0; double total = 0, most = 0; guint64 nodes = 0;
      g_autoptr (GString) text = g_string_new (NULL);
      for (guint i = 0; i < N; i++) {
        TrustDrive *own = NULL;
        const TrustDrive *drive; guint at;
        if (which < TRUST_KITTI) {
          const TrustSim sim = {(NdtSimWorldKind)which, 1, 1, 512, 0, 37.0 * i, 0};
          drive = own = trust_drive_simulate (&sim, "/tmp/start-cache"); at = 0;
        } else { drive = trust_inputs_get_drive (inputs, which, 1, 0); at = which == TRUST_ROBOT ? i * 8 : 2 * i + 1; }
        NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT; config.n_threads = 1;
        g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
        const NdtCloudView v = ndt_cloud_view_xyz_f32 (drive->scans[at], drive->sizes[at]);
        NdtScanFilter filter = NDT_SCAN_FILTER_NONE; filter.leaf_size = (float)(0.5 * r);
        ndt_backend_set_scan (backend, 0, &v, &filter, NULL);
        guint n; ndt_backend_get_scan (backend, 0, NULL, 0, &n, NULL);
        g_autofree float *xyz = g_new (float, 3 * n);
        ndt_backend_get_scan (backend, 0, xyz, n, &n, NULL);
        NdtRegistration reg; NdtRegistrationParams rp; ndt_registration_params_init (&rp);
        g_autoptr (GError) error = NULL;
        ndt_backend_set_map (backend, map, NULL);
        if (i == 0) { since = now (); g_autoptr (NdtOverview) o = ndt_backend_get_overview (backend, NULL); }
        else { g_autoptr (NdtOverview) o = ndt_backend_get_overview (backend, NULL); }
        since = now ();
        if (!ndt_register_anywhere (backend, 0, &rp, &reg, &error)) g_error ("%s", error->message);
        double t = now () - since; total += t; most = MAX (most, t); nodes += reg.evaluations;
        double share, density, m, a; ndt_backend_get_map_density (backend, &share, &density);
        const double fit = reg.nvtl * reg.matched_ratio / (reg.max_nvtl * ndt_fit_expected (0.55, r, share, density));
        ndt_pose_difference (&reg.pose, &drive->truths[at], &m, &a);
        const gboolean ok = m < (which == TRUST_ROBOT ? 1.0 : 0.2) && a < (which == TRUST_ROBOT ? 3 : 1) * G_PI / 180;
        right += ok; sure += ok && !reg.is_ambiguous; wrong += !ok && !reg.is_ambiguous && fit > 0.954;
        g_string_append_printf (text, " %s%s(%.2f,%.2f)", ok ? "" : "WRONG", reg.is_ambiguous ? "?" : "", fit, reg.runner_up);
        if (!ok) g_string_append_printf (text, "[%.1f m %.0f deg]", m, a * 180 / G_PI);
        if (own) trust_drive_free (own);
        (void)ranks; (void)nr;
      }
      g_print ("  %u of %d, sure %u, wrong %u, %.1f ms, most %.1f, %.0f nodes\n  %s\n", right, N, sure, wrong, 1e3 * total / N, 1e3 * most, (double)nodes / N, text->str);
    }
  }
  return 0;
}
