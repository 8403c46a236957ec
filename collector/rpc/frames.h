// SPDX-License-Identifier: Apache-2.0
// Converts between the protocol's frames and SourceFrame.
#ifndef ROLLCALL_COLLECTOR_RPC_FRAMES_H_
#define ROLLCALL_COLLECTOR_RPC_FRAMES_H_

#include "collector/model/source_frame.h"
#include "proto/collector.pb.h"

namespace rollcall::rpc {

void ToRpc(const SourceFrame& frame, SymbolFrame* out);
// Unknown enum values become the least specific value: FrameDetail::kModule, Language::kNative.
SourceFrame FromRpc(const SymbolFrame& frame);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_FRAMES_H_
