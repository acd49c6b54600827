/* SPDX-License-Identifier: MIT */
/* Runs the plain kernel on what kernel-record wrote: the same pairs, and sums that differ by
 * rounding. Of GLib only types, so that it links for a processor whose GLib is not there.
 *
 *   kernel-replay FILE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel-record.h"

/* Sums of some hundred pairs in float: 1e-5 of what is summed. */
#define TOLERANCE 1e-5

static int
differ (const double *a, const double *b, int n)
{
  double norm = 0, off = 0;
  for (int i = 0; i < n; i++) {
    norm += b[i] * b[i];
    off += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return !(sqrt (off) <= TOLERANCE * sqrt (norm));
}

int
main (int argc, char **argv)
{
  static NdtChunkCache cache;
  static KernelRecord r;
  unsigned n_records = 0, n_wrong = 0;
  FILE *file = argc == 2 ? fopen (argv[1], "rb") : NULL;
  if (!file) {
    fprintf (stderr, "kernel-replay FILE\n");
    return 2;
  }
  while (fread (&r, sizeof (r), 1, file) == 1) {
    NdtVoxel *voxels = calloc (r.level.n_voxels + 1, sizeof (NdtVoxel));
    NdtBlock *blocks = calloc (r.n_blocks, sizeof (NdtBlock));
    NdtSums sums;
    if (!voxels || !blocks ||
        fread (voxels, sizeof (NdtVoxel), r.level.n_voxels, file) != r.level.n_voxels ||
        fread (blocks, sizeof (NdtBlock), r.n_blocks, file) != r.n_blocks)
      return 2;
    r.level.voxels = voxels;
    r.level.blocks = blocks;
    r.level.details = NULL;
    r.args.level = &r.level;
    cache.tag = 0;
    /* The second time from kept lists. */
    for (int i = 0; i < 2; i++) {
      ndt_kernel_generic (&r.args, r.x, r.y, r.z, r.n, &cache, &sums);
      n_wrong += sums.n_pairs != r.sums.n_pairs || sums.n_matched != r.sums.n_matched ||
                 sums.n_pairs == 0 || differ (&sums.score, &r.sums.score, 1) ||
                 differ (&sums.nvtl, &r.sums.nvtl, 1) ||
                 differ (sums.gradient, r.sums.gradient, 6) ||
                 differ (sums.hessian, r.sums.hessian, 21);
    }
    n_records++;
    free (voxels);
    free (blocks);
  }
  fclose (file);
  printf ("%u chunks, %u wrong\n", n_records, n_wrong);
  return n_records == 0 || n_wrong > 0;
}
