/* SPDX-License-Identifier: MIT */
/* A CPU backend that replaces the device, with delays and failures as set. */
#pragma once

#include "gst/ndt/engine/gstndtengine.h"

G_BEGIN_DECLS

typedef enum {
  NDT_DEVICE_SEARCH_WORKS,
  NDT_DEVICE_SEARCH_NOT_OPENED,
  NDT_DEVICE_SEARCH_NO_MAP,
  NDT_DEVICE_SEARCH_NO_ALIGNMENT,
} NdtDeviceSearch;

/**
 * NdtDevice:
 * @delay_ms: added to each alignment; a cancelled one ends at once
 * @holds_at: number, from 1, of the first alignment that blocks until this is changed; 0: none
 * @fails_at: number of the first alignment that fails, from 1; 0: none
 * @fails_map: setting a map fails
 * @fails_search: what fails in the background: NdtDeviceSearch
 * @fails_search_at: number of the first call there that fails, from 1, where it is alignments
 * @n_host: page-locked allocations that still succeed
 * @n_aligned: alignments that have begun
 * @n_waiting: alignments that are blocked
 * @cancelled: last argument of the backend's cancel
 * @n_searches: backends that were opened in the background
 * @n_searching: of these that are open
 * @n_search_calls: alignments in the background that have begun
 *
 * Delays, failures and counts are of the stream's backend, but for those that are said to be of the
 * background.
 *
 * Read and written atomically.
 */
typedef struct {
  gint delay_ms;
  gint holds_at;
  gint fails_at;
  gint fails_map;
  gint fails_search;
  gint fails_search_at;
  gint n_host;
  gint n_aligned;
  gint n_waiting;
  gint cancelled;
  gint n_searches;
  gint n_searching;
  gint n_search_calls;
} NdtDevice;

extern NdtDevice ndt_device;

NdtBackend *ndt_device_open (const NdtBackendConfig *config, GError **error);
/* Replaces CUDA by it, with all members reset. */
void ndt_device_install (void);
/* Block the next alignments; release all. */
void ndt_device_hold (void);
void ndt_device_release (void);
/* Returns when an alignment is blocked. */
void ndt_device_wait (void);

G_END_DECLS
