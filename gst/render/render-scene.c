/* SPDX-License-Identifier: MIT */
#include "render-scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "render-canvas.h"
#include "render-words.h"

#define BACKGROUND 0x11151b
#define WHITE 0xffffff
/* Half the angle that the picture's height covers. */
#define HALF_ANGLE 0.45
/* Of the camera that follows from behind, above the horizon. */
#define CHASE_PITCH 0.45
/* Edge of a point of the map, metres, and of the scan, both at least one and two pixels. */
#define MAP_POINT 0.1f
#define SCAN_POINT 0.1f
/* Light of the map beside that of the scan. */
#define MAP_LIGHT 0.65
/* The horizontal ellipse holds 95 % of a normal distribution of two dimensions: the square root of
 * the 0.95 quantile of chi square with two degrees of freedom, 5.99. */
#define ELLIPSE_DEVIATIONS 2.45
#define ELLIPSE_STEPS 48

struct _RenderMap {
  RenderCloud *cloud;
  double origin[3]; /* of the cloud's coordinates */
  double min[3];    /* from there */
  double max[3];
  double heights[2]; /* of the ends of the colours, from there */
};

struct _RenderScene {
  RenderMap *map;
  double origin[3]; /* of all floats: the map's, or the first pose's */
  gboolean has_origin;
  RenderCanvas layer; /* the map by itself … */
  RenderMatrix layer_matrix;
  gboolean has_layer; /* … is drawn by this matrix */
  RenderCanvas canvas;
  guint32 *colors; /* of the scan */
  guint n_colors;
  guint64 n_map_draws;
};

/* Five colours of increasing lightness that stay apart for the colour-blind, as of the page of
 * pointcloudview. */
static guint32
ramp (double where, double light)
{
  static const double stops[][3] = {{0.28, 0.14, 0.50}, {0.23, 0.32, 0.80}, {0.13, 0.66, 0.65},
      {0.48, 0.85, 0.35}, {0.99, 0.91, 0.14}};
  const double at = CLAMP (where, 0, 1) * (G_N_ELEMENTS (stops) - 1);
  const guint below = MIN ((guint)at, (guint)G_N_ELEMENTS (stops) - 2);
  guint32 color = 0;

  for (guint c = 0; c < 3; c++) {
    const double value = stops[below][c] + (at - below) * (stops[below + 1][c] - stops[below][c]);
    color = color << 8 | (guint32)(255 * light * value);
  }
  return color;
}

/* The map */

static int
compare_floats (gconstpointer a, gconstpointer b)
{
  const float x = *(const float *)a, y = *(const float *)b;

  return (x > y) - (x < y);
}

/* Colours range over the heights without a fiftieth at either end. */
static void
find_heights (const float *xyz, guint n, double heights[2])
{
  const guint step = MAX (n / 10000, 1), count = (n + step - 1) / step;
  g_autofree float *z = g_new (float, count);

  for (guint i = 0; i < count; i++)
    z[i] = xyz[3 * (gsize)i * step + 2];
  qsort (z, count, sizeof *z, compare_floats);
  heights[0] = (double)z[count / 50];
  heights[1] = (double)z[count - 1 - count / 50] + 0.1;
}

RenderMap *
render_map_new (const double *xyz, gsize n)
{
  RenderMap *map = g_new0 (RenderMap, 1);
  float *local = g_new (float, 3 * n + 1);
  guint32 *colors = g_new (guint32, n + 1), table[256];

  for (guint axis = 0; axis < 3; axis++) {
    map->origin[axis] = n > 0 ? round (xyz[axis]) : 0;
    map->min[axis] = INFINITY;
    map->max[axis] = -INFINITY;
    for (gsize i = 0; i < n; i++) {
      const double value = xyz[3 * i + axis] - map->origin[axis];
      local[3 * i + axis] = (float)value;
      map->min[axis] = fmin (map->min[axis], value);
      map->max[axis] = fmax (map->max[axis], value);
    }
  }
  if (n > 0)
    find_heights (local, (guint)n, map->heights);
  for (guint i = 0; i < 256; i++)
    table[i] = ramp (i / 255.0, MAP_LIGHT);
  const double span = map->heights[1] - map->heights[0];
  for (gsize i = 0; i < n; i++)
    colors[i] =
        table[(guint)(255 * CLAMP (((double)local[3 * i + 2] - map->heights[0]) / span, 0, 1))];
  map->cloud = render_cloud_new (local, colors, (guint)n);
  return map;
}

