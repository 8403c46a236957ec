// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_variables.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collector/symbolize/dwarf_entries.h"
#include "collector/symbolize/dwarf_types.h"

namespace rollcall::dwarf {
namespace {

// A variable that can be named in a function.
struct Visible {
  std::string name;
  Dwarf_Die die;
  std::optional<Dwarf_Word> line = {};  // of the declaration
  bool local = true;                    // false: of the file
};

// Appends the variables of a scope, then those of the blocks in it that hold `vaddr`. A variable
// that is declared at `line` or later has no value yet.
void CollectVisible(Dwarf_Die scope, uint64_t vaddr, int line, int depth,
                    std::vector<Visible>* found) {
  constexpr size_t kMaxVariables = 512;
  Dwarf_Die child;
  for (int more = dwarf_child(&scope, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) continue;
    if (found->size() == kMaxVariables) return;
    const char* name = NameOf(&child);
    Dwarf_Attribute attribute;
    const bool artificial = dwarf_attr_integrate(&child, DW_AT_artificial, &attribute) != nullptr;
    if (name == nullptr || (artificial && std::strcmp(name, "this") != 0)) continue;
    Visible visible{.name = name, .die = child};
    Dwarf_Word number = 0;
    if (dwarf_formudata(dwarf_attr_integrate(&child, DW_AT_decl_line, &attribute), &number) == 0) {
      visible.line = number;
    }
    if (tag == DW_TAG_variable && line > 0 && visible.line &&
        *visible.line >= static_cast<Dwarf_Word>(line)) {
      continue;
    }
    found->push_back(std::move(visible));
  }
  for (int more = dwarf_child(&scope, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (dwarf_tag(&child) == DW_TAG_lexical_block && depth < kMaxScopeDepth &&
        dwarf_haspc(&child, vaddr) == 1) {
      CollectVisible(child, vaddr, line, depth + 1, found);
    }
  }
}

// The names that a function declares, in any of its blocks, whether the code is there or not.
class LocalNames {
 public:
  // Adds those of a function, and of its origin, which has blocks without code, too.
  void Add(Dwarf_Die function) {
    AddScope(function, 0);
    Dwarf_Die origin = OriginOf(function);
    if (origin.addr != function.addr) AddScope(origin, 0);
  }

  // False: there are too many declarations.
  bool Complete() const { return budget_ >= 0; }
  bool Has(std::string_view name) const { return declared_.contains(name); }
  // Whether several variables have the name.
  bool IsAmbiguous(std::string_view name) const {
    const auto found = declared_.find(name);
    return found != declared_.end() && found->second.size() > 1;
  }
  // Whether all names of a module or of a namespace are visible in the function.
  bool Imports() const { return imports_; }

 private:
  void AddScope(Dwarf_Die scope, int depth) {
    Dwarf_Die child;
    for (int more = dwarf_child(&scope, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--budget_ < 0) return;
      AddName(&child);
      switch (dwarf_tag(&child)) {
        case DW_TAG_imported_module:
          imports_ = true;
          break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_common_block:
        case DW_TAG_enumeration_type:
          if (depth < kMaxScopeDepth) AddScope(child, depth + 1);
          break;
        default:
          break;
      }
    }
  }

  void AddName(Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    Dwarf_Die named = *child;
    if (tag == DW_TAG_imported_declaration) FollowReference(DW_AT_import, &named);
    for (Dwarf_Die* die : {child, &named}) {
      const char* name = NameOf(die);
      if (name == nullptr) continue;
      auto& variables = declared_[name];
      if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
        variables.insert(OriginOf(*child).addr);
      }
    }
  }

  int budget_ = 1 << 16;
  bool imports_ = false;
  std::map<std::string, std::set<void*>, std::less<>> declared_;
};

// Describes what is visible at one code address of a function.
class Describer {
 public:
  // `level`: the function that was inlined into `function`, or `function` itself.
  Describer(Dwarf_Die* function, Dwarf_Die* level, uint64_t vaddr, std::vector<Visible> visible)
      : function_(function), level_(level), vaddr_(vaddr), visible_(std::move(visible)) {
    names_.Add(*level);
    // The values of several variables with one name would be compared with each other.
    std::erase_if(visible_, [&](const Visible& one) { return names_.IsAmbiguous(one.name); });
  }

  std::vector<DwarfVariable> All(const std::vector<std::string>& asked) {
    std::vector<DwarfVariable> all;
    if (!names_.Complete()) return all;
    for (Visible& one : visible_) {
      if (one.name == "this") continue;
      const bool is_asked = std::ranges::find(asked, one.name) != asked.end();
      if (auto variable = Describe(&one, {}, is_asked)) all.push_back(std::move(*variable));
    }
    for (const std::string& path : asked) {
      if (std::ranges::find(all, path, &DwarfVariable::name) != all.end()) continue;
      if (auto variable = Resolve(path)) {
        variable->name = path;
        all.push_back(std::move(*variable));
      }
    }
    return all;
  }

