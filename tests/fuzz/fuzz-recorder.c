/* SPDX-License-Identifier: MIT */
/* mcapsink and mcapmux under random pads, caps, segments, events, buffers, properties and states.
 * The bytes are a program. Nothing of it is a bug of GStreamer's rules: a stream begins with
 * stream-start and segment. What comes out, where it ended, is whole. */
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz-program.h"
#include "gst/mcap/container/mcap-stream.h"
#include "gst/mcap/record/gstmcapmux.h"
#include "gst/mcap/record/gstmcapsink.h"

#define N_INPUTS 4

typedef struct {
  GstPad *source; /* NULL: there is none */
  GstPad *sink;
  gboolean started;
} Input;

typedef struct {
  GstElement *element;
  Input inputs[N_INPUTS];
  GByteArray *out; /* what mcapmux pushed since it began */
  gboolean ended;
} Run;

static const gchar *const caps_strings[] = {
    "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1",
    "pointcloud/x-raw,format=XYZIRT,frame-id=\"a/b\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=5,fields=\"x:F32:0\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=4,fields=\"x:F32:0,y:F32:4\"",
    "pointcloud/x-raw,format=XYZ_F32LE,width=3,height=2",
    "pose/x-raw",
    "pose/x-raw,topic=/p,schema-name=a,message-encoding=cdr",
    "application/x-lidar,maker=\"x\"",
    "application/x-mcap-message,topic=(string)\"\",message-encoding=cdr",
    "application/x-mcap-message,topic=/t,message-encoding=cdr,schema-name=s,schema-encoding=e,"
    "schema-data=(buffer)00ff",
    "application/x-mcap-message,topic=/t",
    "application/x-mcap-attachment,name=a,media-type=b",
    "application/x-mcap-attachment",
    "application/x-mcap-metadata,name=m,metadata=(structure)\"metadata,k=(string)v;\"",
    "application/x-mcap-metadata,name=m,metadata=(int)5",
};

static const gchar *const clocks[] = {
    "timestamp/x-unix",
    "timestamp/x-unix,source=(string)arrival",
    "timestamp/x-ntp",
    "timestamp/x-ptp",
    "timestamp/x-lidar,epoch=(string)hour",
    "timestamp/x-lidar,epoch=(string)gps",
    "timestamp/x-lidar",
    "timestamp/x-mcap-publish-time",
    "timestamp/x-mcap-log-time",
};

static const guint64 times[] = {0, 1, GST_SECOND, 100 * GST_SECOND, 1700000000 * GST_SECOND,
    1700000003 * GST_SECOND, G_MAXINT64, G_MAXUINT64 - 1, GST_CLOCK_TIME_NONE};

static const gdouble numbers[] = {0, 1, -1, 1e308, G_MINDOUBLE, 0.5};

static const gchar *const names[] = {"", "/a", "\xff\xfe", "a b", "/points"};

static GstFlowReturn
take_out (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  if (GST_BUFFER_OFFSET (buffer) == 0)
    g_byte_array_set_size (run->out, 0);
  g_byte_array_append (run->out, map.data, (guint)map.size);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* From its magic to its end, without damage. */
static void
check_whole (const guint8 *data, gsize size)
{
  g_autoptr (McapStream) stream = mcap_stream_new ();
  g_autoptr (GError) error = NULL;
  McapCursor content;
  guint8 opcode;

  mcap_stream_push (stream, data, size);
  while (mcap_stream_next (stream, &opcode, &content, &error))
    ;
  g_assert_no_error (error);
  g_assert_cmpuint (mcap_stream_get_n_damaged (stream), ==, 0);
  g_assert_true (mcap_stream_is_complete (stream));
}

static gboolean
take_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Run *run = gst_pad_get_element_private (pad);

  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    check_whole (run->out->data, run->out->len);
  gst_event_unref (event);
  return TRUE;
}

static void
add_input (Run *run, Input *input, guint kind)
{
  static const gchar *const templates[] = {"cloud_%u", "pose_%u", "data_%u"};

  if (input->source)
    return;
  input->sink = gst_element_request_pad_simple (run->element, templates[kind % 3]);
  g_assert_nonnull (input->sink);
  input->source = gst_pad_new (NULL, GST_PAD_SRC);
  g_assert_cmpint (gst_pad_link (input->source, input->sink), ==, GST_PAD_LINK_OK);
  gst_pad_set_active (input->source, TRUE);
  input->started = FALSE;
}

