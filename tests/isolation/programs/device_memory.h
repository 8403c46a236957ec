/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that only a device can read. */
#ifndef ROLLCALL_TESTS_ISOLATION_PROGRAMS_DEVICE_MEMORY_H_
#define ROLLCALL_TESTS_ISOLATION_PROGRAMS_DEVICE_MEMORY_H_

#define DEVICE_MEMORY 0x200000000000ull
#define DEVICE_BYTES 0x100000ull

static inline int IsOfDevice(const void* pointer) {
  return (unsigned long long)pointer - DEVICE_MEMORY < DEVICE_BYTES;
}

#endif
