/* SPDX-License-Identifier: MIT */
/* The set town_starts, as the benchmarks of CUDA read it. */
#pragma once

#include <glib.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"

/* x, y, z of a file with their number before them, in memory of the backend's host allocator.
 * Aborts where there is no such file. */
static inline float *
bench_read_cloud (NdtBackend *backend, const gchar *folder, const gchar *name, guint *n)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autofree gchar *data = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;
  gint32 count;
  if (!g_file_get_contents (path, &data, &size, &error))
    g_error ("%s", error->message);
  g_assert_cmpuint (size, >=, 4);
  memcpy (&count, data, 4);
  g_assert_cmpuint (size, >=, 4 + 12 * (gsize)count);
  float *xyz = ndt_backend_alloc_host (backend, 12 * (gsize)count);
  g_assert_nonnull (xyz);
  memcpy (xyz, data + 4, 12 * (gsize)count);
  *n = (guint)count;
  return xyz;
}
