/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "fuzz-packet.h"
#include "gst/lidardec/ouster/ouster.h"

/* Metadata up to a byte of 0, then packets, each after its size in two bytes. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  OusterMetadata metadata;
  const uint8_t *end = memchr (data, 0, size);
  const gsize n_text = end ? (gsize)(end - data) : size;
  const gboolean parsed =
      ouster_metadata_parse (&metadata, (const gchar *)data, (gssize)n_text, &error);
  g_assert_true (parsed == (error == NULL));
  /* A frame's points for every input would take too long. */
  if (!parsed || !end || metadata.columns > 64)
    return 0;
  g_autoptr (Ouster) ouster = ouster_new (&metadata);
  g_autoptr (PacketCutter) cutter = packet_cutter_new (0);
  const uint8_t *at = end + 1;
  while (data + size - at >= 2) {
    const gsize left = (gsize)(data + size - at) - 2;
    const gsize n = MIN (left, at[0] | (gsize)at[1] << 8);
    gboolean is_data;
    at += 2;
    const gboolean decoded = ouster_decode (ouster, at, n, cutter, &is_data, &error);
    g_assert_true (decoded == (error == NULL));
    g_clear_error (&error);
    fuzz_take_scans (cutter);
    at += n;
  }
  ouster_flush (ouster, cutter);
  fuzz_take_scans (cutter);
  return 0;
}
