/* SPDX-License-Identifier: MIT */
#pragma once

/* CDR (plain, little-endian) as ROS 2 serializes messages: a header of four bytes, then each
 * number aligned to its own size, counted from after that header; strings with their final 0. */

#include <glib.h>

G_BEGIN_DECLS

#define CDR_HEADER_SIZE 4

typedef struct {
  GByteArray *out;
  gsize origin; /* offset in out that alignment is counted from */
} CdrWriter;

/* Appends the encapsulation header to @out, which the writer borrows. */
void cdr_writer_init (CdrWriter *self, GByteArray *out);
void cdr_write_u8 (CdrWriter *self, guint8 value);
void cdr_write_u32 (CdrWriter *self, guint32 value);
void cdr_write_i32 (CdrWriter *self, gint32 value);
void cdr_write_f64 (CdrWriter *self, gdouble value);
/* NULL is written as "". */
void cdr_write_string (CdrWriter *self, const gchar *value);

/* Once a read ran past the end all further ones return 0 or NULL, and cdr_reader_failed() says so:
 * a caller may read a whole message and ask once. */
typedef struct {
  const guint8 *data; /* after the header */
  gsize size;
  gsize pos;
  gboolean failed;
} CdrReader;

/* FALSE (and failed) where @data does not begin with the header of little-endian plain CDR. */
gboolean cdr_reader_init (CdrReader *self, const guint8 *data, gsize size);
gboolean cdr_reader_failed (const CdrReader *self);
gsize cdr_reader_remaining (const CdrReader *self);
guint8 cdr_read_u8 (CdrReader *self);
guint16 cdr_read_u16 (CdrReader *self);
guint32 cdr_read_u32 (CdrReader *self);
gint32 cdr_read_i32 (CdrReader *self);
gdouble cdr_read_f64 (CdrReader *self);
/* Owned by the caller; made valid where it is no UTF-8. NULL where it has no final 0 or runs past
 * the end. */
gchar *cdr_read_string (CdrReader *self);
/* @n bytes inside the message. */
const guint8 *cdr_read_bytes (CdrReader *self, gsize n);
/* A sequence's length; fails where @n elements of at least @min_size bytes cannot follow. */
guint32 cdr_read_length (CdrReader *self, gsize min_size);

G_END_DECLS
