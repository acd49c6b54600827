/* SPDX-License-Identifier: MIT */
#include "mcap-location.h"

#define MAX_WIDTH 20

/* After a percent sign: %, or the width, with a 0 for leading zeros, and d. NULL: something else.
 */
static const gchar *
parse (const gchar *p, gboolean *is_number, gboolean *zeros, guint *width)
{
  *is_number = FALSE;
  *zeros = *p == '0';
  *width = 0;
  if (*p == '%')
    return p + 1;
  for (; g_ascii_isdigit (*p) && *width <= MAX_WIDTH; p++)
    *width = *width * 10 + g_ascii_digit_value (*p);
  *is_number = TRUE;
  return (*p == 'd' || *p == 'u') && *width <= MAX_WIDTH ? p + 1 : NULL;
}

gboolean
mcap_location_check (const gchar *location, gboolean *numbered)
{
  *numbered = FALSE;
  if (location == NULL || *location == '\0')
    return FALSE;
  for (const gchar *p = location; *p;) {
    gboolean is_number, zeros;
    guint width;

    if (*p++ != '%')
      continue;
    p = parse (p, &is_number, &zeros, &width);
    if (p == NULL || (is_number && *numbered))
      return FALSE;
    *numbered |= is_number;
  }
  return TRUE;
}

gchar *
mcap_location_format (const gchar *location, guint number)
{
  GString *name = g_string_new (NULL);

  for (const gchar *p = location; *p;) {
    gboolean is_number, zeros;
    guint width;

    if (*p != '%') {
      g_string_append_c (name, *p++);
      continue;
    }
    p = parse (p + 1, &is_number, &zeros, &width);
    if (!is_number)
      g_string_append_c (name, '%');
    else if (zeros)
      g_string_append_printf (name, "%0*u", (gint)width, number);
    else
      g_string_append_printf (name, "%*u", (gint)width, number);
  }
  return g_string_free (name, FALSE);
}
