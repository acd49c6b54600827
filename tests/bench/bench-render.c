/* SPDX-License-Identifier: MIT */
/* What a picture of pointcloudrender takes beside a plain loop over the same points with a depth
 * buffer: bench-render [FRAMES]. Fails above 1.5 times where all is drawn anew. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gst/render/render-scene.h"
#include "ndtcore/math/ndt-pose.h"

#define WIDTH 1280
#define HEIGHT 720
#define N_MAP 1000000
#define N_SCAN 130000
#define LIMIT 1.5

/* Ground and walls of streets of 200 m × 200 m. */
static double *
make_map (void)
{
  double *xyz = g_new (double, 3 * N_MAP);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (guint i = 0; i < N_MAP; i++) {
    double *p = &xyz[3 * (gsize)i];

    for (guint axis = 0; axis < 2; axis++)
      p[axis] = g_rand_double_range (rand, -100, 100);
    p[2] = 0;
    if (i % 2 == 0) {
      p[i / 2 % 2] = 10 + 20 * floor (p[i / 2 % 2] / 20);
      p[2] = g_rand_double_range (rand, 0, 12);
    }
  }
  return xyz;
}

/* Rings on the ground and a wall around, in the frame of the sensor. */
static ScenePoints
make_scan (void)
{
  ScenePoints points = {
      .n = N_SCAN, .xyz = g_new (float, 3 * N_SCAN), .residual = g_new (guint8, N_SCAN)};

  for (guint i = 0; i < N_SCAN; i++) {
    const double angle = 2 * G_PI * i / 1024, down = 0.02 + 0.4 * (i % 128) / 128;
    const double range = fmin (1.8 / tan (down), 40);

    points.xyz[3 * i] = (float)(range * cos (angle));
    points.xyz[3 * i + 1] = (float)(range * sin (angle));
    points.xyz[3 * i + 2] = (float)(-range * tan (down));
    points.residual[i] = (guint8)(i * 7);
  }
  return points;
}

/* The same points with the same camera, no more than it takes: each is transformed, compared, and
 * written as one pixel. */
static void
draw_plainly (const float *map, const ScenePoints *scan, const guint32 *colors, const float m[4][4],
    const float place[3], guint32 *pixels, float *depth)
{
  for (guint i = 0; i < WIDTH * HEIGHT; i++) {
    pixels[i] = 0;
    depth[i] = INFINITY;
  }
  for (guint i = 0; i < N_MAP + N_SCAN; i++) {
    const gboolean is_map = i < N_MAP;
    const float *p = is_map ? map + 3 * (gsize)i : scan->xyz + 3 * (gsize)(i - N_MAP);
    const float x = p[0] + (is_map ? 0 : place[0]), y = p[1] + (is_map ? 0 : place[1]),
                z = p[2] + (is_map ? 0 : place[2]);
    const float w = m[3][0] * x + m[3][1] * y + m[3][2] * z + m[3][3];

    if (w < 0.3f)
      continue;
    const float column = WIDTH / 2 * (1 + (m[0][0] * x + m[0][1] * y + m[0][2] * z + m[0][3]) / w);
    const float row = HEIGHT / 2 * (1 - (m[1][0] * x + m[1][1] * y + m[1][2] * z + m[1][3]) / w);
    if (column < 0 || column >= WIDTH || row < 0 || row >= HEIGHT)
      continue;
    const guint at = (guint)row * WIDTH + (guint)column;
    if (w < depth[at]) {
      depth[at] = w;
      pixels[at] = colors[i];
    }
  }
}

/* 30 m behind the place and above it, as of view=chase, heading east. */
static void
make_matrix (const float place[3], float m[4][4])
{
  const double c = cos (0.45), s = sin (0.45), f = 1 / tan (0.45), d = 30;
  const double rows[4][3] = {
      {0, -f * HEIGHT / WIDTH, 0}, {f * s, 0, f * c}, {c, 0, -s}, {c, 0, -s}};
  const double eye[3] = {(double)place[0] - d * c, (double)place[1], (double)place[2] + d * s};

  for (guint row = 0; row < 4; row++) {
    double at = 0;

    for (guint axis = 0; axis < 3; axis++) {
      m[row][axis] = (float)rows[row][axis];
      at -= rows[row][axis] * eye[axis];
    }
    m[row][3] = (float)at;
  }
}

static double
milliseconds (gint64 since)
{
  return 1e-3 * (double)(g_get_monotonic_time () - since);
}

int
main (int argc, char **argv)
{
  const guint n_frames = argc > 1 ? (guint)atoi (argv[1]) : 30;
  g_autofree double *map = make_map ();
  g_autofree float *map_floats = g_new (float, 3 * N_MAP);
  g_autofree guint32 *colors = g_new (guint32, N_MAP + N_SCAN),
                     *pixels = g_new (guint32, WIDTH * HEIGHT);
  g_autofree float *depth = g_new (float, WIDTH *HEIGHT);
  ScenePoints points = make_scan ();
  RenderScene *scene = render_scene_new ();
  SceneWay way;
  double plain = INFINITY, all = INFINITY, part = INFINITY;

  for (gsize i = 0; i < 3 * N_MAP; i++)
    map_floats[i] = (float)map[i];
  for (guint i = 0; i < N_MAP + N_SCAN; i++)
    colors[i] = i * 2654435761u;
  scene_way_init (&way);
  render_scene_set_map (scene, render_map_new (map, N_MAP));
  /* The least of many frames, in turns, so that other work on the machine counts for none. */
  for (guint i = 0; i < n_frames; i++) {
    const float place[3] = {(float)i, 0, 1.8f};
    SceneScan scan = {.points = points,
        .status = 2,
        .seconds = i,
        .sequence = i,
        .has_pose = TRUE,
        .pose = NDT_POSE_IDENTITY,
        .has_covariance = TRUE,
        .covariance = {0.1, 0, 0.1, 0.1, 0.01},
        .nvtl = 3,
        .matched_ratio = 0.9};
    RenderOptions options = {.view = RENDER_VIEW_CHASE,
        .color = RENDER_COLOR_RESIDUAL,
        .distance = 30,
        .follow = TRUE,
        .words = TRUE};
    float m[4][4];
    gint64 begin;

    for (guint axis = 0; axis < 3; axis++)
      scan.pose.position[axis] = (double)place[axis];
    scene_way_add (&way, &scan);
    make_matrix (place, m);
    begin = g_get_monotonic_time ();
    draw_plainly (map_floats, &points, colors, m, place, pixels, depth);
    plain = fmin (plain, milliseconds (begin));
    begin = g_get_monotonic_time ();
    render_scene_draw (scene, &options, &scan, way.steps, pixels, WIDTH, HEIGHT);
    all = fmin (all, milliseconds (begin));
    begin = g_get_monotonic_time ();
    render_scene_draw (scene, &options, &scan, way.steps, pixels, WIDTH, HEIGHT);
    part = fmin (part, milliseconds (begin));
  }
  printf ("%u points of a map, %u of a scan, %u × %u, chase view, least of %u frames\n", N_MAP,
      N_SCAN, WIDTH, HEIGHT, n_frames);
  printf ("plain loop: %.2f ms\n", plain);
  printf ("all drawn: %.2f ms, %.2f times (at most %.1f)\n", all, all / plain, LIMIT);
  printf ("the camera stays: %.2f ms\n", part);
  render_scene_free (scene);
  scene_way_clear (&way);
  scene_points_clear (&points);
  return all <= LIMIT * plain ? EXIT_SUCCESS : EXIT_FAILURE;
}
