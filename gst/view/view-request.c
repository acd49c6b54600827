/* SPDX-License-Identifier: MIT */
#include "view-request.h"

#include <math.h>
#include <string.h>

/* The parser recurses. */
#define MAX_DEPTH 8

static gboolean
is_deep (const gchar *text)
{
  guint depth = 0;

  for (const gchar *c = text; *c; c++) {
    if ((*c == '[' || *c == '{') && ++depth > MAX_DEPTH)
      return TRUE;
    if ((*c == ']' || *c == '}') && depth > 0)
      depth--;
  }
  return FALSE;
}

JsonParser *
view_request_parse_object (const gchar *text)
{
  JsonParser *parser = json_parser_new ();

  if (!is_deep (text) && json_parser_load_from_data (parser, text, -1, NULL) &&
      json_parser_get_root (parser) && JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return parser;
  g_object_unref (parser);
  return NULL;
}

gboolean
view_request_parse (const gchar *text, double pose[4])
{
  g_autoptr (JsonParser) parser = view_request_parse_object (text);

  if (!parser)
    return FALSE;
  JsonNode *root = json_parser_get_root (parser);
  JsonNode *node = json_object_get_member (json_node_get_object (root), "pose");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node) ||
      json_array_get_length (json_node_get_array (node)) != 4)
    return FALSE;
  for (guint i = 0; i < 4; i++) {
    JsonNode *number = json_array_get_element (json_node_get_array (node), i);
    if (!JSON_NODE_HOLDS_VALUE (number))
      return FALSE;
    pose[i] = json_node_get_double (number);
    if (!isfinite (pose[i]))
      return FALSE;
  }
  return TRUE;
}

GBytes *
view_reply_new (const gchar *kind, const gchar *text)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, kind);
  json_builder_add_string_value (builder, text);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree gchar *json = json_to_string (root, FALSE);
  return view_message_new (json, strlen (json), TRUE);
}
