/* SPDX-License-Identifier: MIT */
/* Extra terms of an alignment, from text. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-extra-terms.h"

G_BEGIN_DECLS

/* Bits of NdtExtraValues.has, and the poses' names in the text. "pose" is the one that is
 * estimated. */
#define NDT_EXPR_TERMS_PRIOR (1u << 0)    /* "prior" */
#define NDT_EXPR_TERMS_ODOMETRY (1u << 1) /* "odometry" */
#define NDT_EXPR_TERMS_FIRST (1u << 2)    /* "first" */

/**
 * ndt_expr_terms_new:
 * @text: residuals as of ndt_expr_parse(), in units of their standard deviations, of the poses
 *   pose, prior, odometry and first. Bytes from anywhere
 *
 * Returns: (transfer full) (nullable): the terms, to be freed by ndt_expr_terms_unref(); NULL with
 *   NDT_ERROR_FORMAT and the column where the text is no residual, with
 *   NDT_ERROR_INVALID_ARGUMENT where it has more operations or constants than a device takes, or a
 *   residual does not depend on the pose
 */
NdtExtraTerms *ndt_expr_terms_new (const gchar *text, GError **error);
/* Any thread. */
NdtExtraTerms *ndt_expr_terms_ref (NdtExtraTerms *terms);
void ndt_expr_terms_unref (NdtExtraTerms *terms);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtExtraTerms, ndt_expr_terms_unref)

/* The given poses that its residuals name. */
guint32 ndt_expr_terms_get_poses (const NdtExtraTerms *terms);

G_END_DECLS
