/* SPDX-License-Identifier: MIT */
/* PLY and LAS. */
#include "fuzz.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/cloudfile/ndt-las.h"
#include "ndtcore/cloudfile/ndt-ply.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_auto (NdtCloudPoints) points = {.owned = NULL};
  g_autoptr (GError) error = NULL;
  NdtPlyHeader ply;
  NdtLasHeader las;

  const gboolean is_las = ndt_las_is_las (data, size);
  gboolean ok = is_las ? ndt_las_parse_header (data, size, &las, &error)
                       : ndt_ply_parse_header (data, size, &ply, &error);
  g_assert_true (ok == (error == NULL));
  if (!ok)
    return 0;
  ok = is_las ? ndt_las_read (&las, data, size, &points, &error)
              : ndt_ply_read (&ply, data, size, &points, &error);
  g_assert_true (ok == (error == NULL));
  if (!ok)
    return 0;
  /* Every point is there to be read, and defined; there are not more than bytes. */
  g_assert_cmpuint (points.view.n_points, <=, size);
  double sum = 0;
  for (gsize i = 0; i < points.view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&points.view, i, p);
    sum += p[0] + p[1] + p[2] + (points.intensities ? (double)points.intensities[i] : 0.0);
  }
  volatile double sink = sum;
  (void)sink;
  return 0;
}
