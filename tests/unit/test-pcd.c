/* SPDX-License-Identifier: MIT */
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-test.h"

/* Header of n points x y z (F4) with the given last line. */
static gchar *
xyz_header (guint n, const gchar *encoding)
{
  return g_strdup_printf ("VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                          "WIDTH %u\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %u\nDATA %s\n",
      n, n, encoding);
}

static guint8 *
decode (gconstpointer file, gsize size, NdtPcdHeader *header, gsize *n_points, GError **error)
{
  *n_points = G_MAXSIZE;
  if (!ndt_pcd_parse_header (file, size, header, error))
    return NULL;
  return ndt_pcd_decode (header, (const guint8 *)file + header->data_offset,
      size - header->data_offset, n_points, error);
}

static guint8 *
decode_text (const gchar *text, NdtPcdHeader *header, gsize *n_points)
{
  GError *error = NULL;
  guint8 *points = decode (text, strlen (text), header, n_points, &error);
  g_assert_no_error (error);
  g_assert_nonnull (points);
  return points;
}

/* The file is refused as NDT_ERROR_FORMAT with a message that holds @because. */
static void
assert_refused (gconstpointer file, gsize size, const gchar *because)
{
  g_autoptr (GError) error = NULL;
  NdtPcdHeader header;
  gsize n_points;
  guint8 *points = decode (file, size, &header, &n_points, &error);
  g_assert_null (points);
  g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
  if (!strstr (error->message, because))
    g_error ("'%s' is not in '%s'", because, error->message);
}

static void
assert_text_refused (const gchar *text, const gchar *because)
{
  assert_refused (text, strlen (text), because);
}

static double
get_f32 (const guint8 *points, gsize offset)
{
  float value;
  memcpy (&value, points + offset, sizeof value);
  return value;
}

