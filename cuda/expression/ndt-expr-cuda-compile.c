/* SPDX-License-Identifier: MIT */
#include "ndt-expr-cuda-compile.h"

#include <dlfcn.h>

#include "ndtcore/base/ndt-error.h"

/* What is used of nvrtc.h, whose functions have been the same since CUDA 11.1. */
typedef struct _nvrtcProgram *Program;
typedef struct {
  int (*create) (Program *program, const char *source, const char *name, int n_headers,
      const char *const *headers, const char *const *names);
  int (*destroy) (Program *program);
  int (*compile) (Program program, int n_options, const char *const *options);
  int (*get_cubin_size) (Program program, size_t *size);
  int (*get_cubin) (Program program, char *cubin);
  int (*get_log_size) (Program program, size_t *size);
  int (*get_log) (Program program, char *text);
  const char *(*get_error) (int result);
} Nvrtc;

/* The headers of the C library that the project's include. */
static const char math_header[] = "#define INFINITY __longlong_as_double (0x7ff0000000000000LL)\n"
                                  "#define NAN __longlong_as_double (0x7ff8000000000000LL)\n";
static const char stdint_header[] = "typedef signed char int8_t;\n"
                                    "typedef short int16_t;\n"
                                    "typedef int int32_t;\n"
                                    "typedef long long int64_t;\n"
                                    "typedef unsigned char uint8_t;\n"
                                    "typedef unsigned short uint16_t;\n"
                                    "typedef unsigned int uint32_t;\n"
                                    "typedef unsigned long long uint64_t;\n"
                                    "#define UINT64_C(x) x##ULL\n"
                                    "#define UINT64_MAX (~0ULL)\n";

static gpointer
open_library (gpointer unused)
{
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
      "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};
  void *library = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names) && !library; i++)
    library = dlopen (names[i], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return NULL;
  static Nvrtc nvrtc;
  const struct {
    void *function;
    const char *name;
  } functions[] = {{&nvrtc.create, "nvrtcCreateProgram"}, {&nvrtc.destroy, "nvrtcDestroyProgram"},
      {&nvrtc.compile, "nvrtcCompileProgram"}, {&nvrtc.get_cubin_size, "nvrtcGetCUBINSize"},
      {&nvrtc.get_cubin, "nvrtcGetCUBIN"}, {&nvrtc.get_log_size, "nvrtcGetProgramLogSize"},
      {&nvrtc.get_log, "nvrtcGetProgramLog"}, {&nvrtc.get_error, "nvrtcGetErrorString"}};
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++) {
    *(void **)functions[i].function = dlsym (library, functions[i].name);
    if (!*(void **)functions[i].function)
      return NULL;
  }
  return &nvrtc;
}

static const Nvrtc *
get_nvrtc (GError **error)
{
  static GOnce once = G_ONCE_INIT;
  const Nvrtc *nvrtc = g_once (&once, open_library, NULL);
  if (!nvrtc)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
        "libnvrtc.so, which compiles residuals for a device, is not installed (CUDA's run-time "
        "compiler): they are evaluated by the CPU");
  return nvrtc;
}

static void
set_failure (const Nvrtc *nvrtc, Program program, int result, GError **error)
{
  size_t size = 0;
  g_autofree char *text = NULL;
  if (program && nvrtc->get_log_size (program, &size) == 0 && size > 0) {
    text = g_malloc0 (size + 1);
    nvrtc->get_log (program, text);
  }
  g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED, "NVRTC does not compile residuals: %s: %s",
      nvrtc->get_error (result), text ? text : "no log");
}

GBytes *
ndt_expr_cuda_compile (const gchar *source, guint architecture, GError **error)
{
  const Nvrtc *nvrtc = get_nvrtc (error);
  g_autofree gchar *target = g_strdup_printf ("--gpu-architecture=sm_%u", architecture);
  const char *const options[] = {target, "--std=c++17"};
  const char *texts[16] = {math_header, stdint_header}, *names[16] = {"math.h", "stdint.h"};
  int n_headers = 2, result;
  Program program = NULL;
  GBytes *cubin = NULL;
  size_t size = 0;

  if (!nvrtc)
    return NULL;
  for (const NdtExprCudaHeader *header = ndt_expr_cuda_headers; header->name; header++) {
    g_assert (n_headers < (int)G_N_ELEMENTS (names));
    names[n_headers] = header->name;
    texts[n_headers++] = header->text;
  }
  result = nvrtc->create (&program, source, "residuals.cu", n_headers, texts, names);
  if (result == 0)
    result = nvrtc->compile (program, (int)G_N_ELEMENTS (options), options);
  if (result == 0)
    result = nvrtc->get_cubin_size (program, &size);
  if (result == 0) {
    char *data = g_malloc (size);
    result = nvrtc->get_cubin (program, data);
    cubin = g_bytes_new_take (data, size);
  }
  if (result != 0) {
    g_clear_pointer (&cubin, g_bytes_unref);
    set_failure (nvrtc, program, result, error);
  }
  if (program)
    nvrtc->destroy (&program);
  return cubin;
}
