/* SPDX-License-Identifier: MIT */
#include "velodyne.h"

#include <math.h>
#include <string.h>

#include "lidar-vendor.h"

#define PACKET_SIZE 1206
#define POSITION_SIZE 512
#define N_BLOCKS 12
#define BLOCK_SIZE 100
#define BLOCK_LASERS 32
#define MAX_LASERS 128
#define MAX_FIRINGS 2 /* of a block */

#define HOUR ((gint64)3600 * 1000000000)

#define MODE_LAST 0x38
#define MODE_DUAL 0x39

/* Steps of azimuth from one firing of blocks to the next, 0.01 degrees. At 20 Hz, the fastest, a
 * VLP-16 makes 80; more is an interruption. */
#define MAX_STEP 200
#define N_CACHED 64

typedef struct {
  const gchar *name;
  guint8 product;      /* factory byte, 0: has none */
  guint n_lasers;      /* of a firing */
  guint n_firings;     /* of a block */
  gdouble resolution;  /* m */
  gdouble firing_time; /* µs from firing to firing */
  gdouble laser_time;  /* µs from a laser, or group of lasers, to the next */
  guint group;         /* lasers that fire together */
} Model;

static const Model models[VELODYNE_N_MODELS] = {
    [VELODYNE_MODEL_AUTO] = {.name = "auto"},
    [VELODYNE_MODEL_VLP_16] = {"VLP-16", 0x22, 16, 2, 0.002, 55.296, 2.304, 1},
    [VELODYNE_MODEL_PUCK_HI_RES] = {"Puck Hi-Res", 0x24, 16, 2, 0.002, 55.296, 2.304, 1},
    [VELODYNE_MODEL_HDL_32E] = {"HDL-32E", 0x21, 32, 1, 0.002, 46.08, 1.152, 1},
    [VELODYNE_MODEL_VLP_32C] = {"VLP-32C", 0x28, 32, 1, 0.004, 55.296, 2.304, 2},
    [VELODYNE_MODEL_HDL_64E] = {"HDL-64E", 0, 64, 1, 0.002, 48, 1.2, 1},
    [VELODYNE_MODEL_VLS_128] = {"VLS-128", 0xa1, 128, 1, 0.004, 53.3, 2.665, 8},
};

/* Of a laser, and of it in a firing of a block. */
typedef struct {
  VelodyneLaser calibration;
  gfloat cos_elevation, sin_elevation, height;
  guint16 ring;
} Laser;

typedef struct {
  gint step; /* of azimuth that it is for; negative: of none */
  LidarTurn turns[MAX_FIRINGS * MAX_LASERS];
} TurnCache;

struct _Velodyne {
  VelodyneModel model; /* AUTO until a packet said it */
  gboolean is_auto;
  gboolean has_calibration;
  VelodyneCalibration calibration;
  gboolean is_ideal; /* lasers have no offsets and no corrections of distance */
  gfloat resolution;
  Laser lasers[MAX_LASERS];
  gint64 laser_times[MAX_FIRINGS * MAX_LASERS]; /* ns since the block's first firing */
  const LidarTurn *azimuths;                    /* by hundredths of a degree */
  TurnCache caches[N_CACHED];
  LidarClock clock;
  gint last_step;     /* of azimuth, of the last group that has one */
  guint last_azimuth; /* of the last group */
};

const gchar *
velodyne_model_get_name (VelodyneModel model)
{
  return models[model].name;
}

static gboolean
lies_lower (const Velodyne *self, guint a, guint b)
{
  const gdouble d = self->calibration.lasers[a].elevation - self->calibration.lasers[b].elevation;
  return d < 0 || (d == 0 && a < b);
}

