/* SPDX-License-Identifier: MIT */
#include "ouster.h"

#include <math.h>
#include <string.h>

#include "gst/lidardec/packet/packet-bytes.h"
#include "ouster-beams.h"
#include "ouster-crc.h"

/* Of all profiles but LEGACY. */
#define HEADER 32
#define FOOTER 32
#define COLUMN_HEADER 12

#define LEGACY_COLUMN_HEADER 16
#define LEGACY_COLUMN_FOOTER 4

#define MAX_PACKET_COLUMNS 64
/* ns from the first column of a packet to its last: 64 of 512 columns of a turn of 200 ms take 25.
 */
#define MAX_PACKET_TIME ((gint64)50000000)

#define IMU_SIZE 48
#define TYPE_LIDAR 1

#define CRC_PLACEHOLDER G_GUINT64_CONSTANT (0xdeadbeef0000c0de)

struct _Ouster {
  OusterMetadata metadata;
  const OusterProfileLayout *layout;
  gboolean is_legacy, is_fusa;
  gsize packet_size, column_size;
  OusterBeams *beams;

  /* the scan in the making */
  PacketScan *scan;
  gboolean *is_written; /* its columns */
  guint32 frame;
  gint64 last_time; /* of its columns */
  gboolean skips;   /* the rest of that frame: the clock was set within it */
  guint64 n_restarts;
};

static gsize
get_column_size (OusterProfile profile, guint n_beams)
{
  const gsize pixels = (gsize)n_beams * ouster_profile_get_layout (profile)->pixel_size;
  return profile == OUSTER_PROFILE_LEGACY ? LEGACY_COLUMN_HEADER + pixels + LEGACY_COLUMN_FOOTER
                                          : COLUMN_HEADER + pixels;
}

static gsize
get_packet_size (OusterProfile profile, guint n_beams, guint n_columns)
{
  const gsize columns = n_columns * get_column_size (profile, n_beams);
  return profile == OUSTER_PROFILE_LEGACY ? columns : HEADER + columns + FOOTER;
}

Ouster *
ouster_new (const OusterMetadata *metadata)
{
  Ouster *self = g_new0 (Ouster, 1);
  self->metadata = *metadata;
  self->layout = ouster_profile_get_layout (metadata->profile);
  self->is_legacy = metadata->profile == OUSTER_PROFILE_LEGACY;
  self->is_fusa = metadata->profile == OUSTER_PROFILE_FUSA_RNG15_RFL8_NIR8_DUAL;
  self->column_size = get_column_size (metadata->profile, metadata->n_beams);
  self->packet_size =
      get_packet_size (metadata->profile, metadata->n_beams, metadata->packet_columns);
  self->beams = ouster_beams_new (metadata);
  self->is_written = g_new (gboolean, metadata->columns);
  return self;
}

void
ouster_reset (Ouster *self)
{
  self->skips = FALSE;
  g_clear_pointer (&self->scan, packet_scan_free);
}

void
ouster_free (Ouster *self)
{
  ouster_reset (self);
  ouster_beams_free (self->beams);
  g_free (self->is_written);
  g_free (self);
}

static guint8
get_kind (guint return_number)
{
  return return_number == 0 ? PACKET_RETURN_STRONGEST : PACKET_RETURN_SECOND;
}

static PacketPoint *
get_plane (const Ouster *self, guint return_number)
{
  return self->scan->points +
         (gsize)return_number * self->metadata.n_beams * self->metadata.columns;
}

/* Columns that did not come are NaN. */
static void
complete (Ouster *self)
{
  const guint n_columns = self->metadata.columns;
  for (guint from = 0, to; from < n_columns; from = to + 1) {
    for (to = from; to < n_columns && !self->is_written[to];)
      to++;
    for (guint i = 0; to > from && i < self->layout->n_returns; i++)
      ouster_beams_clear (self->beams, from, to - from, get_kind (i), get_plane (self, i));
  }
}

/* Ends the scan; @end is the next one's first firing, negative where that is not known. */
static void
finish (Ouster *self, PacketCutter *cutter, gint64 end)
{
  const gint64 period = packet_cutter_get_period (cutter);
  if (!self->scan)
    return;
  complete (self);
  PacketScan *scan = g_steal_pointer (&self->scan);
  scan->duration = end >= 0 ? end - scan->time : MAX (period, self->last_time - scan->time);
  packet_cutter_take_scan (cutter, scan);
}

void
ouster_flush (Ouster *self, PacketCutter *cutter)
{
  finish (self, cutter, -1);
}

