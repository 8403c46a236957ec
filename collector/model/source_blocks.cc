// SPDX-License-Identifier: Apache-2.0
#include "collector/model/source_blocks.h"

namespace rollcall {

bool AreExclusive(const SourceBlock& a, const SourceBlock& b) {
  if (a.kind != SourceBlock::Kind::kArm || b.kind != SourceBlock::Kind::kArm) return false;
  if (a.branch == b.branch) return a.first != b.first;
  if (a.subject.empty() || a.subject != b.subject) return false;
  if (a.equal && b.equal) return a.value != b.value;
  return a.equal != b.equal && a.value == b.value;
}

const SourceBlock* InnermostBlock(const std::vector<SourceBlock>& blocks, SourceBlock::Kind kind,
                                  int line, int other) {
  const SourceBlock* innermost = nullptr;
  for (const SourceBlock& block : blocks) {
    const bool around = block.kind == kind && block.Holds(line) && !block.Holds(other);
    if (around && (innermost == nullptr || innermost->Holds(block.first))) innermost = &block;
  }
  return innermost;
}

const SourceFlow* FunctionAround(const std::vector<SourceFlow>& flow, int line) {
  const SourceFlow* innermost = nullptr;
  for (const SourceFlow& one : flow) {
    const bool around = one.kind == SourceFlow::Kind::kFunction && one.Holds(line);
    if (around && (innermost == nullptr || innermost->Holds(one.first))) innermost = &one;
  }
  return innermost;
}

}  // namespace rollcall
