// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/demangle.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(DemangleTest, ShortNamesOmitParametersAndReturnTypes) {
  const std::pair<const char*, const char*> cases[] = {
      {"solve(int, char const*)", "solve"},
      {"void halo::solve<double>(std::vector<double>&) const", "halo::solve<double>"},
      {"std::vector<int> (anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
      {"main()::{lambda(auto:1)#2}::operator()<int>(int) const",
       "main::{lambda#2}::operator()<int>"},
      {"A::f() const::{lambda()#1}::operator()() const", "A::f::{lambda#1}::operator()"},
      {"operator<<(std::ostream&, A const&)", "operator<<"},
      {"bool operator< <int>(A<int> const&)", "operator< <int>"},
      {"A::operator->() const", "A::operator->"},
      {"A::operator unsigned int() const", "A::operator unsigned int"},
      {"operator new(unsigned long)", "operator new"},
      {"std::function<void (int, std::vector<double>)>::operator()(int) const",
       "std::function<\u2026>::operator()"},
      {"decltype (f(0)) g<int>(int)", "g<int>"},
      {"f(int) [clone .constprop.0]", "f"},
      {"my_operator(int)", "my_operator"},
      {"void (*pick(int))(double)", "void (*pick(int))(double)"},
      {"main", "main"},
      {"", ""},
  };
  for (const auto& [full, expected] : cases) EXPECT_EQ(ShortenCxxName(full), expected);
}

TEST(DemangleTest, ChangesOnlyMangledNames) {
  EXPECT_EQ(Demangle("_Z5solvei", NameStyle::kFull), "solve(int)");
  EXPECT_EQ(Demangle("_Z5solvei.constprop.0", NameStyle::kShort), "solve");
  EXPECT_EQ(Demangle("_Zbroken", NameStyle::kShort), "_Zbroken");
  EXPECT_EQ(Demangle("MPI_Barrier", NameStyle::kShort), "MPI_Barrier");
  EXPECT_EQ(Demangle("_Z" + std::string(100000, 'P'), NameStyle::kFull).size(), 100002U);
}

TEST(DemangleTest, AcceptsUnbalancedNames) {
  for (const std::string name :
       {"f(", "f<", "f{", "operator", "operator(", "a::operator", ")", ">"}) {
    EXPECT_FALSE(ShortenCxxName(name).empty());
  }
}

TEST(DemangleTest, ConvertsFortranNames) {
  EXPECT_EQ(FortranName("__halo_MOD_exchange"), "halo::exchange");
  EXPECT_EQ(FortranName("solve_"), "solve");
  EXPECT_EQ(FortranName("inner.0"), "inner");
  EXPECT_EQ(FortranName("MAIN__"), "MAIN__");
  EXPECT_EQ(FortranName("_"), "_");
  EXPECT_EQ(FortranName("_gfortran_st_write"), "_gfortran_st_write");
}

}  // namespace
}  // namespace rollcall
