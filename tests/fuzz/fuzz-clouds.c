/* SPDX-License-Identifier: MIT */
/* FUZZ_ELEMENT, which takes clouds, under random layouts, segments, events, points, poses,
 * properties and states. The bytes are a program; those of pointcloudmerge are one for each of its
 * sensors, in a thread of its own. Nothing of it is a bug of GStreamer's rules: a stream begins
 * with stream-start, caps and segment. Clouds that come out are whole points, frames whole
 * pictures, poses numbers, and after EOS the stream ends. */
#include <gst/pointcloud/pointcloud.h>

#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz-program.h"
#include "gst/clouds/gstcloudfilter.h"
#include "gst/clouds/gstpointcloudconvert.h"
#include "gst/clouds/merge/gstpointcloudmerge.h"
#include "gst/odometry/gstlidarodometry.h"
#include "gst/render/gstpointcloudrender.h"

#define MAX_INPUTS 3
#define MAX_POINTS 240
/* Seconds that a stream may take to end. */
#define MAX_WAIT 60

typedef struct {
  Program program;
  GstElement *element;
  GstPad *sink, *source;
  gboolean is_threaded; /* in a thread of its own */
  gboolean started;
  guint step; /* of the caps at hand */
  gboolean is_double;
  guint64 time;
  guint place; /* of the sensor in the room, cm */
} Input;

typedef struct {
  GstElement *element;
  const gchar *wanted; /* caps downstream */
  Input inputs[MAX_INPUTS];
  guint n_inputs;
  GMutex lock;
  GCond changed;
  gboolean ended; /* EOS or an error came */
} Run;

/* Frames and fields become quarks, whose table GLib leaks each time that it grows. */
const char *__asan_default_options (void);
const char *
__asan_default_options (void)
{
  return "detect_leaks=0";
}

static const gchar *const cloud_caps[] = {
    "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1",
    "pointcloud/x-raw,format=XYZIRT,frame-id=\"a/b\",framerate=10/1",
    "pointcloud/x-raw,format=XYZI_F32LE,framerate=0/1",
    "pointcloud/x-raw,format=XYZ_F64LE,framerate=(fraction)2147483647/1",
    "pointcloud/x-raw,format=XYZ_F32LE,width=3,height=2",
    "pointcloud/x-raw,format=XYZIRT,motion-compensated=true,instant=end",
    "pointcloud/x-raw,format=XYZIRT,motion-compensated=false,framerate=1/2147483647",
    "pointcloud/x-raw,format=CUSTOM,point-step=29,fields=\"intensity:U8:0,x:F32:1,y:F32:5,z:F32:9,"
    "ring:U16:14,t:U32:17,a:I8:21:8\"",
    "pointcloud/"
    "x-raw,format=CUSTOM,point-step=40,fields=\"x:F32:0,y:F32:4,z:F32:8,intensity:F64:16,"
    "time:F64:24,ring:I32:32\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=20,fields=\"x:F32:0,y:F32:4,z:F32:8,"
    "reflectivity:U16:12,time:I32:16\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:I32:0,y:U32:4,z:I16:8,ring:U8:10\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=5,fields=\"x:F32:0\"",
    "pointcloud/x-raw,format=CUSTOM,point-step=4,fields=\"x:F32:0,y:F32:4\"",
    "pointcloud/x-raw,format=CUSTOM",
};

/* Of other plugin sets, as pointcloudconvert takes and makes them. */
static const gchar *const foreign_caps[] = {
    "application/x-pointcloud2,width=4,height=1,point-step=12,is-bigendian=false,is-dense=true,"
    "fields=\"x:F32:0,y:F32:4,z:F32:8\"",
    "application/x-pointcloud2,width=2,height=2,point-step=13,is-bigendian=true,is-dense=false,"
    "fields=\"z:F32:0,y:F32:4,x:F32:8,intensity:U8:12\"",
    "application/x-pointcloud2,width=2147483647,height=2147483647,point-step=2147483647,"
    "is-bigendian=false,is-dense=true",
    "application/x-lidar",
    "application/octet-stream",
    "ANY",
};

