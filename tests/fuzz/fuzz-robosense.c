/* SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "fuzz-packet.h"
#include "gst/lidardec/robosense/robosense.h"

/* A byte for the model, then packets, each after its size in two bytes; one without a model is a
 * calibration. */
int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static RobosenseCalibration calibration;
  g_autoptr (GError) error = NULL;
  if (size == 0)
    return 0;
  const uint8_t *at = data + 1;
  const RobosenseModel model = (RobosenseModel)(data[0] % (ROBOSENSE_N_MODELS + 1));
  if (model == ROBOSENSE_N_MODELS) {
    g_autofree gchar *text = g_strndup ((const gchar *)at, size - 1);
    const gboolean parsed = robosense_calibration_parse (&calibration, text, &error);
    g_assert_true (parsed == (error == NULL));
    return 0;
  }
  g_autoptr (Robosense) robosense = robosense_new (model, NULL, &error);
  g_autoptr (PacketCutter) cutter = packet_cutter_new (100);
  g_assert_nonnull (robosense);
  while (data + size - at >= 2) {
    const gsize left = (gsize)(data + size - at) - 2;
    const gsize n = MIN (left, at[0] | (gsize)at[1] << 8);
    gboolean is_data;
    at += 2;
    /* As the element does. */
    const gboolean is_known = robosense_calibrate (robosense, at, n, &error);
    g_assert_true (!is_known || !error);
    g_clear_error (&error);
    if (is_known) {
      const gboolean decoded = robosense_decode (robosense, at, n, cutter, &is_data, &error);
      g_assert_true (decoded == (error == NULL));
      g_clear_error (&error);
      fuzz_take_scans (cutter);
    }
    at += n;
  }
  packet_cutter_flush (cutter);
  fuzz_take_scans (cutter);
  return 0;
}
