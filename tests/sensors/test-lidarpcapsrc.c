/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/net/net.h>

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/ndt-wait.h"
#include "capture.h"

#define LINK_ETHERNET 1
#define LINK_RAW 101
#define LINK_SLL 113
#define LINK_SLL2 276

/* What came out of an element until EOS. */
typedef struct {
  GPtrArray *buffers;
  guint n_warnings;
  gchar *warning;
  gchar *error;
  guint64 n_other, n_bad, n_incomplete, n_filtered;
} Result;

static void
result_clear (Result *result)
{
  g_ptr_array_unref (result->buffers);
  g_free (result->warning);
  g_free (result->error);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Result, result_clear)

static void
on_handoff (GstElement *sink, GstBuffer *buffer, GstPad *pad, GPtrArray *list)
{
  g_ptr_array_add (list, gst_buffer_ref (buffer));
}

static GstElement *
make_pipeline (const gchar *path, const gchar *properties, Result *result)
{
  g_autofree gchar *line = g_strdup_printf ("lidarpcapsrc name=src location=\"%s\" %s ! "
                                            "fakesink name=sink signal-handoffs=true sync=false",
      path, properties);
  GstElement *pipeline = gst_parse_launch (line, NULL);
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  *result = (Result){.buffers = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref)};
  g_signal_connect (sink, "handoff", G_CALLBACK (on_handoff), result->buffers);
  return pipeline;
}

/* Waits for the end of the stream or an error. */
static void
finish (GstElement *pipeline, Result *result)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  gboolean ended = FALSE;
  while (!ended) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    g_autoptr (GError) error = NULL;
    fail_unless (message != NULL, "no end of the stream");
    switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, NULL);
      g_free (result->warning);
      result->warning = g_strdup (error->message);
      result->n_warnings++;
      break;
    case GST_MESSAGE_ERROR:
      gst_message_parse_error (message, &error, NULL);
      result->error = g_strdup (error->message);
      ended = TRUE;
      break;
    default:
      ended = TRUE;
    }
  }
  g_autoptr (GstStructure) stats = NULL;
  g_object_get (src, "stats", &stats, NULL);
  fail_unless (gst_structure_get (stats, "other", G_TYPE_UINT64, &result->n_other, "bad",
      G_TYPE_UINT64, &result->n_bad, "incomplete", G_TYPE_UINT64, &result->n_incomplete, "filtered",
      G_TYPE_UINT64, &result->n_filtered, NULL));
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

static Result
run_file (const gchar *path, const gchar *properties)
{
  Result result;
  g_autoptr (GstElement) pipeline = make_pipeline (path, properties, &result);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  finish (pipeline, &result);
  return result;
}

static Result
run (const GByteArray *capture, const gchar *properties)
{
  g_autofree gchar *path = capture_write (capture);
  Result result = run_file (path, properties);
  g_unlink (path);
  return result;
}

static void
check_buffer (const Result *result, guint index, GstClockTime pts, const void *data, gsize size)
{
  GstBuffer *buffer = g_ptr_array_index (result->buffers, index);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), pts);
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), size);
  fail_unless_equals_int (gst_buffer_memcmp (buffer, 0, data, size), 0);
}

/* Every kind of link, with padding behind the packet as short frames have it. */
GST_START_TEST (test_links)
{
  static const guint8 vlan[] = {
      2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 7, 0x08, 0x00};
  static const guint8 sll[16] = {[14] = 0x08};
  static const guint8 sll2[20] = {0x08};
  static const struct {
    guint32 link;
    const guint8 *header;
    gsize size;
  } cases[] = {{LINK_ETHERNET, capture_ethernet_ipv4, 14}, {LINK_ETHERNET, vlan, sizeof vlan},
      {LINK_SLL, sll, sizeof sll}, {LINK_SLL2, sll2, sizeof sll2}, {LINK_RAW, NULL, 0}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) capture = capture_new (cases[i].link);
    for (guint k = 0; k < 3; k++) {
      const guint8 data[] = {'a', (guint8)k};
      g_autoptr (GByteArray) udp = capture_make_udp (2368, data, 2);
      g_autoptr (GByteArray) packet = capture_make_ipv4 (1, 0, FALSE, udp->data, udp->len);
      g_byte_array_append (packet, (const guint8 *)"padding", 7);
      capture_add_frame (capture, 500 + k * 1000, cases[i].header, cases[i].size, packet);
    }
    g_auto (Result) result = run (capture, "dst-port=2368");
    fail_unless_equals_int (result.buffers->len, 3);
    for (guint k = 0; k < 3; k++) {
      const guint8 data[] = {'a', (guint8)k};
      check_buffer (&result, k, k * GST_MSECOND, data, 2);
    }
    fail_unless_equals_int (result.n_warnings, 0);
  }
}
GST_END_TEST;

