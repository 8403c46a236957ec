// SPDX-License-Identifier: Apache-2.0
// rollcall top: shows a running job, from the data of its collector.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/result.h"
#include "collector/launch/collector_file.h"
#include "collector/launch/run_root.h"
#include "collector/rpc/secret.h"
#include "collector/service/grpc_server.h"
#include "collector/top/client.h"
#include "collector/top/layout.h"
#include "collector/top/state_json.h"
#include "proto/environment.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

constexpr size_t kDefaultWidth = 120;  // of --once
constexpr size_t kOnceHeight = 200;
constexpr size_t kMostInput = 64;

// The collector of a running job. `target`: a run directory, HOST:PORT, or empty for this user's
// newest run.
Result<CollectorAccess> FindCollector(const std::string& target) {
  std::error_code error;
  if (target.empty()) {
    const std::string root = RunRoot::UsablePath(kSharedMemory).path;
    for (const RunRoot::Old& run : RunRoot::List(root)) {
      if (!run.in_use) continue;
      if (auto access = ReadCollectorFile(run.path)) return *access;
    }
    return Error{fmt::format(
        "no `rollcall run` is running below {}; name its --dir, or HOST:PORT of a collector",
        root)};
  }
  if (std::filesystem::is_directory(target, error)) {
    auto access = ReadCollectorFile(target);
    if (!access) return Error{fmt::format("no `rollcall run` is running in {}", target)};
    return *access;
  }
  CollectorAccess access{.address = target, .token = rpc::GivenToken()};
  if (access.token.empty()) {
    return Error{fmt::format("{} is not set: the collector's token", env::kToken)};
  }
  return access;
}

// Prints one state.
int ShowOnce(top::Client* client, bool json) {
  for (;;) {
    pollfd entry{client->fd(), POLLIN, 0};
    poll(&entry, 1, -1);
    const top::News news = client->Take();
    if (news.state && json) {
      fmt::print("{}", top::StateJson(*news.state));
    } else if (news.state) {
      auto lines = top::Layout(*news.state, {.message = " "}, kDefaultWidth, kOnceHeight);
      while (!lines.empty() && lines.back().text.find_first_not_of(' ') == std::string::npos) {
        lines.pop_back();
      }
      for (const top::Line& line : lines) fmt::print("{}\n", line.text);
    } else if (!news.failure.empty()) {
      PrintLine(news.failure);
      return kUsage;
    } else {
      continue;
    }
    return 0;
  }
}

// The screen and its keys.
class Screen {
 public:
  Screen(top::Client* client, Terminal* terminal, int signals)
      : client_(client), terminal_(terminal), signals_(signals) {}

  // Returns the exit code. `last_words`: a line to print when the terminal has been given back.
  int Run(std::string* last_words) {
    while (!exit_) {
      terminal_->Draw(top::Layout(state_, Shown(), terminal_->width(), terminal_->height()));
      pollfd entries[] = {
          {STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}, {client_->fd(), POLLIN, 0}};
      poll(entries, 3, -1);
      if (entries[1].revents != 0) OnSignal();
      if (entries[2].revents != 0) OnNews(client_->Take(), last_words);
      if (entries[0].revents != 0) OnKeys();
      if ((entries[0].revents & (POLLHUP | POLLERR)) != 0) exit_ = 0;  // the terminal is gone
    }
    return *exit_;
  }

 private:
  enum class Prompt { kNone, kFilter, kRank };

  top::View Shown() const {
    top::View view = view_;
    if (prompt_ == Prompt::kFilter) view.message = "communicator: " + input_ + "_";
    if (prompt_ == Prompt::kRank) view.message = "calls of rank: " + input_ + "_";
    return view;
  }

