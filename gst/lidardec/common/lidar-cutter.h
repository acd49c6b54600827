/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* From firings to scans. Times are ns: of a sensor's clock, unwrapped, or of arrival. */

typedef enum {
  LIDAR_RETURN_STRONGEST = 1,
  LIDAR_RETURN_LAST = 2,
  LIDAR_RETURN_FIRST = 3,
  LIDAR_RETURN_SECOND = 4,      /* the second strongest */
  LIDAR_RETURN_AFTER_FIRST = 5, /* the second by range */
} LidarReturnKind;

/* A point as caps describe it. */
typedef struct {
  gfloat x, y, z; /* m */
  gfloat intensity;
  guint16 ring;
  guint8 kind; /* LidarReturnKind */
  guint8 padding;
  gfloat time; /* s since the scan's first firing */
} LidarPoint;

typedef struct {
  LidarPoint *points; /* of a cutter's memory */
  gsize n_points;
  gboolean is_organized; /* points without a return are NaN */
  gint64 time;           /* of the sensor's clock at the first firing */
  gint64 pts;            /* the same instant on the axis of arrival */
  guint64 epoch;         /* the cutter's */
  gint64 duration;       /* to the first firing of the next scan */
} LidarScan;

void lidar_scan_free (LidarScan *scan);

/* Why a packet was not decoded. */
typedef enum {
  LIDAR_PACKET_ERROR_SIZE,    /* shorter or longer than a packet is */
  LIDAR_PACKET_ERROR_FOREIGN, /* not of this vendor */
  LIDAR_PACKET_ERROR_MODEL,   /* of another model than the one that is set */
  LIDAR_PACKET_ERROR_CORRUPT, /* contradicts itself */
} LidarPacketError;

#define LIDAR_PACKET_ERROR lidar_packet_error_quark ()
GQuark lidar_packet_error_quark (void);

typedef struct {
  guint64 n_late;       /* packets whose scan was pushed already, wholly or in part */
  guint64 n_duplicates; /* packets that came twice */
  guint64 n_restarts;   /* jumps back of the sensor's clock */
  guint64 n_gaps;       /* interruptions of half a round or more */
  guint64 n_stalled;    /* scans that were discarded because the azimuth stood still */
} LidarCutterCounts;

typedef struct _LidarCutter LidarCutter;

/* Cuts where the azimuth passes @angle, degrees of [0, 360). */
LidarCutter *lidar_cutter_new (gdouble angle);
void lidar_cutter_free (LidarCutter *self);

/* Forgets the scan in the making, finished ones and all times. Counts stay. */
void lidar_cutter_reset (LidarCutter *self);

/* Says when the next packet arrived; negative: not known, it follows the sensor's clock. */
void lidar_cutter_set_arrival (LidarCutter *self, gint64 arrival);

/* Says that the next packet does not follow on the last: it is no late one where it is older, and
 * the sensor's clock is compared with arrival anew. */
void lidar_cutter_set_discont (LidarCutter *self);

/* Begins a packet whose first firing was at @time. FALSE: it came before and is left out. */
gboolean lidar_cutter_begin_packet (LidarCutter *self, gint64 time);

/* Begins a firing; @azimuth in degrees. Returns room for @n points that lidar_cutter_commit() ends,
 * or NULL: its scan was pushed already. @seconds is its time in the scan. */
LidarPoint *lidar_cutter_begin_firing (
    LidarCutter *self, gint64 time, gdouble azimuth, guint n, gfloat *seconds);
void lidar_cutter_commit (LidarCutter *self, guint n);

/* For sensors that number their scans: memory for a scan, not cleared. */
LidarPoint *lidar_cutter_take_points (LidarCutter *self, gsize n);
/* Sets the times of a scan that begins in the packet begun last. */
void lidar_cutter_begin_scan (LidarCutter *self, LidarScan *scan, gint64 time);
/* Takes a whole scan over. */
void lidar_cutter_take_scan (LidarCutter *self, LidarScan *scan);
/* Counts a packet as one of a scan that was pushed already. */
void lidar_cutter_count_late (LidarCutter *self);
/* How often the sensor's clock jumped back. A decoder that keeps something from packet to packet
 * begins anew when it changes. */
guint64 lidar_cutter_get_n_restarts (const LidarCutter *self);

/* Ends the scan in the making. */
void lidar_cutter_flush (LidarCutter *self);

/* The next finished scan, or NULL. */
LidarScan *lidar_cutter_pop (LidarCutter *self);

/* Of the last whole round, 0: none was yet. */
gint64 lidar_cutter_get_period (const LidarCutter *self);
LidarCutterCounts lidar_cutter_get_counts (const LidarCutter *self);

/* A clock that counts to @wrap and begins anew, made one that goes on. */
typedef struct {
  gboolean is_set;
  gint64 last;   /* value of the last reading */
  gint64 passed; /* whole wraps before it */
} LidarClock;

gint64 lidar_clock_unwrap (LidarClock *clock, gint64 value, gint64 wrap);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarCutter, lidar_cutter_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarScan, lidar_scan_free)

G_END_DECLS
