/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-descent.h"

G_BEGIN_DECLS

/* What an evaluation computes; each with what the ones before it do. */
typedef enum {
  NDT_OBJECTIVE_VALUE,
  NDT_OBJECTIVE_GRADIENT,
  NDT_OBJECTIVE_HESSIAN, /* the Hessian, or the normal equations' matrix JᵀJ */
} NdtObjectiveOrder;

/**
 * NdtEvaluation:
 * @order: what to compute
 * @n: number of problems to evaluate, at least 1
 * @problems: (nullable): indices of these problems, each less than the objective's n_problems and
 *   each once; NULL: 0 … n − 1
 * @x: n rows of parameters, as of ndt_objective_get_size()
 * @values: (out): n values
 * @gradients: (out): n rows of ndt_objective_get_n_steps() numbers; with NDT_OBJECTIVE_GRADIENT and
 *   above
 * @hessians: (out): n packed upper triangles (NDT_PACKED) of as many rows; with
 *   NDT_OBJECTIVE_HESSIAN
 *
 * Implementations get NULL for what is not to be computed. Rows are in the order of @problems.
 * Values that are not finite are no error: the minimizers take them as those of a step that is too
 * long.
 */
typedef struct {
  NdtObjectiveOrder order;
  guint n;
  const guint *problems;
  const double *x;
  double *values;
  double *gradients;
  double *hessians;
} NdtEvaluation;

typedef struct _NdtObjective NdtObjective;

/**
 * NdtObjectiveClass:
 * @name: for messages
 * @evaluate: evaluates and returns. Nullable where @begin is set
 * @begin: starts an evaluation, which stays valid with its memory until @end. Nullable, with @end:
 *   the wrapper then evaluates in ndt_objective_end()
 * @end: waits for it
 * @cancel: TRUE: a running evaluation, and later ones, return soon with NDT_ERROR_CANCELLED; until
 *   FALSE is set. Any thread. Nullable: then evaluations that have begun are completed
 * @close: frees the objective. Nullable where there is nothing to free
 *
 * The methods of an objective, which is used by one thread at a time, except @cancel. Functions
 * that return gboolean set their GError on FALSE.
 */
typedef struct {
  const gchar *name;
  gboolean (*evaluate) (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error);
  gboolean (*begin) (NdtObjective *objective, const NdtEvaluation *evaluation, GError **error);
  gboolean (*end) (NdtObjective *objective, GError **error);
  void (*cancel) (NdtObjective *objective, gboolean cancelled);
  void (*close) (NdtObjective *objective);
} NdtObjectiveClass;

/**
 * NdtObjective:
 * @klass: methods
 * @n_poses: parameters that are poses
 * @n_numbers: parameters that are numbers
 * @n_problems: problems of the same form, with values of their own; at least 1
 * @is_least_squares: values are ½ Σ r², gradients Jᵀr, and Hessians JᵀJ
 *
 * A function to be minimized. First member of the structure of each implementation, which sets
 * these and zeroes the rest. A row of parameters is @n_poses times position (m) and orientation
 * (unit quaternion x, y, z, w), an NdtPose, then @n_numbers numbers. A row of steps, by which
 * derivatives are taken, is @n_poses times (δt, δω) as of ndt_pose_retract(), then the numbers'
 * differences.
 */
struct _NdtObjective {
  const NdtObjectiveClass *klass;
  guint n_poses;
  guint n_numbers;
  guint n_problems;
  gboolean is_least_squares;
  /*< private >*/
  gboolean has_begun;
  NdtEvaluation begun;
  gint cancelled; /* atomic */
};

/* Numbers in a row of parameters: 7 n_poses + n_numbers; and of steps: 6 n_poses + n_numbers. */
guint ndt_objective_get_size (const NdtObjective *objective);
guint ndt_objective_get_n_steps (const NdtObjective *objective);

/* out = x ⊕ step: one row. @out may be @x. */
void ndt_objective_retract (
    const NdtObjective *objective, const double *x, const double *step, double *out);

/* Fail with NDT_ERROR_INVALID_ARGUMENT, NDT_ERROR_CANCELLED, and as the implementation does. After
 * begin only end and cancel may be called; end is called once for each begin that succeeded. */
gboolean ndt_objective_evaluate (
    NdtObjective *objective, const NdtEvaluation *evaluation, GError **error);
gboolean ndt_objective_begin (
    NdtObjective *objective, const NdtEvaluation *evaluation, GError **error);
gboolean ndt_objective_end (NdtObjective *objective, GError **error);
/* Any thread. */
void ndt_objective_cancel (NdtObjective *objective, gboolean cancelled);
void ndt_objective_close (NdtObjective *objective);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtObjective, ndt_objective_close)

G_END_DECLS
