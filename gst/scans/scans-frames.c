/* SPDX-License-Identifier: MIT */
#include "scans-frames.h"

#include <string.h>

#define NS_PER_S G_GINT64_CONSTANT (1000000000)
/* Frames from a sensor to the map, more than any vehicle has: ends circles. */
#define MAX_DEPTH 64

typedef struct {
  gint64 time;
  NdtPose pose;
} Sample;

/* A frame in its parent. */
typedef struct {
  gchar *parent;
  gboolean is_static;
  GArray *samples; /* of Sample, in time once sorted; one where it is static */
} Link;

struct _ScansFrames {
  GHashTable *links; /* child to Link */
};

static void
free_link (gpointer data)
{
  Link *link = data;
  g_free (link->parent);
  g_array_unref (link->samples);
  g_free (link);
}

ScansFrames *
scans_frames_new (void)
{
  ScansFrames *self = g_new0 (ScansFrames, 1);
  self->links = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_link);
  return self;
}

void
scans_frames_free (ScansFrames *self)
{
  g_hash_table_unref (self->links);
  g_free (self);
}

static const gchar *
without_slash (const gchar *name)
{
  return name + (name[0] == '/');
}

gboolean
scans_frames_add (ScansFrames *self, const gchar *parent, const gchar *child, gint64 time,
    gboolean is_static, const NdtPose *pose)
{
  const Sample sample = {time, *pose};
  Link *link = g_hash_table_lookup (self->links, without_slash (child));
  if (!link) {
    link = g_new0 (Link, 1);
    link->parent = g_strdup (without_slash (parent));
    link->samples = g_array_new (FALSE, FALSE, sizeof (Sample));
    link->is_static = is_static;
    g_hash_table_insert (self->links, g_strdup (without_slash (child)), link);
  }
  if (!g_str_equal (link->parent, without_slash (parent)) || link->is_static != is_static)
    return FALSE;
  if (!is_static || link->samples->len == 0)
    g_array_append_val (link->samples, sample);
  return TRUE;
}

static gint
compare_samples (gconstpointer a, gconstpointer b)
{
  const Sample *x = a, *y = b;
  return (x->time > y->time) - (x->time < y->time);
}

void
scans_frames_sort (ScansFrames *self)
{
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, self->links);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    g_array_sort (((Link *)value)->samples, compare_samples);
}

const gchar *
scans_frames_find_root (const ScansFrames *self, const gchar *frame)
{
  const gchar *root = NULL;
  const Link *link = g_hash_table_lookup (self->links, without_slash (frame));
  for (guint depth = 0; link && depth < MAX_DEPTH; depth++) {
    root = link->parent;
    link = g_str_equal (root, "map") ? NULL : g_hash_table_lookup (self->links, root);
  }
  return root;
}

static gboolean
interpolate (const Link *link, gint64 time, NdtPose *pose)
{
  const Sample *samples = (const Sample *)(gpointer)link->samples->data;
  guint low = 0, high = link->samples->len;
  if (link->is_static) {
    *pose = samples[0].pose;
    return TRUE;
  }
  while (low < high) {
    const guint middle = low + (high - low) / 2;
    if (samples[middle].time < time)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < link->samples->len && samples[low].time == time) {
    *pose = samples[low].pose;
    return TRUE;
  }
  if (low == 0 || low == link->samples->len)
    return FALSE;
  const Sample *before = &samples[low - 1], *after = &samples[low];
  if (after->time - before->time > NS_PER_S)
    return FALSE;
  ndt_pose_interpolate (&before->pose, &after->pose,
      (double)(time - before->time) / (double)(after->time - before->time), pose);
  return TRUE;
}

gboolean
scans_frames_get (const ScansFrames *self, const gchar *frame, gint64 time, NdtPose *pose)
{
  const Link *link = g_hash_table_lookup (self->links, without_slash (frame));
  ndt_pose_set_identity (pose);
  if (!link)
    return FALSE;
  for (guint depth = 0; link && depth < MAX_DEPTH; depth++) {
    NdtPose step;
    if (!interpolate (link, time, &step))
      return FALSE;
    ndt_pose_compose (&step, pose, pose);
    link =
        g_str_equal (link->parent, "map") ? NULL : g_hash_table_lookup (self->links, link->parent);
  }
  return TRUE;
}
