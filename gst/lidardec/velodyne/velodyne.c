/* SPDX-License-Identifier: MIT */
#include "velodyne.h"

#include <math.h>
#include <string.h>

#include "gst/lidardec/packet/packet-beams.h"
#include "velodyne-status.h"

#define PACKET_SIZE 1206
#define POSITION_SIZE 512
#define N_BLOCKS 12
#define BLOCK_SIZE 100
#define BLOCK_LASERS 32
#define MAX_LASERS PACKET_MAX_BEAMS
#define MAX_FIRINGS 2 /* of a block */

#define SECOND ((gint64)1000000000)
#define HOUR (3600 * SECOND)

/* µs of the hour. Sensors that lost their GPS count over it; what is more than ten minutes over has
 * to follow on the packets before. */
#define MAX_STAMP 4200000000u

/* Of the manuals; captures have 0x37 and 0x39, and velodyne_decoder reads all. */
#define MODE_LAST 0x38
#define MODE_DUAL 0x39

/* Steps of azimuth from one firing of blocks to the next, 0.01 degrees. At 20 Hz, the fastest, a
 * VLP-16 makes 80; more is an interruption. */
#define MAX_STEP 200
/* They are whole hundredths, 18 to 21 of a steady turn: of 64 the mean is good to a few per mille.
 */
#define MEAN_STEPS 64
#define N_CACHED 16

#define HDL_64E_DUAL_TIME 57.6 /* µs from firing to firing with two returns */

typedef struct {
  const gchar *name;
  guint8 product;      /* factory byte, 0: has none */
  guint n_lasers;      /* of a firing */
  guint n_firings;     /* of a block */
  gdouble resolution;  /* m */
  gdouble firing_time; /* µs from firing to firing */
  gdouble laser_time;  /* µs from a laser, or group of lasers, to the next; 0: differs */
  guint group;         /* lasers that fire together */
} Model;

/* Factory bytes are those of github.com/valgur/velodyne_decoder (types.h, commit 08ddf97) and, of
 * the VLP-16 and VLP-32C, of captures; that of the VLS-128, its resolution and times of
 * github.com/ros-drivers/velodyne as well (rawdata.h, commit 29abd0e). */
static const Model models[VELODYNE_N_MODELS] = {
    [VELODYNE_MODEL_AUTO] = {.name = "auto"},
    [VELODYNE_MODEL_VLP_16] = {"VLP-16", 0x22, 16, 2, 0.002, 55.296, 2.304, 1},
    [VELODYNE_MODEL_PUCK_HI_RES] = {"Puck Hi-Res", 0x24, 16, 2, 0.002, 55.296, 2.304, 1},
    [VELODYNE_MODEL_HDL_32E] = {"HDL-32E", 0x21, 32, 1, 0.002, 46.08, 1.152, 1},
    [VELODYNE_MODEL_VLP_32C] = {"VLP-32C", 0x28, 32, 1, 0.004, 55.296, 2.304, 2},
    [VELODYNE_MODEL_HDL_64E] = {"HDL-64E", 0, 64, 1, 0.002, 48, 0, 1},
    [VELODYNE_MODEL_VLS_128] = {"VLS-128", 0xa1, 128, 1, 0.004, 53.3, 2.665, 8},
};

/* The beams of each firing of a block. */
typedef struct {
  gint step; /* of azimuth that it is for; negative: of none */
  PacketBeams firings[MAX_FIRINGS];
} BeamCache;

struct _Velodyne {
  VelodyneModel model; /* AUTO until a packet said it */
  gboolean is_auto;
  gboolean has_calibration;
  VelodyneCalibration calibration;
  VelodyneStatus status; /* of an HDL-64E */
  gboolean is_waiting;   /* for its calibration */
  gboolean is_ideal;     /* lasers have no offsets and no corrections of distance */
  PacketChannelFormat format;
  gchar remark[128]; /* on the calibration; "": none */
  PacketLasers lasers;
  gfloat cos_elevations[MAX_LASERS];
  gboolean is_dual;                            /* what the times are for */
  gdouble firing_time;                         /* µs from firing to firing */
  gint64 firing_times[N_BLOCKS * MAX_FIRINGS]; /* ns since the packet's first */
  const PacketTurn *azimuths;                  /* by hundredths of a degree */
  BeamCache caches[N_CACHED];
  gboolean begins;   /* the next packet does not follow on those before */
  gint last_step;    /* of azimuth, of the last group that has one */
  gdouble mean_step; /* of the last MEAN_STEPS or so */
  guint n_steps;
  guint last_azimuth; /* of the last group */
};

