/* SPDX-License-Identifier: MIT */
/* How fast mcapsink records without compression, beside cat of the same bytes to the same disk and
 * a plain loop of copy and write, each in turn, in one run.
 *
 *   bench-mcap [--quick] [--json FILE] [FOLDER]
 *
 * FOLDER is where the files are made, a temporary one by default. */
#include <gst/gst.h>

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SCAN_SIZE (2000000 / 16 * 16)
#define CAPS "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1"
#define ROUNDS 5

static const gchar *folder;
static guint n_scans = 128;
static guint8 *scans[8]; /* not one in the cache for ever */

static gchar *
path_of (const gchar *name)
{
  return g_build_filename (folder, name, NULL);
}

static double
cpu_seconds (int who)
{
  struct rusage usage;

  getrusage (who, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void
fail (const gchar *what)
{
  perror (what);
  exit (1);
}

static void
copy_and_write (const gchar *path)
{
  g_autofree guint8 *copy = g_malloc (SCAN_SIZE);
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

  if (fd < 0)
    fail (path);
  for (guint i = 0; i < n_scans; i++) {
    memcpy (copy, scans[i % G_N_ELEMENTS (scans)], SCAN_SIZE);
    if (write (fd, copy, SCAN_SIZE) != SCAN_SIZE)
      fail (path);
  }
  close (fd);
}

static void
cat (const gchar *from, const gchar *to)
{
  g_autofree gchar *line = g_strdup_printf ("exec cat '%s' > '%s'", from, to);

  if (system (line) != 0)
    fail ("cat");
}

static void
record (const gchar *path, guint64 sync_interval)
{
  GstElement *sink = gst_element_factory_make ("mcapsink", NULL);
  GstPad *source = gst_pad_new ("src", GST_PAD_SRC);
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  GstSegment segment;
  GstPad *input;

  if (sink == NULL)
    fail ("no mcapsink");
  gst_object_ref_sink (sink);
  g_object_set (sink, "location", path, "sync-interval", sync_interval, NULL);
  input = gst_element_request_pad_simple (sink, "cloud_%u");
  gst_pad_link (source, input);
  gst_element_set_state (sink, GST_STATE_PLAYING);
  gst_pad_set_active (source, TRUE);
  gst_pad_push_event (source, gst_event_new_stream_start ("bench"));
  gst_pad_push_event (source, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  for (guint i = 0; i < n_scans; i++) {
    guint8 *data = scans[i % G_N_ELEMENTS (scans)];
    GstBuffer *buffer = gst_buffer_new_wrapped_full (
        GST_MEMORY_FLAG_READONLY, data, SCAN_SIZE, 0, SCAN_SIZE, NULL, NULL);

    GST_BUFFER_PTS (buffer) = i * 100 * GST_MSECOND;
    if (gst_pad_push (source, buffer) != GST_FLOW_OK)
      fail ("mcapsink");
  }
  gst_pad_push_event (source, gst_event_new_eos ());
  gst_element_set_state (sink, GST_STATE_NULL);
  gst_pad_set_active (source, FALSE);
  gst_pad_unlink (source, input);
  gst_element_release_request_pad (sink, input);
  gst_object_unref (input);
  gst_object_unref (source);
  gst_object_unref (sink);
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double
median (double *values)
{
  qsort (values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

static void
run (guint what, const gchar *plain, const gchar *out)
{
  g_unlink (out);
  switch (what) {
  case 0:
    cat (plain, out);
    break;
  case 1:
    copy_and_write (out);
    break;
  case 2:
    record (out, 0);
    break;
  default:
    record (out, GST_SECOND);
    break;
  }
}

int
main (int argc, char **argv)
{
  static const gchar *const names[] = {
      "cat", "copy and write", "mcapsink", "mcapsink, synced each second"};
  const gchar *json = NULL;
  g_autofree gchar *made = NULL;
  g_autofree gchar *plain = NULL;
  g_autofree gchar *out = NULL;
  double seconds[4][ROUNDS], cpu[4][ROUNDS];
  double megabytes;
  struct rusage usage;
  FILE *file = NULL;

  gst_init (&argc, &argv);
  for (int i = 1; i < argc; i++) {
    if (g_str_equal (argv[i], "--quick"))
      n_scans = 32;
    else if (g_str_equal (argv[i], "--json") && i + 1 < argc)
      json = argv[++i];
    else
      folder = argv[i];
  }
  if (folder == NULL)
    folder = made = g_dir_make_tmp ("bench-mcap-XXXXXX", NULL);
  plain = path_of ("plain");
  out = path_of ("out");
  for (guint i = 0; i < G_N_ELEMENTS (scans); i++) {
    scans[i] = g_malloc (SCAN_SIZE);
    for (guint b = 0; b < SCAN_SIZE; b += 4)
      memcpy (scans[i] + b, (guint32[]){g_random_int ()}, 4);
  }
  copy_and_write (plain);
  for (guint round = 0; round < ROUNDS; round++)
    for (guint what = 0; what < 4; what++) {
      int who = what == 0 ? RUSAGE_CHILDREN : RUSAGE_SELF;
      double cpu_before = cpu_seconds (who);
      gint64 before = g_get_monotonic_time ();

      run (what, plain, out);
      seconds[what][round] = (g_get_monotonic_time () - before) / 1e6;
      cpu[what][round] = cpu_seconds (who) - cpu_before;
    }
  getrusage (RUSAGE_SELF, &usage);

  megabytes = (double)n_scans * SCAN_SIZE / 1e6;
  if (json && !(file = fopen (json, "w")))
    fail (json);
  printf ("%u scans of %.1f MB, median of %d rounds; peak memory %ld MB\n", n_scans,
      SCAN_SIZE / 1e6, ROUNDS, usage.ru_maxrss / 1024);
  printf ("%-32s %10s %10s %14s %14s\n", "", "MB/s", "CPU ms/GB", "speed / cat", "CPU / copying");
  for (guint what = 0; what < 4; what++) {
    seconds[what][0] = median (seconds[what]);
    cpu[what][0] = median (cpu[what]);
  }
  for (guint what = 0; what < 4; what++) {
    printf ("%-32s %10.0f %10.0f %14.2f %14.2f\n", names[what], megabytes / seconds[what][0],
        cpu[what][0] * 1e6 / megabytes, seconds[0][0] / seconds[what][0], cpu[what][0] / cpu[1][0]);
    if (file)
      fprintf (file, "%s{\"name\": \"%s\", \"mb_per_s\": %g, \"cpu_ms_per_gb\": %g}%s\n",
          what == 0 ? "[" : " ", names[what], megabytes / seconds[what][0],
          cpu[what][0] * 1e6 / megabytes, what == 3 ? "]" : ",");
  }
  if (file)
    fclose (file);
  for (guint i = 0; i < G_N_ELEMENTS (scans); i++)
    g_free (scans[i]);
  g_unlink (plain);
  g_unlink (out);
  if (made)
    g_rmdir (made);
  return 0;
}
