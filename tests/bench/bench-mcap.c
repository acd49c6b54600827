/* SPDX-License-Identifier: MIT */
/* How fast mcapsink records without compression, beside cat of the same bytes to the same disk and
 * a plain loop of copy and write, each in turn, in one run; and what memory a long recording takes.
 *
 *   bench-mcap [--quick] [--check] [--json FILE] [FOLDER]
 *
 * FOLDER is where the files are made, a temporary one by default. With --check the best round of
 * each counts, and the exit status is 1 where a limit is not kept: at least half of cat's speed, no
 * more than twice the processor time of copying and writing, memory that does not grow. */
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
#define MAX_ROUNDS 25 /* of a check: others may use the disk and the processors */
#define LONG_SCANS 2000
/* Bytes that a recording of LONG_SCANS may grow by: the index of its chunks, of some 150 bytes
 * each, and what the allocator rounds up to. */
#define MAX_GROWTH (1 << 20)

enum { CAT, CAT_SYNCED, COPY, SINK, SINK_SYNCED, N_WAYS };

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
cat (const gchar *from, const gchar *to, gboolean synced)
{
  g_autofree gchar *line = g_strdup_printf (
      "cat '%s' > '%s' %s%s", from, to, synced ? "&& exec sync -d " : "", synced ? to : "");

  if (system (line) != 0)
    fail ("cat");
}

