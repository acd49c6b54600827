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
#include "gst/mcap/remote/remote-file.h"

#define METADATA_NAME "metadata.yaml"

/* rosbag2 writes some hundred bytes for each topic and file. */
#define MAX_METADATA_SIZE (16u << 20)

/* Opening waits for nobody: a pipe has no end that reading could wait for. */
static int
open_regular (const gchar *path, GError **error)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about;

  if (fd < 0 || fstat (fd, &about) != 0) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN, "%s", g_strerror (errno));
  } else if (!S_ISREG (about.st_mode)) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_OPEN, "it is not a regular file");
  } else {
    return fd;
  }
  if (fd >= 0)
    close (fd);
  return -1;
}

static gchar *
read_text (const gchar *path, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const int fd = open_regular (path, error);
  gchar bytes[65536];
  gssize n = fd < 0 ? -1 : 1;

  while (n > 0 && text->len <= MAX_METADATA_SIZE) {
    n = read (fd, bytes, sizeof bytes);
    if (n > 0)
      g_string_append_len (text, bytes, n);
    else if (n < 0 && errno == EINTR)
      n = 1;
  }
  if (fd >= 0 && n < 0)
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "%s", g_strerror (errno));
  if (fd >= 0)
    close (fd);
  if (n < 0)
    return NULL;
  if (text->len > MAX_METADATA_SIZE) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED, "it has more than 16 MiB");
    return NULL;
  }
  /* Text ends at a zero. */
  return g_strdup (text->str);
}

/* FALSE without an error: there is none. @metadata is to be cleared where it is TRUE. */
static gboolean
read_metadata (const gchar *folder, BagMetadata *metadata, GError **error)
{
  g_autofree gchar *path = g_build_filename (folder, METADATA_NAME, NULL);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return FALSE;
  g_autofree gchar *text = read_text (path, error);
  if (!text) {
    g_prefix_error (error, "\"%s\" cannot be read: ", path);
    return FALSE;
  }
  bag_metadata_parse (metadata, text);
  return TRUE;
}

/* What the metadata.yaml of a folder says, read once. */
struct _BagFolders {
  GHashTable *folders; /* name: BagMetadata, NULL where there is none that can be read */
};

static void
free_metadata (gpointer metadata)
{
  if (metadata)
    bag_metadata_clear (metadata);
  g_free (metadata);
}

BagFolders *
bag_folders_new (void)
{
  BagFolders *self = g_new0 (BagFolders, 1);
  self->folders = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_metadata);
  return self;
}

void
bag_folders_free (BagFolders *self)
{
  g_hash_table_unref (self->folders);
  g_free (self);
}

gboolean
bag_folders_have_packed_messages (BagFolders *self, const gchar *path)
{
  g_autofree gchar *folder = g_path_get_dirname (path);
  g_autofree gchar *name = g_path_get_basename (path);
  gpointer value;

  if (!g_hash_table_lookup_extended (self->folders, folder, NULL, &value)) {
    BagMetadata *metadata = g_new0 (BagMetadata, 1);
    /* A file is read beside any metadata.yaml: of what cannot be read nothing is taken. */
    if (!read_metadata (folder, metadata, NULL))
      g_clear_pointer (&metadata, g_free);
    g_hash_table_insert (self->folders, g_steal_pointer (&folder), metadata);
    value = metadata;
  }
  const BagMetadata *known = value;
  return known && known->messages_are_packed && g_hash_table_contains (known->names, name);
}

