/* SPDX-License-Identifier: MIT */
#include "ndt-map-metadata.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"
#include "ndtcore/base/ndt-tuning.h"

typedef struct {
  const gchar *path;
  yaml_document_t document;
  NdtMapMetadata *metadata;
} Reader;

void
ndt_map_metadata_free (NdtMapMetadata *metadata)
{
  g_hash_table_unref (metadata->corners);
  g_free (metadata);
}

static gboolean
refuse (const Reader *reader, const yaml_node_t *node, GError **error, const gchar *what)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s, line %" G_GSIZE_FORMAT ": %s", reader->path,
      (gsize)node->start_mark.line + 1, what);
  return FALSE;
}

/* The text of a scalar; NULL of anything else. */
static const gchar *
get_text (const yaml_node_t *node)
{
  return node && node->type == YAML_SCALAR_NODE ? (const gchar *)node->data.scalar.value : NULL;
}

static gboolean
get_number (const yaml_node_t *node, double *value)
{
  if (!get_text (node))
    return FALSE;
  const NdtToken token = {get_text (node), node->data.scalar.length};
  return ndt_token_to_double (&token, value) && isfinite (*value);
}

static gboolean
read_size (Reader *reader, const yaml_node_t *node, double *size, GError **error)
{
  if (*size > 0)
    return refuse (reader, node, error, "a resolution is given twice");
  return (get_number (node, size) && *size > 0) ||
         refuse (reader, node, error, "a resolution is not a number above 0");
}

static gboolean
read_corner (Reader *reader, const gchar *name, const yaml_node_t *node, GError **error)
{
  double corner[2];
  const yaml_node_item_t *items = NULL;
  if (node->type == YAML_SEQUENCE_NODE &&
      node->data.sequence.items.top - node->data.sequence.items.start == 2)
    items = node->data.sequence.items.start;
  for (guint k = 0; k < 2; k++)
    if (!items || !get_number (yaml_document_get_node (&reader->document, items[k]), &corner[k]))
      return refuse (reader, node, error, "the corner of a tile is not [x, y]");
  if (!g_hash_table_insert (
          reader->metadata->corners, g_strdup (name), g_memdup2 (corner, sizeof corner)))
    return refuse (reader, node, error, "a file is listed twice");
  return TRUE;
}

static gboolean
read_document (Reader *reader, GError **error)
{
  NdtMapMetadata *metadata = reader->metadata;
  const yaml_node_t *root = yaml_document_get_root_node (&reader->document);
  if (!root || root->type != YAML_MAPPING_NODE) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "%s: no lines \"x_resolution: METRES\" and \"FILE.pcd: [x, y]\"", reader->path);
    return FALSE;
  }
  for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
       pair < root->data.mapping.pairs.top; pair++) {
    const gchar *key = get_text (yaml_document_get_node (&reader->document, pair->key));
    const yaml_node_t *value = yaml_document_get_node (&reader->document, pair->value);
    gboolean ok = TRUE;
    if (!key || !value)
      continue;
    if (strcmp (key, "x_resolution") == 0)
      ok = read_size (reader, value, &metadata->size[0], error);
    else if (strcmp (key, "y_resolution") == 0)
      ok = read_size (reader, value, &metadata->size[1], error);
    else if (ndt_file_is_points (key))
      ok = read_corner (reader, key, value, error);
    if (!ok)
      return FALSE;
  }
  const gchar *missing = !(metadata->size[0] > 0)                     ? "x_resolution"
                         : !(metadata->size[1] > 0)                   ? "y_resolution"
                         : g_hash_table_size (metadata->corners) == 0 ? "a file of points"
                                                                      : NULL;
  if (missing)
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s: %s is missing", reader->path, missing);
  return missing == NULL;
}

NdtMapMetadata *
ndt_map_metadata_load (const gchar *path, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autofree gchar *shown = g_filename_display_name (path);
  gsize size;
  if (!ndt_file_read (path, NDT_METADATA_MAX_SIZE, &text, &size, error))
    return NULL;
  return ndt_map_metadata_parse (text, size, shown, error);
}

/* Checks the depth of nesting. libyaml visits all open brackets at each token, so that 200 KB of
 * "[" take a minute; tiles are nested two deep. Other faults are found when the document is read.
 */
static gboolean
check_depth (const gchar *text, gsize size, const gchar *name, GError **error)
{
  yaml_parser_t parser;
  guint depth = 0;
  gboolean goes_on = TRUE;
  if (!yaml_parser_initialize (&parser))
    return TRUE;
  yaml_parser_set_input_string (&parser, (const yaml_char_t *)text, size);
  while (goes_on && depth <= NDT_METADATA_MAX_DEPTH) {
    yaml_event_t event;
    if (!yaml_parser_parse (&parser, &event))
      break;
    const yaml_event_type_t type = event.type;
    depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
    depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
    goes_on = type != YAML_STREAM_END_EVENT;
    if (depth > NDT_METADATA_MAX_DEPTH)
      g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
          "%s, line %" G_GSIZE_FORMAT ": lists or mappings more than %d deep", name,
          (gsize)event.start_mark.line + 1, NDT_METADATA_MAX_DEPTH);
    yaml_event_delete (&event);
  }
  yaml_parser_delete (&parser);
  return depth <= NDT_METADATA_MAX_DEPTH;
}

NdtMapMetadata *
ndt_map_metadata_parse (const gchar *text, gsize size, const gchar *name, GError **error)
{
  g_autoptr (NdtMapMetadata) metadata = g_new0 (NdtMapMetadata, 1);
  metadata->corners = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  Reader reader = {.path = name, .metadata = metadata};
  yaml_parser_t parser;
  if (!check_depth (text, size, name, error))
    return NULL;
  if (!yaml_parser_initialize (&parser)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "%s: no memory", name);
    return NULL;
  }
  yaml_parser_set_input_string (&parser, (const yaml_char_t *)text, size);
  gboolean ok = yaml_parser_load (&parser, &reader.document) != 0;
  if (ok) {
    ok = read_document (&reader, error);
    yaml_document_delete (&reader.document);
  } else {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s, line %" G_GSIZE_FORMAT ": no YAML (%s)",
        name, (gsize)parser.problem_mark.line + 1, parser.problem ? parser.problem : "no memory");
  }
  yaml_parser_delete (&parser);
  return ok ? g_steal_pointer (&metadata) : NULL;
}
