#include "shim/data/data_log.h"

#include <atomic>
#include <cstring>

#include "shim/process.h"
#include "shim/spin_lock.h"
#include "shim/thread_log.h"

namespace rollcall::shim::data {
namespace {

constinit SpinLock g_lock;
std::atomic<bool> g_uncounted{false};  // a buffer of a member without a place was not read

template <typename Record>
void AppendToRing(const Record& record) {
  ring::Section* section = g_process.Of(ring::SectionKind::kData);
  if (section->capacity == 0) return;
  const uint64_t index = section->used;
  auto* slots = g_process.Table<Record>(ring::SectionKind::kData);
  PublishRecord(slots + index % section->capacity, record, 2 * index + 2);
  StoreRelease(&section->used, index + 1);
}

ring::DataMember* MemberOf(const Comm& comm) {
  const auto index = comm.entry - g_process.Table<ring::Member>(ring::SectionKind::kMembers);
  return g_process.Table<ring::DataMember>(ring::SectionKind::kDataMembers) + index;
}

// The member of a communicator, whose place may have belonged to another one. If that had a NaN or
// an infinity, or unread buffers, then this one counts as not completely read: nothing is proven
// to be the first one of the process any more.
ring::DataMember* Claim(const Comm& comm) {
  ring::DataMember* member = MemberOf(comm);
  if (LoadRelaxed(&member->uid) == comm.uid) return member;
  ring::Section* section = g_process.Of(ring::SectionKind::kDataMembers);
  const auto place = static_cast<uint64_t>(
      member - g_process.Table<ring::DataMember>(ring::SectionKind::kDataMembers));
  const bool forgets =
      member->unread != 0 || member->input.sequence != 0 || member->result.sequence != 0;
  ChangeUnderLock(&member->lock, [&] {
    memset(reinterpret_cast<char*>(member) + sizeof(member->lock), 0,
           sizeof(*member) - sizeof(member->lock));
    if (forgets || g_uncounted.load(std::memory_order_relaxed)) member->unread = 1;
    StoreRelaxed(&member->uid, comm.uid);
  });
  if (section->used <= place) StoreRelease(&section->used, place + 1);
  return member;
}

}  // namespace

DataLog::DataLog() : held_(g_lock.TryLock()) {}

DataLog::~DataLog() {
  if (held_) g_lock.Unlock();
}

void DataLog::Append(const ring::DataRecord& record) { AppendToRing(record); }
void DataLog::Append(const ring::DataBlocks& blocks) { AppendToRing(blocks); }

void DataLog::KeepFirst(const Comm& comm, bool input, const ring::NonFinite& found) {
  ring::DataMember* member = Claim(comm);
  ring::NonFinite* first = input ? &member->input : &member->result;
  // Nonblocking calls complete in any order. The starts of persistent ones have the number of the
  // initialization, which says nothing about their order.
  const bool ordered = first->start == 0 && found.start == 0;
  if (first->sequence != 0 && (!ordered || first->sequence <= found.sequence)) return;
  ChangeUnderLock(&member->lock, [&] { *first = found; });
}

void DataLog::AddResult(Comm* comm, uint64_t call, uint64_t hash) {
  ring::DataMember* member = Claim(*comm);
  Comm::Results& results = comm->results;
  results.hash += Mix64(call, hash);
  ++results.count;
  if (results.pending != 0 || results.unknown) return;
  for (uint32_t k = 0; k < ring::kDataCheckpoints; ++k) {
    if ((results.count & ((uint64_t{1} << 2 * k) - 1)) != 0) break;
    ring::DataCheckpoint* checkpoint = &member->recent[k];
    StoreRelaxed(&checkpoint->results, uint64_t{0});
    std::atomic_thread_fence(std::memory_order_release);
    StoreRelaxed(&checkpoint->hash, results.hash);
    StoreRelease(&checkpoint->results, results.count);
  }
}

void CountRead(const Comm& comm, bool read) {
  ring::DataMember* member = MemberOf(comm);
  if (LoadRelaxed(&member->uid) != comm.uid) {
    const DataLog log;
    if (!log.held()) {
      g_uncounted.store(true, std::memory_order_relaxed);
      return;
    }
    Claim(comm);
  }
  Increment(read ? &member->read : &member->unread);
}

}  // namespace rollcall::shim::data
