/* SPDX-License-Identifier: MIT */
#include "ndt-sim-path.h"

/* Metres between samples of a path; chords and the interpolation between them are then exact to
 * some micrometres at the tightest turns. */
#define STEP 0.1
/* Steps in which the shape of a corner is integrated. */
#define CORNER_STEPS 128

struct _NdtSimPath {
  double length;
  double step;
  guint n; /* samples; one more is stored, the first again after a round */
  NdtSimPathPoint *points;
};

typedef struct {
  double x, y, heading; /* where its curve starts */
  double angle;         /* turned, positive to the left */
  double length;        /* of the curve */
  double setback;       /* metres from the start of the curve to the corner, the same to its end */
} Corner;

/* Heading after a fraction u of a turn by 1 rad; its derivative, the curvature, is 0 with no slope
 * at both ends and twice the mean in the middle. */
static double
turn_heading (double u)
{
  return u - ndt_sim_sin (2 * NDT_SIM_PI * u) / (2 * NDT_SIM_PI);
}

/* End point of a turn of length 1 that begins at the origin along x, up to fraction u; Simpson's
 * rule. */
static void
turn_position (double angle, double u, double *x, double *y)
{
  const guint n = 2 * (guint)(1 + CORNER_STEPS / 2 * u);
  guint i;

  *x = *y = 0;
  for (i = 0; i <= n; i++) {
    const double weight = i == 0 || i == n ? 1 : i % 2 ? 4 : 2;
    double s, c;
    ndt_sim_sincos (angle * turn_heading (u * i / n), &s, &c);
    *x += weight * c;
    *y += weight * s;
  }
  *x *= u / (3 * n);
  *y *= u / (3 * n);
}

/* The part of the path at @along metres from the start of this corner's curve. */
static NdtSimPathPoint
corner_at (const Corner *corner, double along)
{
  NdtSimPathPoint point = {0, 0, corner->heading, 0};
  double x = 0, y = 0, s, c;

  if (along < corner->length) {
    const double u = along / corner->length;
    turn_position (corner->angle, u, &x, &y);
    x *= corner->length;
    y *= corner->length;
    point.heading += corner->angle * turn_heading (u);
    ndt_sim_sincos (2 * NDT_SIM_PI * u, &s, &c);
    point.curvature = corner->angle / corner->length * (1 - c);
  } else {
    ndt_sim_sincos (corner->angle, &s, &c);
    x = corner->setback + (corner->setback + along - corner->length) * c;
    y = (corner->setback + along - corner->length) * s;
    point.heading += corner->angle;
  }
  ndt_sim_sincos (corner->heading, &s, &c);
  point.x = corner->x + c * x - s * y;
  point.y = corner->y + s * x + c * y;
  return point;
}

NdtSimPath *
ndt_sim_path_new (const NdtSimPathCorner *corners, guint n_corners)
{
  NdtSimPath *path;
  g_autofree Corner *turns = g_new0 (Corner, n_corners);
  g_autofree double *starts = g_new (double, n_corners + 1); /* of the curves, along the path */
  g_autofree double *edges = g_new (double, n_corners);      /* length of the edge to corner i */
  double heading = 0, first, total = 0;
  guint i, at;

  g_return_val_if_fail (n_corners >= 3, NULL);

  for (i = 0; i < n_corners; i++) {
    const NdtSimPathCorner *before = &corners[(i + n_corners - 1) % n_corners];
    const NdtSimPathCorner *here = &corners[i], *after = &corners[(i + 1) % n_corners];
    const double ax = here->x - before->x, ay = here->y - before->y;
    const double bx = after->x - here->x, by = after->y - here->y;
    double x, y, s, c;

    edges[i] = sqrt (ax * ax + ay * ay);
    if (i == 0)
      heading = ndt_sim_atan2 (ay, ax);
    turns[i].heading = heading;
    turns[i].angle = ndt_sim_atan2 (ax * by - ay * bx, ax * bx + ay * by);
    turns[i].length = here->turn_length;
    turn_position (turns[i].angle, 1, &x, &y);
    ndt_sim_sincos (turns[i].angle, &s, &c);
    turns[i].setback = x / (1 + c);
    heading += turns[i].angle;
  }
  for (i = 0; i < n_corners; i++) {
    const double room = 0.49 * MIN (edges[i], edges[(i + 1) % n_corners]);
    double s, c;
    turns[i].length = MIN (turns[i].length, room / turns[i].setback);
    turns[i].setback *= turns[i].length;
    ndt_sim_sincos (turns[i].heading, &s, &c);
    turns[i].x = corners[i].x - turns[i].setback * c;
    turns[i].y = corners[i].y - turns[i].setback * s;
  }
  first = edges[0] / 2 - turns[0].setback;
  starts[0] = total = first;
  for (i = 0; i < n_corners; i++) {
    const guint next = (i + 1) % n_corners;
    total += turns[i].length + edges[next] - turns[i].setback - turns[next].setback;
    starts[i + 1] = total;
  }

  path = g_new0 (NdtSimPath, 1);
  path->length = total - first;
  path->n = (guint)MAX (3, path->length / STEP);
  path->step = path->length / path->n;
  path->points = g_new (NdtSimPathPoint, path->n + 1);
  for (i = 0, at = 0; i < path->n; i++) {
    const double s = i * path->step;
    while (s >= starts[at] && at < n_corners)
      at++;
    if (at == 0) {
      double sine, cosine;
      ndt_sim_sincos (turns[0].heading, &sine, &cosine);
      path->points[i].x = turns[0].x - (first - s) * cosine;
      path->points[i].y = turns[0].y - (first - s) * sine;
      path->points[i].heading = turns[0].heading;
      path->points[i].curvature = 0;
    } else {
      path->points[i] = corner_at (&turns[at - 1], s - starts[at - 1]);
    }
  }
  path->points[path->n] = path->points[0];
  path->points[path->n].heading = heading;
  return path;
}

