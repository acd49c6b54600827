/* SPDX-License-Identifier: MIT */
/* Positions on Earth in maps' coordinates, against values of other programs. */
#include <math.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-projector.h"

/* Computed by the PyPI packages pymap3d 3.2.0 (geodetic2enu), utm 0.9.0 and mgrs 1.6.0 (NGA's
 * GEOTRANS), none of which uses PROJ. */
static const struct {
  double at[3];
  double origin[3];
  double enu[3];
  double utm[2]; /* less the origin's */
  const gchar *square;
  double in_square[2];
} cases[] = {
    {{49.0110, 8.4169, 116.3}, {49.0000, 8.4000, 110.0}, {1236.3534, 1223.4682, 6.0629},
        {1245.493, 1213.178}, "32UMV", {57360.0886, 28842.3825}},
    {{35.6762, 139.6503, 41.5}, {35.6700, 139.6400, 10.0}, {932.4736, 687.9617, 31.3947},
        {941.700, 674.838}, "54SUE", {77855.7760, 48874.3922}},
    {{-33.8568, 151.2153, 5.0}, {-33.8600, 151.2000, 0.0}, {1415.8558, 354.8384, 4.8331},
        {1409.340, 379.547}, "56HLH", {34900.5697, 52288.7529}},
    /* Of the wider zone 32 of Norway. */
    {{60.3900, 5.3200, 20.0}, {60.3800, 5.3000, 0.0}, {1102.8422, 1114.3589, 19.8076},
        {1163.774, 1050.808}, "32VKN", {97230.2202, 510.1760}},
};

static void
check (const NdtGeoreference *georeference, const double at[3], double x, double y, double z,
    double tolerance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtProjector) projector = ndt_projector_new (georeference, &error);
  double out[3];
  g_assert_no_error (error);
  g_assert_true (ndt_projector_forward (projector, at[0], at[1], at[2], out));
  g_assert_cmpfloat_with_epsilon (out[0], x, tolerance);
  g_assert_cmpfloat_with_epsilon (out[1], y, tolerance);
  g_assert_cmpfloat_with_epsilon (out[2], z, tolerance);
}

static void
test_values (void)
{
  if (!ndt_projector_is_available ()) {
    g_test_skip ("without PROJ");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double *at = cases[i].at, *origin = cases[i].origin;
    NdtGeoreference georeference;
    ndt_georeference_set_local (&georeference, origin[0], origin[1], origin[2]);
    /* The values have four digits. */
    check (&georeference, at, cases[i].enu[0], cases[i].enu[1], cases[i].enu[2], 1e-4);
    check (&georeference, origin, 0, 0, 0, 1e-6);
    /* What was taken off the map's coordinates is taken off positions. */
    georeference.origin[0] = 1000;
    georeference.origin[1] = -500;
    georeference.origin[2] = 5;
    check (&georeference, at, cases[i].enu[0] - 1000, cases[i].enu[1] + 500, cases[i].enu[2] - 5,
        1e-4);
    memset (georeference.origin, 0, sizeof georeference.origin);
    /* utm's series is good to some millimetres. */
    g_strlcpy (georeference.projector, "LocalCartesianUTM", sizeof georeference.projector);
    check (&georeference, at, cases[i].utm[0], cases[i].utm[1], at[2] - origin[2], 0.01);
    g_strlcpy (georeference.projector, "MGRS", sizeof georeference.projector);
    g_strlcpy (georeference.mgrs_grid, cases[i].square, sizeof georeference.mgrs_grid);
    check (&georeference, at, cases[i].in_square[0], cases[i].in_square[1], at[2], 0.01);
  }
}

static void
test_refused (void)
{
  static const struct {
    const gchar *projector, *datum, *grid;
    gboolean has_origin;
    const gchar *what;
  } wrong[] = {
      {"TransverseMercator", "WGS84", "", TRUE, "TransverseMercator"},
      {"Local", "", "", FALSE, "Local"},
      {"LocalCartesian", "EGM2008", "", TRUE, "EGM2008"},
      {"LocalCartesian", "WGS84", "", FALSE, "map_origin"},
      {"MGRS", "WGS84", "54", FALSE, "mgrs_grid"},
      {"MGRS", "WGS84", "61SUE", FALSE, "mgrs_grid"},
      {"MGRS", "WGS84", "54SAE", FALSE, "mgrs_grid"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (GError) error = NULL;
    NdtGeoreference georeference = {.has_map_origin = wrong[i].has_origin};
    g_strlcpy (georeference.projector, wrong[i].projector, sizeof georeference.projector);
    g_strlcpy (georeference.vertical_datum, wrong[i].datum, sizeof georeference.vertical_datum);
    g_strlcpy (georeference.mgrs_grid, wrong[i].grid, sizeof georeference.mgrs_grid);
    g_assert_null (ndt_projector_new (&georeference, &error));
    g_assert_nonnull (error);
    g_assert_nonnull (
        strstr (error->message, ndt_projector_is_available () ? wrong[i].what : "PROJ"));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/projector/values", test_values);
  g_test_add_func ("/projector/refused", test_refused);
  return g_test_run ();
}
