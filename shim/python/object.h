// SPDX-License-Identifier: Apache-2.0
// Helpers for code that calls the interpreter's own functions. The calling thread holds the GIL.
#ifndef ROLLCALL_SHIM_PYTHON_OBJECT_H_
#define ROLLCALL_SHIM_PYTHON_OBJECT_H_

#include <cstdint>

#include "shim/python/interpreter.h"

namespace rollcall::shim::python {

// Owns a reference to a Python object.
class Object {
 public:
  explicit Object(void* object) : object_(object) {}
  ~Object() {
    if (object_ != nullptr) g_interpreter.api.DecRef(object_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* get() const { return object_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(object_); }

 private:
  void* object_;
};

// Saves and restores the thread's error indicator, and keeps the garbage collector from running.
class Quiet {
 public:
  Quiet() {
    const Api& api = g_interpreter.api;
    api.ErrorFetch(&type_, &value_, &trace_);
    if (api.GcDisable != nullptr && api.GcEnable != nullptr) was_enabled_ = api.GcDisable();
  }
  ~Quiet() {
    const Api& api = g_interpreter.api;
    if (was_enabled_ != 0) api.GcEnable();
    api.ErrorRestore(type_, value_, trace_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  void* type_ = nullptr;
  void* value_ = nullptr;
  void* trace_ = nullptr;
  int was_enabled_ = 0;
};

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_OBJECT_H_
