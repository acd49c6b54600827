/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "fuzz.h"
#include "gst/lidarpcap/capture-file.h"

/* Captures, pcap and pcapng, whole. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  FILE *file = fmemopen ((void *)data, size, "rb");
  g_assert_nonnull (file);
  g_autoptr (GError) error = NULL;
  g_autoptr (CaptureFile) capture = capture_file_new (file, &error);
  g_assert_true ((capture != NULL) == (error == NULL));
  if (!capture)
    return 0;
  CaptureDatagram datagram;
  gint64 time;
  guint64 n = 0;
  guint sum = 0;
  while (capture_file_next (capture, &datagram, &time, &error)) {
    g_assert_cmpuint (datagram.size, <=, G_MAXUINT16);
    for (gsize i = 0; i < datagram.size; i++)
      sum += datagram.data[i];
    n++;
  }
  volatile guint sink = sum;
  (void)sink;
  const CaptureFileCounts counts = capture_file_get_counts (capture);
  g_assert_cmpuint (n + counts.n_other + counts.n_bad, <=, counts.n_frames);
  return 0;
}
