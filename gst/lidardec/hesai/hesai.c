/* SPDX-License-Identifier: MIT */
#include "hesai.h"

#include <math.h>
#include <string.h>

#include "gst/lidardec/packet/packet-beams.h"
#include "gst/lidardec/packet/packet-clock.h"
#include "hesai-tables.h"

#define SECOND ((gint64)1000000000)
#define MAX_UNIT 10 /* mm, of ranges */

typedef struct {
  const gchar *name;
  gsize size;
  guint n_lasers;
  guint n_blocks;
  gsize first_block; /* offset */
  gsize azimuth;     /* offset in a block */
  gsize laser_size;
  gsize mode, utc, stamp; /* offsets from the last block's end on */
  gdouble block_time;     /* µs */
  gdouble offset;         /* µs from the packet's stamp to its last block */
  gboolean is_of_first;   /* or to its first */
} Model;

/* Some firmware adds a number, of 4 bytes, to the packets of the 40P and 64. */
#define SEQUENCE_SIZE 4

/* Packets of the QT128 say in a byte what else is in them. */
#define QT128_FLAGS 11
#define QT128_HAS_SEQUENCE 1
#define QT128_HAS_SAFETY 4 /* before the tail */
#define QT128_HAS_SIGNATURE 8
#define QT128_SAFETY_SIZE 17
#define QT128_SIGNATURE_SIZE 32
#define QT128_LOOP 9 /* offset, from the last block's end on: bit 0 set: the first */

/* Sizes, offsets and times are those of github.com/tier4/nebula (decoders/pandar_*.hpp, commit
 * 606ac41), and of its captures. */
static const Model models[HESAI_N_MODELS] = {
    [HESAI_MODEL_AUTO] = {.name = "auto"},
    [HESAI_MODEL_PANDAR_40P] = {"Pandar40P", 1262, 40, 10, 0, 2, 3, 14, 16, 10, 55.56, -28.58},
    [HESAI_MODEL_PANDAR_64] = {"Pandar64", 1194, 64, 6, 8, 0, 3, 14, 16, 10, 55.56, -42.58},
    [HESAI_MODEL_QT64] = {"PandarQT", 1072, 64, 4, 12, 0, 4, 16, 18, 12, 500.0 / 3, 25.71, TRUE},
    [HESAI_MODEL_QT128] = {"QT128", 1074, 128, 2, 12, 0, 4, 16, 19, 25, 111.11, 9},
    [HESAI_MODEL_XT16] = {"PandarXT-16", 568, 16, 8, 12, 0, 4, 10, 13, 19, 50, 5.632},
    [HESAI_MODEL_XT32] = {"PandarXT-32", 1080, 32, 8, 12, 0, 4, 10, 13, 19, 50, 5.632},
    [HESAI_MODEL_XT32M] = {"PandarXT-32M", 820, 32, 6, 12, 0, 4, 10, 13, 19, 50, 5.632},
};

#define MODE_TRIPLE 0x3d /* of the XT32M alone */

/* What the blocks of a mode hold, in their order for the 40P and 64; of two the others have the
 * last one last. Numbers are those of Nebula (hesai_packet.hpp); that the last return is the
 * farther one was looked at in captures of the 40P, 64, QT64 and XT32. */
static const struct {
  guint8 mode;
  guint n_returns;
  guint8 kinds[3];
} modes[] = {
    {0x33, 1, {PACKET_RETURN_FIRST}},
    {0x34, 1, {PACKET_RETURN_AFTER_FIRST}},
    {0x37, 1, {PACKET_RETURN_STRONGEST}},
    {0x38, 1, {PACKET_RETURN_LAST}},
    {0x39, 2, {PACKET_RETURN_LAST, PACKET_RETURN_STRONGEST}},
    {0x3a, 2, {PACKET_RETURN_FIRST, PACKET_RETURN_AFTER_FIRST}},
    {0x3b, 2, {PACKET_RETURN_LAST, PACKET_RETURN_FIRST}},
    {0x3c, 2, {PACKET_RETURN_FIRST, PACKET_RETURN_STRONGEST}},
    {MODE_TRIPLE, 3, {PACKET_RETURN_FIRST, PACKET_RETURN_LAST, PACKET_RETURN_STRONGEST}},
    {0x3e, 2, {PACKET_RETURN_STRONGEST, PACKET_RETURN_SECOND}},
};

