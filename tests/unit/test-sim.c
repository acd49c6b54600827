/* SPDX-License-Identifier: MIT */
#include "ndtcore/sim/world/ndt-sim-map.h"
#include "ndtcore/sim/scanner/ndt-sim-odometry.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "ndtcore/math/ndt-pose.h"

static const NdtSimWorldKind kinds[] = {NDT_SIM_WORLD_TOWN, NDT_SIM_WORLD_TUNNEL,
    NDT_SIM_WORLD_HIGHWAY, NDT_SIM_WORLD_HALL, NDT_SIM_WORLD_BLOCKS};

static void
test_math (void)
{
  double x, s, c;
  guint i;

  /* A few units in the last place of numbers up to 1, and the reduction of large angles. */
  for (x = -50; x < 50; x += 0.0137) {
    ndt_sim_sincos (x, &s, &c);
    g_assert_cmpfloat_with_epsilon (s, sin (x), 1e-15);
    g_assert_cmpfloat_with_epsilon (c, cos (x), 1e-15);
    g_assert_cmpfloat_with_epsilon (ndt_sim_atan2 (s, c), atan2 (s, c), 1e-14);
  }
  ndt_sim_sincos (1e5, &s, &c);
  g_assert_cmpfloat_with_epsilon (s, sin (1e5), 1e-11);
  g_assert_cmpfloat_with_epsilon (ndt_sim_atan2 (0, -1), G_PI, 1e-15);
  g_assert_cmpfloat_with_epsilon (ndt_sim_atan2 (-3, 0), -G_PI / 2, 1e-15);
  g_assert_cmpfloat (ndt_sim_atan2 (0, 0), ==, 0);
  for (x = 1e-12; x < 1e6; x *= 1.37)
    g_assert_cmpfloat_with_epsilon (ndt_sim_log (x), log (x), 1e-14);

  /* Moments of 1e5 normal deviates: within 4 standard errors. */
  double sum = 0, square = 0;
  const guint n = 100000;
  for (i = 0; i < n; i++) {
    x = ndt_sim_normal (ndt_sim_hash (1, 2, i));
    g_assert_true (isfinite (x));
    sum += x;
    square += x * x;
  }
  g_assert_cmpfloat (fabs (sum / n), <, 4 / sqrt (n));
  g_assert_cmpfloat (fabs (square / n - 1), <, 4 * sqrt (2.0 / n));
}

static NdtSimRay
ray_from (double x, double y, double z, double dx, double dy, double dz)
{
  const double norm = sqrt (dx * dx + dy * dy + dz * dz);
  NdtSimRay ray = {{x, y, z}, {dx / norm, dy / norm, dz / norm}};
  return ray;
}

