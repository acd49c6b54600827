/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  OUSTER_PROFILE_LEGACY,
  OUSTER_PROFILE_RNG15_RFL8_NIR8,
  OUSTER_PROFILE_RNG15_RFL8_NIR8_DUAL,
  OUSTER_PROFILE_RNG15_RFL8_NIR8_ZONE16,
  OUSTER_PROFILE_RNG15_RFL8_WIN8,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_DUAL,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_ZONE16,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_ZONE16_DUAL,
  OUSTER_PROFILE_FIVE_WORD_PIXEL,
  OUSTER_PROFILE_FUSA_RNG15_RFL8_NIR8_DUAL,
  OUSTER_N_PROFILES,
} OusterProfile;

/* A return in the bytes of a pixel. */
typedef struct {
  guint range;        /* offset of the word that it is in */
  guint reflectivity; /* offset of a byte */
} OusterReturnLayout;

typedef struct {
  const gchar *name;
  guint pixel_size;
  guint32 range_mask;
  guint range_unit; /* mm */
  guint n_returns;
  OusterReturnLayout returns[2];
} OusterProfileLayout;

/* How the packets of a profile are laid out. */
const OusterProfileLayout *ouster_profile_get_layout (OusterProfile profile);
const gchar *ouster_profile_get_name (OusterProfile profile);
gboolean ouster_profile_from_name (const gchar *name, OusterProfile *profile);

G_END_DECLS
