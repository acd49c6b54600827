/* SPDX-License-Identifier: MIT */
#include "packet-clock.h"

/* Days from 1970-01-01 on, of the Gregorian calendar. */
static gint64
count_days (gint64 year, gint64 month, gint64 day)
{
  /* Years begin in March, so that the leap day is their last. */
  const gint64 y = month > 2 ? year : year - 1;
  const gint64 day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

gint64
packet_date_to_ns (const gint date[6], gint64 microseconds)
{
  /* A second of 60 is a leap second. */
  if (date[0] < 1970 || date[1] < 1 || date[1] > 12 || date[2] < 1 || date[2] > 31 ||
      date[3] > 23 || date[4] > 59 || date[5] > 60 || microseconds >= G_USEC_PER_SEC)
    return -1;
  const gint64 days = count_days (date[0], date[1], date[2]);
  const gint64 seconds = (days * 24 + date[3]) * 3600 + date[4] * 60 + date[5];
  return (seconds * G_USEC_PER_SEC + microseconds) * 1000;
}
