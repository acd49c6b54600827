/* SPDX-License-Identifier: MIT */
#include "robosense.h"

#include <math.h>
#include <string.h>

#include "gst/lidardec/packet/packet-beams.h"
#include "gst/lidardec/packet/packet-clock.h"

/* Both kinds of packets: MSOP, of points, and DIFOP, of the device. Numbers are big-endian. */
#define PACKET_SIZE 1248

#define FIRST_BLOCK 42
#define N_BLOCKS 12
#define BLOCK_SIZE 100
#define N_CHANNELS 32 /* of a block */
#define CHANNEL_SIZE 3

/* Of a Helios the type is lidar_type of rs_driver's RSHELIOSMsopHeader, of a Bpearl lidar_type and
 * lidar_model of its RSMsopHeaderV1, and with old firmware legacy_lidar_type
 * (github.com/RoboSense-LiDAR/rs_driver, decoder_RSHELIOS.hpp and decoder.hpp, commit 4eeadac). A
 * capture of a Helios of 32 lasers has 6 there and 0 behind it. The manual and Nebula's helios.hpp
 * (github.com/tier4/nebula, commit 606ac41) have it a byte further on, where it is taken from if
 * the first one is 0. Nebula reads a resolution from byte 17, which rs_driver does not: it has one
 * of each model. */
#define STAMP 20
#define HELIOS_TYPE 30
#define BPEARL_OLD_TYPE 30
#define BPEARL_TYPE 31
#define BPEARL_MODEL 32
/* Behind the type; 3 is known from manuals only, as rs_driver and Nebula are told the model. */
#define HELIOS_SUBTYPE 1

#define DIFOP_RPM 8
#define DIFOP_RETURN_MODE 300
/* Not 0: against the clock. Of the Bpearl alone: rs_driver reads it in decoder_RSBP.hpp
 * (reserved_2[0] of RSBPDifopPkt) and nowhere else, and a Helios has 255 there. */
#define DIFOP_ROTATION 337
#define DIFOP_ELEVATIONS 468
#define DIFOP_AZIMUTHS 564

static const guint8 helios_id[] = {0x55, 0xaa, 0x05, 0x5a};
static const guint8 bpearl_id[] = {0x55, 0xaa, 0x05, 0x0a, 0x5a, 0xa5, 0x50, 0xa0};
static const guint8 difop_id[] = {0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11, 0x55, 0x55};

/* Values of the bytes that say what a sensor is. */
enum { TYPE_BPEARL = 3, TYPE_HELIOS = 6, SUBTYPE_HELIOS_16P = 3, MODEL_BPEARL_4 = 4 };

/* Steps of azimuth between firings, 0.01 degrees. At 20 Hz, the fastest, a block makes 40, one of
 * two firings 80; more is the end of the field of view that was set. */
#define MAX_STEP 100
#define DEFAULT_STEP 20

/* More are none: the year 2242. */
#define MAX_SECONDS (G_GINT64_CONSTANT (1) << 33)

typedef struct {
  const gchar *name;
  guint n_lasers;
  gfloat resolution;   /* m, rs_driver's DISTANCE_RES */
  gdouble firing_time; /* µs from firing to firing */
  gfloat radius;       /* m from the axis to the lens, in the direction of the azimuth */
  gfloat height;       /* m of the lens */
} Model;

static const Model models[ROBOSENSE_N_MODELS] = {
    [ROBOSENSE_MODEL_AUTO] = {.name = "auto"},
    [ROBOSENSE_MODEL_HELIOS] = {"Helios", 32, 0.0025f, 55.56, 0.03498f, 0},
    [ROBOSENSE_MODEL_HELIOS_16P] = {"Helios-16P", 16, 0.0025f, 55.56, 0.03498f, 0},
    [ROBOSENSE_MODEL_BPEARL] = {"Bpearl", 32, 0.005f, 55.52, 0.01473f, 0.09427f},
    [ROBOSENSE_MODEL_BPEARL_4] = {"Bpearl of protocol 4", 32, 0.0025f, 55.56, 0.01619f, 0.09571f},
};

