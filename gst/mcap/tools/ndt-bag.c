/* SPDX-License-Identifier: MIT */
/* ndt-bag: what a recording (MCAP or rosbag2) has, as rosbagsrc sees it; several as one. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gst/mcap/bag/bag-copy.h"
#include "gst/mcap/bag/bag-files.h"
#include "gst/mcap/bag/bag-info.h"
#include "ndt-bag.h"

#define EXIT_USAGE 2

static const gchar usage[] =
    "usage: ndt-bag info [--seconds=N] RECORDING...\n"
    "       ndt-bag poses [--topic=NAME] RECORDING...\n"
    "       ndt-bag merge [--compression=NAME] --output=FILE RECORDING...\n"
    "\n"
    "info lists the topics of a recording (a file, a folder, or a pattern of MCAP or rosbag2 "
    "files) "
    "with\n"
    "their types, the pads that rosbagsrc and mcapdemux give them, numbers and rates of messages,\n"
    "spans, frames, how far header stamps are from log times, and what they can be used for.\n"
    "--seconds=N reads the first N seconds only.\n"
    "\n"
    "poses prints the poses of a topic (the first with estimates) as CSV: stamps, status, poses, "
    "scores.\n"
    "\n"
    "merge writes the messages, attachments and metadata of recordings as one MCAP file, in the "
    "order "
    "of\n"
    "log times and otherwise as they stand. --compression is none, lz4 (default) or zstd. FILE is\n"
    "replaced once the new one is whole.\n"
    "\n"
    "The exit status is 1 where a recording cannot be read, or something in it is damaged or\n"
    "missing.\n";

static int
fail (const GError *error)
{
  fprintf (stderr, "ndt-bag: %s.\n", error->message);
  return EXIT_FAILURE;
}

typedef struct {
  guint64 seconds;
  const gchar *topic;
} Show;

static gchar *
describe (BagMerger *recording, const Show *show, GError **error)
{
  return bag_info_read (recording, show->seconds, error);
}

static gchar *
list_poses (BagMerger *recording, const Show *show, GError **error)
{
  return ndt_bag_read_poses (recording, show->topic, error);
}

/* Prints what @read makes of a recording. */
static int
show (gchar *const *locations, gchar *(*read) (BagMerger *, const Show *, GError **),
    const Show *what)
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
  g_autofree gchar *text = read (recording, what, &error);
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

static int
merge (gchar *const *locations, const gchar *output, const gchar *compression)
{
  static const gchar *const names[] = {
      [MCAP_WRITER_COMPRESSION_NONE] = "none",
      [MCAP_WRITER_COMPRESSION_LZ4] = "lz4",
      [MCAP_WRITER_COMPRESSION_ZSTD] = "zstd",
  };
  g_autofree gchar *warning = NULL;
  g_autoptr (GError) error = NULL;
  BagCopyCounts counts;
  guint i = 0;

  while (i < G_N_ELEMENTS (names) && !g_str_equal (names[i], compression))
    i++;
  if (i == G_N_ELEMENTS (names)) {
    fprintf (stderr, "ndt-bag: no compression is called %s: none, lz4, zstd\n", compression);
    return EXIT_USAGE;
  }
  if (!bag_copy_files (locations, G_MAXUINT, output, (McapWriterCompression)i, NULL, NULL, NULL,
          NULL, &counts, &warning, &error))
    return fail (error);
  printf ("%" G_GUINT64_FORMAT " messages, %" G_GUINT64_FORMAT
          " attachments and metadata records in %s\n",
      counts.messages, counts.records, output);
  if (warning)
    fprintf (stderr, "ndt-bag: %s\n", warning);
  if (counts.damaged > 0)
    fprintf (
        stderr, "ndt-bag: %" G_GUINT64_FORMAT " damaged parts are left out.\n", counts.damaged);
  return warning || counts.damaged > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main (int argc, char **argv)
{
  gint64 seconds = 0;
  gboolean version = FALSE;
  g_autofree gchar *output = NULL, *compression = NULL, *topic = NULL;
  const GOptionEntry entries[] = {
      {"seconds", 0, 0, G_OPTION_ARG_INT64, &seconds, NULL, NULL},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, NULL, NULL},
      {"compression", 0, 0, G_OPTION_ARG_STRING, &compression, NULL, NULL},
      {"topic", 0, 0, G_OPTION_ARG_STRING, &topic, NULL, NULL},
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
    return EXIT_USAGE;
  }
  if (version) {
    puts ("ndt-bag " VERSION);
    return EXIT_SUCCESS;
  }
  if (argc >= 3 && strcmp (argv[1], "info") == 0 && seconds >= 0 && !output && !compression &&
      !topic)
    return show (argv + 2, describe, &(Show){.seconds = (guint64)seconds});
  if (argc >= 3 && strcmp (argv[1], "poses") == 0 && seconds == 0 && !output && !compression)
    return show (argv + 2, list_poses, &(Show){.topic = topic});
  if (argc >= 3 && strcmp (argv[1], "merge") == 0 && output)
    return merge (argv + 2, output, compression ? compression : "lz4");
  fputs (usage, stderr);
  return EXIT_USAGE;
}
