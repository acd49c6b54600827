/* SPDX-License-Identifier: MIT */
/* Stands in for libFuzzer where the compiler has none: runs the files of a folder, and then that
 * many changed ones, the same for the same seed. An input that fails is left in the working folder
 * as "crash".
 *
 * usage: fuzz-NAME FOLDER [RUNS [SEED]] or fuzz-NAME FILE
 *
 * NDT_FUZZ_FACTOR multiplies the runs; with NDT_FUZZ_SECONDS there are no more after that time.
 * An input that takes longer than two minutes has failed. */
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_SIZE 65536
#define MAX_INPUT_SECONDS 120

static const guint8 *current;
static gsize current_size;
static gint64 n_done;

static void
keep_input (void)
{
  FILE *file = fopen ("crash", "wb");
  if (file) {
    fwrite (current, 1, current_size, file);
    fclose (file);
  }
  fprintf (stderr, "failed after %" G_GINT64_FORMAT " inputs\n", n_done);
}

static void
on_signal (int number)
{
  keep_input ();
  signal (number, SIG_DFL);
  raise (number);
}

/* libubsan ends programs by itself otherwise. */
const char *__ubsan_default_options (void);
const char *
__ubsan_default_options (void)
{
  return "abort_on_error=1:print_stacktrace=1";
}

/* In memory of just that size, so that a read beyond is seen. */
static void
run_input (const guint8 *data, gsize size)
{
  g_autofree guint8 *copy = g_memdup2 (data, size);
  current = copy ? copy : (const guint8 *)"";
  current_size = size;
  alarm (MAX_INPUT_SECONDS);
  LLVMFuzzerTestOneInput (current, size);
  n_done++;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *)a, *(const gchar *const *)b);
}

static GPtrArray *
read_folder (const gchar *path)
{
  GPtrArray *inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)g_byte_array_unref);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const gchar *name;
  while (dir && (name = g_dir_read_name (dir)))
    g_ptr_array_add (names, g_build_filename (path, name, NULL));
  if (!dir)
    g_ptr_array_add (names, g_strdup (path));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    gchar *data;
    gsize size;
    if (g_file_get_contents (g_ptr_array_index (names, i), &data, &size, NULL))
      g_ptr_array_add (inputs, g_byte_array_new_take ((guint8 *)data, size));
  }
  return inputs;
}

static guint
draw (GRand *rand, guint n)
{
  return n > 0 ? (guint)g_rand_int_range (rand, 0, (gint32)n) : 0;
}

static void
insert (GByteArray *bytes, guint at, const guint8 *data, guint n)
{
  g_autofree guint8 *tail = g_memdup2 (bytes->data + at, bytes->len - at);
  const guint n_tail = bytes->len - at;
  g_byte_array_set_size (bytes, at);
  g_byte_array_append (bytes, data, n);
  g_byte_array_append (bytes, tail, n_tail);
}

/* A number of the text becomes one that programs stumble over. */
static void
change_number (GByteArray *bytes, GRand *rand)
{
  static const gchar *const numbers[] = {"0", "1", "-1", "255", "65536", "2147483648", "4294967295",
      "4294967296", "9223372036854775808", "18446744073709551615", "1e999", "nan", "-inf",
      "0.0000000000000000000000000000001", ""};
  guint at = draw (rand, bytes->len), end;
  while (at < bytes->len && !g_ascii_isdigit (bytes->data[at]))
    at++;
  for (end = at; end < bytes->len && g_ascii_isdigit (bytes->data[end]);)
    end++;
  if (end == at)
    return;
  const gchar *number = numbers[draw (rand, G_N_ELEMENTS (numbers))];
  g_byte_array_remove_range (bytes, at, end - at);
  insert (bytes, at, (const guint8 *)number, (guint)strlen (number));
}

static void
change (GByteArray *bytes, GPtrArray *inputs, GRand *rand)
{
  const guint at = draw (rand, bytes->len + 1);
  const guint n = draw (rand, bytes->len - at + 1);
  switch (draw (rand, 7)) {
  case 0:
    if (at < bytes->len)
      bytes->data[at] = (guint8)g_rand_int (rand);
    break;
  case 1:
    if (at < bytes->len)
      bytes->data[at] ^= (guint8)(1u << draw (rand, 8));
    break;
  case 2:
    g_byte_array_remove_range (bytes, at, n);
    break;
  case 3:
    g_byte_array_set_size (bytes, at);
    break;
  case 4: {
    g_autofree guint8 *copy = g_memdup2 (bytes->data + at, n);
    insert (bytes, draw (rand, bytes->len + 1), copy, n);
    break;
  }
  case 5: {
    const GByteArray *other = g_ptr_array_index (inputs, draw (rand, inputs->len));
    const guint from = draw (rand, other->len + 1);
    insert (bytes, at, other->data + from, draw (rand, other->len - from + 1));
    break;
  }
  default:
    change_number (bytes, rand);
    break;
  }
}

int
main (int argc, char **argv)
{
  if (argc < 2) {
    fprintf (stderr, "usage: %s FOLDER [RUNS [SEED]]\n", argv[0]);
    return 2;
  }
  const gchar *factor = g_getenv ("NDT_FUZZ_FACTOR");
  const gint64 n_runs = (argc > 2 ? g_ascii_strtoll (argv[2], NULL, 10) : 0) *
                        (factor ? g_ascii_strtoll (factor, NULL, 10) : 1);
  const gchar *seconds = g_getenv ("NDT_FUZZ_SECONDS");
  const gint64 begin = g_get_monotonic_time ();
  const gint64 end =
      seconds ? begin + g_ascii_strtoll (seconds, NULL, 10) * G_USEC_PER_SEC : G_MAXINT64;
  g_autoptr (GRand) rand =
      g_rand_new_with_seed (argc > 3 ? (guint32)g_ascii_strtoull (argv[3], NULL, 10) : 1);
  g_autoptr (GPtrArray) inputs = read_folder (argv[1]);
  if (inputs->len == 0) {
    fprintf (stderr, "no inputs in %s\n", argv[1]);
    return 1;
  }
  __sanitizer_set_death_callback (keep_input);
  /* SIGTRAP: GLib ends so for what is fatal. */
  static const int signals[] = {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGSEGV, SIGTRAP};
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    signal (signals[i], on_signal);
  for (guint i = 0; i < inputs->len; i++) {
    const GByteArray *input = g_ptr_array_index (inputs, i);
    run_input (input->data, input->len);
  }
  gint64 run = 0;
  for (; run < n_runs && g_get_monotonic_time () < end; run++) {
    const GByteArray *input = g_ptr_array_index (inputs, draw (rand, inputs->len));
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    g_byte_array_append (bytes, input->data, input->len);
    for (guint n = 1 + draw (rand, 5); n > 0; n--)
      change (bytes, inputs, rand);
    run_input (bytes->data, MIN (bytes->len, MAX_SIZE));
  }
  printf ("%u inputs and %" G_GINT64_FORMAT " changed ones, %.0f a second\n", inputs->len, run,
      (double)run * G_USEC_PER_SEC / (double)MAX (g_get_monotonic_time () - begin, 1));
  return 0;
}
