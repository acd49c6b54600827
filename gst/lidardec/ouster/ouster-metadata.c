/* SPDX-License-Identifier: MIT */
#include "ouster-metadata.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define DEGREE (G_PI / 180)
#define MAX_COLUMNS 4096
#define MAX_DEPTH 16 /* those of all firmware have 5 */

G_DEFINE_QUARK (ouster - error, ouster_error)

static void
set_error (GError **error, const gchar *text)
{
  g_set_error_literal (error, OUSTER_ERROR, OUSTER_ERROR_METADATA, text);
}

/* Firmware 1 and 2 have everything at the root, later ones in groups. */
static JsonNode *
find (JsonObject *root, const gchar *name)
{
  if (json_object_has_member (root, name))
    return json_object_get_member (root, name);
  g_autoptr (GList) groups = json_object_get_values (root);
  for (GList *l = groups; l; l = l->next) {
    JsonNode *node = l->data;
    if (JSON_NODE_HOLDS_OBJECT (node) && json_object_has_member (json_node_get_object (node), name))
      return json_object_get_member (json_node_get_object (node), name);
  }
  return NULL;
}

static const gchar *
find_string (JsonObject *root, const gchar *name)
{
  JsonNode *node = find (root, name);
  if (node && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);
  return NULL;
}

static gboolean
is_number (JsonNode *node)
{
  return node && JSON_NODE_HOLDS_VALUE (node) &&
         (json_node_get_value_type (node) == G_TYPE_INT64 ||
             json_node_get_value_type (node) == G_TYPE_DOUBLE);
}

static gboolean
get_number (JsonNode *node, gdouble limit, gdouble *value)
{
  if (!is_number (node))
    return FALSE;
  *value = json_node_get_double (node);
  return isfinite (*value) && fabs (*value) <= limit;
}

/* Numbers of an array, in it or in the arrays that it holds; how many there are, 0 where some is
 * none or there are more than @max. */
static guint
get_numbers (JsonNode *node, gdouble limit, gdouble *values, guint max)
{
  guint n = 0;
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return 0;
  JsonArray *array = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (array); i++) {
    JsonNode *element = json_array_get_element (array, i);
    if (JSON_NODE_HOLDS_ARRAY (element)) {
      const guint k = get_numbers (element, limit, values + n, max - n);
      if (k == 0)
        return 0;
      n += k;
    } else if (n == max || !get_number (element, limit, &values[n])) {
      return 0;
    } else {
      n++;
    }
  }
  return n;
}

static gboolean
get_count (JsonNode *node, guint max, guint *value)
{
  gdouble number;
  if (!get_number (node, max, &number) || number < 1 || number != floor (number))
    return FALSE;
  *value = (guint)number;
  return TRUE;
}

/* Firmware before 2.0 says the frame's shape by its mode alone: "1024x10". */
static gboolean
parse_mode (OusterMetadata *self, const gchar *mode)
{
  const guint64 columns = mode ? g_ascii_strtoull (mode, NULL, 10) : 0;
  if (columns < 1 || columns > MAX_COLUMNS)
    return FALSE;
  self->columns = (guint)columns;
  self->packet_columns = 16;
  self->profile = OUSTER_PROFILE_LEGACY;
  return TRUE;
}

static gboolean
parse_format (OusterMetadata *self, JsonObject *root, GError **error)
{
  JsonNode *node = find (root, "data_format");
  guint n_beams;
  if (!node)
    node = find (root, "lidar_data_format");
  if (!node || !JSON_NODE_HOLDS_OBJECT (node)) {
    if (parse_mode (self, find_string (root, "lidar_mode")))
      return TRUE;
    set_error (error, "they have neither lidar_data_format nor lidar_mode");
    return FALSE;
  }
  JsonObject *format = json_node_get_object (node);
  if (!get_count (
          json_object_get_member (format, "columns_per_frame"), MAX_COLUMNS, &self->columns) ||
      !get_count (
          json_object_get_member (format, "columns_per_packet"), 64, &self->packet_columns) ||
      !get_count (
          json_object_get_member (format, "pixels_per_column"), OUSTER_MAX_BEAMS, &n_beams)) {
    set_error (error, "lidar_data_format lacks columns_per_frame, columns_per_packet or "
                      "pixels_per_column, or one is out of range");
    return FALSE;
  }
  if (n_beams != self->n_beams) {
    g_set_error (error, OUSTER_ERROR, OUSTER_ERROR_METADATA,
        "there are angles of %u beams, but pixels_per_column is %u", self->n_beams, n_beams);
    return FALSE;
  }
  /* The first firmware with this group has one profile, and no name for it. */
  const gchar *profile = json_object_get_string_member_with_default (
      format, "udp_profile_lidar", ouster_profile_get_name (OUSTER_PROFILE_LEGACY));
  if (profile && ouster_profile_from_name (profile, &self->profile))
    return TRUE;
  g_set_error (error, OUSTER_ERROR, OUSTER_ERROR_METADATA,
      "udp_profile_lidar is \"%s\", which is not known here", profile ? profile : "");
  return FALSE;
}

