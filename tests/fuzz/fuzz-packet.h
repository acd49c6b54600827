/* SPDX-License-Identifier: MIT */
#pragma once

#include <math.h>

#include "gst/lidardec/packet/packet-cutter.h"

/* Takes the finished scans and reads all their points, which are finite where the scan says so. */
static inline void
fuzz_take_scans (PacketCutter *cutter)
{
  PacketScan *scan;
  while ((scan = packet_cutter_pop (cutter))) {
    g_assert_cmpint (scan->duration, >=, 0);
    g_assert_cmpint (scan->pts, >=, 0);
    for (gsize i = 0; i < scan->n_points; i++) {
      const PacketPoint *p = &scan->points[i];
      if (!scan->is_organized)
        g_assert_true (isfinite (p->x) && isfinite (p->y) && isfinite (p->z));
      g_assert_true (isfinite (p->time) && isfinite (p->intensity));
      g_assert_true (p->kind <= PACKET_RETURN_AFTER_FIRST && p->padding == 0);
    }
    packet_scan_free (scan);
  }
}
