#include "collector/import/run_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "collector/base/clock.h"
#include "collector/import/byte_source.h"
#include "collector/import/file_kind.h"
#include "collector/import/journal.h"
#include "collector/import/read_ahead.h"
#include "collector/import/ring_reader.h"
#include "collector/import/walk_directory.h"
#include "collector/symbolize/elf_file.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxRingBytes = uint64_t{1}
                                   << 40;  // a ring is read in part, a journal to a limit

class RealMachine : public Machine {
 public:
  std::string Hostname() override {
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) != 0) return {};
    return name;
  }

  uint64_t StartTicks(uint32_t pid) override {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) return 0;
    // The name, in parentheses, may hold anything; field 3 follows the last one (proc(5)).
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::string_view rest = std::string_view(line).substr(name_end + 1);
    std::string_view field;
    for (int number = 3; number <= 22; ++number) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      field = rest.substr(0, rest.find(' '));
      if (number == 3 && (field == "Z" || field == "X")) return 0;  // dead, not yet waited for
      rest.remove_prefix(field.size());
    }
    uint64_t ticks = 0;
    std::from_chars(field.data(), field.data() + field.size(), ticks);
    return ticks;
  }

  int64_t NowNs() override { return Now(CLOCK_REALTIME); }

  void Wait(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }
};

// One file's content, as far as it is a trace.
struct FoundFile {
  std::string path;
  std::string error;  // why it could not be read
  std::optional<RingSnapshot> ring;
  std::optional<Journal> journal;
  bool is_bundle = false;

  bool IsTrace() const { return !error.empty() || ring || journal || is_bundle; }
};

// Safe from several threads.
FoundFile ReadFile(const std::string& path, bool asked_for) {
  FoundFile found;
  found.path = path;
  FileStamp stamp;
  const UniqueFd fd = OpenRegularFile(path, kMaxRingBytes, &stamp, &found.error);
  if (!fd) return found;
  FileSource source(fd.get());
  switch (KindOfFile(source, path, asked_for)) {
    case FileKind::kRing:
      found.ring = ReadRing(source, path);
      break;
    case FileKind::kJournal:
      found.journal = ReadJournal(source, path);
      break;
    case FileKind::kBundle:
      found.is_bundle = true;
      break;
    case FileKind::kOther:
      if (asked_for) {
        found.error = source.Size() == 0 ? "the file is empty"
                                         : "neither a rollcall ring, nor a journal, nor a bundle";
      }
  }
  return found;
}

class Loader {
 public:
  Loader(const LoadOptions& options, Machine* machine)
      : options_(options), machine_(*machine), host_(machine->Hostname()) {}

  Trace Load(const std::vector<std::string>& inputs) {
    for (const std::string& input : inputs) ListInput(input);
    ReadAhead<FoundFile> files(files_.size(), ReadingThreads(), [this](size_t index) {
      return ReadFile(files_[index].path, files_[index].asked_for);
    });
    for (const File& file : files_) {
      FoundFile found = files.Next();
      if (file.directory != kNoDirectory && found.IsTrace()) {
        directories_[file.directory].has_traces = true;
      }
      Take(std::move(found));
    }
    for (const Directory& directory : directories_) {
      if (!directory.has_traces) Complain(directory.path, kNoTraces);
    }
    // What lies there as it is comes before a picture of it that was taken earlier.
    for (const std::string& path : bundles_) AddBundle(path);
    LookAgain();
    for (const Journal& journal : journals_) ApplyJournal(journal, &builder_);
    return builder_.Finish();
  }

 private:
  static constexpr size_t kNoDirectory = ~size_t{0};

  struct Directory {
    std::string path;
    bool has_traces = false;
  };
  struct File {
    std::string path;
    size_t directory = kNoDirectory;  // of the inputs, that it lies in
    bool asked_for = false;           // it is an input itself
  };
  // A process that was alive at the first look.
  struct Live {
    std::string path;
    uint32_t process;
    uint64_t ring_id;
    uint64_t start_ticks;
  };

  void Complain(const std::string& source, std::string message) {
    builder_.trace()->problems.push_back({source, -1, std::move(message)});
  }

  void ListInput(const std::string& input) {
    std::error_code error;
    if (!fs::is_directory(fs::status(input, error))) {
      files_.push_back({input, kNoDirectory, /*asked_for=*/true});
      return;
    }
    const size_t index = directories_.size();
    directories_.push_back({input});
    WalkDirectory(
        input,
        [this, index](const std::string& file, const auto&) {
          files_.push_back({file, index});
        },
        [this](const std::string& directory, const std::string& why) { Complain(directory, why); });
  }

