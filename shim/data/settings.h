// SPDX-License-Identifier: Apache-2.0
// The user's settings: which data is read (ROLLCALL_DATA and ROLLCALL_DATA_SCOPE).
#ifndef ROLLCALL_SHIM_DATA_SETTINGS_H_
#define ROLLCALL_SHIM_DATA_SETTINGS_H_

#include <cstdint>

#include "proto/operations.h"
#include "shim/comms.h"

namespace rollcall::shim::data {

// Reads the environment; true if data is to be read. Called once, before the ring exists.
bool ReadSettings();

// True if buffers are read whole; otherwise only some of their words are read.
bool ReadsAll();

// True if collectives of this rule on `comm` are in the scope.
bool IsInScope(Rule rule, const Comm& comm);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_SETTINGS_H_
