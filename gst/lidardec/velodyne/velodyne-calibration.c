/* SPDX-License-Identifier: MIT */
#include "velodyne-calibration.h"

#include <math.h>
#include <string.h>

#define DEGREE (G_PI / 180)

G_DEFINE_QUARK (velodyne - error, velodyne_error)

/* Elevation in degrees by number of the laser, from the manuals. */
static const gdouble vlp_16[] = {-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15};

static const gdouble vlp_32c[] = {-25, -1, -1.667, -15.639, -11.31, 0, -0.667, -8.843, -7.254,
    0.333, -0.333, -6.148, -5.333, 1.333, 0.667, -4, -4.667, 1.667, 1, -3.667, -3.333, 3.333, 2.333,
    -2.667, -3, 7, 4.667, -2.333, -2, 15, 10.333, -1.333};

/* Azimuth offsets in units of 1.4 degrees. */
static const gint8 vlp_32c_offsets[] = {1, -3, 1, -1, 1, -1, 3, -1, 1, -3, 1, -1, 3, -1, 3, -1, 1,
    -3, 1, -3, 3, -1, 1, -1, 1, -1, 1, -3, 3, -1, 1, -1};

static const gdouble vls_128[] = {-11.742, -1.99, 3.4, -5.29, -0.78, 4.61, -4.08, 1.31, -6.5, -1.11,
    4.28, -4.41, 0.1, 6.48, -3.2, 2.19, -3.86, 1.53, -9.244, -1.77, 2.74, -5.95, -0.56, 4.83, -2.98,
    2.41, -6.28, -0.89, 3.62, -5.07, 0.32, 7.58, -0.34, 5.18, -3.64, 1.75, -25, -2.43, 2.96, -5.73,
    0.54, 9.7, -2.76, 2.63, -7.65, -1.55, 3.84, -4.85, 3.18, -5.51, -0.12, 5.73, -4.3, 1.09,
    -16.042, -2.21, 4.06, -4.63, 0.76, 15, -3.42, 1.97, -6.85, -1.33, -5.62, -0.23, 5.43, -3.53,
    0.98, -19.582, -2.32, 3.07, -4.74, 0.65, 11.75, -2.65, 1.86, -7.15, -1.44, 3.95, -2.1, 3.29,
    -5.4, -0.01, 4.5, -4.19, 1.2, -13.565, -1.22, 4.17, -4.52, 0.87, 6.08, -3.31, 2.08, -6.65, 1.42,
    -10.346, -1.88, 3.51, -6.06, -0.67, 4.72, -3.97, 2.3, -6.39, -1, 4.39, -5.18, 0.21, 6.98, -3.09,
    4.98, -3.75, 1.64, -8.352, -2.54, 2.85, -5.84, -0.45, 8.43, -2.87, 2.52, -6.17, -1.66, 3.73,
    -4.96, 0.43};

/* They repeat every eight lasers. */
static const gdouble vls_128_offsets[] = {
    6.354, 4.548, 2.732, 0.911, -0.911, -2.732, -4.548, -6.354};

gboolean
velodyne_calibration_init_nominal (VelodyneCalibration *self, VelodyneModel model)
{
  memset (self, 0, sizeof *self);
  self->n_lasers = model == VELODYNE_MODEL_VLS_128                                         ? 128
                   : model == VELODYNE_MODEL_VLP_16 || model == VELODYNE_MODEL_PUCK_HI_RES ? 16
                                                                                           : 32;
  for (guint i = 0; i < self->n_lasers; i++) {
    VelodyneLaser *laser = &self->lasers[i];
    gdouble elevation, offset = 0, radius = 0;
    switch (model) {
    case VELODYNE_MODEL_VLP_16:
      elevation = vlp_16[i];
      radius = 0.0419;
      break;
    case VELODYNE_MODEL_PUCK_HI_RES:
      /* The same order, 1.333 degrees apart. */
      elevation = vlp_16[i] * 2 / 3;
      radius = 0.0419;
      break;
    case VELODYNE_MODEL_HDL_32E:
      elevation = (i % 2 == 0 ? -92.0 : -28.0) / 3 + i / 2 * 4.0 / 3;
      radius = 0.0287;
      break;
    case VELODYNE_MODEL_VLP_32C:
      elevation = vlp_32c[i];
      offset = vlp_32c_offsets[i] * 1.4;
      radius = 0.0424;
      break;
    case VELODYNE_MODEL_VLS_128:
      elevation = vls_128[i];
      offset = vls_128_offsets[i % 8];
      break;
    default:
      return FALSE;
    }
    laser->elevation = elevation * DEGREE;
    laser->rotation = -offset * DEGREE;
    /* Beams meet the axis at their lens's distance, not in one point. */
    laser->height = -radius * tan (laser->elevation);
  }
  return TRUE;
}

