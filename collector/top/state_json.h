// SPDX-License-Identifier: Apache-2.0
// The state of a job as JSON, for scripts (docs/top.md).
#ifndef ROLLCALL_COLLECTOR_TOP_STATE_JSON_H_
#define ROLLCALL_COLLECTOR_TOP_STATE_JSON_H_

#include <string>

#include "proto/collector.pb.h"

namespace rollcall::top {

std::string StateJson(const rpc::WatchState& state);

}  // namespace rollcall::top

#endif  // ROLLCALL_COLLECTOR_TOP_STATE_JSON_H_