struct _Hesai {
  HesaiModel model; /* AUTO until a packet said it */
  gboolean is_auto;
  gboolean has_calibration;
  HesaiCalibration calibration;
  PacketBeams beams;
  PacketLasers lasers[2];  /* by loop */
  gint64 first_laser_time; /* ns from a block's time to that of its first laser */
  PacketChannelFormat format;
  const PacketTurn *azimuths; /* by hundredths of a degree */
};

/* Once the model is known. */
static gboolean
set_model (Hesai *self, HesaiModel number, GError **error)
{
  const Model *model = &models[number];
  HesaiCalibration *calibration = &self->calibration;
  guint16 rings[HESAI_MAX_LASERS];
  if (!self->has_calibration && !hesai_calibration_init_nominal (calibration, number)) {
    g_set_error (error, HESAI_ERROR, HESAI_ERROR_CALIBRATION,
        "there is no table of angles for a %s", model->name);
    return FALSE;
  }
  if (calibration->n_lasers != model->n_lasers) {
    g_set_error (error, HESAI_ERROR, HESAI_ERROR_CALIBRATION,
        "the calibration is of %u lasers, but a %s has %u", calibration->n_lasers, model->name,
        model->n_lasers);
    return FALSE;
  }
  self->model = number;
  self->first_laser_time = G_MAXINT64;
  self->format = (PacketChannelFormat){.size = (guint)model->laser_size};
  packet_rank (calibration->elevation, model->n_lasers, rings);
  for (guint i = 0; i < model->n_lasers; i++) {
    const PacketTurn elevation = packet_turn_new (calibration->elevation[i]);
    const PacketTurn azimuth = packet_turn_new (calibration->azimuth[i]);
    self->beams.x[i] = elevation.cosine * azimuth.sine;
    self->beams.y[i] = elevation.cosine * azimuth.cosine;
    for (guint loop = 0; loop < 2; loop++) {
      self->lasers[loop].z[i] = elevation.sine;
      self->lasers[loop].ring[i] = rings[i];
      self->first_laser_time = MIN (self->first_laser_time, hesai_get_laser_time (number, loop, i));
    }
  }
  for (guint loop = 0; loop < 2; loop++)
    for (guint i = 0; i < model->n_lasers; i++) {
      const gint64 time = hesai_get_laser_time (number, loop, i) - self->first_laser_time;
      self->lasers[loop].time[i] = (gfloat)time * 1e-9f;
    }
  return TRUE;
}

Hesai *
hesai_new (HesaiModel model, const HesaiCalibration *calibration, GError **error)
{
  Hesai *self = g_new0 (Hesai, 1);
  self->is_auto = model == HESAI_MODEL_AUTO;
  self->azimuths = packet_turn_get_hundredths ();
  self->has_calibration = calibration != NULL;
  if (calibration)
    self->calibration = *calibration;
  if (self->is_auto || set_model (self, model, error))
    return self;
  hesai_free (self);
  return NULL;
}

void
hesai_free (Hesai *self)
{
  g_free (self);
}

const gchar *
hesai_get_model (const Hesai *self)
{
  return self->model == HESAI_MODEL_AUTO ? NULL : models[self->model].name;
}

static gboolean
begins_like (HesaiModel model, const guint8 *data)
{
  const guint start = packet_read_le16 (data);
  if (model == HESAI_MODEL_PANDAR_40P)
    return start == 0xeeff;
  if (start != 0xffee)
    return FALSE;
  const guint8 *shape = data + (model == HESAI_MODEL_PANDAR_64 ? 2 : 6);
  return shape[0] == models[model].n_lasers && shape[1] == models[model].n_blocks;
}

/* How long the packet should be, if it is of that model. */
static gsize
get_size (HesaiModel model, const guint8 *data, gsize size)
{
  gsize expected = models[model].size;
  if ((model == HESAI_MODEL_PANDAR_40P || model == HESAI_MODEL_PANDAR_64) &&
      size == expected + SEQUENCE_SIZE)
    return size;
  if (model == HESAI_MODEL_QT128 && size >= expected) {
    expected += data[QT128_FLAGS] & QT128_HAS_SEQUENCE ? SEQUENCE_SIZE : 0;
    expected += data[QT128_FLAGS] & QT128_HAS_SAFETY ? QT128_SAFETY_SIZE : 0;
    expected += data[QT128_FLAGS] & QT128_HAS_SIGNATURE ? QT128_SIGNATURE_SIZE : 0;
  }
  return expected;
}

