/* SPDX-License-Identifier: MIT */
#include "gstrenamed.h"

/* What the class did before, of a type that has renamed properties. */
typedef struct {
  void (*set_property) (GObject *object, guint id, const GValue *value, GParamSpec *pspec);
  GstStateChangeReturn (*change_state) (GstElement *element, GstStateChange transition);
} Wrapped;

static GQuark
wrapped_quark (void)
{
  return g_quark_from_static_string ("gst-renamed-wrapped");
}

/* Of a GParamSpec: its GstRenamedProperty. Of an object: the one that was set. */
static GQuark
renamed_quark (void)
{
  return g_quark_from_static_string ("gst-renamed-property");
}

/* A class of several derived ones may be wrapped; the functions of a derived class are called
 * first, so the nearest wrapped ancestor of the object's type is the only one. */
static const Wrapped *
find_wrapped (GObject *object)
{
  const Wrapped *wrapped = NULL;

  for (GType type = G_OBJECT_TYPE (object); type && !wrapped; type = g_type_parent (type))
    wrapped = g_type_get_qdata (type, wrapped_quark ());
  g_assert (wrapped);
  return wrapped;
}

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstRenamedProperty *renamed = g_param_spec_get_qdata (pspec, renamed_quark ());

  if (!renamed) {
    find_wrapped (object)->set_property (object, id, value, pspec);
    return;
  }
  GST_ERROR_OBJECT (object, "The property “%s” %s", renamed->old_name, renamed->advice);
  g_object_set_qdata (object, renamed_quark (), renamed);
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  const GstRenamedProperty *renamed = g_object_get_qdata (G_OBJECT (element), renamed_quark ());

  if (renamed && transition == GST_STATE_CHANGE_NULL_TO_READY) {
    GST_ELEMENT_ERROR (element, RESOURCE, SETTINGS,
        ("The property “%s” %s.", renamed->old_name, renamed->advice), (NULL));
    return GST_STATE_CHANGE_FAILURE;
  }
  return find_wrapped (G_OBJECT (element))->change_state (element, transition);
}

static GParamSpec *
make_pspec (const GstRenamedProperty *renamed)
{
  const GParamFlags flags = G_PARAM_WRITABLE | G_PARAM_DEPRECATED | G_PARAM_STATIC_STRINGS;
  const gchar *name = renamed->old_name, *nick = "Renamed", *blurb = renamed->advice;

  switch (renamed->type) {
  case G_TYPE_UINT:
    return g_param_spec_uint (name, nick, blurb, 0, G_MAXUINT, 0, flags);
  case G_TYPE_UINT64:
    return g_param_spec_uint64 (name, nick, blurb, 0, G_MAXUINT64, 0, flags);
  case G_TYPE_INT64:
    return g_param_spec_int64 (name, nick, blurb, G_MININT64, G_MAXINT64, 0, flags);
  case G_TYPE_DOUBLE:
    return g_param_spec_double (name, nick, blurb, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);
  case G_TYPE_FLOAT:
    return g_param_spec_float (name, nick, blurb, -G_MAXFLOAT, G_MAXFLOAT, 0, flags);
  case G_TYPE_BOOLEAN:
    return g_param_spec_boolean (name, nick, blurb, FALSE, flags);
  case G_TYPE_STRING:
    return g_param_spec_string (name, nick, blurb, NULL, flags);
  default:
    g_assert_not_reached ();
  }
}

void
gst_renamed_properties_install (
    GObjectClass *klass, guint first_id, const GstRenamedProperty *renamed, guint n)
{
  Wrapped *wrapped = g_new (Wrapped, 1);

  /* Types are never unloaded, nor is this freed. */
  wrapped->set_property = klass->set_property;
  wrapped->change_state = GST_ELEMENT_CLASS (klass)->change_state;
  g_type_set_qdata (G_TYPE_FROM_CLASS (klass), wrapped_quark (), wrapped);
  klass->set_property = set_property;
  GST_ELEMENT_CLASS (klass)->change_state = change_state;
  for (guint i = 0; i < n; i++) {
    GParamSpec *pspec = make_pspec (&renamed[i]);
    g_object_class_install_property (klass, first_id + i, pspec);
    g_param_spec_set_qdata (pspec, renamed_quark (), (gpointer)&renamed[i]);
  }
}
