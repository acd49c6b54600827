/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointcloudfilter
 * @title: pointcloudfilter
 * @short_description: removes points by where they are, how bright, by ring, or to thin clouds
 *
 * All rules that are set apply in one pass, in the order of the properties; points that stay keep
 * all of their fields and their order. Points whose coordinates are not finite never stay.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=5 ! pointcloudfilter min-range=3 leaf-size=0.5 ! fakesink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstcloudfilter.h"

#include <string.h>

#include "gst/common/gstndtviews.h"
#include "gst/common/gstpointcloudallocation.h"
#include "gstcloudfields.h"
#include "gstcloudfiltersettings.h"

GST_DEBUG_CATEGORY_STATIC (gst_cloud_filter_debug);
#define GST_CAT_DEFAULT gst_cloud_filter_debug

#define PROP_STATS GST_CLOUD_FILTER_SETTINGS_END

struct _GstCloudFilter {
  GstPointCloudFilter parent;

  /* under the object lock */
  GstCloudFilterSettings settings;
  guint64 n_scans;
  guint64 n_bad;
  guint64 n_points;
  guint64 n_removed[NDT_CLOUD_FILTER_N_REASONS];

  /* streaming thread */
  NdtCloudFilter *filter;
  GstPointCloudAllocation *allocation;
  GArray *values; /* gdouble: intensities and rings of a scan */
  gchar *missing; /* the field that the last warning named */
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstCloudFilter, gst_cloud_filter, GST_TYPE_POINT_CLOUD_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    pointcloudfilter, "pointcloudfilter", GST_RANK_NONE, GST_TYPE_CLOUD_FILTER)

/* What leaves has as many points as are left: no width and height. */
static GstCaps *
gst_cloud_filter_transform_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *out = gst_caps_copy (caps);

  for (guint i = 0; i < gst_caps_get_size (out); i++)
    gst_structure_remove_fields (gst_caps_get_structure (out, i), "width", "height", NULL);
  if (filter) {
    GstCaps *filtered = gst_caps_intersect_full (filter, out, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (out);
    out = filtered;
  }
  return out;
}

static gboolean
gst_cloud_filter_set_info (GstPointCloudFilter *filter, GstCaps *in_caps,
    const GstPointCloudInfo *in_info, GstCaps *out_caps, const GstPointCloudInfo *out_info)
{
  g_autoptr (GError) error = NULL;

  if (gst_point_cloud_info_has_xyz (in_info, &error))
    return TRUE;
  GST_ELEMENT_ERROR (filter, STREAM, FORMAT, ("These are no points: %s.", error->message), (NULL));
  return FALSE;
}

/* A field of all points at @values; NULL where there is none, after a warning, once. */
static const gdouble *
read_field (GstCloudFilter *self, const GstPointCloudMap *map, const gchar *name,
    const gchar *property, gdouble *values)
{
  const GstPointField *field = gst_point_cloud_info_find_field (&map->info, name ? name : "");

  if (field) {
    gst_cloud_field_read (
        map->data + field->offset, map->info.point_step, field->type, FALSE, map->n_points, values);
    return values;
  }
  if (g_strcmp0 (self->missing, name) != 0) {
    g_free (self->missing);
    self->missing = g_strdup (name);
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The points have no field \"%s\": “%s” does nothing.", name ? name : "", property),
        (NULL));
  }
  return NULL;
}

static GstBuffer *
make_buffer (GstCloudFilter *self, GstBuffer *in, const guint8 *points, gsize size)
{
  GstBuffer *out =
      gst_point_cloud_allocation_take (self->allocation, g_memdup2 (points, MAX (size, 1)), size);

  gst_buffer_copy_into (
      out, in, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_META, 0, -1);
  return out;
}

