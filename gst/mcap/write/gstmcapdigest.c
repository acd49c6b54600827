/* SPDX-License-Identifier: MIT */
#include "gstmcapdigest.h"

struct _GstMcapDigest {
  gchar *location;
  gchar *text;
};

GstMcapDigest *
gst_mcap_digest_new (const gchar *location, const gchar *text)
{
  GstMcapDigest *self = g_rc_box_new0 (GstMcapDigest);

  self->location = g_strdup (location);
  self->text = g_strdup (text);
  return self;
}

GstMcapDigest *
gst_mcap_digest_ref (GstMcapDigest *self)
{
  return g_rc_box_acquire (self);
}

static void
clear (gpointer data)
{
  GstMcapDigest *self = data;

  g_free (self->location);
  g_free (self->text);
}

void
gst_mcap_digest_unref (GstMcapDigest *self)
{
  g_rc_box_release_full (self, clear);
}

const gchar *
gst_mcap_digest_get_location (const GstMcapDigest *self)
{
  return self->location;
}

void
gst_mcap_digest_set_text (GstMcapDigest *self, const gchar *text)
{
  if (self->text == NULL)
    self->text = g_strdup (text);
}

const gchar *
gst_mcap_digest_get_text (const GstMcapDigest *self)
{
  return self->text;
}
