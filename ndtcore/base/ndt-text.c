/* SPDX-License-Identifier: MIT */
#include "ndt-text.h"

#include <math.h>
#include <string.h>

#include "ndt-error.h"

gboolean
ndt_text_next_line (const gchar **cursor, const gchar *end, NdtToken *line)
{
  if (*cursor >= end)
    return FALSE;
  const gchar *newline = memchr (*cursor, '\n', (gsize)(end - *cursor));
  const gchar *stop = newline ? newline : end;
  line->start = *cursor;
  line->size = (gsize)(stop - *cursor);
  if (line->size > 0 && line->start[line->size - 1] == '\r')
    line->size--;
  *cursor = newline ? newline + 1 : end;
  return TRUE;
}

static inline gboolean
is_blank (gchar c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void
trim (NdtToken *token)
{
  while (token->size > 0 && is_blank (token->start[0])) {
    token->start++;
    token->size--;
  }
  while (token->size > 0 && is_blank (token->start[token->size - 1]))
    token->size--;
}

gboolean
ndt_text_next_token (NdtToken *rest, gchar separator, NdtToken *token)
{
  if (separator != 0) {
    /* start is NULL after the last token: "a," has two tokens, the second one empty. */
    if (rest->start == NULL)
      return FALSE;
    const gchar *stop = memchr (rest->start, separator, rest->size);
    token->start = rest->start;
    token->size = stop ? (gsize)(stop - rest->start) : rest->size;
    if (stop) {
      rest->start = stop + 1;
      rest->size -= token->size + 1;
    } else {
      rest->start = NULL;
      rest->size = 0;
    }
    trim (token);
    return TRUE;
  }

  const gchar *p = rest->start;
  const gchar *end = rest->start + rest->size;
  while (p < end && is_blank (*p))
    p++;
  token->start = p;
  while (p < end && !is_blank (*p))
    p++;
  token->size = (gsize)(p - token->start);
  rest->start = p;
  rest->size = (gsize)(end - p);
  return token->size > 0;
}

gboolean
ndt_token_equal (const NdtToken *token, const gchar *text)
{
  return strlen (text) == token->size && g_ascii_strncasecmp (token->start, text, token->size) == 0;
}

static gboolean
slow_double (const NdtToken *token, double *value)
{
  gchar text[512];
  if (token->size == 0 || token->size >= sizeof text)
    return FALSE;
  memcpy (text, token->start, token->size);
  text[token->size] = '\0';
  gchar *end = NULL;
  *value = g_ascii_strtod (text, &end);
  return end == text + token->size;
}

gboolean
ndt_token_to_double (const NdtToken *token, double *value)
{
  /* A mantissa up to 2^53 and a power of ten up to 10^22 are exact doubles, so that their product
   * or quotient is rounded once and correct to the last bit (W. D. Clinger, "How to Read Floating
   * Point Numbers Accurately", 1990). All other numbers go through g_ascii_strtod(). */
  static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const gchar *p = token->start;
  const gchar *end = p + token->size;
  gboolean negative = FALSE;
  if (p < end && (*p == '-' || *p == '+'))
    negative = *p++ == '-';

  guint64 mantissa = 0;
  gint exponent = 0;
  guint digits = 0;
  for (; p < end && g_ascii_isdigit (*p); p++, digits++) {
    if (mantissa >= G_GUINT64_CONSTANT (100000000000000000))
      return slow_double (token, value);
    mantissa = mantissa * 10 + (guint64)(*p - '0');
  }
  if (p < end && *p == '.') {
    for (p++; p < end && g_ascii_isdigit (*p); p++, digits++) {
      if (mantissa >= G_GUINT64_CONSTANT (100000000000000000))
        return slow_double (token, value);
      mantissa = mantissa * 10 + (guint64)(*p - '0');
      exponent--;
    }
  }
  if (digits == 0)
    return slow_double (token, value);
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    gboolean down = FALSE;
    if (p < end && (*p == '-' || *p == '+'))
      down = *p++ == '-';
    gint e = 0;
    guint e_digits = 0;
    for (; p < end && g_ascii_isdigit (*p) && e < 1000; p++, e_digits++)
      e = e * 10 + (*p - '0');
    if (e_digits == 0)
      return FALSE;
    exponent += down ? -e : e;
  }
  if (p != end || exponent < -22 || exponent > 22 || mantissa > G_GUINT64_CONSTANT (1) << 53)
    return slow_double (token, value);

  double v = (double)mantissa;
  v = exponent < 0 ? v / powers[-exponent] : v * powers[exponent];
  *value = negative ? -v : v;
  return TRUE;
}

gboolean
ndt_token_to_uint64 (const NdtToken *token, guint64 *value)
{
  gchar text[32];
  if (token->size == 0 || token->size >= sizeof text || memchr (token->start, 0, token->size))
    return FALSE;
  memcpy (text, token->start, token->size);
  text[token->size] = '\0';
  return g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, value, NULL);
}

