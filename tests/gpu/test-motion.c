/* SPDX-License-Identifier: MIT */
/* Motion compensation by a device beside the CPU's. */
#include "gpu-device.h"
#include "gpu-scene.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/track/ndt-relocalizer.h"
#include "ndtcore/odometry/ndt-moving-scan.h"

#define SPAN 0.1

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

/* 20 m/s and 45°/s, a car that brakes in a bend, with some pitch. */
static const NdtScanMotion drive = {
    0.06, {20, 0.3, -0.1, 0.02, -0.1, 0.785}, {-8, 1, 0.2, 0.1, 0.5, -1}};

/* How points and times lie in memory. */
typedef enum { PACKED, RECORDS, LOCKED_RECORDS, LOCKED_DOUBLES, ODD_RECORDS, N_LAYOUTS } Layout;

typedef struct {
  NdtCloudView points;
  NdtTimeView times;
  guint8 *memory;
  gsize size;
  gboolean is_locked;
} Sweep;

/* Points around the sensor, some not finite, some without a time. */
static Sweep
sweep_new (NdtBackend *cuda, Layout layout, NdtTimeType type, guint n)
{
  static const gsize strides[] = {20, 24, 24, 40, 27};
  const gsize stride = strides[layout];
  const gboolean wide = layout == LOCKED_DOUBLES;
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  Sweep s = {.size = MAX (n, 1) * stride};
  s.is_locked = layout == LOCKED_RECORDS || layout == LOCKED_DOUBLES;
  s.memory = s.is_locked ? ndt_backend_alloc_host (cuda, s.size) : g_malloc (s.size);
  g_assert_nonnull (s.memory);
  s.points = ndt_cloud_view (s.memory, n, layout == PACKED ? 12 : stride, 0, wide ? 8 : 4,
      wide ? 16 : 8, wide ? NDT_SCALAR_F64 : NDT_SCALAR_F32);
  s.times = (NdtTimeView){s.memory + (wide ? 24 : 12), stride, type};
  if (layout == PACKED) {
    s.times.data = s.memory + 12 * (gsize)n;
    s.times.stride = 8;
  } else if (type == NDT_TIME_F64 && !wide) {
    s.times.data += 4;
  }
  for (guint i = 0; i < n; i++) {
    const double radius = g_rand_double_range (random, 1, 80), angle = 2 * G_PI * i / n;
    const double p[3] = {radius * cos (angle), radius * sin (angle),
        i % 509 == 7 ? NAN : g_rand_double_range (random, -2, 8)};
    double t = SPAN * i / n;
    const float f[3] = {(float)p[0], (float)p[1], (float)p[2]};
    for (guint k = 0; k < 3; k++) {
      guint8 *to = (guint8 *)(k == 0   ? s.points.x
                              : k == 1 ? s.points.y
                                       : s.points.z) +
                   i * s.points.stride;
      if (wide)
        memcpy (to, &p[k], 8);
      else
        memcpy (to, &f[k], 4);
    }
    if (i % 701 == 3)
      t = i % 2 ? NAN : INFINITY;
    guint8 *to = (guint8 *)s.times.data + i * s.times.stride;
    const float seconds = (float)t;
    const guint32 nanoseconds = isfinite (t) ? (guint32)(1e9 * t) : G_MAXUINT32 / 64;
    if (type == NDT_TIME_F32)
      memcpy (to, &seconds, 4);
    else if (type == NDT_TIME_F64)
      memcpy (to, &t, 8);
    else
      memcpy (to, &nanoseconds, 4);
  }
  return s;
}

static void
sweep_clear (NdtBackend *cuda, Sweep *s)
{
  if (s->is_locked)
    ((NdtBackendClass *)cuda->klass)->free_host (s->memory, s->size);
  else
    g_free (s->memory);
}

static guint
get (NdtBackend *backend, float **xyz)
{
  g_autoptr (GError) error = NULL;
  guint n = 0;
  g_assert_true (ndt_backend_get_scan (backend, 2, NULL, 0, &n, &error));
  *xyz = g_new (float, 3 * (gsize)n + 1);
  g_assert_true (ndt_backend_get_scan (backend, 2, *xyz, n, &n, &error));
  g_assert_no_error (error);
  return n;
}

static void
compare_scans (NdtBackend *cpu, NdtBackend *cuda)
{
  g_autofree float *a = NULL, *b = NULL;
  const guint n = get (cpu, &a);
  g_assert_cmpuint (get (cuda, &b), ==, n);
  for (gsize i = 0; i < 3 * (gsize)n; i++)
    if (memcmp (&a[i], &b[i], sizeof (float)) != 0)
      g_error ("point %u of %u: %.9g and %.9g", (guint)(i / 3), n, (double)a[i], (double)b[i]);
}

