/* SPDX-License-Identifier: MIT */
/* Maps and properties that change while scans are aligned, at any moment from another thread: each
 * change takes effect at the scan that its message names, neither before nor after. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"

#define N_PLACES 10

/* With a prior on each scan and no average of scores a scan's pose depends on nothing but these,
 * but for the first. */
static const gdouble resolutions[] = {1, 2};
static const gdouble ratios[] = {0.3, 0.55};

typedef struct {
  NdtPose pose;
  gdouble nvtl;
} Found;

typedef struct {
  guint64 sequence;
  Found found;
  GQuark frame;
  GstClockTime offset; /* of the pose's time from the scan's */
} Outcome;

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

static GstBuffer *
scan_with_prior (guint index)
{
  NdtPose pose;
  GstBuffer *scan = ndt_room_scan (index % N_PLACES);
  ndt_room_pose (index % N_PLACES, &pose);
  gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, pose.position, pose.orientation);
  return scan;
}

static Found
found_in (GstBuffer *buffer)
{
  const GstPoseMeta *meta = ndt_harness_estimate (buffer);
  Found found;

  fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
  memset (&found, 0, sizeof found);
  found.pose = ndt_harness_pose_of (buffer);
  found.nvtl = meta->nvtl;
  return found;
}

static GstHarness *
harness_new (gdouble resolution, gdouble ratio)
{
  return ndt_harness_new (
      "resolution", resolution, "outlier-ratio", ratio, "score-drop", 0.0, "batch-size", 4, NULL);
}

/* Where each scan is found with settings that stay, and how many voxels the map has. */
static void
find_references (Found found[2][2][N_PLACES], guint64 n_voxels[2])
{
  for (guint m = 0; m < 2; m++) {
    for (guint r = 0; r < 2; r++) {
      GstHarness *h = harness_new (resolutions[m], ratios[r]);
      /* The first scan is searched from far. */
      gst_buffer_unref (ndt_harness_pass (h, scan_with_prior (0)));
      for (guint i = 0; i < N_PLACES; i++) {
        g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_with_prior (i));
        found[m][r][i] = found_in (out);
      }
      n_voxels[m] = ndt_harness_count (h, "map-voxels");
      ndt_harness_free (h);
    }
  }
}

static gint n_outcomes;

static GstPadProbeReturn
note_outcome (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GArray *outcomes = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstPoseMeta *meta = ndt_harness_estimate (buffer);
  const Outcome outcome = {meta->sequence, found_in (buffer), meta->parent_frame,
      meta->timestamp - GST_BUFFER_PTS (buffer)};

  g_array_append_val (outcomes, outcome);
  g_atomic_int_inc (&n_outcomes);
  return GST_PAD_PROBE_DROP;
}

typedef struct {
  GstHarness *h;
  gint stop;
} Pusher;

static gpointer
push_scans (gpointer user_data)
{
  Pusher *pusher = user_data;
  for (guint i = 0; !g_atomic_int_get (&pusher->stop); i++)
    fail_unless_equals_int (gst_harness_push (pusher->h, scan_with_prior (i)), GST_FLOW_OK);
  gst_harness_push_event (pusher->h, gst_event_new_eos ());
  return NULL;
}

static gint n_changes[2]; /* messages of maps and of settings */

static GstBusSyncReply
count_changes (GstBus *bus, GstMessage *message, gpointer user_data)
{
  if (gst_message_has_name (message, "ndt-map"))
    g_atomic_int_inc (&n_changes[0]);
  else if (gst_message_has_name (message, "ndt-settings"))
    g_atomic_int_inc (&n_changes[1]);
  return GST_BUS_PASS;
}

static void
wait_for_eos (GstHarness *h)
{
  gboolean eos = FALSE;
  while (!eos) {
    g_autoptr (GstEvent) event = gst_harness_pull_event (h);
    fail_unless (event != NULL);
    eos = GST_EVENT_TYPE (event) == GST_EVENT_EOS;
  }
}

