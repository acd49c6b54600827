/* SPDX-License-Identifier: MIT */
/* The search of a whole map as rules that the CPU and a device share: integers, and doubles without
 * a rounding of its own, so that both find the same places. No GLib: nvcc compiles this header. */
#pragma once

#include <math.h>

#include "ndtcore/math/ndt-types.h"

/* Edge of the windows of level 3, cells. */
#define NDT_OVERVIEW_WINDOW 8
/* Empty cells around the map, so that look-ups need no bounds check: marks farther than
 * NDT_OVERVIEW_REACH from a cell of the map are not looked up. A multiple of NDT_OVERVIEW_WINDOW.
 */
#define NDT_OVERVIEW_PAD 128
#define NDT_OVERVIEW_REACH 94
/* Level of the windows that the search begins with. */
#define NDT_OVERVIEW_TOP 3

/* Most marks of a scan: counts of them are bytes. */
#define NDT_OVERVIEW_MARKS 255
/* Most places of a search. */
#define NDT_OVERVIEW_MOST 32
#define NDT_OVERVIEW_DIRECTIONS 8

/* Most nodes that are split; then the search ends with the places so far. */
#define NDT_OVERVIEW_MOST_SPLIT (4 << 20)

/* Least share of a place as a fraction of the best one's. */
#define NDT_OVERVIEW_AS_GOOD 0.8

/**
 * NdtOverviewNode:
 * @x: cells of the map, of the window's corner
 * @y: likewise
 * @turn: direction of the body, of n_turns around the circle
 * @level: the window has 2^level × 2^level cells
 */
typedef struct {
  int32_t x;
  int32_t y;
  uint16_t turn;
  uint16_t level;
} NdtOverviewNode;

/* Column of a mark in cells, from that of the body, which has turned by an angle of cosine @c and
 * sine @s; its row for -@s, @y and @x in place of @s, @x and @y. */
NDT_INLINE int32_t
ndt_overview_turned (double c, double s, float x, float y, double cell)
{
  return (int32_t)floor ((c * (double)x - s * (double)y) / cell + 0.5);
}

/* Directions of a mark, turned by so many of them, fewer than eight. */
NDT_INLINE uint8_t
ndt_overview_turned_mask (uint8_t mask, uint32_t by)
{
  return (uint8_t)(mask << by | mask >> (NDT_OVERVIEW_DIRECTIONS - by));
}

/* See ndt_overview_window(). */
NDT_INLINE int64_t
ndt_overview_window_at (int32_t window_stride, int32_t window_plane, int32_t x, int32_t y)
{
  const int32_t u = x + NDT_OVERVIEW_PAD, v = y + NDT_OVERVIEW_PAD;
  const int32_t plane = v % NDT_OVERVIEW_WINDOW * NDT_OVERVIEW_WINDOW + u % NDT_OVERVIEW_WINDOW;
  return (int64_t)plane * window_plane + (int64_t)(v / NDT_OVERVIEW_WINDOW) * window_stride +
         u / NDT_OVERVIEW_WINDOW;
}

/* Whether a node lies wholly in the range of a place, which it is no other place than: within 4
 * cells, and 0.15 rad or @range turns. With d the difference from the place to the middle of the
 * window and h half its edge less half a cell, |d| + √2 h < 4; below both are doubled, so that they
 * are integers, and the squares compared. A window of level 3 is too large. */
NDT_INLINE int
ndt_overview_is_near (
    const NdtOverviewNode *node, const NdtOverviewNode *place, int32_t n_turns, int32_t range)
{
  const int32_t most = node->level == 0 ? 63 : node->level == 1 ? 43 : node->level == 2 ? 14 : -1;
  const int32_t edge = (1 << node->level) - 1;
  const int32_t dx = 2 * (node->x - place->x) + edge, dy = 2 * (node->y - place->y) + edge;
  int32_t turn = node->turn - place->turn;
  turn = turn < 0 ? -turn : turn;
  turn = turn < n_turns - turn ? turn : n_turns - turn;
  return turn <= range && dx > -8 && dx < 8 && dy > -8 && dy < 8 && dx * dx + dy * dy <= most;
}

/* From the direction of a place to another one, by the shorter way. */
NDT_INLINE int32_t
ndt_overview_turn_to (const NdtOverviewNode *node, const NdtOverviewNode *place, int32_t n_turns)
{
  const int32_t turn = node->turn - place->turn;
  return turn + (turn < -n_turns / 2 ? n_turns : turn > n_turns / 2 ? -n_turns : 0);
}

/* The middle of @n places around one, @sum the differences to them of x, y and turn. */
NDT_INLINE NdtOverviewNode
ndt_overview_middle (const NdtOverviewNode *place, const int64_t sum[3], int32_t n, int32_t n_turns)
{
  NdtOverviewNode middle = *place;
  middle.x += (int32_t)floor ((double)sum[0] / n + 0.5);
  middle.y += (int32_t)floor ((double)sum[1] / n + 0.5);
  const int32_t turn = place->turn + (int32_t)floor ((double)sum[2] / n + 0.5);
  middle.turn = (uint16_t)((turn + n_turns) % n_turns);
  return middle;
}