static void
begin (Ouster *self, PacketCutter *cutter, guint32 frame, gint64 time)
{
  const OusterMetadata *m = &self->metadata;
  PacketScan *scan = g_new0 (PacketScan, 1);
  const gsize plane = (gsize)m->n_beams * m->columns;
  scan->n_points = plane * self->layout->n_returns;
  scan->points = packet_cutter_take_points (cutter, scan->n_points);
  scan->is_organized = TRUE;
  packet_cutter_begin_scan (cutter, scan, time);
  self->last_time = time;
  memset (self->is_written, 0, m->columns * sizeof *self->is_written);
  self->scan = scan;
  self->frame = frame;
}

/* Moves the begin of the scan to a reordered packet of the same frame that is older than its first
 * one. FALSE: it is older by more than a packet, its time is another. */
static gboolean
begin_earlier (Ouster *self, gint64 time)
{
  PacketScan *scan = self->scan;
  const gint64 step = scan->time - time;
  if (step > MAX_PACKET_TIME)
    return FALSE;
  if (step <= 0)
    return TRUE;
  for (guint column = 0; column < self->metadata.columns; column++)
    for (gsize at = column; self->is_written[column] && at < scan->n_points;
         at += self->metadata.columns)
      scan->points[at].time += (gfloat)step * 1e-9f;
  scan->time -= step;
  scan->pts = MAX (scan->pts - step, 0);
  return TRUE;
}

/* A column of a packet. */
typedef struct {
  gint64 time;
  guint number;
  gboolean is_valid;
  const guint8 *pixels;
} Column;

/* The column of a packet whose first one is of @time, which is not looked at for that one. */
static Column
get_column (const Ouster *self, const guint8 *data, guint i, const gint64 *first_time)
{
  const guint8 *at = data + (self->is_legacy ? 0 : HEADER) + i * self->column_size;
  Column column = {.number = packet_read_le16 (at + 8)};
  const guint64 time = packet_read_le64 (at);
  column.time = (gint64)MIN (time, (guint64)G_MAXINT64 / 2);
  /* The clock was set within the packet. */
  if (first_time && (column.time < *first_time || column.time > *first_time + MAX_PACKET_TIME))
    column.time = *first_time;
  if (self->is_legacy) {
    column.pixels = at + LEGACY_COLUMN_HEADER;
    column.is_valid =
        packet_read_le32 (at + self->column_size - LEGACY_COLUMN_FOOTER) == G_MAXUINT32;
  } else {
    column.pixels = at + COLUMN_HEADER;
    column.is_valid = at[10] & 1;
  }
  return column;
}

/* Whether a packet of that size is one of another sensor or profile, which is named then. */
static gboolean
explain_size (const Ouster *self, gsize size, GError **error)
{
  static const guint beams[] = {16, 32, 64, 128};
  for (guint profile = 0; profile < OUSTER_N_PROFILES; profile++)
    for (guint i = 0; i < G_N_ELEMENTS (beams); i++)
      if (get_packet_size ((OusterProfile)profile, beams[i], self->metadata.packet_columns) ==
          size) {
        g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
            "it has the size of %u beams in profile %s, but the metadata are of %u beams in %s",
            beams[i], ouster_profile_get_name ((OusterProfile)profile), self->metadata.n_beams,
            self->layout->name);
        return TRUE;
      }
  return FALSE;
}

/* The sensor's serial number; 0: the packet does not say it. */
static guint64
get_serial (const Ouster *self, const guint8 *data)
{
  if (self->is_legacy)
    return 0;
  const guint8 *at = data + (self->is_fusa ? 11 : 7);
  return packet_read_le32 (at) | (guint64)at[4] << 32;
}

/* Beams of another sensor of the same size and shape lie elsewhere. */
static gboolean
check_serial (const Ouster *self, const guint8 *data, GError **error)
{
  const guint64 serial = get_serial (self, data), expected = self->metadata.serial;
  if (serial == expected || serial == 0 || expected == 0)
    return TRUE;
  g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
      "it is of the sensor with the serial number %" G_GUINT64_FORMAT
      ", but the metadata are of %s%s%" G_GUINT64_FORMAT,
      serial, self->metadata.product, *self->metadata.product ? " " : "", expected);
  return FALSE;
}

static gboolean
check_crc (const Ouster *self, const guint8 *data)
{
  const guint64 expected = packet_read_le64 (data + self->packet_size - 8);
  /* Firmware before 3.1 has none, but may fill its place. */
  if (expected == 0 || expected == CRC_PLACEHOLDER)
    return TRUE;
  return ouster_crc (data, self->packet_size - 8) == expected;
}