/* The same points, to the bit, from every layout, moved and not. */
static void
check_points (NdtBackend *cuda, NdtBackend *cpu, Layout layout, NdtTimeType type, guint n)
{
  static const NdtScanFilter filters[] = {
      NDT_SCAN_FILTER_NONE,
      {3, 40, TRUE, {-45, -45, -1}, {45, 45, 9}, 0},
      {2, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0.4f},
  };
  Sweep s = sweep_new (cuda, layout, type, n);
  g_autoptr (NdtMovingScan) on_cpu = ndt_moving_scan_new ();
  g_autoptr (NdtMovingScan) on_cuda = ndt_moving_scan_new ();
  g_autoptr (GError) error = NULL;
  NdtTimeSpan a, b;
  g_assert_nonnull (cuda->klass->set_moving_scan);
  g_assert_true (ndt_moving_scan_set (on_cpu, cpu, 2, &s.points, &s.times, &a, &error));
  ndt_moving_scan_set (on_cuda, cuda, 2, &s.points, &s.times, &b, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (a.n_points, ==, b.n_points);
  if (a.n_points > 0) {
    g_assert_cmpfloat (a.first, ==, b.first);
    g_assert_cmpfloat (a.last, ==, b.last);
    /* Sums in another order. */
    g_assert_cmpfloat_with_epsilon (a.mean, b.mean, 1e-13);
  }
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++)
    for (guint moved = 0; moved < 2; moved++) {
      g_assert_true (ndt_moving_scan_move (on_cpu, moved ? &drive : NULL, &filters[f], &error));
      ndt_moving_scan_move (on_cuda, moved ? &drive : NULL, &filters[f], &error);
      g_assert_no_error (error);
      compare_scans (cpu, cuda);
    }
  sweep_clear (cuda, &s);
}

static void
test_points (void)
{
  static const guint sizes[] = {0, 1, 31, 1025, 60000};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  for (guint layout = 0; layout < N_LAYOUTS; layout++)
    for (guint type = NDT_TIME_F32; type <= NDT_TIME_U32; type++)
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
        check_points (cuda, cpu, (Layout)layout, (NdtTimeType)type, sizes[i]);
}

