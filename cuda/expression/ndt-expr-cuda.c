/* SPDX-License-Identifier: MIT */
#include "ndt-expr-cuda.h"

#include <dlfcn.h>
#include <string.h>

#include "ndt-expr-cuda-compile.h"
#include "ndt-expr-cuda-source.h"
#include "ndtcore/math/ndt-lm.h"

/* What is used of cuda.h, by the names that the driver's library has. */
typedef int Device;
typedef struct CUctx_st *Context;
typedef struct CUmod_st *Module;
typedef struct CUfunc_st *Function;
typedef unsigned long long Pointer;
#define OUT_OF_MEMORY 2
#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76

typedef struct {
  int (*init) (unsigned flags);
  int (*device_get) (Device *device, int number);
  int (*get_attribute) (int *value, int attribute, Device device);
  int (*retain) (Context *context, Device device);
  int (*release) (Device device);
  int (*push) (Context context);
  int (*pop) (Context *context);
  int (*load) (Module *module, const void *image);
  int (*unload) (Module module);
  int (*get_function) (Function *function, Module module, const char *name);
  int (*allocate) (Pointer *pointer, size_t size);
  int (*release_memory) (Pointer pointer);
  int (*upload) (Pointer to, const void *from, size_t size);
  int (*download) (void *to, Pointer from, size_t size);
  int (*launch) (Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, void *stream, void **arguments, void **extra);
  int (*synchronize) (void);
  int (*get_error) (int result, const char **text);
} Driver;

typedef struct {
  gchar *source;
  Module module;
  Function function;
} Kernel;

struct _NdtExprCuda {
  const Driver *driver;
  Device device;
  Context context;
  guint architecture;
  GQueue kernels; /* Kernel, the one used last first */
  guint64 launches, compilations;
};

static gpointer
open_driver (gpointer unused)
{
  static Driver d;
  const struct {
    void *function;
    const char *name;
  } functions[] = {{&d.init, "cuInit"}, {&d.device_get, "cuDeviceGet"},
      {&d.get_attribute, "cuDeviceGetAttribute"}, {&d.retain, "cuDevicePrimaryCtxRetain"},
      {&d.release, "cuDevicePrimaryCtxRelease_v2"}, {&d.push, "cuCtxPushCurrent_v2"},
      {&d.pop, "cuCtxPopCurrent_v2"}, {&d.load, "cuModuleLoadData"}, {&d.unload, "cuModuleUnload"},
      {&d.get_function, "cuModuleGetFunction"}, {&d.allocate, "cuMemAlloc_v2"},
      {&d.release_memory, "cuMemFree_v2"}, {&d.upload, "cuMemcpyHtoD_v2"},
      {&d.download, "cuMemcpyDtoH_v2"}, {&d.launch, "cuLaunchKernel"},
      {&d.synchronize, "cuCtxSynchronize"}, {&d.get_error, "cuGetErrorString"}};
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++) {
    *(void **)functions[i].function = dlsym (library, functions[i].name);
    if (!*(void **)functions[i].function)
      return NULL;
  }
  return d.init (0) == 0 ? &d : NULL;
}

/* FALSE with an error where @result is one. */
static gboolean
check (const Driver *driver, int result, const gchar *what, GError **error)
{
  const char *text = NULL;
  if (result == 0)
    return TRUE;
  driver->get_error (result, &text);
  g_set_error (error, NDT_ERROR, result == OUT_OF_MEMORY ? NDT_ERROR_NO_MEMORY : NDT_ERROR_DEVICE,
      "%s: %s", what, text ? text : "unknown error of CUDA");
  return FALSE;
}

NdtExprCuda *
ndt_expr_cuda_open (gint device, GError **error)
{
  static GOnce once = G_ONCE_INIT;
  const Driver *driver = g_once (&once, open_driver, NULL);
  int major = 0, minor = 0;
  NdtExprCuda *cuda;

  if (!driver) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
        "there is no driver for a CUDA device (libcuda.so.1): residuals are evaluated by the CPU");
    return NULL;
  }
  cuda = g_new0 (NdtExprCuda, 1);
  cuda->driver = driver;
  g_queue_init (&cuda->kernels);
  if (driver->device_get (&cuda->device, device) != 0 ||
      driver->get_attribute (&major, ATTRIBUTE_MAJOR, cuda->device) != 0 ||
      driver->get_attribute (&minor, ATTRIBUTE_MINOR, cuda->device) != 0 ||
      driver->retain (&cuda->context, cuda->device) != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
        "CUDA device %d cannot be used: residuals are evaluated by the CPU", device);
    g_free (cuda);
    return NULL;
  }
  cuda->architecture = (guint)(10 * major + minor);
  return cuda;
}

