/* SPDX-License-Identifier: MIT */
/* ndt-replay: a recorded drive through ndtlocalize, as a program. */
#pragma once

#include <gst/gst.h>
#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* The exit status. A scheduler may try 1, 6 and 130 again; 3, 4 and 5 stay what they are. */
typedef enum {
  NDT_REPLAY_LOCALIZED = 0,
  NDT_REPLAY_FAILED = 1, /* something that is none of the others */
  NDT_REPLAY_USAGE = 2,
  NDT_REPLAY_NOT_LOCALIZED = 3,
  NDT_REPLAY_BAD_INPUT = 4,
  NDT_REPLAY_NO_MAP = 5,
  NDT_REPLAY_ENVIRONMENT = 6, /* a full disk, no memory, a missing plugin, a lost device */
  NDT_REPLAY_INTERRUPTED = 130,
} NdtReplayResult;

/* The nick in the report: "localized", … */
const gchar *ndt_replay_result_get_name (NdtReplayResult result);

#define NDT_REPLAY_ERROR (ndt_replay_error_quark ())
/* Codes are those of NdtReplayResult. */
GQuark ndt_replay_error_quark (void);

typedef enum { NDT_REPLAY_BAG, NDT_REPLAY_CAPTURE, NDT_REPLAY_FOLDER } NdtReplayKind;

typedef struct {
  gchar *recording;
  gchar *map;
  gchar *start;       /* "auto", "search" or a pose */
  gchar *folder;      /* of the results */
  GStrv properties;   /* of ndtlocalize, NAME=VALUE */
  gchar *topic;       /* of the clouds; NULL: the first */
  gchar *prefix;      /* of the topics that are added */
  gchar *start_topic; /* of a first pose */
  gchar *starts;      /* table of first poses; NULL: none */
  gchar *decoder;     /* of a capture, with its properties; NULL: none */
  gchar *reference;   /* trajectory that errors are computed against; NULL: none */
  gdouble rate;       /* scans a second of a folder of PCD files */
  gboolean realtime;
  gboolean resume;
  gchar *cache; /* folder of parts of a recording on a server; NULL: it is none */
} NdtReplayOptions;

/* What the recording is, by its first bytes; on a server it is a bag. */
gboolean ndt_replay_find_kind (const gchar *recording, NdtReplayKind *kind, GError **error);
/* PCD files of a folder, numbers in their names by their value. */
GPtrArray *ndt_replay_list_scans (const gchar *folder, GError **error);

typedef struct {
  const gchar *source; /* "given", "table", "recording", "search" */
  gchar *detail;       /* the topic or the file; NULL: none */
  gchar *pose;         /* as initial-pose has it; NULL: none */
  gchar *uncertainty;  /* as initial-pose-uncertainty has it; NULL: the default */
} NdtReplayStart;

void ndt_replay_start_clear (NdtReplayStart *self);
/* Where the drive begins. */
gboolean ndt_replay_find_start (
    NdtReplayStart *self, const NdtReplayOptions *options, NdtReplayKind kind, GError **error);

typedef struct {
  GstClockTime time; /* of the pose; GST_CLOCK_TIME_NONE: not known */
  GstPoseStatus status;
  gboolean has_pose;
  gdouble position[3];
  gdouble transformation_probability;
  gdouble nvtl;
  gdouble matched_ratio;
} NdtReplayScan;

typedef struct {
  GArray *scans;  /* NdtReplayScan, in order: counts of them are the summary's */
  gchar *backend; /* that ran, "cpu" or "cuda"; NULL: not known */
  guint n_warnings;
  gchar *warning;        /* the first; NULL: none */
  GstStructure *summary; /* ndtlocalize's at the end of the stream; NULL: it did not come */
  gboolean interrupted;
} NdtReplayRun;

void ndt_replay_run_clear (NdtReplayRun *self);
/* Runs the drive and writes trajectory.txt, trajectory.csv, and the poses (of a bag) or the clouds
 * with their poses (of others) to @recorded, an MCAP file. */
gboolean ndt_replay_run (NdtReplayRun *self, const NdtReplayOptions *options, NdtReplayKind kind,
    const NdtReplayStart *start, const gchar *recorded, GError **error);

/* A number of the summary; 0 where it did not come. */
guint64 ndt_replay_get_count (const NdtReplayRun *run, const gchar *name);

/* Whether the drive is localized, by the summary: scans came, at least half of them were tracked,
 * and the last one is not lost. FALSE: @problem says why. */
gboolean ndt_replay_judge (const NdtReplayRun *run, const gchar **problem);

/* sha256 and size of a file, or of the list "SHA256  NAME" that sha256sum prints for the files of a
 * folder in the order of their names. Of a file on a server "etag:" and its ETag, for which its
 * first part is fetched. NULL: it cannot be read (@error), or a server has no strong ETag. */
gchar *ndt_replay_digest (const gchar *path, const gchar *cache, guint64 *size, GError **error);

/* Results on a server: FOLDER/report.json of @location to @folder, FALSE where there is none; the
 * files of @folder to @location, the report last. */
gboolean ndt_replay_fetch_report (const gchar *location, const gchar *folder);
gboolean ndt_replay_send_results (const gchar *folder, const gchar *location, GError **error);

/* Of the scans that are tracked and have a reference, as trajectorysink wrote them to
 * FOLDER/trajectory.csv. */
typedef struct {
  guint n;
  gdouble mean_m;
  gdouble mean_deg;
  gdouble max_m;
} NdtReplayErrors;

void ndt_replay_read_errors (const gchar *folder, NdtReplayErrors *errors);

typedef struct {
  const NdtReplayOptions *options;
  gchar *recording_sha256; /* NULL: not known */
  gchar *map_sha256;
  guint64 recording_size;
  guint64 map_size;
  const NdtReplayStart *start;
  const NdtReplayRun *run;
  NdtReplayResult result;
  const gchar *problem; /* NULL: none */
} NdtReplayReport;

/* The report as one JSON object, ended by a line feed. It has nothing that differs between two runs
 * of the same input, so that reports may be compared. */
gchar *ndt_replay_report_to_json (const NdtReplayReport *report);
/* Whether FOLDER/report.json is of the same input, map, parameters and versions, so that the drive
 * is done; @result: how it ended. */
gboolean ndt_replay_report_is_done (const NdtReplayReport *report, NdtReplayResult *result);

G_END_DECLS