void
ndt_sim_path_free (NdtSimPath *path)
{
  if (path == NULL)
    return;
  g_free (path->points);
  g_free (path);
}

void
ndt_sim_path_move_to_start (NdtSimPath *path)
{
  const NdtSimPathPoint start = path->points[0];
  double sine, cosine;
  guint i;

  ndt_sim_sincos (start.heading, &sine, &cosine);
  for (i = 0; i <= path->n; i++) {
    NdtSimPathPoint *point = &path->points[i];
    const double x = point->x - start.x, y = point->y - start.y;

    point->x = cosine * x + sine * y;
    point->y = cosine * y - sine * x;
    point->heading -= start.heading;
  }
}

double
ndt_sim_path_get_length (const NdtSimPath *path)
{
  return path->length;
}

NdtSimPathPoint
ndt_sim_path_at (const NdtSimPath *path, double s, double lateral)
{
  const double rounds = floor (s / path->length);
  const double turns = path->points[path->n].heading - path->points[0].heading;
  const double position = MAX (0, s - rounds * path->length) / path->step;
  const guint i = MIN ((guint)position, path->n - 1);
  const double f = position - i, g = 1 - f;
  const NdtSimPathPoint *a = &path->points[i], *b = a + 1;
  NdtSimPathPoint point;
  double sa, ca, sb, cb;

  /* Cubic Hermite with the headings as tangents. */
  const double h0 = (1 + 2 * f) * g * g, h1 = f * g * g * path->step;
  const double h2 = f * f * (3 - 2 * f), h3 = -f * f * g * path->step;

  ndt_sim_sincos (a->heading, &sa, &ca);
  ndt_sim_sincos (b->heading, &sb, &cb);
  point.x = h0 * a->x + h1 * ca + h2 * b->x + h3 * cb;
  point.y = h0 * a->y + h1 * sa + h2 * b->y + h3 * sb;
  point.heading = g * a->heading + f * b->heading + rounds * turns;
  point.curvature = g * a->curvature + f * b->curvature;
  if (lateral != 0) {
    double sh, ch;
    ndt_sim_sincos (point.heading, &sh, &ch);
    point.x -= lateral * sh;
    point.y += lateral * ch;
  }
  return point;
}

struct _NdtSimMotion {
  const NdtSimPath *path;
  double start;      /* along the path at time 0 */
  double start_time; /* entry of times that belongs to it */
  double *times;     /* at each sample of the path, and after a round */
  double *speeds;
};

