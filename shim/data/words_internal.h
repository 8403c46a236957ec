// SPDX-License-Identifier: Apache-2.0
// The implementations of ReadWords(), so that tests and the benchmark can call each of them.
#ifndef ROLLCALL_SHIM_DATA_WORDS_INTERNAL_H_
#define ROLLCALL_SHIM_DATA_WORDS_INTERNAL_H_

#include <cstddef>

#include "shim/data/words.h"

namespace rollcall::shim {

struct WordsReader {
  const char* name;
  WordsRead (*read)(const void* data, size_t bytes, Scan scan);
  bool (*is_supported)();  // by this processor
};

// In ascending order of speed: ReadWords() uses the last one that is supported, and the first one
// for short buffers. The first two are supported everywhere.
struct WordsReaders {
  const WordsReader* first;
  size_t count;

  const WordsReader* begin() const { return first; }
  const WordsReader* end() const { return first + count; }
};
WordsReaders AllWordsReaders();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_DATA_WORDS_INTERNAL_H_