static glong
get_resident (void)
{
  g_autofree gchar *text = NULL;
  glong pages = 0;

  if (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    pages = strtol (strchr (text, ' '), NULL, 10);
  return pages * sysconf (_SC_PAGESIZE);
}

/* Returns by how many bytes the program grew after the first tenth. */
static glong
record (const gchar *path, guint64 sync_interval, guint n)
{
  glong resident = 0, grown;
  GstElement *sink = gst_element_factory_make ("mcapsink", NULL);
  GstPad *source = gst_pad_new ("src", GST_PAD_SRC);
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  GstSegment segment;
  GstPad *input;

  if (sink == NULL)
    fail ("no mcapsink");
  gst_object_ref_sink (sink);
  g_object_set (sink, "location", path, "sync-interval", sync_interval, "overwrite", TRUE, NULL);
  input = gst_element_request_pad_simple (sink, "cloud_%u");
  gst_pad_link (source, input);
  gst_element_set_state (sink, GST_STATE_PLAYING);
  gst_pad_set_active (source, TRUE);
  gst_pad_push_event (source, gst_event_new_stream_start ("bench"));
  gst_pad_push_event (source, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  for (guint i = 0; i < n; i++) {
    guint8 *data = scans[i % G_N_ELEMENTS (scans)];
    GstBuffer *buffer = gst_buffer_new_wrapped_full (
        GST_MEMORY_FLAG_READONLY, data, SCAN_SIZE, 0, SCAN_SIZE, NULL, NULL);

    GST_BUFFER_PTS (buffer) = i * 100 * GST_MSECOND;
    if (gst_pad_push (source, buffer) != GST_FLOW_OK)
      fail ("mcapsink");
    if (i == n / 10)
      resident = get_resident ();
  }
  grown = get_resident () - resident;
  gst_pad_push_event (source, gst_event_new_eos ());
  gst_element_set_state (sink, GST_STATE_NULL);
  gst_pad_set_active (source, FALSE);
  gst_pad_unlink (source, input);
  gst_element_release_request_pad (sink, input);
  gst_object_unref (input);
  gst_object_unref (source);
  gst_object_unref (sink);
  return grown;
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void
run (guint what, const gchar *plain, const gchar *out)
{
  g_unlink (out);
  switch (what) {
  case CAT:
  case CAT_SYNCED:
    cat (plain, out, what == CAT_SYNCED);
    break;
  case COPY:
    copy_and_write (out);
    break;
  default:
    record (out, what == SINK ? 0 : GST_SECOND, n_scans);
    break;
  }
}

typedef struct {
  double seconds[N_WAYS][MAX_ROUNDS];
  double cpu[N_WAYS][MAX_ROUNDS];
  guint n_rounds;
} Rounds;

static void
add_round (Rounds *self, const gchar *plain, const gchar *out)
{
  for (guint what = 0; what < N_WAYS; what++) {
    int who = what <= CAT_SYNCED ? RUSAGE_CHILDREN : RUSAGE_SELF;
    double cpu_before = cpu_seconds (who);
    gint64 before = g_get_monotonic_time ();

    run (what, plain, out);
    self->seconds[what][self->n_rounds] = (g_get_monotonic_time () - before) / 1e6;
    self->cpu[what][self->n_rounds] = cpu_seconds (who) - cpu_before;
  }
  self->n_rounds++;
}

/* The value at a place of the sorted ones: 0 is the best. */
static double
pick (const double *values, guint n, guint place)
{
  double sorted[MAX_ROUNDS];

  memcpy (sorted, values, n * sizeof *values);
  qsort (sorted, n, sizeof *sorted, compare);
  return sorted[place];
}

/* Of the best rounds, so that what else runs here does not count. */
static gboolean
keeps_limits (const Rounds *self)
{
  double seconds[N_WAYS], cpu[N_WAYS];

  for (guint what = 0; what < N_WAYS; what++) {
    seconds[what] = pick (self->seconds[what], self->n_rounds, 0);
    cpu[what] = pick (self->cpu[what], self->n_rounds, 0);
  }
  return seconds[SINK] <= 2 * seconds[CAT] && seconds[SINK_SYNCED] <= 2 * seconds[CAT_SYNCED] &&
         cpu[SINK] <= 2 * cpu[COPY] && cpu[SINK_SYNCED] <= 2 * cpu[COPY];
}

static void
print (const Rounds *self, guint place, const gchar *json)
{
  static const gchar *const names[] = {
      "cat", "cat, then sync -d", "copy and write", "mcapsink", "mcapsink, synced each second"};
  double megabytes = (double)n_scans * SCAN_SIZE / 1e6;
  double seconds[N_WAYS], cpu[N_WAYS];
  FILE *file = NULL;

  if (json && !(file = fopen (json, "w")))
    fail (json);
  printf ("%u scans of %.1f MB, %s of %u rounds\n", n_scans, SCAN_SIZE / 1e6,
      place == 0 ? "best" : "median", self->n_rounds);
  printf ("%-32s %10s %10s %14s %14s\n", "", "MB/s", "CPU ms/GB", "speed / cat", "CPU / copying");
  for (guint what = 0; what < N_WAYS; what++) {
    seconds[what] = pick (self->seconds[what], self->n_rounds, place);
    cpu[what] = pick (self->cpu[what], self->n_rounds, place);
  }
  for (guint what = 0; what < N_WAYS; what++) {
    guint beside = what == CAT_SYNCED || what == SINK_SYNCED ? CAT_SYNCED : CAT;

    printf ("%-32s %10.0f %10.0f %14.2f %14.2f\n", names[what], megabytes / seconds[what],
        cpu[what] * 1e6 / megabytes, seconds[beside] / seconds[what], cpu[what] / cpu[COPY]);
    if (file)
      fprintf (file, "%s{\"name\": \"%s\", \"mb_per_s\": %g, \"cpu_ms_per_gb\": %g}%s\n",
          what == 0 ? "[" : " ", names[what], megabytes / seconds[what],
          cpu[what] * 1e6 / megabytes, what == N_WAYS - 1 ? "]" : ",");
  }
  if (file)
    fclose (file);
}

int
main (int argc, char **argv)
{
  const gchar *json = NULL;
  g_autofree gchar *made = NULL;
  g_autofree gchar *plain = NULL;
  g_autofree gchar *out = NULL;
  gboolean check = FALSE, kept = TRUE;
  glong grown;
  Rounds rounds = {.n_rounds = 0};

  gst_init (&argc, &argv);
  for (int i = 1; i < argc; i++) {
    if (g_str_equal (argv[i], "--quick"))
      n_scans = 32;
    else if (g_str_equal (argv[i], "--check"))
      check = TRUE;
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
  while (rounds.n_rounds < ROUNDS ||
         (check && rounds.n_rounds < MAX_ROUNDS && !keeps_limits (&rounds)))
    add_round (&rounds, plain, out);
  print (&rounds, check ? 0 : rounds.n_rounds / 2, json);
  /* A disk is not what takes memory, and would take its time. */
  grown = record ("/dev/null", GST_SECOND, LONG_SCANS);
  printf ("A recording of %.1f GB: the program grew by %ld kB after its first tenth.\n",
      (double)LONG_SCANS * SCAN_SIZE / 1e9, grown / 1024);
  if (check)
    kept = keeps_limits (&rounds) && grown <= MAX_GROWTH;
  if (!kept)
    printf (
        "A limit is not kept: half of cat's speed, twice the processor time of copying, %u kB\n",
        MAX_GROWTH / 1024);
  for (guint i = 0; i < G_N_ELEMENTS (scans); i++)
    g_free (scans[i]);
  g_unlink (plain);
  g_unlink (out);
  if (made)
    g_rmdir (made);
  return kept ? 0 : 1;
}
