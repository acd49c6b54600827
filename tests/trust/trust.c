/* SPDX-License-Identifier: MIT */
/* Drives that go wrong in some way, and some that do not: how often is a wrong pose called
 * tracking, and how often is a right one not? Prints a table, a line per row, or JSON; ends with 1
 * where a row misses a bound. */
#include <stdlib.h>
#include <string.h>

#include "trust-rows.h"
#include "tests/ndt-test.h"

static gchar *only, *cache, *scans_path;
static gint first_seed = 1, n_seeds, leaf_percent = -1, most_passes = -1;
static double moved, turned;
static gboolean as_json, verbose, check, inside;

static const GOptionEntry entries[] = {{"row", 'r', 0, G_OPTION_ARG_STRING, &only,
                                           "Rows whose names begin so, separated by ';'", "NAME"},
    {"seeds", 's', 0, G_OPTION_ARG_INT, &n_seeds,
        "The last of these (2); NDT_TRUST_SEEDS counts before it", "N"},
    {"first", 'f', 0, G_OPTION_ARG_INT, &first_seed, "The first seed of each row (1)", "N"},
    {"cache", 'c', 0, G_OPTION_ARG_FILENAME, &cache, "Where simulated scans are kept", "FOLDER"},
    {"leaf", 'l', 0, G_OPTION_ARG_INT, &leaf_percent, "Leaves, as a percentage of a cell", "N"},
    {"moved", 0, 0, G_OPTION_ARG_DOUBLE, &moved, "Maps and drives are moved so far (0)", "METRES"},
    {"turned", 0, 0, G_OPTION_ARG_DOUBLE, &turned, "And turned about the vertical axis (0)",
        "DEGREES"},
    {"inside", 0, 0, G_OPTION_ARG_NONE, &inside, "Maps of halls end at the faces that scans see",
        NULL},
    {"passes", 0, 0, G_OPTION_ARG_INT, &most_passes, "Bound of a scan's passes, 0: none", "N"},
    {"json", 'j', 0, G_OPTION_ARG_NONE, &as_json, "Prints JSON", NULL},
    {"check", 'k', 0, G_OPTION_ARG_NONE, &check, "Ends with 1 where a bound is missed", NULL},
    {"scans", 0, 0, G_OPTION_ARG_FILENAME, &scans_path, "Writes a line a scan", "FILE"},
    {"verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Prints each scan", NULL},
    G_OPTION_ENTRY_NULL};

static gboolean
is_asked_for (const gchar *name)
{
  if (!only)
    return TRUE;
  g_auto (GStrv) names = g_strsplit (only, ";", -1);
  for (guint i = 0; names[i]; i++)
    if (g_str_has_prefix (name, names[i]))
      return TRUE;
  return FALSE;
}

/* What a row has over all its seeds. */
typedef struct {
  guint n_runs, n, n_wrong, most_wrong, row, n_right, n_right_tracking, n_lost, n_tracking;
  guint n_counted, n_outside, n_sure, n_back, n_costly;
  double largest, mean, back, nees, in_ellipse, unexplained, passes, most_passes;
} Sum;

static void
add (Sum *sum, const TrustResult *r)
{
  sum->n_runs++;
  sum->n += r->n;
  sum->n_wrong += r->n_wrong;
  sum->most_wrong = MAX (sum->most_wrong, r->n_wrong);
  sum->row = MAX (sum->row, r->n_wrong_row);
  sum->n_right += r->n_right;
  sum->n_right_tracking += r->n_right_tracking;
  sum->n_lost += r->n_lost;
  sum->n_tracking += r->n_tracking;
  sum->n_counted += r->n_counted;
  sum->n_outside += r->n_outside;
  sum->n_sure += r->n_sure;
  sum->n_back += r->back >= 0;
  sum->back = MAX (sum->back, r->back);
  sum->largest = MAX (sum->largest, r->largest_wrong);
  sum->mean += r->mean;
  sum->nees += r->nees;
  sum->in_ellipse += r->in_ellipse;
  sum->unexplained += r->unexplained;
  sum->passes += r->passes;
  sum->most_passes = MAX (sum->most_passes, r->most_passes);
  sum->n_costly += r->n_costly;
}

/* Bounds that a row misses. */
static guint
judge (const TrustRow *row, const Sum *s)
{
  const double shy = s->n_right ? 100.0 * s->n_right_tracking / s->n_right : 100;
  guint missed = 0;
  if (s->n_wrong > 0.01 * s->n || s->row > 3)
    missed |= TRUST_NOT_WRONG;
  if (shy < 95)
    missed |= TRUST_NOT_SHY;
  if (shy < 99.5 || s->n_right < 0.8 * s->n_counted)
    missed |= TRUST_CALM;
  if (s->n_back < s->n_runs || s->back > row->back + 0.001)
    missed |= TRUST_BACK;
  /* Half and twice 6 are what is asked for; errors of one drive are correlated, and what is
   * missed of it is in docs/tracking-figures.md. */
  if (s->nees < 2.4 * s->n_runs || s->nees > 13.5 * s->n_runs)
    missed |= TRUST_NEES;
  /* 90 % is what is asked for, of many drives; of one that is off by one error all along a large
   * part may be outside. */
  if (s->in_ellipse < (s->n_runs < 8 ? 0.75 : 0.89) * s->n_runs)
    missed |= TRUST_ELLIPSE;
  if (s->n_outside > 0.01 * s->n_counted || s->n_sure > 0)
    missed |= TRUST_SIGMA;
  if (s->unexplained > 0.05 * s->n_runs)
    missed |= TRUST_RAYS;
  missed &= row->bounds;
  if (s->n_costly > 0 && most_passes < 0)
    missed |= TRUST_PASSES;
  return missed;
}

