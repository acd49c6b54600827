#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the reference of our elements as Markdown: pads, properties, signals.

usage: element-reference.py [ELEMENT...]
       element-reference.py --check FILE   compares FILE with it
       element-reference.py --write FILE   writes FILE anew

Without names these are all elements in the folders of GST_PLUGIN_PATH_1_0. docs/reference.md is
what this prints for them, so that no property or caps change by accident.
"""

import difflib
import os
import sys

try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import GObject, Gst
except (ImportError, ValueError) as error:
    print(error)
    sys.exit(77)

# GStreamer's classes: what they add differs between versions.
BASES = ("GstObject", "GstElement", "GstBin", "GstBaseSink", "GstBaseSrc", "GstPushSrc",
         "GstBaseTransform", "GstBaseParse", "GstAggregator")
FLAGS = (
    (1 << 9, "controllable"),  # GST_PARAM_CONTROLLABLE
    (1 << 10, "changeable while READY"),  # GST_PARAM_MUTABLE_READY
    (1 << 11, "changeable while PAUSED"),
    (1 << 12, "changeable at any time"),  # GST_PARAM_MUTABLE_PLAYING
)


def number(value):
    """Shortest decimal form."""
    if isinstance(value, float):
        return "unlimited" if value > 3.4e38 else "−unlimited" if value < -3.4e38 else f"{value:.9g}"
    return str(value).lower()


def value_text(element, spec):
    """Type, range and default of a property."""
    # Newer versions of PyGObject know an enumeration from its first value on.
    if GObject.type_is_a(spec.value_type, GObject.TYPE_ENUM):
        element.get_property(spec.name)
    kind, default = spec.value_type, getattr(spec, "default_value", None)
    if GObject.type_is_a(kind, GObject.TYPE_ENUM):
        values = kind.pytype.__enum_values__
        return " | ".join(v.value_nick for v in values.values()), values[int(default)].value_nick
    if GObject.type_is_a(kind, GObject.TYPE_FLAGS):
        return kind.name, str(int(default))
    if kind == GObject.TYPE_BOOLEAN:
        return "boolean", number(bool(default))
    if kind == GObject.TYPE_STRING:
        return "string", f'"{default}"' if default is not None else "none"
    if hasattr(spec, "minimum"):
        name = {"gdouble": "double", "gfloat": "float", "guint": "unsigned", "gint": "integer",
                "guint64": "unsigned 64-bit", "gint64": "64-bit"}.get(kind.name, kind.name)
        return f"{name}, {number(spec.minimum)} to {number(spec.maximum)}", number(default)
    return kind.name, "none"


def element_reference(name):
    factory = Gst.ElementFactory.find(name)
    if factory is None:
        sys.exit(f"no element {name}")
    element = factory.create(None)
    lines = [f"## {name}", "", f"{factory.get_metadata('description')}  ",
             f"Class: {factory.get_metadata('klass')}", ""]
    # The order of the list is another where the registry was just made.
    for template in sorted(factory.get_static_pad_templates(), key=lambda t: t.name_template):
        presence = template.presence.value_nick
        lines.append(f"- Pad `{template.name_template}` ({template.direction.value_nick}, "
                     f"{presence}):")
        for caps in template.get_caps().to_string().split("; "):
            lines.append(f"  `{caps}`")
    lines.append("")
    rows = []
    for spec in sorted(GObject.list_properties(element), key=lambda s: s.name):
        # Deprecated ones are names of earlier releases, which elements refuse.
        if spec.owner_type.name in BASES or spec.flags & GObject.ParamFlags.DEPRECATED:
            continue
        values, default = value_text(element, spec)
        notes = [text for bit, text in FLAGS if spec.flags & bit]
        if not spec.flags & GObject.ParamFlags.WRITABLE:
            notes, default = ["read-only"], ""
        elif not spec.flags & GObject.ParamFlags.READABLE:
            notes.append("write-only")
        values = values.replace("|", "\\|")
        rows.append(f"| `{spec.name}` | {values} | {default} | {spec.blurb} "
                    f"| {', '.join(notes)} |")
    if rows:
        lines += ["| property | values | default | what | when |", "|---|---|---|---|---|"]
        lines += rows + [""]
    # Signals, of the element's own class and its bases up to ours.
    own = []
    kind = type(element).__gtype__
    while kind.name not in BASES:
        own += [GObject.signal_query(n, kind) for n in GObject.signal_list_names(kind)]
        kind = kind.parent
    for query in sorted(own, key=lambda q: q.signal_name):
        parameters = ", ".join(t.name for t in query.param_types)
        what = "Action signal" if query.signal_flags & GObject.SignalFlags.ACTION else "Signal"
        lines += [f"- {what} `{query.signal_name}` ({parameters}) → {query.return_type.name}"]
    return "\n".join(lines).rstrip() + "\n"


def our_elements():
    registry = Gst.Registry.get()
    folders = os.environ.get("GST_PLUGIN_PATH_1_0", "").split(":")
    names = []
    for plugin in registry.get_plugin_list():
        if os.path.dirname(plugin.get_filename() or "") in folders:
            names += [feature.get_name()
                      for feature in registry.get_feature_list_by_plugin(plugin.get_name())
                      if isinstance(feature, Gst.ElementFactory)]
    return sorted(names) or sys.exit("no element of ours")


def main():
    arguments = sys.argv[1:]
    check = write = None
    if arguments[:1] == ["--check"]:
        check, arguments = arguments[1], arguments[2:]
    elif arguments[:1] == ["--write"]:
        write, arguments = arguments[1], arguments[2:]
    Gst.init(None)
    text = ("# Reference of the elements\n\nPrinted by `tests/elements/element-reference.py`; a"
            " test compares. Explanations: [elements](elements).\n\n")
    text += "\n".join(element_reference(name) for name in arguments or our_elements())
    if write:
        with open(write, "w", encoding="utf-8") as file:
            file.write(text)
        return
    if check is None:
        sys.stdout.write(text)
        return
    with open(check, encoding="utf-8") as file:
        old = file.read()
    if old != text:
        sys.stdout.writelines(difflib.unified_diff(
            old.splitlines(True), text.splitlines(True), check, "the elements as built"))
        sys.exit(f"{check} is not what the elements are: if the change is meant, write it anew: "
                 "ninja -C build update-reference")


if __name__ == "__main__":
    main()
