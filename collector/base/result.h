// SPDX-License-Identifier: Apache-2.0
// How a function returns a value, or says why there is none.
#ifndef ROLLCALL_COLLECTOR_BASE_RESULT_H_
#define ROLLCALL_COLLECTOR_BASE_RESULT_H_

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "collector/base/assert.h"

namespace rollcall {

// The reason, for people. A function may define that an empty text is no failure.
struct Error {
  std::string text;
};

// A value or an Error: return either of them. Of a Result<>, `return {};` is success. As
// thread-safe as T.
template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result() requires std::same_as<T, std::monostate> : value_(std::monostate()) {}
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error.text)) {}

  explicit operator bool() const { return value_.has_value(); }
  // Only if there is a value.
  T& operator*() {
    ROLLCALL_ASSERT(value_.has_value());
    return *value_;
  }
  const T& operator*() const { return const_cast<Result&>(*this).operator*(); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  // The value is moved out of a temporary result.
  T value_or(T other) && { return std::move(value_).value_or(std::move(other)); }
  // Empty if there is a value.
  const std::string& error() const { return error_; }

 private:
  std::optional<T> value_;
  std::string error_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_RESULT_H_