/* Intersections worked out by hand. */
static void
test_shapes (void)
{
  NdtSimShape box = {NDT_SIM_SHAPE_BOX, 1}, cone = {NDT_SIM_SHAPE_FRUSTUM, 1},
              egg = {NDT_SIM_SHAPE_ELLIPSOID, 1}, triangle = {NDT_SIM_SHAPE_TRIANGLE, 1};
  const double inside[3] = {10, 0, 1}, outside[3] = {8.5, 0, 1};
  NdtSimRay ray;
  double normal[3], point[3] = {10 - sqrt (2), 0, 1};

  /* A cube of 2 m, turned by 45°: its edge points at the origin. */
  box.box.centre[0] = 10;
  box.box.centre[2] = 1;
  box.box.half[0] = box.box.half[1] = box.box.half[2] = 1;
  ndt_sim_sincos (G_PI / 4, &box.box.sin_yaw, &box.box.cos_yaw);
  ray = ray_from (0, 0, 1, 1, 0, 0);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&box, &ray, 0), 10 - sqrt (2), 1e-12);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&box, &ray, 9), 10 + sqrt (2), 1e-12);
  g_assert_true (ndt_sim_shape_intersect (&box, &ray, 12) == INFINITY);
  ray = ray_from (0, 0, 2.001, 1, 0, 0);
  g_assert_true (ndt_sim_shape_intersect (&box, &ray, 0) == INFINITY);
  ray = ray_from (10, 0.5, 9, 0, 0, -1);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&box, &ray, 0), 7, 1e-12);
  point[1] = 0.1;
  point[0] += 0.1;
  ndt_sim_shape_normal (&box, point, normal);
  g_assert_cmpfloat_with_epsilon (normal[0], -sqrt (0.5), 1e-12);
  g_assert_cmpfloat_with_epsilon (normal[1], sqrt (0.5), 1e-12);
  g_assert_true (ndt_sim_shape_contains (&box, inside, 0));
  g_assert_false (ndt_sim_shape_contains (&box, outside, 0));

  /* Radius 2 at the ground, 0 at 4 m: at 2 m it is 1. */
  cone.frustum.x = 10;
  cone.frustum.z1 = 4;
  cone.frustum.r0 = 2;
  ray = ray_from (0, 0, 2, 1, 0, 0);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&cone, &ray, 0), 9, 1e-12);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&cone, &ray, 10), 11, 1e-12);
  /* Above the tip the mirrored cone of the formula is not there. */
  ray = ray_from (0, 0, 5, 1, 0, 0);
  g_assert_true (ndt_sim_shape_intersect (&cone, &ray, 0) == INFINITY);
  ray = ray_from (11, 0, -3, 0, 0, 1);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&cone, &ray, 0), 3, 1e-12);
  point[0] = 9;
  point[1] = 0;
  point[2] = 2;
  ndt_sim_shape_normal (&cone, point, normal);
  g_assert_cmpfloat_with_epsilon (normal[0], -2 / sqrt (5), 1e-12);
  g_assert_cmpfloat_with_epsilon (normal[2], 1 / sqrt (5), 1e-12);

  egg.ellipsoid.centre[0] = 10;
  egg.ellipsoid.radius = 1;
  egg.ellipsoid.height = 3;
  ray = ray_from (0, 0, 0, 1, 0, 0);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&egg, &ray, 0), 9, 1e-12);
  ray = ray_from (10, 0, 10, 0, 0, -1);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&egg, &ray, 0), 7, 1e-12);

  triangle.triangle.p[0] = 5;
  triangle.triangle.u[1] = 1;
  triangle.triangle.v[2] = 1;
  ray = ray_from (0, 0.3, 0.3, 1, 0, 0);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&triangle, &ray, 0), 5, 1e-12);
  ray = ray_from (9, 0.3, 0.3, -1, 0, 0);
  g_assert_cmpfloat_with_epsilon (ndt_sim_shape_intersect (&triangle, &ray, 0), 4, 1e-12);
  ray = ray_from (0, 0.6, 0.6, 1, 0, 0);
  g_assert_true (ndt_sim_shape_intersect (&triangle, &ray, 0) == INFINITY);
}

/* The tree finds what all shapes one by one give, to the bit. */
static void
test_tree (void)
{
  guint k, i, j;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], 3);
    const NdtSimShape *shapes = (const NdtSimShape *)world->shapes->data;
    const double length = ndt_sim_path_get_length (world->path);
    NdtSimRandom random = {5, k};
    guint n_hits = 0;

    for (i = 0; i < 400; i++) {
      const NdtSimPathPoint p =
          ndt_sim_path_at (world->path, ndt_sim_random_range (&random, 0, length), 0);
      NdtSimRay ray = ray_from (p.x, p.y, 1.8, ndt_sim_random_normal (&random),
          ndt_sim_random_normal (&random), 0.3 * ndt_sim_random_normal (&random));
      const NdtSimShape *shape, *nearest = NULL;
      double t, best = 150;

      /* Along the axes as well, where reciprocals of the direction are infinite. */
      if (i % 10 == 0) {
        memset (ray.direction, 0, sizeof ray.direction);
        ray.direction[i / 10 % 3] = i % 20 ? 1 : -1;
      }
      for (j = 0; j < world->shapes->len; j++) {
        t = ndt_sim_shape_intersect (&shapes[j], &ray, 0.5);
        if (t < best) {
          best = t;
          nearest = &shapes[j];
        }
      }
      t = ndt_sim_bvh_intersect (world->bvh, &ray, 0.5, 150, &shape);
      g_assert_true (shape == nearest);
      if (nearest != NULL) {
        g_assert_true (t == best);
        n_hits++;
      } else {
        g_assert_true (t == INFINITY);
      }
    }
    g_assert_cmpuint (n_hits, >, 100);
  }
}

