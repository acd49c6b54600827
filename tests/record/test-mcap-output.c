/* SPDX-License-Identifier: MIT */
/* Files under faults: writes and syncs that fail, files that others delete or cut. This program's
 * own writev() and fdatasync() are called in the place of the C library's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-output.h"
#include "gst/mcap/container/mcap-reader.h"
#include "gst/mcap/container/mcap-writer.h"
#include "tests/ndt-wait.h"

#define N_MESSAGES 20
#define MESSAGE_SIZE 1000

static gint n_writes;     /* so far */
static gint first_broken; /* these fail, from this number on … */
static gint n_broken;     /* … so many */
static gboolean is_half;
static gint broken_syncs; /* so many fail */
static gint n_syncs;

ssize_t
writev (int fd, const struct iovec *iov, int n)
{
  const gint number = n_writes;
  if (number >= first_broken && number - first_broken < n_broken) {
    /* Every other one goes through by a byte before the rest of it fails. */
    if (number % 2 && !is_half) {
      is_half = TRUE;
      return syscall (SYS_write, fd, iov[0].iov_base, 1);
    }
    n_writes++;
    is_half = FALSE;
    errno = EIO;
    return -1;
  }
  n_writes++;
  return syscall (SYS_writev, fd, iov, n);
}

int
fdatasync (int fd)
{
  g_atomic_int_inc (&n_syncs);
  if (g_atomic_int_get (&broken_syncs) > 0) {
    g_atomic_int_add (&broken_syncs, -1);
    errno = EIO;
    return -1;
  }
  return (int)syscall (SYS_fdatasync, fd);
}

typedef struct {
  gchar *folder;
  gchar *path;
} Fixture;

static void
setup (Fixture *fixture, gconstpointer data)
{
  fixture->folder = g_dir_make_tmp ("mcap-output-XXXXXX", NULL);
  fixture->path = g_build_filename (fixture->folder, "a.mcap", NULL);
  n_writes = first_broken = n_broken = broken_syncs = n_syncs = 0;
}

static void
teardown (Fixture *fixture, gconstpointer data)
{
  g_unlink (fixture->path);
  g_assert_cmpint (g_rmdir (fixture->folder), ==, 0);
  g_free (fixture->path);
  g_free (fixture->folder);
}

static gboolean
write_parts (gpointer output, const McapPart *parts, guint n_parts, GError **error)
{
  return mcap_output_write (output, parts, n_parts, error);
}

/* Messages that a chunk each is made of, until one fails. Returns how many were written. */
static guint
add_messages (McapWriter *writer, guint16 channel, guint n, GError **error)
{
  static guint8 data[MESSAGE_SIZE];
  const McapPart part = {data, sizeof data};
  for (guint i = 0; i < n; i++)
    if (!mcap_writer_add_message (writer, channel, i, i, &part, 1, error))
      return i;
  return n;
}

static gssize
read_bytes (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  GBytes *bytes = user_data;
  gsize whole;
  const guint8 *content = g_bytes_get_data (bytes, &whole);
  const gsize n = offset < whole ? MIN (size, whole - (gsize)offset) : 0;
  if (n > 0)
    memcpy (data, content + offset, n);
  return (gssize)n;
}

/* The file is whole, with its index, and has @n messages. */
static void
check_file (const gchar *path, guint n)
{
  gchar *content;
  gsize size;
  McapReaderStats stats;
  McapMessage message;
  g_autoptr (GError) error = NULL;
  guint found = 0;

  g_file_get_contents (path, &content, &size, &error);
  g_assert_no_error (error);
  g_autoptr (GBytes) bytes = g_bytes_new_take (content, size);
  g_autoptr (McapReader) reader = mcap_reader_new (read_bytes, bytes, size, &error);
  g_assert_no_error (error);
  while (mcap_reader_next (reader, &message, &error))
    found++;
  g_assert_no_error (error);
  g_assert_cmpuint (found, ==, n);
  mcap_reader_get_stats (reader, &stats);
  g_assert_true (stats.is_complete && stats.has_index);
  g_assert_cmpuint (stats.n_damaged, ==, 0);
}

