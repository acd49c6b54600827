/* SPDX-License-Identifier: MIT */
/* ndt-map: builds, simulates, cuts and inspects maps. Exit status 0: done, 1: failed, 2: wrong
 * usage. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-tool.h"

#ifndef HAVE_CAIRO
int
ndt_map_command_picture (int argc, char **argv)
{
  g_printerr ("ndt-map: built without Cairo (-Dcairo=enabled), so that it draws nothing\n");
  return EXIT_FAILURE;
}
#endif

static const gchar usage[] =
    "Usage:\n"
    "  ndt-map build [OPTION...] -o MAP.pcd INPUT...   joins maps or scans into a map\n"
    "  ndt-map convert [OPTION...] -o OUT.ndtmap MAP   makes a map that opens at once\n"
    "  ndt-map crop [OPTION...] -o OUT MAP             writes a part of a map\n"
    "  ndt-map import [OPTION...] -o MAP INPUT...      brings a map of others, and says what is "
    "wrong\n"
    "  ndt-map make [OPTION...] -o FOLDER SCAN...      makes a map of a drive by its scans\n"
    "  ndt-map merge [OPTION...] -o OUT MAP OTHER      makes one map of two that overlap\n"
    "  ndt-map simulate [OPTION...] OUT.pcd            writes a map of a simulated world\n"
    "  ndt-map tile [OPTION...] -o FOLDER INPUT...     cuts a map into tiles\n"
    "  ndt-map update [OPTION...] -o FOLDER MAP DRIVE...  finds what drives agree to be different\n"
    "  ndt-map info [OPTION...] MAP                    says what is in a map\n"
    "  ndt-map picture [OPTION...] -o FILE.png MAP...  draws a map and trajectories\n"
    "  ndt-map COMMAND --help                          options of a command\n"
    "  ndt-map --version\n";

static const struct {
  const gchar *name;
  int (*run) (int argc, char **argv);
} commands[] = {
    {"build", ndt_map_command_build},
    {"convert", ndt_map_command_convert},
    {"crop", ndt_map_command_crop},
    {"import", ndt_map_command_import},
    {"info", ndt_map_command_info},
    {"make", ndt_map_command_make},
    {"merge", ndt_map_command_merge},
    {"picture", ndt_map_command_picture},
    {"simulate", ndt_map_command_simulate},
    {"tile", ndt_map_command_tile},
    {"update", ndt_map_command_update},
};

int
main (int argc, char **argv)
{
  const gchar *command = argc > 1 ? argv[1] : "";
  /* For the encoding of file names; numbers have a decimal point in any locale. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  if (strcmp (command, "--help") == 0 || strcmp (command, "-h") == 0) {
    fputs (usage, stdout);
    return EXIT_SUCCESS;
  }
  if (strcmp (command, "--version") == 0) {
    puts ("ndt-map " VERSION);
    return EXIT_SUCCESS;
  }
  int (*run) (int, char **) = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (command, commands[i].name))
      run = commands[i].run;
  if (!run) {
    if (*command)
      fprintf (stderr, "ndt-map: there is no command “%s”\n\n", command);
    fputs (usage, stderr);
    return EXIT_USAGE;
  }
  g_autofree gchar *name = g_strconcat ("ndt-map ", command, NULL);
  g_set_prgname (name);
  return run (argc - 1, argv + 1);
}