static gboolean
parse_angles (OusterMetadata *self, JsonObject *root, GError **error)
{
  const guint n_altitude =
      get_numbers (find (root, "beam_altitude_angles"), 90, self->altitude, OUSTER_MAX_BEAMS);
  const guint n_azimuth =
      get_numbers (find (root, "beam_azimuth_angles"), 360, self->azimuth, OUSTER_MAX_BEAMS);
  gboolean are_zero = TRUE;
  if (n_altitude == 0 || n_altitude != n_azimuth) {
    g_set_error (error, OUSTER_ERROR, OUSTER_ERROR_METADATA,
        "beam_altitude_angles and beam_azimuth_angles have to have 1 to %d angles, as many as each "
        "other",
        OUSTER_MAX_BEAMS);
    return FALSE;
  }
  self->n_beams = n_altitude;
  for (guint i = 0; i < self->n_beams; i++) {
    are_zero &= self->altitude[i] == 0;
    self->altitude[i] *= DEGREE;
    self->azimuth[i] *= DEGREE;
  }
  if (are_zero && self->n_beams > 1)
    set_error (error, "all beam_altitude_angles are 0");
  return !are_zero || self->n_beams == 1;
}

/* Origin of the beams, mm. Metadata of old firmware do not have it: it follows from the product. */
static void
parse_origin (OusterMetadata *self, JsonObject *root)
{
  static const struct {
    const gchar *product;
    gdouble origin;
  } products[] = {{"OS-0", 27.67}, {"OS-1", 15.806}, {"OS-2", 13.762},
      {"", 12.163}}; /* the first OS1, whose metadata name no product */
  gdouble transform[16], origin;
  const gchar *product = find_string (root, "prod_line");
  if (product)
    g_strlcpy (self->product, product, sizeof self->product);
  if (get_numbers (find (root, "beam_to_lidar_transform"), 1e4, transform, 16) == 16) {
    self->origin_x = transform[3] * 1e-3;
    self->origin_z = transform[11] * 1e-3;
  } else if (get_number (find (root, "lidar_origin_to_beam_origin_mm"), 1e4, &origin)) {
    self->origin_x = origin * 1e-3;
  } else {
    guint i = 0;
    while (!g_str_has_prefix (self->product, products[i].product))
      i++;
    self->origin_x = products[i].origin * 1e-3;
  }
}

static void
parse_transform (OusterMetadata *self, JsonObject *root)
{
  /* That of all sensors up to now. */
  static const gdouble usual[16] = {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 36.18, 0, 0, 0, 1};
  gdouble transform[16];
  if (get_numbers (find (root, "lidar_to_sensor_transform"), 1e6, transform, 16) != 16)
    memcpy (transform, usual, sizeof usual);
  for (guint i = 0; i < 12; i++)
    self->transform[i] = i % 4 == 3 ? transform[i] * 1e-3 : transform[i];
}

/* The parser calls itself for each level: what is nested deeper than any metadata would overflow
 * the stack. */
static gboolean
is_flat (const gchar *text, gssize size)
{
  guint depth = 0;
  gboolean in_string = FALSE;
  for (gssize i = 0; i < size; i++) {
    if (in_string && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      in_string = !in_string;
    else if (!in_string && (text[i] == '[' || text[i] == '{') && ++depth > MAX_DEPTH)
      return FALSE;
    else if (!in_string && (text[i] == ']' || text[i] == '}') && depth > 0)
      depth--;
  }
  return TRUE;
}

gboolean
ouster_metadata_parse (OusterMetadata *self, const gchar *text, gssize size, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GError) cause = NULL;
  memset (self, 0, sizeof *self);
  if (!g_utf8_validate (text, size, NULL)) {
    set_error (error, "they are no text");
    return FALSE;
  }
  if (!is_flat (text, size)) {
    g_set_error (error, OUSTER_ERROR, OUSTER_ERROR_METADATA,
        "they are nested more than %d levels deep", MAX_DEPTH);
    return FALSE;
  }
  if (!json_parser_load_from_data (parser, text, size, &cause)) {
    g_set_error (
        error, OUSTER_ERROR, OUSTER_ERROR_METADATA, "they are no JSON: %s", cause->message);
    return FALSE;
  }
  JsonNode *node = json_parser_get_root (parser);
  if (!node || !JSON_NODE_HOLDS_OBJECT (node)) {
    set_error (error, "they are no JSON object");
    return FALSE;
  }
  JsonObject *root = json_node_get_object (node);
  const gchar *clock = find_string (root, "timestamp_mode");
  const gchar *serial = find_string (root, "prod_sn");
  self->serial = serial ? g_ascii_strtoull (serial, NULL, 10) : 0;
  const gchar *io_mode = find_string (root, "multipurpose_io_mode");
  if (clock)
    g_strlcpy (self->clock, clock, sizeof self->clock);
  self->has_nmea = io_mode && g_str_has_suffix (io_mode, "INPUT_NMEA_UART");
  if (!get_number (find (root, "nmea_leap_seconds"), 1000, &self->leap_seconds))
    self->leap_seconds = 0;
  parse_transform (self, root);
  parse_origin (self, root);
  return parse_angles (self, root, error) && parse_format (self, root, error);
}
