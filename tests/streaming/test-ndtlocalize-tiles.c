/* SPDX-License-Identifier: MIT */
/* A map of tiles that follows the vehicle: the same poses as in the whole map, however long tiles
 * take to be read; and what happens where there are none. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "gst/ndt/engine/gstndtmaploader.h"
#include "ndt-map-gate.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-street.h"
#include "tests/ndt-tiles.h"
#include "tests/ndt-wait.h"

/* Cells of 1 m lie across the borders of tiles. */
#define TILE 12.5
/* What a scan sees, and what the vehicle drives in 20 scans. */
#define RADIUS 64.0
#define N_SCANS 130

static gchar *folder; /* of the map and … */
static gchar *whole;
static gchar *tiles; /* … of its tiles */

static void
setup (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  gst_ndt_map_loader_before_move = before_move;
  folder = g_dir_make_tmp ("ndt-street-XXXXXX", NULL);
  whole = g_build_filename (folder, "street.pcd", NULL);
  tiles = g_build_filename (folder, "tiles", NULL);
  g_assert_cmpint (g_mkdir (tiles, 0755), ==, 0);
  ndt_street_write_map (whole);
  ndt_test_cut_map (whole, tiles, TILE);
}

static void
teardown (void)
{
  ndt_test_remove_folder (tiles);
  ndt_test_remove_folder (folder);
  g_free (tiles);
  g_free (whole);
  g_free (folder);
}

/* ---- The vehicle ---- */

static gchar *
pose_at (gdouble x)
{
  const NdtPose pose = ndt_street_pose (x);
  return ndt_pose_to_string (&pose);
}

static GstBuffer *
scan_with_prior (gdouble x)
{
  const NdtPose pose = ndt_street_pose (x);
  GstBuffer *scan = ndt_street_scan (x);
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, pose.position, pose.orientation);
  return scan;
}

static GstHarness *
harness_at (gdouble x)
{
  g_autofree gchar *pose = pose_at (x);
  return ndt_harness_new ("backend", 2 /* cpu */, "map-location", tiles, "map-radius", RADIUS,
      "initial-pose", pose, NULL);
}

/* Where the scan at x is found: within 5 cm of the truth. */
static void
assert_found (GstBuffer *buffer, gdouble x)
{
  const NdtPose truth = ndt_street_pose (x), pose = ndt_harness_pose_of (buffer);
  gdouble metres, radians;

  fail_unless_equals_int (ndt_harness_estimate (buffer)->status, GST_POSE_STATUS_TRACKING);
  ndt_pose_difference (&truth, &pose, &metres, &radians);
  if (metres > 0.05)
    g_error ("at %g m the pose is off by %g m", x, metres);
}

static void
drive_to (GstHarness *h, gdouble x)
{
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_street_scan (x));
  assert_found (out, x);
}

static void
jump_to (GstHarness *h, gdouble x)
{
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_with_prior (x));
  assert_found (out, x);
}

/* Scans from the same place until something has come: a live vehicle that drove on meanwhile would
 * leave its map, faster than any does. */
#define stand_until(h, x, condition)                                                               \
  G_STMT_START                                                                                     \
  {                                                                                                \
    const gint64 stand_end = g_get_monotonic_time () + NDT_WAIT_SECONDS * G_TIME_SPAN_SECOND;      \
    while (!(condition)) {                                                                         \
      fail_unless (g_get_monotonic_time () < stand_end, "waited in vain for: %s", #condition);     \
      drive_to (h, x);                                                                             \
    }                                                                                              \
  }                                                                                                \
  G_STMT_END

static GstMessage *
take_map_message (GstHarness *h)
{
  return ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-map");
}

static guint64
get_scan (GstMessage *message)
{
  guint64 scan = 0;
  fail_unless (
      gst_structure_get_uint64 (gst_message_get_structure (message), "scan", &scan), "no scan");
  return scan;
}

static void
assert_warning (GstHarness *h, gint code, const gchar *text)
{
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (g_error_matches (warning, GST_RESOURCE_ERROR, code), "%s",
      warning ? warning->message : "no warning");
  fail_unless (strstr (warning->message, text) != NULL, "%s", warning->message);
}

/* Of the map: warnings about scans are others. */
static void
assert_no_warning (GstHarness *h)
{
  g_autoptr (GError) warning = NULL;
  while ((warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING))) {
    fail_unless (warning->domain == GST_STREAM_ERROR, "%s", warning->message);
    g_clear_error (&warning);
  }
}

