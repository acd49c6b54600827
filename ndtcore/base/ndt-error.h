/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define NDT_ERROR (ndt_error_quark ())

/**
 * NdtError:
 * @NDT_ERROR_FAILED: anything without a code of its own
 * @NDT_ERROR_INVALID_ARGUMENT: a parameter is outside its documented range
 * @NDT_ERROR_IO: a file could not be opened, read or written
 * @NDT_ERROR_FORMAT: the bytes are not what their format allows
 * @NDT_ERROR_NO_MAP: the operation needs a map and none is set
 * @NDT_ERROR_EMPTY_MAP: the map has not one valid voxel
 * @NDT_ERROR_NO_DEVICE: no usable device, or no driver for it
 * @NDT_ERROR_DEVICE: the device reported an error; the backend is unusable from then on
 * @NDT_ERROR_NO_MEMORY: host or device memory is exhausted
 * @NDT_ERROR_CANCELLED: cancelled by the caller
 *
 * Codes of the %NDT_ERROR domain.
 */
typedef enum {
  NDT_ERROR_FAILED,
  NDT_ERROR_INVALID_ARGUMENT,
  NDT_ERROR_IO,
  NDT_ERROR_FORMAT,
  NDT_ERROR_NO_MAP,
  NDT_ERROR_EMPTY_MAP,
  NDT_ERROR_NO_DEVICE,
  NDT_ERROR_DEVICE,
  NDT_ERROR_NO_MEMORY,
  NDT_ERROR_CANCELLED,
} NdtError;

GQuark ndt_error_quark (void);

G_END_DECLS
