/* SPDX-License-Identifier: MIT */
#include "bag-files.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "bag-metadata.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-records.h"

#define METADATA_NAME "metadata.yaml"

/* FALSE where there is no such file. */
static gboolean
read_metadata (const gchar *folder, BagMetadata *metadata)
{
  g_autofree gchar *path = g_build_filename (folder, METADATA_NAME, NULL);
  g_autofree gchar *text = NULL;
  const gboolean found = g_file_get_contents (path, &text, NULL, NULL);

  bag_metadata_parse (metadata, found ? text : "");
  return found;
}

gboolean
bag_file_has_packed_messages (const gchar *path)
{
  g_autofree gchar *folder = g_path_get_dirname (path);
  g_autofree gchar *name = g_path_get_basename (path);
  BagMetadata metadata;
  gboolean listed = FALSE;

  if (read_metadata (folder, &metadata) && metadata.messages_are_packed)
    for (guint i = 0; i < metadata.paths->len; i++) {
      g_autofree gchar *other = g_path_get_basename (g_ptr_array_index (metadata.paths, i));
      listed = listed || strcmp (name, other) == 0;
    }
  bag_metadata_clear (&metadata);
  return listed;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  g_autofree gchar *x = g_utf8_collate_key_for_filename (*(gchar *const *)a, -1);
  g_autofree gchar *y = g_utf8_collate_key_for_filename (*(gchar *const *)b, -1);
  return strcmp (x, y);
}

/* The files that metadata.yaml lists; bags of before version 4 name them from the folder above. */
static gboolean
find_listed (const gchar *folder, const BagMetadata *metadata, GPtrArray *paths, GError **error)
{
  for (guint i = 0; i < metadata->paths->len; i++) {
    const gchar *listed = g_ptr_array_index (metadata->paths, i);
    g_autofree gchar *name = g_path_get_basename (listed);
    g_autofree gchar *path =
        g_path_is_absolute (listed) ? g_strdup (listed) : g_build_filename (folder, listed, NULL);
    if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
      g_free (path);
      path = g_build_filename (folder, name, NULL);
    }
    if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ,
          "\"%s/" METADATA_NAME "\" lists \"%s\", which is not there", folder, listed);
      return FALSE;
    }
    g_ptr_array_add (paths, g_steal_pointer (&path));
  }
  return TRUE;
}

static gboolean
find_in_folder (const gchar *folder, GPtrArray *paths, GError **error)
{
  static const gchar *const suffixes[] = {".mcap", ".db3", ".mcap.zstd", ".db3.zstd"};
  BagMetadata metadata;
  const gboolean has_metadata = read_metadata (folder, &metadata) && metadata.paths->len > 0;
  const gboolean found = !has_metadata || find_listed (folder, &metadata, paths, error);
  bag_metadata_clear (&metadata);
  if (has_metadata)
    return found;

  g_autoptr (GDir) dir = g_dir_open (folder, 0, error);
  if (!dir)
    return FALSE;
  const guint first = paths->len;
  const gchar *name;
  while ((name = g_dir_read_name (dir)))
    for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
      if (g_str_has_suffix (name, suffixes[i]))
        g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  if (paths->len == first) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ,
        "The folder \"%s\" has neither " METADATA_NAME " nor .mcap or .db3 files", folder);
    return FALSE;
  }
  if (first == 0)
    g_ptr_array_sort (paths, compare_names);
  return TRUE;
}

gboolean
bag_files_find (const gchar *location, GPtrArray *paths, GError **error)
{
  if (g_file_test (location, G_FILE_TEST_IS_DIR))
    return find_in_folder (location, paths, error);
  if (!g_file_test (location, G_FILE_TEST_EXISTS) && strpbrk (location, "*?[")) {
    glob_t found;
    const gboolean matches = glob (location, 0, NULL, &found) == 0;
    for (gsize i = 0; matches && i < found.gl_pathc; i++)
      g_ptr_array_add (paths, g_strdup (found.gl_pathv[i]));
    globfree (&found);
    if (!matches)
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "no file matches \"%s\"", location);
    return matches;
  }
  g_ptr_array_add (paths, g_strdup (location));
  return TRUE;
}

