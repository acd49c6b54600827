/* SPDX-License-Identifier: MIT */
#include "ndt-hash.h"

#include <string.h>

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

#define P1 G_GUINT64_CONSTANT (0x9e3779b185ebca87)
#define P2 G_GUINT64_CONSTANT (0xc2b2ae3d27d4eb4f)
#define P3 G_GUINT64_CONSTANT (0x165667b19e3779f9)
#define P4 G_GUINT64_CONSTANT (0x85ebca77c2b2ae63)
#define P5 G_GUINT64_CONSTANT (0x27d4eb2f165667c5)

static inline guint64
rotate (guint64 x, guint bits)
{
  return x << bits | x >> (64 - bits);
}

static inline guint64
load64 (const guint8 *at)
{
  guint64 value;
  memcpy (&value, at, sizeof value);
  return value;
}

static inline guint64
add_round (guint64 sum, guint64 input)
{
  return rotate (sum + input * P2, 31) * P1;
}

static inline guint64
merge (guint64 hash, guint64 sum)
{
  return (hash ^ add_round (0, sum)) * P1 + P4;
}

guint64
ndt_hash64 (gconstpointer data, gsize size)
{
  const guint8 *at = data;
  gsize left = size;
  guint64 hash = P5;

  if (size >= 32) {
    guint64 sums[4] = {P1 + P2, P2, 0, 0 - P1};
    for (; left >= 32; left -= 32, at += 32)
      for (guint i = 0; i < 4; i++)
        sums[i] = add_round (sums[i], load64 (at + 8 * i));
    hash = rotate (sums[0], 1) + rotate (sums[1], 7) + rotate (sums[2], 12) + rotate (sums[3], 18);
    for (guint i = 0; i < 4; i++)
      hash = merge (hash, sums[i]);
  }
  hash += size;
  for (; left >= 8; left -= 8, at += 8)
    hash = rotate (hash ^ add_round (0, load64 (at)), 27) * P1 + P4;
  if (left >= 4) {
    guint32 value;
    memcpy (&value, at, sizeof value);
    hash = rotate (hash ^ value * P1, 23) * P2 + P3;
    left -= 4;
    at += 4;
  }
  for (; left > 0; left--, at++)
    hash = rotate (hash ^ *at * P5, 11) * P1;
  hash = (hash ^ hash >> 33) * P2;
  hash = (hash ^ hash >> 29) * P3;
  return hash ^ hash >> 32;
}
