/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What a recording may take of its reader. */
typedef struct {
  guint64 max_record_size;   /* bytes of a record, of a chunk unpacked, of a message */
  guint64 max_unpacked_size; /* bytes of temporary files that compressed files are unpacked into */
  guint max_query_time;      /* s that a query of an SQLite file may take */
  guint max_open_time;       /* s that all may take until bag_merger_end_opening() */
  const gchar *cache;        /* folder that parts of files on servers are kept in; NULL: memory */
} BagLimits;

#define BAG_DEFAULT_MAX_RECORD_SIZE (G_GUINT64_CONSTANT (256) << 20)
#define BAG_DEFAULT_MAX_UNPACKED_SIZE (G_GUINT64_CONSTANT (64) << 30)
#define BAG_DEFAULT_MAX_QUERY_TIME 60
#define BAG_DEFAULT_MAX_OPEN_TIME 300

#define BAG_LIMITS_INIT                                                                            \
  {                                                                                                \
    BAG_DEFAULT_MAX_RECORD_SIZE, BAG_DEFAULT_MAX_UNPACKED_SIZE, BAG_DEFAULT_MAX_QUERY_TIME,        \
        BAG_DEFAULT_MAX_OPEN_TIME, NULL                                                            \
  }

G_END_DECLS
