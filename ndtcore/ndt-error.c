/* SPDX-License-Identifier: MIT */
#include "ndt-error.h"

G_DEFINE_QUARK (ndt - error - quark, ndt_error)
