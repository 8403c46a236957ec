// Between the protocol's frames and ours.
#ifndef ROLLCALL_COLLECTOR_RPC_FRAMES_H_
#define ROLLCALL_COLLECTOR_RPC_FRAMES_H_

#include "collector/model/source_frame.h"
#include "proto/collector.pb.h"

namespace rollcall::rpc {

void ToRpc(const SourceFrame& frame, SymbolFrame* out);
// Values that this version does not know become the least that they could say.
SourceFrame FromRpc(const SymbolFrame& frame);

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_FRAMES_H_