  void Take(FoundFile found) {
    if (!found.error.empty()) Complain(found.path, found.error);
    if (found.journal) journals_.push_back(std::move(*found.journal));
    if (found.ring) AddRing(found.path, std::move(*found.ring));
    if (found.is_bundle) bundles_.push_back(std::move(found.path));
  }

  void AddBundle(const std::string& path) {
    FileStamp stamp;
    std::string error;
    const UniqueFd fd = OpenRegularFile(path, kMaxRingBytes, &stamp, &error);
    if (!fd) return Complain(path, error);
    FileSource source(fd.get());
    size_t known = 0;
    bundle::ReadBundle(
        source, path,
        [&](bundle::Member member) {
          const std::string name = path + ": " + member.name;
          AddMember(name, std::move(member), &known);
        },
        [this](Problem problem) { builder_.trace()->problems.push_back(std::move(problem)); });
    if (known == 0) return;
    Complain(path, fmt::format("{} of its processes are there already: left out", known));
  }

  // What this machine has to say of processes is of no use: what the other one saw of them is in
  // the bundle.
  void AddMember(const std::string& name, bundle::Member member, size_t* known) {
    MemorySource source(member.bytes);
    switch (KindOfFile(source, member.name, /*asked_for=*/false)) {
      case FileKind::kRing: {
        const RingSnapshot snapshot = ReadRing(source, name);
        const bool is_there =
            snapshot.usable && builder_.FindProcess(RingId(snapshot.header)).has_value();
        *known += is_there ? 1 : 0;
        if (!is_there) builder_.Add(snapshot);
        break;
      }
      case FileKind::kJournal:
        journals_.push_back(ReadJournal(source, name));
        break;
      default:
        if (options_.on_member) options_.on_member(name, std::move(member));
    }
  }

  void AddRing(const std::string& path, RingSnapshot snapshot) {
    const bool on_this_host = snapshot.usable && !host_.empty() && host_ == snapshot.header.host;
    const uint64_t start = on_this_host ? machine_.StartTicks(snapshot.header.pid) : 0;
    const bool alive = start != 0 && start == snapshot.header.process_start_ticks;
    if (alive) snapshot.taken_at_ns = machine_.NowNs();
    const std::optional<uint32_t> index = builder_.Add(snapshot);
    if (!index || !on_this_host) return;
    ProcessEnd& end = builder_.trace()->processes[*index].end;
    end.how = alive ? ProcessEnd::How::kAlive : ProcessEnd::How::kVanished;
    if (alive) live_.push_back({path, *index, RingId(snapshot.header), start});
  }

  // The second look, begun after the first one has ended for all.
  void LookAgain() {
    if (live_.empty()) return;
    machine_.Wait(options_.settle);
    for (const Live& live : live_) {
      std::string error;
      FileStamp stamp;
      const UniqueFd fd = OpenRegularFile(live.path, kMaxRingBytes, &stamp, &error);
      if (!fd) continue;
      FileSource source(fd.get());
      const RingSnapshot now = ReadRing(source, live.path, ImageDepth::kState);
      Process& process = builder_.trace()->processes[live.process];
      process.quiet = now.usable && !now.moved && RingId(now.header) == live.ring_id &&
                      now.activity == builder_.Activity(live.process) &&
                      machine_.StartTicks(process.pid) == live.start_ticks;
      std::unordered_map<uint32_t, uint64_t> polls;
      for (const RingThread& thread : now.threads) polls[thread.state.tid] = thread.state.polls;
      for (Thread& thread : process.threads) {
        const auto later = polls.find(thread.tid);
        if (later != polls.end() && later->second > thread.polls) thread.polling = true;
      }
    }
  }

  const LoadOptions& options_;
  Machine& machine_;
  const std::string host_;
  std::vector<Directory> directories_;
  std::vector<File> files_;
  RingTraceBuilder builder_;
  std::vector<std::string> bundles_;
  std::vector<Journal> journals_;
  std::vector<Live> live_;
};

}  // namespace

Machine& ThisMachine() {
  static RealMachine machine;
  return machine;
}

Trace LoadTrace(const std::vector<std::string>& inputs, const LoadOptions& options,
                Machine& machine) {
  return Loader(options, &machine).Load(inputs);
}

}  // namespace rollcall