static void
free_kernel (NdtExprCuda *cuda, Kernel *kernel)
{
  cuda->driver->unload (kernel->module);
  g_free (kernel->source);
  g_free (kernel);
}

void
ndt_expr_cuda_close (NdtExprCuda *cuda)
{
  Context context;
  Kernel *kernel;
  if (!cuda)
    return;
  cuda->driver->push (cuda->context);
  while ((kernel = g_queue_pop_head (&cuda->kernels)))
    free_kernel (cuda, kernel);
  cuda->driver->pop (&context);
  cuda->driver->release (cuda->device);
  g_free (cuda);
}

guint
ndt_expr_cuda_get_architecture (const NdtExprCuda *cuda)
{
  return cuda->architecture;
}

/* ---- Kernels, by their source ---- */

/* The context is current. */
static Kernel *
add_kernel (NdtExprCuda *cuda, const gchar *source, GBytes *cubin, GError **error)
{
  const Driver *d = cuda->driver;
  Module module = NULL;
  Function function = NULL;

  if (!check (d, d->load (&module, g_bytes_get_data (cubin, NULL)), "loading residuals", error))
    return NULL;
  if (!check (d, d->get_function (&function, module, "ndt_expr_lm"), "loading residuals", error)) {
    d->unload (module);
    return NULL;
  }
  Kernel *kernel = g_new (Kernel, 1);
  *kernel = (Kernel){g_strdup (source), module, function};
  g_queue_push_head (&cuda->kernels, kernel);
  while (g_queue_get_length (&cuda->kernels) > NDT_EXPR_CUDA_KERNELS)
    free_kernel (cuda, g_queue_pop_tail (&cuda->kernels));
  return kernel;
}

static Kernel *
find_kernel (NdtExprCuda *cuda, const gchar *source)
{
  for (GList *link = cuda->kernels.head; link; link = link->next) {
    Kernel *kernel = link->data;
    if (strcmp (kernel->source, source) == 0) {
      g_queue_unlink (&cuda->kernels, link);
      g_queue_push_head_link (&cuda->kernels, link);
      return kernel;
    }
  }
  return NULL;
}

static Kernel *
get_kernel (NdtExprCuda *cuda, const NdtExprProgram *program, GError **error)
{
  g_autofree gchar *source = ndt_expr_cuda_source (program, error);
  Kernel *kernel = source ? find_kernel (cuda, source) : NULL;
  if (!source || kernel)
    return kernel;
  g_autoptr (GBytes) cubin = ndt_expr_cuda_compile (source, cuda->architecture, error);
  cuda->compilations += cubin != NULL;
  return cubin ? add_kernel (cuda, source, cubin, error) : NULL;
}

gboolean
ndt_expr_cuda_add_kernel (
    NdtExprCuda *cuda, const NdtExprProgram *program, GBytes *cubin, GError **error)
{
  g_autofree gchar *source = ndt_expr_cuda_source (program, error);
  Context context;
  gboolean ok = source != NULL;

  cuda->driver->push (cuda->context);
  ok = ok && (find_kernel (cuda, source) || add_kernel (cuda, source, cubin, error));
  cuda->driver->pop (&context);
  return ok;
}

/* ---- Data ---- */

/* Bytes that are copied at a time: columns are small, and each copy has a cost. */
#define STAGE (32 << 20)

typedef struct {
  Pointer columns; /* data of all columns, each once */
  Pointer tables;  /* addresses of columns by problem, then numbers of rows */
  Pointer x, hessians, results;
} Memory;

typedef struct {
  double value;
  gint32 stop, iterations, evaluations, reserved;
} Result;