static gboolean
check_model (Hesai *self, const guint8 *data, gsize size, GError **error)
{
  HesaiModel model = HESAI_MODEL_AUTO;
  gboolean is_of_any_size = FALSE;
  for (guint i = 1; i < HESAI_N_MODELS; i++) {
    if (size != get_size ((HesaiModel)i, data, size))
      continue;
    is_of_any_size = TRUE;
    if (begins_like ((HesaiModel)i, data))
      model = (HesaiModel)i;
  }
  if (!is_of_any_size)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_SIZE,
        "it has %" G_GSIZE_FORMAT " bytes, as no packet of these models has", size);
  else if (model == HESAI_MODEL_AUTO)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_FOREIGN,
        "it begins with %02x %02x and another shape than its size is of", data[0], data[1]);
  else if (self->model == HESAI_MODEL_AUTO)
    return set_model (self, model, error);
  else if (model != self->model)
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_MODEL,
        "it is of a %s, but the decoder is set to %s%s", models[model].name,
        models[self->model].name, self->is_auto ? " by the first packet" : "");
  else
    return TRUE;
  return FALSE;
}

/* mm of a unit of range; those of the 40P are always the same. */
static guint
get_unit (HesaiModel model, const guint8 *data)
{
  return model == HESAI_MODEL_PANDAR_40P ? 4 : data[models[model].first_block - 3];
}

/* UTC, ns since 1970; negative: the bytes are no time. */
static gint64
get_time (const guint8 *utc, guint32 microseconds)
{
  /* Years since 1900, of old firmware since 2000. */
  const gint date[6] = {
      (utc[0] >= 70 ? 1900 : 2000) + utc[0], utc[1], utc[2], utc[3], utc[4], utc[5]};
  return packet_date_to_ns (date, microseconds);
}

static gboolean
check_blocks (
    const Model *model, const guint8 *blocks, gsize block_size, guint n_returns, GError **error)
{
  for (guint block = 0; block < model->n_blocks; block++) {
    const guint8 *at = blocks + block * block_size;
    const guint azimuth = packet_read_le16 (at + model->azimuth);
    const guint8 *first = blocks + block / n_returns * n_returns * block_size;
    if ((model->azimuth == 0 || packet_read_le16 (at) == 0xeeff) && azimuth < 36000 &&
        azimuth == packet_read_le16 (first + model->azimuth))
      continue;
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT, "block %u has azimuth %u/100 degrees",
        block, azimuth);
    return FALSE;
  }
  return TRUE;
}

/* Number of the mode in the table, or of none. */
static guint
find_mode (const Hesai *self, guint8 value)
{
  guint mode = 0;
  while (mode < G_N_ELEMENTS (modes) && modes[mode].mode != value)
    mode++;
  return value == MODE_TRIPLE && self->model != HESAI_MODEL_XT32M ? G_N_ELEMENTS (modes) : mode;
}

/* Points of a firing whose blocks are @block_size apart; @kinds says what each holds. */
static guint
fire (const Hesai *self, const PacketLasers *lasers, guint n_returns, const guint8 *kinds,
    const PacketFiring *firing, const guint8 *channels, gsize block_size, PacketPoint *points)
{
  const guint n_lasers = models[self->model].n_lasers;
  const gsize size = self->format.size;
  if (n_returns == 1)
    return packet_beams_fire (
        &self->beams, lasers, 0, n_lasers, firing, &self->format, channels, points);

  /* With three, the middle one is the last; it comes behind the others' points. */
  const guint other = n_returns - 1;
  /* Returns that are the same make one point: the strongest, or else the first. */
  const gboolean is_other =
      kinds[0] == PACKET_RETURN_LAST || kinds[other] == PACKET_RETURN_STRONGEST;
  const PacketReturnKinds names = {.same = kinds[is_other ? other : 0],
      .first = kinds[0],
      .farther = kinds[other],
      .nearer = kinds[other]};
  const guint8 *second = channels + other * block_size;
  guint n = packet_beams_fire_two (
      &self->beams, lasers, 0, n_lasers, firing, &names, &self->format, channels, second, points);
  if (n_returns == 2)
    return n;
  guint8 last[HESAI_MAX_LASERS * 4];
  memcpy (last, channels + block_size, n_lasers * size);
  for (gsize at = 0; at < n_lasers * size; at += size)
    if (memcmp (last + at, channels + at, 2) == 0 || memcmp (last + at, second + at, 2) == 0)
      memset (last + at, 0, 2);
  PacketFiring alone = *firing;
  alone.kind = kinds[1];
  n += packet_beams_fire (
      &self->beams, lasers, 0, n_lasers, &alone, &self->format, last, points + n);
  return n;
}