static void
put_centroids (GstCloudFilter *self, const GstPointCloudInfo *info, guint8 *points, gsize n)
{
  static const gchar *const names[] = {"x", "y", "z"};
  const GstPointField *fields[3];

  for (guint k = 0; k < 3; k++)
    fields[k] = gst_point_cloud_info_find_field (info, names[k]);
  for (gsize i = 0; i < n; i++) {
    gdouble p[3];
    ndt_cloud_filter_get_centroid (self->filter, i, p);
    for (guint k = 0; k < 3; k++)
      gst_cloud_field_write (points + i * info->point_step + fields[k]->offset, info->point_step,
          fields[k]->type, FALSE, 1, &p[k]);
  }
}

/* Moves the points that stay to the front of the @out bytes; the same memory or another. */
static void
gather (const GstPointCloudMap *map, const guint32 *indices, gsize n, guint8 *out)
{
  const gsize step = map->info.point_step;

  for (gsize i = 0; i < n; i++)
    if (out != map->data || indices[i] != i)
      memcpy (out + i * step, map->data + indices[i] * step, step);
}

typedef struct {
  const guint32 *indices;
  gsize n;
  gboolean with_centroids;
} Choice;

/* A snapshot. Of boxes that were set while scans come and cannot be read a warning tells, once. */
static void
take_settings (GstCloudFilter *self, GstCloudFilterSettings *settings)
{
  GST_OBJECT_LOCK (self);
  gst_cloud_filter_settings_copy (&self->settings, settings);
  for (guint i = 0; i < 2; i++)
    g_clear_pointer (&self->settings.box_errors[i], g_free);
  GST_OBJECT_UNLOCK (self);
  for (guint i = 0; i < 2; i++)
    if (settings->box_errors[i])
      GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
          ("A box of %s is left out: %s.", i == 0 ? "include-boxes" : "exclude-boxes",
              settings->box_errors[i]),
          (NULL));
}

/* FALSE after an error message. */
static gboolean
choose (GstCloudFilter *self, const GstPointCloudMap *map, GstBuffer *buffer, Choice *choice)
{
  guint64 n_removed[NDT_CLOUD_FILTER_N_REASONS] = {0};
  guint32 bits[NDT_CLOUD_FILTER_RINGS / 32];
  g_autoptr (GError) error = NULL;
  GstCloudFilterSettings settings;
  const NdtCloudView points = gst_ndt_view_points (map);

  take_settings (self, &settings);
  NdtCloudFilterRules rules = {
      .min_range = settings.min_range,
      .max_range = settings.max_range,
      .include = (const gdouble *)(gconstpointer)settings.include->data,
      .n_include = settings.include->len / 6,
      .exclude = (const gdouble *)(gconstpointer)settings.exclude->data,
      .n_exclude = settings.exclude->len / 6,
      .min_intensity = settings.min_intensity,
      .max_intensity = settings.max_intensity,
      .ring_bits = bits,
      .nth = settings.nth,
      .fraction = settings.fraction,
      .seed = settings.seed ^ GST_BUFFER_PTS (buffer),
      .leaf = settings.leaf,
      .with_centroids = settings.leaf_point == GST_CLOUD_LEAF_CENTROID,
  };
  const gboolean want_intensity = gst_cloud_filter_settings_want_intensity (&settings);
  g_array_set_size (
      self->values, (want_intensity || settings.rings->len > 0) ? (guint)(2 * map->n_points) : 0);
  gdouble *values = (gdouble *)(gpointer)self->values->data;
  if (want_intensity)
    rules.intensities =
        read_field (self, map, settings.intensity_field, "min-intensity, max-intensity", values);
  if (settings.rings->len > 0) {
    memset (bits, 0, sizeof bits);
    for (guint i = 0; i < settings.rings->len; i++) {
      const guint ring = g_array_index (settings.rings, guint, i);
      bits[ring / 32] |= 1u << ring % 32;
    }
    rules.rings = read_field (self, map, "ring", "rings", values + map->n_points);
  }
  const gboolean done = ndt_cloud_filter_run (
      self->filter, &rules, &points, &choice->indices, &choice->n, n_removed, &error);
  choice->with_centroids = settings.leaf > 0 && settings.leaf_point == GST_CLOUD_LEAF_CENTROID;
  gst_cloud_filter_settings_clear (&settings);
  if (!done) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, NO_SPACE_LEFT, ("A scan cannot be filtered: %s.", error->message), (NULL));
    return FALSE;
  }
  GST_OBJECT_LOCK (self);
  self->n_scans++;
  self->n_points += map->n_points;
  for (guint i = 0; i < NDT_CLOUD_FILTER_N_REASONS; i++)
    self->n_removed[i] += n_removed[i];
  GST_OBJECT_UNLOCK (self);
  GST_LOG_OBJECT (self,
      "scan at %" GST_TIME_FORMAT ": %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " points stay",
      GST_TIME_ARGS (GST_BUFFER_PTS (buffer)), choice->n, map->n_points);
  return TRUE;
}