static void
free_memory (const Driver *d, Memory *m)
{
  const Pointer all[] = {m->columns, m->tables, m->x, m->hessians, m->results};
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i])
      d->release_memory (all[i]);
}

static gboolean
allocate (const Driver *d, Pointer *pointer, gsize size, GError **error)
{
  return check (d, d->allocate (pointer, MAX (size, 8)), "memory for residuals", error);
}

/* Offsets, in doubles, of the columns of all problems; the same array is at one offset. Returns the
 * doubles in all. */
static gsize
place_columns (const NdtExprProgram *program, const NdtExprRows *rows, guint n_problems,
    Pointer *offsets, GArray *order)
{
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);
  gsize n = 0;
  for (guint p = 0; p < n_problems; p++)
    for (guint k = 0; k < program->n_columns; k++) {
      const gsize at = (gsize)p * program->n_columns + k;
      gpointer where;
      /* An array that another problem has fewer rows of is placed again. */
      if (g_hash_table_lookup_extended (known, rows[p].columns[k], NULL, &where) &&
          rows[GPOINTER_TO_SIZE (where) / program->n_columns].n_rows >= rows[p].n_rows) {
        offsets[at] = offsets[GPOINTER_TO_SIZE (where)];
        continue;
      }
      g_hash_table_insert (known, (gpointer)rows[p].columns[k], GSIZE_TO_POINTER (at));
      offsets[at] = n;
      n += rows[p].n_rows;
      g_array_append_val (order, at);
    }
  return n;
}

/* Columns one behind the other, through a buffer. */
static gboolean
upload_columns (const Driver *d, const NdtExprProgram *program, const NdtExprRows *rows,
    GArray *order, Pointer to, GError **error)
{
  g_autofree guint8 *stage = g_malloc (STAGE);
  gsize used = 0;

  for (guint i = 0; i < order->len; i++) {
    const gsize at = g_array_index (order, gsize, i);
    const NdtExprRows *r = &rows[at / program->n_columns];
    const guint8 *from = (const guint8 *)r->columns[at % program->n_columns];
    gsize left = r->n_rows * sizeof (double);
    while (left > 0) {
      const gsize part = MIN (left, STAGE - used);
      memcpy (stage + used, from, part);
      used += part;
      from += part;
      left -= part;
      if (used == STAGE) {
        if (!check (d, d->upload (to, stage, used), "upload of data", error))
          return FALSE;
        to += used;
        used = 0;
      }
    }
  }
  return used == 0 || check (d, d->upload (to, stage, used), "upload of data", error);
}

static gboolean
upload (const Driver *d, const NdtExprProgram *program, const NdtExprRows *rows, guint n,
    const double *x, Memory *m, guint64 *bytes, GError **error)
{
  const gsize n_tables = (gsize)n * program->n_columns;
  const gsize n_x = (gsize)n * program->n_stored;
  g_autofree Pointer *tables = g_new (Pointer, n_tables + n);
  g_autofree guint32 *n_rows = g_new (guint32, n);
  g_autoptr (GArray) order = g_array_new (FALSE, FALSE, sizeof (gsize));
  const gsize n_data = place_columns (program, rows, n, tables, order);

  for (guint i = 0; i < n; i++)
    n_rows[i] = (guint32)rows[i].n_rows;
  if (!allocate (d, &m->columns, n_data * sizeof (double), error) ||
      !allocate (d, &m->tables, n_tables * sizeof (Pointer) + n * sizeof (guint32), error) ||
      !allocate (d, &m->x, n_x * sizeof (double), error) ||
      !allocate (d, &m->hessians,
          (gsize)n * NDT_PACKED_SIZE (program->n_tangents) * sizeof (double), error) ||
      !allocate (d, &m->results, n * sizeof (Result), error))
    return FALSE;
  for (gsize i = 0; i < n_tables; i++)
    tables[i] = m->columns + tables[i] * sizeof (double);
  *bytes = n_data * sizeof (double) + n_tables * sizeof (Pointer) + n * sizeof (guint32) +
           n_x * sizeof (double);
  return upload_columns (d, program, rows, order, m->columns, error) &&
         check (d, d->upload (m->tables, tables, n_tables * sizeof (Pointer)), "upload", error) &&
         check (d,
             d->upload (m->tables + n_tables * sizeof (Pointer), n_rows, n * sizeof (guint32)),
             "upload", error) &&
         check (d, d->upload (m->x, x, n_x * sizeof (double)), "upload", error);
}