/* ---- A drive ---- */

typedef struct {
  NdtPose poses[N_SCANS];
  GString *maps; /* messages */
  guint64 n_loaded;
  guint64 n_dropped;
  guint64 n_used;
  guint64 bytes;
} Drive;

/* All of the street; in between a prior says that the vehicle is elsewhere, and it is. The next
 * scan has one as well, since the step there is no velocity. */
static void
drive (Drive *found, gint backend, const gchar *map, gdouble radius, guint batch_size)
{
  g_autofree gchar *pose = pose_at (0);
  GstHarness *h = ndt_harness_new ("backend", backend, "map-location", map, "map-radius", radius,
      "initial-pose", pose, "batch-size", batch_size, NULL);

  memset (found->poses, 0, sizeof found->poses);
  for (guint i = 0; i < N_SCANS; i++) {
    const gdouble x = NDT_STREET_STEP * i - (i < 90 ? 0 : 170);
    GstBuffer *scan = i == 90 || i == 91 ? scan_with_prior (x) : ndt_street_scan (x);
    fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  }
  for (guint i = 0; i < N_SCANS; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless (out != NULL);
    assert_found (out, NDT_STREET_STEP * i - (i < 90 ? 0 : 170));
    found->poses[i] = ndt_harness_pose_of (out);
  }
  found->maps = g_string_new (NULL);
  for (GstMessage *message = take_map_message (h); message; message = take_map_message (h)) {
    g_autofree gchar *text = gst_structure_to_string (gst_message_get_structure (message));
    g_string_append_printf (found->maps, "%s\n", text);
    gst_message_unref (message);
  }
  found->n_loaded = ndt_harness_count (h, "tiles-loaded");
  found->n_dropped = ndt_harness_count (h, "tiles-dropped");
  found->n_used = ndt_harness_count (h, "tiles");
  found->bytes = ndt_harness_count (h, "tiles-bytes");
  fail_unless_equals_uint64 (ndt_harness_count (h, "tiles-failed"), 0);
  assert_no_warning (h);
  ndt_harness_free (h);
}

/* Tiles give the whole map's poses, within the rounding of sums on their borders; bitwise the same
 * whatever the batches, and however long the tiles take to be read. On the device, where there is
 * one, as well. */
static void
check_drive (gint backend)
{
  static const struct {
    guint batch_size;
    gint delay;
  } runs[] = {{8, 0}, {64, 20000}, {1, 5000}, {8, 2000}, {1, 0}};
  /* ThreadSanitizer takes ten times as long for each. */
  const guint n_runs =
      g_strcmp0 (g_getenv ("NDT_TEST_SANITIZER"), "thread") == 0 ? 2 : G_N_ELEMENTS (runs);
  Drive expected, all, reference = {.maps = NULL};

  g_atomic_int_set (&move_delay, 0);
  drive (&expected, backend, whole, 0, 8);
  fail_unless_equals_int (expected.maps->len, 0);
  fail_unless_equals_uint64 (expected.n_loaded, 0);
  drive (&all, backend, tiles, 1e4, 8);
  fail_unless_equals_uint64 (all.n_dropped, 0);

  for (guint r = 0; r < n_runs; r++) {
    Drive found;
    g_atomic_int_set (&move_delay, runs[r].delay);
    drive (&found, backend, tiles, RADIUS, runs[r].batch_size);
    if (r > 0) {
      fail_unless (memcmp (found.poses, reference.poses, sizeof found.poses) == 0);
      if (strcmp (found.maps->str, reference.maps->str) != 0)
        g_error ("other maps:\n%s\nthan at first:\n%s", found.maps->str, reference.maps->str);
      g_string_free (found.maps, TRUE);
      continue;
    }
    reference = found;
    for (guint i = 0; i < N_SCANS; i++) {
      gdouble metres, radians;
      ndt_pose_difference (&expected.poses[i], &found.poses[i], &metres, &radians);
      fail_unless (metres < 1e-4 && radians < 1e-3 * G_PI / 180, "scan %u: %g m", i, metres);
    }
    /* It went through the street with a third of it in memory. */
    fail_unless (found.n_dropped > found.n_used);
    fail_unless (2 * found.n_used < all.n_used);
    fail_unless_equals_uint64 (found.n_loaded, found.n_dropped + found.n_used);
    fail_unless (found.bytes < all.bytes / 2);
  }
  g_atomic_int_set (&move_delay, 0);
  g_string_free (reference.maps, TRUE);
  g_string_free (all.maps, TRUE);
  g_string_free (expected.maps, TRUE);
}

