/* SPDX-License-Identifier: MIT */
/* A residual with its derivatives as one writes it by hand: what compiled ones are compared with.
 */
#pragma once

#include "ndtcore/expression/ndt-expr-run.h"
#include "ndtcore/math/ndt-types.h"

#define HAND_COLUMNS 6
/* Columns x, y, z: the point; mx, my: the target; and nx. The pose T, point to a line:
 * huber (((T p).x - mx) nx + ((T p).y - my) sqrt (1 - nx²), 0.1) */
#define HAND_TEXT                                                                                  \
  "px = transform_x(T, x, y, z); py = transform_y(T, x, y, z); "                                   \
  "huber((px - mx)*nx + (py - my)*sqrt(1 - nx^2), 0.1)"

extern const gchar *const hand_columns[HAND_COLUMNS];

/* The cost; @gradient: 6 tangents, as of ndt_pose_retract(). */
double hand_evaluate (const NdtPose *pose, const NdtExprRows *rows, double *gradient);

/* @n rows of HAND_COLUMNS numbers, column by column, about what @pose makes zero. */
double *hand_data (gsize n, const NdtPose *pose, guint32 seed);

/* The program of HAND_TEXT. Aborts where it does not compile. */
NdtExprProgram *hand_program (void);