  void OnSignal() {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) return;
    if (info.ssi_signo == SIGWINCH) {
      terminal_->Resize();
    } else if (info.ssi_signo == SIGTSTP) {
      terminal_->Suspend();
    } else {
      exit_ = 128 + static_cast<int>(info.ssi_signo);
    }
  }

  void OnNews(top::News news, std::string* last_words) {
    if (news.answer) {
      view_.text = top::TextLines(*news.answer);
      view_.scrolled = 0;
      view_.message.clear();
    }
    if (news.state) {
      state_ = std::move(*news.state);
      Choose(view_.selected);
    }
    if (!state_.end().empty()) {
      *last_words = state_.end();
      exit_ = 0;
    } else if (!news.failure.empty()) {
      *last_words = news.failure;
      exit_ = kUsage;
    }
  }

  void OnKeys() {
    for (int key; (key = terminal_->Take()) != static_cast<int>(Key::kNone);) {
      if (prompt_ != Prompt::kNone) {
        OnInput(key);
      } else if (key == 'q') {
        exit_ = 0;
      } else if (!view_.text.empty()) {
        OnTextKey(key);
      } else {
        OnTableKey(key);
      }
    }
  }

  void OnInput(int key) {
    if (key == static_cast<int>(Key::kEscape)) {
      prompt_ = Prompt::kNone;
    } else if (key == static_cast<int>(Key::kErase)) {
      if (!input_.empty()) input_.pop_back();
    } else if (key == static_cast<int>(Key::kEnter)) {
      if (std::exchange(prompt_, Prompt::kNone) == Prompt::kFilter) {
        view_.filter = input_;
        Choose(0);
      } else if (!input_.empty() && state_.classes_size() > 0) {
        Ask(rpc::Question::CALLS, state_.classes(0).job_key(), std::atoi(input_.c_str()));
      }
    } else if (key >= ' ' && key < 0x7F && input_.size() < kMostInput) {
      if (prompt_ == Prompt::kFilter || (key >= '0' && key <= '9')) {
        input_ += static_cast<char>(key);
      }
    }
  }

  void OnTextKey(int key) {
    const size_t page = terminal_->height();
    const size_t most = view_.text.size() - 1;
    if (key == static_cast<int>(Key::kEscape)) view_.text.clear();
    if (key == static_cast<int>(Key::kUp)) view_.scrolled -= std::min<size_t>(1, view_.scrolled);
    if (key == static_cast<int>(Key::kPageUp)) view_.scrolled -= std::min(page, view_.scrolled);
    if (key == static_cast<int>(Key::kDown)) view_.scrolled = std::min(view_.scrolled + 1, most);
    if (key == static_cast<int>(Key::kPageDown)) {
      view_.scrolled = std::min(view_.scrolled + page, most);
    }
  }

  void OnTableKey(int key) {
    switch (key) {
      case 's':
        view_.sort = static_cast<top::Sort>((static_cast<int>(view_.sort) + 1) % top::kSorts);
        break;
      case '/':
        Begin(Prompt::kFilter);
        break;
      case 'r':
        Begin(Prompt::kRank);
        break;
      case 'd':
        Ask(rpc::Question::DIAGNOSE, 0, 0);
        break;
      case 't':
        AskChosen(rpc::Question::STACKS);
        break;
      case static_cast<int>(Key::kEnter):
        AskChosen(rpc::Question::CALLS);
        break;
      case static_cast<int>(Key::kUp):
        if (view_.selected > 0) --view_.selected;
        break;
      case static_cast<int>(Key::kDown):
        Choose(view_.selected + 1);
        break;
      default:
        break;
    }
  }

  void Begin(Prompt prompt) {
    prompt_ = prompt;
    input_.clear();
  }

  // Selects that row of the classes, or the last one.
  void Choose(size_t row) {
    const size_t rows = top::ShownClasses(state_, view_).size();
    view_.selected = rows == 0 ? 0 : std::min(row, rows - 1);
  }

  void AskChosen(rpc::Question::What what) {
    const std::vector<int> shown = top::ShownClasses(state_, view_);
    if (view_.selected >= shown.size()) return;
    const rpc::RankClass& chosen = state_.classes(shown[view_.selected]);
    Ask(what, chosen.job_key(), chosen.first_rank());
  }

  void Ask(rpc::Question::What what, uint64_t job_key, int32_t rank) {
    rpc::Question question;
    question.set_what(what);
    question.set_job_key(job_key);
    question.set_rank(rank);
    if (client_->Ask(question)) view_.message = "asking the collector ...";
  }

  top::Client* const client_;
  Terminal* const terminal_;
  const int signals_;
  rpc::WatchState state_;
  top::View view_;
  Prompt prompt_ = Prompt::kNone;
  std::string input_;
  std::optional<int> exit_;
};

// Blocks the signals that the screen reads from the descriptor, before any other thread exists. A
// signal that ended the process at once would not restore the terminal.
UniqueFd TakeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

}  // namespace

int RunTop(int argc, char** argv) {
  ArgumentParser parser(
      "Shows what the ranks of a running job do, twice a second, from what its collector has "
      "(docs/top.md).",
      "rollcall top");
  std::string target;
  bool once = false;
  bool json = false;
  parser.Add("RUN", &target,
             "the directory of a `rollcall run` (default: this user's newest), or HOST:PORT of a "
             "collector, with its token in ROLLCALL_TOKEN");
  parser.Add("--once", &once, "print one state and exit; needs no terminal");
  parser.Add("--json", &json, "with --once: as JSON", {.needs = "--once"});
  parser.SetFooter("Exit codes: 0 shown, or the job ended; 2 usage, or no collector.");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  const Result<CollectorAccess> access = FindCollector(target);
  if (!access) {
    PrintLine(access.error());
    return kUsage;
  }
  service::SilenceGrpc();
  if (once) return ShowOnce(top::Connect(access->address, access->token).get(), json);
  const UniqueFd signals = TakeSignals();
  const auto client = top::Connect(access->address, access->token);
  auto terminal = Terminal::Open();
  if (!terminal) {
    PrintLine(terminal.error());
    return kUsage;
  }
  std::string last_words;
  const int code = Screen(client.get(), terminal->get(), signals.get()).Run(&last_words);
  terminal->reset();
  if (!last_words.empty()) PrintLine(last_words);
  return code;
}

}  // namespace rollcall