static void
test_header (void)
{
  NdtPcdHeader header;
  gsize n;
  g_autofree guint8 *points = decode_text (
      "# a comment\r\nVERSION 0.7\r\nFIELDS x y z _ ring stamp\r\nSIZE 4 4 4 1 2 8\r\n"
      "TYPE F F F U U F\r\nCOUNT 1 1 1 3 1 2\r\nWIDTH 2\r\nHEIGHT 1\r\n"
      "VIEWPOINT 1 2 3 0.5 0.5 -0.5 0.5\r\nPOINTS 2\r\nDATA ascii\r\n"
      "1 2\t3 0 0 0 65535 1e9 0.1\r\n\r\n# between\r\n  -1e-3 +2.5 nan 1 2 3 0 -1 NaN  \r\n",
      &header, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpuint (header.n_fields, ==, 6);
  g_assert_cmpuint (header.point_step, ==, 12 + 3 + 2 + 16);
  g_assert_cmpuint (header.fields[4].offset, ==, 15);
  g_assert_cmpuint (header.fields[5].offset, ==, 17);
  g_assert_cmpuint (header.fields[5].count, ==, 2);
  g_assert_cmpfloat (header.viewpoint[2], ==, 3);
  g_assert_cmpfloat (header.viewpoint[5], ==, -0.5);
  g_assert_cmpfloat (get_f32 (points, 8), ==, 3);
  g_assert_cmpuint (points[15] | points[16] << 8, ==, 65535);
  double stamp[2];
  memcpy (stamp, points + 17, sizeof stamp);
  g_assert_cmpfloat (stamp[0], ==, 1e9);
  g_assert_cmpfloat (stamp[1], ==, 0.1);
  g_assert_cmpfloat (get_f32 (points, 33), ==, (double)-1e-3f);
  g_assert_true (isnan (get_f32 (points, 33 + 8)));
}

/* Version 0.5 and hand-written files leave lines out. */
static void
test_optional_lines (void)
{
  NdtPcdHeader header;
  gsize n;
  g_autofree guint8 *a = decode_text ("COLUMNS x y z\nPOINTS 1\nDATA ascii\n4 5 6", &header, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (header.height, ==, 1);
  g_assert_cmpuint (header.point_step, ==, 12);
  g_assert_cmpfloat (header.viewpoint[3], ==, 1);
  g_assert_cmpfloat (get_f32 (a, 8), ==, 6);
  g_autofree guint8 *b = decode_text ("FIELDS x\nWIDTH 2\nDATA ascii\n4\n5\n", &header, &n);
  g_assert_cmpuint (n, ==, 2);
  g_autofree guint8 *c =
      decode_text ("FIELDS x\nHEIGHT 2\nPOINTS 4\nDATA ascii\n1\n2\n3\n4\n", &header, &n);
  g_assert_cmpuint (header.width, ==, 2);
}

static void
test_empty_cloud (void)
{
  static const gchar *const encodings[] = {"ascii", "binary", "binary_compressed"};
  for (guint i = 0; i < G_N_ELEMENTS (encodings); i++) {
    NdtPcdHeader header;
    gsize n;
    g_autofree gchar *text = xyz_header (0, encodings[i]);
    g_autofree guint8 *points = decode_text (text, &header, &n);
    g_assert_cmpuint (n, ==, 0);
  }
  NdtPcdHeader header;
  gsize n;
  g_autofree guint8 *points =
      decode_text ("FIELDS x y z\nWIDTH 0\nHEIGHT 0\nPOINTS 0\nDATA ascii\n", &header, &n);
  g_assert_cmpuint (n, ==, 0);
}

static void
test_integers (void)
{
  const gchar *head = "FIELDS a b c d\nSIZE 1 2 8 8\nTYPE I I I U\nWIDTH 1\nDATA ascii\n";
  NdtPcdHeader header;
  gsize n;
  g_autofree gchar *good =
      g_strconcat (head, "-128 1.0 -9223372036854775808 18446744073709551615\n", NULL);
  g_autofree guint8 *points = decode_text (good, &header, &n);
  gint64 c;
  guint64 d;
  memcpy (&c, points + 3, 8);
  memcpy (&d, points + 11, 8);
  g_assert_cmpint ((gint8)points[0], ==, -128);
  g_assert_cmpint (points[1], ==, 1);
  g_assert_cmpint (c, ==, G_MININT64);
  g_assert_cmpuint (d, ==, G_MAXUINT64);

  static const gchar *const bad[] = {"128 0 0 0", "-129 0 0 0", "0 32768 0 0",
      "0 0 9223372036854775808 0", "0 0 0 18446744073709551616", "0 0 0 -1", "1.5 0 0 0",
      "inf 0 0 0", "a 0 0 0", "0x 0 0 0"};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_autofree gchar *text = g_strconcat (head, bad[i], "\n", NULL);
    assert_text_refused (text, "line 1 of the data has '");
  }
}

static void
test_refusals (void)
{
  assert_text_refused ("hello world\n", "'hello' is no word");
  assert_text_refused ("{\"json\": 1", "no PCD file");
  assert_refused ("\x7f"
                  "ELF\0\0\0",
      7, "binary bytes");
  assert_text_refused ("VERSION .7\nSIZE 4\nDATA ascii\n", "no FIELDS");
  assert_text_refused ("FIELDS\nWIDTH 1\nDATA ascii\n", "empty FIELDS");
  assert_text_refused (
      "FIELDS x y\nSIZE 4\nWIDTH 1\nDATA ascii\n", "2 FIELDS but 1 values in SIZE");
  assert_text_refused (
      "FIELDS x\nTYPE F F\nWIDTH 1\nDATA ascii\n", "1 FIELDS but 2 values in TYPE");
  assert_text_refused (
      "FIELDS x\nTYPE Q\nWIDTH 1\nDATA ascii\n", "TYPE of field 'x' cannot be 'Q'");
  assert_text_refused ("FIELDS x\nSIZE 3\nWIDTH 1\nDATA ascii\n", "cannot have SIZE 3");
  assert_text_refused ("FIELDS x\nSIZE 2\nTYPE F\nWIDTH 1\nDATA ascii\n", "cannot have SIZE 2");
  assert_text_refused (
      "FIELDS x\nCOUNT 0\nWIDTH 1\nDATA ascii\n", "COUNT of field 'x' cannot be '0'");
  assert_text_refused ("FIELDS x\nCOUNT -1\nWIDTH 1\nDATA ascii\n", "cannot be '-1'");
  assert_text_refused ("FIELDS x\nDATA ascii\n", "neither a WIDTH nor a POINTS");
  assert_text_refused ("FIELDS x\nWIDTH one\nDATA ascii\n", "WIDTH line without one whole number");
  assert_text_refused ("FIELDS x\nWIDTH 2\nWIDTH 2\nDATA ascii\n", "two WIDTH lines");
  assert_text_refused (
      "FIELDS x\nWIDTH 3\nHEIGHT 2\nPOINTS 5\nDATA ascii\n", "WIDTH × HEIGHT is 6 but POINTS is 5");
  assert_text_refused ("FIELDS x\nHEIGHT 2\nPOINTS 5\nDATA ascii\n", "not divided by HEIGHT 2");
  assert_text_refused ("FIELDS x\nWIDTH 1\nVIEWPOINT 0 0\nDATA ascii\n", "VIEWPOINT");
  assert_text_refused ("FIELDS x\nWIDTH 1\nDATA zip\n", "DATA 'zip'");
  /* Counts whose products overflow. */
  assert_text_refused ("FIELDS x\nWIDTH 4294967296\nHEIGHT 4294967296\nDATA binary\n", "too many");
  assert_text_refused ("FIELDS x\nWIDTH 18446744073709551615\nDATA binary\n", "too many");
  assert_text_refused ("FIELDS x\nWIDTH 18446744073709551616\nDATA binary\n", "whole number");
  assert_text_refused ("FIELDS x\nCOUNT 4294967295\nWIDTH 1\nDATA binary\n", "COUNT of field");
  assert_text_refused (
      "FIELDS x y\nCOUNT 4194304 1\nWIDTH 1\nDATA binary\n", "more than 16777216 bytes");
  /* Sizes that nothing in the file backs: refused before anything is allocated. */
  assert_text_refused ("FIELDS x\nWIDTH 1000000000000\nDATA binary\n", "is truncated");
  assert_text_refused ("FIELDS x\nWIDTH 1000000000000\nDATA ascii\n1\n2\n",
      "999999999998 of 1000000000000 points are missing");
  /* Lines that do not fit. */
  g_autofree gchar *head = xyz_header (2, "ascii");
  g_autofree gchar *few = g_strconcat (head, "1 2 3\n4 5\n", NULL);
  assert_text_refused (few, "line 2 of the data ends before field 'z'");
  g_autofree gchar *wide = g_strconcat (head, "1 2 3\n4 5 6 7\n", NULL);
  assert_text_refused (wide, "line 2 of the data has more values");
  g_autofree gchar *many = g_strconcat (head, "1 2 3\n4 5 6\n7 8 9\n", NULL);
  assert_text_refused (many, "more lines of data than its 2 points");
  g_autofree gchar *lack = g_strconcat (head, "1000 2000 3000\n\n", NULL);
  assert_text_refused (lack, "1 of 2 points are missing");
  g_autofree gchar *word = g_strconcat (head, "1 2 3\n4 5 six\n", NULL);
  assert_text_refused (word, "has 'six' in field 'z'");
}

static void
test_number_text (void)
{
  /* Fast and general way; each compared with the C compiler's own conversion. */
  static const struct {
    const gchar *text;
    double value;
  } cases[] = {{"0", 0}, {"-0.5", -0.5}, {"123456789.123456789", 123456789.123456789},
      {"1e22", 1e22}, {"1e23", 1e23}, {"1.7976931348623157e308", 1.7976931348623157e308},
      {"4.9406564584124654e-324", 4.9406564584124654e-324},
      {"0.1000000000000000055511151231257827", 0.1}, {"588348.947978", 588348.947978},
      {"9007199254740993", 9007199254740992.0}, {"5.", 5}, {".5", 0.5}, {"+7", 7},
      {"inf", INFINITY}, {"-Infinity", -INFINITY}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    NdtPcdHeader header;
    gsize n;
    double value;
    g_autofree gchar *text =
        g_strdup_printf ("FIELDS x\nSIZE 8\nWIDTH 1\nDATA ascii\n%s\n", cases[i].text);
    g_autofree guint8 *points = decode_text (text, &header, &n);
    memcpy (&value, points, sizeof value);
    g_assert_cmpfloat (value, ==, cases[i].value);
  }
  assert_text_refused ("FIELDS x\nWIDTH 1\nDATA ascii\n1,5\n", "'1,5'");
  assert_text_refused ("FIELDS x\nWIDTH 1\nDATA ascii\n-\n", "'-'");
  assert_text_refused ("FIELDS x\nWIDTH 1\nDATA ascii\n1e\n", "'1e'");
}

/* Views to write: awkward strides and both scalars. */
static void
test_round_trip (gconstpointer encoding_pointer)
{
  const NdtPcdEncoding encoding = (NdtPcdEncoding)GPOINTER_TO_INT (encoding_pointer);
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-pcd-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (folder, "cloud.pcd", NULL);
  GError *error = NULL;

  for (gsize n = 0; n < 40000; n = n * 30 + 1) {
    for (guint wide = 0; wide < 2; wide++) {
      const gsize size = wide ? 8 : 4, stride = 3 * size + 5;
      g_autofree guint8 *memory = g_malloc0 (n * stride + 1);
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      for (gsize i = 0; i < n; i++)
        for (guint axis = 0; axis < 3; axis++) {
          double value = g_rand_double_range (rand, -4e6, 4e6);
          if (i % 97 == 5)
            value = NAN;
          float narrow = (float)value;
          memcpy (memory + i * stride + axis * size + 1,
              wide ? (const void *)&value : (const void *)&narrow, size);
        }
      const NdtCloudView in = ndt_cloud_view (
          memory, n, stride, 1, 1 + size, 1 + 2 * size, wide ? NDT_SCALAR_F64 : NDT_SCALAR_F32);
      g_assert_true (ndt_pcd_write (path, &in, encoding, &error));
      g_assert_no_error (error);

      g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
      g_assert_no_error (error);
      NdtCloudView out;
      g_assert_true (ndt_pcd_file_get_points (file, &out, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (out.n_points, ==, n);
      g_assert_cmpint (out.scalar, ==, in.scalar);
      for (gsize i = 0; i < n; i++) {
        double a[3], b[3];
        ndt_cloud_view_get (&in, i, a);
        ndt_cloud_view_get (&out, i, b);
        for (guint axis = 0; axis < 3; axis++)
          g_assert_true (a[axis] == b[axis] || (isnan (a[axis]) && isnan (b[axis])));
      }

      /* The decoder that interleaves gives the same bytes. */
      g_autofree gchar *bytes = NULL;
      gsize length, n_points;
      NdtPcdHeader header;
      g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
      g_autofree guint8 *points = decode (bytes, length, &header, &n_points, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (n_points, ==, n);
      for (gsize i = 0; i < n; i++) {
        g_assert_true (
            memcmp (points + i * header.point_step, out.x + i * out.stride, size) == 0 &&
            memcmp (points + i * header.point_step + 2 * size, out.z + i * out.stride, size) == 0);
      }
    }
  }
  g_unlink (path);
  /* No temporary file is left. */
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

static void
test_write_errors (void)
{
  g_autoptr (GError) error = NULL;
  const float xyz[3] = {1, 2, 3};
  NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, 1);
  g_assert_false (ndt_pcd_write ("/nonexistent/a.pcd", &view, NDT_PCD_BINARY, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
  g_clear_error (&error);
  view.n_points = (gsize)1 << 29;
  g_assert_false (ndt_pcd_write ("/nonexistent/a.pcd", &view, NDT_PCD_BINARY_COMPRESSED, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

static void
test_open_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (ndt_pcd_file_open ("/nonexistent.pcd", &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (ndt_pcd_file_open ("/", &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);

  static const struct {
    const gchar *text, *because;
  } cases[] = {{"", "is empty"}, {"VERSION .7\n", "no DATA line"},
      {"FIELDS x y\nWIDTH 0\nDATA ascii\n", "has no field 'z'"},
      {"FIELDS x y z\nSIZE 4 8 4\nWIDTH 0\nDATA ascii\n", "different SIZEs"},
      {"FIELDS x y z\nTYPE F F I\nWIDTH 0\nDATA ascii\n", "'z' is of TYPE I"},
      {"FIELDS x y z\nCOUNT 1 2 1\nWIDTH 0\nDATA ascii\n", "'y' has COUNT 2"}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *path = NULL;
    g_close (g_file_open_tmp ("ndt-pcd-XXXXXX.pcd", &path, NULL), NULL);
    g_assert_true (g_file_set_contents (path, cases[i].text, -1, NULL));
    g_clear_error (&error);
    g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
    NdtCloudView view;
    if (file)
      g_assert_false (ndt_pcd_file_get_points (file, &view, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    g_assert_nonnull (strstr (error->message, cases[i].because));
    g_assert_true (g_str_has_prefix (error->message, path));
    g_unlink (path);
  }
}

/* A small file of each encoding, with fields that make it interesting. */
static GBytes *
small_file (NdtPcdEncoding encoding)
{
  if (encoding == NDT_PCD_ASCII) {
    const gchar *text = "FIELDS x y z i\nSIZE 4 4 4 2\nTYPE F F F U\nCOUNT 1 1 1 2\nWIDTH 2\n"
                        "DATA ascii\n1 2 3 4 5\n6 7 8 9 10\n";
    return g_bytes_new (text, strlen (text));
  }
  g_autofree gchar *path = NULL;
  gchar *bytes = NULL;
  gsize size;
  float xyz[90] = {1, 2, 3};
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, 30);
  g_close (g_file_open_tmp ("ndt-pcd-XXXXXX.pcd", &path, NULL), NULL);
  g_assert_true (ndt_pcd_write (path, &view, encoding, NULL));
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_unlink (path);
  return g_bytes_new_take (bytes, size);
}

static void
test_truncation (gconstpointer encoding_pointer)
{
  const NdtPcdEncoding encoding = (NdtPcdEncoding)GPOINTER_TO_INT (encoding_pointer);
  g_autoptr (GBytes) file = small_file (encoding);
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  NdtPcdHeader whole;
  g_assert_true (ndt_pcd_parse_header (data, size, &whole, NULL));
  /* Text stays whole without its last line end; one digit fewer is another number. */
  const gsize last = encoding == NDT_PCD_ASCII ? size - 2 : size;

  for (gsize cut = 0; cut < last; cut++) {
    /* A copy of just that size, so that sanitizers see reads beyond. */
    g_autofree guint8 *copy = g_memdup2 (data, cut);
    g_autoptr (GError) error = NULL;
    NdtPcdHeader header;
    NdtPcdCursor cursor = {0, 0};
    gsize n_points, end;
    if (cut < whole.data_offset) {
      g_assert_false (ndt_pcd_parse_header (copy, cut, &header, &error));
      g_assert_no_error (error);
      continue;
    }
    g_assert_true (ndt_pcd_parse_header (copy, cut, &header, &error));
    g_assert_false (ndt_pcd_find_end (
        &header, copy + header.data_offset, cut - header.data_offset, &cursor, &end));
    g_assert_null (decode (copy, cut, &header, &n_points, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    if (encoding != NDT_PCD_ASCII)
      g_assert_nonnull (strstr (error->message, "missing"));
  }
}

/* The end is found in bytes that trickle in, with another file behind. */
static void
test_find_end (gconstpointer encoding_pointer)
{
  g_autoptr (GBytes) file = small_file ((NdtPcdEncoding)GPOINTER_TO_INT (encoding_pointer));
  gsize size, end = 0;
  const guint8 *data = g_bytes_get_data (file, &size);
  g_autofree guint8 *twice = g_malloc (2 * size);
  memcpy (twice, data, size);
  memcpy (twice + size, data, size);
  NdtPcdHeader header;
  NdtPcdCursor cursor = {0, 0};
  g_assert_true (ndt_pcd_parse_header (twice, 2 * size, &header, NULL));
  const gsize offset = header.data_offset;
  gsize given = 0;
  while (!ndt_pcd_find_end (&header, twice + offset, given, &cursor, &end)) {
    given++;
    g_assert_cmpuint (given, <=, size);
  }
  g_assert_cmpuint (given, ==, size - offset);
  g_assert_cmpuint (end, ==, size - offset);
  cursor = (NdtPcdCursor){0, 0};
  g_assert_true (ndt_pcd_find_end (&header, twice + offset, 2 * size - offset, &cursor, &end));
  g_assert_cmpuint (end, ==, size - offset);
}

static void
test_compressed_lies (void)
{
  g_autoptr (GBytes) file = small_file (NDT_PCD_BINARY_COMPRESSED);
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  NdtPcdHeader header;
  g_assert_true (ndt_pcd_parse_header (data, size, &header, NULL));
  guint8 *const sizes = g_memdup2 (data, size);
  guint32 *const packed = g_malloc (8);
  memcpy (packed, data + header.data_offset, 8);

  const guint32 cases[][2] = {{packed[0], packed[1] + 4}, {packed[0] + 1, packed[1]},
      {packed[0] - 1, packed[1]}, {1, packed[1]}, {G_MAXUINT32, packed[1]}};
  static const gchar *const because[] = {
      "points take", "missing", "damaged", "cannot hold", "missing"};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    memcpy (sizes + header.data_offset, cases[i], 8);
    assert_refused (sizes, size, because[i]);
  }
  g_free (sizes);
  g_free (packed);
}

/* What the files in files_pcd hold, read from them with other tools. sum is that of all
 * finite x, y and z. */
static void
test_real_files (void)
{
  static const struct {
    const gchar *name;
    guint64 width, height;
    guint step;
    guint n_finite;
    double first[3], sum;
  } cases[] = {
      {"pdal/utm17_tab.pcd", 10, 1, 12, 10, {289814.15625, 4320978.5, 170.75999450683594},
          46109666.008743286},
      {"pdal/utm17_space.pcd", 10, 1, 12, 10, {289814.15625, 4320978.5, 170.75999450683594},
          46109666.008743286},
      {"pdal/autzen-utm.pcd", 1065, 1, 52, 1065, {494428.61, 4877455.58, 131.57}, 5721991325.24},
      {"nebula/ascii_xyz.pcd", 2, 1, 12, 2, {1.5, -2.25, 3.0}, 9.625},
      {"nebula/binary_xyz_pcl.pcd", 2, 1, 12, 2, {1.25, 2.5, -3.75}, 40.0},
      {"pcldata/terrain/samp11-utm.pcd", 38010, 1, 12, 38010,
          {512743.625, 5403547.5, 308.67999267578125}, 224898737660.12735},
      {"pcl/test/bun4.pcd", 361, 1, 12, 361,
          {0.053025998175144196, 0.11349000036716461, 0.0771310031414032}, 59.15858386391483},
      {"pcl/test/sac_plane_test.pcd", 3283, 1, 28, 3283,
          {1.0679999589920044, 0.0947209969162941, -0.016231000423431396}, 3435.6760699363567},
      {"pcl/test/colored_cloud.pcd", 1, 1000, 32, 1000,
          {-0.8550515174865723, -0.6315085887908936, 1.4670000076293945}, 477.81300576706417},
      {"pcl/test/milk_color.pcd", 13704, 1, 16, 13704,
          {-0.13160760700702667, -0.2095429003238678, 0.7720000147819519}, 7965.647921721509},
      {"pcl/test/nhood_test.pcd", 36, 1, 16, 36,
          {-1.050570011138916, -0.7508500218391418, 1.527237057685852}, -9.35143929719925},
      {"pcl/test/curve2d.pcd", 51, 1, 12, 51, {0.0, 0.0, 0.0}, 27.278535281307995},
      {"pcl/test/five_people.pcd", 640, 480, 16, 239075,
          {-1.7318687438964844, -1.2329047918319702, 3.0460002422332764}, 726877.3046315642},
      {"pcl/test/2d/lena.pcd", 256, 256, 16, 65536, {1.0, 1.0, 0.0}, 16842752.0},
      {"pcl/test/office1_keypoints.pcd", 1318, 1, 16, 1318,
          {3.6486306190490723, 4.24565315246582, 0.45956555008888245}, -706.7716021400411},
      {"pcl/test/pcl_logo.pcd", 12909, 1, 16, 12909, {-0.961899995803833, 0.24660000205039978, 0.0},
          2143.4447994487127},
      {"pypcd4/pcd/ascii_with_underscore.pcd", 213, 1, 16, 213,
          {0.9377300143241882, 0.3376300036907196, 0.0}, 34.24172642087797},
      {"pypcd4/pcd/ascii_multi_count.pcd", 8, 1, 28, 8, {0.0, 0.0, 0.0}, 12.0},
      {"pypcd4/pcd/ascii_organized.pcd", 4, 2, 16, 8, {0.0, 0.0, 0.0}, 12.0},
      {"pypcd4/pcd/binary.pcd", 213, 1, 16, 213, {0.9377300143241882, 0.3376300036907196, 0.0},
          34.24172642087797},
      {"pypcd4/pcd/binary_compressed.pcd", 213, 1, 16, 213,
          {0.9377300143241882, 0.3376300036907196, 0.0}, 34.24172642087797},
      {"pypcd4/pcd/binary_compressed_organized.pcd", 4, 2, 16, 8, {0.0, 0.0, 0.0}, 12.0},
      {"pypcd4/pcd/ascii_with_empty_points.pcd", 0, 0, 16, 0, {0.0, 0.0, 0.0}, 0.0},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GError *error = NULL;
    g_autofree gchar *name = g_build_filename ("files_pcd", cases[i].name, NULL);
    g_autofree gchar *path = ndt_test_data (name);
    if (!path) {
      g_test_skip ("no files_pcd in NDT_TEST_DATA");
      return;
    }
    g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
    g_assert_no_error (error);
    const NdtPcdHeader *header = ndt_pcd_file_get_header (file);
    NdtCloudView view;
    g_assert_true (ndt_pcd_file_get_points (file, &view, &error));
    g_assert_no_error (error);
    g_assert_cmpuint (header->width, ==, cases[i].width);
    g_assert_cmpuint (header->height, ==, cases[i].height);
    g_assert_cmpuint (header->point_step, ==, cases[i].step);
    double sum = 0, magnitude = 0;
    guint n_finite = 0;
    for (gsize k = 0; k < view.n_points; k++) {
      double p[3];
      ndt_cloud_view_get (&view, k, p);
      if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
        continue;
      n_finite++;
      sum += p[0] + p[1] + p[2];
      magnitude += fabs (p[0]) + fabs (p[1]) + fabs (p[2]);
      if (n_finite == 1)
        for (guint axis = 0; axis < 3; axis++)
          g_assert_cmpfloat (p[axis], ==, cases[i].first[axis]);
    }
    g_assert_cmpuint (n_finite, ==, cases[i].n_finite);
    /* The same numbers summed in another order differ by rounding alone. */
    g_assert_cmpfloat (fabs (sum - cases[i].sum), <=, 1e-12 * magnitude);
  }
}

static void
test_broken_files (void)
{
  static const gchar *const cases[][2] = {
      {"ascii_empty.pcd", "is empty"}, {"ascii_invalid_header.pcd", "'FIEL' is no word"}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *name = g_build_filename ("files_pcd/pypcd4/pcd", cases[i][0], NULL);
    g_autofree gchar *path = ndt_test_data (name);
    if (!path) {
      g_test_skip ("no files_pcd in NDT_TEST_DATA");
      return;
    }
    g_assert_null (ndt_pcd_file_open (path, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_FORMAT);
    g_assert_nonnull (strstr (error->message, cases[i][1]));
  }
}

static void
test_locale (void)
{
  /* A comma is the decimal point in German; skipped where that locale is not installed. */
  if (!setlocale (LC_NUMERIC, "de_DE.UTF-8")) {
    g_test_skip ("no locale de_DE.UTF-8");
    return;
  }
  test_number_text ();
  test_round_trip (GINT_TO_POINTER (NDT_PCD_ASCII));
  setlocale (LC_NUMERIC, "C");
}

static void
test_speed (void)
{
  /* Not a benchmark: a parser that is slower by an order of magnitude than the C library's of the
   * same numbers would fail. The best of each, and more of them while it is too slow. */
  const guint n = 200000;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree gchar *head = xyz_header (n, "ascii");
  g_string_append (text, head);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (
        text, "%d.%03u %d.%03u 1.25\n", (gint)i % 200 - 100, i % 1000, (gint)i % 77, i % 997);
  NdtPcdHeader header;
  gsize n_points;
  gint64 ours = G_MAXINT64, theirs = G_MAXINT64;
  for (guint round = 0; round < 3 || (round < 30 && ours > 3 * theirs); round++) {
    const gint64 start = g_get_monotonic_time ();
    g_autofree guint8 *points = decode_text (text->str, &header, &n_points);
    const gint64 middle = g_get_monotonic_time ();
    gchar *at = text->str + strlen (head);
    double sum = 0;
    for (guint i = 0; i < 3 * n; i++)
      sum += g_ascii_strtod (at, &at);
    const gint64 end = g_get_monotonic_time ();
    g_assert_cmpuint (n_points, ==, n);
    g_assert_cmpfloat (sum, >, 0);
    ours = MIN (ours, middle - start);
    theirs = MIN (theirs, end - middle);
  }
  g_test_message (
      "%u points of text in %.3f s, strtod %.3f s", n, (double)ours * 1e-6, (double)theirs * 1e-6);
  /* The C library is not instrumented. */
  if (!g_getenv ("NDT_TEST_SANITIZER"))
    g_assert_cmpint (ours, <=, 3 * theirs);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pcd/header", test_header);
  g_test_add_func ("/pcd/optional-lines", test_optional_lines);
  g_test_add_func ("/pcd/empty-cloud", test_empty_cloud);
  g_test_add_func ("/pcd/integers", test_integers);
  g_test_add_func ("/pcd/refusals", test_refusals);
  g_test_add_func ("/pcd/number-text", test_number_text);
  g_test_add_func ("/pcd/write-errors", test_write_errors);
  g_test_add_func ("/pcd/open-errors", test_open_errors);
  g_test_add_func ("/pcd/compressed-lies", test_compressed_lies);
  g_test_add_func ("/pcd/real-files", test_real_files);
  g_test_add_func ("/pcd/broken-files", test_broken_files);
  g_test_add_func ("/pcd/locale", test_locale);
  g_test_add_func ("/pcd/speed", test_speed);
  static const gchar *const names[] = {"ascii", "binary", "compressed"};
  for (gint i = 0; i < 3; i++) {
    g_autofree gchar *round = g_strconcat ("/pcd/round-trip/", names[i], NULL);
    g_autofree gchar *cut = g_strconcat ("/pcd/truncation/", names[i], NULL);
    g_autofree gchar *end = g_strconcat ("/pcd/find-end/", names[i], NULL);
    g_test_add_data_func (round, GINT_TO_POINTER (i), test_round_trip);
    g_test_add_data_func (cut, GINT_TO_POINTER (i), test_truncation);
    g_test_add_data_func (end, GINT_TO_POINTER (i), test_find_end);
  }
  return g_test_run ();
}