static void
test_tree_edges (void)
{
  NdtSimShape shape = {NDT_SIM_SHAPE_ELLIPSOID, 1};
  g_autoptr (NdtSimBvh) none = ndt_sim_bvh_new (NULL, 0);
  g_autoptr (NdtSimBvh) one = NULL;
  g_autoptr (NdtSimBvh) same = NULL;
  g_autofree NdtSimShape *shapes = g_new (NdtSimShape, 100);
  const NdtSimRay ray = ray_from (0, 0, 0, 1, 0, 0);
  const NdtSimShape *found;
  guint i;

  shape.ellipsoid.centre[0] = 10;
  shape.ellipsoid.radius = shape.ellipsoid.height = 1;
  g_assert_true (ndt_sim_bvh_intersect (none, &ray, 0, 100, &found) == INFINITY && found == NULL);
  one = ndt_sim_bvh_new (&shape, 1);
  g_assert_true (ndt_sim_bvh_intersect (one, &ray, 0, 100, &found) == 9 && found == &shape);
  g_assert_true (ndt_sim_bvh_intersect (one, &ray, 0, 8.9, &found) == INFINITY && found == NULL);
  /* Of equals the first wins, whatever the order of the tree. */
  for (i = 0; i < 100; i++)
    shapes[i] = shape;
  same = ndt_sim_bvh_new (shapes, 100);
  g_assert_true (ndt_sim_bvh_intersect (same, &ray, 0, 100, &found) == 9);
  g_assert_true (found == &shapes[0]);
}

static void
test_path (void)
{
  guint k;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], 1);
    const double length = ndt_sim_path_get_length (world->path), step = 0.05;
    const NdtSimPathPoint first = ndt_sim_path_at (world->path, 0, 0);
    const NdtSimPathPoint last = ndt_sim_path_at (world->path, length, 0);
    const NdtSimPathPoint beyond = ndt_sim_path_at (world->path, 2 * length + 7, 0);
    const NdtSimPathPoint within = ndt_sim_path_at (world->path, 7, 0);
    double s;

    g_assert_cmpfloat (first.x, ==, 0);
    g_assert_cmpfloat (first.y, ==, 0);
    g_assert_cmpfloat (first.heading, ==, 0);
    g_assert_cmpfloat_with_epsilon (first.x, last.x, 1e-6);
    g_assert_cmpfloat_with_epsilon (first.y, last.y, 1e-6);
    g_assert_cmpfloat_with_epsilon (
        fabs (last.heading - first.heading), 2 * G_PI, 1e-6); /* a simple loop */
    g_assert_cmpfloat_with_epsilon (beyond.x, within.x, 1e-6);
    g_assert_cmpfloat_with_epsilon (beyond.y, within.y, 1e-6);
    for (s = 0; s < length; s += step) {
      const NdtSimPathPoint a = ndt_sim_path_at (world->path, s, 0);
      const NdtSimPathPoint b = ndt_sim_path_at (world->path, s + step, 0);
      const double dx = b.x - a.x, dy = b.y - a.y;
      const double heading = (a.heading + b.heading) / 2, turn = b.heading - a.heading;
      double sine, cosine;

      /* s is the distance, the heading that of the curve, the curvature its change. The
       * curvature is at most 1 / 1.4 m and changes by at most 0.9 1/m², which bounds what the
       * chord and the interpolation between samples of 0.1 m may differ by. */
      g_assert_cmpfloat_with_epsilon (sqrt (dx * dx + dy * dy), step, 1e-4);
      ndt_sim_sincos (heading, &sine, &cosine);
      g_assert_cmpfloat_with_epsilon (-sine * dx + cosine * dy, 0, 1e-4);
      g_assert_cmpfloat_with_epsilon (turn / step, (a.curvature + b.curvature) / 2, 0.02);
    }
  }
}