/* Scans without any time, and with times that no scan has, do no harm. */
static void
test_times (void)
{
  static const double values[][2] = {
      {NAN, NAN}, {INFINITY, -INFINITY}, {3, 3}, {-1e308, 1e308}, {0, 1e-300}, {-5, NAN}};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  for (guint v = 0; v < G_N_ELEMENTS (values); v++) {
    g_autoptr (NdtMovingScan) on_cpu = ndt_moving_scan_new ();
    g_autoptr (NdtMovingScan) on_cuda = ndt_moving_scan_new ();
    g_autoptr (GError) error = NULL;
    const NdtScanMotion still = {values[v][0], {0}, {0}};
    Sweep s = sweep_new (cuda, PACKED, NDT_TIME_F64, 500);
    NdtTimeSpan a, b;
    for (guint i = 0; i < 500; i++)
      memcpy ((guint8 *)s.times.data + 8 * i, &values[v][i % 2], 8);
    g_assert_true (ndt_moving_scan_set (on_cpu, cpu, 2, &s.points, &s.times, &a, &error));
    ndt_moving_scan_set (on_cuda, cuda, 2, &s.points, &s.times, &b, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (a.n_points, ==, b.n_points);
    if (isfinite (values[v][0])) {
      g_assert_true (ndt_moving_scan_move (on_cpu, &still, &no_filter, &error));
      ndt_moving_scan_move (on_cuda, &still, &no_filter, &error);
      g_assert_no_error (error);
      compare_scans (cpu, cuda);
    }
    sweep_clear (cuda, &s);
  }
}

/* A scan goes up once, with its times, however often it is moved; nothing is allocated. */
static void
test_counters (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  g_autoptr (NdtMovingScan) scan = ndt_moving_scan_new ();
  g_autoptr (GError) error = NULL;
  NdtBackendCounters before, after;
  NdtTimeSpan span;
  Sweep s = sweep_new (cuda, LOCKED_RECORDS, NDT_TIME_F32, 30000);
  for (guint i = 0; i < 12; i++) {
    if (i == 2)
      ndt_backend_get_counters (cuda, &before);
    g_assert_true (ndt_moving_scan_set (scan, cuda, 2, &s.points, &s.times, &span, &error));
    for (guint k = 0; k < 3; k++)
      g_assert_true (ndt_moving_scan_move (scan, &drive, &filter, &error));
  }
  ndt_backend_get_counters (cuda, &after);
  g_assert_cmpuint (after.uploads - before.uploads, ==, 10);
  /* Records of 24 bytes, of which the last 8 are not needed. */
  g_assert_cmpuint (after.upload_bytes - before.upload_bytes, ==, 10 * (30000 * 24 - 8));
  g_assert_cmpuint (after.synchronizations - before.synchronizations, ==, 10);
  g_assert_cmpuint (after.allocations, ==, before.allocations);
  g_assert_cmpuint (after.scans - before.scans, ==, 30);
  sweep_clear (cuda, &s);
}

/* Memory that is refused may be an error, after which the next try works; a launch that fails is
 * one after which none does. */
static void
test_failures (void)
{
  guint n_refused = 0;
  g_autoptr (NdtBackend) probe = open_cuda (0);
  if (!probe)
    return;
  for (guint n = 1; n <= 16; n++) {
    const gboolean launch = n > 12;
    const gint code = launch ? NDT_ERROR_DEVICE : NDT_ERROR_NO_MEMORY;
    g_autofree gchar *wish =
        launch ? g_strdup_printf ("launch:%u", n - 12) : g_strdup_printf ("alloc:%u", n);
    g_autoptr (GError) error = NULL;
    g_autoptr (NdtMovingScan) scan = ndt_moving_scan_new ();
    NdtTimeSpan span;
    const NdtScanFilter filter = {1, 100, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    Sweep s = sweep_new (cuda, RECORDS, NDT_TIME_F32, 3000);
    TEST_CUDA (FAIL, wish);
    const gboolean ok = ndt_moving_scan_set (scan, cuda, 2, &s.points, &s.times, &span, &error) &&
                        ndt_moving_scan_move (scan, &drive, &filter, &error);
    n_refused += !ok;
    if (!ok) {
      g_assert_error (error, NDT_ERROR, code);
      g_clear_error (&error);
    }
    TEST_CUDA (FAIL, NULL);
    g_assert_cmpint (
        ndt_moving_scan_set (scan, cuda, 2, &s.points, &s.times, &span, &error), ==, ok || !launch);
    if (!error)
      g_assert_true (ndt_moving_scan_move (scan, &drive, &filter, &error));
    sweep_clear (cuda, &s);
  }
  /* Page-locked memory twice and three launches; for the device's own memory there may be a
   * stand-in. */
  g_assert_cmpuint (n_refused, >=, 5);
}

/* ---- The localizer ---- */

enum { N_SCANS = 8, N_STARTING = 2, N_POINTS = 20000 };

/* The body's pose: a bend at 12 m/s. */
static NdtPose
pose_at (const Scene *s, double time)
{
  double twist[6] = {12, 0, 0, 0, 0, 0.5};
  for (guint i = 0; i < 6; i++)
    twist[i] *= time;
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (&s->truth, &step);
}

/* What a moving sensor sees of the street: each point from where it was then. Records of x, y, z,
 * intensity and time. */
static void
take_scan (const Scene *s, guint number, float *records)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (100 + number);
  for (guint i = 0; i < N_POINTS; i++) {
    const double time = SPAN * i / N_POINTS;
    const NdtPose pose = pose_at (s, SPAN * number + time);
    const NdtPose inverse = ndt_pose_inverse (&pose);
    double p[3], q[3];
    do {
      scene_point (random, 60, p);
      ndt_pose_transform_point (&inverse, p, q);
    } while (q[0] * q[0] + q[1] * q[1] > 1600);
    for (guint k = 0; k < 3; k++)
      records[5 * i + k] = (float)q[k];
    records[5 * i + 3] = 0;
    records[5 * i + 4] = (float)time;
  }
}

static NdtLocalizer *
open_localizer (NdtBackend *backend, const Scene *s)
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  g_autoptr (GError) error = NULL;
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.deskew = TRUE;
  params.filter.leaf_size = 0.5f;
  params.filter.min_range = 1;
  g_assert_true (ndt_localizer_set_params (localizer, &params, &error));
  g_assert_true (ndt_backend_set_map (backend, s->map, &error));
  const NdtPose start = pose_at (s, 0);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &start));
  return localizer;
}

