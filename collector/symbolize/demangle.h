// Function names as a person knows them.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_

#include <string>
#include <string_view>

namespace rollcall {

enum class NameStyle {
  kShort,  // no parameter lists, return types or qualifiers; long template arguments as <…>
  kFull,   // as the compiler wrote it
};

// `symbol` demangled if it is an Itanium C++ ABI name (_Z…), else as it is. Suffixes that compilers
// append to copies of a function (.constprop.0, .part.1, .cold) do not hinder; kShort drops them.
std::string Demangle(std::string_view symbol, NameStyle style);

// A demangled C++ name in kShort; leaves names alone that are not C++.
std::string ShortenCxxName(std::string_view demangled);

// gfortran's assembler names back to source form: `__halo_MOD_exchange` is halo::exchange, `solve_`
// is solve. To be asked only for modules that are known to hold Fortran: C may end names in '_'
// too.
std::string FortranName(std::string_view symbol);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DEMANGLE_H_