static gint64
get_laser_time (const Velodyne *self, guint firing, guint laser)
{
  const Model *model = &models[self->model];
  guint slot = laser / model->group;
  if (self->model == VELODYNE_MODEL_VLS_128)
    slot += slot / 8; /* a slot without lasers after each eight */
  else if (self->model == VELODYNE_MODEL_HDL_64E)
    slot = laser % BLOCK_LASERS; /* the upper and the lower block fire together */
  return (gint64)(1e3 * (firing * model->firing_time + slot * model->laser_time));
}

/* Once the model is known. */
static gboolean
set_model (Velodyne *self, VelodyneModel number, GError **error)
{
  const Model *model = &models[number];
  if (!self->has_calibration && !velodyne_calibration_init_nominal (&self->calibration, number)) {
    g_set_error (error, VELODYNE_ERROR, VELODYNE_ERROR_CALIBRATION,
        "an %s needs its calibration file: each is different", model->name);
    return FALSE;
  }
  if (self->calibration.n_lasers != model->n_lasers) {
    g_set_error (error, VELODYNE_ERROR, VELODYNE_ERROR_CALIBRATION,
        "the calibration is of %u lasers, but a %s has %u", self->calibration.n_lasers, model->name,
        model->n_lasers);
    return FALSE;
  }
  self->model = number;
  self->resolution =
      (gfloat)(self->calibration.resolution > 0 ? self->calibration.resolution : model->resolution);
  self->is_ideal = TRUE;
  for (guint i = 0; i < model->n_lasers; i++) {
    const VelodyneLaser *calibration = &self->calibration.lasers[i];
    Laser *laser = &self->lasers[i];
    laser->calibration = *calibration;
    laser->cos_elevation = (gfloat)cos (calibration->elevation);
    laser->sin_elevation = (gfloat)sin (calibration->elevation);
    laser->height = (gfloat)calibration->height;
    laser->ring = 0;
    for (guint j = 0; j < model->n_lasers; j++)
      laser->ring = (guint16)(laser->ring + lies_lower (self, j, i));
    if (calibration->distance != 0 || calibration->vertical_offset != 0 ||
        calibration->horizontal_offset != 0 || calibration->has_two_points)
      self->is_ideal = FALSE;
    for (guint firing = 0; firing < model->n_firings; firing++)
      self->laser_times[firing * model->n_lasers + i] = get_laser_time (self, firing, i);
  }
  for (guint i = 0; i < N_CACHED; i++)
    self->caches[i].step = -1;
  return TRUE;
}

Velodyne *
velodyne_new (VelodyneModel model, const VelodyneCalibration *calibration, GError **error)
{
  Velodyne *self = g_new0 (Velodyne, 1);
  self->is_auto = model == VELODYNE_MODEL_AUTO;
  self->has_calibration = calibration != NULL;
  if (calibration)
    self->calibration = *calibration;
  self->azimuths = lidar_turn_get_hundredths ();
  if (self->is_auto || set_model (self, model, error))
    return self;
  velodyne_free (self);
  return NULL;
}

void
velodyne_free (Velodyne *self)
{
  g_free (self);
}

/* How far a laser's beam is turned from the azimuth of its block, where that goes on by @step until
 * the next block's. */
static const LidarTurn *
get_turns (Velodyne *self, gint step)
{
  const Model *model = &models[self->model];
  TurnCache *cache = &self->caches[step % N_CACHED];
  if (cache->step == step)
    return cache->turns;
  const gdouble block_time = 1e3 * model->firing_time * model->n_firings;
  for (guint i = 0; i < model->n_firings * model->n_lasers; i++) {
    const gdouble turn = step * G_PI / 18000 * (gdouble)self->laser_times[i] / block_time -
                         self->lasers[i % model->n_lasers].calibration.rotation;
    cache->turns[i].cosine = (gfloat)cos (turn);
    cache->turns[i].sine = (gfloat)sin (turn);
  }
  cache->step = step;
  return cache->turns;
}

