/* SPDX-License-Identifier: MIT */
/* A backend that does nothing, in no time: an alignment ends where it starts. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

NdtBackend *ndt_null_open (const NdtBackendConfig *config, GError **error);

G_END_DECLS
