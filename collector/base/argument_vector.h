// SPDX-License-Identifier: Apache-2.0
// A program's arguments, or its environment, as execve(2) and posix_spawn(3) take them.
#ifndef ROLLCALL_COLLECTOR_BASE_ARGUMENT_VECTOR_H_
#define ROLLCALL_COLLECTOR_BASE_ARGUMENT_VECTOR_H_

#include <string>
#include <vector>

namespace rollcall {

// Pointers into `words`, which must outlive them unchanged, followed by a null pointer. The
// functions modify neither the pointers nor the words (POSIX.1-2017, exec).
inline std::vector<char*> ArgumentVector(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_ARGUMENT_VECTOR_H_