GST_START_TEST (test_ipv6)
{
  guint8 header[14 + 40 + 8];
  memcpy (header, capture_ethernet_ipv4, 14);
  header[12] = 0x86;
  header[13] = 0xdd;
  guint8 *ip = header + 14;
  memset (ip, 0, 48);
  ip[0] = 0x60;
  ip[6] = 60; /* options for the destination, 8 bytes of them, then UDP */
  ip[8] = 0xfe;
  ip[9] = 0x80;
  ip[23] = 1;
  ip[40] = 17;
  g_autoptr (GByteArray) udp = capture_make_udp (7502, (const guint8 *)"six", 3);
  ip[5] = (guint8)(8 + udp->len);
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  capture_add_frame (capture, 0, header, sizeof header, udp);
  {
    g_auto (Result) result = run (capture, "src-ip=fe80::1");
    fail_unless_equals_int (result.buffers->len, 1);
    check_buffer (&result, 0, 0, "six", 3);
  }
  g_auto (Result) other = run (capture, "src-ip=fe80::2");
  fail_unless_equals_int (other.buffers->len, 0);
  fail_unless (strstr (other.error, "no datagram") != NULL, "%s", other.error);
}
GST_END_TEST;

static void
add_fragment (GByteArray *capture, guint64 time, guint16 id, const GByteArray *udp, guint part)
{
  const guint offset = part * 1480;
  const guint n = MIN (1480, udp->len - offset);
  g_autoptr (GByteArray) packet =
      capture_make_ipv4 (id, offset, offset + n < udp->len, udp->data + offset, n);
  capture_add_frame (capture, time, capture_ethernet_ipv4, 14, packet);
}

/* Fragments in any order, doubled, of two datagrams mixed, missing, and of the next datagram with
 * the same identification. */
GST_START_TEST (test_fragments)
{
  guint8 data[3][6000];
  GByteArray *udp[3];
  for (guint i = 0; i < 3; i++) {
    for (guint k = 0; k < 6000; k++)
      data[i][k] = (guint8)(k * 7 + k / 256 + i * 91);
    udp[i] = capture_make_udp (7502, data[i], 6000);
  }
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  /* 5 fragments: shuffled, two of them doubled, one of those after the datagram was whole. */
  static const guint order[] = {3, 0, 4, 0, 1, 2, 1};
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    add_fragment (capture, 1000 + i, 7, udp[0], order[i]);
  /* One is missing, and 60 s later its identification has wrapped. */
  for (guint i = 0; i < 4; i++)
    add_fragment (capture, 2000 + i, 8, udp[0], i);
  for (guint i = 0; i < 5; i++)
    add_fragment (capture, 60000000 + i, 8, udp[1], 4 - i);
  /* The same again at once: what was kept contradicts what comes. */
  add_fragment (capture, 60001000, 9, udp[0], 0);
  for (guint i = 0; i < 5; i++)
    add_fragment (capture, 60001001 + i, 9, udp[2], i);
  /* Mixed. */
  for (guint i = 0; i < 5; i++)
    for (guint k = 0; k < 2; k++)
      add_fragment (capture, 61000000 + 2 * i + k, (guint16)(10 + k), udp[k], i);

  g_auto (Result) result = run (capture, "dst-port=7502");
  fail_unless_equals_int (result.buffers->len, 5);
  /* The time of the fragment that made it whole. */
  check_buffer (&result, 0, 0, data[0], 6000);
  check_buffer (&result, 1, (60000004 - 1005) * GST_USECOND, data[1], 6000);
  check_buffer (&result, 2, (60001005 - 1005) * GST_USECOND, data[2], 6000);
  check_buffer (&result, 3, (61000008 - 1005) * GST_USECOND, data[0], 6000);
  check_buffer (&result, 4, (61000009 - 1005) * GST_USECOND, data[1], 6000);
  fail_unless_equals_uint64 (result.n_incomplete, 2);
  fail_unless_equals_uint64 (result.n_bad, 0);
  for (guint i = 0; i < 3; i++)
    g_byte_array_unref (udp[i]);
}
GST_END_TEST;

