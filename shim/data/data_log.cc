// SPDX-License-Identifier: Apache-2.0
#include "shim/data/data_log.h"

#include <atomic>
#include <cstring>

#include "shim/process.h"
#include "shim/spin_lock.h"
#include "shim/thread_log.h"

namespace rollcall::shim::data {
namespace {

constinit SpinLock g_lock;
// Buffers that were not read, of members that had no entry: whether there were any, and their
// number since the last Claim().
std::atomic<bool> g_uncounted{false};
std::atomic<uint64_t> g_to_count{0};

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

// Adds a reason for unread buffers. False if the member has the reason already.
bool AddReason(ring::DataMember* member, ring::Unread why) {
  const auto bit = static_cast<uint32_t>(why);
  if ((LoadRelaxed(&member->unread_why) & bit) != 0) return false;
  __atomic_fetch_or(&member->unread_why, bit, __ATOMIC_RELAXED);
  return true;
}

// Returns the DataMember of a communicator. If the entry belonged to another communicator, its
// counts continue. If the earlier communicator had a NaN or an infinity, no later one is proven to
// be the first one of the process.
ring::DataMember* Claim(const Comm& comm) {
  ring::DataMember* member = MemberOf(comm);
  if (LoadRelaxed(&member->uid) == comm.uid) return member;
  ring::Section* section = g_process.Of(ring::SectionKind::kDataMembers);
  const auto place = static_cast<uint64_t>(
      member - g_process.Table<ring::DataMember>(ring::SectionKind::kDataMembers));
  const bool forgets = member->input.sequence != 0 || member->result.sequence != 0 ||
                       g_uncounted.load(std::memory_order_relaxed);
  ChangeUnderLock(&member->lock, [&] {
    constexpr size_t kKept = offsetof(ring::DataMember, input);
    memset(reinterpret_cast<char*>(member) + kKept, 0, offsetof(ring::DataMember, outside) - kKept);
    if (forgets && AddReason(member, ring::Unread::kEntryReused)) Increment(&member->unread);
    if (const uint64_t unread = g_to_count.exchange(0, std::memory_order_relaxed); unread != 0) {
      AddReason(member, ring::Unread::kAtOnce);
      __atomic_fetch_add(&member->unread, unread, __ATOMIC_RELAXED);
    }
    StoreRelaxed(&member->uid, comm.uid);
  });
  if (section->used <= place) StoreRelease(&section->used, place + 1);
  return member;
}

// Returns the DataMember in which the buffers of `comm` are counted; null if it is not claimed yet
// and another thread holds the log.
ring::DataMember* Counters(const Comm& comm) {
  ring::DataMember* member = MemberOf(comm);
  if (__builtin_expect(LoadRelaxed(&member->uid) == comm.uid, 1)) return member;
  if (const DataLog log; log.held()) return Claim(comm);
  g_to_count.fetch_add(1, std::memory_order_relaxed);
  g_uncounted.store(true, std::memory_order_relaxed);
  return nullptr;
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
  // Nonblocking calls complete in any order, so the smallest sequence number is kept. The starts of
  // a persistent collective all have the number of its initialization, so their numbers do not show
  // their order.
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

void CountRead(const Comm& comm) {
  if (ring::DataMember* member = Counters(comm)) Increment(&member->read);
}

void CountUnread(const Comm& comm, ring::Unread why) {
  ring::DataMember* member = Counters(comm);
  if (member == nullptr) return;
  AddReason(member, why);
  Increment(&member->unread);
}

void CountOutside(const Comm& comm) {
  ring::DataMember* member = Counters(comm);
  if (member == nullptr) return;
  Increment(&member->unread);
  Increment(&member->outside);
}

}  // namespace rollcall::shim::data