/* µs from a Helios's laser to the next. RoboSense's driver has it since rs_driver's commit 2813880
 * of March 2024, "[fix]: Update firing_tss of Helios/Helios16P/RubyPlus"; older manuals have a
 * table that ends with 45.15. */
#define HELIOS_LASER_TIME 1.73

struct _Robosense {
  RobosenseModel model; /* AUTO until a packet said it */
  RobosenseModel wanted;
  gboolean has_file;
  RobosenseCalibration calibration; /* of no lasers until there is one */
  guint8 return_mode;               /* of DIFOP, 0xff: not known */
  gboolean is_reversed;
  gint nominal_step; /* hundredths of a degree per firing by the DIFOP's speed, 0: not known */

  PacketLasers lasers;
  PacketBeams beams;
  gint step; /* of azimuth that the beams are for, hundredths of a degree per firing */
  const PacketTurn *azimuths;
  gint last_step;
};

static gdouble
get_laser_time (RobosenseModel model, guint laser)
{
  switch (model) {
  case ROBOSENSE_MODEL_BPEARL:
    return 2.56 * (laser % 16) + 1.28 * (laser / 16) + (laser % 16 >= 8 ? 5.2 : 0);
  case ROBOSENSE_MODEL_BPEARL_4:
    return 1.668 * laser;
  default:
    return HELIOS_LASER_TIME * laser;
  }
}

/* Once the model is known, and whenever angles are. */
static gboolean
set_model (Robosense *self, RobosenseModel number, GError **error)
{
  const Model *model = &models[number];
  const RobosenseCalibration *calibration = &self->calibration;
  guint16 rings[ROBOSENSE_MAX_LASERS];
  if (calibration->n_lasers < model->n_lasers ||
      (self->has_file && calibration->n_lasers > model->n_lasers)) {
    g_set_error (error, ROBOSENSE_ERROR, ROBOSENSE_ERROR_CALIBRATION,
        "the calibration%s is of %u lasers, but a %s has %u",
        self->has_file ? "" : " in its packets", calibration->n_lasers, model->name,
        model->n_lasers);
    return FALSE;
  }
  self->model = number;
  self->step = -1;
  self->beams.has_lens = TRUE;
  packet_rank (calibration->elevation, model->n_lasers, rings);
  for (guint i = 0; i < model->n_lasers; i++) {
    self->lasers.z[i] = (gfloat)sin (calibration->elevation[i]);
    self->lasers.lens_z[i] = model->height;
    self->lasers.time[i] = (gfloat)(get_laser_time (number, i) * 1e-6);
    self->lasers.ring[i] = rings[i];
  }
  return TRUE;
}

Robosense *
robosense_new (RobosenseModel model, const RobosenseCalibration *calibration, GError **error)
{
  g_autoptr (Robosense) self = g_new0 (Robosense, 1);
  self->wanted = model;
  self->return_mode = 0xff;
  self->last_step = DEFAULT_STEP;
  self->azimuths = packet_turn_get_hundredths ();
  self->has_file = calibration != NULL;
  if (calibration)
    self->calibration = *calibration;
  if (calibration && model != ROBOSENSE_MODEL_AUTO && !set_model (self, model, error))
    return NULL;
  self->model = ROBOSENSE_MODEL_AUTO;
  return g_steal_pointer (&self);
}

void
robosense_free (Robosense *self)
{
  g_free (self);
}

const gchar *
robosense_get_model (const Robosense *self)
{
  return self->model == ROBOSENSE_MODEL_AUTO ? NULL : models[self->model].name;
}

/* A sign and hundredths of a degree. */
static gboolean
read_angle (const guint8 *data, gdouble *angle)
{
  const gint value = (gint)packet_read_be16 (data + 1);
  *angle = (data[0] == 1 ? -value : value) * G_PI / 18000;
  return data[0] <= 1 && value <= 9000;
}

static gboolean
is_difop (const guint8 *data, gsize size)
{
  return size == PACKET_SIZE && memcmp (data, difop_id, sizeof difop_id) == 0;
}

