// SPDX-License-Identifier: Apache-2.0
// Sends, receives, blocking probes, and other calls that may wait for particular processes: passive
// and general active target synchronisation, requests on windows and files, MPI_Buffer_detach.
#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/channels.h"
#include "shim/datatypes.h"

namespace rollcall::shim::calls {
namespace {

// The direction of the data.
struct Direction {
  bool sends;
  bool receives;
};
Direction DirectionOf(const OperationInfo& info, bool has_second_part) {
  const bool persistent_receive =
      info.operation == Operation::kRecv_init || info.operation == Operation::kPrecv_init;
  switch (info.kind) {
    case Kind::kSend:
      return {true, false};
    case Kind::kIsend:  // also Isendrecv
      return {true, has_second_part};
    case Kind::kSendrecv:
      return {true, true};
    case Kind::kRecv:
    case Kind::kIrecv:
    case Kind::kMrecv:
    case Kind::kImrecv:
      return {false, true};
    case Kind::kPersistentP2p:
      return {!persistent_receive, persistent_receive};
    default:
      return {false, false};
  }
}

// True if the call itself counts as a send. Persistent sends are counted when they are started.
bool CountsSend(const Call& call, const Direction& way) {
  return way.sends && call.counts && call.info->kind != Kind::kPersistentP2p;
}

// The source of a receive; for a Sendrecv, it is in the second part.
struct Source {
  int32_t peer;
  int32_t tag;
};
Source SourceOf(const ring::Record& record) {
  if ((record.flags & ring::kSecondPart) == 0) return {record.root_or_peer, record.tag};
  return {static_cast<int32_t>(record.detail2 >> 32), static_cast<int32_t>(record.detail2)};
}

bool IsWild(const Source& source) {
  return source.peer == ring::kAnySource || source.tag == ring::kAnyTag;
}

// Data sent to or received from MPI_PROC_NULL is not described: it may have any type, even none.
void FillData(Call* call, const Arguments& a, const Direction& way, const Source& source) {
  ring::Record& record = call->record;
  if (way.sends && a.has_send_type && record.root_or_peer != ring::kProcNullPeer) {
    DescribeSide(call->log->sides, call->library, a.send_count, a.send_type).SetSend(&record);
  }
  if (way.receives && a.has_recv_type && source.peer != ring::kProcNullPeer) {
    DescribeSide(call->log->sides, call->library, a.recv_count, a.recv_type).SetRecv(&record);
  }
}

Source SeenSource(const Call& call, const Arguments& a, Source source) {
  if (const void* status = StatusOf(call, a)) {
    if (source.peer == ring::kAnySource)
      source.peer = Peer(call.library->abi, call.library->StatusSource(status));
    if (source.tag == ring::kAnyTag) source.tag = call.library->StatusTag(status);
  }
  return source;
}

}  // namespace

static void Before(Group<CallGroup::kP2p>, Call* call, Arguments* arguments) {
  const Arguments& a = *arguments;
  const Abi& abi = call->library->abi;
  const Kind kind = call->info->kind;
  const bool matched = kind == Kind::kMrecv || kind == Kind::kImrecv;
  bool unknown = false;
  if (matched) {
    call->message = TakeMessage(*call->library, call->library->Load(a.message));
    call->comm = call->message.comm;
  } else if (kind != Kind::kBlock) {
    call->comm = kind == Kind::kFileRequest
                     ? FindFile(a.file)
                     : FindComm(*call->library, kind == Kind::kWindowSync ? a.window : a.comm);
    unknown = call->comm == nullptr;
  }
  StartRecord(call);
  ring::Record& record = call->record;
  if (unknown) MarkUnknownComm(call, a);
  if (matched) {
    record.root_or_peer = call->message.peer;
    record.tag = call->message.tag;
  } else if (a.has_peer) {
    record.root_or_peer = Peer(abi, a.root_or_peer);
    if (kind != Kind::kWindowSync) record.tag = Tag(abi, a.tag);
  }
  if (record.root_or_peer == ring::kProcNullPeer) record.flags |= ring::kProcNull;
  if (a.has_peer2) {
    record.flags |= ring::kSecondPart;
    record.detail2 = static_cast<uint64_t>(static_cast<uint32_t>(Peer(abi, a.peer2))) << 32 |
                     static_cast<uint32_t>(Tag(abi, a.tag2));
  }
  if (kind == Kind::kPersistentP2p) record.detail2 = static_cast<uint32_t>(a.key);  // partitions
  const Direction way = DirectionOf(*call->info, a.has_peer2);
  const Source source = SourceOf(record);
  FillData(call, a, way, source);
  SetCallPath(&record, CurrentCallPath(call->frame));
  if (a.request != nullptr) record.request = NextRequestUid();
  if (CountsSend(*call, way)) {
    record.detail = CountSent(call->comm, record.root_or_peer, record.tag);
  }
  // Only the status contains the sender. The status of a nonblocking receive comes with its wait.
  const bool waits = a.request == nullptr && (way.receives || kind == Kind::kProbe);
  if (waits && IsWild(source)) WantStatus(call, arguments);
  WriteRecord(call, ring::kP2pRing);
}

static void After(Group<CallGroup::kP2p>, Call* call, const Arguments& a, int result) {
  Library* library = call->library;
  const Kind kind = call->info->kind;
  const Direction way = DirectionOf(*call->info, a.has_peer2);
  const Source source = SourceOf(call->record);
  if (__builtin_expect(result != 0, 0) && WasRejected(*call, result)) {
    if (CountsSend(*call, way)) {
      UncountSent(call->comm, call->record.root_or_peer, call->record.tag);
    }
    return;
  }
  if (a.request != nullptr) {
    if (result != 0) return;
    RequestKind request{.persistent = kind == Kind::kPersistentP2p};
    request.sends = way.sends && call->counts;
    request.receives = way.receives && call->counts;
    request.peer = source.peer;
    request.tag = source.tag;
    AddRequest(library, library->Load(a.request), call->record, call->comm, request);
    return;
  }
  if (way.receives && call->counts) {
    const Source seen = SeenSource(*call, a, source);
    if (result == 0) {
      CountReceived(call->comm, seen.peer, seen.tag);
    } else {
      MarkReceivesUnseen(call->comm, source.peer, source.tag);
    }
  }
  if (kind == Kind::kProbe && a.message != nullptr && result == 0) {
    const Source seen = SeenSource(*call, a, source);
    StoreMessage(*library, library->Load(a.message), {call->comm, seen.peer, seen.tag});
  }
}

}  // namespace rollcall::shim::calls

template void rollcall::shim::Begin<rollcall::CallGroup::kP2p>(Call*, Arguments*);
template void rollcall::shim::End<rollcall::CallGroup::kP2p>(Call*, const Arguments&, int);
