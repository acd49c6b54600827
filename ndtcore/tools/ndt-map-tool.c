/* SPDX-License-Identifier: MIT */
#include "ndt-map-tool.h"

#include <stdlib.h>

#include "ndtcore/io/ndt-map-file.h"

int
ndt_map_report (const GError *error)
{
  g_printerr ("ndt-map: %s\n", error->message);
  return EXIT_FAILURE;
}

int
ndt_map_report_usage (GOptionContext *context, const gchar *text)
{
  g_autofree gchar *help = context ? g_option_context_get_help (context, TRUE, NULL) : NULL;
  g_printerr ("ndt-map: %s\n", text);
  if (help)
    g_printerr ("\n%s", help);
  return EXIT_USAGE;
}

GPtrArray *
ndt_map_list_inputs (gchar **inputs, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  for (gchar **input = inputs; *input; input++) {
    GPtrArray *some = ndt_map_list_files (*input, error);
    if (!some)
      return NULL;
    g_ptr_array_extend_and_steal (files, some);
  }
  return g_steal_pointer (&files);
}