/* @n datagrams, one a millisecond, with their number. */
static GByteArray *
make_numbered (guint n)
{
  GByteArray *capture = capture_new (LINK_ETHERNET);
  for (guint32 i = 0; i < n; i++)
    capture_add_udp (capture, i * 1000, 2368, (const guint8 *)&i, sizeof i);
  return capture;
}

GST_START_TEST (test_filter)
{
  g_autoptr (GByteArray) capture = make_numbered (4);
  capture_add_udp (capture, 5000, 8308, (const guint8 *)"other", 5);
  {
    g_auto (Result) result = run (capture, "dst-port=8308 src-ip=192.168.1.201");
    fail_unless_equals_int (result.buffers->len, 1);
    check_buffer (&result, 0, 0, "other", 5);
    fail_unless_equals_uint64 (result.n_filtered, 4);
  }
  {
    g_auto (Result) result = run (capture, "dst-port=1");
    fail_unless_equals_int (result.buffers->len, 0);
    fail_unless (strstr (result.error, "2368, 8308") != NULL, "%s", result.error);
  }
  {
    g_auto (Result) result = run (capture, "src-ip=192.168.1");
    fail_unless (strstr (result.error, "\"192.168.1\"") != NULL, "%s", result.error);
  }
  g_auto (Result) all = run (capture, "");
  fail_unless_equals_int (all.buffers->len, 5);
}
GST_END_TEST;

/* A datagram without a payload is counted, and no buffer; the others bear their sender and the time
 * of their capture. */
GST_START_TEST (test_empty_and_meta)
{
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  Result result;
  guint64 n_empty = 0;
  capture_add_udp (capture, 1000, 2368, (const guint8 *)"a", 1);
  capture_add_udp (capture, 2000, 2368, (const guint8 *)"", 0);
  capture_add_udp (capture, 3000, 2368, (const guint8 *)"b", 1);
  g_autofree gchar *path = capture_write (capture);
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  g_autoptr (GstStructure) stats = NULL;
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  finish (pipeline, &result);
  g_unlink (path);
  fail_unless_equals_int (result.buffers->len, 2);
  fail_unless_equals_int (result.n_warnings, 0);
  g_object_get (src, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "empty", &n_empty));
  fail_unless_equals_uint64 (n_empty, 1);
  for (guint i = 0; i < 2; i++) {
    GstBuffer *buffer = g_ptr_array_index (result.buffers, i);
    const GstNetAddressMeta *from = gst_buffer_get_net_address_meta (buffer);
    const GstReferenceTimestampMeta *when = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    g_autofree gchar *address = g_inet_address_to_string (
        g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (from->addr)));
    fail_unless_equals_string (address, "192.168.1.201");
    fail_unless_equals_int (
        g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (from->addr)), 1000);
    fail_unless_equals_uint64 (
        when->timestamp, 1700000000 * GST_SECOND + (1 + 2 * i) * GST_MSECOND);
    fail_unless (
        gst_structure_has_name (gst_caps_get_structure (when->reference, 0), "timestamp/x-unix"));
  }
  result_clear (&result);
}
GST_END_TEST;

/* Each buffer names its own sender, whose address is one object while senders alternate: the
 * decoders compare objects before they compare addresses. */