/* How many lasers the table has: a Helios-16P may leave the second half at 0. */
static guint
count_lasers (const RobosenseCalibration *calibration)
{
  for (guint i = 16; i < calibration->n_lasers; i++)
    if (calibration->elevation[i] != 0 || calibration->azimuth[i] != 0)
      return calibration->n_lasers;
  return MIN (calibration->n_lasers, 16);
}

/* FALSE: there are no angles in it, as in a sensor that was not calibrated. */
static gboolean
read_difop (const guint8 *data, RobosenseCalibration *calibration)
{
  gboolean are_zero = TRUE;
  memset (calibration, 0, sizeof *calibration);
  for (guint i = 0; i < ROBOSENSE_MAX_LASERS; i++) {
    /* A Helios-16P fills half of the table. */
    if (!read_angle (data + DIFOP_ELEVATIONS + 3 * i, &calibration->elevation[i]) ||
        !read_angle (data + DIFOP_AZIMUTHS + 3 * i, &calibration->azimuth[i]))
      break;
    are_zero &= calibration->elevation[i] == 0;
    calibration->n_lasers++;
  }
  calibration->n_lasers = count_lasers (calibration);
  return calibration->n_lasers >= 16 && !are_zero;
}

static void
take_difop (Robosense *self, const guint8 *data)
{
  RobosenseCalibration calibration;
  self->return_mode = data[DIFOP_RETURN_MODE];
  self->is_reversed = data[DIFOP_ROTATION] != 0;
  /* Whole turns a second, as rs_driver's BLOCK_AZ_DURATION is made. */
  self->nominal_step = (gint)lround (packet_read_be16 (data + DIFOP_RPM) / 60 * 36000 * 55.56e-6);
  if (self->nominal_step > MAX_STEP)
    self->nominal_step = 0;
  if (!self->has_file && read_difop (data, &calibration))
    self->calibration = calibration;
}

/* Takes a DIFOP packet between others: settings, or the sensor itself, may have changed. */
static gboolean
decode_difop (Robosense *self, const guint8 *data, GError **error)
{
  const RobosenseCalibration before = self->calibration;
  take_difop (self, data);
  return self->model == ROBOSENSE_MODEL_AUTO ||
         memcmp (&before, &self->calibration, sizeof before) == 0 ||
         set_model (self, self->model, error);
}

/* The byte of a Helios's type; the subtype is behind it. */
static const guint8 *
get_helios_type (const guint8 *data)
{
  return data + HELIOS_TYPE + (data[HELIOS_TYPE] == 0 ? 1 : 0);
}

/* Whether a Helios is the one of 16 lasers, which fire twice a block: where its angles are of 16,
 * or its packets say so. */
static gboolean
is_16p (const Robosense *self, const guint8 *data)
{
  return self->calibration.n_lasers == 16 ||
         get_helios_type (data)[HELIOS_SUBTYPE] == SUBTYPE_HELIOS_16P;
}

/* What the packet says that it is of, and what that is called. AUTO: of another model, or, with
 * the name NULL, of another vendor. */
static RobosenseModel
recognize (const Robosense *self, const guint8 *data, const gchar **name)
{
  static const gchar *const names[] = {"RoboSense sensor of an unknown type", "RS-LiDAR-16",
      "RS-LiDAR-32", "Bpearl", "Ruby", "Ruby Lite", "Helios", "Helios-1615 or Helios-16P"};
  const gboolean is_new = memcmp (data, helios_id, sizeof helios_id) == 0;
  const gboolean is_old = memcmp (data, bpearl_id, sizeof bpearl_id) == 0;
  const guint8 type = is_new                             ? *get_helios_type (data)
                      : data[BPEARL_TYPE] == TYPE_BPEARL ? TYPE_BPEARL
                                                         : data[BPEARL_OLD_TYPE];
  RobosenseModel model = ROBOSENSE_MODEL_AUTO;
  *name = !is_new && !is_old ? NULL : names[type < G_N_ELEMENTS (names) ? type : 0];
  if (is_new && type == TYPE_HELIOS)
    model = is_16p (self, data) ? ROBOSENSE_MODEL_HELIOS_16P : ROBOSENSE_MODEL_HELIOS;
  else if (is_new && type == TYPE_HELIOS + 1 && self->calibration.n_lasers == 16)
    model = ROBOSENSE_MODEL_HELIOS_16P;
  else if (is_old && type == TYPE_BPEARL)
    model = data[BPEARL_TYPE] == TYPE_BPEARL && data[BPEARL_MODEL] == MODEL_BPEARL_4
                ? ROBOSENSE_MODEL_BPEARL_4
                : ROBOSENSE_MODEL_BPEARL;
  if (model != ROBOSENSE_MODEL_AUTO)
    *name = models[model].name;
  return model;
}

