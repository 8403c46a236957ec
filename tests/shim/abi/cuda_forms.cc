// SPDX-License-Identifier: Apache-2.0
// Compares proto/cuda_forms.def with CUDA's headers: the names of the functions if each thread has
// its own default stream.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

namespace {

#define TEXT_OF(name) #name
#define NAME_OF(macro) TEXT_OF(macro)

int Compare(const char* ours, const char* theirs) {
  if (std::strcmp(ours, theirs) == 0) return 0;
  std::printf("%s here, %s in CUDA's headers\n", ours, theirs);
  return 1;
}

}  // namespace

int main() {
  int differences = 0;
#define CUDA_FORM(name, operation, ...) differences += Compare(#name, NAME_OF(operation));
#include "proto/cuda_forms.def"
#undef CUDA_FORM
  return differences == 0 ? 0 : 1;
}
