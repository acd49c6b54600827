/* SPDX-License-Identifier: MIT */
/* Parsing of numbers, independent of the locale; tokens are not NUL-terminated. Private. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A part of a text that is owned by the caller. */
typedef struct {
  const gchar *start;
  gsize size;
} NdtToken;

/* Takes the next line from [*cursor, end), without its "\n" or "\r\n". FALSE at the end. */
gboolean ndt_text_next_line (const gchar **cursor, const gchar *end, NdtToken *line);
/* Takes the next token from @rest. Tokens are separated by white space and, where @separator is not
 * 0, by @separator as well; then they may be empty. FALSE at the end. */
gboolean ndt_text_next_token (NdtToken *rest, gchar separator, NdtToken *token);
gboolean ndt_token_equal (const NdtToken *token, const gchar *text);
/* These return FALSE where the token is no number of the type or out of its range. */
gboolean ndt_token_to_double (const NdtToken *token, double *value);
gboolean ndt_token_to_uint64 (const NdtToken *token, guint64 *value);
gboolean ndt_token_to_int64 (const NdtToken *token, gint64 *value);
/* Seconds as nanoseconds, exact for decimals (a double has steps of 0.2 µs at today's epoch). */
gboolean ndt_token_to_nanoseconds (const NdtToken *token, gint64 *value);
/* A decimal times 10^@exponent, to the nearest whole number, exact whatever its length and with an
 * exponent of its own ("1.403636580838555648e+18"). FALSE beyond 63 bits. */
gboolean ndt_token_to_scaled (const NdtToken *token, gint exponent, gint64 *value);
/* The token for a message: printable, at most 40 characters. */
gchar *ndt_token_dup (const NdtToken *token);
/* Sets NDT_ERROR_FORMAT, where @error is not NULL. Returns FALSE, for the parser to return. */
gboolean ndt_text_fail (GError **error, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

/* All numbers of a NUL-terminated @text: finite, separated by one comma or semicolon or by white
 * space. Returns how many; -1 where there are more than @max, or anything else. */
gint ndt_text_parse_numbers (const gchar *text, double *values, guint max);

G_END_DECLS