/* In place where nobody else has the memory; into downstream's pool or memory of its own
 * otherwise. (transfer full) of @buffer. */
static GstBuffer *
filter_scan (GstCloudFilter *self, GstBuffer *buffer, GError **error)
{
  const GstPointCloudInfo *info = gst_point_cloud_filter_get_in_info (&self->parent);
  const gboolean in_place =
      gst_buffer_is_writable (buffer) && gst_buffer_is_all_memory_writable (buffer);
  GstPointCloudMap map;
  Choice choice;

  if (!gst_point_cloud_map (
          &map, info, buffer, in_place ? GST_MAP_READWRITE : GST_MAP_READ, error)) {
    gst_buffer_unref (buffer);
    return NULL;
  }
  if (!choose (self, &map, buffer, &choice)) {
    gst_point_cloud_unmap (&map);
    gst_buffer_unref (buffer);
    return NULL;
  }
  const gsize size = choice.n * info->point_step;
  g_autofree guint8 *copy = in_place ? NULL : g_malloc (MAX (size, 1));
  guint8 *out = in_place ? map.data : copy;
  gather (&map, choice.indices, choice.n, out);
  if (choice.with_centroids)
    put_centroids (self, info, out, choice.n);
  gst_point_cloud_unmap (&map);
  if (in_place) {
    gst_buffer_set_size (buffer, (gssize)size);
  } else {
    GstBuffer *filtered = make_buffer (self, buffer, out, size);
    gst_buffer_unref (buffer);
    buffer = filtered;
  }
  GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
  return buffer;
}

static GstFlowReturn
gst_cloud_filter_generate_output (GstBaseTransform *transform, GstBuffer **out)
{
  GstCloudFilter *self = GST_CLOUD_FILTER (transform);
  g_autoptr (GError) error = NULL;
  GstBuffer *buffer = g_steal_pointer (&transform->queued_buf);

  *out = NULL;
  if (!buffer)
    return GST_FLOW_OK;
  *out = filter_scan (self, buffer, &error);
  if (*out)
    return GST_FLOW_OK;
  if (!error)
    return GST_FLOW_ERROR;
  GST_OBJECT_LOCK (self);
  self->n_bad++;
  GST_OBJECT_UNLOCK (self);
  GST_ELEMENT_WARNING (self, STREAM, DECODE, ("A scan is left out: %s.", error->message), (NULL));
  return GST_FLOW_OK;
}

static gboolean
gst_cloud_filter_start (GstBaseTransform *transform)
{
  GstCloudFilter *self = GST_CLOUD_FILTER (transform);

  GST_OBJECT_LOCK (self);
  g_autofree gchar *trouble = g_strdup (
      self->settings.box_errors[0] ? self->settings.box_errors[0] : self->settings.box_errors[1]);
  self->n_scans = self->n_bad = self->n_points = 0;
  memset (self->n_removed, 0, sizeof self->n_removed);
  GST_OBJECT_UNLOCK (self);
  if (trouble) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("A box of include-boxes or exclude-boxes cannot be read: %s.", trouble), (NULL));
    return FALSE;
  }
  g_clear_pointer (&self->missing, g_free);
  return GST_BASE_TRANSFORM_CLASS (gst_cloud_filter_parent_class)->start (transform);
}