GST_START_TEST (test_senders)
{
  static const guint16 ports[] = {1, 2, 1, 2, 3, 4, 5, 6, 1, 6, 1};
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  const GSocketAddress *addresses[G_N_ELEMENTS (ports)];
  Result result;
  for (guint i = 0; i < G_N_ELEMENTS (ports); i++) {
    g_autoptr (GByteArray) udp = capture_make_udp (2368, (const guint8 *)"a", 1);
    udp->data[0] = 0;
    udp->data[1] = (guint8)ports[i];
    g_autoptr (GByteArray) packet = capture_make_ipv4 (1, 0, FALSE, udp->data, udp->len);
    capture_add_frame (capture, 1000 * i, capture_ethernet_ipv4, 14, packet);
  }
  g_autofree gchar *path = capture_write (capture);
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  finish (pipeline, &result);
  g_unlink (path);
  fail_unless_equals_int (result.buffers->len, G_N_ELEMENTS (ports));
  for (guint i = 0; i < G_N_ELEMENTS (ports); i++) {
    const GstNetAddressMeta *from =
        gst_buffer_get_net_address_meta (g_ptr_array_index (result.buffers, i));
    addresses[i] = from->addr;
    fail_unless_equals_int (
        g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (from->addr)), ports[i]);
    if (i >= 2 && ports[i] == ports[i - 2])
      fail_unless (addresses[i] == addresses[i - 2]);
  }
  result_clear (&result);
}
GST_END_TEST;

static void
append_block (GByteArray *bytes, gboolean is_big, guint32 type, const guint32 *words, guint n,
    const void *data, guint size)
{
  const guint padded = (size + 3) / 4 * 4;
  const guint32 length = 12 + 4 * n + padded;
  static const guint8 zeros[4];
  const guint32 head[] = {type, length};
  for (guint i = 0; i < 2 + n; i++) {
    const guint32 word = i < 2 ? head[i] : words[i - 2];
    const guint32 ordered = is_big ? GUINT32_TO_BE (word) : GUINT32_TO_LE (word);
    g_byte_array_append (bytes, (const guint8 *)&ordered, 4);
  }
  g_byte_array_append (bytes, data, size);
  g_byte_array_append (bytes, zeros, padded - size);
  const guint32 last = is_big ? GUINT32_TO_BE (length) : GUINT32_TO_LE (length);
  g_byte_array_append (bytes, (const guint8 *)&last, 4);
}

/* pcapng of both byte orders, with interfaces of other links and snap lengths, of nanoseconds and
 * of 2^-20 s with an offset, in two sections, with blocks that are passed over. */