static gboolean
run (NdtExprCuda *cuda, const Kernel *kernel, const NdtExprProgram *program, guint n,
    const NdtMinimizeParams *p, const Memory *m, double *x, double *hessians, NdtMinimum *minima,
    GError **error)
{
  const Driver *d = cuda->driver;
  NdtLmParams params = {.value_tolerance = p->value_tolerance,
      .step_tolerance = p->step_tolerance,
      .gradient_tolerance = p->gradient_tolerance,
      .first_radius = p->first_radius,
      .max_evaluations = (gint32)p->max_evaluations};
  Pointer columns = m->tables, x_at = m->x, hessians_at = m->hessians, results_at = m->results;
  Pointer n_rows = m->tables + (gsize)n * program->n_columns * sizeof (Pointer);
  guint n_problems = n;
  void *arguments[] = {&columns, &n_rows, &n_problems, &params, &x_at, &hessians_at, &results_at};
  g_autofree Result *results = g_new (Result, n);

  cuda->launches++;
  if (!check (d,
          d->launch (
              kernel->function, n, 1, 1, NDT_EXPR_CUDA_THREADS, 1, 1, 0, NULL, arguments, NULL),
          "launch", error) ||
      !check (d, d->synchronize (), "minimization", error) ||
      !check (d, d->download (results, m->results, n * sizeof *results), "download", error) ||
      !check (
          d, d->download (x, m->x, (gsize)n * program->n_stored * sizeof *x), "download", error) ||
      (hessians && !check (d,
                       d->download (hessians, m->hessians,
                           (gsize)n * NDT_PACKED_SIZE (program->n_tangents) * sizeof *hessians),
                       "download", error)))
    return FALSE;
  for (guint i = 0; i < n; i++)
    minima[i] = (NdtMinimum){results[i].value, (NdtDescentStop)results[i].stop,
        (guint)results[i].iterations, (guint)results[i].evaluations};
  return TRUE;
}

static double
seconds_since (gint64 *start)
{
  const gint64 before = *start;
  *start = g_get_monotonic_time ();
  return 1e-6 * (double)(*start - before);
}

gboolean
ndt_expr_cuda_minimize (NdtExprCuda *cuda, const NdtExprProgram *program, const NdtExprRows *rows,
    guint n_problems, const NdtMinimizeParams *params, double *x, double *hessians,
    NdtMinimum *minima, NdtExprCudaReport *report, GError **error)
{
  NdtExprCudaReport r = {0};
  Memory memory = {0};
  Context context;
  gint64 clock = g_get_monotonic_time ();
  gboolean ok = params->minimizer == NDT_MINIMIZER_LM && !params->scale && n_problems >= 1 &&
                n_problems <= G_MAXINT32 && params->first_radius > 0 &&
                params->max_evaluations >= 1 && params->max_evaluations <= G_MAXINT32;

  for (guint i = 0; ok && i < n_problems; i++)
    ok = rows[i].n_rows <= G_MAXUINT32;
  if (!ok) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "Minimization on a device: a parameter is out of range");
    return FALSE;
  }
  cuda->driver->push (cuda->context);
  const guint64 before = cuda->compilations;
  const Kernel *kernel = get_kernel (cuda, program, error);
  const double compile_s = seconds_since (&clock);
  r.compile_s = cuda->compilations > before ? compile_s : 0;
  ok = kernel && upload (cuda->driver, program, rows, n_problems, x, &memory, &r.uploaded, error);
  r.upload_s = seconds_since (&clock);
  ok = ok && run (cuda, kernel, program, n_problems, params, &memory, x, hessians, minima, error);
  r.run_s = seconds_since (&clock);
  free_memory (cuda->driver, &memory);
  cuda->driver->pop (&context);
  r.launches = cuda->launches;
  r.compilations = cuda->compilations;
  r.n_kernels = g_queue_get_length (&cuda->kernels);
  if (report)
    *report = r;
  return ok;
}