static void
remove_input (Run *run, Input *input)
{
  if (!input->source)
    return;
  gst_pad_set_active (input->source, FALSE);
  gst_pad_unlink (input->source, input->sink);
  gst_element_release_request_pad (run->element, input->sink);
  gst_clear_object (&input->sink);
  gst_clear_object (&input->source);
}

/* What a stream has to begin with. */
static void
start_input (Program *program, Input *input)
{
  if (input->started)
    return;
  input->started = TRUE;
  GstEvent *event = gst_event_new_stream_start ("fuzz");
  if (take (program) % 2)
    gst_event_set_group_id (event, 1 + take (program) % 2);
  gst_pad_push_event (input->source, event);
}

static gboolean
has_event (GstPad *pad, GstEventType type)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, type, 0);
  return event != NULL;
}

static void
push_caps (Program *program, Input *input)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (PICK (program, caps_strings));

  g_assert_nonnull (caps);
  start_input (program, input);
  gst_pad_push_event (input->source, gst_event_new_caps (caps));
}

/* GStreamer wants the first caps before the first segment. */
static void
push_segment (Program *program, Input *input)
{
  static const GstFormat formats[] = {
      GST_FORMAT_TIME, GST_FORMAT_TIME, GST_FORMAT_BYTES, GST_FORMAT_DEFAULT};
  GstSegment segment;

  gst_segment_init (&segment, PICK (program, formats));
  segment.start = PICK (program, times);
  if (segment.start == GST_CLOCK_TIME_NONE)
    segment.start = 0;
  segment.rate = take (program) % 4 == 3 ? -2 : 1;
  if (!has_event (input->source, GST_EVENT_CAPS))
    push_caps (program, input);
  gst_pad_push_event (input->source, gst_event_new_segment (&segment));
}

static void
add_pose (Program *program, GstBuffer *buffer)
{
  const gdouble position[3] = {PICK (program, numbers), PICK (program, numbers), 0};
  const gdouble orientation[4] = {PICK (program, numbers), 0, 0, PICK (program, numbers)};
  GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer,
      (GstPoseRole)(take (program) % (GST_POSE_ROLE_GROUND_TRUTH + 1)), position, orientation);

  meta->timestamp = PICK (program, times);
  meta->status = (GstPoseStatus)(take (program) % (GST_POSE_STATUS_SKIPPED + 1));
  meta->has_pose = take (program) % 4 != 0;
}

static void
push_buffer (Program *program, Input *input)
{
  static const guint sizes[] = {0, 1, 11, 12, 24, 72, 120, 5000};
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, PICK (program, sizes), NULL);
  const guint flags = take (program);

  gst_buffer_memset (buffer, 0, (guint8)flags, -1);
  GST_BUFFER_PTS (buffer) = PICK (program, times);
  GST_BUFFER_DURATION (buffer) = PICK (program, times);
  for (guint i = 0; i < (flags & 3); i++) {
    g_autoptr (GstCaps) clock = gst_caps_from_string (PICK (program, clocks));
    const guint64 time = PICK (program, times);
    if (time != GST_CLOCK_TIME_NONE)
      gst_buffer_add_reference_timestamp_meta (buffer, clock, time, GST_CLOCK_TIME_NONE);
  }
  for (guint i = 0; i < (flags >> 2 & 3); i++)
    add_pose (program, buffer);
  if (!has_event (input->source, GST_EVENT_SEGMENT))
    push_segment (program, input);
  gst_pad_push (input->source, buffer);
}

static void
push_custom (Program *program, Input *input)
{
  static const gchar *const structures[] = {
      "ndt-map, location=(string)/nonexistent, sha256=(string)\"00  a\"",
      "ndt-map, location=(string)/nonexistent",
      "ndt-map, location=(int)5",
      "sensor-pose, parent-frame=(string)base, pose=(GstPointCloudPose)\"1,2,3\"",
      "sensor-pose, parent-frame=(int)4, pose=(string)x",
      "sensor-pose",
      "another",
  };
  GstStructure *structure = gst_structure_from_string (PICK (program, structures), NULL);

  g_assert_nonnull (structure);
  start_input (program, input);
  gst_pad_push_event (
      input->source, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, structure));
}

