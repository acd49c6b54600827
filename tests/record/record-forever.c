/* SPDX-License-Identifier: MIT */
/* Runs a pipeline and prints, line by line, how many chunks its mcapsink "rec" has written: what
 * must be found in the file after this program was killed. */
#include <gst/gst.h>

#include <stdio.h>

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  GstElement *pipeline, *sink;
  guint64 printed = 0;

  gst_init (&argc, &argv);
  if (argc != 2)
    return 2;
  pipeline = gst_parse_launch (argv[1], &error);
  if (pipeline == NULL) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "rec");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (;;) {
    GstStructure *stats;
    guint64 chunks = 0;

    g_object_get (sink, "stats", &stats, NULL);
    gst_structure_get_uint64 (stats, "chunks", &chunks);
    gst_structure_free (stats);
    if (chunks > printed)
      printf ("%" G_GUINT64_FORMAT "\n", printed = chunks);
    fflush (stdout);
    g_usleep (200);
  }
}
