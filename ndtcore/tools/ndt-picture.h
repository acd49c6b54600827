/* SPDX-License-Identifier: MIT */
/* A map and trajectories seen from above, and errors over time, drawn by Cairo. */
#pragma once

#include <cairo.h>

#include "ndtcore/posefile/ndt-trajectory.h"
#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

typedef enum {
  NDT_PICTURE_HEIGHT,  /* a pixel has the colour of its highest point's height */
  NDT_PICTURE_DENSITY, /* … of the logarithm of its number of points */
  NDT_PICTURE_AGE,     /* … of the age of the newest file that has points there */
  NDT_PICTURE_CHANGE,  /* grey; red where points went, and green where some came */
} NdtPictureColor;

/* What NDT_PICTURE_CHANGE takes for an age: 0: the map, 1: points that are gone, 2: new ones. */
#define NDT_PICTURE_DAYS_OF_CHANGE(kind) (2.0 - (kind))

/**
 * NdtPicture:
 *
 * A drawing: bounds first, then points, then lines above them.
 */
typedef struct _NdtPicture NdtPicture;

/**
 * ndt_picture_new:
 * @min: x and y of the lower left corner of what is shown, metres
 * @max: of the upper right corner, beyond @min
 * @width: pixels, 100 to 16384; the height follows from the bounds, 100 to 16384
 * @plot_height: pixels below the map for plots, 0: none
 */
NdtPicture *ndt_picture_new (
    const double min[2], const double max[2], guint width, guint plot_height);
void ndt_picture_free (NdtPicture *picture);

/* Adds finite points within the bounds; @days: since their file was written. */
void ndt_picture_add_points (NdtPicture *picture, const NdtCloudView *points, double days);
/* Draws the points that were added, a grid with coordinates, a scale bar and a bar of colours;
 * @title: (nullable). To be called once, before the functions below. */
void ndt_picture_draw_map (NdtPicture *picture, NdtPictureColor color, const gchar *title);
/* The poses as a line, broken where a pose is missing, in the colour @index of a palette of six, or
 * where the file has statuses in theirs, which the legend has once; @label: of the legend. */
void ndt_picture_draw_trajectory (
    NdtPicture *picture, const NdtTrajectory *trajectory, guint index, const gchar *label);
/* Plots @n errors in metres and degrees at @seconds, below the map; the picture was made with a
 * @plot_height. */
void ndt_picture_draw_errors (NdtPicture *picture, const double *seconds, const double *metres,
    const double *degrees, gsize n);

/**
 * ndt_picture_write:
 * @path: ends in ".png" or ".svg"
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT of another ending, %NDT_ERROR_IO
 */
gboolean ndt_picture_write (NdtPicture *picture, const gchar *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtPicture, ndt_picture_free)

G_END_DECLS
