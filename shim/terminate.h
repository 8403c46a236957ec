// C++'s std::terminate, seen where it ends: in abort().
#ifndef ROLLCALL_SHIM_TERMINATE_H_
#define ROLLCALL_SHIM_TERMINATE_H_

namespace rollcall::shim {

// Looks up what abort() will need: dlsym is not allowed where abort is. Called once by Start().
void PrepareForTerminate();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_TERMINATE_H_