 private:
  struct Step {
    std::string_view name;
    bool arrow = false;  // the name follows "->"
  };

  // The names of a path, outermost first: "ctx->part.n".
  static std::vector<Step> Split(std::string_view path) {
    std::vector<Step> names;
    bool arrow = false;
    while (!path.empty()) {
      const size_t end = std::min(path.find_first_of("-.%"), path.size());
      if (end != 0) names.push_back({path.substr(0, end), arrow});
      path.remove_prefix(end);
      arrow = path.starts_with("->");
      path.remove_prefix(std::min(path.find_first_not_of("->.%"), path.size()));
    }
    return names;
  }

  Visible* FindVisible(std::string_view name) {
    const auto found = std::ranges::find(visible_, name, &Visible::name);
    return found == visible_.end() ? nullptr : &*found;
  }

  std::optional<DwarfVariable> Resolve(std::string_view path) {
    std::vector<Step> names = Split(path);
    if (names.empty() || path.find(':') != std::string_view::npos) return std::nullopt;
    const std::string name(names.front().name);
    if (Visible* variable = FindVisible(name)) {
      names.erase(names.begin());
      return Describe(variable, names, true);
    }
    FindScopes();
    if (names_.Has(name) || !names_.Complete()) return std::nullopt;
    if (Visible* object = FindVisible("this")) {
      names.front().arrow = true;
      if (auto member = Describe(object, names, true)) return member;
    }
    if (names_.Imports()) return std::nullopt;
    Visible of_file{.name = name, .die = {}, .local = false};
    if (!FindInFile(name, &of_file.die)) return std::nullopt;
    names.erase(names.begin());
    return Describe(&of_file, names, true);
  }

  // Sets the scopes around the function, and adds the names of the functions around it.
  void FindScopes() {
    if (scopes_) return;
    scopes_.emplace();
    Dwarf_Die declaration = DeclarationOf(*level_);
    if (declaration.addr != level_->addr) names_.Add(declaration);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    for (int i = 1; i < count; ++i) {
      if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) names_.Add(scopes[i]);
      scopes_->push_back(scopes[i]);
    }
    std::free(scopes);
  }

  // Finds the variable of the file that the name means in the function. There is no result if the
  // nearest declaration of the name has no place.
  bool FindInFile(std::string_view name, Dwarf_Die* found) {
    int budget = 1 << 16;
    for (Dwarf_Die& scope : *scopes_) {
      bool imports = false;
      switch (dwarf_tag(&scope)) {
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
          if (MayHaveMember(scope, name, 0, &budget)) return false;
          break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_compile_unit: {
          int placed = 0;
          const int declared = CountInScope(scope, name, 0, &budget, &imports, &placed, found);
          if (budget < 0) return false;
          if (declared != 0) return declared == 1 && (placed == 1 || FindDefinition(found));
          break;
        }
        default:
          return false;  // a function around the function, or a unit of shared declarations
      }
      // An imported name hides those of the scopes around.
      if (imports) return false;
    }
    return false;
  }

  // Counts the declarations of the name in a scope, including the namespaces whose names are
  // visible outside them. Sets `*found` to the last one.
  static int CountInScope(Dwarf_Die scope, std::string_view name, int depth, int* budget,
                          bool* imports, int* placed, Dwarf_Die* found) {
    constexpr int kMaxScopes = 8;
    int declared = 0;
    Dwarf_Die child;
    for (int more = dwarf_child(&scope, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--*budget < 0) return declared;
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_imported_module) {
        Dwarf_Die target = child;
        *imports |= !FollowReference(DW_AT_import, &target) || NameOf(&target) != nullptr;
        continue;
      }
      if (tag == DW_TAG_namespace && depth < kMaxScopes &&
          (NameOf(&child) == nullptr || dwarf_hasattr(&child, DW_AT_export_symbols) == 1)) {
        declared += CountInScope(child, name, depth + 1, budget, imports, placed, found);
        continue;
      }
      // The definition of what another scope declares, or a function's copy.
      if (dwarf_hasattr(&child, DW_AT_specification) == 1 ||
          dwarf_hasattr(&child, DW_AT_abstract_origin) == 1 || !DeclaresName(&child, name)) {
        continue;
      }
      ++declared;
      *found = child;
      if (tag == DW_TAG_variable && dwarf_hasattr(&child, DW_AT_location) == 1 &&
          !IsDeclaration(&child)) {
        ++*placed;
      }
    }
    return declared;
  }

