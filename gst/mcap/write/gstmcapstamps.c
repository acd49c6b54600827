/* SPDX-License-Identifier: MIT */
#include "gstmcapstamps.h"

#include "gst/mcap/container/mcap-format.h"

/* From the epoch of NTP, 1900, to Unix's (RFC 5905, figure 4). */
#define NTP_TO_UNIX (G_GINT64_CONSTANT (2208988800) * (gint64)GST_SECOND)
/* From Unix's epoch to that of GPS, 1980-01-06 (IS-GPS-200). */
#define UNIX_TO_GPS (G_GINT64_CONSTANT (315964800) * (gint64)GST_SECOND)
/* Ahead of UTC since 2017-01-01 (IERS Bulletin C 52); no later leap second was announced. */
#define TAI_OFFSET (37 * (gint64)GST_SECOND)
#define GPS_OFFSET (18 * (gint64)GST_SECOND)
#define HOUR (3600 * (gint64)GST_SECOND)

typedef enum { EPOCH_UNIX, EPOCH_NTP, EPOCH_PTP, EPOCH_TAI, EPOCH_GPS, EPOCH_HOUR, OTHER } Epoch;

/* What a buffer says of its time. */
typedef struct {
  gboolean has_sensor;
  Epoch epoch;
  gint64 sensor;
  gboolean has_arrival;
  gint64 arrival;
  gboolean has_publish; /* of a message of a recording */
  gint64 publish;
} Times;

static Epoch
parse_epoch (const GstStructure *reference)
{
  static const struct {
    const gchar *name;
    Epoch epoch;
  } epochs[] = {
      {"unix", EPOCH_UNIX},
      {"utc", EPOCH_UNIX},
      {"ntp", EPOCH_NTP},
      {"ptp", EPOCH_PTP},
      {"tai", EPOCH_TAI},
      {"gps", EPOCH_GPS},
      {"hour", EPOCH_HOUR},
  };
  const gchar *name = gst_structure_get_name (reference);

  if (g_str_has_prefix (name, "timestamp/x-lidar"))
    name = gst_structure_get_string (reference, "epoch");
  else if (g_str_has_prefix (name, "timestamp/x-"))
    name += strlen ("timestamp/x-");
  for (guint i = 0; i < G_N_ELEMENTS (epochs); i++)
    if (g_strcmp0 (name, epochs[i].name) == 0)
      return epochs[i].epoch;
  return OTHER;
}

static void
read_times (Times *times, GstBuffer *buffer)
{
  const GstReferenceTimestampMeta *meta;
  gpointer state = NULL;

  *times = (Times){.has_sensor = FALSE};
  while ((meta = (const GstReferenceTimestampMeta *)gst_buffer_iterate_meta_filtered (
              buffer, &state, GST_REFERENCE_TIMESTAMP_META_API_TYPE))) {
    const GstStructure *reference = gst_caps_get_structure (meta->reference, 0);
    const gint64 time = gst_mcap_time_from_clock (meta->timestamp);

    if (gst_structure_has_name (reference, MCAP_PUBLISH_TIME_CAPS)) {
      times->has_publish = TRUE;
      times->publish = time;
    } else if (gst_structure_has_name (reference, MCAP_LOG_TIME_CAPS) ||
               gst_structure_has_name (reference, MCAP_CREATE_TIME_CAPS)) {
      continue; /* of an attachment */
    } else if (g_strcmp0 (gst_structure_get_string (reference, "source"), "arrival") == 0) {
      times->has_arrival = TRUE;
      times->arrival = time;
    } else if (!times->has_sensor) {
      times->has_sensor = TRUE;
      times->epoch = parse_epoch (reference);
      times->sensor = time;
    }
  }
}

static gint64
distance (gint64 a, gint64 b)
{
  return a > b ? gst_mcap_time_subtract (a, b) : gst_mcap_time_subtract (b, a);
}

/* @time, moved by whole hours, next to @near. */
static gint64
resolve_hour (gint64 time, gint64 near)
{
  const gint64 difference = gst_mcap_time_subtract (near, time);
  const gint64 half = difference < 0 ? -HOUR / 2 : HOUR / 2;
  const gint64 hours = gst_mcap_time_add (difference, half) / HOUR;

  return gst_mcap_time_add (time, hours * HOUR);
}

/* The sensor's time in ns of Unix's epoch. @near: the time of day, roughly, 0: not known. FALSE:
 * the epoch is not known. */
