/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  NdtPcdCursor cursor = {0, 0};
  NdtPcdHeader header;
  gsize end, n_points = 0;

  if (!ndt_pcd_parse_header (data, size, &header, &error)) {
    g_assert_true (!error || g_error_matches (error, NDT_ERROR, NDT_ERROR_FORMAT));
    return 0;
  }
  g_assert_null (error);
  g_assert_cmpuint (header.data_offset, <=, size);
  const guint8 *rest = data + header.data_offset;
  const gsize left = size - header.data_offset;
  const gboolean whole = ndt_pcd_find_end (&header, rest, left, &cursor, &end);
  if (whole)
    g_assert_cmpuint (end, <=, left);

  g_autofree guint8 *points = ndt_pcd_decode (&header, rest, left, &n_points, &error);
  g_assert_true ((points != NULL) == (error == NULL));
  if (!points)
    return 0;
  g_assert_cmpuint (n_points, ==, ndt_pcd_header_get_n_points (&header));
  /* What is whole in a file is found in a stream, but for the last line end of text. */
  g_assert_true (whole || header.encoding == NDT_PCD_ASCII);
  /* Every byte of every point is there to be read, and defined. */
  guint sum = 0;
  for (gsize i = 0; i < n_points * header.point_step; i++)
    sum += points[i];
  volatile guint sink = sum;
  (void)sink;

  const NdtPcdField *xyz[3];
  ndt_pcd_header_find_xyz (&header, xyz, NULL);
  return 0;
}