/* What the messages say of the settings from a scan on. */
typedef struct {
  guint map;
  guint ratio;
  const gchar *frame;
  gboolean at_start;
  guint n_maps;
  guint n_settings;
} Settings;

static void
apply (Settings *settings, const GstStructure *structure, const guint64 n_voxels[2])
{
  gdouble ratio, resolution;
  guint voxels;
  gint position;

  if (gst_structure_has_name (structure, "ndt-map")) {
    fail_unless (gst_structure_get_uint (structure, "voxels", &voxels));
    fail_unless (gst_structure_get_double (structure, "resolution", &resolution));
    settings->map = resolution == resolutions[1];
    fail_unless_equals_uint64 (voxels, n_voxels[settings->map]);
    settings->n_maps++;
    return;
  }
  settings->n_settings++;
  if (gst_structure_get_double (structure, "outlier-ratio", &ratio))
    settings->ratio = ratio == ratios[1];
  if (gst_structure_has_field (structure, "map-frame"))
    settings->frame = gst_structure_get_string (structure, "map-frame");
  if (gst_structure_has_field (structure, "stamp-position")) {
    position = g_value_get_enum (gst_structure_get_value (structure, "stamp-position"));
    settings->at_start = position == 0;
  }
}

/* Changes something, at random. */
static void
disturb (GstHarness *h, GRand *random)
{
  switch (g_rand_int_range (random, 0, 6)) {
  case 0:
    g_object_set (h->element, "resolution", resolutions[g_rand_int_range (random, 0, 2)], NULL);
    break;
  case 1:
    g_object_set (h->element, "map-frame", g_rand_boolean (random) ? "map" : "world", NULL);
    break;
  case 2:
    gst_util_set_object_arg (
        G_OBJECT (h->element), "stamp-position", g_rand_boolean (random) ? "start" : "middle");
    break;
  case 3:
    /* Both at once, or nearly: one message, or two. */
    g_object_set (h->element, "outlier-ratio", ratios[g_rand_int_range (random, 0, 2)], "map-frame",
        g_rand_boolean (random) ? "map" : "world", NULL);
    break;
  default:
    g_object_set (h->element, "outlier-ratio", ratios[g_rand_int_range (random, 0, 2)], NULL);
    break;
  }
}

/* At least. */
#define N_CHANGES 600
#define N_SCANS 200
#define N_MAPS 6
#define N_SETTINGS 50