static McapWriter *
start_writer (McapOutput *output, guint16 *channel, GError **error)
{
  McapWriter *writer = mcap_writer_new (MCAP_WRITER_COMPRESSION_NONE, 1, 0, write_parts, output);
  mcap_writer_start (writer, "", "test", error);
  g_assert_true (mcap_writer_add_channel (writer, 0, "/t", "raw", NULL, channel, NULL));
  return writer;
}

/* Each write fails in turn, once or for good: what was written before is a whole file, and where
 * nothing was there is none. */
static void
test_writes (Fixture *fixture, gconstpointer for_good)
{
  const gint n_all = 1 + N_MESSAGES + 2; /* beginning, chunks, data end, summary */

  for (gint broken = 0; broken < n_all; broken++) {
    g_autoptr (GError) failure = NULL;
    g_autoptr (GError) error = NULL;
    guint16 channel;
    guint written = 0;

    n_writes = 0;
    first_broken = broken;
    n_broken = for_good ? G_MAXINT : 1;
    McapOutput *output = mcap_output_open (fixture->path, FALSE, 0, &error);
    g_assert_no_error (error);
    g_autoptr (McapWriter) writer = start_writer (output, &channel, &failure);
    if (!failure)
      written = add_messages (writer, channel, N_MESSAGES, &failure);
    g_assert_cmpuint (written, ==, MIN (MAX (broken - 1, 0), N_MESSAGES));
    const gboolean finished = mcap_writer_finish (writer, failure ? NULL : &failure);
    g_assert_error (failure, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_WRITE);
    g_assert_true (mcap_output_close (output, &error));
    g_assert_no_error (error);
    g_assert_true (finished == (!for_good && broken <= N_MESSAGES));
    if (finished)
      check_file (fixture->path, written);
    else if (broken == 0)
      g_assert_false (g_file_test (fixture->path, G_FILE_TEST_EXISTS));
    g_unlink (fixture->path);
  }
}

/* An error of the disk is told, and the file gets its end. */
static void
test_sync (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) failure = NULL;
  guint16 channel;
  guint written = 0;

  broken_syncs = 1;
  McapOutput *output = mcap_output_open (fixture->path, FALSE, 1000, &error);
  g_assert_no_error (error);
  g_autoptr (McapWriter) writer = start_writer (output, &channel, &error);
  g_assert_no_error (error);
  ndt_wait_for (g_atomic_int_get (&broken_syncs) == 0);
  /* The thread tells what it met after the call. */
  while (!failure && written < 1000000)
    written += add_messages (writer, channel, 1, &failure);
  g_assert_error (failure, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_WRITE);
  g_assert_true (mcap_writer_finish (writer, &error));
  g_assert_no_error (error);
  g_assert_true (mcap_output_close (output, &error));
  g_assert_no_error (error);
  check_file (fixture->path, written);
}

/* As mcapsink writes: with room for the end. */
typedef struct {
  McapOutput *output;
  McapWriter *writer;
  gboolean finishing;
} Recording;

static gboolean
reserve_and_write (gpointer user_data, const McapPart *parts, guint n_parts, GError **error)
{
  Recording *recording = user_data;
  guint64 size = mcap_writer_get_summary_size (recording->writer);

  for (guint i = 0; i < n_parts; i++)
    size += parts[i].size;
  return (recording->finishing || mcap_output_reserve (recording->output, size, error)) &&
         mcap_output_write (recording->output, parts, n_parts, error);
}

/* The disk is full at any position, which the limit of a file's size stands for: the file is whole,
 * with all chunks that had room, or there is none. */
