/* SPDX-License-Identifier: MIT */
/* Properties of pointcloudfilter. */
#pragma once

#include <gst/gst.h>

#include "ndtcore/scan/ndt-cloud-filter.h"

G_BEGIN_DECLS

/* What stands for the points of a leaf. */
typedef enum { GST_CLOUD_LEAF_CENTROID, GST_CLOUD_LEAF_FIRST } GstCloudLeafPoint;

typedef struct {
  GArray *include; /* doubles, six a box */
  GArray *exclude;
  gchar *box_errors[2]; /* nullable: why a box of either could not be read */
  gdouble min_range, max_range;
  gdouble min_intensity, max_intensity;
  gchar *intensity_field;
  GArray *rings; /* guint */
  guint nth;
  gdouble fraction;
  guint64 seed;
  gdouble leaf;
  GstCloudLeafPoint leaf_point;
} GstCloudFilterSettings;

/* The number of the first property that is none of these. */
#define GST_CLOUD_FILTER_SETTINGS_END 32

void gst_cloud_filter_settings_init (GstCloudFilterSettings *settings);
void gst_cloud_filter_settings_clear (GstCloudFilterSettings *settings);
void gst_cloud_filter_settings_copy (
    const GstCloudFilterSettings *settings, GstCloudFilterSettings *copy);
void gst_cloud_filter_settings_install (GObjectClass *klass);
/* FALSE where @id is no property of these. */
gboolean gst_cloud_filter_settings_set (
    GstCloudFilterSettings *settings, guint id, const GValue *value);
gboolean gst_cloud_filter_settings_get (
    const GstCloudFilterSettings *settings, guint id, GValue *value);
/* Does any of them ask for intensities? */
gboolean gst_cloud_filter_settings_want_intensity (const GstCloudFilterSettings *settings);

G_END_DECLS
