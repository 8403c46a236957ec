// What begins and ends: MPI, sessions, communicators whose creation no counter numbers; and the
// bookkeeping of handles that are freed.
#include "shim/call.h"
#include "shim/call_paths.h"
#include "shim/datatypes.h"
#include "shim/process.h"

namespace rollcall::shim::calls {
namespace {

// Libraries between MPI_Init and MPI_Finalize, and sessions open: the last to go is the process'
// end of MPI.
uint32_t g_open = 0;

void Open() {
  __atomic_fetch_add(&g_open, 1, __ATOMIC_RELAXED);
  SetPhase(ring::Phase::kRunning);
}
void Close() {
  if (__atomic_sub_fetch(&g_open, 1, __ATOMIC_RELAXED) == 0) SetPhase(ring::Phase::kFinalized);
}

bool IsRecorded(Kind kind) {
  return kind != Kind::kFreeType && kind != Kind::kFreeOp && kind != Kind::kCreateOp &&
         kind != Kind::kNameComm && kind != Kind::kGetParent;
}

uint64_t HashText(const char* text) {
  uint64_t length = 0;
  while (text != nullptr && text[length] != '\0') ++length;
  return HashBytes(text, length, 11);
}

void FindHandle(Call* call, const Arguments& a) {
  const Library& library = *call->library;
  switch (call->info->kind) {
    case Kind::kFreeType:
      // Before and after: another thread may get the handle at once, and a delete callback may have
      // used the type. It is described anew when the handle comes again, freed or not.
      call->handle = library.Load(a.handle_inout);
      ForgetType(library, call->handle);
      break;
    case Kind::kFreeComm:
      call->comm = FindComm(library, library.Load(a.handle_inout));
      break;
    case Kind::kNameComm:
      call->comm = FindComm(library, a.window != 0 ? a.window : a.comm);
      break;
    case Kind::kAbort:
    case Kind::kCreateGroup:
      call->comm = FindComm(library, a.comm);
      break;
    default:
      break;
  }
}

void OpenSession(Call* call, const Arguments& a) {
  RegisterSession(call->library, call->library->Load(a.new_handle));
  Open();
}

// Without MPI_COMM_WORLD, the end of the last session is what MPI_Finalize is to others. A program
// may open another one afterwards: the phase stays as it is then, and the records show it.
void CloseSession(Call* call) {
  call->library->session = 0;
  Close();
}

}  // namespace

void BeginLifecycle(Call* call, const Arguments& a) {
  const Kind kind = call->info->kind;
  FindHandle(call, a);
  if (!IsRecorded(kind)) return;
  StartRecord(call);
  ring::Record& record = call->record;
  SetCallPath(&record, CurrentCallPath(call->frame));
  if (kind == Kind::kAbort) {
    record.detail = static_cast<uint32_t>(a.error_code);
    MarkExit(ring::ExitMark::kMpiAbort, a.error_code);
    StoreRelaxed(&g_process.header->exit_call_path, static_cast<uint64_t>(record.call_path));
  }
  if (kind == Kind::kCreateGroup) record.tag = a.tag;
  if (kind == Kind::kFinalize && LoadRelaxed(&g_open) <= 1) SetPhase(ring::Phase::kFinalizing);
  WriteRecord(call, ring::kCollectiveRing);
  if (kind == Kind::kFreeComm && call->comm != nullptr && g_process.multiple_threads) {
    ForgetComm(call->comm);
  }
}

void EndLifecycle(Call* call, const Arguments& a, int result) {
  Library* library = call->library;
  Comm* comm = call->comm;
  const Kind kind = call->info->kind;
  if (kind == Kind::kFreeComm && comm != nullptr) {
    if (result != 0 && g_process.multiple_threads) RestoreComm(comm);
    if (result == 0 && !g_process.multiple_threads) ForgetComm(comm);
  }
  if (kind == Kind::kFreeType) ForgetType(*library, call->handle);
  if (result != 0) return;
  Creation creation{.operation = call->info->operation, .parent = comm};
  switch (kind) {
    case Kind::kInit:
      RegisterWorld(library);
      Open();
      break;
    case Kind::kFinalize:
      Close();
      break;
    case Kind::kSessionInit:
      OpenSession(call, a);
      break;
    case Kind::kSessionFinalize:
      CloseSession(call);
      break;
    case Kind::kNameComm:
      if (comm != nullptr && a.name != nullptr) NameComm(comm, a.name);
      break;
    case Kind::kCreateGroup:
      creation.identity = Identity::kGroup;
      creation.tag = static_cast<uint64_t>(a.tag);
      RegisterComm(library, library->Load(a.new_comm), creation);
      break;
    case Kind::kCreateFromGroup:
    case Kind::kIntercommFromGroups:
      creation.identity = Identity::kFromGroup;
      creation.tag = HashText(a.name);
      RegisterComm(library, library->Load(a.new_comm), creation);
      break;
    case Kind::kJoin:
    case Kind::kGetParent: {
      const uint64_t handle = library->Load(a.new_comm);
      creation.identity = Identity::kUnshared;
      if (FindComm(*library, handle) == nullptr) RegisterComm(library, handle, creation);
      break;
    }
    default:
      break;
  }
}

}  // namespace rollcall::shim::calls
