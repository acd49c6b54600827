/* SPDX-License-Identifier: MIT */
#include "ndt-sim-scanner.h"

#include "ndtcore/base/ndt-workers.h"
#include "ndtcore/math/ndt-pose.h"

/* A vehicle is a body and a cabin. */
#define SHAPES_PER_VEHICLE 2
/* Columns of a thread's task. */
#define CHUNK 16

typedef struct {
  double lateral;
  double rate;
  double delay; /* seconds behind the sensor along the round */
  double size[3];
  float reflectivity;
} Vehicle;

/* A vehicle where it is at one instant, with a sphere around it. */
typedef struct {
  NdtSimShape shapes[SHAPES_PER_VEHICLE];
  double centre[3];
  double radius;
} PlacedVehicle;

struct _NdtSimScanner {
  const NdtSimWorld *world;
  const NdtSimMotion *motion;
  const NdtSimMotion *traffic;
  NdtSimSensor sensor;
  Vehicle *vehicles;
  double *columns; /* cosine and sine of each column's azimuth */
  double *rings;   /* cosine and sine of each ring's elevation */

  NdtWorkers *workers;

  /* The scan that is being cast. */
  guint64 scan;
  double start, end;
  NdtSimReturn *returns;
};

gboolean
ndt_sim_sensor_get_elevation (guint n_rings, guint ring, double *degrees)
{
  *degrees = 0;
  if (ring >= n_rings)
    return FALSE;
  switch (n_rings) {
  case 16:
    *degrees = -15 + 2.0 * ring;
    return TRUE;
  case 32:
    *degrees = -30.67 + 41.34 / 31 * ring;
    return TRUE;
  case 64:
    /* Two blocks: half a degree apart below, a third above. */
    *degrees = ring < 32 ? -24.33 + 0.5 * ring : -8.33 + (ring - 32) / 3.0;
    return TRUE;
  case 128:
    *degrees = -22.5 + 45.0 / 127 * ring;
    return TRUE;
  default:
    return FALSE;
  }
}

static void
place_vehicle (
    const NdtSimScanner *scanner, const Vehicle *vehicle, double time, PlacedVehicle *placed)
{
  const double s =
      ndt_sim_motion_distance (scanner->traffic, vehicle->rate * time + vehicle->delay);
  const NdtSimPathPoint point = ndt_sim_path_at (scanner->world->path, s, vehicle->lateral);
  const double length = vehicle->size[0], width = vehicle->size[1], height = vehicle->size[2];
  guint i;

  for (i = 0; i < SHAPES_PER_VEHICLE; i++) {
    NdtSimShape *shape = &placed->shapes[i];
    const double z0 = i == 0 ? 0.12 * height : 0.5 * height;
    const double z1 = i == 0 ? 0.6 * height : height;

    shape->kind = NDT_SIM_SHAPE_BOX;
    shape->reflectivity = vehicle->reflectivity;
    shape->box.centre[0] = point.x;
    shape->box.centre[1] = point.y;
    shape->box.centre[2] = (z0 + z1) / 2;
    shape->box.half[0] = (i == 0 ? length : 0.6 * length) / 2;
    shape->box.half[1] = (i == 0 ? width : 0.9 * width) / 2;
    shape->box.half[2] = (z1 - z0) / 2;
    ndt_sim_sincos (point.heading, &shape->box.sin_yaw, &shape->box.cos_yaw);
  }
  placed->centre[0] = point.x;
  placed->centre[1] = point.y;
  placed->centre[2] = height / 2;
  placed->radius = sqrt (length * length + width * width + height * height) / 2;
}

static gboolean
passes_near (const PlacedVehicle *placed, const NdtSimRay *ray)
{
  double d[3], along = 0, square = 0;
  guint i;

  for (i = 0; i < 3; i++) {
    d[i] = placed->centre[i] - ray->origin[i];
    along += d[i] * ray->direction[i];
    square += d[i] * d[i];
  }
  return along > -placed->radius && square - along * along <= placed->radius * placed->radius;
}

