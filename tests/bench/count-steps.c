/* SPDX-License-Identifier: MIT */
/* Counts the instructions of calls of one function, by single steps, whatever instruction set they
 * are of:
 *
 *   count-steps CALLS ENTRY BEGIN END PROGRAM [ARG...]
 *
 * ENTRY: of the function, in hexadecimal, in a program that is not relocated. Prints the number of
 * instructions from BEGIN up to END, which includes functions that it calls, of the first CALLS
 * calls. Linux on x86-64. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BREAKPOINT 0xccul /* int3 */

static pid_t child;

static long
trace (int request, unsigned long address, unsigned long data)
{
  errno = 0;
  const long result = ptrace (request, child, (void *)address, (void *)data);
  if (errno) {
    perror ("count-steps: ptrace");
    exit (2);
  }
  return result;
}

/* Returns 0 when the program has ended. */
static int
wait_for_stop (void)
{
  int status;
  if (waitpid (child, &status, 0) < 0 || (WIFEXITED (status) && WEXITSTATUS (status) != 0) ||
      WIFSIGNALED (status)) {
    fprintf (stderr, "count-steps: the program failed\n");
    exit (2);
  }
  return WIFSTOPPED (status);
}

int
main (int argc, char **argv)
{
  if (argc < 6) {
    fprintf (stderr, "count-steps CALLS ENTRY BEGIN END PROGRAM [ARG...]\n");
    return 2;
  }
  const unsigned long n_calls = strtoul (argv[1], NULL, 10);
  const unsigned long entry = strtoul (argv[2], NULL, 16), begin = strtoul (argv[3], NULL, 16),
                      end = strtoul (argv[4], NULL, 16);
  unsigned long n = 0;
  child = fork ();
  if (child == 0) {
    ptrace (PTRACE_TRACEME, 0, NULL, NULL);
    execv (argv[5], argv + 5);
    _exit (127);
  }
  wait_for_stop ();
  const unsigned long code = (unsigned long)trace (PTRACE_PEEKTEXT, entry, 0);
  trace (PTRACE_POKETEXT, entry, (code & ~0xfful) | BREAKPOINT);
  trace (PTRACE_CONT, 0, 0);
  for (unsigned long call = 0; call < n_calls; call++) {
    struct user_regs_struct regs;
    if (!wait_for_stop ()) {
      fprintf (stderr, "count-steps: %lu calls only\n", call);
      return 2;
    }
    trace (PTRACE_GETREGS, 0, (unsigned long)&regs);
    const unsigned long back = (unsigned long)trace (PTRACE_PEEKDATA, regs.rsp, 0);
    regs.rip = entry;
    trace (PTRACE_SETREGS, 0, (unsigned long)&regs);
    trace (PTRACE_POKETEXT, entry, code);
    while (regs.rip != back) {
      n += regs.rip >= begin && regs.rip < end;
      trace (PTRACE_SINGLESTEP, 0, 0);
      if (!wait_for_stop ())
        return 2;
      trace (PTRACE_GETREGS, 0, (unsigned long)&regs);
    }
    trace (PTRACE_POKETEXT, entry, (code & ~0xfful) | BREAKPOINT);
    trace (PTRACE_CONT, 0, 0);
  }
  kill (child, SIGKILL);
  printf ("%lu\n", n);
  return 0;
}
