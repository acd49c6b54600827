/* SPDX-License-Identifier: MIT */
/* A backend without computations: an alignment returns its start. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

NdtBackend *ndt_null_open (const NdtBackendConfig *config, GError **error);

G_END_DECLS