/* Of a comfortable driver, as lidartestsrc has by default. */
static NdtSimMotion *
new_motion (const NdtSimWorld *world, double speed, double start)
{
  const NdtSimDriver driver = {speed, 2, 1.5};
  return ndt_sim_motion_new (world->path, &driver, start);
}

static void
test_motion (void)
{
  guint k;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], 2);
    const double speed = world->default_speed, length = ndt_sim_path_get_length (world->path);
    g_autoptr (NdtSimMotion) motion = new_motion (world, speed, -20);
    g_autoptr (NdtSimMotion) still = new_motion (world, 0, 5);
    const double period = ndt_sim_motion_get_period (motion), step = 0.1;
    double time, fastest = 0, before;
    NdtPose a, b;

    g_assert_cmpfloat_with_epsilon (ndt_sim_motion_distance (motion, 0), length - 20, 1e-6);
    g_assert_cmpfloat_with_epsilon (ndt_sim_motion_distance (motion, period), length - 20, 1e-6);
    g_assert_cmpfloat_with_epsilon (
        ndt_sim_motion_distance (motion, -3 * period), length - 20, 1e-6);
    g_assert_cmpfloat (period, >=, length / speed - 1e-6);
    g_assert_cmpfloat (period, <, 3 * length / speed);
    before = ndt_sim_motion_distance (motion, 0);
    for (time = step; time < period; time += step) {
      const double s = ndt_sim_motion_distance (motion, time);
      const double v = (s < before - length / 2 ? s + length - before : s - before) / step;
      const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, 0);

      g_assert_cmpfloat (v, >, 0);
      g_assert_cmpfloat (v, <=, speed + 1e-6);
      /* 2 m/s² sideways; a step is 0.1 s, in which the curvature changes. */
      g_assert_cmpfloat (v * v * fabs (p.curvature), <, 3);
      fastest = MAX (fastest, v);
      before = s;
    }
    g_assert_cmpfloat (fastest, >, 0.7 * speed);

    ndt_sim_motion_pose (still, 0, 1.8, 0, &a);
    ndt_sim_motion_pose (still, 1000, 1.8, 0, &b);
    g_assert_cmpmem (&a, sizeof a, &b, sizeof b);
    /* To the left of where it looks. */
    ndt_sim_motion_pose (still, 0, 1.8, 0.5, &b);
    ndt_pose_between (&a, &b, &b);
    g_assert_cmpfloat_with_epsilon (b.position[1], 0.5, 0.001);
    g_assert_cmpfloat_with_epsilon (b.position[0], 0, 0.01);
  }
}

/* Nothing that a vehicle or a sensor could run into, in any world. */
static void
test_free_corridor (void)
{
  guint64 seed;
  guint k;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    for (seed = 0; seed < 4; seed++) {
      g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], seed);
      const NdtSimShape *shapes = (const NdtSimShape *)world->shapes->data;
      const double length = ndt_sim_path_get_length (world->path);
      double s, lateral, z;

      for (s = 0; s < length; s += 1) {
        for (lateral = -NDT_SIM_WORLD_CLEAR_WIDTH; lateral <= NDT_SIM_WORLD_CLEAR_WIDTH + 1e-9;
             lateral += NDT_SIM_WORLD_CLEAR_WIDTH) {
          const NdtSimPathPoint p = ndt_sim_path_at (world->path, s, lateral);
          /* Straight up, through all shapes that stand in the way. */
          const NdtSimRay up = {{p.x, p.y, 0.25}, {0, 0, 1}};
          /* And forward, where the corridor goes on nearly straight for a metre. */
          NdtSimRay ahead = {{p.x, p.y, 1.8}, {0, 0, 0}};
          const NdtSimShape *shape;

          g_assert_true (ndt_sim_bvh_intersect (world->bvh, &up, 0,
                             NDT_SIM_WORLD_CLEAR_HEIGHT - 0.25, &shape) == INFINITY);
          ndt_sim_sincos (p.heading, &ahead.direction[1], &ahead.direction[0]);
          for (z = 0.3; z < NDT_SIM_WORLD_CLEAR_HEIGHT; z += 0.3) {
            const double point[3] = {p.x, p.y, z};
            guint i;

            ahead.origin[2] = z;
            if (ndt_sim_bvh_intersect (world->bvh, &ahead, 0, 1, &shape) != INFINITY)
              g_error ("world %u seed %u: shape %u stands in the way at %.1f m, %.1f m left", k,
                  (guint)seed, (guint)(shape - shapes), s, lateral);
            if (s == 0)
              for (i = 0; i < world->shapes->len; i++)
                g_assert_false (ndt_sim_shape_contains (&shapes[i], point, 0));
          }
        }
      }
    }
  }
}

