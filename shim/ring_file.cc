// SPDX-License-Identifier: Apache-2.0
#include "shim/ring_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "proto/run_directory.h"
#include "shim/nccl/marks.h"
#include "shim/platform.h"

namespace rollcall::shim {
namespace {

constexpr long kTmpfsMagic = 0x01021994;  // statfs(2)
constexpr long kRamfsMagic = 0x858458f6;

// The lowest number for the descriptor of a memory file, which stays open. Programs do not choose
// such numbers for dup2(2), and the number is below the usual limit.
constexpr int kKeptDescriptor = 900;

constexpr uint64_t kPage =
    4096;  // memory is registered with a device in whole pages of at least this size

uint64_t Align(uint64_t value, uint64_t to) { return (value + to - 1) & ~(to - 1); }

bool FitsFileSizeLimit(uint64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes;
}

// Opens a directory; fails unless it is this user's and only its owner can use it. In another
// directory, a symlink or file of another user could redirect our writes.
int OpenOwnDirectory(const char* path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_uid != geteuid() || (info.st_mode & 0077) != 0) {
    close(fd);
    errno = EACCES;
    return -1;
  }
  return fd;
}

// Returns the number of bytes that the rings in this directory already use. They are added to the
// free space, so that the budget does not shrink with each rank.
uint64_t BytesOfRings(int directory, uint64_t* files) {
  uint64_t total = 0;
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return 0;
  DIR* listing = fdopendir(copy);
  if (listing == nullptr) {
    close(copy);
    return 0;
  }
  while (dirent* entry = readdir(listing)) {
    struct stat info;
    if (fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    total += static_cast<uint64_t>(info.st_blocks) * 512;
    ++*files;
  }
  closedir(listing);
  return total;
}

uint64_t Budget(int directory, uint64_t ranks_on_node) {
  struct statfs fs;
  if (fstatfs(directory, &fs) != 0) return 0;
  if (fs.f_type != kTmpfsMagic && fs.f_type != kRamfsMagic) return 0;
  uint64_t files = 0;
  const uint64_t ours = BytesOfRings(directory, &files);
  const uint64_t free_bytes = static_cast<uint64_t>(fs.f_bavail) * fs.f_bsize + ours;
  uint64_t ranks = ranks_on_node;
  if (ranks == 0) {
    // The number of ranks is unknown: assume one per core, or one more than there are files.
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ranks = cores > 0 ? static_cast<uint64_t>(cores) : 1;
    if (ranks < files + 1) ranks = files + 1;
  }
  return free_bytes / kSharedMemoryShare / ranks;
}

ring::FileHeader* MapAndFill(int fd, const Layout& layout) {
  // The space is reserved here: a tmpfs that fills up later would kill the job with SIGBUS.
  if (fallocate(fd, 0, 0, static_cast<off_t>(layout.file_bytes)) != 0) return nullptr;
  void* map =
      mmap(nullptr, layout.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* header = static_cast<ring::FileHeader*>(map);
  header->byte_order = ring::kByteOrder;
  header->version_major = ring::kVersionMajor;
  header->version_minor = ring::kVersionMinor;
  header->header_bytes = sizeof(ring::FileHeader);
  header->file_bytes = layout.file_bytes;
  uint64_t offset = sizeof(ring::FileHeader);
  uint32_t count = 0;
  const auto add = [&](ring::SectionKind kind, uint32_t element, uint64_t capacity) {
    header->sections[count++] = {static_cast<uint32_t>(kind), element, offset, capacity, 0, 0};
    offset = Align(offset + element * capacity, 64);
  };
  add(ring::SectionKind::kThreads, sizeof(ring::ThreadEntry), layout.threads);
  add(ring::SectionKind::kMembers, sizeof(ring::Member), layout.members);
  add(ring::SectionKind::kOpenRequests, sizeof(ring::OpenRequest), layout.requests);
  add(ring::SectionKind::kChannels, sizeof(ring::Channel), layout.channels);
  add(ring::SectionKind::kPeerCounts, sizeof(ring::PeerCount), layout.peer_counts);
  add(ring::SectionKind::kGpuProgress, sizeof(ring::GpuProgress), layout.gpu_slots);
  add(ring::SectionKind::kModules, sizeof(ring::Module), layout.modules);
  add(ring::SectionKind::kDatatypes, sizeof(ring::Datatype), layout.datatypes);
  add(ring::SectionKind::kStrings, 1, layout.string_bytes);
  add(ring::SectionKind::kCallPaths, 8, layout.call_path_words);
  add(ring::SectionKind::kPythonCode, sizeof(ring::PythonCode), layout.python_codes);
  if (layout.data_records != 0) {
    add(ring::SectionKind::kData, sizeof(ring::DataRecord), layout.data_records);
    add(ring::SectionKind::kDataMembers, sizeof(ring::DataMember), layout.data_members);
  }
  add(ring::SectionKind::kValues, sizeof(ring::NamedValues), layout.values);
  add(ring::SectionKind::kRings, sizeof(ring::Record), layout.ring_slots);
  if (layout.marks != 0) {
    offset = Align(offset, kPage);
    add(ring::SectionKind::kMarks, sizeof(ring::Mark), layout.marks);
    header->sections[count - 1].used = layout.marks;
    offset = Align(offset, kPage);
  }
  header->section_count = count;
  return header;
}

// Connects to the agent of the run directory. Returns the descriptor, -1 on failure. Does not block
// or try again, so that an absent or slow agent does not delay the job.
int ConnectToAgent(const char* run_directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // First by its name in the file system, then by its name in the abstract namespace (after a NUL).
  for (size_t begin = 0; begin <= 1; ++begin) {
    const size_t room = sizeof(address.sun_path) - begin;
    const int length =
        snprintf(address.sun_path + begin, room, "%s/%s", run_directory, kAgentSocket);
    if (length < 0 || static_cast<size_t>(length) >= sizeof(address.sun_path) - 1) return -1;
    if (begin != 0) address.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + begin +
                                             static_cast<size_t>(length));
    ucred peer{};
    socklen_t peer_size = sizeof(peer);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 && peer.uid == geteuid()) {
      return fd;
    }
    close(fd);
  }
  return -1;
}

// Sends a hello to the agent, with `memfd` unless it is -1.
bool SendHello(const char* run_directory, const char* name, int memfd) {
  const int fd = ConnectToAgent(run_directory);
  if (fd < 0) return false;
  AgentHello hello{};
  memcpy(hello.magic, kAgentMagic, sizeof(hello.magic));
  hello.version = 1;
  hello.pid = static_cast<uint32_t>(getpid());
  snprintf(hello.ring_name, sizeof(hello.ring_name), "%s", name);
  iovec part{&hello, sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (memfd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &memfd, sizeof(int));
  }
  const bool sent =
      sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof(hello));
  close(fd);
  return sent;
}