void
render_map_free (RenderMap *map)
{
  if (!map)
    return;
  render_cloud_free (map->cloud);
  g_free (map);
}

/* The scene */

RenderScene *
render_scene_new (void)
{
  return g_new0 (RenderScene, 1);
}

void
render_scene_free (RenderScene *scene)
{
  if (!scene)
    return;
  render_map_free (scene->map);
  render_canvas_clear (&scene->layer);
  render_canvas_clear (&scene->canvas);
  g_free (scene->colors);
  g_free (scene);
}

void
render_scene_set_map (RenderScene *scene, RenderMap *map)
{
  render_map_free (scene->map);
  scene->map = map;
  scene->has_layer = FALSE;
  if (!map)
    return;
  memcpy (scene->origin, map->origin, sizeof scene->origin);
  scene->has_origin = TRUE;
}

guint64
render_scene_get_n_map_draws (const RenderScene *scene)
{
  return scene->n_map_draws;
}

static void
to_local (RenderScene *scene, const double position[3], double local[3])
{
  for (guint axis = 0; axis < 3; axis++) {
    if (!scene->has_origin)
      scene->origin[axis] = round (position[axis]);
    local[axis] = position[axis] - scene->origin[axis];
  }
  scene->has_origin = TRUE;
}

/* The camera */

/**
 * Camera:
 * @target: what it looks at, from the scene's origin
 * @yaw: where it is, seen from the target
 * @pitch: above the horizon
 * @distance: metres
 * @is_flat: without perspective
 */
typedef struct {
  double target[3];
  double yaw;
  double pitch;
  double distance;
  gboolean is_flat;
} Camera;