GST_START_TEST (test_changes_at_scans)
{
  static Found found[2][2][N_PLACES];
  guint64 n_voxels[2];
  find_references (found, n_voxels);
  fail_unless (memcmp (found[0][0], found[1][0], sizeof found[0][0]) != 0);
  fail_unless (memcmp (found[0][0], found[0][1], sizeof found[0][0]) != 0);

  GstHarness *h = harness_new (resolutions[0], ratios[0]);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");
  g_autoptr (GArray) outcomes = g_array_new (FALSE, FALSE, sizeof (Outcome));
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  Pusher pusher = {h, FALSE};
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, note_outcome, outcomes, NULL);
  g_autoptr (GstBus) bus = gst_element_get_bus (h->element);
  gst_bus_set_sync_handler (bus, count_changes, NULL, NULL);
  GThread *thread = g_thread_new ("push", push_scans, &pusher);
  for (guint i = 0;
       i < N_CHANGES || g_atomic_int_get (&n_outcomes) < N_SCANS ||
       g_atomic_int_get (&n_changes[0]) < N_MAPS || g_atomic_int_get (&n_changes[1]) < N_SETTINGS;
       i++) {
    disturb (h, random);
    g_usleep ((gulong)g_rand_int_range (random, 0, 3000));
    /* What is set before the next batch begins is one message: where scans are slow, wait for
     * some, or few changes would be tried. */
    while (g_atomic_int_get (&n_outcomes) < (gint)(i * N_SCANS / N_CHANGES))
      g_usleep (500);
  }
  g_atomic_int_set (&pusher.stop, TRUE);
  g_thread_join (thread);
  wait_for_eos (h);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-in"), outcomes->len);

  /* Messages of both names, in the order of their scans. */
  Settings settings = {0, 0, "map", FALSE, 0, 0};
  g_autoptr (GstMessage) map = ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-map");
  g_autoptr (GstMessage) set =
      ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-settings");
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_message_unref);
  for (guint i = 0; i < outcomes->len; i++) {
    const Outcome *outcome = &g_array_index (outcomes, Outcome, i);
    GstMessage **messages[] = {&map, &set};
    static const gchar *names[] = {"ndt-map", "ndt-settings"};
    fail_unless_equals_uint64 (outcome->sequence, i);
    for (guint k = 0; k < 2; k++) {
      for (;;) {
        guint64 scan;
        if (!*messages[k])
          break;
        const GstStructure *structure = gst_message_get_structure (*messages[k]);
        fail_unless (gst_structure_get_uint64 (structure, "scan", &scan));
        fail_unless (scan >= i, "a message names scan %u after it has left", (guint)scan);
        if (scan > i)
          break;
        apply (&settings, structure, n_voxels);
        g_ptr_array_add (kept, *messages[k]);
        *messages[k] = ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, names[k]);
      }
    }
    const Found *expected = &found[settings.map][settings.ratio][i % N_PLACES];
    fail_unless (i == 0 || memcmp (expected, &outcome->found, sizeof *expected) == 0,
        "scan %u is not as its settings say", i);
    fail_unless_equals_string (g_quark_to_string (outcome->frame), settings.frame);
    fail_unless_equals_uint64 (outcome->offset, settings.at_start ? 50 * GST_MSECOND : 0);
  }
  /* Otherwise nothing was tried. */
  fail_unless (settings.n_maps >= N_MAPS, "%u maps", settings.n_maps);
  fail_unless (settings.n_settings >= N_SETTINGS, "%u messages", settings.n_settings);
  ndt_harness_free (h);
}
GST_END_TEST

/* Properties that may be set while playing and change no result, or have a message of their own. */
static const gchar *others[] = {"batch-size", "batch-timeout", "processing-deadline",
    "post-messages", "initial-pose", "map-location", "resolution", "covariance-estimate"};

static gboolean
is_announced (const GParamSpec *spec, GType type)
{
  gboolean announced = spec->owner_type == type && (spec->flags & GST_PARAM_MUTABLE_PLAYING) &&
                       (spec->flags & G_PARAM_WRITABLE);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    announced = announced && strcmp (others[i], spec->name) != 0;
  return announced;
}

/* Each property is announced with its value, at the next scan. */
GST_START_TEST (test_all_are_announced)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  guint n_properties, n_announced = 0;
  g_autofree GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (h->element), &n_properties);

  for (guint i = 0; i < n_properties; i++) {
    if (!is_announced (specs[i], G_OBJECT_TYPE (h->element)))
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (G_OBJECT (h->element), specs[i]->name, &value);
    g_object_set_property (G_OBJECT (h->element), specs[i]->name, &value);
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (n_announced)));
    g_autoptr (GstMessage) message =
        ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-settings");
    fail_unless (message != NULL, "%s is not announced", specs[i]->name);
    const GstStructure *structure = gst_message_get_structure (message);
    guint64 scan;
    fail_unless (gst_structure_get_uint64 (structure, "scan", &scan));
    fail_unless_equals_uint64 (scan, n_announced);
    const GValue *announced = gst_structure_get_value (structure, specs[i]->name);
    fail_unless (announced && gst_value_compare (announced, &value) == GST_VALUE_EQUAL, "%s",
        specs[i]->name);
    fail_unless_equals_int (gst_structure_n_fields (structure), 2);
    fail_unless (ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-settings") == NULL);
    g_value_unset (&value);
    n_announced++;
  }
  fail_unless (n_announced > 30, "%u", n_announced);
  ndt_harness_free (h);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_changes_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-changes");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_changes_at_scans);
  tcase_add_test (tc, test_all_are_announced);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_changes)