gboolean
hesai_decode (Hesai *self, const guint8 *data, gsize size, PacketCutter *cutter, gboolean *is_data,
    GError **error)
{
  /* Packets of the GPS receiver. */
  *is_data = size != 512;
  if (!*is_data)
    return TRUE;
  if (!check_model (self, data, size, error))
    return FALSE;

  const Model *model = &models[self->model];
  const guint8 *blocks = data + model->first_block;
  const gsize block_size = model->azimuth + 2 + model->n_lasers * model->laser_size;
  const guint8 *tail = blocks + model->n_blocks * block_size;
  if (self->model == HESAI_MODEL_QT128 && data[QT128_FLAGS] & QT128_HAS_SAFETY)
    tail += QT128_SAFETY_SIZE;
  const gint64 stamp = get_time (tail + model->utc, packet_read_le32 (tail + model->stamp));
  const guint mode = find_mode (self, tail[model->mode]);
  const guint unit = get_unit (self->model, data);
  if (unit == 0 || unit > MAX_UNIT) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT, "its unit of ranges is %u mm", unit);
    return FALSE;
  }
  self->format.unit = (gfloat)(unit * 1e-3);
  if (stamp < 0 || mode == G_N_ELEMENTS (modes)) {
    g_set_error (error, PACKET_ERROR, PACKET_ERROR_CORRUPT,
        stamp < 0 ? "its time is none (return mode %02x)" : "its return mode is %02x",
        tail[model->mode]);
    return FALSE;
  }
  const guint n_returns = modes[mode].n_returns;
  guint8 kinds[3];
  memcpy (kinds, modes[mode].kinds, sizeof kinds);
  if (self->model >= HESAI_MODEL_QT64 && kinds[0] == PACKET_RETURN_LAST && n_returns == 2) {
    kinds[0] = kinds[1];
    kinds[1] = PACKET_RETURN_LAST;
  }
  const guint n_firings = model->n_blocks / n_returns;
  if (!check_blocks (model, blocks, block_size, n_returns, error))
    return FALSE;

  const gint64 passed =
      model->is_of_first ? 0 : (gint64)(model->block_time * 1e3 * (n_firings - 1));
  const gint64 first = stamp + (gint64)(model->offset * 1e3) - passed + self->first_laser_time;
  if (!packet_cutter_begin_packet (cutter, first))
    return TRUE;
  for (guint i = 0; i < n_firings; i++) {
    const guint8 *block = blocks + i * n_returns * block_size;
    const guint8 *channels = block + model->azimuth + 2;
    const guint azimuth = packet_read_le16 (block + model->azimuth);
    PacketFiring firing = {.azimuth = self->azimuths[azimuth], .kind = kinds[0]};
    PacketPoint *points =
        packet_cutter_begin_firing (cutter, first + (gint64)(model->block_time * 1e3 * i),
            azimuth / 100.0, model->n_lasers * n_returns, &firing.seconds);
    /* The QT128's lasers take turns. */
    const guint loop = self->model != HESAI_MODEL_QT128 ? 0
                       : n_returns == 1                 ? i % 2
                                                        : !(tail[QT128_LOOP] & 1);
    if (points)
      packet_cutter_commit (cutter, fire (self, &self->lasers[loop], n_returns, kinds, &firing,
                                        channels, block_size, points));
  }
  return TRUE;
}
