/* SPDX-License-Identifier: MIT */
/* Inputs that are programs: bytes, each of which is a choice. */
#pragma once

#include <glib.h>

typedef struct {
  const guint8 *data;
  gsize size;
  gsize position;
} Program;

/* The next byte; 0 where there is none. */
static inline guint
take (Program *program)
{
  return program->position < program->size ? program->data[program->position++] : 0;
}

#define PICK(program, array) ((array)[take (program) % G_N_ELEMENTS (array)])
