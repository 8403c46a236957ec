// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/symbolizer.h"

#include <elfutils/libdwelf.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "collector/base/text.h"
#include "collector/symbolize/debug_files.h"
#include "collector/symbolize/dwarf_index.h"
#include "collector/symbolize/symbol_table.h"

namespace rollcall {
namespace {

constexpr size_t kMaxSymbolBytes = 1024;
constexpr std::string_view kDeleted = " (deleted)";  // the kernel's mark in /proc/<pid>/maps

struct DwarfDeleter {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using DwarfPtr = std::unique_ptr<Dwarf, DwarfDeleter>;

// An opened module. Without `file` it yields no symbols, and `note` contains the reason.
struct Module {
  std::string note;
  std::unique_ptr<ElfFile> file;
  std::unique_ptr<ElfFile> debug_file;
  std::unique_ptr<ElfFile> alt_file;
  DwarfPtr alt_dwarf;
  DwarfPtr dwarf;  // declared after the members that it refers to
  std::unique_ptr<DwarfIndex> index;
  SymbolTable symbols;
  bool fortran = false;
  uint64_t last_use = 0;
  std::unordered_map<uint64_t, std::vector<SourceFrame>> cache;  // by vaddr * 2 + is_return_address
};

// dwz moves shared parts into another file. libdw would open any file that the module names, so
// this function finds the file. Without the file, names and origins are missing, and the symbol
// table is used instead.
bool AttachAltFile(Module* module, const ElfFile& debug, const Symbolizer::Options& options) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(module->dwarf.get(), &name, &id);
  if (id_size == 0) return true;
  if (id_size < 0) return false;
  module->alt_file = FindAltFile(debug, name, ToHex(id, static_cast<size_t>(id_size)),
                                 options.debug_dirs, options.limits);
  if (module->alt_file == nullptr) return false;
  module->alt_dwarf.reset(dwarf_begin_elf(module->alt_file->elf(), DWARF_C_READ, nullptr));
  if (module->alt_dwarf == nullptr) return false;
  dwarf_setalt(module->dwarf.get(), module->alt_dwarf.get());
  return true;
}

void OpenModule(Module* module, const CodeAddress& address, const Symbolizer::Options& options) {
  std::string path = address.module_path;
  if (path.ends_with(kDeleted)) {
    // Another file may have this name now; only the build id distinguishes them.
    if (address.build_id.empty()) {
      module->note = "the file was deleted while it ran";
      return;
    }
    path.resize(path.size() - kDeleted.size());
  }
  if (!path.starts_with('/')) {
    // [vdso], an anonymous mapping, or a relative path that would depend on our own directory.
    module->note = path.empty() ? "code outside of every module" : "not a file";
    return;
  }
  auto opened = ElfFile::Open(options.root + path, options.limits);
  if (!opened) {
    module->note = "the file " + opened.error();
    return;
  }
  std::unique_ptr<ElfFile>& file = *opened;
  if (address.build_id.empty()) {
    module->note = "no build id was recorded: whether the file is the one that ran is unknown";
  } else if (file->build_id() != address.build_id) {
    module->note = "the file has changed since it was loaded (build id " +
                   (file->build_id().empty() ? "missing" : file->build_id().substr(0, 12)) +
                   ", was " + CleanText(address.build_id, 12 + 3) + ")";
    return;
  }

  const bool has_dwarf = file->HasSection(".debug_info");
  if (!has_dwarf) module->debug_file = FindDebugFile(*file, options.debug_dirs, options.limits);
  const ElfFile* debug = has_dwarf ? file.get() : module->debug_file.get();
  if (debug != nullptr && debug->HasSection(".debug_info")) {
    module->dwarf.reset(dwarf_begin_elf(debug->elf(), DWARF_C_READ, nullptr));
    if (module->dwarf != nullptr && AttachAltFile(module, *debug, options)) {
      module->index = std::make_unique<DwarfIndex>(module->dwarf.get());
    }
  }
  // The module's own .symtab is complete if present. If it was stripped, the debug file's .symtab
  // is complete.
  const bool stripped = !file->HasSection(".symtab") && module->debug_file != nullptr;
  module->symbols = SymbolTable(stripped ? module->debug_file->elf() : file->elf());
  if (module->symbols.empty()) module->symbols = SymbolTable(file->elf());
  for (const char* runtime : {"libgfortran.", "libflang", "libifcore.", "libFortranRuntime."}) {
    module->fortran = module->fortran || file->Needs(runtime);
  }
  if (!file->Unchanged()) {
    *module = Module();
    module->note = "the file changed while it was read";
    return;
  }
  module->file = std::move(file);
}

std::vector<SourceFrame> Resolve(Module* module, const CodeAddress& address, NameStyle style) {
  std::vector<SourceFrame> frames;
  SourceFrame base;
  base.module = CleanText(address.module_path, kMaxSymbolBytes);
  base.vaddr = address.vaddr;
  base.note = module->note;
  if (module->file == nullptr) return {base};

  const uint64_t lookup = address.vaddr - (address.is_return_address && address.vaddr > 0 ? 1 : 0);
  const SymbolTable::Match symbol = module->symbols.Find(lookup);
  const auto symbol_name = [&] {
    const std::string name =
        module->fortran ? FortranName(symbol.name) : Demangle(symbol.name, style);
    return CleanText(module->fortran ? Demangle(name, style) : name, kMaxSymbolBytes);
  };
  if (module->index != nullptr) {
    for (const DwarfFrame& found : module->index->Lookup(lookup, style)) {
      SourceFrame frame = base;
      frame.function = CleanText(found.function, kMaxSymbolBytes);
      // Local lambdas have their full names in the symbol table only.
      const bool better_symbol =
          frame.function.empty() ||
          (!found.qualified && std::string_view(symbol.name ? symbol.name : "").starts_with("_Z"));
      if (better_symbol && !found.inlined && symbol.name != nullptr) {
        frame.function = symbol_name();
      }
      frame.file = CleanText(found.file, kMaxSymbolBytes * 4);
      frame.line = std::max(found.line, 0);
      frame.inlined = found.inlined;
      frame.detail = FrameDetail::kSourceLine;
      frames.push_back(std::move(frame));
    }
  }
  if (!frames.empty()) return frames;
  if (symbol.name != nullptr) {
    base.function = symbol_name();
    base.symbol_offset = symbol.offset + (address.vaddr - lookup);
    base.detail = FrameDetail::kSymbol;
  } else if (base.note.empty()) {
    base.note = "the file has no symbol for this address";
  }
  return {base};
}

}  // namespace

class Symbolizer::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}

  std::vector<SourceFrame> Symbolize(const CodeAddress& address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Module& module = ModuleOf(address);
    module.last_use = ++uses_;
    // User code is never in the upper half of the address space; an address from there would share
    // its key with another one.
    const bool cacheable = address.vaddr >> 63 == 0;
    const uint64_t key = address.vaddr * 2 + (address.is_return_address ? 1 : 0);
    if (const auto hit = module.cache.find(key); cacheable && hit != module.cache.end()) {
      return hit->second;
    }
    std::vector<SourceFrame> frames = Resolve(&module, address, options_.name_style);
    if (!cacheable) return frames;
    if (++cached_addresses_ > options_.max_cached_addresses) {
      for (auto& [unused, other] : modules_) other.cache.clear();
      cached_addresses_ = 1;
    }
    module.cache.emplace(key, frames);
    return frames;
  }

  std::vector<std::vector<DwarfVariable>> VariablesAt(
      const CodeAddress& address, const std::vector<std::vector<std::string>>& asked) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Module& module = ModuleOf(address);
    if (module.file == nullptr || module.index == nullptr || address.vaddr == 0) return {};
    auto all = module.index->Variables(address.vaddr - (address.is_return_address ? 1 : 0), asked);
    for (auto& of_function : all) {
      for (DwarfVariable& variable : of_function) {
        variable.name = CleanText(variable.name, kMaxSymbolBytes);
        for (auto& [value, name] : variable.enumerators) name = CleanText(name, kMaxSymbolBytes);
      }
    }
    return all;
  }

  std::vector<Call> CallsOf(const CodeAddress& address, size_t most) {
    std::vector<DwarfCall> found;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const Module& module = ModuleOf(address);
      if (module.file == nullptr || module.index == nullptr || address.vaddr == 0) return {};
      found = module.index->Calls(address.vaddr - (address.is_return_address ? 1 : 0), most);
    }
    std::vector<Call> calls;
    for (DwarfCall& call : found) {
      CodeAddress place = address;
      place.vaddr = call.return_address;
      place.is_return_address = true;
      calls.push_back({CleanText(call.callee, kMaxSymbolBytes), Symbolize(place)});
    }
    return calls;
  }

 private:
  Module& ModuleOf(const CodeAddress& address) {
    const std::string key = address.build_id + '\0' + address.module_path;
    const auto [it, inserted] = modules_.try_emplace(key);
    Module* module = &it->second;
    if (!inserted) return *module;
    if (modules_.size() > options_.max_modules) {
      auto oldest = modules_.end();
      for (auto other = modules_.begin(); other != modules_.end(); ++other) {
        if (other != it &&
            (oldest == modules_.end() || other->second.last_use < oldest->second.last_use)) {
          oldest = other;
        }
      }
      if (oldest != modules_.end()) {
        cached_addresses_ -= std::min(cached_addresses_, oldest->second.cache.size());
        modules_.erase(oldest);
      }
    }
    OpenModule(module, address, options_);
    return *module;
  }

  const Options options_;
  std::mutex mutex_;
  std::unordered_map<std::string, Module> modules_;  // by build id and path
  uint64_t uses_ = 0;
  size_t cached_addresses_ = 0;
};

Symbolizer::Symbolizer(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Symbolizer::~Symbolizer() = default;

std::vector<SourceFrame> Symbolizer::Symbolize(const CodeAddress& address) {
  return impl_->Symbolize(address);
}
std::vector<std::vector<DwarfVariable>> Symbolizer::VariablesAt(
    const CodeAddress& address, const std::vector<std::vector<std::string>>& asked) {
  return impl_->VariablesAt(address, asked);
}
std::vector<Symbolizer::Call> Symbolizer::CallsOf(const CodeAddress& address, size_t most) {
  return impl_->CallsOf(address, most);
}

}  // namespace rollcall