static void
observe (float *const records[N_SCANS], guint i, NdtObservation *observation)
{
  memset (observation, 0, sizeof (*observation));
  observation->points = ndt_cloud_view (records[i], N_POINTS, 20, 0, 4, 8, NDT_SCALAR_F32);
  observation->time = (gint64)(1e9 * SPAN * i);
  observation->point_times = (NdtTimeView){(const guint8 *)(records[i] + 4), 20, NDT_TIME_F32};
}

static void
localize (NdtBackend *backend, const Scene *s, float *const records[N_SCANS], NdtLocalization *out)
{
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, s);
  g_autoptr (GError) error = NULL;
  NdtBackendCounters before, after;
  memset (out, 0, N_SCANS * sizeof (*out));
  for (guint i = 0; i < N_SCANS; i++) {
    NdtObservation observation;
    if (i == N_STARTING)
      ndt_backend_get_counters (backend, &before);
    observe (records, i, &observation);
    ndt_localizer_process (localizer, &observation, &out[i], &error);
    g_assert_no_error (error);
    g_assert_cmpint (out[i].status, ==, NDT_TRACK_TRACKING);
  }
  ndt_backend_get_counters (backend, &after);
  /* No scan goes up twice; what else does is little. The velocity of a start is found from one
   * scan, whose parts go up for each step. */
  if (backend->klass->set_moving_scan)
    g_assert_cmpuint (after.upload_bytes - before.upload_bytes, <,
        (N_SCANS - N_STARTING) * 20 * N_POINTS * 5 / 4);
}

static void
collect (guint index, const NdtLocalization *localization, gpointer user_data)
{
  ((NdtLocalization *)user_data)[index] = *localization;
}

/* In batches, of which the device reads scans before their turn: the same, to the bit. */
static void
check_batches (NdtBackend *backend, const Scene *s, float *const records[N_SCANS],
    const NdtLocalization *one_by_one)
{
  static const guint sizes[] = {1, 3, N_SCANS};
  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++) {
    g_autoptr (NdtLocalizer) localizer = open_localizer (backend, s);
    g_autoptr (GError) error = NULL;
    NdtLocalization out[N_SCANS];
    for (guint i = 0; i < N_SCANS; i += sizes[k]) {
      NdtObservation observations[N_SCANS];
      const guint n = MIN (sizes[k], N_SCANS - i);
      for (guint m = 0; m < n; m++)
        observe (records, i + m, &observations[m]);
      ndt_localizer_process_batch (localizer, observations, n, collect, out + i, &error);
      g_assert_no_error (error);
    }
    for (guint i = 0; i < N_SCANS; i++) {
      NdtLocalization expected = one_by_one[i];
      expected.upload_time = out[i].upload_time;
      expected.align_time = out[i].align_time;
      g_assert_cmpmem (&out[i], sizeof (out[i]), &expected, sizeof (expected));
    }
  }
}

/* A drive: both backends say the same, and are right. */
static void
test_localize (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  Scene s = scene_new (60, 120000, 1, 2, NULL);
  NdtLocalization a[N_SCANS], b[N_SCANS];
  float *records[N_SCANS], *locked[N_SCANS];
  for (guint i = 0; i < N_SCANS; i++) {
    records[i] = g_new (float, 5 * N_POINTS);
    take_scan (&s, i, records[i]);
    locked[i] = ndt_backend_alloc_host (cuda, 20 * N_POINTS);
    memcpy (locked[i], records[i], 20 * N_POINTS);
  }
  localize (cpu, &s, records, a);
  check_batches (cpu, &s, records, a);
  for (guint k = 0; k < 2; k++) {
    localize (cuda, &s, k ? locked : records, b);
    check_batches (cuda, &s, k ? locked : records, b);
    for (guint i = 0; i < N_SCANS; i++) {
      const NdtPose truth = pose_at (&s, SPAN * i);
      double metres, radians, off, turn;
      ndt_pose_difference (&a[i].registration.pose, &b[i].registration.pose, &metres, &radians);
      ndt_pose_difference (&b[i].registration.pose, &truth, &off, &turn);
      g_test_message ("scan %u: backends %.3g m and %.3g° apart, %.3g m off", i, metres,
          radians * 180 / G_PI, off);
      g_assert_cmpfloat (metres, <, 1e-4);
      g_assert_cmpfloat (radians, <, 0.001 * G_PI / 180);
      g_assert_cmpint (a[i].deskewed, ==, b[i].deskewed);
      /* Once it is known how the body moves. Noise of the scene is 3 cm; uncompensated, points are
       * 60 cm off on average. */
      if (i >= 3) {
        g_assert_true (b[i].deskewed);
        g_assert_cmpfloat (off, <, 0.05);
      }
    }
  }
  for (guint i = 0; i < N_SCANS; i++) {
    g_free (records[i]);
    ((NdtBackendClass *)cuda->klass)->free_host (locked[i], 20 * N_POINTS);
  }
  scene_clear (&s);
}