/* Corrects by what the calibration says beyond angles; x forward, y left. */
static void
place_corrected (const Laser *laser, gfloat distance, gfloat cosine, gfloat sine, LidarPoint *point)
{
  const VelodyneLaser *c = &laser->calibration;
  const gdouble far = distance + c->distance;
  const gdouble drop = c->vertical_offset * laser->sin_elevation;
  const gdouble flat = far * laser->cos_elevation - drop;
  gdouble dx = 0, dy = 0;
  if (c->has_two_points) {
    /* Measured at 25.04 m and at 2.4 m along one axis, 1.93 m along the other. */
    const gdouble x = fabs (flat * sine - c->horizontal_offset * cosine);
    const gdouble y = fabs (flat * cosine + c->horizontal_offset * sine);
    dx = (c->distance - c->distance_x) * (x - 2.4) / (25.04 - 2.4) + c->distance_x - c->distance;
    dy = (c->distance - c->distance_y) * (y - 1.93) / (25.04 - 1.93) + c->distance_y - c->distance;
  }
  const gdouble flat_x = (far + dx) * laser->cos_elevation - drop;
  const gdouble flat_y = (far + dy) * laser->cos_elevation - drop;
  point->x = (gfloat)(flat_y * cosine + c->horizontal_offset * sine);
  point->y = (gfloat)(-flat_x * sine + c->horizontal_offset * cosine);
  point->z =
      (gfloat)((far + dy) * laser->sin_elevation + c->vertical_offset * laser->cos_elevation);
}

/* A return of laser @number of the firing; FALSE: there was none. */
static inline gboolean
make_point (const Velodyne *self, guint number, const guint8 *measured, LidarTurn azimuth,
    LidarTurn turn, guint8 kind, gfloat time, LidarPoint *point)
{
  const guint raw = lidar_read_le16 (measured);
  const Laser *laser = &self->lasers[number];
  if (raw == 0)
    return FALSE;
  const gfloat distance = (gfloat)raw * self->resolution;
  const gfloat cosine = azimuth.cosine * turn.cosine - azimuth.sine * turn.sine;
  const gfloat sine = azimuth.sine * turn.cosine + azimuth.cosine * turn.sine;
  if (self->is_ideal) {
    const gfloat flat = distance * laser->cos_elevation;
    point->x = flat * cosine;
    point->y = -flat * sine;
    point->z = distance * laser->sin_elevation + laser->height;
  } else {
    place_corrected (laser, distance, cosine, sine, point);
  }
  point->intensity = measured[2];
  point->ring = laser->ring;
  point->kind = kind;
  point->padding = 0;
  point->time = time;
  return TRUE;
}

/* Number of the first laser of a block by its flag; negative: no block's. */
static gint
get_first_laser (const Velodyne *self, guint flag)
{
  const guint n_lasers = models[self->model].n_lasers;
  switch (flag) {
  case 0xeeff:
    return 0;
  case 0xddff:
    return n_lasers >= 64 ? 32 : -1;
  case 0xccff:
    return n_lasers >= 128 ? 64 : -1;
  case 0xbbff:
    return n_lasers >= 128 ? 96 : -1;
  default:
    return -1;
  }
}

/* What the packet is laid out like. */
typedef struct {
  const guint8 *data;
  guint n_returns;
  guint n_banks;  /* blocks of a firing */
  guint n_groups; /* of blocks with the same azimuth */
  guint8 kind;
} Layout;

static const guint8 *
get_block (const Layout *layout, guint group, guint i)
{
  return layout->data + (group * layout->n_banks * layout->n_returns + i) * BLOCK_SIZE;
}

static guint
get_azimuth (const Layout *layout, guint group)
{
  return lidar_read_le16 (get_block (layout, group, 0) + 2);
}

