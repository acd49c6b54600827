/* SPDX-License-Identifier: MIT */
/* The CPU in the place of a device: it takes its time, and fails when told to. */
#pragma once

#include "gst/ndt/engine/gstndtengine.h"

G_BEGIN_DECLS

/**
 * NdtDevice:
 * @delay_ms: that each alignment takes longer; the end of a cancelled one
 * @holds_at: number of the first alignment that waits, from 1, until this is changed; 0: none
 * @fails_at: number of the first alignment that fails, from 1; 0: none
 * @fails_map: setting a map fails
 * @n_host: memories that upload fast that there are left to give
 * @n_aligned: alignments that have begun
 * @n_waiting: alignments that wait now
 * @cancelled: as the backend was told
 *
 * Read and written atomically.
 */
typedef struct {
  gint delay_ms;
  gint holds_at;
  gint fails_at;
  gint fails_map;
  gint n_host;
  gint n_aligned;
  gint n_waiting;
  gint cancelled;
} NdtDevice;

extern NdtDevice ndt_device;

NdtBackend *ndt_device_open (const NdtBackendConfig *config, GError **error);
/* Puts it in the place of CUDA, as new. */
void ndt_device_install (void);
/* The next alignments wait; none waits any more. */
void ndt_device_hold (void);
void ndt_device_release (void);
/* Waits until an alignment waits. */
void ndt_device_wait (void);

G_END_DECLS