/* Early firmware has one type for the Helios-1615 and the Helios-16P. */
static gboolean
is_undecided (const guint8 *data)
{
  return memcmp (data, helios_id, sizeof helios_id) == 0 &&
         *get_helios_type (data) == TYPE_HELIOS + 1;
}

/* Whether the packet is of a model that is decoded here. */
static gboolean
find_model (const Robosense *self, const guint8 *data, RobosenseModel *found, GError **error)
{
  const gchar *name;
  RobosenseModel model = recognize (self, data, &name);
  const RobosenseModel wanted = self->model != ROBOSENSE_MODEL_AUTO ? self->model : self->wanted;
  if (is_undecided (data) &&
      (wanted == ROBOSENSE_MODEL_HELIOS || wanted == ROBOSENSE_MODEL_HELIOS_16P))
    model = wanted;
  const gboolean is_wanted =
      model != ROBOSENSE_MODEL_AUTO &&
      (wanted == ROBOSENSE_MODEL_AUTO || wanted == model ||
          (self->model == ROBOSENSE_MODEL_AUTO && wanted == ROBOSENSE_MODEL_BPEARL &&
              model == ROBOSENSE_MODEL_BPEARL_4));
  *found = model;
  if (!name)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_FOREIGN, "it begins with %02x %02x %02x %02x",
        data[0], data[1], data[2], data[3]);
  else if (is_wanted)
    return TRUE;
  else if (wanted == ROBOSENSE_MODEL_AUTO)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
        is_undecided (data) ? "it is of a %s: set the model"
                            : "it is of a %s, which is not decoded here",
        name);
  else
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
        "it is of a %s, but the decoder is set to %s%s", name, models[wanted].name,
        self->wanted == ROBOSENSE_MODEL_AUTO ? " by the first packet" : "");
  return FALSE;
}

/* Whether this is a packet of points of a model that is decoded here. */
static gboolean
check_packet (
    const Robosense *self, const guint8 *data, gsize size, RobosenseModel *model, GError **error)
{
  if (size == PACKET_SIZE)
    return find_model (self, data, model, error);
  g_set_error (error, PACKET_ERROR, PACKET_ERROR_SIZE,
      "it has %" G_GSIZE_FORMAT " bytes instead of %d", size, PACKET_SIZE);
  return FALSE;
}

gboolean
robosense_calibrate (Robosense *self, const guint8 *data, gsize size, GError **error)
{
  RobosenseModel model;
  if (is_difop (data, size))
    take_difop (self, data);
  else if (self->calibration.n_lasers == 0)
    check_packet (self, data, size, &model, error);
  return self->calibration.n_lasers > 0;
}

/* UTC, ns since 1970; negative: the bytes are no time. */
static gint64
get_time (RobosenseModel model, const guint8 *data)
{
  if (model == ROBOSENSE_MODEL_BPEARL) {
    const gint date[6] = {2000 + data[0], data[1], data[2], data[3], data[4], data[5]};
    return packet_date_to_ns (
        date, (gint64)packet_read_be16 (data + 6) * 1000 + packet_read_be16 (data + 8));
  }
  const gint64 seconds = (gint64)packet_read_be16 (data) << 32 | packet_read_be32 (data + 2);
  const guint32 microseconds = packet_read_be32 (data + 6);
  if (seconds > MAX_SECONDS || microseconds >= G_USEC_PER_SEC)
    return -1;
  return (seconds * G_USEC_PER_SEC + microseconds) * 1000;
}