/* Azimuth that the sensor turns from one group to the next. */
static gint
get_step (Velodyne *self, const Layout *layout, guint group)
{
  const guint azimuth = get_azimuth (layout, group);
  const gboolean is_last = group + 1 == layout->n_groups;
  const guint step = is_last ? azimuth + 36000 - self->last_azimuth
                             : get_azimuth (layout, group + 1) + 36000 - azimuth;
  self->last_azimuth = azimuth;
  if (step % 36000 < MAX_STEP)
    self->last_step = (gint)(step % 36000);
  return self->last_step;
}

/* Points of a firing of a block; with two returns @second is the other block with the same lasers,
 * in which the last return of every laser comes first. */
static guint
decode_block (const Velodyne *self, const Layout *layout, guint firing, const guint8 *block,
    const guint8 *second, LidarTurn azimuth, const LidarTurn *turns, gfloat seconds,
    LidarPoint *points)
{
  const Model *model = &models[self->model];
  const guint first = (guint)get_first_laser (self, lidar_read_le16 (block));
  const guint n_lasers = MIN (model->n_lasers, BLOCK_LASERS);
  guint n = 0;
  for (guint i = 0; i < n_lasers; i++) {
    const guint number = first + i, at = firing * model->n_lasers + number;
    const gsize offset = 4 + (gsize)(firing * n_lasers + i) * 3;
    const gint64 passed = self->laser_times[at] - self->laser_times[firing * model->n_lasers];
    const gfloat time = seconds + (gfloat)passed * 1e-9f;
    guint8 kind = second ? LIDAR_RETURN_LAST : layout->kind;
    /* The only return is both the last and the strongest. */
    if (second && memcmp (block + offset, second + offset, 2) == 0)
      kind = LIDAR_RETURN_STRONGEST;
    n += make_point (self, number, block + offset, azimuth, turns[at], kind, time, points + n);
    if (second && kind == LIDAR_RETURN_LAST)
      n += make_point (self, number, second + offset, azimuth, turns[at], LIDAR_RETURN_STRONGEST,
          time, points + n);
  }
  return n;
}

static void
decode_group (
    Velodyne *self, const Layout *layout, guint group, gint64 packet_time, LidarCutter *cutter)
{
  const Model *model = &models[self->model];
  const gint step = get_step (self, layout, group);
  const guint raw_azimuth = get_azimuth (layout, group) % 36000;
  const LidarTurn *turns = get_turns (self, step);
  for (guint firing = 0; firing < model->n_firings; firing++) {
    const gint64 time =
        packet_time + (gint64)(1e3 * model->firing_time * (group * model->n_firings + firing));
    const gdouble azimuth = (raw_azimuth + (gdouble)step * firing / model->n_firings) / 100;
    gfloat seconds;
    LidarPoint *points = lidar_cutter_begin_firing (
        cutter, time, azimuth, model->n_lasers * layout->n_returns, &seconds);
    guint n = 0;
    for (guint bank = 0; points && bank < layout->n_banks; bank++) {
      const guint8 *block = get_block (layout, group, bank * layout->n_returns);
      n += decode_block (self, layout, firing, block,
          layout->n_returns > 1 ? block + BLOCK_SIZE : NULL, self->azimuths[raw_azimuth], turns,
          seconds, points + n);
    }
    if (points)
      lidar_cutter_commit (cutter, n);
  }
}

/* Blocks of a group have the same azimuth, one bank each, twice where there are two returns. */
static gboolean
check_blocks (const Velodyne *self, const Layout *layout, GError **error)
{
  for (guint group = 0; group < layout->n_groups; group++) {
    for (guint i = 0; i < layout->n_banks * layout->n_returns; i++) {
      const guint8 *block = get_block (layout, group, i);
      const gint first = get_first_laser (self, lidar_read_le16 (block));
      if (first == (gint)(i / layout->n_returns) * BLOCK_LASERS &&
          lidar_read_le16 (block + 2) < 36000)
        continue;
      g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_CORRUPT,
          "block %u has flag %04x and azimuth %u/100 degrees",
          group * layout->n_banks * layout->n_returns + i, lidar_read_le16 (block),
          lidar_read_le16 (block + 2));
      return FALSE;
    }
  }
  return TRUE;
}

