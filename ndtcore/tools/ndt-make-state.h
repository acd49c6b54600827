/* SPDX-License-Identifier: MIT */
/* What ndt-map make --resume keeps of a run, in a folder beside its output, so that another run
 * goes on where it was interrupted: OUTPUT.resume with
 *
 *   state     the drive up to a scan, replaced as a whole
 *   points    of its key scans, three floats each, appended
 *   closures  that were tried after the drive, appended
 *   lock      held by the run that uses the folder
 *
 * The files are of one build: structures lie in them as in memory. */
#pragma once

#include "ndtcore/mapping/ndt-map-maker.h"
#include "scans/ndt-scan-source.h"

G_BEGIN_DECLS

typedef struct _NdtMakeState NdtMakeState;

/* Makes the folder where there is none. @options: what the drive's poses depend on, as text.
 * NDT_ERROR_INVALID_ARGUMENT where the folder is of others, of another version, or in use. */
NdtMakeState *ndt_make_state_open (const gchar *output, const gchar *options, GError **error);
void ndt_make_state_free (NdtMakeState *state);
/* What an earlier run saved, if there is something: into @maker, and @extra as it was given to
 * ndt_make_state_save(). The first scans then are those of it: to be given to
 * ndt_make_state_skip(). */
gboolean ndt_make_state_restore (
    NdtMakeState *state, NdtMapMaker *maker, GByteArray *extra, GError **error);
/* A scan that the earlier run had, as it is read again. FALSE where there are fewer of them (@scan
 * is NULL), or where they have been others. */
gboolean ndt_make_state_skip (NdtMakeState *state, const NdtScan *scan, GError **error);
/* Whether the next scan is one to be skipped. */
gboolean ndt_make_state_is_behind (const NdtMakeState *state);
/* A scan that was added; where the maker can be saved it is. */
gboolean ndt_make_state_add (NdtMakeState *state, const NdtScan *scan, const NdtMapMaker *maker,
    const GByteArray *extra, GError **error);
/* After the last scan, before ndt_map_maker_close(): closures of the earlier run, and those of this
 * one as they come. */
gboolean ndt_make_state_begin_closures (NdtMakeState *state, NdtMapMaker *maker, GError **error);
/* The error of writing closures, if there was one. */
gboolean ndt_make_state_end_closures (NdtMakeState *state, GError **error);
/* After the output was written: removes the folder. */
void ndt_make_state_remove (NdtMakeState *state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtMakeState, ndt_make_state_free)

G_END_DECLS
