// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/generate.h"

#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tests/oracle/loops/machine.h"
#include "tests/oracle/loops/writer.h"

namespace rollcall::oracle::loops {
namespace {

// Returns whether no rank waits for ever.
bool Completes(const Program& program, Library library) {
  const Machine machine(program);
  State state = machine.Start();
  machine.Run(library, machine.Plain(), std::numeric_limits<int64_t>::max(), &state);
  return machine.AllLeft(state);
}

}  // namespace

Generated Generate(FaultKind kind, Random* random) {
  for (;;) {
    Planter planter(random, kind);
    std::optional<Program> program = Writer(random, &planter).Write();
    if (!program) continue;
    const bool completes = Completes(*program, kSynchronous);
    if (kind != FaultKind::kNone) {
      if (completes) continue;
    } else if (!completes || !Completes(*program, kPermissive)) {
      throw std::logic_error("a program without a fault hangs\n" + Text(*program));
    }
    return {std::move(*program), planter.planted()};
  }
}

}  // namespace rollcall::oracle::loops
