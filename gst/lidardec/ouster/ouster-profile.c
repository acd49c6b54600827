/* SPDX-License-Identifier: MIT */
#include "ouster-profile.h"

#include <string.h>

/* As github.com/ouster-lidar/ouster-sdk has them (ouster_core/src/parsing.cpp, commit 46b7bcee). */
#define RANGE_15 0x7fff, 8
#define RANGE_19 0x7ffff, 1
#define RANGE_20 0xfffff, 1

static const OusterProfileLayout profiles[OUSTER_N_PROFILES] = {
    [OUSTER_PROFILE_LEGACY] = {"LEGACY", 12, RANGE_20, 1, {{0, 4}}},
    [OUSTER_PROFILE_RNG15_RFL8_NIR8] = {"RNG15_RFL8_NIR8", 4, RANGE_15, 1, {{0, 2}}},
    [OUSTER_PROFILE_RNG15_RFL8_NIR8_DUAL] = {"RNG15_RFL8_NIR8_DUAL", 8, RANGE_15, 2,
        {{0, 2}, {4, 6}}},
    [OUSTER_PROFILE_RNG15_RFL8_NIR8_ZONE16] = {"RNG15_RFL8_NIR8_ZONE16", 8, RANGE_15, 1, {{0, 2}}},
    [OUSTER_PROFILE_RNG15_RFL8_WIN8] = {"RNG15_RFL8_WIN8", 4, RANGE_15, 1, {{0, 2}}},
    [OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16] = {"RNG19_RFL8_SIG16_NIR16", 12, RANGE_19, 1, {{0, 4}}},
    [OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_DUAL] = {"RNG19_RFL8_SIG16_NIR16_DUAL", 16, RANGE_19, 2,
        {{0, 3}, {4, 7}}},
    [OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_ZONE16] = {"RNG19_RFL8_SIG16_NIR16_ZONE16", 12, RANGE_19,
        1, {{0, 4}}},
    [OUSTER_PROFILE_RNG19_RFL8_SIG16_ZONE16_DUAL] = {"RNG19_RFL8_SIG16_ZONE16_DUAL", 16, RANGE_19,
        2, {{0, 3}, {4, 7}}},
    [OUSTER_PROFILE_FIVE_WORD_PIXEL] = {"FIVE_WORD_PIXEL", 20, RANGE_19, 2, {{0, 3}, {4, 7}}},
    [OUSTER_PROFILE_FUSA_RNG15_RFL8_NIR8_DUAL] = {"FUSA_RNG15_RFL8_NIR8_DUAL", 8, RANGE_15, 2,
        {{0, 2}, {4, 6}}},
};

const OusterProfileLayout *
ouster_profile_get_layout (OusterProfile profile)
{
  return &profiles[profile];
}

const gchar *
ouster_profile_get_name (OusterProfile profile)
{
  return profiles[profile].name;
}

gboolean
ouster_profile_from_name (const gchar *name, OusterProfile *profile)
{
  for (guint i = 0; i < OUSTER_N_PROFILES; i++)
    if (strcmp (name, profiles[i].name) == 0) {
      *profile = (OusterProfile)i;
      return TRUE;
    }
  return FALSE;
}
