/* SPDX-License-Identifier: MIT */
#include "ndt-scan-order.h"

#include <stdlib.h>
#include <string.h>

#include "ndtcore/base/ndt-text.h"

/* Largest difference of two times, ns, that can be of one clock. */
#define ONE_CLOCK (G_GINT64_CONSTANT (86400) * 1000000000)

gboolean
ndt_scan_order_get_time (const gchar *path, gint64 *time)
{
  g_autofree gchar *name = g_path_get_basename (path);
  gchar *end = strrchr (name, '.');
  gsize n = 0, n_rest = 0;
  if (end)
    *end = '\0';
  /* "cloud_1403636580_838555648" */
  const gchar *p = name;
  while (*p && !g_ascii_isdigit (*p))
    p++;
  if (p > name && !strchr ("_-", p[-1]))
    return FALSE;
  while (g_ascii_isdigit (p[n]))
    n++;
  const gchar *rest = p + n;
  const gchar separator = *rest;
  if (separator) {
    rest++;
    while (g_ascii_isdigit (rest[n_rest]))
      n_rest++;
    if (rest[n_rest] || n_rest == 0 || n != 10 || !strchr ("._", separator))
      return FALSE;
  }
  /* After 2001, so that a number of as many digits is not a count. */
  if ((n != 10 && n != 13 && n != 16 && n != 19) || p[0] == '0')
    return FALSE;
  const NdtToken whole = {p, n};
  const gint exponent = 19 - (gint)n;
  gint64 nanoseconds = 0;
  if (!ndt_token_to_scaled (&whole, exponent, time))
    return FALSE;
  if (separator == '_') {
    const NdtToken token = {rest, n_rest};
    return ndt_token_to_int64 (&token, &nanoseconds) && nanoseconds < 1000000000 &&
           (*time += nanoseconds, TRUE);
  }
  if (separator == '.') {
    g_autofree gchar *text = g_strdup_printf ("0.%s", rest);
    const NdtToken token = {text, strlen (text)};
    return ndt_token_to_scaled (&token, 9, &nanoseconds) && (*time += nanoseconds, TRUE);
  }
  return TRUE;
}

typedef struct {
  gchar *path;
  gint64 time;
  guint index;
} Scan;

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  const Scan *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* The pose that is nearest in time. */
static gsize
find_nearest (const NdtTrajectory *trajectory, gint64 time)
{
  gsize low = 0, high = ndt_trajectory_get_n_poses (trajectory);
  const gsize n = high;
  while (low < high) {
    const gsize middle = low + (high - low) / 2;
    if (ndt_trajectory_get_time (trajectory, middle) < time)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == n)
    return n - 1;
  if (low > 0 && time - ndt_trajectory_get_time (trajectory, low - 1) <
                     ndt_trajectory_get_time (trajectory, low) - time)
    return low - 1;
  return low;
}

static gboolean
check_times (
    const Scan *scans, guint n, const NdtTrajectory *trajectory, const gchar *shown, GError **error)
{
  const gint64 apart = scans[0].time - ndt_trajectory_get_time (trajectory, 0);
  if (apart > ONE_CLOCK || apart < -ONE_CLOCK)
    return TRUE;
  for (guint i = 0; i < n; i++) {
    const gsize nearest = find_nearest (trajectory, scans[i].time);
    /* Several poses may have one time. */
    if (nearest == i ||
        ndt_trajectory_get_time (trajectory, nearest) == ndt_trajectory_get_time (trajectory, i))
      continue;
    g_autofree gchar *name = g_filename_display_basename (scans[i].path);
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s: scan %u by time, %s, is nearest to pose %" G_GSIZE_FORMAT
        " of %s: there is not one scan for each pose",
        shown, i + 1, name, nearest + 1, shown);
    return FALSE;
  }
  return TRUE;
}

gboolean
ndt_scan_order_match (
    GPtrArray *files, const NdtTrajectory *trajectory, const gchar *shown, GError **error)
{
  g_autofree Scan *scans = g_new (Scan, MAX (files->len, 1));
  for (guint i = 0; i < files->len; i++) {
    scans[i].path = g_ptr_array_index (files, i);
    scans[i].index = i;
    if (!ndt_scan_order_get_time (scans[i].path, &scans[i].time))
      return TRUE;
  }
  qsort (scans, files->len, sizeof (Scan), compare_times);
  for (guint i = 0; i < files->len; i++)
    files->pdata[i] = scans[i].path;
  return files->len == 0 || !ndt_trajectory_has_times (trajectory) ||
         check_times (scans, files->len, trajectory, shown, error);
}