static void
test_full (Fixture *fixture, gconstpointer data)
{
  struct rlimit before, limit;
  guint n_whole = 0, n_none = 0;

  signal (SIGXFSZ, SIG_IGN);
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  for (guint bytes = 0; bytes < 1000 + (N_MESSAGES + 2) * (MESSAGE_SIZE + 300);
       bytes += bytes < 1000 ? 1 : 61) {
    g_autoptr (GError) error = NULL;
    Recording recording = {0};
    guint written = 0;
    guint16 channel;

    recording.output = mcap_output_open (fixture->path, FALSE, 0, &error);
    g_assert_no_error (error);
    recording.writer =
        mcap_writer_new (MCAP_WRITER_COMPRESSION_NONE, 1, 0, reserve_and_write, &recording);
    limit = (struct rlimit){bytes, before.rlim_max};
    g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
    if (mcap_writer_start (recording.writer, "", "test", &error)) {
      g_assert_true (
          mcap_writer_add_channel (recording.writer, 0, "/t", "raw", NULL, &channel, NULL));
      written = add_messages (recording.writer, channel, N_MESSAGES, &error);
    }
    recording.finishing = TRUE;
    if (mcap_writer_finish (recording.writer, NULL)) {
      mcap_output_close (recording.output, NULL);
      check_file (fixture->path, written);
      n_whole++;
    } else {
      /* Not even a beginning and an end have room. */
      g_assert_cmpuint (written, ==, 0);
      g_assert_cmpuint (bytes, <, 500);
      mcap_output_close (recording.output, NULL);
      n_none++;
    }
    if (written < N_MESSAGES)
      g_assert_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_FULL);
    g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
    mcap_writer_free (recording.writer);
    g_unlink (fixture->path);
  }
  g_assert_cmpuint (n_whole, >, 300);
  g_assert_cmpuint (n_none, >, 50);
}

typedef enum { UNLINK, REPLACE, CUT, APPEND, N_WAYS } Way;

static void
spoil (const gchar *path, Way way)
{
  g_autofree gchar *other = g_strconcat (path, ".other", NULL);
  switch (way) {
  case UNLINK:
    g_assert_cmpint (g_unlink (path), ==, 0);
    break;
  case REPLACE:
    g_assert_true (g_file_set_contents (other, "another", -1, NULL));
    g_assert_cmpint (g_rename (other, path), ==, 0);
    break;
  case CUT:
    g_assert_cmpint (truncate (path, 100), ==, 0);
    break;
  default: {
    FILE *file = fopen (path, "a");
    fputs ("more", file);
    fclose (file);
    break;
  }
  }
}

static void
test_lost (Fixture *fixture, gconstpointer data)
{
  for (Way way = 0; way < N_WAYS; way++)
    for (guint at_end = 0; at_end < 2; at_end++) {
      g_autoptr (GError) error = NULL;
      g_autofree gchar *content = NULL;
      guint16 channel;
      gsize size;

      McapOutput *output = mcap_output_open (fixture->path, FALSE, 0, &error);
      g_assert_no_error (error);
      g_autoptr (McapWriter) writer = start_writer (output, &channel, &error);
      g_assert_cmpuint (add_messages (writer, channel, 2, &error), ==, 2);
      if (at_end) {
        g_assert_true (mcap_writer_finish (writer, &error));
        spoil (fixture->path, way);
        g_assert_false (mcap_output_close (output, &error));
      } else {
        spoil (fixture->path, way);
        g_assert_cmpuint (add_messages (writer, channel, 1, &error), ==, 0);
        /* Nothing is added to what is not ours any more. */
        g_assert_false (mcap_writer_finish (writer, NULL));
        mcap_output_close (output, NULL);
      }
      g_assert_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_LOST);
      if (way == REPLACE || way == CUT) {
        g_assert_true (g_file_get_contents (fixture->path, &content, &size, NULL));
        g_assert_cmpuint (size, ==, way == CUT ? 100 : strlen ("another"));
      }
      g_unlink (fixture->path);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add (
      "/mcap-output/write-once", Fixture, GINT_TO_POINTER (FALSE), setup, test_writes, teardown);
  g_test_add (
      "/mcap-output/write-for-good", Fixture, GINT_TO_POINTER (TRUE), setup, test_writes, teardown);
  g_test_add ("/mcap-output/sync", Fixture, NULL, setup, test_sync, teardown);
  g_test_add ("/mcap-output/full", Fixture, NULL, setup, test_full, teardown);
  g_test_add ("/mcap-output/lost", Fixture, NULL, setup, test_lost, teardown);
  return g_test_run ();
}