NdtSimMotion *
ndt_sim_motion_new (const NdtSimPath *path, const NdtSimDriver *driver, double start)
{
  NdtSimMotion *motion = g_new0 (NdtSimMotion, 1);
  const guint n = path->n;
  const double speed = driver->speed;
  double v, position;
  guint i, round;

  motion->path = path;
  motion->start = start - floor (start / path->length) * path->length;
  if (speed <= 0)
    return motion;

  motion->times = g_new (double, n + 1);
  motion->speeds = g_new (double, n + 1);
  for (i = 0; i <= n; i++) {
    const double curvature = fabs (path->points[i].curvature);
    motion->speeds[i] = speed;
    if (curvature * speed * speed > driver->lateral_acceleration)
      motion->speeds[i] = sqrt (driver->lateral_acceleration / curvature);
  }
  /* Braking ahead of turns and accelerating after them; twice around, since the path is closed. */
  for (round = 0; round < 2; round++) {
    for (i = 1; i <= n; i++) {
      v = motion->speeds[i - 1];
      v = sqrt (v * v + 2 * driver->longitudinal_acceleration * path->step);
      motion->speeds[i] = MIN (motion->speeds[i], v);
    }
    motion->speeds[0] = MIN (motion->speeds[0], motion->speeds[n]);
    for (i = n; i-- > 0;) {
      v = motion->speeds[i + 1];
      v = sqrt (v * v + 2 * driver->longitudinal_acceleration * path->step);
      motion->speeds[i] = MIN (motion->speeds[i], v);
    }
    motion->speeds[n] = MIN (motion->speeds[0], motion->speeds[n]);
  }
  motion->times[0] = 0;
  for (i = 0; i < n; i++)
    motion->times[i + 1] =
        motion->times[i] + 2 * path->step / (motion->speeds[i] + motion->speeds[i + 1]);

  position = motion->start / path->step;
  i = MIN ((guint)position, n - 1);
  {
    /* Within a step the acceleration is constant. */
    const double v0 = motion->speeds[i], v1 = motion->speeds[i + 1];
    const double a = (v1 * v1 - v0 * v0) / (2 * path->step);
    const double along = (position - i) * path->step;
    motion->start_time = motion->times[i] + 2 * along / (v0 + sqrt (v0 * v0 + 2 * a * along));
  }
  return motion;
}

void
ndt_sim_motion_free (NdtSimMotion *motion)
{
  if (motion == NULL)
    return;
  g_free (motion->times);
  g_free (motion->speeds);
  g_free (motion);
}

double
ndt_sim_motion_get_period (const NdtSimMotion *motion)
{
  return motion->times ? motion->times[motion->path->n] : 0;
}

double
ndt_sim_motion_distance (const NdtSimMotion *motion, double time)
{
  const NdtSimPath *path = motion->path;
  guint low = 0, high = path->n;
  double period, t, v0, v1;

  if (motion->times == NULL)
    return motion->start;
  period = motion->times[path->n];
  t = time + motion->start_time;
  t -= floor (t / period) * period;
  while (high - low > 1) {
    const guint middle = (low + high) / 2;
    if (motion->times[middle] <= t)
      low = middle;
    else
      high = middle;
  }
  v0 = motion->speeds[low];
  v1 = motion->speeds[low + 1];
  t -= motion->times[low];
  return low * path->step + t * (v0 + (v1 * v1 - v0 * v0) / (4 * path->step) * t);
}

/* A wave along the path, of a length near @wavelength that fits a round; 0 at the start. */
static double
wave (const NdtSimPath *path, double s, double wavelength)
{
  const double n = MAX (1, floor (path->length / wavelength + 0.5));
  return ndt_sim_sin (2 * NDT_SIM_PI * n * s / path->length);
}

void
ndt_sim_motion_pose (
    const NdtSimMotion *motion, double time, double height, double lateral, NdtPose *pose)
{
  const NdtSimPath *path = motion->path;
  const double s = ndt_sim_motion_distance (motion, time);
  const NdtSimPathPoint point = ndt_sim_path_at (path, s, lateral);
  const double roll =
      0.006 * wave (path, s, 53) + 0.003 * wave (path, s, 19) + 0.05 * point.curvature;
  const double pitch = 0.005 * wave (path, s, 41) + 0.002 * wave (path, s, 17);
  const double heave = 0.02 * wave (path, s, 37);
  double sr, cr, sp, cp, sy, cy;

  pose->position[0] = point.x;
  pose->position[1] = point.y;
  pose->position[2] = height + heave;
  ndt_sim_sincos (roll / 2, &sr, &cr);
  ndt_sim_sincos (pitch / 2, &sp, &cp);
  ndt_sim_sincos (point.heading / 2, &sy, &cy);
  pose->orientation[0] = sr * cp * cy - cr * sp * sy;
  pose->orientation[1] = cr * sp * cy + sr * cp * sy;
  pose->orientation[2] = cr * cp * sy - sr * sp * cy;
  pose->orientation[3] = cr * cp * cy + sr * sp * sy;
}
