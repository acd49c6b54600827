/* SPDX-License-Identifier: MIT */
#include "ndt-map-clean.h"

#include <math.h>
#include <string.h>

#include "ndt-map-maker.h"
#include "ndtcore/math/ndt-pose.h"

/* Bins of a scan's directions, of a degree and a half. */
#define COLUMNS 240
#define ROWS 120
/* Metres, and fraction of the range, by which a beam has to go on, or that a point counts as seen
 * within. */
#define MARGIN 0.5
#define MARGIN_SHARE 0.03
/* Edge of the squares that points are looked up by, metres. */
#define SQUARE 20.0
/* Scans that have to see through a point, at least. */
#define LEAST 2

typedef struct {
  float nearest[ROWS][COLUMNS];  /* of the bin's returns; INFINITY without one … */
  float smallest[ROWS][COLUMNS]; /* … and of it and those around */
} Image;

static gboolean
get_bin (const double p[3], gint *row, gint *column, double *range)
{
  *range = sqrt (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  if (!(*range > 0.5))
    return FALSE;
  *column = (gint)((atan2 (p[1], p[0]) / (2 * G_PI) + 0.5) * COLUMNS) % COLUMNS;
  *row = CLAMP ((gint)((asin (CLAMP (p[2] / *range, -1, 1)) / G_PI + 0.5) * ROWS), 0, ROWS - 1);
  return TRUE;
}

static void
fill_image (const NdtKeyScan *key, Image *image)
{
  gint row, column;
  double range;
  for (guint i = 0; i < ROWS * COLUMNS; i++)
    (&image->nearest[0][0])[i] = INFINITY;
  for (guint i = 0; i < key->n_points; i++) {
    const float *f = key->points + 3 * i;
    const double p[3] = {(double)f[0], (double)f[1], (double)f[2]};
    if (get_bin (p, &row, &column, &range))
      image->nearest[row][column] = MIN (image->nearest[row][column], (float)range);
  }
  for (row = 0; row < ROWS; row++)
    for (column = 0; column < COLUMNS; column++) {
      float least = INFINITY;
      for (gint r = MAX (row - 1, 0); r <= MIN (row + 1, ROWS - 1); r++)
        for (gint c = column - 1; c <= column + 1; c++)
          least = MIN (least, image->nearest[r][(c + COLUMNS) % COLUMNS]);
      image->smallest[row][column] = least;
    }
}

static gint64
square_of (double x, double y)
{
  const guint64 column = (guint64)(gint64)floor (x / SQUARE);
  const guint64 row = (guint64)(gint64)floor (y / SQUARE);

  return (gint64)(column << 32 | (row & 0xffffffff));
}

/* Indices of the points in each square. */
static GHashTable *
sort_points (const double *xyz, gsize n)
{
  GHashTable *squares =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_array_unref);
  for (gsize i = 0; i < n; i++) {
    gint64 key = square_of (xyz[3 * i], xyz[3 * i + 1]);
    GArray *square = g_hash_table_lookup (squares, &key);
    if (!square) {
      square = g_array_new (FALSE, FALSE, sizeof (gsize));
      g_hash_table_insert (squares, g_memdup2 (&key, sizeof key), square);
    }
    g_array_append_val (square, i);
  }
  return squares;
}

void
ndt_map_look (const double *xyz, gsize n, const GArray *keys, double max_range, guint8 *sights)
{
  g_autofree Image *image = g_new (Image, 1);
  g_autofree guint16 *seen = g_new0 (guint16, n + 1);
  g_autofree guint16 *through = g_new0 (guint16, n + 1);
  g_autoptr (GHashTable) squares = sort_points (xyz, n);
  const gint reach = (gint)ceil (max_range / SQUARE);
  for (guint k = 0; k < keys->len; k++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, k);
    const double *at = key->sensor.position;
    NdtPose inverse;
    fill_image (key, image);
    ndt_pose_invert (&key->sensor, &inverse);
    for (gint sx = -reach; sx <= reach; sx++)
      for (gint sy = -reach; sy <= reach; sy++) {
        gint64 id = square_of (at[0] + sx * SQUARE, at[1] + sy * SQUARE);
        const GArray *square = g_hash_table_lookup (squares, &id);
        for (guint j = 0; square && j < square->len; j++) {
          const gsize i = g_array_index (square, gsize, j);
          double p[3], range;
          gint row, column;
          ndt_pose_transform_point (&inverse, xyz + 3 * i, p);
          if (!get_bin (p, &row, &column, &range) || range > max_range)
            continue;
          const double margin = MARGIN + MARGIN_SHARE * range;
          const double smallest = (double)image->smallest[row][column];
          /* A direction without a return says nothing. */
          if (isfinite (smallest) && isfinite (image->nearest[row][column]) &&
              smallest > range + margin)
            through[i] += through[i] < G_MAXUINT16;
          else if (fabs ((double)image->nearest[row][column] - range) <= margin)
            seen[i] += seen[i] < G_MAXUINT16;
        }
      }
  }
  for (gsize i = 0; i < n; i++)
    sights[i] = through[i] >= LEAST && through[i] > seen[i] ? NDT_MAP_GONE
                : seen[i] > 0                               ? NDT_MAP_SEEN
                                                            : NDT_MAP_UNSEEN;
}

gsize
ndt_map_clean (const double *xyz, gsize n, const GArray *keys, double max_range, guint8 *moved)
{
  gsize n_moved = 0;
  ndt_map_look (xyz, n, keys, max_range, moved);
  for (gsize i = 0; i < n; i++) {
    moved[i] = moved[i] == NDT_MAP_GONE;
    n_moved += moved[i];
  }
  return n_moved;
}