GST_START_TEST (test_drive)
{
  check_drive (2); /* cpu */
}
GST_END_TEST;

GST_START_TEST (test_drive_on_device)
{
  GstHarness *h = harness_at (0);
  g_autofree gchar *active = NULL;
  gst_element_set_state (h->element, GST_STATE_NULL);
  g_object_set (h->element, "backend", 0, NULL);
  gst_element_set_state (h->element, GST_STATE_READY);
  g_object_get (h->element, "active-backend", &active, NULL);
  gst_element_set_state (h->element, GST_STATE_NULL);
  ndt_harness_free (h);
  if (g_strcmp0 (active, "cpu") == 0)
    return;
  check_drive (0); /* auto */
}
GST_END_TEST;

/* No scan of a live source waits for tiles; a vehicle that stands loads none. */
GST_START_TEST (test_live)
{
  GstHarness *h = harness_at (0);
  gdouble x = 0;
  GstMessage *message = NULL;

  fail_unless (gst_harness_query_latency (h) > 0);
  set_gate (TRUE);
  g_atomic_int_set (&n_moves, 0);
  /* More than ten scans after the first that asks for tiles. */
  for (; x < 40; x += NDT_STREET_STEP)
    drive_to (h, x);
  ndt_wait_for (g_atomic_int_get (&n_moves) == 1);
  fail_unless (take_map_message (h) == NULL);
  set_gate (FALSE);
  stand_until (h, x, (message = take_map_message (h)) != NULL);
  fail_unless (get_scan (message) >= 20);
  gst_message_unref (message);
  ndt_harness_free (h);
}
GST_END_TEST;

GST_START_TEST (test_standing)
{
  GstHarness *h = harness_at (0);
  for (gdouble x = 0; x < 60; x += NDT_STREET_STEP)
    drive_to (h, x);
  /* What was asked for takes effect, and what that asks for. */
  for (guint i = 0; i < 25; i++)
    drive_to (h, 60);
  const guint64 n_loaded = ndt_harness_count (h, "tiles-loaded");
  ndt_harness_drop_messages (h->element);
  for (guint i = 0; i < 60; i++)
    drive_to (h, 60 + 3 * sin (0.2 * i)); /* across a border of tiles */
  fail_unless (take_map_message (h) == NULL);
  fail_unless_equals_uint64 (ndt_harness_count (h, "tiles-loaded"), n_loaded);
  ndt_harness_free (h);
}
GST_END_TEST;

/* ---- Elsewhere ---- */

/* The scan that jumps has its tiles, live or not; by a prior, by the actions, by a seek. */
static void
check_jumps (gboolean live)
{
  GstHarness *h = harness_at (0);
  g_autoptr (GstMessage) by_prior = NULL;
  g_autoptr (GstMessage) by_action = NULL;
  g_autofree gchar *pose = pose_at (100);
  gboolean ok = FALSE;

  if (live)
    gst_harness_query_latency (h);
  g_atomic_int_set (&move_delay, 10000);
  drive_to (h, 0);
  drive_to (h, 2);
  jump_to (h, 240);
  by_prior = take_map_message (h);
  fail_unless_equals_uint64 (get_scan (by_prior), 2);
  jump_to (h, 242);

  g_signal_emit_by_name (h->element, "set-initial-pose", pose, &ok);
  fail_unless (ok);
  drive_to (h, 100);
  by_action = take_map_message (h);
  fail_unless_equals_uint64 (get_scan (by_action), 4);
  drive_to (h, 102);

  /* At the beginning initial-pose applies: by a seek, which no live source knows, or the action. */
  if (live) {
    g_signal_emit_by_name (h->element, "reset");
  } else {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_harness_push_event (h, gst_event_new_flush_start ());
    gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (h, gst_event_new_segment (&segment));
  }
  drive_to (h, 0);
  drive_to (h, 2);
  fail_unless_equals_uint64 (ndt_harness_count (h, "tiles-failed"), 0);
  assert_no_warning (h);
  g_atomic_int_set (&move_delay, 0);
  ndt_harness_free (h);
}

GST_START_TEST (test_jumps)
{
  check_jumps (FALSE);
}
GST_END_TEST;

