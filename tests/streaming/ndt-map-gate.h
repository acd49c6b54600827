/* SPDX-License-Identifier: MIT */
/* Delays moves of a map of tiles in the loader's thread, as gst_ndt_map_loader_before_move. One
 * program includes it once. */
#pragma once

#include <gst/gst.h>

/* Moves wait while it is closed; each takes so many microseconds longer. */
static GMutex gate_lock;
static GCond gate_cond;
static gboolean gate_closed;
static gint n_moves;
static gint move_delay;

static void
before_move (void)
{
  g_mutex_lock (&gate_lock);
  g_atomic_int_inc (&n_moves);
  while (gate_closed)
    g_cond_wait (&gate_cond, &gate_lock);
  g_mutex_unlock (&gate_lock);
  g_usleep ((gulong)g_atomic_int_get (&move_delay));
}

static void
set_gate (gboolean closed)
{
  g_mutex_lock (&gate_lock);
  gate_closed = closed;
  g_cond_broadcast (&gate_cond);
  g_mutex_unlock (&gate_lock);
}
