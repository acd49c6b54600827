/* SPDX-License-Identifier: MIT */
#include "cdr.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"

/* Representation CDR_LE; two bytes of options. */
static const guint8 header_le[CDR_HEADER_SIZE] = {0x00, 0x01, 0x00, 0x00};

void
cdr_writer_init (CdrWriter *self, GByteArray *out)
{
  self->out = out;
  g_byte_array_append (out, header_le, sizeof header_le);
  self->origin = out->len;
}

static guint8 *
append_aligned (CdrWriter *self, gsize size)
{
  gsize start = self->out->len;
  gsize pad = -(start - self->origin) & (size - 1);

  g_byte_array_set_size (self->out, start + pad + size);
  memset (self->out->data + start, 0, pad);
  return self->out->data + start + pad;
}

void
cdr_write_u8 (CdrWriter *self, guint8 value)
{
  g_byte_array_append (self->out, &value, 1);
}

void
cdr_write_u32 (CdrWriter *self, guint32 value)
{
  mcap_set_u32 (append_aligned (self, 4), value);
}

void
cdr_write_i32 (CdrWriter *self, gint32 value)
{
  cdr_write_u32 (self, (guint32)value);
}

void
cdr_write_f64 (CdrWriter *self, gdouble value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  mcap_set_u64 (append_aligned (self, 8), bits);
}

void
cdr_write_string (CdrWriter *self, const gchar *value)
{
  gsize size;

  if (value == NULL)
    value = "";
  size = strlen (value) + 1;
  cdr_write_u32 (self, size);
  g_byte_array_append (self->out, (const guint8 *)value, size);
}

gboolean
cdr_reader_init (CdrReader *self, const guint8 *data, gsize size)
{
  memset (self, 0, sizeof *self);
  /* The two option bytes have no defined value. */
  if (size < CDR_HEADER_SIZE || memcmp (data, header_le, 2) != 0) {
    self->failed = TRUE;
    return FALSE;
  }
  self->data = data + CDR_HEADER_SIZE;
  self->size = size - CDR_HEADER_SIZE;
  return TRUE;
}

gboolean
cdr_reader_failed (const CdrReader *self)
{
  return self->failed;
}

gsize
cdr_reader_remaining (const CdrReader *self)
{
  return self->size - self->pos;
}

static const guint8 *
read_aligned (CdrReader *self, gsize size)
{
  gsize pad = -self->pos & (size - 1);

  if (pad > cdr_reader_remaining (self)) {
    self->failed = TRUE;
    return NULL;
  }
  if (!self->failed)
    self->pos += pad;
  return cdr_read_bytes (self, size);
}

guint8
cdr_read_u8 (CdrReader *self)
{
  const guint8 *p = cdr_read_bytes (self, 1);
  return p ? *p : 0;
}

guint16
cdr_read_u16 (CdrReader *self)
{
  const guint8 *p = read_aligned (self, 2);
  return p ? (guint16)(p[0] | p[1] << 8) : 0;
}

guint32
cdr_read_u32 (CdrReader *self)
{
  const guint8 *p = read_aligned (self, 4);
  return p ? mcap_get_u32 (p) : 0;
}

gint32
cdr_read_i32 (CdrReader *self)
{
  return (gint32)cdr_read_u32 (self);
}

gdouble
cdr_read_f64 (CdrReader *self)
{
  const guint8 *p = read_aligned (self, 8);
  guint64 bits = p ? mcap_get_u64 (p) : 0;
  gdouble value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

gchar *
cdr_read_string (CdrReader *self)
{
  guint32 size = cdr_read_u32 (self);
  const guint8 *p;

  /* Some serializers write an empty string with no bytes at all. */
  if (size == 0)
    return self->failed ? NULL : g_strdup ("");
  p = cdr_read_bytes (self, size);
  if (p == NULL)
    return NULL;
  if (p[size - 1] != 0) {
    self->failed = TRUE;
    return NULL;
  }
  return g_utf8_make_valid ((const gchar *)p, -1);
}

const guint8 *
cdr_read_bytes (CdrReader *self, gsize n)
{
  const guint8 *p;

  if (self->failed || n > cdr_reader_remaining (self)) {
    self->failed = TRUE;
    return NULL;
  }
  p = self->data + self->pos;
  self->pos += n;
  return p;
}

guint32
cdr_read_length (CdrReader *self, gsize min_size)
{
  guint32 n = cdr_read_u32 (self);

  if (!self->failed && (guint64)n * min_size > cdr_reader_remaining (self))
    self->failed = TRUE;
  return self->failed ? 0 : n;
}
