/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include "gst/common/gstpointcloudallocation.h"

static GstPad *srcpad, *sinkpad;
static GstPointCloudAllocation *allocation;
static guint n_asked;
static guint pool_size; /* 0: none is proposed */

static gboolean
answer (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return gst_pad_query_default (pad, parent, query);
  n_asked++;
  if (pool_size > 0) {
    g_autoptr (GstBufferPool) pool = gst_buffer_pool_new ();
    gst_query_add_allocation_pool (query, pool, pool_size, 1, 2);
  }
  return TRUE;
}

static void
setup (void)
{
  srcpad = gst_pad_new ("src", GST_PAD_SRC);
  sinkpad = gst_pad_new ("sink", GST_PAD_SINK);
  gst_pad_set_query_function (sinkpad, answer);
  GST_PAD_SET_ACCEPT_TEMPLATE (sinkpad);
  gst_pad_set_active (srcpad, TRUE);
  gst_pad_set_active (sinkpad, TRUE);
  fail_unless_equals_int (gst_pad_link (srcpad, sinkpad), GST_PAD_LINK_OK);
  gst_pad_check_reconfigure (srcpad);
  allocation = gst_point_cloud_allocation_new (srcpad);
  n_asked = 0;
  pool_size = 100;
}

static void
teardown (void)
{
  gst_point_cloud_allocation_free (allocation);
  gst_pad_set_active (srcpad, FALSE);
  gst_pad_set_active (sinkpad, FALSE);
  gst_object_unref (srcpad);
  gst_object_unref (sinkpad);
}

static void
push_caps (const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  gst_pad_push_event (srcpad, gst_event_new_stream_start ("test"));
  fail_unless (gst_pad_push_event (srcpad, gst_event_new_caps (caps)));
}

/* A cloud of @size bytes @value through the allocation. */
static GstBuffer *
take (gsize size, guint8 value)
{
  guint8 *data = g_malloc (MAX (size, 1));
  memset (data, value, size);
  GstBuffer *buffer = gst_point_cloud_allocation_take (allocation, data, size);
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), size);
  for (gsize i = 0; i < size; i++)
    fail_unless_equals_int (gst_buffer_memcmp (buffer, i, &value, 1), 0);
  return buffer;
}

/* Clouds lie in the pool, whatever their size; another pool comes with larger ones, other caps and
 * when downstream changes, and not without reason. */
GST_START_TEST (test_pool)
{
  push_caps ("pointcloud/x-raw,format=XYZ_F32LE");
  GstBuffer *a = take (80, 1);
  fail_unless (a->pool != NULL);
  gst_buffer_unref (a);
  a = take (100, 2);
  fail_unless (a->pool != NULL);
  fail_unless_equals_int (n_asked, 1);

  /* All are held: the data's own memory does. */
  GstBuffer *b = take (10, 3), *c = take (10, 4);
  fail_unless (b->pool != NULL && c->pool == NULL);
  fail_unless (gst_point_cloud_allocation_copy (allocation, "0123456789", 10) == NULL);
  gst_buffer_unref (a);
  gst_buffer_unref (b);
  gst_buffer_unref (c);

  a = take (200, 5);
  fail_unless (a->pool != NULL);
  fail_unless_equals_int (n_asked, 2);
  gst_buffer_unref (a);
  a = take (240, 6); /* a little more does not take another */
  fail_unless (a->pool != NULL);
  fail_unless_equals_int (n_asked, 2);
  gst_buffer_unref (a);

  push_caps ("pointcloud/x-raw,format=XYZI_F32LE");
  gst_buffer_unref (take (10, 7));
  fail_unless_equals_int (n_asked, 3);
  gst_pad_mark_reconfigure (srcpad);
  gst_buffer_unref (take (10, 8));
  fail_unless_equals_int (n_asked, 4);
  gst_point_cloud_allocation_reset (allocation);
  a = gst_point_cloud_allocation_copy (allocation, "0123456789", 10);
  fail_unless (a && a->pool && gst_buffer_memcmp (a, 0, "0123456789", 10) == 0);
  fail_unless_equals_int (n_asked, 5);
  gst_buffer_unref (a);
  a = take (0, 0); /* an empty cloud needs no memory */
  fail_unless (a->pool == NULL);
  gst_buffer_unref (a);
}
GST_END_TEST

/* Downstream that proposes nothing is asked once. */
GST_START_TEST (test_none)
{
  gst_buffer_unref (take (10, 1)); /* before caps nobody is asked */
  fail_unless_equals_int (n_asked, 0);
  pool_size = 0;
  push_caps ("pointcloud/x-raw,format=XYZ_F32LE");
  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = take (1000 * i, 2);
    fail_unless (buffer->pool == NULL);
    gst_buffer_unref (buffer);
  }
  fail_unless_equals_int (n_asked, 1);
}
GST_END_TEST

static Suite *
pointcloudallocation_suite (void)
{
  Suite *suite = suite_create ("pointcloudallocation");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_pool);
  tcase_add_test (tc, test_none);
  return suite;
}

GST_CHECK_MAIN (pointcloudallocation)
