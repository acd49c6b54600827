/* SPDX-License-Identifier: MIT */
#include "ndt-scan-process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Floats of a scan, at most: what rosbagsrc lets through by default, 256 MiB. */
#define MAX_FLOATS (G_GUINT64_CONSTANT (1) << 26)
#define MAX_TEXT 65536

struct _NdtScanProcess {
  gchar *recording;
  GPid pid; /* 0: waited for */
  FILE *in;
  GArray *values;
  gboolean has_begun; /* the magic was read */
  gchar *poses;
};

/* Beside this program, else by PATH. */
static gchar *
find_program (void)
{
  g_autofree gchar *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree gchar *folder = self ? g_path_get_dirname (self) : NULL;
  g_autofree gchar *beside = folder ? g_build_filename (folder, "ndt-scans", NULL) : NULL;
  if (beside && g_file_test (beside, G_FILE_TEST_IS_EXECUTABLE))
    return g_steal_pointer (&beside);
  return g_find_program_in_path ("ndt-scans");
}

static void
add_option (GPtrArray *arguments, const gchar *name, const gchar *value)
{
  if (value)
    g_ptr_array_add (arguments, g_strconcat (name, "=", value, NULL));
}

NdtScanProcess *
ndt_scan_process_new (const gchar *recording, const NdtScanOptions *options, GError **error)
{
  g_autoptr (GPtrArray) arguments = g_ptr_array_new_with_free_func (g_free);
  g_autofree gchar *program = find_program ();
  g_autoptr (GError) cause = NULL;
  GPid pid;
  gint out;

  if (!program) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO,
        "%s is a recording, and ndt-scans, which reads these, is not installed beside ndt-map or "
        "in PATH",
        recording);
    return NULL;
  }
  g_ptr_array_add (arguments, g_steal_pointer (&program));
  add_option (arguments, "--topic", options->topic);
  add_option (arguments, "--decoder", options->decoder);
  add_option (arguments, "--pose-topic", options->pose_topic);
  add_option (arguments, "--sensor-pose", options->sensor_pose);
  if (options->with_poses && !options->trajectory)
    g_ptr_array_add (arguments, g_strdup (options->with_fixes ? "--fixes" : "--poses"));
  add_option (arguments, "--map-origin", options->map_origin);
  g_ptr_array_add (arguments, g_strdup ("--"));
  g_ptr_array_add (arguments, g_strdup (recording));
  g_ptr_array_add (arguments, NULL);
  if (!g_spawn_async_with_pipes (NULL, (gchar **)arguments->pdata, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
          NULL, NULL, &pid, NULL, &out, NULL, &cause)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: ndt-scans cannot be run: %s", recording,
        cause->message);
    return NULL;
  }
  NdtScanProcess *process = g_new0 (NdtScanProcess, 1);
  process->recording = g_strdup (recording);
  process->pid = pid;
  process->in = fdopen (out, "rb");
  process->values = g_array_new (FALSE, FALSE, sizeof (float));
  return process;
}

/* The pipe is closed first: a program that still writes to it would never end. */
static gint
wait_for (NdtScanProcess *process)
{
  gint status = 0;
  g_clear_pointer (&process->in, fclose);
  if (process->pid != 0)
    waitpid (process->pid, &status, 0);
  process->pid = 0;
  return status;
}

void
ndt_scan_process_free (NdtScanProcess *process)
{
  if (process->pid != 0)
    kill (process->pid, SIGTERM);
  wait_for (process);
  g_array_unref (process->values);
  g_free (process->poses);
  g_free (process->recording);
  g_free (process);
}

static gboolean
broke_off (NdtScanProcess *process, GError **error)
{
  const gint status = wait_for (process);
  g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: ndt-scans, which reads it, ended (%s %d)",
      process->recording, WIFSIGNALED (status) ? "signal" : "exit status",
      WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
  return FALSE;
}

/* The last record's text. */
static gchar *
read_text (NdtScanProcess *process, guint32 n)
{
  gchar *text = g_malloc0 (MIN (n, MAX_TEXT) + 1);
  if (n <= MAX_TEXT && fread (text, 1, n, process->in) == n)
    return text;
  g_free (text);
  return NULL;
}

gboolean
ndt_scan_process_next (
    NdtScanProcess *process, NdtScanRecord *record, const float **values, GError **error)
{
  char magic[sizeof NDT_SCAN_STREAM_MAGIC - 1];
  if (process->pid == 0 || !process->in)
    return FALSE;
  if (!process->has_begun) {
    if (fread (magic, 1, sizeof magic, process->in) != sizeof magic)
      return broke_off (process, error);
    if (memcmp (magic, NDT_SCAN_STREAM_MAGIC, sizeof magic) != 0) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
          "%s: the ndt-scans that reads it is of another version than this program",
          process->recording);
      return FALSE;
    }
    process->has_begun = TRUE;
  }
  if (fread (record, sizeof *record, 1, process->in) != 1)
    return broke_off (process, error);
  if (record->kind != NDT_SCAN_RECORD_SCAN) {
    g_autofree gchar *text = read_text (process, record->n_points);
    wait_for (process);
    if (text && record->kind == NDT_SCAN_RECORD_END) {
      g_free (process->poses);
      process->poses = g_steal_pointer (&text);
    } else {
      g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s: %s", process->recording,
          text ? text : "what ndt-scans says of it is not understood");
    }
    return FALSE;
  }
  const guint64 n = (guint64)record->n_points * (record->has_times ? 4 : 3);
  if (n > MAX_FLOATS) {
    wait_for (process);
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "%s: a scan of %u points is larger than 256 MiB, which is the limit", process->recording,
        record->n_points);
    return FALSE;
  }
  g_array_set_size (process->values, (guint)n);
  if (fread (process->values->data, sizeof (float), n, process->in) != n)
    return broke_off (process, error);
  *values = (const float *)(gpointer)process->values->data;
  return TRUE;
}

const gchar *
ndt_scan_process_get_poses (const NdtScanProcess *process)
{
  return process->pid == 0 && process->poses && process->poses[0] ? process->poses : NULL;
}