/* A packet as firings. */
typedef struct {
  const guint8 *blocks;
  gboolean is_dual;
  guint n_firings;
  guint block_firings;
  guint block_step; /* blocks from one azimuth to the next */
  gfloat resolution;
  guint8 kind; /* of single returns */
  /* of each azimuth */
  guint azimuths[N_BLOCKS];
  gint steps[N_BLOCKS];
  gint64 times[N_BLOCKS];
} Layout;

static guint
get_azimuth (const guint8 *blocks, guint block)
{
  return packet_read_be16 (blocks + block * BLOCK_SIZE + 2);
}

/* Blocks of two returns come in pairs, but those of 16 lasers have both in one. */
static gboolean
is_in_pairs (const guint8 *blocks)
{
  for (guint i = 0; i < N_BLOCKS; i += 2)
    if (get_azimuth (blocks, i) != get_azimuth (blocks, i + 1))
      return FALSE;
  return get_azimuth (blocks, 0) != get_azimuth (blocks, 2);
}

static gboolean
check_blocks (const guint8 *blocks, GError **error)
{
  for (guint i = 0; i < N_BLOCKS; i++) {
    const guint8 *block = blocks + i * BLOCK_SIZE;
    if (packet_read_be16 (block) == 0xffee && get_azimuth (blocks, i) < 36000)
      continue;
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT,
        "block %u has flag %04x and azimuth %u/100 degrees", i, packet_read_be16 (block),
        get_azimuth (blocks, i));
    return FALSE;
  }
  return TRUE;
}

static guint8
get_kind (guint8 return_mode)
{
  switch (return_mode) {
  case 0x02:
  case 0x05:
    return PACKET_RETURN_LAST;
  case 0x06:
    return PACKET_RETURN_FIRST;
  default:
    return PACKET_RETURN_STRONGEST;
  }
}

/* Hundredths of a degree per firing. */
static gint
get_mean_step (const Robosense *self)
{
  return self->nominal_step > 0 ? self->nominal_step : MAX (self->last_step, 1);
}

static void
lay_out (Robosense *self, const guint8 *data, gint64 time, Layout *layout)
{
  const Model *model = &models[self->model];
  const gint64 firing_time = (gint64)(1e3 * model->firing_time);
  const guint8 *blocks = layout->blocks = data + FIRST_BLOCK;
  const gboolean is_16 = model->n_lasers == 16;
  layout->is_dual = is_16 ? self->return_mode == 0 : is_in_pairs (blocks);
  layout->block_firings = is_16 && !layout->is_dual ? 2 : 1;
  layout->block_step = !is_16 && layout->is_dual ? 2 : 1;
  layout->n_firings = N_BLOCKS / layout->block_step;
  layout->kind = get_kind (self->return_mode);
  layout->resolution = model->resolution;
  for (guint i = 0; i < layout->n_firings; i++) {
    const guint azimuth = get_azimuth (blocks, i * layout->block_step);
    layout->azimuths[i] = azimuth;
    gboolean is_next = FALSE;
    layout->times[i] = time;
    time += firing_time * layout->block_firings;
    if (i + 1 < layout->n_firings) {
      const guint step =
          (get_azimuth (blocks, (i + 1) * layout->block_step) + 36000 - azimuth) % 36000;
      is_next = step > 0 && step <= MAX_STEP;
      if (is_next)
        self->last_step = (gint)(step / layout->block_firings);
      else if (step > MAX_STEP)
        /* The time in which the sensor turns over what is not in the field of view. */
        time += (gint64)((gdouble)firing_time * step / get_mean_step (self)) -
                firing_time * layout->block_firings;
    }
    /* Behind the last block, and where the next one lies beyond what is blind. */
    layout->steps[i] = is_next || self->nominal_step == 0 ? self->last_step : self->nominal_step;
  }
}

