/* SPDX-License-Identifier: MIT */
#include "random-expression.h"

#include <math.h>

const gchar *const random_numbers[RANDOM_NUMBERS] = {"a", "b", "c"};
const gchar *const random_columns[RANDOM_COLUMNS] = {"x", "y", "z", "s"};

/* Operations are put so that they are smooth and of moderate size, whatever their operands. */
typedef enum {
  LEAF_NUMBER,
  LEAF_COLUMN,
  LEAF_CONSTANT,
  LEAF_POSITION,
  LEAF_ANGLE,
  ADD,
  SUB,
  MUL,
  DIV,
  SQRT,
  SIN,
  COS,
  TAN,
  ASIN,
  ACOS,
  ATAN,
  ATAN2,
  EXP,
  LOG,
  ABS,
  POW,
  SQUARE,
  MIN_OF,
  MAX_OF,
  NEG,
  TRANSFORM,
  ROTATE,
  N_KINDS
} Kind;

struct _RandomExpression {
  Kind kind;
  guint which; /* number, column, coordinate, angle */
  double constant;
  RandomExpression *operands[3];
};

static const gchar *const formats[N_KINDS] = {
    [ADD] = "(%s + %s)",
    [SUB] = "(%s - %s)",
    [MUL] = "sin(%s)*(%s)",
    [DIV] = "%s/(2+(%s)^2)",
    [SQRT] = "sqrt(1.5+(%s)^2)",
    [SIN] = "sin(%s)",
    [COS] = "cos(%s)",
    [TAN] = "tan(0.5*sin(%s))",
    [ASIN] = "asin(0.5*sin(%s))",
    [ACOS] = "acos(0.7*cos(%s))",
    [ATAN] = "atan(%s)",
    [ATAN2] = "atan2(%s, 1.5 + sin(%s))",
    [EXP] = "exp(cos(%s))",
    [LOG] = "log(1.25+(%s)*(%s))",
    [ABS] = "abs(%s)",
    [POW] = "(2+sin(%s))^(cos(%s))",
    [SQUARE] = "(%s)^3/(1+(%s)^2)",
    [MIN_OF] = "min(%s, %s)",
    [MAX_OF] = "max(%s, %s)",
    [NEG] = "-(%s)",
};

static guint
count_operands (Kind kind)
{
  switch (kind) {
  case ADD:
  case SUB:
  case MUL:
  case DIV:
  case ATAN2:
  case POW:
  case MIN_OF:
  case MAX_OF:
    return 2;
  case TRANSFORM:
  case ROTATE:
    return 3;
  default:
    return kind > LEAF_ANGLE ? 1 : 0;
  }
}

RandomExpression *
random_expression_new (GRand *random, guint depth)
{
  RandomExpression *e = g_new0 (RandomExpression, 1);
  if (depth == 0)
    e->kind = (Kind)g_rand_int_range (random, LEAF_NUMBER, LEAF_ANGLE + 1);
  else
    e->kind = (Kind)g_rand_int_range (random, ADD, N_KINDS);
  e->which = (guint)g_rand_int_range (random, 0, e->kind == LEAF_COLUMN ? RANDOM_COLUMNS : 3);
  e->constant = g_rand_int_range (random, 1, 40) / 16.0;
  for (guint i = 0; i < count_operands (e->kind); i++)
    e->operands[i] = random_expression_new (
        random, i == 0 ? depth - 1 : (guint)g_rand_int_range (random, 0, (gint)depth));
  return e;
}

void
random_expression_free (RandomExpression *e)
{
  if (!e)
    return;
  for (guint i = 0; i < 3; i++)
    random_expression_free (e->operands[i]);
  g_free (e);
}

