// SPDX-License-Identifier: Apache-2.0
// Function names as in the source.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_

#include <string>
#include <string_view>

namespace rollcall {

enum class NameStyle {
  kShort,  // no parameter lists, return types or qualifiers; long template arguments as <…>
  kFull,   // as the compiler wrote it
};

// `symbol` demangled if it is an Itanium C++ ABI name (_Z…), otherwise unchanged. Suffixes that
// compilers append to copies of a function (.constprop.0, .part.1, .cold) are accepted; kShort
// drops them.
std::string Demangle(std::string_view symbol, NameStyle style);

// A demangled C++ name in the kShort style; other names are unchanged.
std::string ShortenCxxName(std::string_view demangled);

// Converts gfortran's assembler names to source names: `__halo_MOD_exchange` is halo::exchange,
// `solve_` is solve. Use it only for modules that are known to contain Fortran: C names may end in
// '_', too.
std::string FortranName(std::string_view symbol);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_
