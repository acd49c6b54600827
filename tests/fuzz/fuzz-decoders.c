/* SPDX-License-Identifier: MIT */
/* The decoders under random packets, senders, arrivals, events and states. The bytes are a program:
 * most packets are valid ones of a turning sensor, with a time, azimuth and bytes that it changes.
 * What comes out is whole points with stamps, durations and times that are within a turn or so. */
#include <gst/net/net.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz-program.h"
#include "gst/lidardec/packet/packet-cutter.h"
#include "gst/lidardec/hesai/gsthesaidec.h"
#include "gst/lidardec/ouster/gstousterdec.h"
#include "gst/lidardec/robosense/gstrobosensedec.h"
#include "gst/lidardec/velodyne/gstvelodynedec.h"

#define MAX_PACKET 1300

/* Bytes of a program: some turns. */
#define MAX_PROGRAM 320

/* A scan of a standing motor ends after 0.4 s; before that an interruption of a turn is none. */
#define MAX_TIME 1.0f

typedef struct {
  GstElement *element;
  GstPad *source, *peer;
  gboolean started;
  guint kind;
  guint step;          /* of the caps downstream */
  gint64 time;         /* of the sensor, µs */
  guint azimuth;       /* hundredths of a degree */
  guint frame, column; /* of an Ouster */
  GstClockTime arrival;
} Run;

static void
write_number (guint8 *data, guint n, guint64 value, gboolean is_big)
{
  for (guint i = 0; i < n; i++)
    data[i] = (guint8)(value >> (8 * (is_big ? n - 1 - i : i)));
}

static gsize
make_velodyne (const Run *run, guint8 *packet)
{
  for (guint i = 0; i < 12; i++) {
    write_number (packet + i * 100, 2, 0xeeff, FALSE);
    write_number (packet + i * 100 + 2, 2, (run->azimuth + i * 40) % 36000, FALSE);
  }
  write_number (packet + 1200, 4, (guint64)run->time % 4000000000u, FALSE);
  packet[1204] = 0x37;
  packet[1205] = 0x22;
  return 1206;
}

static gsize
make_hesai (const Run *run, guint8 *packet)
{
  static const guint8 header[] = {0xee, 0xff, 6, 1, 0, 0, 16, 8, 1, 4, 2, 1};
  memcpy (packet, header, sizeof header);
  for (guint i = 0; i < 8; i++)
    write_number (packet + 12 + i * 66, 2, (run->azimuth + i * 60) % 36000, FALSE);
  guint8 *tail = packet + 12 + 8 * 66;
  const guint8 date[] = {
      123, 1, 2, 3, (guint8)(run->time / 60000000 % 60), (guint8)(run->time / 1000000 % 60)};
  tail[10] = 0x37;
  memcpy (tail + 13, date, sizeof date);
  write_number (tail + 19, 4, (guint64)run->time % 1000000, FALSE);
  return 568;
}

static gsize
make_robosense (const Run *run, guint8 *packet)
{
  static const guint8 header[] = {0x55, 0xaa, 0x05, 0x5a, 0, 1};
  memcpy (packet, header, sizeof header);
  write_number (packet + 20, 6, 1700000000 + (guint64)run->time / 1000000, TRUE);
  write_number (packet + 26, 4, (guint64)run->time % 1000000, TRUE);
  packet[30] = 6;
  for (guint i = 0; i < 12; i++) {
    write_number (packet + 42 + i * 100, 2, 0xffee, TRUE);
    write_number (packet + 44 + i * 100, 2, (run->azimuth + i * 40) % 36000, TRUE);
  }
  return 1248;
}

static gsize
make_difop (guint8 *packet)
{
  static const guint8 header[] = {0xa5, 0xff, 0, 0x5a, 0x11, 0x11, 0x55, 0x55};
  memcpy (packet, header, sizeof header);
  packet[300] = 4;
  for (guint i = 0; i < 32; i++)
    write_number (packet + 469 + 3 * i, 2, 100 * i + 1, TRUE);
  return 1248;
}

/* RNG15_RFL8_NIR8 of two beams, 64 columns a frame. */
static gsize
make_ouster (const Run *run, guint8 *packet)
{
  packet[0] = 1;
  write_number (packet + 2, 2, run->frame, FALSE);
  for (guint i = 0; i < 16; i++) {
    guint8 *column = packet + 32 + i * 20;
    write_number (column, 8, ((guint64)run->time + i * 100) * 1000, FALSE);
    write_number (column + 8, 2, (run->column + i) % 64, FALSE);
    column[10] = 1;
  }
  return 32 + 16 * 20 + 32;
}