static NdtSimReturn *
cast (NdtSimWorldKind kind, guint64 seed, const NdtSimSensor *sensor, guint n_threads, guint64 scan)
{
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, seed);
  g_autoptr (NdtSimMotion) motion = new_motion (world, world->default_speed, 30);
  g_autoptr (NdtSimScanner) scanner =
      ndt_sim_scanner_new (world, motion, motion, sensor, n_threads);
  NdtSimReturn *returns = g_new (NdtSimReturn, sensor->n_rings * sensor->n_columns);

  /* One after another: the pool of threads is used again. */
  ndt_sim_scanner_cast (scanner, scan + 1, 0.1 * (scan + 1), 0.1 * (scan + 2), returns);
  ndt_sim_scanner_cast (scanner, scan, 0.1 * scan, 0.1 * (scan + 1), returns);
  return returns;
}

static const NdtSimSensor noisy = {
    .n_rings = 32,
    .n_columns = 300,
    .max_range = 100,
    .range_noise = 0.02,
    .dropout = 0.1,
    .motion_distortion = TRUE,
    .mount_height = 1.8,
    .noise_seed = 7,
    .n_vehicles = 40,
};

static void
test_determinism (void)
{
  const gsize size = sizeof (NdtSimReturn) * noisy.n_rings * noisy.n_columns;
  NdtSimSensor other = noisy;
  guint k, n_threads;

  other.noise_seed = 8;
  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autofree NdtSimReturn *one = cast (kinds[k], 1, &noisy, 1, 12);
    g_autofree NdtSimReturn *different = NULL;

    for (n_threads = 2; n_threads <= 5; n_threads += 3) {
      g_autofree NdtSimReturn *several = cast (kinds[k], 1, &noisy, n_threads, 12);
      g_assert_cmpmem (one, size, several, size);
    }
    different = cast (kinds[k], 1, &other, 1, 12);
    g_assert_true (memcmp (one, different, size) != 0);
    g_free (different);
    different = cast (kinds[k], 1, &noisy, 1, 13);
    g_assert_true (memcmp (one, different, size) != 0);
    g_free (different);
    /* Of the hall, whose path and walls do not depend on the seed, the goods differ. */
    different = cast (kinds[k], 2, &noisy, 1, 12);
    g_assert_true (memcmp (one, different, size) != 0);
  }
}

/* Bits that have to come out of every compiler on every machine: a hash of scans and maps. It
 * changes when the worlds do; then write the new one here. */
static void
test_same_everywhere (void)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_MD5);
  guint k;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autofree NdtSimReturn *returns = cast (kinds[k], 1, &noisy, 1, 12);
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], 1);
    g_autoptr (GArray) map = ndt_sim_map_sample (world, 2, 0.01, 1);

    g_checksum_update (sum, (const guchar *)returns,
        (gssize)(sizeof (NdtSimReturn) * noisy.n_rings * noisy.n_columns));
    g_checksum_update (sum, (const guchar *)map->data, (gssize)(map->len * 3 * sizeof (double)));
  }
  g_assert_cmpstr (g_checksum_get_string (sum), ==, "153a310e44efb717d0287a98f0e3bc8f");
}