/* Opening waits for nobody: a pipe has no index that reading could begin with. */
static FILE *
open_file (const gchar *path, GError **error)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about;
  FILE *file = NULL;

  if (fd >= 0 && fstat (fd, &about) == 0 && !S_ISREG (about.st_mode))
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_OPEN, "it is not a regular file");
  else if (fd < 0 || !(file = fdopen (fd, "rb")))
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN, "%s", g_strerror (errno));
  if (fd >= 0 && !file)
    close (fd);
  return file;
}

BagFileKind
bag_file_get_kind (const gchar *path, GError **error)
{
  static const gchar sqlite[16] = "SQLite format 3";
  guint8 bytes[16];

  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_READ, "it is a folder");
    return BAG_FILE_UNKNOWN;
  }
  FILE *file = open_file (path, error);
  if (!file)
    return BAG_FILE_UNKNOWN;
  const gsize n = fread (bytes, 1, sizeof bytes, file);
  fclose (file);
  if (n >= MCAP_MAGIC_SIZE && memcmp (bytes, MCAP_MAGIC, MCAP_MAGIC_SIZE) == 0)
    return BAG_FILE_MCAP;
  if (n == sizeof bytes && memcmp (bytes, sqlite, sizeof sqlite) == 0)
    return BAG_FILE_SQLITE;
  if (n >= 4 && memcmp (bytes, "\x28\xb5\x2f\xfd", 4) == 0)
    return BAG_FILE_ZSTD;
  if (n >= 8 && memcmp (bytes, "#ROSBAG ", 8) == 0) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "it is a bag of ROS 1, which has to be converted to ROS 2 (rosbags-convert)");
    return BAG_FILE_UNKNOWN;
  }
  g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_FORMAT,
      n == 0 ? "it is empty" : "it is neither MCAP nor one of rosbag2's SQLite3 files");
  return BAG_FILE_UNKNOWN;
}

static gboolean
unpack_stream (FILE *in, FILE *out, GError **error)
{
  const gsize in_size = ZSTD_DStreamInSize (), out_size = ZSTD_DStreamOutSize ();
  g_autofree guint8 *source = g_malloc (in_size);
  g_autofree guint8 *target = g_malloc (out_size);
  ZSTD_DStream *stream = ZSTD_createDStream ();
  const gchar *problem = NULL;
  gsize result = 1, n;

  while (!problem && (n = fread (source, 1, in_size, in)) > 0) {
    ZSTD_inBuffer input = {source, n, 0};
    ZSTD_outBuffer output = {target, out_size, 0};
    do {
      output.pos = 0;
      result = ZSTD_decompressStream (stream, &output, &input);
      if (ZSTD_isError (result))
        problem = ZSTD_getErrorName (result);
      else if (fwrite (target, 1, output.pos, out) != output.pos)
        problem = g_strerror (errno);
    } while (!problem && (input.pos < input.size || output.pos == out_size));
  }
  if (!problem && ferror (in))
    problem = g_strerror (errno);
  else if (!problem && result != 0)
    problem = "it was cut off";
  else if (!problem && fflush (out) != 0)
    problem = g_strerror (errno);
  ZSTD_freeDStream (stream);
  if (problem)
    g_set_error (
        error, MCAP_ERROR, MCAP_ERROR_READ, "its zstd data cannot be unpacked: %s", problem);
  return problem == NULL;
}

gchar *
bag_file_unpack (const gchar *path, GError **error)
{
  g_autofree gchar *target = NULL;
  const int fd = g_file_open_tmp ("rosbag-XXXXXX", &target, error);
  if (fd < 0)
    return NULL;
  FILE *out = fdopen (fd, "wb");
  FILE *in = out ? open_file (path, error) : NULL;
  const gboolean unpacked = in && unpack_stream (in, out, error);
  if (in)
    fclose (in);
  if (out)
    fclose (out);
  else
    close (fd);
  if (!unpacked) {
    g_unlink (target);
    if (error && !*error)
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "%s", g_strerror (errno));
    return NULL;
  }
  return g_steal_pointer (&target);
}