gchar *
random_expression_to_text (const RandomExpression *e)
{
  static const gchar *const angles[] = {"T.roll", "T.pitch", "T.yaw"};
  static const gchar axes[] = "xyz";
  g_autofree gchar *a = e->operands[0] ? random_expression_to_text (e->operands[0]) : NULL;
  g_autofree gchar *b = e->operands[1] ? random_expression_to_text (e->operands[1]) : NULL;
  g_autofree gchar *c = e->operands[2] ? random_expression_to_text (e->operands[2]) : NULL;

  switch (e->kind) {
  case LEAF_NUMBER:
    return g_strdup (random_numbers[e->which]);
  case LEAF_COLUMN:
    return g_strdup (random_columns[e->which]);
  case LEAF_CONSTANT:
    return g_strdup_printf ("%.17g", e->constant);
  case LEAF_POSITION:
    return g_strdup_printf ("T.%c", axes[e->which]);
  case LEAF_ANGLE:
    return g_strdup (angles[e->which]);
  case TRANSFORM:
    return g_strdup_printf ("transform_%c(T, %s, %s, %s)", axes[e->which], a, b, c);
  case ROTATE:
    return g_strdup_printf ("rotate_%c(T, %s, %s, %s)", axes[e->which], a, b, c);
  default: {
    g_auto (GStrv) parts = g_strsplit (formats[e->kind], "%s", -1);
    GString *text = g_string_new (parts[0]);
    for (guint i = 1; parts[i]; i++)
      g_string_append_printf (text, "%s%s", i == 2 && b ? b : a, parts[i]);
    return g_string_free (text, FALSE);
  }
  }
}

/* ---- Dual numbers ---- */

static Dual
constant (long double v)
{
  return (Dual){.v = v};
}

/* A value with its derivatives by one and by two operands. */
static Dual
chain (long double v, const Dual *a, long double da, const Dual *b, long double db)
{
  Dual r = {.v = v};
  for (guint t = 0; t < RANDOM_TANGENTS; t++)
    r.d[t] = da * a->d[t] + (b ? db * b->d[t] : 0);
  return r;
}

static Dual
d_add (Dual a, Dual b)
{
  return chain (a.v + b.v, &a, 1, &b, 1);
}

static Dual
d_mul (Dual a, Dual b)
{
  return chain (a.v * b.v, &a, b.v, &b, a.v);
}

static Dual
d_div (Dual a, Dual b)
{
  return chain (a.v / b.v, &a, 1 / b.v, &b, -a.v / (b.v * b.v));
}

static Dual
d_sin (Dual a)
{
  return chain (sinl (a.v), &a, cosl (a.v), NULL, 0);
}

static Dual
d_cos (Dual a)
{
  return chain (cosl (a.v), &a, -sinl (a.v), NULL, 0);
}

static Dual
d_atan2 (Dual y, Dual x)
{
  const long double s = x.v * x.v + y.v * y.v;
  return chain (atan2l (y.v, x.v), &y, x.v / s, &x, -y.v / s);
}

static Dual
d_asin (Dual a)
{
  return chain (asinl (a.v), &a, 1 / sqrtl (1 - a.v * a.v), NULL, 0);
}

static Dual
d_scale (Dual a, long double s)
{
  return chain (s * a.v, &a, s, NULL, 0);
}

/* Element of R: exp (δω) R has the derivatives e_k × its columns. */
static Dual
rotation_element (const RandomPoint *at, guint row, guint column)
{
  Dual r = {.v = at->rotation[3 * row + column]};
  const guint j = (row + 1) % 3, k = (row + 2) % 3;
  r.d[3 + j] = at->rotation[3 * k + column];
  r.d[3 + k] = -at->rotation[3 * j + column];
  return r;
}

static Dual
position (const RandomPoint *at, guint axis)
{
  Dual r = {.v = at->position[axis]};
  r.d[axis] = 1;
  return r;
}

static void
note_kink (long double *kink, long double distance)
{
  if (kink && fabsl (distance) < *kink)
    *kink = fabsl (distance);
}