static gboolean
to_unix (const Times *times, gint64 near, gint64 *time)
{
  const gint64 sensor = times->sensor;

  switch (times->epoch) {
  case EPOCH_UNIX:
    *time = sensor;
    return TRUE;
  case EPOCH_NTP:
    *time = gst_mcap_time_subtract (sensor, NTP_TO_UNIX);
    return TRUE;
  case EPOCH_TAI:
    *time = sensor - TAI_OFFSET;
    return TRUE;
  case EPOCH_GPS:
    *time = gst_mcap_time_add (sensor, UNIX_TO_GPS - GPS_OFFSET);
    return TRUE;
  case EPOCH_PTP:
    /* PTP counts TAI (IEEE 1588, 7.2); many masters of lidars distribute UTC. */
    *time = sensor - TAI_OFFSET;
    if (near > 0 && distance (sensor, near) < distance (*time, near))
      *time = sensor;
    return TRUE;
  case EPOCH_HOUR:
    *time = near > 0 ? resolve_hour (sensor, near) : 0;
    return near > 0;
  default:
    return FALSE;
  }
}

static gboolean
is_time_of_day (gint64 time)
{
  return time >= GST_MCAP_EARLIEST_TIME_OF_DAY;
}

/* By the offset that is fixed, or fixed now: at the time of capture, where that is on the axis, or
 * else at the log time. */
static gint64
move (GstMcapClock *clock, const Times *times, gint64 log_time, GstMcapStampNews why,
    GstMcapStampNews *news)
{
  gint64 stamp = gst_mcap_time_add (times->sensor, clock->offset);

  if (clock->has_offset && times->epoch == EPOCH_HOUR)
    stamp = resolve_hour (stamp, log_time);
  if (clock->has_offset && distance (stamp, log_time) <= GST_MCAP_MAX_STAMP_DISTANCE)
    return stamp;
  *news = clock->has_offset ? GST_MCAP_STAMP_JUMPED : why;
  stamp = times->has_arrival && distance (times->arrival, log_time) <= GST_MCAP_MAX_STAMP_DISTANCE
              ? times->arrival
              : log_time;
  clock->has_offset = TRUE;
  clock->offset = gst_mcap_time_subtract (stamp, times->sensor);
  return stamp;
}

gint64
gst_mcap_stamp_get (GstMcapClock *clock, GstBuffer *buffer, GstMcapHeaderStamp wanted,
    guint64 log_time, gboolean apart, GstMcapStampNews *news)
{
  const gint64 log = gst_mcap_time_from_clock (log_time);
  GstMcapStampNews why = GST_MCAP_STAMP_UNKNOWN_EPOCH;
  gint64 near, stamp;
  Times times;

  *news = GST_MCAP_STAMP_AS_IT_IS;
  read_times (&times, buffer);
  if (times.has_publish)
    return times.publish;
  if (wanted == GST_MCAP_HEADER_STAMP_LOG || (!times.has_sensor && !times.has_arrival))
    return log;
  if (wanted == GST_MCAP_HEADER_STAMP_CAPTURE || !times.has_sensor) {
    if (!times.has_arrival)
      return log;
    times.epoch = EPOCH_UNIX;
    times.sensor = times.arrival;
  }
  near = times.has_arrival && is_time_of_day (times.arrival) ? times.arrival : 0;
  if (near == 0 && is_time_of_day (log))
    near = log;
  if (!clock->has_offset && to_unix (&times, near, &stamp)) {
    if (distance (stamp, log) <= GST_MCAP_MAX_STAMP_DISTANCE ||
        (apart && !is_time_of_day (log) && is_time_of_day (stamp)))
      return stamp;
    if (times.epoch != EPOCH_HOUR) /* which counts from power-on without a GPS receiver */
      why = GST_MCAP_STAMP_WRONG_CLOCK;
  }
  return move (clock, &times, log, why, news);
}

gchar *
gst_mcap_stamp_describe (const GstMcapClock *clock, GstMcapStampNews news, const gchar *input)
{
  static const gchar *const what[] = {
      [GST_MCAP_STAMP_UNKNOWN_EPOCH] = "counts from anywhere",
      [GST_MCAP_STAMP_WRONG_CLOCK] = "is not that of the log times",
      [GST_MCAP_STAMP_JUMPED] = "jumped",
  };

  return g_strdup_printf (
      "The sensor's clock on %s %s: header stamps are its times and %.3f s, on the axis of the log "
      "times. header-stamp=capture and header-stamp=log do without it",
      input, what[news], (gdouble)clock->offset / GST_SECOND);
}

gboolean
gst_mcap_stamp_get_time_of_day (GstBuffer *buffer, gint64 *time)
{
  Times times;

  read_times (&times, buffer);
  if (times.has_arrival)
    *time = times.arrival;
  else if (!times.has_sensor || !to_unix (&times, 0, time))
    return FALSE;
  return is_time_of_day (*time);
}