/* The vehicles that are in reach of the sensor. */
static guint
place_vehicles (
    const NdtSimScanner *scanner, const NdtPose *pose, double time, PlacedVehicle *placed)
{
  guint n = 0, i;

  for (i = 0; i < scanner->sensor.n_vehicles; i++) {
    double x, y, reach;

    place_vehicle (scanner, &scanner->vehicles[i], time, &placed[n]);
    x = placed[n].centre[0] - pose->position[0];
    y = placed[n].centre[1] - pose->position[1];
    reach = scanner->sensor.max_range + placed[n].radius;
    if (x * x + y * y <= reach * reach)
      n++;
  }
  return n;
}

static void
rotate (const NdtPose *pose, const double v[3], double out[3])
{
  const double x = pose->orientation[0], y = pose->orientation[1], z = pose->orientation[2],
               w = pose->orientation[3];
  /* v + 2 q × (q × v + w v) */
  const double a = y * v[2] - z * v[1] + w * v[0];
  const double b = z * v[0] - x * v[2] + w * v[1];
  const double c = x * v[1] - y * v[0] + w * v[2];

  out[0] = v[0] + 2 * (y * c - z * b);
  out[1] = v[1] + 2 * (z * a - x * c);
  out[2] = v[2] + 2 * (x * b - y * a);
}

void
ndt_sim_scanner_get_beam (
    const NdtSimScanner *scanner, guint column, guint ring, double direction[3])
{
  const double cos_elevation = scanner->rings[2 * ring];

  direction[0] = cos_elevation * scanner->columns[2 * column];
  direction[1] = cos_elevation * scanner->columns[2 * column + 1];
  direction[2] = scanner->rings[2 * ring + 1];
}

static void
cast_column (const NdtSimScanner *scanner, guint column)
{
  const NdtSimSensor *sensor = &scanner->sensor;
  const double time = sensor->motion_distortion ? scanner->start + (scanner->end - scanner->start) *
                                                                       column / sensor->n_columns
                                                : scanner->end;
  NdtSimReturn *out = scanner->returns + (gsize)column * sensor->n_rings;
  PlacedVehicle placed[NDT_SIM_MAX_VEHICLES];
  NdtPose pose;
  NdtSimRay ray;
  guint n_placed, ring, i, k;

  ndt_sim_scanner_get_pose (scanner, time, &pose);
  memcpy (ray.origin, pose.position, sizeof ray.origin);
  n_placed = place_vehicles (scanner, &pose, time, placed);

  for (ring = 0; ring < sensor->n_rings; ring++) {
    const guint64 firing = (guint64)column * sensor->n_rings + ring;
    const guint64 bits = ndt_sim_hash (sensor->noise_seed, scanner->scan, 2 * firing);
    double beam[3], range;
    NdtSimHit hit = {INFINITY, 0, 0};

    ndt_sim_scanner_get_beam (scanner, column, ring, beam);
    rotate (&pose, beam, ray.direction);
    ndt_sim_world_cast (scanner->world, &ray, NDT_SIM_MIN_RANGE, sensor->max_range, &hit);
    for (i = 0; i < n_placed; i++) {
      if (!passes_near (&placed[i], &ray))
        continue;
      for (k = 0; k < SHAPES_PER_VEHICLE; k++) {
        const NdtSimShape *shape = &placed[i].shapes[k];
        const double t = ndt_sim_shape_intersect (shape, &ray, NDT_SIM_MIN_RANGE);
        if (t < hit.range && t <= sensor->max_range) {
          hit.range = t;
          hit.reflectivity = shape->reflectivity;
          hit.cosine = 0.7f;
        }
      }
    }

    out[ring].range = 0;
    out[ring].intensity = 0;
    if (hit.range == INFINITY)
      continue;
    if (sensor->dropout > 0 && ndt_sim_unit (ndt_sim_hash (sensor->noise_seed, scanner->scan,
                                   2 * firing + 1)) < sensor->dropout)
      continue;
    range = hit.range;
    if (sensor->range_noise > 0)
      range += sensor->range_noise * ndt_sim_normal (bits);
    if (range <= 0)
      continue;
    out[ring].range = (float)range;
    out[ring].intensity = hit.reflectivity * hit.cosine;
  }
}