static gint64
get_laser_time (const Velodyne *self, guint laser)
{
  /* Of four lasers of an HDL-64E's bank and of the next four, ns: with one return, with two. */
  static const gint64 hdl_64e[2][5] = {{0, 1260, 2460, 3660, 6000}, {0, 1300, 2500, 3700, 7200}};
  const Model *model = &models[self->model];
  guint slot = laser / model->group;
  if (self->model == VELODYNE_MODEL_HDL_64E)
    /* The upper and the lower bank fire together, four by four. */
    return hdl_64e[self->is_dual][4] * (gint64)(laser % BLOCK_LASERS / 4) +
           hdl_64e[self->is_dual][laser % 4];
  if (self->model == VELODYNE_MODEL_VLS_128)
    slot += 2 * (slot / 8); /* two slots without lasers after each eight */
  return (gint64)(1e3 * slot * model->laser_time);
}

/* For one return or two: an HDL-64E takes longer for two. */
static void
set_times (Velodyne *self, gboolean is_dual)
{
  const Model *model = &models[self->model];
  self->is_dual = is_dual;
  self->firing_time =
      self->model == VELODYNE_MODEL_HDL_64E && is_dual ? HDL_64E_DUAL_TIME : model->firing_time;
  for (guint i = 0; i < model->n_lasers; i++)
    self->lasers.time[i] = (gfloat)get_laser_time (self, i) * 1e-9f;
  for (guint i = 0; i < G_N_ELEMENTS (self->firing_times); i++)
    self->firing_times[i] = (gint64)(1e3 * self->firing_time * i);
  for (guint i = 0; i < N_CACHED; i++)
    self->caches[i].step = -1;
}

/* Once the model is known. */
static gboolean
set_model (Velodyne *self, VelodyneModel number, GError **error)
{
  const Model *model = &models[number];
  gdouble elevations[MAX_LASERS];
  guint16 rings[MAX_LASERS];
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
  self->format = (PacketChannelFormat){.size = 3, .unit = (gfloat)model->resolution};
  /* What a unit of range is follows from the model; files are copied from other models. */
  if (self->calibration.resolution > 0 &&
      fabs (self->calibration.resolution - model->resolution) > 1e-6)
    g_snprintf (self->remark, sizeof self->remark,
        "The calibration's distance_resolution, %g m, is not used: a %s has %g m.",
        self->calibration.resolution, model->name, model->resolution);
  self->is_ideal = TRUE;
  for (guint i = 0; i < model->n_lasers; i++) {
    const VelodyneLaser *laser = &self->calibration.lasers[i];
    elevations[i] = laser->elevation;
    self->cos_elevations[i] = (gfloat)cos (laser->elevation);
    self->lasers.z[i] = (gfloat)sin (laser->elevation);
    self->lasers.lens_z[i] = (gfloat)laser->height;
    if (laser->distance != 0 || laser->vertical_offset != 0 || laser->horizontal_offset != 0 ||
        laser->has_two_points)
      self->is_ideal = FALSE;
  }
  packet_rank (elevations, model->n_lasers, rings);
  for (guint i = 0; i < model->n_lasers; i++)
    self->lasers.ring[i] = rings[i];
  set_times (self, FALSE);
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
  self->azimuths = packet_turn_get_hundredths ();
  /* Without a file the calibration of an HDL-64E comes in its packets. */
  self->model = model;
  if (self->is_auto || (model == VELODYNE_MODEL_HDL_64E && !calibration) ||
      set_model (self, model, error))
    return self;
  velodyne_free (self);
  return NULL;
}

void
velodyne_free (Velodyne *self)
{
  g_free (self);
}

const gchar *
velodyne_get_remark (const Velodyne *self)
{
  return *self->remark ? self->remark : NULL;
}

const gchar *
velodyne_get_model (const Velodyne *self)
{
  return self->model == VELODYNE_MODEL_AUTO ? NULL : models[self->model].name;
}