gboolean
ndt_token_to_int64 (const NdtToken *token, gint64 *value)
{
  gchar text[32];
  if (token->size == 0 || token->size >= sizeof text || memchr (token->start, 0, token->size))
    return FALSE;
  memcpy (text, token->start, token->size);
  text[token->size] = '\0';
  return g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, value, NULL);
}

gboolean
ndt_token_to_nanoseconds (const NdtToken *token, gint64 *value)
{
  const gchar *p = token->start;
  const gchar *end = p + token->size;
  gboolean negative = FALSE;
  if (p < end && (*p == '-' || *p == '+'))
    negative = *p++ == '-';

  guint64 seconds = 0;
  guint digits = 0;
  for (; p < end && g_ascii_isdigit (*p) && digits < 11; p++, digits++)
    seconds = seconds * 10 + (guint64)(*p - '0');
  guint64 nanoseconds = 0;
  if (p < end && *p == '.') {
    guint64 unit = 100000000;
    gboolean first_beyond = TRUE;
    for (p++; p < end && g_ascii_isdigit (*p); p++, digits++) {
      if (unit > 0) {
        nanoseconds += (guint64)(*p - '0') * unit;
        unit /= 10;
      } else if (first_beyond) {
        nanoseconds += *p >= '5';
        first_beyond = FALSE;
      }
    }
  }
  if (digits > 0 && p == end && seconds < 9000000000u) {
    gint64 total = (gint64)(seconds * 1000000000u + nanoseconds);
    *value = negative ? -total : total;
    return TRUE;
  }

  /* With an exponent, or no plain number. */
  double v;
  if (!ndt_token_to_double (token, &v) || !(fabs (v) < 9e9))
    return FALSE;
  *value = (gint64)llround (v * 1e9);
  return TRUE;
}

gboolean
ndt_token_to_scaled (const NdtToken *token, gint exponent, gint64 *value)
{
  const gchar *p = token->start;
  const gchar *end = p + token->size;
  gchar digits[64];
  gint n = 0, point = 0; /* digits, and those before the decimal point */
  gboolean negative = FALSE, has_point = FALSE, any = FALSE;
  if (p < end && (*p == '-' || *p == '+'))
    negative = *p++ == '-';
  for (; p < end && (g_ascii_isdigit (*p) || (*p == '.' && !has_point)); p++) {
    if (*p == '.') {
      has_point = TRUE;
      continue;
    }
    any = TRUE;
    /* Leading zeros are not counted as digits. Digits beyond the buffer are below one unit of the
     * result, or the number is too large. */
    if (n == 0 && *p == '0')
      point -= has_point;
    else if (n < (gint)sizeof digits) {
      digits[n++] = *p;
      point += !has_point;
    } else if (!has_point) {
      return FALSE;
    }
  }
  if (!any)
    return FALSE;
  if (p < end && (*p == 'e' || *p == 'E')) {
    gint e = 0;
    gboolean down = FALSE, has_digit = FALSE;
    p++;
    if (p < end && (*p == '-' || *p == '+'))
      down = *p++ == '-';
    for (; p < end && g_ascii_isdigit (*p) && e < 1000; p++, has_digit = TRUE)
      e = e * 10 + (*p - '0');
    if (!has_digit)
      return FALSE;
    exponent += down ? -e : e;
  }
  if (p != end)
    return FALSE;
  guint64 total = 0;
  const gint wanted = n > 0 ? point + exponent : 0;
  for (gint i = 0; i < wanted; i++) {
    if (total > G_MAXINT64 / 10)
      return FALSE;
    total = total * 10 + (guint64)(i < n ? digits[i] - '0' : 0);
    if (total > G_MAXINT64)
      return FALSE;
  }
  if (wanted >= 0 && wanted < n && digits[wanted] >= '5' && total < G_MAXINT64)
    total++;
  *value = negative ? -(gint64)total : (gint64)total;
  return TRUE;
}

gchar *
ndt_token_dup (const NdtToken *token)
{
  const gsize limit = 40;
  gchar *text = g_strndup (token->start, MIN (token->size, limit));
  for (gchar *p = text; *p != '\0'; p++)
    if (!g_ascii_isprint (*p))
      *p = '?';
  return text;
}

gboolean
ndt_text_fail (GError **error, const gchar *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree gchar *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_FORMAT, message);
  return FALSE;
}

gint
ndt_text_parse_numbers (const gchar *text, double *values, guint max)
{
  guint n = 0;
  for (;;) {
    const gchar *start = text;
    gchar *end;
    while (g_ascii_isspace (*text))
      text++;
    if (*text == '\0')
      return (gint)n;
    if (n > 0) {
      /* One separator only: "1,,2" is an error, and not two numbers. */
      if (*text == ',' || *text == ';')
        text++;
      else if (text == start)
        return -1;
      while (g_ascii_isspace (*text))
        text++;
    }
    const double value = g_ascii_strtod (text, &end);
    if (end == text || n == max || !isfinite (value))
      return -1;
    values[n++] = value;
    text = end;
  }
}