// Creates a memory file that is named like the file that it replaces. Returns -1 on failure.
int CreateMemoryFile(const RingFileRequest& request) {
  char name[250];  // the longest that memfd_create(2) takes, and its NUL
  snprintf(name, sizeof(name), "%s/%s/%s", request.run_directory, kRingsDirectory,
           request.file_name);
  return static_cast<int>(syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */));
}

}  // namespace

Layout PlanLayout(uint64_t bytes, const RingContents& contents) {
  const bool python = contents.python;
  Layout layout;
  layout.file_bytes = bytes & ~uint64_t{4095};
  // Sizes are in units of 1/64 of the file. The tables get their space first, because they must not
  // lose entries. The rings get the rest.
  const uint64_t data_bytes = contents.data ? layout.file_bytes / 5 : 0;
  const uint64_t unit = (layout.file_bytes - data_bytes) / 64;
  layout.threads = bytes >= (2u << 20) ? 64 : 16;
  layout.members = 6 * unit / sizeof(ring::Member);
  layout.requests = 4 * unit / sizeof(ring::OpenRequest);
  layout.channels = 2 * unit / sizeof(ring::Channel);
  layout.peer_counts = layout.channels;  // each peer that has a channel has an element
  layout.gpu_slots = unit / 4 / sizeof(ring::GpuProgress);
  layout.modules = unit / 2 / sizeof(ring::Module);
  layout.datatypes = unit / 4 / sizeof(ring::Datatype);
  // With Python, these sections get as much as possible without making the rings of the default
  // file size shorter: the lengths of rings are powers of two.
  layout.string_bytes = python ? 5 * unit : 4 * unit;
  layout.call_path_words = 10 * unit / 8;
  layout.python_codes = (python ? 3 * unit / 4 : unit / 8) / sizeof(ring::PythonCode);
  layout.values = unit / 4 / sizeof(ring::NamedValues);
  layout.marks = contents.marks ? nccl::kMarkCells : 0;
  if (contents.data) {
    layout.data_members = layout.members;
    layout.data_records =
        (data_bytes - layout.data_members * sizeof(ring::DataMember)) / sizeof(ring::DataRecord);
  }
  const uint64_t before_rings =
      sizeof(ring::FileHeader) + layout.threads * sizeof(ring::ThreadEntry) +
      layout.members * sizeof(ring::Member) + layout.requests * sizeof(ring::OpenRequest) +
      layout.channels * sizeof(ring::Channel) + layout.peer_counts * sizeof(ring::PeerCount) +
      layout.gpu_slots * sizeof(ring::GpuProgress) + layout.modules * sizeof(ring::Module) +
      layout.datatypes * sizeof(ring::Datatype) + layout.string_bytes + layout.call_path_words * 8 +
      layout.python_codes * sizeof(ring::PythonCode) + layout.values * sizeof(ring::NamedValues) +
      64 * ring::kMaxSections + layout.data_members * sizeof(ring::DataMember) +
      layout.data_records * sizeof(ring::DataRecord) +
      (contents.marks ? layout.marks * sizeof(ring::Mark) + kPage : 0);
  layout.ring_slots = layout.file_bytes > before_rings
                          ? (layout.file_bytes - before_rings) / sizeof(ring::Record)
                          : 0;
  return layout;
}