/* Names of files need not be UTF-8, which sorting is of. */
static gchar *
get_sort_key (const gchar *path)
{
  g_autofree gchar *name = g_filename_display_name (path);
  return g_utf8_collate_key_for_filename (name, -1);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  g_autofree gchar *x = get_sort_key (*(gchar *const *)a);
  g_autofree gchar *y = get_sort_key (*(gchar *const *)b);
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
  GError *failure = NULL;
  const gboolean has_metadata = read_metadata (folder, &metadata, &failure);
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  const gboolean has_paths = has_metadata && metadata.paths->len > 0;
  const gboolean found = has_paths && find_listed (folder, &metadata, paths, error);
  if (has_metadata)
    bag_metadata_clear (&metadata);
  if (has_paths)
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

/* A file: URI, and ~/, which a shell expands only at the beginning of a word. */
static gchar *
expand_location (const gchar *location, GError **error)
{
  if (g_ascii_strncasecmp (location, "file:", 5) == 0) {
    g_autoptr (GError) failure = NULL;
    g_autofree gchar *host = NULL;
    g_autofree gchar *path = g_filename_from_uri (location, &host, &failure);
    if (path && (!host || g_ascii_strcasecmp (host, "localhost") == 0))
      return g_steal_pointer (&path);
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN, "\"%s\" names no file: %s", location,
        failure ? failure->message : "it is of another host");
    return NULL;
  }
  if (strstr (location, "://") && !g_file_test (location, G_FILE_TEST_EXISTS)) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN,
        "\"%s\" is no file: of URIs those of files and servers (file:///…, https://…, s3://…) are "
        "read",
        location);
    return NULL;
  }
  if (strcmp (location, "-") == 0) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_OPEN,
        "Standard input is not read as a recording: fdsrc ! mcapdemux reads MCAP from it");
    return NULL;
  }
  if (strcmp (location, "~") == 0 || g_str_has_prefix (location, "~/"))
    return g_build_filename (g_get_home_dir (), location + 1, NULL);
  return g_strdup (location);
}

gboolean
bag_files_find (const gchar *location, GPtrArray *paths, GError **error)
{
  if (remote_is_location (location)) {
    g_ptr_array_add (paths, g_strdup (location));
    return TRUE;
  }
  g_autofree gchar *path = expand_location (location, error);
  if (!path)
    return FALSE;
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return find_in_folder (path, paths, error);
  if (!g_file_test (path, G_FILE_TEST_EXISTS) && strpbrk (path, "*?[")) {
    glob_t found;
    const gboolean matches = glob (path, 0, NULL, &found) == 0;
    for (gsize i = 0; matches && i < found.gl_pathc; i++)
      g_ptr_array_add (paths, g_strdup (found.gl_pathv[i]));
    globfree (&found);
    if (!matches)
      g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "no file matches \"%s\"", path);
    return matches;
  }
  g_ptr_array_add (paths, g_steal_pointer (&path));
  return TRUE;
}

static FILE *
open_file (const gchar *path, GError **error)
{
  const int fd = open_regular (path, error);
  FILE *file = fd < 0 ? NULL : fdopen (fd, "rb");

  if (fd >= 0 && !file) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_OPEN, "%s", g_strerror (errno));
    close (fd);
  }
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
unpack_stream (FILE *in, FILE *out, guint64 limit, GError **error)
{
  const gsize in_size = ZSTD_DStreamInSize (), out_size = ZSTD_DStreamOutSize ();
  g_autofree guint8 *source = g_malloc (in_size);
  g_autofree guint8 *target = g_malloc (out_size);
  ZSTD_DStream *stream = ZSTD_createDStream ();
  const gchar *problem = NULL;
  gsize result = 1, n;
  guint64 written = 0;

  while (!problem && (n = fread (source, 1, in_size, in)) > 0) {
    ZSTD_inBuffer input = {source, n, 0};
    ZSTD_outBuffer output = {target, out_size, 0};
    do {
      output.pos = 0;
      result = ZSTD_decompressStream (stream, &output, &input);
      if (ZSTD_isError (result))
        problem = ZSTD_getErrorName (result);
      else if ((written += output.pos) > limit)
        problem = "more comes out than the property max-unpacked-size allows";
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
bag_file_unpack (const gchar *path, guint64 limit, GError **error)
{
  g_autofree gchar *target = NULL;
  const int fd = g_file_open_tmp ("rosbag-XXXXXX", &target, error);
  if (fd < 0)
    return NULL;
  FILE *out = fdopen (fd, "wb");
  FILE *in = out ? open_file (path, error) : NULL;
  const gboolean unpacked = in && unpack_stream (in, out, limit, error);
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
