// SPDX-License-Identifier: Apache-2.0
// tests/check/variables_test.py compares the values of real processes.
#include "collector/live/native_variables.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(NativeVariables, KnowWhereADeclarationGivesAValue) {
  for (const char* line :
       {"int n = 3;", "  const bool n{true};", "for (int i = 0, n=5; i < n; ++i) {",
        "if (const int n = Find(); n == 2) {", "double n\t= 1;", "integer :: m, n = 3"}) {
    EXPECT_TRUE(InitializesIn(line, "n")) << line;
  }
  for (const char* line : {"", "int n;", "int m = 3, n;", "int nn = 3;", "int n_ = 3;",
                           "return n == 3;", "logical :: n", "int n[3];"}) {
    EXPECT_FALSE(InitializesIn(line, "n")) << line;
  }
}

TEST(NativeVariables, KnowWhereADeclarationEnds) {
  for (const char* line : {"int n;", "int n = 3, m;", "for (int i = 0, n = 5; i < n; ++i) {",
                           "for (const int n : all) {"}) {
    EXPECT_TRUE(EndsDeclaration(line, "n")) << line;
  }
  for (const char* line : {"bool n =", "bool n = Exchange(", "m = 1; bool n =",
                           "bool n =  // after the call; before the next", "int n = scope::Get("}) {
    EXPECT_FALSE(EndsDeclaration(line, "n")) << line;
  }
  EXPECT_TRUE(EndsDeclaration("    Exchange(step);", ""));
  EXPECT_FALSE(EndsDeclaration("    Exchange(step,", ""));
}

TEST(NativeVariables, KnowWhatMayAssign) {
  for (const char* line : {"n = 3;", "n=m;", "n += 1;", "n <<= 2;", "if ((n = Find())) {", "n++;",
                           "for (; n < 3; ++n) {", "--n;", "std::cin >> n;", "Find(&n);"}) {
    EXPECT_TRUE(MayAssign(line, "n")) << line;
  }
  for (const char* line : {"", "if (n == 3) {", "m = n;", "while (n <= 3 && n >= m) {", "n != 3",
                           "a[n] = 3;", "n->x = 3;", "nn = 3;", "if (m && n) {", "m = n + 1;"}) {
    EXPECT_FALSE(MayAssign(line, "n")) << line;
  }
}

TEST(NativeVariables, KnowWhatACallMayWrite) {
  EXPECT_TRUE(MayWrite("  MPI_Allreduce(&mine, &n, 1, MPI_INT, MPI_SUM, comm);", "n", false));
  EXPECT_TRUE(MayWrite("  Solve(& n);", "n", false));
  EXPECT_FALSE(MayWrite("  Solve(n, &nn, &n_);", "n", false));
  EXPECT_TRUE(MayWrite("    call MPI_Allreduce(mine, n, 1, MPI_INTEGER)", "n", true));
  EXPECT_FALSE(MayWrite("    call MPI_Allreduce(mine, nn, 1, MPI_INTEGER)", "n", true));
}

}  // namespace
}  // namespace rollcall
