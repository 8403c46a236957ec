// SPDX-License-Identifier: Apache-2.0
// A small ring file like that of a rank, which the test changes step by step.
#ifndef ROLLCALL_TESTS_SUPPORT_FAKE_RING_H_
#define ROLLCALL_TESTS_SUPPORT_FAKE_RING_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::agent {

class FakeRing {
 public:
  static constexpr uint64_t kThreadsAt = 4096;
  static constexpr uint64_t kMembersAt = kThreadsAt + 2 * sizeof(ring::ThreadEntry);
  static constexpr uint64_t kEnd = 8192;
  static_assert(kMembersAt + sizeof(ring::Member) <= kEnd);

  // In a file, or in memory if `path` is empty; `memory_name` is the name of that file.
  FakeRing(const std::string& path, pid_t pid, uint64_t start_ticks, int32_t rank, int32_t size,
           const std::string& memory_name = "ring") {
    fd_ = path.empty() ? memfd_create(memory_name.c_str(), MFD_CLOEXEC)
                       : open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    header_ = {};
    memcpy(header_.magic, ring::kMagic, sizeof(ring::kMagic));
    header_.byte_order = ring::kByteOrder;
    header_.version_major = ring::kVersionMajor;
    header_.version_minor = ring::kVersionMinor;
    header_.header_bytes = sizeof(header_);
    header_.section_count = 2;
    header_.file_bytes = kEnd;
    header_.process_id_random[0] = static_cast<uint64_t>(pid) * 1000 + static_cast<uint64_t>(rank);
    header_.process_id_random[1] = 1;
    header_.pid = static_cast<uint32_t>(pid);
    header_.process_start_ticks = start_ticks;
    header_.job_key = 42;
    header_.world_rank = rank;
    header_.world_size = size;
    header_.thread_level = 0;
    header_.phase = static_cast<uint64_t>(ring::Phase::kRunning);
    strcpy(header_.host, "here");
    header_.sections[0] = {static_cast<uint32_t>(ring::SectionKind::kThreads),
                           sizeof(ring::ThreadEntry),
                           kThreadsAt,
                           2,
                           1,
                           0};
    header_.sections[1] = {static_cast<uint32_t>(ring::SectionKind::kMembers),
                           sizeof(ring::Member),
                           kMembersAt,
                           1,
                           1,
                           0};
    thread_ = {};
    thread_.tid = header_.pid;
    thread_.state = static_cast<uint32_t>(ring::ThreadState::kLive);
    thread_.flags = 1;
    member_ = {};
    member_.uid = 1;
    member_.state = static_cast<uint32_t>(ring::MemberState::kLive);
    member_.key = 77;
    member_.flags = ring::kIsWorld;
    member_.rank = rank;
    member_.size = size;
    if (ftruncate(fd_, kEnd) != 0) abort();
    Write();
  }
  ~FakeRing() { close(fd_); }
  // Marks the ring as that of a process in another pid namespace than the reader's.
  void SetPidNamespace(uint64_t inode) {
    header_.pid_namespace = inode;
    Write();
  }
  FakeRing(const FakeRing&) = delete;
  FakeRing& operator=(const FakeRing&) = delete;

  // Enters collective number entered+1 and stays in it.
  void Enter(Operation operation, uint64_t semantic_hash) {
    ++thread_.ring_head[0];
    thread_.depth = 1;
    ++member_.entered;
    ring::Record& record = thread_.open[0].record;
    record.lock = 2 * thread_.ring_head[0];
    record.operation = static_cast<uint16_t>(operation);
    record.member = 1;
    record.sequence = member_.entered;
    member_.recent[0] = {member_.entered, semantic_hash, 0};
    Write();
  }
  void Return() {
    ++thread_.calls_ended;
    thread_.depth = 0;
    thread_.open[0].record.operation = 0;
    ++member_.completed;
    Write();
  }
  void Poll() {
    ++thread_.polls;
    Write();
  }
  void SetPhase(ring::Phase phase) {
    header_.phase = static_cast<uint64_t>(phase);
    Write();
  }
  ring::FileHeader& header() { return header_; }
  void Write() {
    Put(&header_, sizeof(header_), 0);
    Put(&thread_, sizeof(thread_), kThreadsAt);
    Put(&member_, sizeof(member_), kMembersAt);
  }
  int fd() const { return fd_; }

 private:
  void Put(const void* bytes, size_t size, uint64_t offset) {
    if (pwrite(fd_, bytes, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) abort();
  }

  int fd_;
  ring::FileHeader header_;
  ring::ThreadEntry thread_;
  ring::Member member_;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_TESTS_SUPPORT_FAKE_RING_H_
