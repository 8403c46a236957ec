// SPDX-License-Identifier: Apache-2.0
#include "shim/members.h"

#include <cstdlib>

#include "shim/comms.h"
#include "shim/platform.h"

namespace rollcall::shim {
namespace {

// A group handle that is freed when it goes out of scope.
class OwnGroup {
 public:
  explicit OwnGroup(const Library& library) : library_(library) {}
  ~OwnGroup() {
    if (held_) library_.query.Group_free(&word_);
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  bool OfComm(uint64_t comm, bool remote) {
    const auto get = remote ? library_.query.Comm_remote_group : library_.query.Comm_group;
    held_ = get != nullptr && library_.query.Group_free != nullptr && get(comm, &word_) == 0;
    return held_;
  }

  bool OfWorld() {
    if (library_.world != nullptr) return OfComm(library_.world->handle, false);
    held_ = library_.session != 0 && library_.query.Group_from_session_pset != nullptr &&
            library_.query.Group_free != nullptr &&
            library_.query.Group_from_session_pset(library_.session, "mpi://WORLD", &word_) == 0;
    return held_;
  }

  Word handle() const { return library_.Load(&word_); }

 private:
  const Library& library_;
  alignas(8) uint64_t word_ = 0;
  bool held_ = false;
};

}  // namespace

Members::~Members() { free(world); }

void FindMembers(const Library& library, uint64_t comm, bool remote, Members* out) {
  const Queries& query = library.query;
  if (query.Group_translate_ranks == nullptr || query.Group_size == nullptr) return;
  OwnGroup group(library), world(library);
  int size = 0;
  if (!group.OfComm(comm, remote) || !world.OfWorld()) return;
  if (query.Group_size(group.handle(), &size) != 0 || size <= 0) return;
  int* ranks = static_cast<int*>(malloc(2 * sizeof(int) * static_cast<size_t>(size)));
  if (ranks == nullptr) return;
  for (int i = 0; i < size; ++i) ranks[size + i] = i;
  if (query.Group_translate_ranks(group.handle(), size, ranks + size, world.handle(), ranks) != 0) {
    free(ranks);
    return;
  }
  out->world = ranks;
  out->size = size;
  out->known = true;
  for (int i = 0; i < size; ++i) {
    if (ranks[i] >= 0) continue;
    ranks[i] = -1;  // MPI_UNDEFINED
    out->known = false;
  }
  out->hash = HashBytes(ranks, sizeof(int) * static_cast<uint64_t>(size), 7);
}

bool FindWorldOfSession(const Library& library, int* rank, int* size) {
  OwnGroup world(library);
  return library.query.Group_rank != nullptr && library.query.Group_size != nullptr &&
         world.OfWorld() && library.query.Group_rank(world.handle(), rank) == 0 &&
         library.query.Group_size(world.handle(), size) == 0;
}

}  // namespace rollcall::shim
