/* SPDX-License-Identifier: MIT */
/* A picture of a calibration's residuals, drawn by Cairo. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtCalibratePlot:
 * @name: of the sensor
 * @residuals: metres
 * @times: seconds
 * @n: of both
 * @sigma: metres
 *
 * A row of the picture: how the residuals are distributed, and how large they are over time.
 */
typedef struct {
  const gchar *name;
  const double *residuals;
  const double *times;
  gsize n;
  double sigma;
} NdtCalibratePlot;

/* @path: ends in ".png" or ".svg". FALSE with NDT_ERROR_INVALID_ARGUMENT of another ending,
 * NDT_ERROR_IO. */
gboolean ndt_calibrate_picture_write (
    const gchar *path, const NdtCalibratePlot *plots, guint n_plots, GError **error);

G_END_DECLS
