/* SPDX-License-Identifier: MIT */
#include "capture-filter.h"

#include <gio/gio.h>
#include <string.h>

gboolean
capture_filter_init (CaptureFilter *self, guint port, const gchar *address)
{
  *self = (CaptureFilter){.port = (guint16)port};
  if (!address || !*address)
    return TRUE;
  g_autoptr (GInetAddress) parsed = g_inet_address_new_from_string (address);
  if (!parsed)
    return FALSE;
  self->version = g_inet_address_get_family (parsed) == G_SOCKET_FAMILY_IPV4 ? 4 : 6;
  memcpy (self->bytes, g_inet_address_to_bytes (parsed),
      MIN (g_inet_address_get_native_size (parsed), sizeof self->bytes));
  return TRUE;
}

gboolean
capture_filter_passes (const CaptureFilter *self, const CaptureDatagram *datagram)
{
  return (self->port == 0 || self->port == datagram->destination_port) &&
         (self->version == 0 ||
             (self->version == datagram->version &&
                 memcmp (self->bytes, datagram->source, datagram->version == 4 ? 4 : 16) == 0));
}
