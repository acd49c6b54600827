/* SPDX-License-Identifier: MIT */
/* Drives whose truth is known, scan by scan: simulated ones as lidartestsrc makes them, and
 * recorded ones. */
#pragma once

#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

/* Of a simulated drive, named as the properties of lidartestsrc are. */
typedef struct {
  const gchar *world;
  guint seed;
  guint noise_seed;
  guint n;
  guint rings;
  guint columns;
  double speed;
  gboolean distortion;
  guint vehicles;
} MappingSim;

typedef struct _MappingDrive MappingDrive;

/* The points stay valid until the next scan is asked for. */
typedef struct {
  NdtCloudView points;
  NdtTimeView times; /* seconds from the scan's begin; no data where scans are of one instant */
  gint64 time;       /* of @truth, nanoseconds */
  double time_on_points;
  NdtPose truth;
} MappingScan;

MappingDrive *mapping_drive_simulate (const MappingSim *sim);
/* Scans @folder/scans_all/NNNNNN.pcd with @folder/poses_all.txt of the test data; NULL where they
 * are not there: skip. */
MappingDrive *mapping_drive_read (const gchar *folder);
void mapping_drive_free (MappingDrive *drive);
guint mapping_drive_get_n (const MappingDrive *drive);
void mapping_drive_get (MappingDrive *drive, guint i, MappingScan *scan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MappingDrive, mapping_drive_free)

G_END_DECLS
