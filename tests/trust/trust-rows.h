/* SPDX-License-Identifier: MIT */
/* The rows of the suite: each is a kind of drive. */
#pragma once

#include "trust-run.h"

G_BEGIN_DECLS

/* Drives and maps that the rows of a process share. */
typedef struct {
  gchar *cache;
  GHashTable *drives;
  GHashTable *maps;
  double moved;    /* metres along x, y and z of drives and maps, so that cells lie otherwise */
  double turned;   /* rad about the vertical axis through the origin, of both, likewise */
  gboolean inside; /* maps of halls without the outer faces of walls and roof */
} TrustInputs;

typedef enum {
  TRUST_NOT_WRONG = 1 << 0, /* at most 1 % of the scans wrong and tracking, three in a row */
  TRUST_NOT_SHY = 1 << 1,   /* of counted scans that are right 95 % are tracking … */
  TRUST_CALM = 1 << 2,      /* … of those of an undisturbed drive 99.5 % */
  TRUST_BACK = 1 << 3,      /* tracking again within @back seconds */
  TRUST_SIGMA = 1 << 4,     /* within 3 σ in 99 % of scans, and not tracking where σ > 0.5 m */
  TRUST_NEES = 1 << 5,      /* 0.4 to 2.25 times the 6 of a covariance that holds */
  TRUST_PASSES = 1 << 6,    /* of all rows: no scan takes more passes than it may */
  TRUST_ELLIPSE = 1 << 7,   /* 75 % of ellipses of 95 % hold the truth, over many seeds 89 % */
  TRUST_RAYS = 1 << 8,      /* 5 % of the rays at most end on nothing (docs/tracking.md: 2 %) */
} TrustBound;

typedef struct _TrustRow TrustRow;

/* FALSE where its data are missing. */
typedef gboolean (*TrustPrepare) (
    TrustInputs *inputs, const TrustRow *row, guint seed, TrustCase *trust);

/**
 * TrustRow:
 * @name: of the row; the part before the first '/' is its group
 * @prepare: fills a case
 * @world: NdtSimWorldKind, or one of those below
 * @resolution: metres
 * @a: of @prepare
 * @bounds: of TrustBound
 * @back: seconds
 * @known: bounds that it is known to miss, see docs/tracking-figures.md
 * @n_seeds: the most of the command line's seeds; 0: all of them
 * @seed: the only one; 0: those on the command line
 */
struct _TrustRow {
  const gchar *name;
  TrustPrepare prepare;
  gint world;
  double resolution;
  double a;
  guint bounds;
  double back;
  guint n_seeds;
  guint known;
  guint seed;
};

enum { TRUST_KITTI = 100, TRUST_BALM, TRUST_ROBOT };

extern const TrustRow trust_rows[];
extern const guint trust_n_rows;

TrustInputs *trust_inputs_new (const gchar *cache);
void trust_inputs_free (TrustInputs *inputs);
/* @which: NdtSimWorldKind or one of those above. Not owned; NULL where data are missing. */
const TrustDrive *trust_inputs_get_drive (TrustInputs *inputs, gint which, guint seed, guint n);
/* A simulated drive of @n scans that turns by @spin rad/s from its first scan on; @carried: metres
 * it is carried in its middle, from where on it turns by @spin_then. Not owned. */
const TrustDrive *trust_inputs_get_sim (TrustInputs *inputs, gint world, guint seed, guint n,
    double spin, double carried, double spin_then);
const GArray *trust_inputs_get_map (TrustInputs *inputs, gint which, guint seed);

G_END_DECLS
