// SPDX-License-Identifier: Apache-2.0
// Records an uncaught C++ exception: std::terminate ends in abort(), which is wrapped.
#ifndef ROLLCALL_SHIM_TERMINATE_H_
#define ROLLCALL_SHIM_TERMINATE_H_

namespace rollcall::shim {

// Looks up the functions that the wrapper of abort() needs, because abort() may be called where
// dlsym must not be called, such as in a signal handler. Called once by Start().
void PrepareForTerminate();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_TERMINATE_H_