static void
cast_chunk (guint task, gpointer data)
{
  const NdtSimScanner *scanner = data;
  const guint first = task * CHUNK;
  const guint last = MIN (first + CHUNK, scanner->sensor.n_columns);
  guint column;

  for (column = first; column < last; column++)
    cast_column (scanner, column);
}

void
ndt_sim_scanner_cast (
    NdtSimScanner *scanner, guint64 scan, double start, double end, NdtSimReturn *returns)
{
  scanner->scan = scan;
  scanner->start = start;
  scanner->end = end;
  scanner->returns = returns;
  ndt_workers_run (
      scanner->workers, (scanner->sensor.n_columns + CHUNK - 1) / CHUNK, cast_chunk, scanner);
}

void
ndt_sim_scanner_get_body_pose (const NdtSimScanner *scanner, double seconds, NdtPose *pose)
{
  ndt_sim_motion_pose (
      scanner->motion, seconds, scanner->sensor.mount_height, scanner->sensor.lateral, pose);
}

void
ndt_sim_scanner_get_pose (const NdtSimScanner *scanner, double seconds, NdtPose *pose)
{
  ndt_sim_scanner_get_body_pose (scanner, seconds, pose);
  if (scanner->sensor.is_mounted)
    ndt_pose_compose (pose, &scanner->sensor.mount, pose);
}

static void
make_vehicles (NdtSimScanner *scanner)
{
  const NdtSimWorld *world = scanner->world;
  const double period = ndt_sim_motion_get_period (scanner->traffic);
  const guint n = scanner->sensor.n_vehicles;
  guint i, k;

  scanner->vehicles = g_new (Vehicle, n);
  for (i = 0; i < n; i++) {
    NdtSimRandom random = {ndt_sim_hash (scanner->sensor.noise_seed, 3, i), 0};
    Vehicle *vehicle = &scanner->vehicles[i];
    const NdtSimLane *lane = &world->lanes[i % world->n_lanes];

    vehicle->lateral = lane->lateral;
    vehicle->rate = lane->rate;
    /* Spread over the round, none where the sensor starts. */
    vehicle->delay = period * (i + ndt_sim_random_range (&random, 0.4, 1)) / (n + 1);
    for (k = 0; k < 3; k++)
      vehicle->size[k] = world->vehicle_size[k] * ndt_sim_random_range (&random, 0.8, 1);
    vehicle->reflectivity = (float)ndt_sim_random_range (&random, 0.2, 0.7);
  }
}

NdtSimScanner *
ndt_sim_scanner_new (const NdtSimWorld *world, const NdtSimMotion *motion,
    const NdtSimMotion *traffic, const NdtSimSensor *sensor, guint n_threads)
{
  NdtSimScanner *scanner = g_new0 (NdtSimScanner, 1);
  guint i;

  scanner->world = world;
  scanner->motion = motion;
  scanner->traffic = traffic;
  scanner->sensor = *sensor;
  make_vehicles (scanner);
  scanner->columns = g_new (double, 2 * sensor->n_columns);
  for (i = 0; i < sensor->n_columns; i++)
    ndt_sim_sincos (NDT_SIM_PI - 2 * NDT_SIM_PI * i / sensor->n_columns,
        &scanner->columns[2 * i + 1], &scanner->columns[2 * i]);
  scanner->rings = g_new (double, 2 * sensor->n_rings);
  for (i = 0; i < sensor->n_rings; i++) {
    double degrees;
    ndt_sim_sensor_get_elevation (sensor->n_rings, i, &degrees);
    ndt_sim_sincos (degrees * NDT_SIM_DEG, &scanner->rings[2 * i + 1], &scanner->rings[2 * i]);
  }
  scanner->workers = ndt_workers_new (n_threads);
  return scanner;
}

void
ndt_sim_scanner_free (NdtSimScanner *scanner)
{
  if (scanner == NULL)
    return;
  ndt_workers_free (scanner->workers);
  g_free (scanner->vehicles);
  g_free (scanner->columns);
  g_free (scanner->rings);
  g_free (scanner);
}