/* Little of everything, for tools under which it takes a thousand times as long. */
static void
test_sanitize (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  check_points (cuda, cpu, RECORDS, NDT_TIME_F32, 1025);
  check_points (cuda, cpu, LOCKED_DOUBLES, NDT_TIME_F64, 700);
}

/* A search in the background of a stream on @backend, of scans as their sensor saw them. */
static NdtRelocation
search (NdtBackend *backend, const Scene *s, float *const records[N_SCANS])
{
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (backend);
  /* The street repeats itself every 14 m. */
  NdtRelocalizerTask task = {.map = s->map,
      .has_area = TRUE,
      .around = pose_at (s, 0),
      .area = {.stddev = {0.5, 0.5, 0.1, 0, 0, 0.1}},
      .least_fit = 0.6,
      .least_follow_fit = 0.6,
      .filter = {1, 0, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f}};
  NdtRelocation found;
  ndt_registration_params_init (&task.registration);
  ndt_relocalizer_begin (relocalizer, &task);
  for (guint i = 0; i < NDT_RELOCALIZER_SCANS; i++) {
    NdtRelocalizerScan scan = {.xyz = g_new (float, 3 * N_POINTS),
        .times = g_new (float, N_POINTS),
        .n = N_POINTS,
        .time = (gint64)(1e9 * SPAN * i)};
    for (guint k = 0; k < N_POINTS; k++) {
      memcpy (scan.xyz + 3 * k, records[i] + 5 * k, 3 * sizeof (float));
      scan.times[k] = records[i][5 * k + 4];
    }
    ndt_relocalizer_add (relocalizer, &scan);
  }
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &found));
  g_assert_null (ndt_relocalizer_take_failure (relocalizer));
  ndt_relocalizer_free (relocalizer);
  return found;
}

/* The velocity of two scans is found by the CPU, the place by the stream's device, in the same
 * bits each time. */
static void
test_search (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  g_autoptr (NdtBackend) cpu = open_cpu ();
  Scene s = scene_new (60, 120000, 1, 2, NULL);
  float *records[N_SCANS];
  for (guint i = 0; i < N_SCANS; i++) {
    records[i] = g_new (float, 5 * N_POINTS);
    take_scan (&s, i, records[i]);
  }
  const NdtPose truth = pose_at (&s, SPAN * (NDT_RELOCALIZER_SCANS - 1));
  const NdtRelocation a = search (cpu, &s, records);
  double metres, radians;
  ndt_pose_difference (&a.pose, &truth, &metres, &radians);
  g_test_message ("%.4f m and %.4f rad off", metres, radians);
  g_assert_true (a.found && a.has_velocity && a.course.has_velocity);
  /* As test_localize(); 12 m/s are 1.2 m in a scan. */
  g_assert_cmpfloat (metres, <, 0.05);
  g_assert_cmpfloat (fabs (a.course.velocity[0] - 12), <, 0.5);
  for (guint k = 0; k < 2 && cuda; k++) {
    const NdtRelocation b = search (cuda, &s, records), c = search (cuda, &s, records);
    ndt_pose_difference (&a.pose, &b.pose, &metres, &radians);
    g_test_message ("backends %.3g m and %.3g rad apart", metres, radians);
    g_assert_true (b.found);
    g_assert_cmpfloat (metres, <, 1e-3);
    g_assert_cmpfloat (radians, <, 1e-4);
    g_assert_cmpmem (&b.pose, sizeof (b.pose), &c.pose, sizeof (c.pose));
    g_assert_cmpmem (b.velocity, sizeof (b.velocity), c.velocity, sizeof (c.velocity));
  }
  for (guint i = 0; i < N_SCANS; i++)
    g_free (records[i]);
  scene_clear (&s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/motion/points", test_points);
  g_test_add_func ("/gpu/motion/times", test_times);
  g_test_add_func ("/gpu/motion/counters", test_counters);
  g_test_add_func ("/gpu/motion/failures", test_failures);
  g_test_add_func ("/gpu/motion/localize", test_localize);
  g_test_add_func ("/gpu/motion/search", test_search);
  g_test_add_func ("/gpu/motion/sanitize", test_sanitize);
  return g_test_run ();
}
