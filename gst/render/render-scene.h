/* SPDX-License-Identifier: MIT */
/* A map, a scan in it, the way driven and words, as a picture. */
#pragma once

#include "gst/scene/scene-points.h"

G_BEGIN_DECLS

typedef enum { RENDER_VIEW_CHASE, RENDER_VIEW_TOP, RENDER_VIEW_SIDE } RenderView;

typedef enum {
  RENDER_COLOR_HEIGHT,
  RENDER_COLOR_INTENSITY,
  RENDER_COLOR_RING,
  RENDER_COLOR_RESIDUAL
} RenderColor;

/**
 * RenderOptions:
 * @view: behind the body and above it; from above, north up; or from the south
 * @color: of the scan's points; those without such a value are of the middle colour
 * @distance: of the camera from the body, metres; the other views show as much as from there
 * @follow: FALSE: views from above and from the side show all of the map, where there is one
 * @words: status and numbers
 */
typedef struct {
  RenderView view;
  RenderColor color;
  double distance;
  gboolean follow;
  gboolean words;
} RenderOptions;

/**
 * RenderMap:
 *
 * The points of a map, ready to be drawn.
 */
typedef struct _RenderMap RenderMap;

/* @n points, three doubles each, metres. */
RenderMap *render_map_new (const double *xyz, gsize n);
void render_map_free (RenderMap *map);

/**
 * RenderScene:
 *
 * What is drawn, and the picture of the map by itself: while the camera stays, the scan and all
 * else are drawn over that.
 */
typedef struct _RenderScene RenderScene;

RenderScene *render_scene_new (void);
void render_scene_free (RenderScene *scene);
/* Takes @map (nullable). */
void render_scene_set_map (RenderScene *scene, RenderMap *map);
/* How often the map was drawn. */
guint64 render_scene_get_n_map_draws (const RenderScene *scene);

/**
 * render_scene_draw:
 * @scan: the newest
 * @steps: of SceneStep
 * @out: @width × @height pixels, rows from the top without gaps, 0x00RRGGBB
 */
void render_scene_draw (RenderScene *scene, const RenderOptions *options, const SceneScan *scan,
    const GArray *steps, guint32 *out, guint width, guint height);

G_END_DECLS