GST_START_TEST (test_pcapng)
{
  const gboolean is_big = __i__;
  g_autoptr (GByteArray) capture = g_byte_array_new ();
  for (guint section = 0; section < 2; section++) {
    const guint32 header[] = {0x1a2b3c4d, is_big ? 0x00010000 : 1, G_MAXUINT32, G_MAXUINT32};
    const guint64 units[] = {1700000000 * G_GUINT64_CONSTANT (1000000000) + section * 1000000,
        (G_GUINT64_CONSTANT (1700000000 - 5) << 20) + (section + 1) * 2048};
    append_block (capture, is_big, 0x0a0d0d0a, header, 4, "", 0);
    /* Of 802.11, Ethernet with nanoseconds, raw IP with a binary unit and 5 s more. */
    const guint32 links[] = {105, 1, 101};
    for (guint i = 0; i < 3; i++) {
      const guint32 words[] = {is_big ? links[i] << 16 : links[i], i == 0 ? 96 : 65535};
      g_autoptr (GByteArray) options = g_byte_array_new ();
      if (i > 0) {
        const guint8 resolution[] = {0, 0, 0, 0, i == 1 ? 9 : 0x80 | 20, 0, 0, 0};
        g_byte_array_append (options, resolution, sizeof resolution);
        options->data[is_big ? 1 : 0] = 9;
        options->data[is_big ? 3 : 2] = 1;
      }
      if (i == 2) {
        guint8 offset[12] = {0};
        offset[is_big ? 1 : 0] = 14;
        offset[is_big ? 3 : 2] = 8;
        offset[is_big ? 11 : 4] = 5;
        g_byte_array_append (options, offset, sizeof offset);
      }
      append_block (capture, is_big, 1, words, 2, options->data, options->len);
    }
    append_block (capture, is_big, 5, NULL, 0, "statistics..", 12);
    for (guint i = 0; i < 3; i++) {
      const guint8 data[] = {'a' + (guint8)section, (guint8)i};
      g_autoptr (GByteArray) udp = capture_make_udp (2368, data, 2);
      g_autoptr (GByteArray) packet = capture_make_ipv4 (1, 0, FALSE, udp->data, udp->len);
      if (i < 2)
        g_byte_array_prepend (packet, capture_ethernet_ipv4, 14);
      const guint64 time = units[i == 2];
      const guint32 words[] = {i, (guint32)(time >> 32), (guint32)time, packet->len, packet->len};
      append_block (capture, is_big, 6, words, 5, packet->data, packet->len);
    }
  }
  g_auto (Result) result = run (capture, "");
  fail_unless (!result.error, "%s", result.error);
  fail_unless_equals_int (result.n_warnings, 0);
  fail_unless_equals_int (result.buffers->len, 4);
  fail_unless_equals_uint64 (result.n_other, 2);
  for (guint i = 0; i < 4; i++) {
    const guint8 data[] = {'a' + (guint8)(i / 2), (guint8)(1 + i % 2)};
    const GstClockTime times[] = {0, 1953125, 1000000, 3906250};
    check_buffer (&result, i, times[i], data, 2);
  }
  /* A capture of other links alone says which. */
  g_autoptr (GByteArray) other = g_byte_array_new ();
  const guint32 header[] = {0x1a2b3c4d, is_big ? 0x00010000 : 1, G_MAXUINT32, G_MAXUINT32};
  const guint32 interface[] = {is_big ? 105 << 16 : 105, 0}, words[] = {0, 0, 0, 4, 4};
  append_block (other, is_big, 0x0a0d0d0a, header, 4, "", 0);
  append_block (other, is_big, 1, interface, 2, "", 0);
  append_block (other, is_big, 6, words, 5, "abcd", 4);
  {
    g_auto (Result) foreign = run (other, "");
    fail_unless (foreign.error && strstr (foreign.error, "type 105"), "%s", foreign.error);
  }
  /* Cut off, it ends with a warning. */
  g_byte_array_set_size (capture, capture->len - 7);
  g_auto (Result) cut = run (capture, "");
  fail_unless_equals_int (cut.buffers->len, 3);
  fail_unless (cut.warning && strstr (cut.warning, "ends early"), "%s", cut.warning);
}
GST_END_TEST;