static const gchar *const video_caps[] = {
    "video/x-raw,width=64,height=48,framerate=10/1",
    "video/x-raw,width=16,height=16,framerate=0/1",
    "video/x-raw,width=17,height=129,framerate=1000/1",
    "video/x-raw,width=64,height=48,framerate=1/1",
};

static const gfloat values[] = {0, -0.0f, 1, -1, 1e-30f, 1e6f, -1e15f, 1e38f, INFINITY, -INFINITY,
    NAN, 0.05f, 30, 99.9f, 3.4e38f};

static const guint64 jumps[] = {100 * GST_MSECOND, 100 * GST_MSECOND, 100 * GST_MSECOND,
    100 * GST_MSECOND, 50 * GST_MSECOND, 0, 1, GST_SECOND, 3600 * GST_SECOND, G_MAXINT64};

static const gdouble numbers[] = {0, 1, -1, 0.5, 0.05, 3, 100, 1e9, 1e308, -1e308, 1e-300};

static void
set_ended (Run *run, gboolean ended)
{
  g_mutex_lock (&run->lock);
  run->ended = ended;
  g_cond_signal (&run->changed);
  g_mutex_unlock (&run->lock);
}

/* ---- Downstream ---- */

static void
check_pose (const GstPoseMeta *meta)
{
  gdouble norm = 0;
  if (!meta->has_pose || meta->role == GST_POSE_ROLE_GROUND_TRUTH)
    return;
  for (guint i = 0; i < 3; i++)
    g_assert_true (isfinite (meta->position[i]));
  for (guint i = 0; i < 4; i++)
    norm += meta->orientation[i] * meta->orientation[i];
  g_assert_cmpfloat (fabs (norm - 1), <, 1e-6);
}

static GstFlowReturn
take_out (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  volatile guint total = 0;
  GstPointCloudInfo info;
  GstMapInfo map;

  g_assert_nonnull (caps);
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; i++)
    total += map.data[i];
  if (gst_structure_has_name (structure, GST_POINT_CLOUD_CAPS_NAME)) {
    g_assert_true (gst_point_cloud_info_from_caps (&info, caps, NULL));
    g_assert_cmpuint (map.size % info.point_step, ==, 0);
  } else if (gst_structure_has_name (structure, "video/x-raw")) {
    gint width, height;
    g_assert_true (gst_structure_get (
        structure, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL));
    g_assert_cmpuint (map.size, ==, (gsize)(4 * width * height));
  }
  if (g_str_equal (FUZZ_ELEMENT, "lidarodometry"))
    check_pose (gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ODOMETRY));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
take_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    set_ended (gst_pad_get_element_private (pad), TRUE);
  gst_event_unref (event);
  return TRUE;
}

static gboolean
answer (GstPad *pad, GstObject *parent, GstQuery *query)
{
  const Run *run = gst_pad_get_element_private (pad);
  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return gst_pad_query_default (pad, parent, query);
  g_autoptr (GstCaps) caps = gst_caps_from_string (run->wanted);
  gst_query_set_caps_result (query, caps);
  return TRUE;
}

static GstBusSyncReply
take_message (GstBus *bus, GstMessage *message, gpointer run)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    set_ended (run, TRUE);
  gst_message_unref (message);
  return GST_BUS_DROP;
}

/* ---- Upstream ---- */

