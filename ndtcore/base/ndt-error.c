/* SPDX-License-Identifier: MIT */
#include "ndt-error.h"

/* clang-format off */
G_DEFINE_QUARK (ndt-error-quark, ndt_error)
