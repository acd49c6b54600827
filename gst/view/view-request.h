/* SPDX-License-Identifier: MIT */
/* Texts between the page and the element: JSON objects. */
#pragma once

#include <json-glib/json-glib.h>

#include "view-server.h"

G_BEGIN_DECLS

/* A parser whose root is an object; NULL where the text is none, or nested too deeply. */
JsonParser *view_request_parse_object (const gchar *text);
/* {"pose": [x, y, z, yaw]}: metres and degrees. FALSE: it is something else. */
gboolean view_request_parse (const gchar *text, double pose[4]);
/* A message {"@kind": "@text"}. */
GBytes *view_reply_new (const gchar *kind, const gchar *text);

G_END_DECLS
