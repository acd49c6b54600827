/* SPDX-License-Identifier: MIT */
#include "gstmcaporigins.h"

void
gst_mcap_origins_init (GstMcapOrigins *self)
{
  *self = (GstMcapOrigins){.group_id = GST_GROUP_ID_INVALID};
}

gboolean
gst_mcap_origins_take_stream_start (GstMcapOrigins *self, GstEvent *event)
{
  const gboolean is_first = self->stream_start == GST_SEQNUM_INVALID;
  guint group_id = GST_GROUP_ID_INVALID;
  gboolean is_new;

  gst_event_parse_group_id (event, &group_id);
  is_new = is_first || self->group_id != group_id;
  self->differ |= !is_first && is_new;
  self->group_id = self->differ ? GST_GROUP_ID_INVALID : group_id;
  self->stream_start = gst_event_get_seqnum (event);
  return is_new;
}