void
velodyne_reset (Velodyne *self)
{
  self->begins = TRUE;
}

/* The beams of a block's firings, where the azimuth goes on by @step until the next block's. */
static const PacketBeams *
get_beams (Velodyne *self, gint step)
{
  const Model *model = &models[self->model];
  BeamCache *cache = &self->caches[step % N_CACHED];
  if (cache->step == step)
    return cache->firings;
  const gdouble rate = step * G_PI / 18000 / (1e3 * self->firing_time * model->n_firings);
  for (guint firing = 0; firing < model->n_firings; firing++) {
    PacketBeams *beams = &cache->firings[firing];
    beams->n = model->n_lasers;
    for (guint i = 0; i < model->n_lasers; i++) {
      const gint64 time = self->firing_times[firing] + get_laser_time (self, i);
      const PacketTurn turn =
          packet_turn_new (rate * (gdouble)time - self->calibration.lasers[i].rotation);
      beams->x[i] = self->cos_elevations[i] * turn.cosine;
      beams->y[i] = -self->cos_elevations[i] * turn.sine;
    }
  }
  cache->step = step;
  return cache->firings;
}

/* Corrects a point by what the calibration says beyond angles. */
static void
correct (const Velodyne *self, guint number, gfloat distance, PacketPoint *point)
{
  const VelodyneLaser *c = &self->calibration.lasers[number];
  const gfloat cos_elevation = self->cos_elevations[number], sin_elevation = self->lasers.z[number];
  const gfloat cosine = point->x / (distance * cos_elevation);
  const gfloat sine = -point->y / (distance * cos_elevation);
  const gdouble far = distance + c->distance;
  const gdouble drop = c->vertical_offset * sin_elevation;
  const gdouble flat = far * cos_elevation - drop;
  gdouble dx = 0, dy = 0;
  if (c->has_two_points) {
    /* Measured at 25.04 m and at 2.4 m along one axis, 1.93 m along the other. */
    const gdouble x = fabs (flat * sine - c->horizontal_offset * cosine);
    const gdouble y = fabs (flat * cosine + c->horizontal_offset * sine);
    dx = (c->distance - c->distance_x) * (x - 2.4) / (25.04 - 2.4) + c->distance_x - c->distance;
    dy = (c->distance - c->distance_y) * (y - 1.93) / (25.04 - 1.93) + c->distance_y - c->distance;
  }
  const gdouble flat_x = (far + dx) * cos_elevation - drop;
  const gdouble flat_y = (far + dy) * cos_elevation - drop;
  point->x = (gfloat)(flat_y * cosine + c->horizontal_offset * sine);
  point->y = (gfloat)(-flat_x * sine + c->horizontal_offset * cosine);
  point->z = (gfloat)((far + dy) * sin_elevation + c->vertical_offset * cos_elevation);
}

/* A return of laser @number of the firing; 0: there was none. */
static guint
make_point (const Velodyne *self, const PacketBeams *beams, guint number, const guint8 *measured,
    const PacketFiring *firing, PacketPoint *point)
{
  const guint raw = packet_read_le16 (measured);
  const gfloat distance = (gfloat)raw * self->format.unit;
  if (raw == 0)
    return 0;
  *point = packet_beams_get_point (beams, &self->lasers, number, firing, distance, measured[2]);
  if (!self->is_ideal)
    correct (self, number, distance, point);
  return 1;
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
  /* both banks' strongest returns come before both banks' last ones, instead of a bank's two
   * returns one after the other with the last one first */
  gboolean is_by_return;
  guint8 kind;
} Layout;

static const guint8 *
get_block (const Layout *layout, guint group, guint i)
{
  return layout->data + (group * layout->n_banks * layout->n_returns + i) * BLOCK_SIZE;
}

/* Bank of block @i of a group. */
static guint
get_bank (const Layout *layout, guint i)
{
  return layout->is_by_return ? i % layout->n_banks : i / layout->n_returns;
}

static guint
get_azimuth (const Layout *layout, guint group)
{
  return packet_read_le16 (get_block (layout, group, 0) + 2);
}