/* The model that the packet is of; AUTO where it does not say. */
static VelodyneModel
recognize (const guint8 *data)
{
  const guint8 mode = data[PACKET_SIZE - 2], product = data[PACKET_SIZE - 1];
  /* The HDL-64E has other things in these bytes; it alone has a second bank next to the first. */
  if (mode >= 0x37 && mode <= 0x3b)
    for (guint i = 1; i < VELODYNE_N_MODELS; i++)
      if (models[i].product == product && product != 0)
        return (VelodyneModel)i;
  return lidar_read_le16 (data + BLOCK_SIZE) == 0xddff ? VELODYNE_MODEL_HDL_64E
                                                       : VELODYNE_MODEL_AUTO;
}

static gboolean
check_model (Velodyne *self, const guint8 *data, GError **error)
{
  const VelodyneModel model = recognize (data);
  if (self->model == VELODYNE_MODEL_AUTO && model == VELODYNE_MODEL_AUTO) {
    g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_MODEL,
        "the packet does not say what model sent it (factory bytes %02x %02x): set the model",
        data[PACKET_SIZE - 2], data[PACKET_SIZE - 1]);
    return FALSE;
  }
  if (self->model == VELODYNE_MODEL_AUTO)
    return set_model (self, model, error);
  if (model == VELODYNE_MODEL_AUTO || model == self->model)
    return TRUE;
  g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_MODEL,
      "it is of a %s, but the decoder is set to %s%s", models[model].name, models[self->model].name,
      self->is_auto ? " by the first packet" : "");
  return FALSE;
}

gboolean
velodyne_decode (Velodyne *self, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error)
{
  *is_data = size != POSITION_SIZE;
  if (size == POSITION_SIZE)
    return TRUE;
  if (size != PACKET_SIZE) {
    g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_SIZE,
        "it has %" G_GSIZE_FORMAT " bytes instead of %d", size, PACKET_SIZE);
    return FALSE;
  }
  if (data[0] != 0xff || data[1] != 0xee) {
    g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_FOREIGN,
        "it begins with %02x %02x instead of ff ee", data[0], data[1]);
    return FALSE;
  }
  if (!check_model (self, data, error))
    return FALSE;

  const Model *model = &models[self->model];
  const guint8 mode = data[PACKET_SIZE - 2];
  /* The HDL-64E does not say that it sends two returns: its blocks follow each other with the same
   * azimuth then. */
  const gboolean is_dual = self->model != VELODYNE_MODEL_HDL_64E && mode == MODE_DUAL;
  Layout layout = {.data = data, .n_returns = is_dual ? 2 : 1};
  layout.n_banks = MAX (model->n_lasers, BLOCK_LASERS) / BLOCK_LASERS;
  layout.n_groups = N_BLOCKS / (layout.n_banks * layout.n_returns);
  layout.kind = mode == MODE_LAST ? LIDAR_RETURN_LAST : LIDAR_RETURN_STRONGEST;
  const guint32 stamp = lidar_read_le32 (data + N_BLOCKS * BLOCK_SIZE);
  if (stamp > 3600000000u) {
    g_set_error (error, LIDAR_PACKET_ERROR, LIDAR_PACKET_ERROR_CORRUPT,
        "its time, %u microseconds, is not within an hour", stamp);
    return FALSE;
  }
  if (!check_blocks (self, &layout, error))
    return FALSE;
  const gint64 time = lidar_clock_unwrap (&self->clock, (gint64)stamp * 1000, HOUR);
  if (!lidar_cutter_begin_packet (cutter, time))
    return TRUE;
  for (guint group = 0; group < layout.n_groups; group++)
    decode_group (self, &layout, group, time, cutter);
  return TRUE;
}