/* Cut in the middle of a packet, in its header, in the file's header; no capture; no file. */
GST_START_TEST (test_damaged)
{
  g_autoptr (GByteArray) capture = make_numbered (3);
  const guint size = capture->len;
  for (guint cut = 1; cut < 60; cut += 7) {
    g_byte_array_set_size (capture, size - cut);
    g_auto (Result) result = run (capture, "");
    fail_unless_equals_int (result.buffers->len, 2);
    fail_unless_equals_int (result.n_warnings, 1);
    fail_unless (strstr (result.warning, "ends early") != NULL, "%s", result.warning);
  }
  g_byte_array_set_size (capture, 24);
  {
    g_auto (Result) result = run (capture, "");
    fail_unless (strstr (result.error, "no UDP at all") != NULL, "%s", result.error);
  }
  g_byte_array_set_size (capture, 20);
  {
    g_auto (Result) result = run (capture, "");
    fail_unless (result.error && strstr (result.error, "no capture that can be read"));
  }
  g_autoptr (GByteArray) foreign = capture_new (147);
  {
    g_auto (Result) result = run (foreign, "");
    fail_unless (result.error && strstr (result.error, "type 147"));
  }
  g_auto (Result) none = run_file ("/nonexistent/capture.pcap", "");
  fail_unless (none.error && strstr (none.error, "cannot be opened"));

  /* Nobody waits for a pipe's other end. */
  g_autofree gchar *folder = g_dir_make_tmp ("pcap-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (folder, "pipe", NULL);
  fail_unless_equals_int (mkfifo (path, 0600), 0);
  g_auto (Result) pipe = run_file (path, "");
  fail_unless (pipe.error && strstr (pipe.error, "pipe or device"));
  g_unlink (path);
  g_rmdir (folder);
}
GST_END_TEST;

/* Frames that contradict themselves are counted, and the next datagram is there. */
GST_START_TEST (test_bad_frames)
{
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  g_autoptr (GByteArray) udp = capture_make_udp (2368, (const guint8 *)"data", 4);
  g_autoptr (GByteArray) packet = capture_make_ipv4 (1, 0, FALSE, udp->data, udp->len);
  static const struct {
    guint at;
    guint8 value;
  } changes[] = {{0, 0x44}, {0, 0x4f}, {2, 0x10}, {3, 10}, {24, 0x10}, {25, 4}};
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    const guint8 before = packet->data[changes[i].at];
    packet->data[changes[i].at] = changes[i].value;
    capture_add_frame (capture, i, capture_ethernet_ipv4, 14, packet);
    packet->data[changes[i].at] = before;
  }
  packet->data[9] = 6; /* TCP */
  capture_add_frame (capture, 10, capture_ethernet_ipv4, 14, packet);
  packet->data[9] = 17;
  capture_add_frame (capture, 20, capture_ethernet_ipv4, 14, packet);
  g_auto (Result) result = run (capture, "");
  fail_unless_equals_uint64 (result.n_bad, G_N_ELEMENTS (changes));
  fail_unless_equals_uint64 (result.n_other, 1);
  fail_unless_equals_int (result.buffers->len, 1);
  check_buffer (&result, 0, 0, "data", 4);
}
GST_END_TEST;

/* The capture's own time, the same stamps as at full speed. */
GST_START_TEST (test_live)
{
  g_autoptr (GByteArray) capture = make_numbered (300);
  const gint64 start = g_get_monotonic_time ();
  g_auto (Result) result = run (capture, "is-live=true");
  const gint64 passed = g_get_monotonic_time () - start;
  fail_unless_equals_int (result.buffers->len, 300);
  for (guint32 i = 0; i < 300; i++)
    check_buffer (&result, i, i * GST_MSECOND, &i, sizeof i);
  fail_unless (passed >= 299000, "%" G_GINT64_FORMAT, passed);
}
GST_END_TEST;

GST_START_TEST (test_seek)
{
  g_autoptr (GByteArray) capture = make_numbered (100);
  g_autofree gchar *path = capture_write (capture);
  g_auto (Result) result = {0};
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  g_ptr_array_set_size (result.buffers, 0);
  fail_if (gst_element_seek (pipeline, -1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
      0, GST_SEEK_TYPE_SET, 10 * GST_MSECOND));
  fail_unless (gst_element_seek (pipeline, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, 41500 * GST_USECOND, GST_SEEK_TYPE_NONE, 0));
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  finish (pipeline, &result);
  fail_unless_equals_int (result.buffers->len, 58);
  for (guint32 i = 42; i < 100; i++)
    check_buffer (&result, i - 42, i * GST_MSECOND, &i, sizeof i);
  g_unlink (path);
}
GST_END_TEST;

/* Not known in every other round of the start, which stops while it is looked for. */
GST_START_TEST (test_duration)
{
  g_autoptr (GByteArray) capture = make_numbered (100);
  g_autofree gchar *path = capture_write (capture);
  g_auto (Result) result = {0};
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gint64 duration;
  fail_if (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration));
  for (guint round = 0; round < 10; round++) {
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
        GST_STATE_CHANGE_SUCCESS);
    fail_if (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration));
    if (round % 2 == 0) {
      g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
          bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_DURATION_CHANGED);
      fail_unless (message != NULL);
      fail_unless (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration));
      fail_unless_equals_int64 (duration, 99 * GST_MSECOND);
    }
    gst_element_set_state (pipeline, GST_STATE_NULL);
    fail_if (gst_element_query_duration (pipeline, GST_FORMAT_TIME, &duration));
  }
  g_unlink (path);
}
GST_END_TEST;