GST_START_TEST (test_live_jumps)
{
  check_jumps (TRUE);
}
GST_END_TEST;

static GstBuffer *
scan_elsewhere (gdouble x, gdouble y)
{
  NdtPose pose = ndt_street_pose (0);
  GstBuffer *scan = ndt_street_scan (0);
  pose.position[0] = x;
  pose.position[1] = y;
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, pose.position, pose.orientation);
  return scan;
}

/* Off the map the nearest tile stays; one warning, whatever comes. */
GST_START_TEST (test_outside)
{
  GstHarness *h = harness_at (0);
  drive_to (h, 0);
  for (guint i = 0; i < 4; i++) {
    const GstPoseStatus status =
        ndt_harness_pass_status (h, scan_elsewhere (5000 + 1000.0 * i, 300));
    fail_unless (status != GST_POSE_STATUS_TRACKING);
    fail_unless_equals_uint64 (ndt_harness_count (h, "tiles"), 1);
    if (i == 0)
      assert_warning (h, GST_RESOURCE_ERROR_NOT_FOUND, "No tile");
  }
  /* No position at all. */
  ndt_harness_pass_status (h, scan_elsewhere (NAN, INFINITY));
  ndt_harness_pass_status (h, scan_elsewhere (1e300, -1e300));
  assert_no_warning (h);
  jump_to (h, 50);
  jump_to (h, 52);
  drive_to (h, 54);
  fail_unless (ndt_harness_pass_status (h, scan_elsewhere (-5000, 0)) != GST_POSE_STATUS_TRACKING);
  assert_warning (h, GST_RESOURCE_ERROR_NOT_FOUND, "No tile");
  ndt_harness_free (h);
}
GST_END_TEST;

/* Without an initial pose, and with one off the map, the stream begins and a prior ends it. */
GST_START_TEST (test_start)
{
  static const gchar *const starts[] = {"", "1000,1000,2"};
  for (guint i = 0; i < G_N_ELEMENTS (starts); i++) {
    GstHarness *h = ndt_harness_new (
        "backend", 2, "map-location", tiles, "map-radius", RADIUS, "initial-pose", starts[i], NULL);
    const GstPoseStatus status = ndt_harness_pass_status (h, ndt_street_scan (200));
    fail_unless_equals_int (status, i == 0 ? GST_POSE_STATUS_INITIALIZING : GST_POSE_STATUS_LOST);
    fail_unless_equals_uint64 (ndt_harness_count (h, "tiles") == 1, i == 1);
    jump_to (h, 200);
    ndt_harness_free (h);
  }
}
GST_END_TEST;

/* The last pose of a run says which tiles the next one begins with. */
GST_START_TEST (test_last_pose)
{
  g_autofree gchar *last = g_build_filename (folder, "last", NULL);
  g_autofree gchar *pose = pose_at (200);
  for (guint i = 0; i < 2; i++) {
    GstHarness *h = ndt_harness_new ("backend", 2, "map-location", tiles, "map-radius", RADIUS,
        "map-search", FALSE, "initial-pose", i == 0 ? pose : "", "pose-file", last, NULL);
    drive_to (h, 200);
    assert_no_warning (h);
    ndt_harness_free (h);
  }
}
GST_END_TEST;

/* ---- Files that cannot be read ---- */

GST_START_TEST (test_unreadable)
{
  g_autofree gchar *tile = g_build_filename (tiles, "100_0.pcd", NULL);
  g_autofree gchar *away = g_strconcat (tile, ".away", NULL);
  GstHarness *h = harness_at (0);

  drive_to (h, 0);
  fail_unless_equals_int (g_rename (tile, away), 0);
  for (gdouble x = 2; x <= 120; x += NDT_STREET_STEP)
    drive_to (h, x);
  fail_unless (ndt_harness_count (h, "tiles-failed") > 1);
  assert_warning (h, GST_RESOURCE_ERROR_READ, "100_0.pcd");
  assert_no_warning (h);
  fail_unless_equals_int (g_rename (away, tile), 0);
  ndt_harness_free (h);

  /* At the start it is an error, as are metadata that are wrong. */
  g_autoptr (GstElement) element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  ndt_harness_set (element, "map-location", tiles, "map-radius", RADIUS, "initial-pose",
      "100,0,1.8", "backend", 2, NULL);
  g_autofree gchar *saved = NULL;
  gsize size;
  g_assert_true (g_file_get_contents (tile, &saved, &size, NULL));
  g_assert_true (g_file_set_contents (tile, saved, (gssize)size / 2, NULL));
  ndt_harness_refuse_map (element);
  g_autoptr (GError) error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ));
  fail_unless (strstr (error->message, "100_0.pcd") != NULL, "%s", error->message);
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (tile, saved, (gssize)size, NULL));

  g_autofree gchar *metadata = g_build_filename (tiles, NDT_MAP_METADATA_NAME, NULL);
  g_autofree gchar *good = NULL;
  g_assert_true (g_file_get_contents (metadata, &good, NULL, NULL));
  g_assert_true (g_file_set_contents (metadata, "x_resolution: [", -1, NULL));
  gst_element_set_state (element, GST_STATE_NULL);
  ndt_harness_refuse_map (element);
  error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ));
  fail_unless (strstr (error->message, NDT_MAP_METADATA_NAME) != NULL, "%s", error->message);
  g_assert_true (g_file_set_contents (metadata, good, -1, NULL));
  gst_element_set_state (element, GST_STATE_NULL);
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
}
GST_END_TEST;