/* Beams, turned by what the sensor turns until they fire; the lens lies before the axis. */
static const PacketBeams *
get_beams (Robosense *self, gint step)
{
  const Model *model = &models[self->model];
  PacketBeams *beams = &self->beams;
  if (self->step == step)
    return beams;
  for (guint i = 0; i < model->n_lasers; i++) {
    const gdouble turn = step * G_PI / 18000 * get_laser_time (self->model, i) / model->firing_time;
    const gdouble flat = cos (self->calibration.elevation[i]);
    beams->x[i] = (gfloat)(flat * cos (turn + self->calibration.azimuth[i]));
    beams->y[i] = (gfloat)(-flat * sin (turn + self->calibration.azimuth[i]));
    beams->lens_x[i] = (gfloat)(model->radius * cos (turn));
    beams->lens_y[i] = (gfloat)(-model->radius * sin (turn));
  }
  self->step = step;
  return beams;
}

static guint
decode_firing (Robosense *self, const Layout *layout, const guint8 *channels, gint step,
    const PacketFiring *firing, PacketPoint *points)
{
  const guint n_lasers = models[self->model].n_lasers;
  const PacketChannelFormat format = {CHANNEL_SIZE, TRUE, layout->resolution};
  const PacketBeams *beams = get_beams (self, step);
  /* Where the strongest is the last, the other is the second strongest. */
  static const PacketReturnKinds kinds = {.same = PACKET_RETURN_STRONGEST,
      .first = PACKET_RETURN_STRONGEST,
      .farther = PACKET_RETURN_LAST,
      .nearer = PACKET_RETURN_SECOND};
  const gsize to_second = layout->block_step == 2 ? BLOCK_SIZE : n_lasers * CHANNEL_SIZE;
  guint n;
  if (layout->is_dual)
    n = packet_beams_fire_two (beams, &self->lasers, 0, n_lasers, firing, &kinds, &format, channels,
        channels + to_second, points);
  else
    n = packet_beams_fire (beams, &self->lasers, 0, n_lasers, firing, &format, channels, points);
  const gboolean is_mirrored = self->is_reversed && (self->model == ROBOSENSE_MODEL_BPEARL ||
                                                        self->model == ROBOSENSE_MODEL_BPEARL_4);
  for (guint i = 0; is_mirrored && i < n; i++)
    points[i].y = -points[i].y;
  return n;
}

static void
decode_block (Robosense *self, const Layout *layout, guint i, PacketCutter *cutter)
{
  const Model *model = &models[self->model];
  const guint8 *channels = layout->blocks + i * layout->block_step * BLOCK_SIZE + 4;
  const gint step = layout->steps[i];
  for (guint k = 0; k < layout->block_firings; k++, channels += model->n_lasers * CHANNEL_SIZE) {
    const guint azimuth = (layout->azimuths[i] + k * (guint)step) % 36000;
    const gint64 time = layout->times[i] + k * (gint64)(1e3 * model->firing_time);
    PacketFiring firing = {.azimuth = self->azimuths[azimuth], .kind = layout->kind};
    PacketPoint *points = packet_cutter_begin_firing (cutter, time, azimuth / 100.0,
        model->n_lasers * (layout->is_dual ? 2 : 1), &firing.seconds);
    if (points)
      packet_cutter_commit (cutter, decode_firing (self, layout, channels, step, &firing, points));
  }
}

gboolean
robosense_decode (Robosense *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  RobosenseModel model;
  Layout layout;
  *is_data = !is_difop (data, size);
  if (!*is_data)
    return decode_difop (self, data, error);
  if (!check_packet (self, data, size, &model, error) ||
      (model != self->model && !set_model (self, model, error)) ||
      !check_blocks (data + FIRST_BLOCK, error))
    return FALSE;
  const gint64 time = get_time (self->model, data + STAMP);
  if (time < 0) {
    g_set_error_literal (error, PACKET_ERROR, PACKET_ERROR_CORRUPT, "its time is none");
    return FALSE;
  }
  if (!packet_cutter_begin_packet (cutter, time))
    return TRUE;
  lay_out (self, data, time, &layout);
  for (guint i = 0; i < layout.n_firings; i++)
    decode_block (self, &layout, i, cutter);
  return TRUE;
}