/* A capture that can no longer be read: each seek fails by itself, and it goes on once it is back.
 */
GST_START_TEST (test_seek_without_file)
{
  g_autoptr (GByteArray) capture = make_numbered (100);
  g_autofree gchar *path = capture_write (capture);
  g_auto (Result) result = {0};
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  g_unlink (path);
  for (guint i = 0; i < 2; i++)
    fail_if (gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
  g_file_set_contents (path, (const gchar *)capture->data, capture->len, NULL);
  fail_unless (gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_unlink (path);
}
GST_END_TEST;

/* Far behind many rounds of the loop: that it is on its way there must not keep the pipeline. */
GST_START_TEST (test_interrupted_seek)
{
  g_autoptr (GByteArray) capture = make_numbered (5);
  g_autofree gchar *path = capture_write (capture);
  g_auto (Result) result = {0};
  g_autoptr (GstElement) pipeline = make_pipeline (path, "loop=true", &result);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_seek_simple (
      pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 1000000 * (gint64)GST_SECOND));
  g_ptr_array_set_size (result.buffers, 0);
  fail_unless (gst_element_seek_simple (
      pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 2 * (gint64)GST_MSECOND));
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless (gst_element_seek_simple (
      pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 1000000 * (gint64)GST_SECOND));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_unlink (path);
}
GST_END_TEST;

/* Stamps go on where the capture begins anew. */
GST_START_TEST (test_loop)
{
  g_autoptr (GByteArray) capture = make_numbered (5);
  g_auto (Result) result = run (capture, "loop=true num-buffers=12");
  fail_unless_equals_int (result.buffers->len, 12);
  for (guint32 i = 0; i < 12; i++) {
    const guint32 number = i % 5;
    GstBuffer *buffer = g_ptr_array_index (result.buffers, i);
    check_buffer (&result, i, i * GST_MSECOND, &number, sizeof number);
    fail_unless (GST_BUFFER_IS_DISCONT (buffer) == (number == 0));
  }
}
GST_END_TEST;

/* Stopped and started again, it begins anew. */
GST_START_TEST (test_again)
{
  g_autoptr (GByteArray) capture = make_numbered (5);
  g_autofree gchar *path = capture_write (capture);
  g_auto (Result) result = {0};
  g_autoptr (GstElement) pipeline = make_pipeline (path, "", &result);
  for (guint round = 0; round < 2; round++) {
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    finish (pipeline, &result);
    fail_unless_equals_int (result.buffers->len, 5 * (round + 1));
  }
  check_buffer (&result, 5, 0, "\0\0\0\0", 4);
  g_unlink (path);
}
GST_END_TEST;

static Suite *
lidarpcapsrc_suite (void)
{
  Suite *suite = suite_create ("lidarpcapsrc");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_links);
  tcase_add_test (tests, test_ipv6);
  tcase_add_test (tests, test_fragments);
  tcase_add_test (tests, test_filter);
  tcase_add_test (tests, test_empty_and_meta);
  tcase_add_test (tests, test_senders);
  tcase_add_loop_test (tests, test_pcapng, 0, 2);
  tcase_add_test (tests, test_damaged);
  tcase_add_test (tests, test_bad_frames);
  tcase_add_test (tests, test_live);
  tcase_add_test (tests, test_seek);
  tcase_add_test (tests, test_duration);
  tcase_add_test (tests, test_seek_without_file);
  tcase_add_test (tests, test_interrupted_seek);
  tcase_add_test (tests, test_loop);
  tcase_add_test (tests, test_again);
  return suite;
}

GST_CHECK_MAIN (lidarpcapsrc);