/* Azimuth that the sensor turns from a group to the next, of the last group from the one before;
 * below 36000, as check_blocks() has checked the azimuths. */
static guint
get_step (Velodyne *self, const Layout *layout, guint group)
{
  const guint azimuth = get_azimuth (layout, group);
  const gboolean is_last = group + 1 == layout->n_groups;
  const guint from = is_last ? self->last_azimuth : azimuth;
  const guint to = is_last ? azimuth : get_azimuth (layout, group + 1);
  self->last_azimuth = azimuth;
  return to < from ? to + 36000 - from : to - from;
}

/* Steps of a blind part are not those of a group. */
static void
learn_step (Velodyne *self, guint step)
{
  if (step >= MAX_STEP)
    return;
  self->last_step = (gint)step;
  self->n_steps = MIN (self->n_steps + 1, MEAN_STEPS);
  self->mean_step += (self->last_step - self->mean_step) *
                     (self->n_steps < MEAN_STEPS ? 1.0 / self->n_steps : 1.0 / MEAN_STEPS);
}

/* Points of a firing of a block, whose lasers begin with @first; with two returns @second has the
 * other ones of the same lasers, the last return of each comes before. */
static guint
decode_channels (const Velodyne *self, const PacketBeams *beams, guint first, PacketFiring firing,
    const guint8 *channels, const guint8 *second, PacketPoint *points)
{
  const guint n_lasers = MIN (models[self->model].n_lasers, BLOCK_LASERS);
  static const PacketReturnKinds kinds = {.same = PACKET_RETURN_STRONGEST,
      .first = PACKET_RETURN_LAST,
      .farther = PACKET_RETURN_STRONGEST,
      .nearer = PACKET_RETURN_STRONGEST};
  guint n = 0;
  if (second && self->is_ideal)
    return packet_beams_fire_two (beams, &self->lasers, first, n_lasers, &firing, &kinds,
        &self->format, channels, second, points);
  if (self->is_ideal)
    return packet_beams_fire (
        beams, &self->lasers, first, n_lasers, &firing, &self->format, channels, points);
  for (guint i = 0; i < n_lasers; i++, channels += 3) {
    /* The only return is both the last and the strongest. */
    const gboolean are_two = second && memcmp (channels, second + 3 * i, 2) != 0;
    if (second)
      firing.kind = are_two ? PACKET_RETURN_LAST : PACKET_RETURN_STRONGEST;
    n += make_point (self, beams, first + i, channels, &firing, points + n);
    firing.kind = second ? PACKET_RETURN_STRONGEST : firing.kind;
    if (are_two)
      n += make_point (self, beams, first + i, second + 3 * i, &firing, points + n);
  }
  return n;
}

static void
decode_group (
    Velodyne *self, const Layout *layout, guint group, gint64 packet_time, PacketCutter *cutter)
{
  const Model *model = &models[self->model];
  const gint step = self->last_step;
  const guint raw_azimuth = get_azimuth (layout, group);
  const PacketBeams *beams = get_beams (self, step);
  for (guint i = 0; i < model->n_firings; i++) {
    const gint64 time = packet_time + self->firing_times[group * model->n_firings + i];
    const gdouble azimuth = (raw_azimuth + (gdouble)step * i / model->n_firings) / 100;
    PacketFiring firing = {.azimuth = self->azimuths[raw_azimuth], .kind = layout->kind};
    PacketPoint *points = packet_cutter_begin_firing (
        cutter, time, azimuth, model->n_lasers * layout->n_returns, &firing.seconds);
    guint n = 0;
    for (guint bank = 0; points && bank < layout->n_banks; bank++) {
      /* The last return, where there are two, and the strongest. */
      const guint blocks[] = {
          layout->is_by_return ? bank + layout->n_banks : bank * layout->n_returns,
          layout->is_by_return ? bank : bank * layout->n_returns + 1};
      const guint at = 4 + i * model->n_lasers * 3;
      n += decode_channels (self, &beams[i], bank * BLOCK_LASERS, firing,
          get_block (layout, group, blocks[0]) + at,
          layout->n_returns > 1 ? get_block (layout, group, blocks[1]) + at : NULL, points + n);
    }
    if (points)
      packet_cutter_commit (cutter, n);
  }
}

