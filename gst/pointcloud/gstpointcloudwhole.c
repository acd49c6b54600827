/* SPDX-License-Identifier: MIT */
#include "gstpointcloudbuffer.h"

/* Between two warnings of an element. */
#define WARNING_INTERVAL (5 * G_USEC_PER_SEC)

typedef struct {
  guint64 n;     /* scans that were cut */
  gint64 warned; /* monotonic time, µs; 0: never */
} Cuts;

/* Pads may have threads of their own, and statistics are asked for under the object lock. */
static GMutex lock;

static GQuark
get_quark (void)
{
  static gsize quark;

  if (g_once_init_enter (&quark))
    g_once_init_leave (&quark, g_quark_from_static_string ("gst-point-cloud-cuts"));
  return (GQuark)quark;
}

/* Whether it is time to warn. */
static gboolean
count (GstElement *element, guint64 *n)
{
  const gint64 now = g_get_monotonic_time ();

  g_mutex_lock (&lock);
  Cuts *cuts = g_object_get_qdata (G_OBJECT (element), get_quark ());
  if (!cuts) {
    cuts = g_new0 (Cuts, 1);
    g_object_set_qdata_full (G_OBJECT (element), get_quark (), cuts, g_free);
  }
  *n = ++cuts->n;
  const gboolean is_due = cuts->warned == 0 || now - cuts->warned >= WARNING_INTERVAL;
  if (is_due)
    cuts->warned = now;
  g_mutex_unlock (&lock);
  return is_due;
}

/**
 * gst_point_cloud_element_take_scan:
 * @element: who takes it
 * @info: of its caps
 * @scan: (transfer full): a scan
 *
 * A scan whose last point is not whole is cut by what there is of that point, so that all elements
 * do the same with it: the scan goes on with the others, the element posts a warning, one in five
 * seconds at most, and gst_point_cloud_element_get_n_cut() counts it. No lock may be held.
 *
 * Returns: (transfer full): @scan, or one of whole points that shares its memory
 *
 * Since: 0.2
 */
GstBuffer *
gst_point_cloud_element_take_scan (
    GstElement *element, const GstPointCloudInfo *info, GstBuffer *scan)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), scan);
  g_return_val_if_fail (info != NULL, scan);
  g_return_val_if_fail (GST_IS_BUFFER (scan), scan);

  const gsize size = gst_buffer_get_size (scan);
  const gsize rest = info->point_step > 0 ? size % info->point_step : 0;
  guint64 n;

  if (rest == 0)
    return scan;
  scan = gst_buffer_make_writable (scan);
  gst_buffer_set_size (scan, (gssize)(size - rest));
  if (count (element, &n))
    GST_ELEMENT_WARNING (element, STREAM, DECODE,
        ("A scan of %" G_GSIZE_FORMAT " bytes is no whole number of points of %u bytes: the last "
         "%" G_GSIZE_FORMAT " bytes are left out (%" G_GUINT64_FORMAT " such scans so far).",
            size, info->point_step, rest, n),
        ("%" GST_PTR_FORMAT, scan));
  return scan;
}

/**
 * gst_point_cloud_element_get_n_cut:
 * @element: an element
 *
 * For the statistics of an element, where it is the field `cut`.
 *
 * Returns: scans that gst_point_cloud_element_take_scan() has cut since @element was made
 *
 * Since: 0.2
 */
guint64
gst_point_cloud_element_get_n_cut (GstElement *element)
{
  g_return_val_if_fail (GST_IS_ELEMENT (element), 0);

  g_mutex_lock (&lock);
  const Cuts *cuts = g_object_get_qdata (G_OBJECT (element), get_quark ());
  const guint64 n = cuts ? cuts->n : 0;
  g_mutex_unlock (&lock);
  return n;
}
