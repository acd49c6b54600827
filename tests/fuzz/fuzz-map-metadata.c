/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "fuzz.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/mapfile/ndt-map-metadata.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtMapMetadata) metadata =
      ndt_map_metadata_parse ((const gchar *)data, size, "fuzz", &error);
  g_assert_true ((metadata != NULL) == (error == NULL));
  if (!metadata)
    return 0;
  g_assert_cmpuint (g_hash_table_size (metadata->corners), >, 0);
  for (guint k = 0; k < 2; k++)
    g_assert_true (metadata->size[k] > 0 && isfinite (metadata->size[k]));
  GHashTableIter iter;
  gpointer name, corner;
  g_hash_table_iter_init (&iter, metadata->corners);
  while (g_hash_table_iter_next (&iter, &name, &corner)) {
    g_assert_true (ndt_file_is_points (name));
    for (guint k = 0; k < 2; k++)
      g_assert_true (isfinite (((const double *)corner)[k]));
  }
  return 0;
}
