/* SPDX-License-Identifier: MIT */
/* For builds without libyaml (-Dyaml=disabled): folders of tiles with metadata in YAML are refused.
 */
#include "ndt-map-metadata.h"
#include "ndtcore/base/ndt-error.h"

void
ndt_map_metadata_free (NdtMapMetadata *metadata)
{
  g_hash_table_unref (metadata->corners);
  g_free (metadata);
}

NdtMapMetadata *
ndt_map_metadata_load (const gchar *path, GError **error)
{
  return ndt_map_metadata_parse (NULL, 0, path, error);
}

NdtMapMetadata *
ndt_map_metadata_parse (const gchar *text, gsize size, const gchar *name, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
      "%s cannot be read: this program was built without libyaml (-Dyaml=disabled)", name);
  return NULL;
}