static gboolean
check_packet (const Ouster *self, const guint8 *data, gsize size, gboolean *is_data, GError **error)
{
  *is_data = TRUE;
  if (self->is_legacy && size == IMU_SIZE) {
    *is_data = FALSE;
    return TRUE;
  }
  if (size != self->packet_size) {
    /* Packets of the inertial unit and of zones say so, whatever their size. */
    *is_data = self->is_legacy || size < HEADER ||
               (size != IMU_SIZE && (packet_read_le16 (data) < 2 || packet_read_le16 (data) > 5));
    if (*is_data && !explain_size (self, size, error))
      g_set_error (error, PACKET_ERROR, PACKET_ERROR_SIZE,
          "it has %" G_GSIZE_FORMAT " bytes instead of %" G_GSIZE_FORMAT, size, self->packet_size);
    return !*is_data;
  }
  const guint type = self->is_fusa ? data[0] : packet_read_le16 (data);
  if (!self->is_legacy && type != TYPE_LIDAR) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_FOREIGN, "its type is %u instead of %d", type,
        TYPE_LIDAR);
    return FALSE;
  }
  if (!self->is_legacy && !check_crc (self, data)) {
    g_set_error_literal (error, PACKET_ERROR, PACKET_ERROR_CORRUPT, "its checksum is wrong");
    return FALSE;
  }
  if (!check_serial (self, data, error))
    return FALSE;
  for (guint i = 0; i < self->metadata.packet_columns; i++) {
    const Column column = get_column (self, data, i, NULL);
    if (!column.is_valid || column.number < self->metadata.columns)
      continue;
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT, "it has column %u, but a frame has %u",
        column.number, self->metadata.columns);
    return FALSE;
  }
  return TRUE;
}

/* Decodes the columns from number @first of the packet on, as long as they follow each other in the
 * frame. Returns the number of the next. */
static guint
decode_columns (Ouster *self, const guint8 *data, guint first, gint64 time)
{
  const OusterProfileLayout *layout = self->layout;
  gfloat times[MAX_PACKET_COLUMNS];
  const Column begin = get_column (self, data, first, &time);
  Column column = begin;
  guint n = 0;
  if (!begin.is_valid)
    return first + 1;
  while (column.is_valid && column.number == begin.number + n) {
    times[n] = (gfloat)((gdouble)(column.time - self->scan->time) * 1e-9);
    self->is_written[column.number] = TRUE;
    self->last_time = MAX (self->last_time, column.time);
    if (first + ++n == self->metadata.packet_columns)
      break;
    column = get_column (self, data, first + n, &time);
  }
  for (guint i = 0; i < layout->n_returns; i++) {
    const OusterPixels pixels = {.column_size = self->column_size,
        .pixel_size = layout->pixel_size,
        .range = layout->returns[i].range,
        .reflectivity = layout->returns[i].reflectivity,
        .range_mask = layout->range_mask,
        .range_unit = layout->range_unit};
    ouster_beams_write (self->beams, &pixels, begin.pixels, begin.number, n, times, get_kind (i),
        get_plane (self, i));
  }
  return first + n;
}

static guint32
get_frame (const Ouster *self, const guint8 *data)
{
  if (self->is_fusa)
    return packet_read_le32 (data + 4);
  return packet_read_le16 (data + (self->is_legacy ? 10 : 2));
}

gboolean
ouster_decode (Ouster *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  guint first = 0;
  if (!check_packet (self, data, size, is_data, error))
    return FALSE;
  while (*is_data && first < self->metadata.packet_columns &&
         !get_column (self, data, first, NULL).is_valid)
    first++;
  /* Outside of the window that is set there are no valid columns. */
  if (!*is_data || first == self->metadata.packet_columns)
    return TRUE;

  const gint64 time = get_column (self, data, first, NULL).time;
  const guint32 frame = get_frame (self, data);
  if (!packet_cutter_begin_packet (cutter, time))
    return TRUE;
  if (packet_cutter_get_n_restarts (cutter) != self->n_restarts) {
    self->n_restarts = packet_cutter_get_n_restarts (cutter);
    self->skips = self->scan != NULL;
    if (packet_cutter_is_spoilt (cutter))
      g_clear_pointer (&self->scan, packet_scan_free);
    ouster_flush (self, cutter);
  }
  self->skips &= frame == self->frame;
  if (self->skips) {
    packet_cutter_count_skipped (cutter);
    return TRUE;
  }
  if (self->scan && frame != self->frame) {
    if (time < self->last_time) {
      packet_cutter_count_late (cutter);
      return TRUE;
    }
    finish (self, cutter, time);
  }
  if (!self->scan)
    begin (self, cutter, frame, time);
  else if (!begin_earlier (self, time)) {
    packet_cutter_count_late (cutter);
    return TRUE;
  }
  for (guint i = first; i < self->metadata.packet_columns;)
    i = decode_columns (self, data, i, time);
  return TRUE;
}