/* How long the sensor turns without firing where @step, to the next group, spans the part that
 * the field of view leaves out, ns. It is at the rate of the turn: in a capture of a VLP-32C that
 * sees 180 degrees the stamp of the packet behind says so to within 0.1 ms. */
static gint64
get_blind_time (const Velodyne *self, guint step)
{
  if (step < MAX_STEP || step >= 36000 - MAX_STEP || self->mean_step <= 0)
    return 0;
  const gdouble turn = step / self->mean_step - 1;
  return (gint64)(1e3 * self->firing_time * models[self->model].n_firings * turn);
}

/* Blocks of a group have the same azimuth, one bank each, twice where there are two returns. */
static gboolean
check_blocks (const Velodyne *self, const Layout *layout, GError **error)
{
  for (guint group = 0; group < layout->n_groups; group++) {
    for (guint i = 0; i < layout->n_banks * layout->n_returns; i++) {
      const guint8 *block = get_block (layout, group, i);
      const gint first = get_first_laser (self, packet_read_le16 (block));
      if (first == (gint)get_bank (layout, i) * BLOCK_LASERS &&
          packet_read_le16 (block + 2) < 36000)
        continue;
      g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT,
          "block %u has flag %04x and azimuth %u/100 degrees",
          group * layout->n_banks * layout->n_returns + i, packet_read_le16 (block),
          packet_read_le16 (block + 2));
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
  /* An HDL-64E has its calibration in these bytes; it alone sends two banks alternately. */
  if (packet_read_le16 (data + BLOCK_SIZE) == 0xddff &&
      packet_read_le16 (data + 2 * BLOCK_SIZE) == 0xeeff)
    return VELODYNE_MODEL_HDL_64E;
  if (mode >= 0x37 && mode <= 0x3b)
    for (guint i = 1; i < VELODYNE_N_MODELS; i++)
      if (models[i].product == product && product != 0)
        return (VelodyneModel)i;
  return VELODYNE_MODEL_AUTO;
}

/* Whether this is a packet of points of this vendor. */
static gboolean
check_packet (const guint8 *data, gsize size, GError **error)
{
  if (size != PACKET_SIZE)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_SIZE,
        "it has %" G_GSIZE_FORMAT " bytes instead of %d", size, PACKET_SIZE);
  else if (data[0] != 0xff || data[1] != 0xee)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_FOREIGN,
        "it begins with %02x %02x instead of ff ee", data[0], data[1]);
  else
    return TRUE;
  return FALSE;
}

static gboolean
refuse_model (const Velodyne *self, VelodyneModel model, VelodyneModel wanted, GError **error)
{
  g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
      "it is of a %s, but the decoder is set to %s%s", models[model].name, models[wanted].name,
      self->is_auto ? " by the first packet" : "");
  return FALSE;
}

static gboolean
check_model (Velodyne *self, const guint8 *data, GError **error)
{
  const VelodyneModel model = recognize (data);
  /* With a confidence, and of three returns: blocks hold other things. */
  if (model != VELODYNE_MODEL_AUTO && model != VELODYNE_MODEL_HDL_64E &&
      data[PACKET_SIZE - 2] > MODE_DUAL) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
        "its return mode is %02x, and only 37, 38 and 39 are decoded here", data[PACKET_SIZE - 2]);
    return FALSE;
  }
  if (self->model == VELODYNE_MODEL_AUTO && model == VELODYNE_MODEL_AUTO) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
        "the packet does not say what model sent it (factory bytes %02x %02x): set the model",
        data[PACKET_SIZE - 2], data[PACKET_SIZE - 1]);
    return FALSE;
  }
  if (self->model == VELODYNE_MODEL_AUTO)
    return set_model (self, model, error);
  if (model == VELODYNE_MODEL_AUTO || model == self->model)
    return TRUE;
  return refuse_model (self, model, self->model, error);
}

