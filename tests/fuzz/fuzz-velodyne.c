/* SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "fuzz-packet.h"
#include "gst/lidardec/velodyne/velodyne.h"

#define PACKET_SIZE 1206

/* A byte for the model, then packets; one without a model is a calibration. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static VelodyneCalibration calibration;
  g_autoptr (GError) error = NULL;
  if (size == 0)
    return 0;
  const VelodyneModel model = (VelodyneModel)(data[0] % (VELODYNE_N_MODELS + 1));
  data++;
  size--;
  if (model == VELODYNE_N_MODELS) {
    g_autofree gchar *text = g_strndup ((const gchar *)data, size);
    const gboolean parsed = velodyne_calibration_parse (&calibration, text, &error);
    g_assert_true (parsed == (error == NULL));
    return 0;
  }
  /* What an HDL-64E sends is too long for an input. */
  calibration = (VelodyneCalibration){.n_lasers = 64};
  const gboolean has_file = model == VELODYNE_MODEL_HDL_64E;
  g_autoptr (Velodyne) velodyne = velodyne_new (model, has_file ? &calibration : NULL, &error);
  g_autoptr (PacketCutter) cutter = packet_cutter_new (100);
  g_assert_nonnull (velodyne);
  for (size_t at = 0; at < size; at += PACKET_SIZE) {
    const gsize n = MIN (size - at, PACKET_SIZE);
    gboolean is_data;
    /* As the element does. */
    const gboolean is_known = velodyne_calibrate (velodyne, data + at, n, &error);
    g_assert_true (!is_known || !error);
    g_clear_error (&error);
    if (!is_known)
      continue;
    const gboolean decoded = velodyne_decode (velodyne, data + at, n, cutter, &is_data, &error);
    g_assert_true (decoded == (error == NULL));
    g_clear_error (&error);
    fuzz_take_scans (cutter);
  }
  packet_cutter_flush (cutter);
  fuzz_take_scans (cutter);
  return 0;
}