static void
set_property (Program *program, GstElement *element, GParamSpec *property)
{
  static const gchar *const boxes[] = {
      "<>", "<\"-1,-1,-1,1,1,1\">", "<\"0,0,0,1e9,1e9,1e9\", \"a\">", "<\"1,1,1,0,0,0\">"};
  static const gchar *const strings[] = {"", "intensity", "x:F32:0,y:F32:4,z:F32:8",
      "reflectivity:intensity", "x:y,y:x", "sink_1", "\xff"};
  static const gchar *const poses[] = {"1,2,3", "0,0,0,90", "0,0,1e300,0,0,0", "1,2,3,0,0,0,1"};
  GValue value = G_VALUE_INIT;

  g_value_init (&value, property->value_type);
  if (g_str_equal (property->name, "sensor-pose")) {
    gst_value_deserialize (&value, PICK (program, poses));
  } else if (G_IS_PARAM_SPEC_DOUBLE (property)) {
    g_value_set_double (&value, PICK (program, numbers));
    g_param_value_validate (property, &value);
  } else if (G_IS_PARAM_SPEC_UINT (property)) {
    g_value_set_uint (&value, take (program));
    g_param_value_validate (property, &value);
  } else if (G_IS_PARAM_SPEC_UINT64 (property)) {
    g_value_set_uint64 (&value, PICK (program, jumps));
    g_param_value_validate (property, &value);
  } else if (G_IS_PARAM_SPEC_BOOLEAN (property)) {
    g_value_set_boolean (&value, take (program) % 2);
  } else if (G_IS_PARAM_SPEC_ENUM (property)) {
    const GEnumClass *names = ((GParamSpecEnum *)property)->enum_class;
    g_value_set_enum (&value, names->values[take (program) % names->n_values].value);
  } else if (g_str_equal (property->name, "rings")) {
    gst_value_deserialize (&value, take (program) % 2 ? "<0,1,2>" : "<5>");
  } else if (property->value_type == GST_TYPE_ARRAY) {
    gst_value_deserialize (&value, PICK (program, boxes));
  } else if (G_IS_PARAM_SPEC_STRING (property)) {
    g_value_set_string (&value, PICK (program, strings));
  }
  g_object_set_property (G_OBJECT (element), property->name, &value);
  g_value_unset (&value);
}

/* Some, of those that may be set now. */
static void
set_properties (Program *program, GstElement *element, gboolean is_ready)
{
  guint n;
  g_autofree GParamSpec **properties =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (guint i = 0; i < n; i++) {
    GParamSpec *property = properties[i];
    if (property->owner_type != G_OBJECT_TYPE (element) || !(property->flags & G_PARAM_WRITABLE) ||
        property->flags & G_PARAM_DEPRECATED || g_str_has_suffix (property->name, "location") ||
        g_str_equal (property->name, "n-threads") ||
        !(is_ready || property->flags & GST_PARAM_MUTABLE_PLAYING) || take (program) % 4 != 1)
      continue;
    set_property (program, element, property);
  }
}

static const gchar *
choose_caps (Program *program)
{
  const guint choice = take (program);
  if (g_str_equal (FUZZ_ELEMENT, "pointcloudconvert") && choice >= 200)
    return foreign_caps[choice % 4];
  return cloud_caps[choice % G_N_ELEMENTS (cloud_caps)];
}

static void
push_caps (Input *input)
{
  const gboolean is_pose = g_str_has_prefix (GST_OBJECT_NAME (input->sink), "pose");
  const gchar *text = is_pose ? "pose/x-raw" : choose_caps (&input->program);
  g_autoptr (GstCaps) caps = gst_caps_from_string (text);
  gint step = 12;

  g_assert_nonnull (caps);
  GstPointCloudInfo info;
  if (gst_point_cloud_info_from_caps (&info, caps, NULL))
    step = (gint)info.point_step;
  else if (!gst_structure_get_int (gst_caps_get_structure (caps, 0), "point-step", &step))
    step = 12;
  input->step = (guint)CLAMP (step, 1, 64);
  input->is_double = strstr (text, "F64LE") != NULL;
  gst_pad_push_event (input->source, gst_event_new_caps (caps));
}

