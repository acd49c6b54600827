/* SPDX-License-Identifier: MIT */
/* The program ndt-scans, which reads recordings and captures. */
#pragma once

#include "ndt-scan-record.h"
#include "ndt-scan-source.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

typedef struct _NdtScanProcess NdtScanProcess;

/* Starts it: the one beside this program, else the one in PATH. */
NdtScanProcess *ndt_scan_process_new (
    const gchar *recording, const NdtScanOptions *options, GError **error);
/* Ends it as well, where it has not ended by itself. */
void ndt_scan_process_free (NdtScanProcess *process);
/* The next scan; FALSE at the end, or with @error. @values: (out): its floats, valid until the next
 * call. */
gboolean ndt_scan_process_next (
    NdtScanProcess *process, NdtScanRecord *record, const float **values, GError **error);
/* What the poses were taken from, after the end. */
const gchar *ndt_scan_process_get_poses (const NdtScanProcess *process);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtScanProcess, ndt_scan_process_free)

G_END_DECLS