static gsize
make_packet (Program *program, Run *run, guint8 *packet)
{
  gsize (*const make[]) (const Run *, guint8 *) = {
      make_velodyne, make_hesai, make_robosense, make_ouster};
  guint8 fill = (guint8)take (program);
  memset (packet, fill % 4 == 0 ? 0 : fill, MAX_PACKET);
  if (run->kind == 2 && fill == 1)
    return make_difop (packet);
  return make[run->kind % 4](run, packet);
}

/* How the sensor goes on to the next packet: mostly as it should. */
static void
go_on (Program *program, Run *run)
{
  static const gint64 steps[] = {1327, 1327, 1327, 1327, 1327, 1327, 0, -1327, -20000, 60000,
      150000, -450000, 1500000, -1500000, 37000000, 3599000000};
  static const guint turns[] = {480, 480, 480, 480, 480, 480, 480, 0, 35520, 18000, 9000, 3};
  const gint64 step = PICK (program, steps);
  run->time = MAX (run->time + step, 0);
  run->azimuth = (run->azimuth + PICK (program, turns)) % 36000;
  run->column = (run->column + 16) % 64;
  run->frame = (run->frame + (run->column == 0) + (step == 150000)) % 65536;
  run->arrival += (guint64)CLAMP (step, 1327, 60000) * 1000;
}

static void
start (Run *run)
{
  GstSegment segment;
  if (run->started)
    return;
  run->started = TRUE;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (run->source, gst_event_new_stream_start ("fuzz"));
  gst_pad_push_event (run->source, gst_event_new_segment (&segment));
}

static void
push_packet (Program *program, Run *run)
{
  static const gsize offsets[] = {0, 2, 6, 8, 10, 20, 26, 30, 42, 44, 100, 102, 1200, 1204};
  guint8 packet[MAX_PACKET];
  const guint how = take (program);
  gsize size = make_packet (program, run, packet);
  start (run);
  if (how % 16 == 1)
    packet[PICK (program, offsets) % size] = (guint8)take (program);
  if (how % 32 == 2)
    size = MIN (size, take (program) * 5u);
  GstBuffer *buffer = size > 0 ? gst_buffer_new_memdup (packet, size) : gst_buffer_new ();
  if (how % 8 != 3)
    GST_BUFFER_PTS (buffer) = run->arrival;
  if (how % 64 == 4)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (how >= 128) {
    const guint8 bytes[] = {10, 0, 0, (guint8)(1 + (how % 64 == 5))};
    g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (bytes, G_SOCKET_FAMILY_IPV4);
    g_autoptr (GSocketAddress) from = g_inet_socket_address_new (address, 2368);
    gst_buffer_add_net_address_meta (buffer, from);
  }
  if (how % 4 == 1) {
    g_autoptr (GstCaps) caps = gst_caps_new_empty_simple ("timestamp/x-unix");
    gst_buffer_add_reference_timestamp_meta (buffer, caps,
        how % 32 == 1 ? G_MAXUINT64 - 1 : 1700000000 * GST_SECOND + run->arrival,
        GST_CLOCK_TIME_NONE);
  }
  gst_pad_push (run->source, buffer);
  go_on (program, run);
}

static GstFlowReturn
take_scan (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  const Run *run = gst_pad_get_element_private (pad);
  GstMapInfo map;
  g_assert_true (GST_BUFFER_PTS_IS_VALID (buffer) && GST_BUFFER_DURATION_IS_VALID (buffer));
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size % run->step, ==, 0);
  for (gsize at = 0; run->step == sizeof (PacketPoint) && at < map.size; at += run->step) {
    PacketPoint point;
    memcpy (&point, map.data + at, sizeof point);
    g_assert_true (point.time >= 0 && point.time < MAX_TIME);
    g_assert_true (isfinite (point.intensity) && !isinf (point.x));
  }
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
take_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Run *run = gst_pad_get_element_private (pad);
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstPointCloudInfo info;
    GstCaps *caps;
    gst_event_parse_caps (event, &caps);
    g_assert_true (gst_point_cloud_info_from_caps (&info, caps, NULL));
    run->step = info.point_step;
  }
  gst_event_unref (event);
  return TRUE;
}

static void
push_segment (Program *program, Run *run)
{
  static const guint64 starts[] = {0, 0, 1, GST_SECOND, G_MAXINT64};
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = PICK (program, starts);
  segment.base = PICK (program, starts);
  start (run);
  gst_pad_push_event (run->source, gst_event_new_segment (&segment));
}