static void
test_noise (void)
{
  NdtSimSensor clean = noisy;
  g_autofree NdtSimReturn *a = NULL, *b = NULL;
  const guint n = noisy.n_rings * noisy.n_columns;
  double sum = 0, square = 0;
  guint n_both = 0, n_clean = 0, i;

  clean.range_noise = 0;
  clean.dropout = 0;
  a = cast (NDT_SIM_WORLD_HALL, 1, &clean, 1, 5);
  b = cast (NDT_SIM_WORLD_HALL, 1, &noisy, 1, 5);
  for (i = 0; i < n; i++) {
    const double difference = (double)b[i].range - a[i].range;
    n_clean += a[i].range > 0;
    if (a[i].range == 0)
      g_assert_true (b[i].range == 0);
    if (b[i].range == 0)
      continue;
    n_both++;
    sum += difference;
    square += difference * difference;
    g_assert_true (a[i].intensity >= 0 && a[i].intensity <= 1);
  }
  g_assert_cmpuint (n_clean, ==, n); /* a closed room */
  /* Four standard errors each. */
  g_assert_cmpfloat (
      fabs (1 - (double)n_both / n_clean - noisy.dropout), <, 4 * sqrt (0.09 / n_clean));
  g_assert_cmpfloat (fabs (sum / n_both), <, 4 * noisy.range_noise / sqrt (n_both));
  g_assert_cmpfloat (
      fabs (sqrt (square / n_both) / noisy.range_noise - 1), <, 4 / sqrt (2.0 * n_both));
}

/* Ranges of a scan against rays through every shape, from the pose of each column. */
static void
check_truth (NdtSimWorldKind kind, gboolean distortion)
{
  NdtSimSensor sensor = noisy;
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, 4);
  g_autoptr (NdtSimMotion) motion = new_motion (world, world->default_speed, 0);
  g_autofree NdtSimReturn *returns = g_new (NdtSimReturn, sensor.n_rings * sensor.n_columns);
  const double start = 21.3, end = 21.5;
  guint column, ring, i, n_checked = 0;

  sensor.range_noise = 0;
  sensor.dropout = 0;
  sensor.n_vehicles = 0;
  sensor.motion_distortion = distortion;
  g_autoptr (NdtSimScanner) scanner = ndt_sim_scanner_new (world, motion, motion, &sensor, 2);
  ndt_sim_scanner_cast (scanner, 0, start, end, returns);
  for (column = 0; column < sensor.n_columns; column += 7) {
    const double time = distortion ? start + (end - start) * column / sensor.n_columns : end;
    NdtPose pose;

    ndt_sim_scanner_get_pose (scanner, time, &pose);
    for (ring = 0; ring < sensor.n_rings; ring += 5) {
      const float range = returns[column * sensor.n_rings + ring].range;
      double beam[3], tip[3], nearest = INFINITY;
      NdtSimRay ray;

      ndt_sim_scanner_get_beam (scanner, column, ring, beam);
      ndt_pose_transform_point (&pose, beam, tip);
      for (i = 0; i < 3; i++) {
        ray.origin[i] = pose.position[i];
        ray.direction[i] = tip[i] - pose.position[i];
      }
      for (i = 0; i < world->shapes->len; i++)
        nearest =
            MIN (nearest, ndt_sim_shape_intersect (&g_array_index (world->shapes, NdtSimShape, i),
                              &ray, NDT_SIM_MIN_RANGE));
      if (ray.direction[2] < 0)
        nearest = MIN (nearest, -ray.origin[2] / ray.direction[2]);
      if (nearest > sensor.max_range) {
        g_assert_true (range == 0);
        continue;
      }
      /* The rounding of a float of up to 100 m is 4e-6 m; at grazing incidence that of the
       * direction adds to it. */
      g_assert_cmpfloat_with_epsilon (range, nearest, 2e-5);
      n_checked++;
    }
  }
  g_assert_cmpuint (n_checked, >, 100);
}

