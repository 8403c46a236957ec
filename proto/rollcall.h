/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by which a program tells rollcall what it does, such as the test that it runs, and what
 * its buffers contain.
 *
 *   #include <rollcall/rollcall.h>
 *   rollcall_phase("tests/halo.c::exchange");
 *   rollcall_elements(gradient, sizeof(gradient), "float16");
 *   rollcall_replica("parameters", parameters, sizeof(parameters));
 *
 * The verdict on a hang then names the phase of each rank, and `--data` finds more. Nothing has to
 * be linked, except -ldl before glibc 2.34, where dlsym() is in libdl. Without librollcall.so in
 * the process, and on systems other than Linux, the calls do nothing. C89 and later, C++98 and
 * later; gcc and clang.
 *
 * The functions may be called by any thread, before MPI_Init, and after MPI_Finalize. They report
 * no errors. rollcall_phase() and rollcall_elements() are async-signal-safe, except for the first
 * call of each in a source file, which calls dlsym(). */
#ifndef ROLLCALL_ROLLCALL_H_
#define ROLLCALL_ROLLCALL_H_

#include <stddef.h>

#if defined(__linux__)
#include <dlfcn.h>

/* For the functions below: looks the function `name` up once, and keeps the result in two static
 * variables of the caller. Returns NULL if there is no such function. A weak reference would need
 * no dlsym(), but linkers resolve it to 0 in executables that are not position-independent. */
static __inline__ void* rollcall_find_(const char* name, int* searched, void** found) {
  if (!__atomic_load_n(searched, __ATOMIC_ACQUIRE)) {
    /* NULL is RTLD_DEFAULT, which dlfcn.h defines with _GNU_SOURCE only. */
    __atomic_store_n(found, dlsym(NULL, name), __ATOMIC_RELAXED);
    dlerror(); /* clears the error of a missing name */
    __atomic_store_n(searched, 1, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(found, __ATOMIC_RELAXED);
}
#endif

/* From now on the process is in the phase `text`. The text is UTF-8; its first 255 bytes are
 * copied. NULL or "" ends the phase. The text after a "; " is a remark: ranks whose texts are equal
 * up to the first "; " are in the same phase. A phase FILE::TEST is a test, which the JUnit report
 * names. A remark "before: TEXT" means that the process has failed in an earlier phase.
 *
 * All threads of the process share the text. If two threads call at the same moment, one of the
 * calls may be ignored. */
static __inline__ void rollcall_phase(const char* text) {
#if defined(__linux__)
  static int searched;
  static void* found;
  union {
    void* object;
    void (*function)(const char*);
  } phase;
  phase.object = rollcall_find_("rollcall_phase", &searched, &found);
  if (phase.object) phase.function(text);
#else
  (void)text;
#endif
}

/* From now on the `bytes` bytes at `buffer` are numbers of `type`: "float16", "bfloat16", "float32"
 * or "float64". This holds wherever the process passes the bytes to MPI as MPI_BYTE or by another
 * type that says nothing about their format. NaN and Inf in them are then found as in MPI's own
 * types. If there are several calls for one address, the last call counts. A `type` of NULL
 * withdraws the statement; make that call before the memory is used for other data. The type's name
 * is not kept. Does nothing without --data. */
static __inline__ void rollcall_elements(const void* buffer, size_t bytes, const char* type) {
#if defined(__linux__)
  static int searched;
  static void* found;
  union {
    void* object;
    void (*function)(const void*, size_t, const char*);
  } elements;
  elements.object = rollcall_find_("rollcall_elements", &searched, &found);
  if (elements.object) elements.function(buffer, bytes, type);
#else
  (void)buffer;
  (void)bytes;
  (void)type;
#endif
}

/* States that the `bytes` bytes at `buffer` are now equal on all ranks that make this call with
 * this `name`. The n-th call with a name on one rank is compared with the n-th calls with that name
 * on the others. The call reads the buffer and does not communicate. It keeps neither the address
 * of the buffer nor that of the name. The first 63 bytes of the name count. Does nothing without
 * --data. */
static __inline__ void rollcall_replica(const char* name, const void* buffer, size_t bytes) {
#if defined(__linux__)
  static int searched;
  static void* found;
  union {
    void* object;
    void (*function)(const char*, const void*, size_t);
  } replica;
  replica.object = rollcall_find_("rollcall_replica", &searched, &found);
  if (replica.object) replica.function(name, buffer, bytes);
#else
  (void)name;
  (void)buffer;
  (void)bytes;
#endif
}

#endif /* ROLLCALL_ROLLCALL_H_ */