  // Replaces the declaration of a variable in a scope by the definition, which GCC puts into the
  // unit. False: another unit has it.
  bool FindDefinition(Dwarf_Die* found) {
    int budget = 1 << 16;
    Dwarf_Die child;
    if (dwarf_tag(found) != DW_TAG_variable) return false;
    for (int more = dwarf_child(&scopes_->back(), &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--budget < 0) return false;
      Dwarf_Die declaration = child;
      if (dwarf_tag(&child) == DW_TAG_variable && dwarf_hasattr(&child, DW_AT_location) == 1 &&
          FollowReference(DW_AT_specification, &declaration) && declaration.addr == found->addr) {
        *found = child;
        return true;
      }
    }
    return false;
  }

  // Describes the variable, or the member of it that `members` leads to. Of what is asked for and
  // is a variable of the function without a place, the type is kLost.
  std::optional<DwarfVariable> Describe(Visible* root, std::span<const Step> members, bool asked) {
    DwarfVariable variable;
    variable.name = root->name;
    variable.asked = asked;
    variable.parameter = dwarf_tag(&root->die) == DW_TAG_formal_parameter;
    if (root->line && *root->line <= INT32_MAX) variable.line = static_cast<int>(*root->line);
    Dwarf_Attribute attribute;
    variable.exported = dwarf_attr_integrate(&root->die, DW_AT_external, &attribute) != nullptr;
    variable.is_const = IsConst(&root->die);
    const bool placed = DescribePlace(&root->die, function_, vaddr_, &variable);
    variable.of_frame = variable.of_frame && members.empty();
    Dwarf_Die type;
    if (!FindType(&root->die, &type)) return std::nullopt;
    Dwarf_Die member;
    bool is_member = false;
    for (const Step& step : members) {
      if (!Enter(step.arrow, &type, &variable)) return std::nullopt;
      uint64_t offset = 0;
      if (!FindMember(type, step.name, &member, &offset) || !FindType(&member, &type)) {
        return std::nullopt;
      }
      AddOffset(offset, &variable);
      is_member = true;
    }
    const bool refers = IsReference(&type);
    if (refers) {
      FollowPointer(&variable);
      if (!FindType(&type, &type)) return std::nullopt;
    }
    if (asked) EnterAtomic(&type, &variable);
    const bool described = DescribeType(&type, &variable);
    if (!described && !(asked && DescribeVector(&type, &variable))) return std::nullopt;
    if (is_member && !DescribeBits(&member, &variable)) return std::nullopt;
    // Only a scalar fits into a register.
    if (placed && (described || !variable.in_register)) return variable;
    if (!asked || placed || !members.empty()) return std::nullopt;
    // What is computed of a reference is an address.
    if (!refers && described && variable.type != DwarfVariable::Type::kFloat &&
        DescribeComputation(&root->die, function_, vaddr_, &variable)) {
      return variable;
    }
    if (!root->local || variable.exported || IsDeclaration(&root->die) || !IsLost(&root->die)) {
      return std::nullopt;
    }
    variable.type = DwarfVariable::Type::kLost;
    return variable;
  }

  // Whether a variable has no place, or only a register that it had when the function was entered.
  bool IsLost(Dwarf_Die* die) const {
    const std::vector<Dwarf_Op> operations = Operations(die, DW_AT_location, vaddr_);
    return operations.empty() || std::ranges::any_of(operations, [](const Dwarf_Op& operation) {
             return operation.atom == DW_OP_entry_value || operation.atom == DW_OP_GNU_entry_value;
           });
  }

  // Follows a reference and a pointer to an object. `arrow`: there must be a pointer, or the object
  // has an operator that says what it points to.
  static bool Enter(bool arrow, Dwarf_Die* type, DwarfVariable* variable) {
    Dwarf_Die next;
    if (IsReference(type)) {
      FollowPointer(variable);
      if (!FindType(type, &next)) return false;
      *type = next;
    }
    if (dwarf_tag(type) == DW_TAG_pointer_type) {
      FollowPointer(variable);
      if (!FindType(type, &next)) return false;
      *type = next;
    } else if (arrow) {
      return false;
    }
    // An object in a register has no address.
    return IsObject(type) && !variable->in_register;
  }

  Dwarf_Die* function_;
  Dwarf_Die* level_;
  uint64_t vaddr_;
  std::vector<Visible> visible_;
  LocalNames names_;  // and, with `scopes_`, those of the functions around
  std::optional<std::vector<Dwarf_Die>> scopes_;
};

}  // namespace

std::vector<DwarfVariable> DescribeVariables(Dwarf_Die* function, Dwarf_Die* level, uint64_t vaddr,
                                             int line, const std::vector<std::string>& asked) {
  std::vector<Visible> visible;
  CollectVisible(*level, vaddr, line, 0, &visible);
  return Describer(function, level, vaddr, std::move(visible)).All(asked);
}

}  // namespace rollcall::dwarf
