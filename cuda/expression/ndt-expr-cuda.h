/* SPDX-License-Identifier: MIT */
/* Batches of least-squares problems over compiled residuals, minimized on a CUDA device. The driver
 * and NVRTC are opened at run time. */
#pragma once

#include "ndtcore/expression/ndt-expr-run.h"
#include "ndtcore/objective/ndt-minimize.h"

G_BEGIN_DECLS

/* Kernels that are kept, by their source; the one that was used longest ago goes first. */
#define NDT_EXPR_CUDA_KERNELS 32

/**
 * NdtExprCuda:
 *
 * A device with the kernels that were compiled for it. For one thread at a time.
 */
typedef struct _NdtExprCuda NdtExprCuda;

/**
 * NdtExprCudaReport:
 * @compile_s: seconds of NVRTC and of loading the kernel; 0 where it was kept from before
 * @upload_s: of the data
 * @run_s: of the one launch, results included
 * @uploaded: bytes before the launch; nothing is uploaded during it
 * @launches: since open
 * @compilations: since open
 * @n_kernels: that are kept
 */
typedef struct {
  double compile_s, upload_s, run_s;
  guint64 uploaded;
  guint64 launches;
  guint64 compilations;
  guint n_kernels;
} NdtExprCudaReport;

/* @device: its number. NULL with NDT_ERROR_NO_DEVICE, whose message says what is missing, where
 * there is no driver or no such device. */
NdtExprCuda *ndt_expr_cuda_open (gint device, GError **error);
void ndt_expr_cuda_close (NdtExprCuda *cuda);
/* 10 × major + minor of the compute capability. */
guint ndt_expr_cuda_get_architecture (const NdtExprCuda *cuda);

/* Takes a cubin of ndt_expr_cuda_compile() for @program, so that NVRTC is not needed. */
gboolean ndt_expr_cuda_add_kernel (
    NdtExprCuda *cuda, const NdtExprProgram *program, GBytes *cubin, GError **error);

/**
 * ndt_expr_cuda_minimize:
 * @rows: (array length=n_problems): data of each problem; columns that problems share are uploaded
 *   once. At most 2³² rows each
 * @params: of %NDT_MINIMIZER_LM, without a scale
 * @x: (inout): as of ndt_minimize()
 * @hessians: (out) (nullable): likewise
 * @minima: (out): likewise
 * @report: (out) (nullable): what it took
 *
 * The same steps as ndt_minimize(), all in one launch, a block a problem. The same input gives the
 * same bits on one device, whatever else is in the batch; they differ from the CPU's by rounding.
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT, %NDT_ERROR_NO_MEMORY, %NDT_ERROR_DEVICE, or as
 *   of ndt_expr_cuda_compile()
 */
gboolean ndt_expr_cuda_minimize (NdtExprCuda *cuda, const NdtExprProgram *program,
    const NdtExprRows *rows, guint n_problems, const NdtMinimizeParams *params, double *x,
    double *hessians, NdtMinimum *minima, NdtExprCudaReport *report, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtExprCuda, ndt_expr_cuda_close)

G_END_DECLS
