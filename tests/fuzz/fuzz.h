/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/* One input: what libFuzzer calls, and fuzz-main.c where there is no libFuzzer. Aborts on a bug. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