static gchar *
to_words (guint missed)
{
  static const gchar *const words[] = {
      " WRONG", " SHY", " SHY", " BACK", " SIGMA", " NEES", " PASSES", " ELLIPSE", " RAYS"};
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (missed >> i & 1)
      g_string_append (text, words[i]);
  return g_string_free (text, FALSE);
}

static void
print (const TrustRow *row, const Sum *s, const gchar *missed, gboolean is_first)
{
  const double shy = s->n_right ? 100.0 * s->n_right_tracking / s->n_right : 100;
  const double k = MAX (s->n_runs, 1);
  if (as_json)
    g_print (
        "%s\n  {\"row\": \"%s\", \"runs\": %u, \"scans\": %u, \"wrong\": %u, "
        "\"most_wrong\": %u, \"wrong_in_a_row\": %u, \"largest_m\": %.3f, \"right\": %u, "
        "\"right_tracking\": %u, \"tracking\": %u, \"lost\": %u, \"mean_m\": %.4f, \"back\": "
        "%u, \"slowest_back_s\": %.2f, \"outside_3_sigma\": %u, \"nees\": %.2f, \"in_ellipse\": "
        "%.3f, \"passes\": "
        "%.1f, \"most_passes\": %.1f, \"missed\": \"%s\"}",
        is_first ? "[" : ",", row->name, s->n_runs, s->n, s->n_wrong, s->most_wrong, s->row,
        s->largest, s->n_right, s->n_right_tracking, s->n_tracking, s->n_lost, s->mean / k,
        s->n_back, s->back, s->n_outside, s->nees / k, s->in_ellipse / k, s->passes / k,
        s->most_passes, missed + (*missed == ' '));
  else {
    if (is_first)
      g_print ("%-24s %4s %5s %4s %4s %7s %5s %6s %6s %5s %6s %5s %5s %6s %5s %5s %5s\n", "row",
          "runs", "scans", "TW", "row", "max m", "right", "track%", "track", "lost", "mean m",
          "back", "s", ">3s", "NEES", "in%", "pass");
    g_print ("%-24s %4u %5u %4u %4u %7.2f %5u %6.1f %6u %5u %6.3f %5u %5.1f %6u %5.1f %5.1f %5.1f "
             "%4.0f%s\n",
        row->name, s->n_runs, s->n, s->n_wrong, s->row, s->largest, s->n_right, shy, s->n_tracking,
        s->n_lost, s->mean / k, s->n_back, s->back, s->n_outside, s->nees / k,
        100 * s->in_ellipse / k, s->passes / k, s->most_passes, missed);
  }
}

int
main (int argc, char *argv[])
{
  g_autoptr (GOptionContext) context = g_option_context_new ("- what a status is worth");
  g_autoptr (GError) error = NULL;
  guint n_missed = 0, n_printed = 0;
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  if (n_seeds <= 0)
    n_seeds = 2;
  if (g_getenv ("NDT_TRUST_SEEDS"))
    n_seeds = atoi (g_getenv ("NDT_TRUST_SEEDS"));
  if (!cache)
    cache = g_build_filename (g_get_tmp_dir (), "ndt-trust", NULL);
  TrustInputs *inputs = trust_inputs_new (cache);
  inputs->moved = moved;
  inputs->turned = turned * G_PI / 180;
  inputs->inside = inside;
  FILE *scans = scans_path ? fopen (scans_path, "w") : NULL;
  for (guint i = 0; i < trust_n_rows; i++) {
    const TrustRow *row = &trust_rows[i];
    const guint first = (guint)first_seed;
    const guint last =
        row->n_seeds ? MIN (first + row->n_seeds - 1, (guint)n_seeds) : (guint)n_seeds;
    Sum sum = {0};
    if (!is_asked_for (row->name))
      continue;
    for (guint seed = first; seed <= last; seed++) {
      TrustCase trust;
      TrustResult result;
      memset (&trust, 0, sizeof (trust));
      if (row->prepare (inputs, row, row->seed ? row->seed : seed, &trust)) {
        if (leaf_percent >= 0)
          trust.params.filter.leaf_size = (float)(0.01 * leaf_percent * row->resolution);
        if (most_passes >= 0)
          trust.params.max_search_passes = most_passes;
        trust.scans = scans;
        trust.name = row->name;
        trust.seed = row->seed ? row->seed : seed;
        trust_case_run (&trust, verbose, &result);
        add (&sum, &result);
      }
      trust_case_clear (&trust);
    }
    if (sum.n_runs == 0)
      continue;
    const guint missed = judge (row, &sum);
    g_autofree gchar *words = to_words (missed);
    print (row, &sum, words, n_printed++ == 0);
    n_missed += (missed & ~row->known) != 0;
  }
  if (as_json)
    g_print ("\n]\n");
  else
    g_print ("%u of %u rows miss a bound that they are not known to miss\n", n_missed, n_printed);
  trust_inputs_free (inputs);
  if (scans)
    fclose (scans);
  return check && n_missed > 0;
}