static void
restart (Run *run)
{
  gst_element_set_state (run->element, GST_STATE_READY);
  gst_pad_set_active (run->source, FALSE);
  gst_pad_set_active (run->source, TRUE);
  run->started = FALSE;
  gst_element_set_state (run->element, GST_STATE_PLAYING);
}

static void
run_program (Program *program, Run *run)
{
  while (program->position < program->size) {
    const guint operation = take (program);
    if (operation >= 16) {
      /* Turns of packets. */
      for (guint i = 0; i < 1 + operation % 4; i++)
        push_packet (program, run);
    } else if (operation == 0) {
      push_segment (program, run);
    } else if (operation == 1) {
      start (run);
      gst_pad_push_event (run->source, gst_event_new_flush_start ());
      gst_pad_push_event (run->source, gst_event_new_flush_stop (TRUE));
      push_segment (program, run);
    } else if (operation == 2) {
      start (run);
      gst_pad_push_event (run->source, gst_event_new_gap (run->arrival, GST_SECOND));
    } else if (operation == 3) {
      start (run);
      gst_pad_push_event (run->source, gst_event_new_eos ());
      gst_pad_push_event (run->source, gst_event_new_flush_start ());
      gst_pad_push_event (run->source, gst_event_new_flush_stop (TRUE));
      push_segment (program, run);
    } else if (operation == 4) {
      restart (run);
    } else if (operation == 5) {
      g_autoptr (GstStructure) stats = NULL;
      g_object_get (run->element, "stats", &stats, NULL);
      g_assert_nonnull (stats);
    }
  }
}

static const gchar *
write_metadata (void)
{
  static gchar *path;
  if (path)
    return path;
  g_close (g_file_open_tmp ("fuzz-decoders-XXXXXX.json", &path, NULL), NULL);
  g_file_set_contents (path,
      "{\"beam_altitude_angles\": [3, 2], \"beam_azimuth_angles\": [0, 0], \"prod_line\": "
      "\"OS-1-2\", \"data_format\": {\"columns_per_frame\": 64, \"columns_per_packet\": 16, "
      "\"pixels_per_column\": 2, \"udp_profile_lidar\": \"RNG15_RFL8_NIR8\"}}",
      -1, NULL);
  return path;
}

static void
create (Program *program, Run *run)
{
  static const gchar *const names[] = {"velodynedec", "hesaidec", "robosensedec", "ousterdec"};
  static const gchar *const addresses[] = {NULL, NULL, "10.0.0.2", "::1"};
  run->kind = take (program) % 4;
  run->element = gst_object_ref_sink (gst_element_factory_make (names[run->kind], NULL));
  g_object_set (run->element, "cut-angle", take (program) * 360.0 / 255, "src-ip",
      PICK (program, addresses), NULL);
  if (run->kind == 3)
    g_object_set (run->element, "metadata-location", write_metadata (), NULL);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static gboolean is_ready;
  Program program = {data, MIN (size, MAX_PROGRAM), 0};
  Run run = {.step = sizeof (PacketPoint), .arrival = GST_SECOND};
  if (!is_ready) {
    gst_init (NULL, NULL);
    gst_element_register_velodynedec (NULL);
    gst_element_register_hesaidec (NULL);
    gst_element_register_robosensedec (NULL);
    gst_element_register_ousterdec (NULL);
    is_ready = TRUE;
  }
  create (&program, &run);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (run.element, "sink");
  g_autoptr (GstPad) src = gst_element_get_static_pad (run.element, "src");
  run.source = gst_pad_new ("in", GST_PAD_SRC);
  run.peer = gst_pad_new ("out", GST_PAD_SINK);
  gst_pad_set_element_private (run.peer, &run);
  gst_pad_set_chain_function (run.peer, take_scan);
  gst_pad_set_event_function (run.peer, take_event);
  g_assert_cmpint (gst_pad_link (run.source, sink), ==, GST_PAD_LINK_OK);
  g_assert_cmpint (gst_pad_link (src, run.peer), ==, GST_PAD_LINK_OK);
  gst_pad_set_active (run.peer, TRUE);
  gst_pad_set_active (run.source, TRUE);
  gst_element_set_state (run.element, GST_STATE_PLAYING);
  run_program (&program, &run);
  if (run.started)
    gst_pad_push_event (run.source, gst_event_new_eos ());
  gst_pad_set_active (run.source, FALSE);
  gst_element_set_state (run.element, GST_STATE_NULL);
  gst_pad_set_active (run.peer, FALSE);
  gst_object_unref (run.source);
  gst_object_unref (run.peer);
  gst_object_unref (run.element);
  return 0;
}
