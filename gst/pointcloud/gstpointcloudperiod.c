/* SPDX-License-Identifier: MIT */
#include "gstpointcloudperiod.h"

#include <math.h>
#include <string.h>

/* Numbers that are looked at, from the first on. */
#define MAX_NUMBERS 16384
/* Fewer say nothing. */
#define MIN_NUMBERS 192
/* Metres. A jump from one object to the next counts as one jump, however far it goes. */
#define MAX_DIFFERENCE 10.0f
/* The assumed step's mean difference over another's from which on the other is taken to be true.
 * Over all binary PCD files of the test data (OS0, HDL-64E, HDL-32E, RPLidar building, PCL's and
 * the sensors' samples; as they are and with their points shuffled), the true step reaches 1.08 at
 * most, and XYZ read from XYZI or the reverse 1.51 at least. */
#define MIN_RATIO 1.5
/* Multiples of the true step fit nearly as well: of equal ones the smallest is meant. */
#define EQUAL 1.1

static float
get (const guint8 *data, gsize i)
{
  float value;
  memcpy (&value, data + 4 * i, sizeof value);
  return value;
}

/* Mean difference of the numbers that are @lag apart; infinite where none can be compared. */
static double
mean_difference (const guint8 *data, gsize n, gsize lag)
{
  double sum = 0;
  gsize count = 0;
  for (gsize i = 0; i + lag < n; i++) {
    const float difference = fabsf (get (data, i + lag) - get (data, i));
    if (!isfinite (difference))
      continue;
    sum += MIN (difference, MAX_DIFFERENCE);
    count++;
  }
  return count >= MIN_NUMBERS / 4 ? sum / (double)count : INFINITY;
}

guint
gst_point_cloud_period_find (const guint8 *data, gsize size, guint step)
{
  static const guint steps[] = {12, 16, 20, 24, 28, 32};
  const gsize n = MIN (size / 4, MAX_NUMBERS);
  double differences[G_N_ELEMENTS (steps)], smallest = INFINITY;
  if (n < MIN_NUMBERS || step == 0 || step % 4 != 0)
    return step;
  const double assumed = mean_difference (data, n, step / 4);
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    differences[i] = steps[i] % step == 0 ? INFINITY : mean_difference (data, n, steps[i] / 4);
    smallest = MIN (smallest, differences[i]);
  }
  if (!isfinite (assumed) || !isfinite (smallest) || assumed <= smallest * MIN_RATIO)
    return step;
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++)
    if (differences[i] <= smallest * EQUAL)
      return steps[i];
  return step;
}