static void
push_segment (Input *input)
{
  static const GstFormat formats[] = {
      GST_FORMAT_TIME, GST_FORMAT_TIME, GST_FORMAT_TIME, GST_FORMAT_TIME, GST_FORMAT_BYTES};
  static const gdouble rates[] = {1, 1, 1, 2, -1};
  GstSegment segment;
  gst_segment_init (&segment, PICK (&input->program, formats));
  segment.rate = PICK (&input->program, rates);
  segment.start = take (&input->program) % 4 == 1 ? PICK (&input->program, jumps) : 0;
  segment.base = take (&input->program) % 4 == 1 ? PICK (&input->program, jumps) : 0;
  if (take (&input->program) % 8 == 1 || segment.rate < 0)
    segment.stop = segment.start + GST_SECOND;
  gst_pad_push_event (input->source, gst_event_new_segment (&segment));
}

/* What a stream has to begin with. */
static void
start (Input *input)
{
  if (input->started)
    return;
  input->started = TRUE;
  gst_pad_push_event (input->source, gst_event_new_stream_start (GST_OBJECT_NAME (input->sink)));
  push_caps (input);
  push_segment (input);
}

static void
write_point (const Input *input, guint8 *point, const gdouble xyz[3])
{
  for (guint i = 0; i < 3; i++) {
    const gfloat single = (gfloat)xyz[i];
    if (input->is_double && input->step >= 24)
      memcpy (point + 8 * i, &xyz[i], 8);
    else if (input->step >= 12)
      memcpy (point + 4 * i, &single, 4);
  }
}

/* Walls, a floor and a pillar from where the sensor is, which an alignment can hold on to. */
static void
fill_room (Input *input, guint8 *data, guint n)
{
  const gdouble place = input->place / 100.0;
  for (guint i = 0; i < n; i++) {
    const gdouble angle = i * 2.39996, up = (i % 20) * 0.15 - 1;
    const gdouble range = i % 3 == 0 ? 4 : 7 / MAX (fabs (cos (angle)), fabs (sin (angle)));
    const gdouble xyz[3] = {range * cos (angle) - place, range * sin (angle), up};
    write_point (input, data + i * input->step, xyz);
  }
  input->place += take (&input->program) % 32;
}

static void
fill_values (Input *input, guint8 *data, gsize size)
{
  const guint first = take (&input->program), stride = take (&input->program);
  for (gsize i = 0; i + 4 <= size; i += 4)
    memcpy (data + i, &values[(first + i / 4 * stride) % G_N_ELEMENTS (values)], 4);
}

