/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by which a program tells rollcall what it does, such as the test that it runs, which
 * values decide its next step, and what its buffers contain.
 *
 *   #include <rollcall/rollcall.h>
 *   rollcall_phase("tests/halo.c::exchange");
 *   rollcall_value("batches", number_of_batches);
 *   rollcall_elements(gradient, sizeof(gradient), "float16");
 *   rollcall_replica("parameters", parameters, sizeof(parameters));
 *
 * The verdict on a hang then names the phase of each rank and the values that differ between the
 * ranks, and `--data` finds more. Nothing has to be linked, except -ldl before glibc 2.34, where
 * dlsym() is in libdl. Without librollcall.so in the process, and on systems other than Linux, the
 * calls do nothing. C89 and later, C++98 and later; gcc and clang.
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

/* Records the next value with this name. The last 8 values with each name are kept, also after the
 * process has ended. The n-th value with a name on one rank is compared with the n-th values with
 * that name on the others, and a verdict shows the first one that differs.
 *
 * `type` is one of ROLLCALL_VALUE_*. `value` points to the 8 bytes of a number or, for
 * ROLLCALL_VALUE_BYTES, to `bytes` bytes, of which only a hash is kept. The pointers are not kept.
 * The first 63 bytes of the name count. Does nothing before the process initialises MPI, NCCL or
 * torch.distributed. Not async-signal-safe. Use rollcall_value() and rollcall_value_bytes(). */
enum {
  ROLLCALL_VALUE_SIGNED = 1,   /* a 64-bit integer in two's complement */
  ROLLCALL_VALUE_UNSIGNED = 2, /* a 64-bit integer */
  ROLLCALL_VALUE_DOUBLE = 3,
  ROLLCALL_VALUE_BYTES = 4
};
static __inline__ void rollcall_value_of_(const char* name, int type, const void* value,
                                          size_t bytes) {
#if defined(__linux__)
  static int searched;
  static void* found;
  union {
    void* object;
    void (*function)(const char*, int, const void*, size_t);
  } record;
  record.object = rollcall_find_("rollcall_value", &searched, &found);
  if (record.object) record.function(name, type, value, bytes);
#else
  (void)name;
  (void)type;
  (void)value;
  (void)bytes;
#endif
}

/* Records a hash of `bytes` bytes at `data`: ranks are compared, and the bytes are not shown. */
static __inline__ void rollcall_value_bytes(const char* name, const void* data, size_t bytes) {
  rollcall_value_of_(name, ROLLCALL_VALUE_BYTES, data, bytes);
}

static __inline__ void rollcall_value_integer_(const char* name, int type, __UINT64_TYPE__ bits) {
  rollcall_value_of_(name, type, &bits, sizeof(bits));
}
static __inline__ void rollcall_value_double_(const char* name, double value) {
  rollcall_value_of_(name, ROLLCALL_VALUE_DOUBLE, &value, sizeof(value));
}

/* rollcall_value(name, value): `value` is a number, bool or enumerator, and is evaluated once. A
 * long double is rounded to a double. */
#if defined(__cplusplus)
extern "C++" { /* the header may be included inside extern "C" */
/* `number` is of the type to which integer promotion converts the value. */
template <typename Number>
inline void rollcall_value_number_(const char* name, Number number) {
  if (static_cast<Number>(0.5) > static_cast<Number>(0)) {
    rollcall_value_double_(name, static_cast<double>(number));
  } else {
    const bool is_signed = static_cast<Number>(-1) < static_cast<Number>(1);
    rollcall_value_integer_(name, is_signed ? ROLLCALL_VALUE_SIGNED : ROLLCALL_VALUE_UNSIGNED,
                            static_cast<__UINT64_TYPE__>(number));
  }
}
template <typename Value>
inline void rollcall_value(const char* name, Value value) {
  rollcall_value_number_(name, value + 0);
}
} /* extern "C++" */
#else
/* C has no overloads, and before C11 no _Generic. */
#define ROLLCALL_PROMOTED_(value) __typeof__((value) + 0)
#define ROLLCALL_IS_(value, type) __builtin_types_compatible_p(ROLLCALL_PROMOTED_(value), type)
#define rollcall_value(name, value)                                                              \
  __builtin_choose_expr(                                                                         \
      ROLLCALL_IS_(value, float) || ROLLCALL_IS_(value, double) ||                               \
          ROLLCALL_IS_(value, long double),                                                      \
      rollcall_value_double_((name), (double)(value)),                                           \
      rollcall_value_integer_(                                                                   \
          (name),                                                                                \
          (ROLLCALL_PROMOTED_(value)) - 1 < 1 ? ROLLCALL_VALUE_SIGNED : ROLLCALL_VALUE_UNSIGNED, \
          (__UINT64_TYPE__)(value)))
#endif

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