static gboolean
gst_cloud_filter_stop (GstBaseTransform *transform)
{
  gst_point_cloud_allocation_reset (GST_CLOUD_FILTER (transform)->allocation);
  return TRUE;
}

/* ---- Properties ---- */

static void
gst_cloud_filter_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCloudFilter *self = GST_CLOUD_FILTER (object);

  GST_OBJECT_LOCK (self);
  const gboolean known = gst_cloud_filter_settings_set (&self->settings, id, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static GstStructure *
make_stats (GstCloudFilter *self)
{
  /* In the order of NdtCloudFilterReason. */
  static const gchar *const names[] = {
      "not-finite", "range", "box", "intensity", "ring", "nth", "random", "leaf"};
  G_STATIC_ASSERT (G_N_ELEMENTS (names) == NDT_CLOUD_FILTER_N_REASONS);
  GstStructure *stats =
      gst_structure_new ("application/x-pointcloudfilter-stats", "scans", G_TYPE_UINT64,
          self->n_scans, "bad", G_TYPE_UINT64, self->n_bad, "points", G_TYPE_UINT64, self->n_points,
          "cut", G_TYPE_UINT64, gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    gst_structure_set (stats, names[i], G_TYPE_UINT64, self->n_removed[i], NULL);
  return stats;
}

static void
gst_cloud_filter_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCloudFilter *self = GST_CLOUD_FILTER (object);
  gboolean known = TRUE;

  GST_OBJECT_LOCK (self);
  if (id == PROP_STATS)
    g_value_take_boxed (value, make_stats (self));
  else
    known = gst_cloud_filter_settings_get (&self->settings, id, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
gst_cloud_filter_finalize (GObject *object)
{
  GstCloudFilter *self = GST_CLOUD_FILTER (object);

  gst_cloud_filter_settings_clear (&self->settings);
  gst_point_cloud_allocation_free (self->allocation);
  ndt_cloud_filter_free (self->filter);
  g_array_unref (self->values);
  g_free (self->missing);
  G_OBJECT_CLASS (gst_cloud_filter_parent_class)->finalize (object);
}

static void
gst_cloud_filter_class_init (GstCloudFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_cloud_filter_set_property;
  object_class->get_property = gst_cloud_filter_get_property;
  object_class->finalize = gst_cloud_filter_finalize;
  gst_cloud_filter_settings_install (object_class);
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: scans, bad (left out), points (that came), and those removed by "
          "not-finite, range, box, intensity, ring, nth, random, leaf",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Point cloud filter",
      "Filter/Effect/PointCloud", "Removes points by place, intensity and ring, and thins clouds",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);

  transform_class->passthrough_on_same_caps = FALSE;
  transform_class->transform_caps = gst_cloud_filter_transform_caps;
  transform_class->generate_output = gst_cloud_filter_generate_output;
  transform_class->start = gst_cloud_filter_start;
  transform_class->stop = gst_cloud_filter_stop;
  GST_POINT_CLOUD_FILTER_CLASS (klass)->set_info = gst_cloud_filter_set_info;

  GST_DEBUG_CATEGORY_INIT (gst_cloud_filter_debug, "pointcloudfilter", 0, "filter of points");
}

static void
gst_cloud_filter_init (GstCloudFilter *self)
{
  gst_cloud_filter_settings_init (&self->settings);
  self->filter = ndt_cloud_filter_new ();
  self->values = g_array_new (FALSE, FALSE, sizeof (gdouble));
  self->allocation = gst_point_cloud_allocation_new (GST_BASE_TRANSFORM_SRC_PAD (self));
}
