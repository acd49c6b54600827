/* SPDX-License-Identifier: MIT */
/* ndt-bag: what a recording (MCAP or rosbag2) has, as rosbagsrc sees it. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gst/mcap/ros/bag-files.h"
#include "gst/mcap/ros/bag-info.h"

static const gchar usage[] =
    "usage: ndt-bag info [--seconds=N] RECORDING...\n"
    "\n"
    "Lists the topics of a recording (a file, a folder, or a pattern of MCAP or rosbag2 files) "
    "with\n"
    "their types, the pads that rosbagsrc and mcapdemux give them, numbers and rates of messages,\n"
    "spans, frames, how far header stamps are from log times, and what they can be used for.\n"
    "--seconds=N reads the first N seconds only. The exit status is 1 where the recording cannot\n"
    "be read, or something in it is damaged or missing.\n";

static int
fail (const GError *error)
{
  fprintf (stderr, "ndt-bag: %s.\n", error->message);
  return EXIT_FAILURE;
}

static int
show_info (gchar *const *locations, guint64 seconds)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  for (; *locations; locations++)
    if (!bag_files_find (*locations, paths, &error))
      return fail (error);
  g_autoptr (BagMerger) recording = bag_merger_new (paths, NULL, &error);
  if (!recording)
    return fail (error);
  bag_merger_end_opening (recording);
  g_autofree gchar *text = bag_info_read (recording, seconds, &error);
  if (!text)
    return fail (error);
  fputs (text, stdout);
  const guint64 n_damaged = bag_merger_get_n_damaged (recording);
  g_autofree gchar *warning = bag_merger_take_warning (recording);
  if (warning)
    fprintf (stderr, "ndt-bag: %s\n", warning);
  if (n_damaged > 0)
    fprintf (stderr, "ndt-bag: %" G_GUINT64_FORMAT " damaged parts are left out.\n", n_damaged);
  if (fflush (stdout) != 0) {
    perror ("ndt-bag: standard output");
    return EXIT_FAILURE;
  }
  return warning || n_damaged > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main (int argc, char **argv)
{
  gint64 seconds = 0;
  gboolean version = FALSE;
  const GOptionEntry entries[] = {
      {"seconds", 0, 0, G_OPTION_ARG_INT64, &seconds, NULL, NULL},
      {"version", 0, 0, G_OPTION_ARG_NONE, &version, NULL, NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL},
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, entries, NULL);
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0) {
      fputs (usage, stdout);
      return EXIT_SUCCESS;
    }
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fprintf (stderr, "ndt-bag: %s\n%s", error->message, usage);
    return 2;
  }
  if (version) {
    puts ("ndt-bag " VERSION);
    return EXIT_SUCCESS;
  }
  if (argc < 3 || strcmp (argv[1], "info") != 0 || seconds < 0) {
    fputs (usage, stderr);
    return 2;
  }
  return show_info (argv + 2, (guint64)seconds);
}