Dual
random_expression_evaluate (const RandomExpression *e, const RandomPoint *at, long double *kink)
{
  Dual o[3], sum;
  for (guint i = 0; i < count_operands (e->kind); i++)
    o[i] = random_expression_evaluate (e->operands[i], at, kink);

  switch (e->kind) {
  case LEAF_NUMBER:
    sum = constant (at->numbers[e->which]);
    sum.d[6 + e->which] = 1;
    return sum;
  case LEAF_COLUMN:
    return constant (at->columns[e->which]);
  case LEAF_CONSTANT:
    return constant (e->constant);
  case LEAF_POSITION:
    return position (at, e->which);
  case LEAF_ANGLE:
    if (e->which == 0)
      return d_atan2 (rotation_element (at, 2, 1), rotation_element (at, 2, 2));
    if (e->which == 1)
      return d_asin (d_scale (rotation_element (at, 2, 0), -1));
    return d_atan2 (rotation_element (at, 1, 0), rotation_element (at, 0, 0));
  case ADD:
    return d_add (o[0], o[1]);
  case SUB:
    return d_add (o[0], d_scale (o[1], -1));
  case MUL:
    return d_mul (d_sin (o[0]), o[1]);
  case DIV:
    return d_div (o[0], d_add (constant (2), d_mul (o[1], o[1])));
  case SQRT: {
    const long double root = sqrtl (1.5L + o[0].v * o[0].v);
    return chain (root, &o[0], o[0].v / root, NULL, 0);
  }
  case SIN:
    return d_sin (o[0]);
  case COS:
    return d_cos (o[0]);
  case TAN:
    sum = d_scale (d_sin (o[0]), 0.5L);
    return d_div (d_sin (sum), d_cos (sum));
  case ASIN:
    return d_asin (d_scale (d_sin (o[0]), 0.5L));
  case ACOS:
    sum = d_scale (d_asin (d_scale (d_cos (o[0]), (long double)0.7)), -1);
    sum.v = acosl ((long double)0.7 * cosl (o[0].v));
    return sum;
  case ATAN:
    return d_atan2 (o[0], constant (1));
  case ATAN2:
    return d_atan2 (o[0], d_add (constant (1.5L), d_sin (o[1])));
  case EXP:
    sum = d_cos (o[0]);
    return chain (expl (sum.v), &sum, expl (sum.v), NULL, 0);
  case LOG:
    sum = d_add (constant (1.25L), d_mul (o[0], o[0]));
    return chain (logl (sum.v), &sum, 1 / sum.v, NULL, 0);
  case ABS:
    note_kink (kink, o[0].v);
    return d_scale (o[0], o[0].v < 0 ? -1 : 1);
  case POW: {
    const Dual base = d_add (constant (2), d_sin (o[0])), power = d_cos (o[1]);
    const long double v = powl (base.v, power.v);
    return chain (v, &base, v * power.v / base.v, &power, v * logl (base.v));
  }
  case SQUARE:
    sum = d_mul (o[0], o[0]);
    return d_div (d_mul (sum, o[0]), d_add (constant (1), sum));
  case MIN_OF:
    note_kink (kink, o[0].v - o[1].v);
    return o[0].v < o[1].v ? o[0] : o[1];
  case MAX_OF:
    note_kink (kink, o[0].v - o[1].v);
    return o[0].v > o[1].v ? o[0] : o[1];
  case NEG:
    return d_scale (o[0], -1);
  case TRANSFORM:
  case ROTATE:
    sum = e->kind == TRANSFORM ? position (at, e->which) : constant (0);
    for (guint k = 0; k < 3; k++)
      sum = d_add (sum, d_mul (rotation_element (at, e->which, k), o[k]));
    return sum;
  default:
    g_assert_not_reached ();
  }
}

void
random_point_move (const RandomPoint *at, guint tangent, long double step, RandomPoint *out)
{
  *out = *at;
  if (tangent < 3) {
    out->position[tangent] += step;
  } else if (tangent < 6) {
    /* A rotation about one axis of the parent, from the left. */
    const guint k = tangent - 3, i = (k + 1) % 3, j = (k + 2) % 3;
    for (guint c = 0; c < 3; c++) {
      const long double u = at->rotation[3 * i + c], v = at->rotation[3 * j + c];
      out->rotation[3 * i + c] = cosl (step) * u - sinl (step) * v;
      out->rotation[3 * j + c] = sinl (step) * u + cosl (step) * v;
    }
  } else {
    out->numbers[tangent - 6] += step;
  }
}