gboolean
velodyne_calibrate (Velodyne *self, const guint8 *data, gsize size, GError **error)
{
  const gboolean is_data = check_packet (data, size, NULL);
  const VelodyneModel model = is_data ? recognize (data) : VELODYNE_MODEL_AUTO;
  if (self->has_calibration)
    return TRUE;
  if (self->model == VELODYNE_MODEL_HDL_64E || (self->is_auto && model == VELODYNE_MODEL_HDL_64E))
    self->is_waiting = TRUE;
  if (!self->is_waiting)
    return TRUE;
  if (size == POSITION_SIZE || !check_packet (data, size, error))
    return FALSE;
  if (model != VELODYNE_MODEL_HDL_64E)
    return model != VELODYNE_MODEL_AUTO &&
           refuse_model (self, model, VELODYNE_MODEL_HDL_64E, error);
  self->has_calibration = velodyne_status_add (
      &self->status, data[PACKET_SIZE - 2], data[PACKET_SIZE - 1], &self->calibration);
  return self->has_calibration && (self->is_auto || set_model (self, VELODYNE_MODEL_HDL_64E, NULL));
}

/* An HDL-64E does not say that it sends two returns: four blocks have the same azimuth then. Where
 * all have, it stands still. */
static gboolean
are_in_fours (const guint8 *data)
{
  const guint8 *azimuths = data + 2;
  for (guint i = 0; i < N_BLOCKS; i += 4)
    if (packet_read_le16 (azimuths + i * BLOCK_SIZE) !=
        packet_read_le16 (azimuths + (i + 2) * BLOCK_SIZE))
      return FALSE;
  return packet_read_le16 (azimuths) != packet_read_le16 (azimuths + 4 * BLOCK_SIZE);
}

/* The sensor's time goes on over the hour, and where its counter does: the one that is nearest to
 * the newest packet's. */
static gint64
get_time (const Velodyne *self, guint32 stamp, const PacketCutter *cutter)
{
  const gint64 time = (gint64)stamp * 1000;
  gint64 newest;
  if (self->begins || !packet_cutter_get_newest (cutter, &newest))
    return time;
  const gint64 hours = (newest - time + (newest >= time ? HOUR / 2 : -HOUR / 2)) / HOUR;
  return time + MAX (hours, 0) * HOUR;
}

/* Whether a stamp is less than a second behind the newest packet's. */
static gboolean
follows (const Velodyne *self, guint32 stamp, const PacketCutter *cutter)
{
  gint64 newest;
  const gint64 time = get_time (self, stamp, cutter);
  return packet_cutter_get_newest (cutter, &newest) && time >= newest && time < newest + SECOND;
}

gboolean
velodyne_decode (Velodyne *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  *is_data = size != POSITION_SIZE;
  if (size == POSITION_SIZE)
    return TRUE;
  if (!check_packet (data, size, error) || !check_model (self, data, error))
    return FALSE;

  const Model *model = &models[self->model];
  const guint8 mode = data[PACKET_SIZE - 2];
  const gboolean is_hdl_64e = self->model == VELODYNE_MODEL_HDL_64E;
  const gboolean is_dual = is_hdl_64e ? are_in_fours (data) : mode == MODE_DUAL;
  Layout layout = {
      .data = data, .n_returns = is_dual ? 2 : 1, .is_by_return = is_hdl_64e && is_dual};
  layout.n_banks = MAX (model->n_lasers, BLOCK_LASERS) / BLOCK_LASERS;
  layout.n_groups = N_BLOCKS / (layout.n_banks * layout.n_returns);
  layout.kind = mode == MODE_LAST ? PACKET_RETURN_LAST : PACKET_RETURN_STRONGEST;
  const guint32 stamp = packet_read_le32 (data + N_BLOCKS * BLOCK_SIZE);
  if (stamp > MAX_STAMP && !follows (self, stamp, cutter)) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT,
        "its time, %u microseconds, is not within an hour", stamp);
    return FALSE;
  }
  if (!check_blocks (self, &layout, error))
    return FALSE;
  if (is_dual != self->is_dual)
    set_times (self, is_dual);
  const gint64 time = get_time (self, stamp, cutter);
  if (!packet_cutter_begin_packet (cutter, time))
    return TRUE;
  self->begins = FALSE;
  gint64 first = time;
  for (guint group = 0; group < layout.n_groups; group++) {
    const guint step = get_step (self, &layout, group);
    learn_step (self, step);
    decode_group (self, &layout, group, first, cutter);
    if (group + 1 < layout.n_groups)
      first += get_blind_time (self, step);
  }
  return TRUE;
}