static void
flush (Program *program, Input *input)
{
  start_input (program, input);
  gst_pad_push_event (input->source, gst_event_new_flush_start ());
  gst_pad_push_event (input->source, gst_event_new_flush_stop (take (program) % 2));
}

static void
set_properties (Program *program, Run *run)
{
  static const guint chunk_sizes[] = {1, 100, 65536, 4 << 20};

  g_object_set (run->element, "chunk-size", PICK (program, chunk_sizes), "compression",
      take (program) % 3, "log-time", take (program) % 2 ? 1 : 0, "header-stamp",
      take (program) % 3, "tf-mode", take (program) % 2, "tf-role", take (program) % 4, "tf-topic",
      PICK (program, names), "diagnostics-topic", PICK (program, names), "chunk-duration",
      PICK (program, times), NULL);
  for (guint i = 0; i < N_INPUTS; i++)
    if (run->inputs[i].sink)
      g_object_set (run->inputs[i].sink, "topic", PICK (program, names), "frame-id",
          PICK (program, names), "path-topic", PICK (program, names), NULL);
}

static void
set_state (Run *run, GstState state)
{
  gst_element_set_state (run->element, state);
  /* Sources begin anew where their pads were. */
  for (guint i = 0; i < N_INPUTS; i++) {
    GstPad *source = run->inputs[i].source;
    if (!source || state > GST_STATE_READY)
      continue;
    gst_pad_set_active (source, FALSE);
    gst_pad_set_active (source, TRUE);
    run->inputs[i].started = FALSE;
  }
}

static void
run_program (Program *program, Run *run)
{
  while (program->position < program->size) {
    const guint operation = take (program) % 16;
    Input *input = &run->inputs[take (program) % N_INPUTS];

    if (operation == 0) {
      set_state (run, GST_STATE_READY);
      set_properties (program, run);
      set_state (run, GST_STATE_PLAYING);
    } else if (operation == 1) {
      remove_input (run, input);
    } else if (!input->source) {
      add_input (run, input, operation);
    } else if (operation == 2) {
      push_segment (program, input);
    } else if (operation == 3) {
      start_input (program, input);
      gst_pad_push_event (input->source, gst_event_new_eos ());
    } else if (operation == 4) {
      flush (program, input);
    } else if (operation == 5) {
      push_custom (program, input);
    } else if (operation < 9) {
      push_caps (program, input);
    } else {
      push_buffer (program, input);
    }
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static gchar *path;
  Program program = {data, size, 0};
  Run run = {.out = g_byte_array_new ()};
  const gboolean is_sink = take (&program) % 2;
  GstPad *peer = NULL;

  if (!path) {
    gst_init (NULL, NULL);
    g_type_ensure (GST_TYPE_POINT_CLOUD_POSE);
    gst_element_register_mcapsink (NULL);
    gst_element_register_mcapmux (NULL);
    path = g_strdup_printf ("%s/fuzz-recorder-%d.mcap", g_get_tmp_dir (), getpid ());
  }
  run.element =
      gst_object_ref_sink (gst_element_factory_make (is_sink ? "mcapsink" : "mcapmux", NULL));
  if (is_sink) {
    g_object_set (run.element, "location", path, "overwrite", TRUE, "sync-interval",
        G_GUINT64_CONSTANT (0), NULL);
  } else {
    GstPad *src = gst_element_get_static_pad (run.element, "src");
    peer = gst_pad_new ("out", GST_PAD_SINK);
    gst_pad_set_element_private (peer, &run);
    gst_pad_set_chain_function (peer, take_out);
    gst_pad_set_event_function (peer, take_event);
    g_assert_cmpint (gst_pad_link (src, peer), ==, GST_PAD_LINK_OK);
    gst_pad_set_active (peer, TRUE);
    gst_object_unref (src);
  }
  set_state (&run, GST_STATE_PLAYING);
  run_program (&program, &run);
  for (guint i = 0; i < N_INPUTS; i++)
    remove_input (&run, &run.inputs[i]);
  gst_element_set_state (run.element, GST_STATE_NULL);
  if (is_sink) {
    g_autofree gchar *content = NULL;
    gsize length;
    if (g_file_get_contents (path, &content, &length, NULL))
      check_whole ((const guint8 *)content, length);
    g_unlink (path);
  }
  if (peer) {
    gst_pad_set_active (peer, FALSE);
    gst_object_unref (peer);
  }
  gst_object_unref (run.element);
  g_byte_array_unref (run.out);
  return 0;
}