/* ---- Changes meanwhile ---- */

static gdouble
get_resolution (GstMessage *message)
{
  gdouble resolution = 0;
  if (message)
    gst_structure_get_double (gst_message_get_structure (message), "resolution", &resolution);
  g_clear_pointer (&message, gst_message_unref);
  return resolution;
}

/* Other cells, and other tiles, come into use while the vehicle is followed, and follow it then. */
GST_START_TEST (test_change)
{
  GstHarness *h = harness_at (0);
  gdouble x = 0;

  g_atomic_int_set (&n_moves, 0);
  set_gate (TRUE);
  for (; x < 20; x += NDT_STREET_STEP)
    drive_to (h, x);
  ndt_wait_for (g_atomic_int_get (&n_moves) > 0);
  /* While tiles are on their way. */
  g_object_set (h->element, "resolution", 1.25, NULL);
  set_gate (FALSE);
  stand_until (h, x, get_resolution (take_map_message (h)) == 1.25);
  const guint64 n_loaded = ndt_harness_count (h, "tiles-loaded");
  for (; x < 100; x += NDT_STREET_STEP)
    drive_to (h, x);
  fail_unless (ndt_harness_count (h, "tiles-loaded") > n_loaded);
  fail_unless (get_resolution (take_map_message (h)) == 1.25);

  /* Refused: the tiles before follow on. */
  g_object_set (h->element, "map-location", "/nowhere", NULL);
  g_autofree gchar *location = NULL;
  GError *warning = NULL;
  stand_until (h, x, (warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING)) != NULL);
  fail_unless (strstr (warning->message, "/nowhere") != NULL, "%s", warning->message);
  g_clear_error (&warning);
  g_object_get (h->element, "map-location", &location, NULL);
  fail_unless_equals_string (location, tiles);

  /* The whole map as the one tile of a file. */
  g_object_set (h->element, "map-location", whole, NULL);
  stand_until (h, x, ndt_harness_count (h, "tiles") == 1);
  drive_to (h, x);
  assert_no_warning (h);
  ndt_harness_free (h);
}
GST_END_TEST;

/* ---- Flushes and shutting down ---- */

static gpointer
push_street (gpointer user_data)
{
  GstHarness *h = user_data;
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 0; i < 100 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (h, ndt_street_scan (NDT_STREET_STEP * i));
  return GINT_TO_POINTER (flow);
}

/* The first scan that other tiles take effect with. */
static guint64
find_first_move (void)
{
  GstHarness *h = harness_at (0);
  GstMessage *message = NULL;
  for (gdouble x = 0; !message; x += NDT_STREET_STEP) {
    fail_unless (x < 100);
    drive_to (h, x);
    message = take_map_message (h);
  }
  const guint64 scan = get_scan (message);
  gst_message_unref (message);
  ndt_harness_free (h);
  return scan;
}

/* A scan that waits for its tiles leaves with a flush. */
GST_START_TEST (test_flush)
{
  const guint64 n_before = find_first_move ();
  GstHarness *h = harness_at (0);
  GstSegment segment;

  set_gate (TRUE);
  GThread *thread = g_thread_new ("push", push_street, h);
  ndt_wait_for (ndt_harness_count (h, "scans-out") == n_before);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_FLUSHING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), n_before);
  set_gate (FALSE);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  for (guint64 i = 0; i < n_before; i++)
    gst_buffer_unref (gst_harness_pull (h));
  for (gdouble x = 0; x < 60; x += NDT_STREET_STEP)
    drive_to (h, x);
  ndt_harness_free (h);
}
GST_END_TEST;