static double
get_heading (const double q[4])
{
  return atan2 (2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
}

static Camera
get_camera (const RenderScene *scene, const RenderOptions *options, const SceneScan *scan,
    const double place[3], double aspect)
{
  const RenderMap *map = scene->map;
  Camera camera = {.distance = options->distance, .yaw = -G_PI / 2};

  memcpy (camera.target, place, sizeof camera.target);
  camera.is_flat = options->view != RENDER_VIEW_CHASE;
  if (options->view == RENDER_VIEW_TOP)
    camera.pitch = G_PI / 2;
  if (options->view == RENDER_VIEW_CHASE) {
    camera.pitch = CHASE_PITCH;
    camera.yaw = get_heading (scan->pose.orientation) + G_PI;
  } else if (!options->follow && map && map->cloud->n > 0) {
    const double width = map->max[0] - map->min[0];
    const guint up = options->view == RENDER_VIEW_TOP ? 1 : 2;
    const double height = map->max[up] - map->min[up];
    for (guint axis = 0; axis < 3; axis++)
      camera.target[axis] = (map->min[axis] + map->max[axis]) / 2;
    camera.distance = fmax (1.05 * fmax (height, width / aspect) / 2, 1) / tan (HALF_ANGLE);
  }
  return camera;
}

static RenderMatrix
get_matrix (const Camera *camera, double aspect)
{
  const double cy = cos (camera->yaw), sy = sin (camera->yaw);
  const double cp = cos (camera->pitch), sp = sin (camera->pitch);
  const double right[] = {-sy, cy, 0}, up[] = {-cy * sp, -sy * sp, cp},
               back[] = {cy * cp, sy * cp, sp};
  const double f = 1 / tan (HALF_ANGLE);
  /* Without perspective w is the distance throughout. */
  const double rows[4][3] = {{f / aspect * right[0], f / aspect * right[1], 0},
      {f * up[0], f * up[1], f * up[2]}, {-back[0], -back[1], -back[2]},
      {camera->is_flat ? 0 : -back[0], camera->is_flat ? 0 : -back[1],
          camera->is_flat ? 0 : -back[2]}};
  RenderMatrix matrix = {.near = (float)(camera->distance / 100)};

  for (guint row = 0; row < 4; row++) {
    double at = row == 3 && camera->is_flat ? camera->distance : 0;

    for (guint axis = 0; axis < 3; axis++) {
      const double eye = camera->target[axis] + camera->distance * back[axis];
      matrix.m[row][axis] = (float)rows[row][axis];
      at -= rows[row][axis] * eye;
    }
    matrix.m[row][3] = (float)at;
  }
  return matrix;
}

/* The same for points of the frame that @r and @t put into the scene's. */
static RenderMatrix
multiply (const RenderMatrix *matrix, const double r[9], const double t[3])
{
  RenderMatrix out = {.near = matrix->near};

  for (guint row = 0; row < 4; row++) {
    double at = (double)matrix->m[row][3];

    for (guint column = 0; column < 3; column++) {
      double sum = 0;
      for (guint k = 0; k < 3; k++)
        sum += (double)matrix->m[row][k] * r[3 * k + column];
      out.m[row][column] = (float)sum;
      at += (double)matrix->m[row][column] * t[column];
    }
    out.m[row][3] = (float)at;
  }
  return out;
}

/* What is drawn */

static void
resize (RenderScene *scene, guint width, guint height)
{
  if (scene->canvas.width == width && scene->canvas.height == height)
    return;
  render_canvas_clear (&scene->layer);
  render_canvas_clear (&scene->canvas);
  render_canvas_init (&scene->layer, width, height);
  render_canvas_init (&scene->canvas, width, height);
  scene->has_layer = FALSE;
}

/* Pixels of one metre at a w of one. */
static float
get_scale (const RenderCanvas *canvas)
{
  return (float)(canvas->height / 2.0 / tan (HALF_ANGLE));
}

static void
draw_map (RenderScene *scene, const RenderMatrix *matrix)
{
  if (scene->has_layer && memcmp (&scene->layer_matrix, matrix, sizeof *matrix) == 0)
    return;
  render_canvas_fill (&scene->layer, BACKGROUND);
  if (scene->map) {
    render_canvas_draw_points (
        &scene->layer, matrix, scene->map->cloud, MAP_POINT * get_scale (&scene->layer), 1, 4);
    scene->n_map_draws++;
  }
  scene->layer_matrix = *matrix;
  scene->has_layer = TRUE;
}

static void
color_by_height (RenderScene *scene, const ScenePoints *points, const double r[9],
    const double place[3], const guint32 table[256])
{
  static const double around[2] = {-2, 8}; /* of the body, without a map */
  const RenderMap *map = scene->map;
  const gboolean has_range = map && map->cloud->n > 0;
  const double low = has_range ? map->heights[0] : place[2] + around[0];
  const double high = has_range ? map->heights[1] : place[2] + around[1];
  const float scale = (float)(255 / (high - low));
  const float offset = (float)(place[2] - low);

  for (guint i = 0; i < points->n; i++) {
    const float *p = &points->xyz[3 * (gsize)i];
    const float z = (float)r[6] * p[0] + (float)r[7] * p[1] + (float)r[8] * p[2] + offset;
    scene->colors[i] = table[(guint)CLAMP (z * scale, 0, 255)];
  }
}

static void
draw_scan (RenderScene *scene, RenderColor color, const SceneScan *scan, const double place[3],
    const RenderMatrix *matrix)
{
  const ScenePoints *points = &scan->points;
  const guint8 *values[] = {NULL, points->intensity, points->ring, points->residual};
  guint32 table[256];
  double r[9];

  if (points->n == 0)
    return;
  if (scene->n_colors < points->n) {
    g_free (scene->colors);
    scene->colors = g_new (guint32, points->n);
    scene->n_colors = points->n;
  }
  for (guint i = 0; i < 256; i++)
    table[i] = ramp (color == RENDER_COLOR_RING ? i % 32 / 31.0 : i / 255.0, 1);
  ndt_pose_get_rotation (&scan->pose, r);
  if (color == RENDER_COLOR_HEIGHT)
    color_by_height (scene, points, r, place, table);
  else
    for (guint i = 0; i < points->n; i++)
      scene->colors[i] = table[values[color] ? values[color][i] : 128];
  const RenderCloud cloud = {.n = points->n, .xyz = points->xyz, .color = scene->colors};
  const RenderMatrix model = multiply (matrix, r, place);
  render_canvas_draw_points (
      &scene->canvas, &model, &cloud, SCAN_POINT * get_scale (&scene->canvas), 2, 5);
}

static void
draw_way (RenderScene *scene, const GArray *steps, const RenderMatrix *matrix)
{
  double from[3], to[3];

  for (guint i = 0; i < steps->len; i++) {
    const SceneStep *step = &g_array_index (steps, SceneStep, i);
    to_local (scene, step->position, to);
    if (i > 0)
      render_canvas_draw_line (
          &scene->canvas, matrix, from, to, render_status_color (step->status));
    memcpy (from, to, sizeof from);
  }
}

static void
draw_ellipse (
    RenderScene *scene, const SceneScan *scan, const double place[3], const RenderMatrix *matrix)
{
  const double xx = scan->covariance[0], xy = scan->covariance[1], yy = scan->covariance[2];
  const double mean = (xx + yy) / 2, difference = hypot ((xx - yy) / 2, xy);
  const double major = ELLIPSE_DEVIATIONS * sqrt (fmax (mean + difference, 0));
  const double minor = ELLIPSE_DEVIATIONS * sqrt (fmax (mean - difference, 0));
  const double angle = atan2 (2 * xy, xx - yy) / 2;
  double from[3];

  for (guint i = 0; i <= ELLIPSE_STEPS; i++) {
    const double a = major * cos (2 * G_PI * i / ELLIPSE_STEPS);
    const double b = minor * sin (2 * G_PI * i / ELLIPSE_STEPS);
    const double to[3] = {place[0] + cos (angle) * a - sin (angle) * b,
        place[1] + sin (angle) * a + cos (angle) * b, place[2]};
    if (i > 0)
      render_canvas_draw_line (&scene->canvas, matrix, from, to, WHITE);
    memcpy (from, to, sizeof from);
  }
}

/* An arrow of 3 m from where the body is to where it looks. */
static void
draw_body (
    RenderScene *scene, const SceneScan *scan, const double place[3], const RenderMatrix *matrix)
{
  const double yaw = get_heading (scan->pose.orientation), length = 3;
  const guint32 color = render_status_color (scan->status);
  const double tip[3] = {place[0] + length * cos (yaw), place[1] + length * sin (yaw), place[2]};

  render_canvas_draw_line (&scene->canvas, matrix, place, tip, color);
  for (int side = -1; side <= 1; side += 2) {
    const double end[3] = {tip[0] + 0.3 * length * cos (yaw + side * 2.7),
        tip[1] + 0.3 * length * sin (yaw + side * 2.7), place[2]};
    render_canvas_draw_line (&scene->canvas, matrix, tip, end, color);
  }
}

void
render_scene_draw (RenderScene *scene, const RenderOptions *options, const SceneScan *scan,
    const GArray *steps, guint32 *out, guint width, guint height)
{
  const double aspect = (double)width / height;
  double place[3] = {0, 0, 0};

  resize (scene, width, height);
  if (scan->has_pose)
    to_local (scene, scan->pose.position, place);
  const Camera camera = get_camera (scene, options, scan, place, aspect);
  const RenderMatrix matrix = get_matrix (&camera, aspect);
  draw_map (scene, &matrix);
  render_canvas_copy (&scene->canvas, &scene->layer);
  draw_scan (scene, options->color, scan, place, &matrix);
  draw_way (scene, steps, &matrix);
  if (scan->has_pose) {
    if (scan->has_covariance)
      draw_ellipse (scene, scan, place, &matrix);
    draw_body (scene, scan, place, &matrix);
  }
  memcpy (out, scene->canvas.pixels, sizeof *out * width * height);
  if (options->words)
    render_words (out, width, height, scan,
        camera.is_flat ? 2 * camera.distance * tan (HALF_ANGLE) / height : 0);
}
