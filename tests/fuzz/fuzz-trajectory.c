/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "fuzz.h"
#include "ndtcore/posefile/ndt-trajectory.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  for (guint format = NDT_TRAJECTORY_AUTO; format <= NDT_TRAJECTORY_CSV; format++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtTrajectory) trajectory = ndt_trajectory_parse (
        (const gchar *)data, size, "fuzz", (NdtTrajectoryFormat)format, &error);
    g_assert_true ((trajectory != NULL) == (error == NULL));
    if (!trajectory)
      continue;
    const gsize n = ndt_trajectory_get_n_poses (trajectory);
    g_assert_cmpuint (n, >, 0);
    for (gsize i = 0; i < n; i++) {
      const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
      double norm = 0;
      for (guint k = 0; pose && k < 4; k++)
        norm += pose->orientation[k] * pose->orientation[k];
      g_assert_true (!pose || fabs (norm - 1) < 1e-12);
      if (ndt_trajectory_has_times (trajectory) && i > 0) {
        const gint64 a = ndt_trajectory_get_time (trajectory, i - 1);
        const gint64 b = ndt_trajectory_get_time (trajectory, i);
        NdtPose between;
        g_assert_cmpint (a, <=, b);
        ndt_trajectory_interpolate (trajectory, a + (b - a) / 2, 0, &between);
      }
    }
  }
  return 0;
}