RingFile CreateRingFile(const RingFileRequest& request) {
  RingFile file;
  uint64_t bytes =
      request.wanted_bytes < kSmallestFileBytes ? kSmallestFileBytes : request.wanted_bytes;
  if (request.contents.data) bytes += bytes / 4;
  if (!FitsFileSizeLimit(bytes)) {
    if (!FitsFileSizeLimit(kSmallestFileBytes)) {
      file.refused = "the file size limit (ulimit -f) is below 512 KiB";
      return file;
    }
    bytes = kSmallestFileBytes;
  }
  const int run = OpenOwnDirectory(request.run_directory);
  if (run < 0) {
    file.refused = "the run directory is missing, or not a directory that only its owner can use";
    if (errno != ENOENT) return file;
  }
  if (run >= 0 && mkdirat(run, kRingsDirectory, 0700) != 0 && errno != EEXIST) {
    file.refused = "the run directory is not writable";
  }
  const int rings =
      run < 0 ? -1 : openat(run, kRingsDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (rings >= 0) {
    const uint64_t budget = Budget(rings, request.ranks_on_node);
    if (budget >= kSmallestFileBytes) {
      file.layout = PlanLayout(bytes < budget ? bytes : budget, request.contents);
      const int fd = openat(rings, request.file_name,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (fd >= 0) {
        file.header = MapAndFill(fd, file.layout);
        if (file.header == nullptr) unlinkat(rings, request.file_name, 0);
        close(fd);
      }
    }
    close(rings);
  }
  if (run >= 0) close(run);
  if (file.header != nullptr) return file;

  const int memfd = CreateMemoryFile(request);
  if (memfd >= 0) {
    file.layout = PlanLayout(bytes, request.contents);
    file.header = MapAndFill(memfd, file.layout);
    if (file.header != nullptr && !SendHello(request.run_directory, request.file_name, memfd)) {
      munmap(file.header, file.layout.file_bytes);
      file.header = nullptr;
    }
    // The shim never uses this descriptor: other processes find the memory file by it. It fails if
    // the limit of descriptors is lower; then the program needs its descriptors itself.
    if (file.header != nullptr) fcntl(memfd, F_DUPFD_CLOEXEC, kKeptDescriptor);
    close(memfd);
  }
  if (file.header == nullptr && file.refused == nullptr) {
    file.refused = "no room in shared memory, and no agent to hand a memory file to";
  }
  return file;
}

void ReportRefused(const char* run_directory, const char* reason) {
  SendHello(run_directory, reason, -1);
}

void PublishRingFile(ring::FileHeader* header) {
  uint64_t magic;
  memcpy(&magic, ring::kMagic, sizeof(magic));
  StoreRelease(reinterpret_cast<uint64_t*>(header->magic), magic);
}

}  // namespace rollcall::shim