static GstBuffer *
make_buffer (Input *input)
{
  Program *program = &input->program;
  const guint kind = take (program);
  const guint n = kind < 128 ? MAX_POINTS : take (program) * 2;
  const gsize size = (gsize)n * input->step + (kind % 32 == 1);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstMapInfo map;

  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  if (size > 0)
    memset (map.data, kind % 8 == 2 ? (gint)take (program) : 0, size);
  if (kind % 8 == 3)
    fill_values (input, map.data, size);
  else if (kind % 8 > 3)
    fill_room (input, map.data, n);
  for (guint i = 0; kind % 16 == 5 && i < 4 && size > 0; i++)
    map.data[(take (program) * 251u + take (program)) % size] = (guint8)take (program);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

static void
add_pose (Input *input, GstBuffer *buffer)
{
  Program *program = &input->program;
  const gboolean is_wild = take (program) % 8 == 1;
  const gdouble position[3] = {is_wild ? PICK (program, numbers) : input->place / 100.0, 0, 0};
  const gdouble orientation[4] = {is_wild ? PICK (program, numbers) : 0, 0, 0, is_wild ? 0 : 1};
  GstPoseMeta *meta = gst_buffer_add_pose_meta (buffer,
      (GstPoseRole)(take (program) % (GST_POSE_ROLE_GROUND_TRUTH + 1)), position, orientation);

  meta->timestamp = take (program) % 4 == 1 ? PICK (program, jumps) : GST_CLOCK_TIME_NONE;
  meta->status = (GstPoseStatus)(take (program) % (GST_POSE_STATUS_SKIPPED + 1));
  meta->has_pose = take (program) % 8 != 1;
}

static void
push_buffer (Input *input)
{
  Program *program = &input->program;
  start (input);
  GstBuffer *buffer = make_buffer (input);
  const guint how = take (program);
  if (how % 32 != 1)
    GST_BUFFER_PTS (buffer) = input->time;
  if (how % 8 == 2)
    GST_BUFFER_DURATION (buffer) = PICK (program, jumps);
  if (how % 32 == 3)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (how % 32 == 4)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
  for (guint i = 0; i < how / 64; i++)
    add_pose (input, buffer);
  input->time = (input->time + PICK (program, jumps)) % G_MAXINT64;
  gst_pad_push (input->source, buffer);
}

static void
flush (Input *input)
{
  start (input);
  gst_pad_push_event (input->source, gst_event_new_flush_start ());
  gst_pad_push_event (input->source, gst_event_new_flush_stop (TRUE));
  input->time = 0;
  push_segment (input);
}

static void
restart (Input *input)
{
  gst_element_set_state (input->element, GST_STATE_READY);
  gst_pad_set_active (input->source, FALSE);
  set_properties (&input->program, input->element, TRUE);
  gst_pad_set_active (input->source, TRUE);
  input->started = FALSE;
  input->time = 0;
  gst_element_set_state (input->element, GST_STATE_PLAYING);
}

static void
push_custom (Input *input)
{
  static const gchar *const structures[] = {
      "ndt-map, location=(string)/nonexistent, sha256=(string)\"00\", resolution=(double)1",
      "ndt-map, location=(int)5",
      "sensor-pose, parent-frame=(string)base, pose=(GstPointCloudPose)\"1,2,3\"",
      "another",
  };
  start (input);
  gst_pad_push_event (
      input->source, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
                         gst_structure_from_string (PICK (&input->program, structures), NULL)));
}

static gpointer
run_program (gpointer user_data)
{
  Input *input = user_data;
  while (input->program.position < input->program.size) {
    const guint operation = take (&input->program);
    if (operation >= 16) {
      push_buffer (input);
    } else if (operation == 0 && !input->is_threaded) {
      restart (input);
    } else if (operation == 1) {
      flush (input);
    } else if (operation == 2 && !input->is_threaded) {
      start (input);
      gst_pad_push_event (input->source, gst_event_new_eos ());
      flush (input);
    } else if (operation == 3) {
      start (input);
      gst_pad_push_event (
          input->source, gst_event_new_gap (input->time, PICK (&input->program, jumps)));
    } else if (operation == 4) {
      push_custom (input);
    } else if (operation < 7) {
      start (input);
      push_segment (input);
    } else if (operation < 11) {
      start (input);
      push_caps (input);
    } else if (operation < 14) {
      set_properties (&input->program, input->element, FALSE);
    } else {
      g_autoptr (GstStructure) stats = NULL;
      g_object_get (input->element, "stats", &stats, NULL);
      g_assert_nonnull (stats);
    }
  }
  start (input);
  gst_pad_push_event (input->source, gst_event_new_eos ());
  return NULL;
}

static void
add_input (Run *run, const gchar *name, const guint8 *data, gsize size)
{
  Input *input = &run->inputs[run->n_inputs++];
  *input = (Input){.program = {data, size, 0}, .element = run->element};
  input->sink = gst_element_get_static_pad (run->element, name);
  input->is_threaded = !input->sink;
  if (!input->sink)
    input->sink = gst_element_request_pad_simple (run->element, name);
  input->source = gst_object_ref_sink (gst_pad_new (NULL, GST_PAD_SRC));
  g_assert_cmpint (gst_pad_link (input->source, input->sink), ==, GST_PAD_LINK_OK);
  gst_pad_set_active (input->source, TRUE);
}

