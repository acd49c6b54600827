/* SPDX-License-Identifier: MIT */
/* The table of ndtlocalize's properties: what each is called, which values it takes, where it is
 * stored and what a change of it concerns. */
#pragma once

#include "gstndtsettings.h"

G_BEGIN_DECLS

typedef enum {
  GST_NDT_KIND_DOUBLE,  /* gdouble: the property times the row's unit */
  GST_NDT_KIND_UINT,    /* guint */
  GST_NDT_KIND_UINT64,  /* guint64 */
  GST_NDT_KIND_INT,     /* gint */
  GST_NDT_KIND_BOOLEAN, /* gboolean */
  GST_NDT_KIND_ENUM,    /* gint */
  GST_NDT_KIND_TEXT,    /* gchar *, owned, NULL: unset */
  GST_NDT_KIND_BOXED,   /* a pointer, owned, NULL: unset */
  GST_NDT_KIND_NUMBERS, /* GstNdtNumbers; the property is a GstValueArray of doubles */
} GstNdtKind;

/**
 * GstNdtProperty:
 * @name: of the property
 * @nick: of the property
 * @blurb: of the property
 * @kind: how the value is stored …
 * @at: … and where in #GstNdtSettings
 * @flags: when it may be set: GST_PARAM_MUTABLE_READY or GST_PARAM_MUTABLE_PLAYING
 * @change: what setting it concerns
 * @min: of a number
 * @max: of a number
 * @unit: of a double: what is stored is the property times this; 0: 1
 * @type: of an enumeration or a boxed type
 */
typedef struct {
  const gchar *name;
  const gchar *nick;
  const gchar *blurb;
  GstNdtKind kind;
  gsize at;
  GParamFlags flags;
  GstNdtChange change;
  gdouble min;
  gdouble max;
  gdouble unit;
  GType (*type) (void);
} GstNdtProperty;

/* The row of the property with number @id, which is its place in the table, from 1 on. NULL: there
 * is none. */
const GstNdtProperty *gst_ndt_property_get (guint id);

G_END_DECLS
