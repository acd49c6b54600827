/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* From firings to scans. Times are ns: of a sensor's clock, unwrapped, or of arrival. */

typedef enum {
  PACKET_RETURN_STRONGEST = 1,
  PACKET_RETURN_LAST = 2,
  PACKET_RETURN_FIRST = 3,
  PACKET_RETURN_SECOND = 4,      /* the second strongest */
  PACKET_RETURN_AFTER_FIRST = 5, /* the second by range */
} PacketReturnKind;

/* A point as caps describe it. */
typedef struct {
  gfloat x, y, z; /* m */
  gfloat intensity;
  guint16 ring;
  guint8 kind; /* PacketReturnKind */
  guint8 padding;
  gfloat time; /* s since the scan's first firing */
} PacketPoint;

typedef struct {
  PacketPoint *points; /* of a cutter's memory */
  gsize n_points;
  gboolean is_organized; /* points without a return are NaN */
  gint64 time;           /* of the sensor's clock at the first firing */
  gint64 pts;            /* the same instant on the axis of arrival */
  guint64 epoch;         /* the cutter's */
  gint64 duration;       /* to the first firing of the next scan */
} PacketScan;

void packet_scan_free (PacketScan *scan);

/* Why a packet was not decoded. */
typedef enum {
  PACKET_ERROR_SIZE,    /* shorter or longer than a packet is */
  PACKET_ERROR_FOREIGN, /* not of this vendor */
  PACKET_ERROR_MODEL,   /* of another model than the one that is set */
  PACKET_ERROR_CORRUPT, /* contradicts itself */
} PacketError;

#define PACKET_ERROR packet_error_quark ()
GQuark packet_error_quark (void);

typedef struct {
  guint64 n_late;       /* packets whose scan was pushed already, wholly or in part */
  guint64 n_duplicates; /* packets that came twice */
  guint64 n_restarts;   /* jumps of the sensor's clock, back or ahead */
  gint64 jump;          /* the last one, ns */
  guint64 n_skipped;    /* packets of what was left of a frame then */
  guint64 n_bad_times;  /* packets whose time follows on nothing */
  guint64 n_gaps;       /* interruptions of half a round or more */
  guint64 n_stalled;    /* scans that were discarded because the azimuth stood still */
} PacketCutterCounts;

typedef struct _PacketCutter PacketCutter;

/* Cuts where the azimuth passes @angle, degrees of [0, 360); where the sensor has a field of view,
 * in the middle of what it does not see. */
PacketCutter *packet_cutter_new (gdouble angle);
void packet_cutter_free (PacketCutter *self);

/* Forgets the scan in the making, finished ones and all times. Counts stay. */
void packet_cutter_reset (PacketCutter *self);

/* Says when the next packet arrived; negative: not known, it follows the sensor's clock. To be
 * called before each packet. */
void packet_cutter_set_arrival (PacketCutter *self, gint64 arrival);

/* Says that the next packet does not follow on the last: it is no late one where it is older, and
 * the sensor's clock is compared with arrival anew. */
void packet_cutter_set_discont (PacketCutter *self);

/* Begins a packet whose first firing was at @time. FALSE: it is left out, as it came before, or as
 * its time does not follow on those of the packets before; packet_cutter_is_held() tells. */
gboolean packet_cutter_begin_packet (PacketCutter *self, gint64 time);

/* Whether the packet begun last is left out as its time follows on nothing. It is to be kept, as
 * are the last packet_cutter_get_n_kept() of them in a row, whose times follow on each other;
 * others are foreign ones. Where packet_cutter_has_jumped() the sensor's clock was set, and those
 * that are kept are decoded again, in their order. */
gboolean packet_cutter_is_held (const PacketCutter *self);
guint packet_cutter_get_n_kept (const PacketCutter *self);
gboolean packet_cutter_has_jumped (const PacketCutter *self);
/* Counts @n packets that were kept and will not be decoded. */
void packet_cutter_count_bad_times (PacketCutter *self, guint n);

/* Time of the newest packet; FALSE: there was none. */
gboolean packet_cutter_get_newest (const PacketCutter *self, gint64 *time);

/* Begins a firing; @azimuth in degrees. Returns room for @n points that packet_cutter_commit()
 * ends, or NULL: its scan was pushed already. @seconds is its time in the scan. */
PacketPoint *packet_cutter_begin_firing (
    PacketCutter *self, gint64 time, gdouble azimuth, guint n, gfloat *seconds);
void packet_cutter_commit (PacketCutter *self, guint n);

/* For sensors that number their scans: memory for a scan, not cleared. */
PacketPoint *packet_cutter_take_points (PacketCutter *self, gsize n);
/* Sets the times of a scan that begins in the packet begun last. */
void packet_cutter_begin_scan (PacketCutter *self, PacketScan *scan, gint64 time);
/* Takes a whole scan over. */
void packet_cutter_take_scan (PacketCutter *self, PacketScan *scan);
/* Counts a packet as one of a frame in which the sensor's clock was set. */
void packet_cutter_count_skipped (PacketCutter *self);
/* Counts a packet as one of a scan that was pushed already. */
void packet_cutter_count_late (PacketCutter *self);
/* How often the sensor's clock jumped. A decoder that keeps something from packet to packet begins
 * anew when it changes. */
guint64 packet_cutter_get_n_restarts (const PacketCutter *self);
/* Whether, at the last jump, packets of the new time had been taken for late ones: what they left
 * in the scan in the making has wrong times, and it is to be dropped. */
gboolean packet_cutter_is_spoilt (const PacketCutter *self);

/* Ends the scan in the making. */
void packet_cutter_flush (PacketCutter *self);

/* Whether there is a finished scan. */
gboolean packet_cutter_has_finished (const PacketCutter *self);
/* The next finished scan, or NULL. */
PacketScan *packet_cutter_pop (PacketCutter *self);

/* Of the last whole round, 0: none was yet. */
gint64 packet_cutter_get_period (const PacketCutter *self);
PacketCutterCounts packet_cutter_get_counts (const PacketCutter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PacketCutter, packet_cutter_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PacketScan, packet_scan_free)

G_END_DECLS
