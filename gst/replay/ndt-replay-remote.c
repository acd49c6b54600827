/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "gst/mcap/remote/remote-file.h"
#include "ndt-replay.h"

/* The report is last: a drive is done when that is there. */
static const gchar *const results[] = {
    "replay.mcap", "trajectory.txt", "trajectory.csv", "report.json"};

/* No report is longer. */
#define MAX_REPORT (16u << 20)

static gchar *
join (const gchar *location, const gchar *name)
{
  return g_strconcat (location, g_str_has_suffix (location, "/") ? "" : "/", name, NULL);
}

gboolean
ndt_replay_fetch_report (const gchar *location, const gchar *folder)
{
  g_autofree gchar *from = join (location, "report.json");
  g_autofree gchar *to = g_build_filename (folder, "report.json", NULL);
  g_autoptr (RemoteFile) file = remote_file_open (from, NULL, NULL, NULL);

  if (!file || remote_file_get_size (file) > MAX_REPORT)
    return FALSE;
  const gsize size = (gsize)remote_file_get_size (file);
  g_autofree guint8 *text = g_malloc (size + 1);
  return remote_file_read (file, 0, text, size, NULL) == (gssize)size &&
         g_file_set_contents (to, (const gchar *)text, (gssize)size, NULL);
}

gboolean
ndt_replay_send_results (const gchar *folder, const gchar *location, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (results); i++) {
    g_autofree gchar *from = g_build_filename (folder, results[i], NULL);
    g_autofree gchar *to = join (location, results[i]);
    /* What a drive that failed did not make is not sent; nor is anything where it was done before.
     */
    if (g_file_test (from, G_FILE_TEST_EXISTS) && !remote_file_put (from, to, error))
      return FALSE;
  }
  return TRUE;
}