static void
run_inputs (Run *run)
{
  GThread *threads[MAX_INPUTS];
  if (run->n_inputs == 1) {
    run_program (&run->inputs[0]);
    return;
  }
  const gint64 end = g_get_monotonic_time () + MAX_WAIT * G_USEC_PER_SEC;
  for (guint i = 0; i < run->n_inputs; i++)
    threads[i] = g_thread_new ("input", run_program, &run->inputs[i]);
  g_mutex_lock (&run->lock);
  while (!run->ended)
    g_assert_true (g_cond_wait_until (&run->changed, &run->lock, end));
  g_mutex_unlock (&run->lock);
  /* After an error GstAggregator's task is over: a pad that was flushed since blocks. */
  gst_element_set_state (run->element, GST_STATE_NULL);
  for (guint i = 0; i < run->n_inputs; i++)
    g_thread_join (threads[i]);
}

static void
choose_wanted (Program *program, Run *run)
{
  if (g_str_equal (FUZZ_ELEMENT, "pointcloudrender"))
    run->wanted = PICK (program, video_caps);
  else if (!g_str_equal (FUZZ_ELEMENT, "pointcloudconvert") || take (program) % 2)
    run->wanted = "ANY";
  else if (take (program) % 4 == 1)
    run->wanted = PICK (program, foreign_caps);
  else
    run->wanted = PICK (program, cloud_caps);
}

static void
initialize (void)
{
  if (gst_is_initialized ())
    return;
  gst_init (NULL, NULL);
  g_type_ensure (GST_TYPE_POINT_CLOUD_POSE);
  gst_element_register_pointcloudconvert (NULL);
  gst_element_register_pointcloudfilter (NULL);
  gst_element_register_pointcloudmerge (NULL);
  gst_element_register_lidarodometry (NULL);
  gst_element_register_pointcloudrender (NULL);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const gboolean is_merge = g_str_equal (FUZZ_ELEMENT, "pointcloudmerge");
  static GstBus *bus;
  Run run = {0};
  Program settings = {data, MIN (size, 16), 0};

  initialize ();
  if (!bus)
    bus = gst_bus_new ();
  data += settings.size;
  size -= settings.size;
  g_mutex_init (&run.lock);
  g_cond_init (&run.changed);
  run.element = gst_object_ref_sink (gst_element_factory_make (FUZZ_ELEMENT, NULL));
  gst_bus_set_sync_handler (bus, take_message, &run, NULL);
  gst_element_set_bus (run.element, bus);
  choose_wanted (&settings, &run);
  set_properties (&settings, run.element, TRUE);
  for (guint i = 0; is_merge && i < 3; i++)
    add_input (&run, i == 2 ? "pose_%u" : "sink_%u", data + size / 3 * i, size / 3);
  if (!is_merge)
    add_input (&run, "sink", data, size);
  g_autoptr (GstPad) src = gst_element_get_static_pad (run.element, "src");
  GstPad *peer = gst_object_ref_sink (gst_pad_new (NULL, GST_PAD_SINK));
  gst_pad_set_element_private (peer, &run);
  gst_pad_set_chain_function (peer, take_out);
  gst_pad_set_event_function (peer, take_event);
  gst_pad_set_query_function (peer, answer);
  g_assert_cmpint (gst_pad_link (src, peer), ==, GST_PAD_LINK_OK);
  gst_pad_set_active (peer, TRUE);
  if (gst_element_set_state (run.element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE)
    run_inputs (&run);
  gst_element_set_state (run.element, GST_STATE_NULL);
  for (guint i = 0; i < run.n_inputs; i++) {
    gst_pad_set_active (run.inputs[i].source, FALSE);
    gst_object_unref (run.inputs[i].source);
    gst_object_unref (run.inputs[i].sink);
  }
  gst_pad_set_active (peer, FALSE);
  gst_object_unref (peer);
  gst_element_set_bus (run.element, NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (run.element);
  g_mutex_clear (&run.lock);
  g_cond_clear (&run.changed);
  return 0;
}
