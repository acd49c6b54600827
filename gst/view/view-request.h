/* SPDX-License-Identifier: MIT */
/* Texts between the page and the element: JSON objects. */
#pragma once

#include "view-server.h"

G_BEGIN_DECLS

/* {"pose": [x, y, z, yaw]}: metres and degrees. FALSE: it is something else. */
gboolean view_request_parse (const gchar *text, double pose[4]);
/* A message {"@kind": "@text"}. */
GBytes *view_reply_new (const gchar *kind, const gchar *text);

G_END_DECLS
