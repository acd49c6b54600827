/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/cloudfile/ndt-georeference.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  NdtGeoreference read, again;
  const gboolean ok = ndt_georeference_parse ((const gchar *)data, size, "fuzz", &read, &error);
  g_assert_true (ok == (error == NULL));
  if (!ok) {
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    return 0;
  }
  for (guint k = 0; k < 3; k++)
    g_assert_true (isfinite (read.origin[k]));
  g_autofree gchar *text = ndt_georeference_to_text (&read);
  g_autofree gchar *description = ndt_georeference_describe (&read);
  g_assert_true (g_utf8_validate (text, -1, NULL) && g_utf8_validate (description, -1, NULL));
  /* What is written is read again, but for what no line can hold. */
  if (!strpbrk (read.projector, "#\"':") && !strpbrk (read.vertical_datum, "#\"':") &&
      !strpbrk (read.mgrs_grid, "#\"':")) {
    g_assert_true (ndt_georeference_parse (text, strlen (text), "again", &again, NULL));
    g_assert_cmpint (again.has_map_origin, ==, read.has_map_origin);
  }
  return 0;
}