/* A search goes on while tiles come into use: a vehicle that is 25 m on without being seen is found
 * by the scans that find it where all tiles are in memory. */
GST_START_TEST (test_search)
{
  enum { N_AFTER = 8 };
  const guint64 n_before = find_first_move ();
  GstPoseStatus status[2][N_AFTER];
  for (guint all = 0; all < 2; all++) {
    g_autofree gchar *pose = pose_at (0);
    GstHarness *h = ndt_harness_new ("backend", 2 /* cpu */, "map-location", tiles, "map-radius",
        all ? 1e4 : RADIUS, "initial-pose", pose, NULL);
    guint64 scan = 0;
    for (; scan + 2 < n_before; scan++)
      drive_to (h, NDT_STREET_STEP * (gdouble)scan);
    fail_unless (take_map_message (h) == NULL);
    for (guint i = 0; i < N_AFTER; i++, scan++) {
      const gdouble x = NDT_STREET_STEP * (gdouble)scan + 25;
      g_autoptr (GstBuffer) out = ndt_harness_pass (h, ndt_street_scan (x));
      status[all][i] = ndt_harness_estimate (out)->status;
      if (status[all][i] == GST_POSE_STATUS_TRACKING)
        assert_found (out, x);
    }
    g_autoptr (GstMessage) message = take_map_message (h);
    fail_unless_equals_int (message != NULL, !all);
    if (message)
      fail_unless_equals_uint64 (get_scan (message), n_before);
    ndt_harness_free (h);
  }
  fail_unless_equals_int (status[0][0], GST_POSE_STATUS_DEGRADED);
  fail_unless_equals_int (status[0][N_AFTER - 1], GST_POSE_STATUS_TRACKING);
  for (guint i = 0; i < N_AFTER; i++)
    fail_unless (status[0][i] == status[1][i], "scan %u: %d, with all tiles %d", i, status[0][i],
        status[1][i]);
}
GST_END_TEST;

static gpointer
stop (gpointer user_data)
{
  return GINT_TO_POINTER (gst_element_set_state (user_data, GST_STATE_NULL));
}

/* Stopping does not wait for tiles that are being read or were wanted; whether a scan waits for
 * them or not. */
static void
check_stop (gboolean live)
{
  const guint64 n_before = live ? 40 : find_first_move ();
  GstHarness *h = harness_at (0);

  if (live)
    gst_harness_query_latency (h);
  set_gate (TRUE);
  g_atomic_int_set (&n_moves, 0);
  GThread *pushing = g_thread_new ("push", push_street, h);
  ndt_wait_for (ndt_harness_count (h, "scans-out") >= n_before && g_atomic_int_get (&n_moves) > 0);
  GThread *stopping = g_thread_new ("stop", stop, h->element);
  g_thread_join (pushing);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (stopping)), GST_STATE_CHANGE_SUCCESS);
  set_gate (FALSE);
  fail_unless_equals_int (g_atomic_int_get (&n_moves), 1);

  /* It starts again, from the beginning. */
  gst_element_set_state (h->element, GST_STATE_PLAYING);
  gst_element_set_state (h->element, GST_STATE_NULL);
  ndt_harness_free (h);
}

GST_START_TEST (test_stop)
{
  check_stop (FALSE);
}
GST_END_TEST;

GST_START_TEST (test_live_stop)
{
  check_stop (TRUE);
}
GST_END_TEST;

static Suite *
ndtlocalize_tiles_suite (void)
{
  Suite *s = suite_create ("ndtlocalize-tiles");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (s, tc);
  tcase_add_unchecked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_drive);
  tcase_add_test (tc, test_drive_on_device);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_standing);
  tcase_add_test (tc, test_jumps);
  tcase_add_test (tc, test_live_jumps);
  tcase_add_test (tc, test_outside);
  tcase_add_test (tc, test_start);
  tcase_add_test (tc, test_last_pose);
  tcase_add_test (tc, test_unreadable);
  tcase_add_test (tc, test_change);
  tcase_add_test (tc, test_search);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_stop);
  tcase_add_test (tc, test_live_stop);
  return s;
}

GST_CHECK_MAIN (ndtlocalize_tiles)