static void
test_truth (void)
{
  guint k;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    check_truth (kinds[k], FALSE);
    check_truth (kinds[k], TRUE);
  }
}

static void
test_vehicles (void)
{
  NdtSimSensor with = noisy, without = noisy;
  const guint n = noisy.n_rings * noisy.n_columns;
  guint k, i, n_all = 0;

  without.n_vehicles = 0;
  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autofree NdtSimReturn *a = cast (kinds[k], 1, &with, 1, 40);
    g_autofree NdtSimReturn *b = cast (kinds[k], 1, &without, 1, 40);
    guint n_nearer = 0;

    for (i = 0; i < n; i++) {
      if (a[i].range == b[i].range)
        continue;
      /* They hide what is behind them and nothing else. */
      g_assert_true (a[i].range > 0 && (b[i].range == 0 || a[i].range < b[i].range));
      n_nearer++;
    }
    g_assert_cmpuint (n_nearer, >, 0);
    g_assert_cmpuint (n_nearer, <, n / 3);
    n_all += n_nearer;
  }
  g_assert_cmpuint (n_all, >, 100);
}

static void
test_elevations (void)
{
  static const guint models[] = {16, 32, 64, 128};
  double degrees, before;
  guint k, ring;

  for (k = 0; k < G_N_ELEMENTS (models); k++) {
    before = -91;
    for (ring = 0; ring < models[k]; ring++) {
      g_assert_true (ndt_sim_sensor_get_elevation (models[k], ring, &degrees));
      g_assert_cmpfloat (degrees, >, before);
      before = degrees;
    }
    g_assert_false (ndt_sim_sensor_get_elevation (models[k], ring, &degrees));
  }
  g_assert_false (ndt_sim_sensor_get_elevation (17, 0, &degrees));
  ndt_sim_sensor_get_elevation (64, 63, &degrees);
  g_assert_cmpfloat_with_epsilon (degrees, 2, 0.01);
  ndt_sim_sensor_get_elevation (32, 31, &degrees);
  g_assert_cmpfloat_with_epsilon (degrees, 10.67, 0.01);
}

/* A map's points lie on the world's surfaces, none of them inside a solid. */
static void
test_map (void)
{
  guint k, i, j, axis;

  for (k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kinds[k], 1);
    g_autoptr (GArray) points = ndt_sim_map_sample (world, 1.0, 0, 9);
    g_autoptr (GArray) again = ndt_sim_map_sample (world, 1.0, 0, 9);
    g_autoptr (GArray) noisy_points = ndt_sim_map_sample (world, 1.0, 0.05, 9);
    guint n_ground = 0;
    double square = 0;

    g_assert_cmpuint (points->len, >, 10000);
    g_assert_cmpmem (points->data, points->len * 24, again->data, again->len * 24);
    g_assert_cmpuint (points->len, ==, noisy_points->len);
    for (i = 0; i < points->len; i++) {
      const double *p = (const double *)points->data + 3 * i;
      const double *q = (const double *)noisy_points->data + 3 * i;
      for (axis = 0; axis < 3; axis++)
        square += (p[axis] - q[axis]) * (p[axis] - q[axis]);
    }
    /* Four standard errors. */
    g_assert_cmpfloat (
        fabs (sqrt (square / points->len) / 0.05 - 1), <, 4 / sqrt (2.0 * points->len));

    for (i = 0; i < points->len; i += 97) {
      const double *p = (const double *)points->data + 3 * i;
      gboolean on_surface = p[2] == 0;

      n_ground += on_surface;
      for (j = 0; j < world->shapes->len; j++) {
        const NdtSimShape *shape = &g_array_index (world->shapes, NdtSimShape, j);
        g_assert_false (ndt_sim_shape_contains (shape, p, -0.002));
        if (shape->kind == NDT_SIM_SHAPE_TRIANGLE) {
          double normal[3], along;
          NdtSimRay ray;
          /* From a metre before the surface straight onto it. */
          ndt_sim_shape_normal (shape, p, normal);
          for (axis = 0; axis < 3; axis++) {
            ray.origin[axis] = p[axis] + normal[axis];
            ray.direction[axis] = -normal[axis];
          }
          along = ndt_sim_shape_intersect (shape, &ray, 0);
          on_surface |= fabs (along - 1) < 1e-6;
        } else {
          on_surface |= ndt_sim_shape_contains (shape, p, 1e-6);
        }
      }
      g_assert_true (on_surface);
    }
    g_assert_cmpuint (n_ground, >, 10);
  }
}

