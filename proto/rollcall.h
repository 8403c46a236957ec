/* Tells rollcall what a process does: the test that it runs, the step of a solver.
 *
 *   #include <rollcall/rollcall.h>
 *   rollcall_phase("tests/halo.c::exchange");
 *
 * The verdict on a hang then says which ranks were in which phase. Nothing has to be linked; before
 * glibc 2.34, dlsym() is in libdl (-ldl). Without librollcall.so in the process, or on another
 * system than Linux, the call does nothing. C89 and later, C++98 and later; gcc and clang. */
#ifndef ROLLCALL_ROLLCALL_H_
#define ROLLCALL_ROLLCALL_H_

#if defined(__linux__)
#include <dlfcn.h>
#include <stddef.h>
#endif

/* From now on the process is in the phase `text`: UTF-8, of which the first 255 bytes are copied.
 * NULL or "" ends the phase. What follows a "; " are remarks: ranks whose texts are equal up to
 * there are in the same phase. A phase FILE::TEST is a test, which the JUnit report names. A remark
 * "before: TEXT" says that the process has failed in an earlier phase.
 *
 * Any thread; the text is the process'. Of calls at the same moment, one may be ignored. May be
 * called before MPI_Init and after MPI_Finalize. Async-signal-safe except for the first call in
 * each source file, which calls dlsym(). Reports no errors. */
static __inline__ void rollcall_phase(const char* text) {
#if defined(__linux__)
  /* A weak reference would need no dlsym(), but linkers resolve it to 0 in executables that are not
   * position-independent. */
  static int searched;
  static void* found;
  union {
    void* object;
    void (*function)(const char*);
  } phase;
  if (!__atomic_load_n(&searched, __ATOMIC_ACQUIRE)) {
    /* NULL is RTLD_DEFAULT, which dlfcn.h defines with _GNU_SOURCE only. */
    __atomic_store_n(&found, dlsym(NULL, "rollcall_phase"), __ATOMIC_RELAXED);
    dlerror(); /* clears the error of a missing name */
    __atomic_store_n(&searched, 1, __ATOMIC_RELEASE);
  }
  phase.object = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (phase.object) phase.function(text);
#else
  (void)text;
#endif
}

#endif /* ROLLCALL_ROLLCALL_H_ */
