/* SPDX-License-Identifier: MIT */
/* Random expressions as texts, and their values and derivatives by dual numbers in long double:
 * a second implementation, which shares nothing with ndtcore/expression. */
#pragma once

#include <glib.h>

/* Parameters that the texts use: the pose T, and the numbers a, b and c; and the columns. */
#define RANDOM_NUMBERS 3
#define RANDOM_TANGENTS (6 + RANDOM_NUMBERS)
#define RANDOM_COLUMNS 4
extern const gchar *const random_numbers[RANDOM_NUMBERS];
extern const gchar *const random_columns[RANDOM_COLUMNS];

typedef struct _RandomExpression RandomExpression;

/* A number with its derivatives by all tangents. */
typedef struct {
  long double v;
  long double d[RANDOM_TANGENTS];
} Dual;

/* Where an expression is evaluated. @rotation is row-major. */
typedef struct {
  long double rotation[9];
  long double position[3];
  long double numbers[RANDOM_NUMBERS];
  long double columns[RANDOM_COLUMNS];
} RandomPoint;

RandomExpression *random_expression_new (GRand *random, guint depth);
void random_expression_free (RandomExpression *expression);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RandomExpression, random_expression_free)
gchar *random_expression_to_text (const RandomExpression *expression);
/* @kink: (nullable): set to the least distance of an operand from where its operation has no
 * derivative, where that is less than @kink. */
Dual random_expression_evaluate (
    const RandomExpression *expression, const RandomPoint *at, long double *kink);
/* @out = @at moved by @step along a tangent: as ndt_pose_retract(). */
void random_point_move (const RandomPoint *at, guint tangent, long double step, RandomPoint *out);