static void
test_odometry (void)
{
  const double fraction = 0.05, rotation = 0.02;
  const guint n = 4000;
  NdtSimOdometry odometry, exact;
  NdtPose truth, previous_truth, pose, previous, expected, step, true_step, error;
  double square[6] = {0};
  double twist[6];
  guint i, k;

  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (NDT_SIM_WORLD_TOWN, 1);
  g_autoptr (NdtSimMotion) motion = new_motion (world, 8, 0);
  ndt_sim_odometry_init (&odometry, fraction, rotation, 1);
  ndt_sim_odometry_init (&exact, 0, 0, 1);
  for (i = 0; i < n; i++) {
    ndt_sim_motion_pose (motion, 0.1 * i, 1.8, 0, &truth);
    ndt_sim_odometry_step (&odometry, &truth, &pose);
    ndt_sim_odometry_step (&exact, &truth, &expected);
    if (i == 0) {
      const NdtPose identity = NDT_POSE_IDENTITY;
      g_assert_cmpmem (&pose, sizeof pose, &identity, sizeof identity);
    } else {
      double length = 0;
      ndt_pose_between (&previous, &pose, &step);
      ndt_pose_between (&previous_truth, &truth, &true_step);
      for (k = 0; k < 3; k++)
        length += true_step.position[k] * true_step.position[k];
      length = sqrt (length);
      for (k = 0; k < 3; k++) {
        const double e = (step.position[k] - true_step.position[k]) / (fraction * length);
        square[k] += e * e;
      }
      ndt_pose_between (&true_step, &step, &error);
      ndt_pose_log (&error, twist);
      for (k = 3; k < 6; k++)
        square[k] += twist[k] * twist[k] / (rotation * rotation);
    }
    previous = pose;
    previous_truth = truth;
  }
  /* Four standard errors. */
  for (k = 0; k < 6; k++)
    g_assert_cmpfloat (fabs (sqrt (square[k] / (n - 1)) - 1), <, 4 / sqrt (2.0 * n));
  /* Without noise only rounding accumulates. */
  ndt_sim_motion_pose (motion, 0, 1.8, 0, &previous_truth);
  ndt_pose_between (&previous_truth, &truth, &step);
  ndt_pose_difference (&step, &expected, &square[0], &square[1]);
  g_assert_cmpfloat (square[0], <, 1e-8);
  g_assert_cmpfloat (square[1], <, 1e-10);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sim/math", test_math);
  g_test_add_func ("/sim/shapes", test_shapes);
  g_test_add_func ("/sim/tree", test_tree);
  g_test_add_func ("/sim/tree/edges", test_tree_edges);
  g_test_add_func ("/sim/path", test_path);
  g_test_add_func ("/sim/motion", test_motion);
  g_test_add_func ("/sim/free-corridor", test_free_corridor);
  g_test_add_func ("/sim/determinism", test_determinism);
  g_test_add_func ("/sim/same-everywhere", test_same_everywhere);
  g_test_add_func ("/sim/noise", test_noise);
  g_test_add_func ("/sim/truth", test_truth);
  g_test_add_func ("/sim/vehicles", test_vehicles);
  g_test_add_func ("/sim/elevations", test_elevations);
  g_test_add_func ("/sim/map", test_map);
  g_test_add_func ("/sim/odometry", test_odometry);
  return g_test_run ();
}
