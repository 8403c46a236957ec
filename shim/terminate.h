// Detects C++'s std::terminate at its end, in abort().
#ifndef ROLLCALL_SHIM_TERMINATE_H_
#define ROLLCALL_SHIM_TERMINATE_H_

namespace rollcall::shim {

// Looks up what the wrapper of abort() needs: abort() may be called where dlsym must not be, such
// as in a signal handler. Called once by Start().
void PrepareForTerminate();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_TERMINATE_H_