/* The next "key: value" of a subset of YAML: maps in lines or braces, lists of them; @is_item says
 * whether a list's item began before it. */
static gboolean
next_pair (const gchar **text, gchar *key, gsize key_size, const gchar **value, gboolean *is_item)
{
  const gchar *p = *text;
  *is_item = FALSE;
  while (*p) {
    if (*p == '#') {
      p += strcspn (p, "\n");
    } else if (*p == '-' && g_ascii_isspace (p[1])) {
      *is_item = TRUE;
      p++;
    } else if (g_ascii_isalpha (*p)) {
      const gsize n = strspn (p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      const gchar *end = p + n;
      if (*end == ':' && n < key_size) {
        memcpy (key, p, n);
        key[n] = 0;
        *value = end + 1 + strspn (end + 1, " \t");
        *text = *value;
        return TRUE;
      }
      p = end;
    } else {
      p++;
    }
  }
  return FALSE;
}

static gboolean
set_value (VelodyneLaser *laser, const gchar *key, const gchar *text)
{
  const struct {
    const gchar *key;
    gdouble *value;
  } values[] = {{"rot_correction", &laser->rotation}, {"vert_correction", &laser->elevation},
      {"dist_correction", &laser->distance}, {"dist_correction_x", &laser->distance_x},
      {"dist_correction_y", &laser->distance_y},
      {"vert_offset_correction", &laser->vertical_offset},
      {"horiz_offset_correction", &laser->horizontal_offset}};
  if (strcmp (key, "two_pt_correction_available") == 0)
    laser->has_two_points = g_ascii_strncasecmp (text, "true", 4) == 0;
  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    if (strcmp (key, values[i].key) != 0)
      continue;
    gchar *end;
    *values[i].value = g_ascii_strtod (text, &end);
    return end != text && isfinite (*values[i].value) && fabs (*values[i].value) < 10;
  }
  return TRUE;
}

gboolean
velodyne_calibration_parse (VelodyneCalibration *self, const gchar *text, GError **error)
{
  gchar key[64];
  const gchar *value;
  gboolean is_item, in_lasers = FALSE;
  VelodyneLaser laser = {0};
  gint64 id = -1;
  guint n_items = 0;
  guint8 is_there[128] = {0};

  memset (self, 0, sizeof *self);
  while (TRUE) {
    const gboolean more = next_pair (&text, key, sizeof key, &value, &is_item);
    if ((!more || is_item) && in_lasers && n_items > 0) {
      if (id < 0 || id >= 128 || is_there[id]) {
        g_set_error (error, VELODYNE_ERROR, VELODYNE_ERROR_CALIBRATION,
            "item %u of its lasers has no laser_id from 0 to 127 of its own", n_items);
        return FALSE;
      }
      self->lasers[id] = laser;
      is_there[id] = 1;
    }
    if (!more)
      break;
    if (is_item) {
      n_items++;
      laser = (VelodyneLaser){0};
      id = -1;
    }
    if (strcmp (key, "lasers") == 0)
      in_lasers = TRUE;
    else if (strcmp (key, "laser_id") == 0)
      id = g_ascii_strtoll (value, NULL, 10);
    else if (strcmp (key, "distance_resolution") == 0)
      self->resolution = g_ascii_strtod (value, NULL);
    else if (!set_value (&laser, key, value)) {
      g_set_error (error, VELODYNE_ERROR, VELODYNE_ERROR_CALIBRATION,
          "%s of item %u of its lasers is no number of radians or metres", key, n_items);
      return FALSE;
    }
  }
  for (self->n_lasers = 0; self->n_lasers < 128 && is_there[self->n_lasers];)
    self->n_lasers++;
  if (in_lasers && self->n_lasers == n_items && n_items > 0)
    return TRUE;
  g_set_error (error, VELODYNE_ERROR, VELODYNE_ERROR_CALIBRATION,
      n_items == 0 ? "it has no list \"lasers\"" : "laser_id of its lasers are not 0 to %u",
      n_items - 1);
  return FALSE;
}
