// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/source_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

// The blocks as "loop 2-4, arm 5-7 of 0 rank==0", ordered by first line; or "not understood".
std::string Shape(std::string_view text, SourceSyntax syntax) {
  auto source = FindSourceBlocks(text, syntax);
  if (!source) return "not understood";
  auto* blocks = &source->blocks;
  std::sort(blocks->begin(), blocks->end(), [](const SourceBlock& a, const SourceBlock& b) {
    return std::pair(a.first, -a.last) < std::pair(b.first, -b.last);
  });
  std::string shape;
  for (const SourceBlock& block : *blocks) {
    if (!shape.empty()) shape += ", ";
    const bool loop = block.kind == SourceBlock::Kind::kLoop;
    shape += fmt::format("{} {}-{}", loop ? "loop" : "arm", block.first, block.last);
    if (!loop) shape += fmt::format(" of {}", block.branch);
    if (block.subject.empty()) continue;
    if (loop) {
      shape += " over " + block.subject;
      continue;
    }
    shape += fmt::format(" {}{}{}", block.subject, block.equal ? "==" : "!=", block.value);
  }
  return shape;
}

// What leaves functions, as "function 1-9, throw 3 (x < 0), try 2-4 of 0, handler 4-6 of 0".
std::string Flow(std::string_view text, SourceSyntax syntax) {
  auto source = FindSourceBlocks(text, syntax);
  if (!source) return "not understood";
  std::stable_sort(source->flow.begin(), source->flow.end(),
                   [](const SourceFlow& a, const SourceFlow& b) {
                     return std::pair(a.first, -a.last) < std::pair(b.first, -b.last);
                   });
  std::string flow;
  for (const SourceFlow& one : source->flow) {
    if (!flow.empty()) flow += ", ";
    flow += fmt::format("{} {}", kSourceFlowNames[static_cast<size_t>(one.kind)], one.first);
    if (one.kind <= SourceFlow::Kind::kHandler) flow += fmt::format("-{}", one.last);
    if (one.kind == SourceFlow::Kind::kTry || one.kind == SourceFlow::Kind::kHandler) {
      flow += fmt::format(" of {}", one.group);
    }
    if (!one.condition.empty()) flow += fmt::format(" ({})", one.condition);
  }
  return flow;
}

// The conditions as "2-4 (n > 2), 5-5 (done)", in the order of their lines.
std::string Conditions(std::string_view text, SourceSyntax syntax) {
  auto source = FindSourceBlocks(text, syntax);
  if (!source) return "not understood";
  std::stable_sort(source->conditions.begin(), source->conditions.end(),
                   [](const SourceCondition& a, const SourceCondition& b) {
                     return std::pair(a.first, -a.last) < std::pair(b.first, -b.last);
                   });
  std::string conditions;
  for (const SourceCondition& one : source->conditions) {
    if (!conditions.empty()) conditions += ", ";
    conditions += fmt::format("{}-{} ({})", one.first, one.last, one.text);
  }
  return conditions;
}

TEST(SourceBlocks, FindsConditionsInC) {
  EXPECT_EQ(Conditions("void f() {\n"
                       "  for (int i = (0); i < n[1]; ++i) {\n"
                       "    while (!done) step();\n"
                       "  }\n"
                       "  for (auto& [key, x] : std::views::all(parts)) x.go();\n"
                       "  do a();\n"
                       "  while (more());\n"
                       "  if (first && b == 2) c();\n"
                       "  else if (second) d();\n"
                       "  else {\n"
                       "    e();\n"
                       "  }\n"
                       "  for (;;) return;\n"
                       "}\n",
                       SourceSyntax::kBraces),
            "2-4 (i < n[1]), 3-3 (!done), 5-5 (std::views::all(parts)), 6-7 (more()), "
            "8-8 (first && b == 2), 9-12 (first && b == 2), 9-9 (second), 10-12 (second)");
}

TEST(SourceBlocks, FindsConditionsOfExpressionsInC) {
  EXPECT_EQ(Conditions("int f() {\n"
                       "  skip ? 0 : MPI_Barrier(c);\n"
                       "  int n = a <= b ? g(1,\n"
                       "                    2)\n"
                       "                 : 3;\n"
                       "  h(x, y == 1 ? p() : q());\n"
                       "  return z ? MPI_Barrier(c) : 0;\n"
                       "}\n",
                       SourceSyntax::kBraces),
            "2-2 (skip), 3-5 (a <= b), 6-6 (y == 1), 7-7 (z)");
}

TEST(SourceBlocks, FindsConditionsOfCasesInC) {
  EXPECT_EQ(Conditions("void f() {\n"
                       "  switch (mode) {\n"
                       "    case FAST:\n"
                       "    case SLOW: {\n"
                       "      a();\n"
                       "      break;\n"
                       "    }\n"
                       "    case OTHER:\n"
                       "      switch (inner()) {\n"
                       "        case 1: b();\n"
                       "      }\n"
                       "    default:\n"
                       "      for (x : y) { case_of(); }\n"
                       "  }\n"
                       "  auto lambda = [] { switch (z) { default: c(); } };\n"
                       "}\n",
                       SourceSyntax::kBraces),
            "3-7 (mode), 8-11 (mode), 10-11 (inner()), 12-14 (mode), 13-13 (y), "
            "15-15 (z)");
}

TEST(SourceBlocks, FindsConditionsInPython) {
  EXPECT_EQ(Conditions("def f(files):\n"
                       "    while not self.done:\n"
                       "        a()\n"
                       "    for x, y in zip(files,\n"
                       "                    names):\n"
                       "        b()\n"
                       "    if c: d()\n"
                       "    elif e is None:\n"
                       "        g()\n"
                       "    else:\n"
                       "        h()\n"
                       "    comm.Barrier() if i else None\n"
                       "    k = [comm.bcast(l) for l in m]\n"
                       "    match n.mode:\n"
                       "        case 1:\n"
                       "            o()\n"
                       "        case p if q:\n"
                       "            r()\n"
                       "    match = case\n",
                       SourceSyntax::kPython),
            "2-3 (not self.done), 4-6 (zip(files, names)), 7-7 (c), 8-9 (c e is None), "
            "10-11 (c e is None), 12-12 (i), 13-13 (m]), 15-16 (n.mode), 17-18 (n.mode q)");
}

TEST(SourceBlocks, FindsConditionsInFortran) {
  EXPECT_EQ(Conditions("subroutine f\n"
                       "  do while (x < 1)\n"
                       "    call a\n"
                       "  end do\n"
                       "  do i = 1, n\n"
                       "    if (skip) call b\n"
                       "  end do\n"
                       "  if (c) then\n"
                       "    call d\n"
                       "  else if (e) then\n"
                       "    call g\n"
                       "  else\n"
                       "    call h\n"
                       "  end if\n"
                       "  select case (mode)\n"
                       "  case (1)\n"
                       "    call k\n"
                       "  case default\n"
                       "    call l\n"
                       "  end select\n"
                       "  if (done) return\n"
                       "end subroutine\n",
                       SourceSyntax::kFortran),
            "2-4 ((x<1)), 5-7 (i=1,n), 6-6 (skip), 8-9 (c), 10-11 (c (e)then), 12-14 (c (e)then), "
            "16-17 (mode), 18-20 (mode), 21-21 (done)");
}

TEST(SourceBlocks, CutsLongConditions) {
  const std::string name(2000, 'n');
  EXPECT_EQ(Conditions("void f() { if (a && " + name + ") b(); }", SourceSyntax::kBraces),
            "1-1 (a && " + std::string(995, 'n') + "…)");
}

TEST(SourceBlocks, FindsExitsInC) {
  EXPECT_EQ(Flow("static int f(int n) {\n"
                 "  if (n == 0) return 0;\n"
                 "  for (;;) {\n"
                 "    if (n > 2 &&\n"
                 "        done(n)) break;\n"
                 "    switch (n) { case 1: break; default: continue; }\n"
                 "    each([&](int i) -> bool { return i; });\n"
                 "  }\n"
                 "  return 1;\n"
                 "}\n",
                 SourceSyntax::kBraces),
            "function 1-10, return 2 (n == 0), break 5 (n > 2 && done(n)), continue 6, "
            "return 7, function 7-7, return 9");
}

TEST(SourceBlocks, FindsExceptionsInC) {
  EXPECT_EQ(Flow("struct A {\n"
                 "  ~A() noexcept { f({1, 2}); }\n"
                 "  A& operator=(const A&) { return *this; }\n"
                 "};\n"
                 "int main() {\n"
                 "  try {\n"
                 "    if (bad) throw std::runtime_error(\"x\");\n"
                 "    else std::exit(1);\n"
                 "  } catch (const std::exception& e) {\n"
                 "    MPI_Abort(MPI_COMM_WORLD, 1);\n"
                 "  } catch (...) {\n"
                 "  }\n"
                 "}\n",
                 SourceSyntax::kBraces),
            "function 2-2, return 3, function 3-3, function 5-13, try 6-9 of 0, throw 7 (bad), "
            "end 8, handler 9-11 of 0, end 10, handler 11-12 of 0");
}

TEST(SourceBlocks, FindsExitsInPython) {
  EXPECT_EQ(Flow("def f(x):\n"
                 "    for i in x:\n"
                 "        if i > 2: break\n"
                 "        if i < 0:\n"
                 "            raise ValueError(i)\n"
                 "    try:\n"
                 "        return g()\n"
                 "    except ValueError:\n"
                 "        sys.exit(1)\n"
                 "    except KeyError: pass\n"
                 "    finally:\n"
                 "        h()\n"
                 "comm.Abort()\n"
                 "returned = 1\n",
                 SourceSyntax::kPython),
            "function 1-12, break 3 (i > 2), throw 5 (i < 0), try 6-7 of 0, return 7, "
            "handler 8-9 of 0, end 9, handler 10-10 of 0, end 13");
}

TEST(SourceBlocks, FindsExitsInFortran) {
  EXPECT_EQ(Flow("module m\n"
                 "contains\n"
                 "  recursive subroutine f(n)\n"
                 "    if (n == 0) return\n"
                 "    do i = 1, n\n"
                 "      if (done(i)) then\n"
                 "        exit\n"
                 "      end if\n"
                 "      if (i < 0) call MPI_Abort(c, 1, e)\n"
                 "    end do\n"
                 "  end subroutine f\n"
                 "end module m\n"
                 "program p\n"
                 "  if (bad) error stop\n"
                 "  stopped = 1\n"
                 "end program p\n",
                 SourceSyntax::kFortran),
            "function 3-11, return 4 (n==0), break 7 (done(i)), end 9 (i<0), function 13-16, "
            "end 14 (bad)");
}

TEST(SourceBlocks, FindsLoopsAndBranchesInC) {
  EXPECT_EQ(Shape("int main(void) {\n"
                  "  for (int i = 0; i < n; ++i) {\n"
                  "    if (rank == 0) {\n"
                  "      a(\"}\");  // }\n"
                  "    } else {\n"
                  "      b('{');\n"
                  "    }\n"
                  "  }\n"
                  "  do\n"
                  "    c();\n"
                  "  while (x);\n"
                  "  while (y) d();\n"
                  "}\n",
                  SourceSyntax::kBraces),
            "loop 2-8, arm 3-5 of 0 rank==0, arm 5-7 of 0, loop 9-11, loop 12-12");
}

TEST(SourceBlocks, FindsBranchesWithoutBraces) {
  EXPECT_EQ(Shape("void f() {\n"
                  "  if (rank != 3)\n"
                  "    for (;;)\n"
                  "      a();\n"
                  "  else if (c)\n"
                  "    b();\n"
                  "  else\n"
                  "    d();\n"
                  "}\n",
                  SourceSyntax::kBraces),
            "arm 2-4 of 0 rank!=3, loop 3-4, arm 5-8 of 0, arm 5-6 of 1, arm 7-8 of 1");
}

TEST(SourceBlocks, HandlesLambdasInitialisersAndTypes) {
  EXPECT_EQ(Shape("namespace a { struct B { int x{1}; } b; }\n"
                  "int t[] = {1, 2}, u = 3;\n"
                  "auto f = [] {\n"
                  "  for (auto x : t) g(x);\n"
                  "};\n"
                  "void h() {\n"
                  "  each([&](int i) {\n"
                  "    while (i) --i;\n"
                  "  });\n"
                  "  switch (a) {\n"
                  "    case 1:\n"
                  "      if (z) k();\n"
                  "  }\n"
                  "}\n",
                  SourceSyntax::kBraces),
            "loop 4-4, loop 8-8, arm 12-12 of 0");
}

TEST(SourceBlocks, UsesTheFirstPartOfConditionalText) {
  EXPECT_EQ(Shape("void f() {\n"
                  "#ifdef FAULT\n"
                  "  for (i = 1; i < n; ++i) {\n"
                  "#else\n"
                  "  for (i = 0; i < n; ++i) {\n"
                  "#endif\n"
                  "    a();\n"
                  "  }\n"
                  "#define LOOP \\\n"
                  "  while (1) {\n"
                  "#if 0\n"
                  "  }\n"
                  "#endif\n"
                  "}\n",
                  SourceSyntax::kBraces),
            "loop 3-8");
}

TEST(SourceBlocks, RejectsTextThatIsNotUnderstood) {
  EXPECT_EQ(Shape("void f() { for (;;) { }\n", SourceSyntax::kBraces), "not understood");
  EXPECT_EQ(Shape("}\n", SourceSyntax::kBraces), "not understood");
  EXPECT_EQ(Shape("void f() { a(; }\n", SourceSyntax::kBraces), "not understood");
  EXPECT_EQ(Shape("/* no end\n", SourceSyntax::kBraces), "not understood");
  EXPECT_EQ(Shape(std::string(1000, '{'), SourceSyntax::kBraces), "not understood");
  EXPECT_EQ(Shape("f(a,\n", SourceSyntax::kPython), "not understood");
  EXPECT_EQ(Shape("'''\n", SourceSyntax::kPython), "not understood");
  EXPECT_EQ(Shape("do 10 i = 1, n\n10 continue\n", SourceSyntax::kFortran), "not understood");
  EXPECT_EQ(Shape("end do\n", SourceSyntax::kFortran), "not understood");
  EXPECT_EQ(Shape("if (a) then\nend do\n", SourceSyntax::kFortran), "not understood");
}

TEST(SourceBlocks, FindsPythonBlocksByIndentation) {
  EXPECT_EQ(
      Shape("def train(loader):\n"
            "    '''for x in y:\n"
            "    no code'''\n"
            "    for batch in loader:  # each\n"
            "        total = comm.allreduce(\n"
            "  batch)\n"
            "        if rank == 0:\n"
            "            save()\n"
            "        elif last:\n"
            "            pass\n"
            "\n"
            "        else:\n"
            "            load()\n"
            "    else:\n"
            "        done()\n"
            "    return [comm.bcast(x)\n"
            "            for x in y]\n",
            SourceSyntax::kPython),
      "loop 4-13 over batch, arm 7-8 of 0 rank==0, arm 9-10 of 0, arm 12-13 of 0, loop 16-17");
}

TEST(SourceBlocks, FindsFortranBlocksByEndStatements) {
  EXPECT_EQ(Shape("program p\n"
                  "  outer: DO i = 1, n  ! do\n"
                  "    if (rank == 0) then\n"
                  "      print *, 'end do'\n"
                  "    else if (a) then\n"
                  "      call b()\n"
                  "    else\n"
                  "      if (c) call d()\n"
                  "    end if\n"
                  "  END DO outer\n"
                  "  do while (x .and. &\n"
                  "            y)\n"
                  "  enddo\n"
                  "end program\n",
                  SourceSyntax::kFortran),
            "loop 2-10, arm 3-4 of 0 rank==0, arm 5-6 of 0, arm 7-9 of 0, loop 11-13");
}

TEST(SourceBlocks, ArmsOfOneBranchExcludeEachOther) {
  const auto source = FindSourceBlocks(
      "void f() {\n"
      "  if (rank == 0) a();\n"
      "  else b();\n"
      "  if (rank == 1) c();\n"
      "  if (rank != 0) d();\n"
      "  if (size == 1) e();\n"
      "}\n",
      SourceSyntax::kBraces);
  ASSERT_TRUE(source);
  const auto* blocks = &source->blocks;
  ASSERT_EQ(blocks->size(), 5U);
  const auto exclusive = [&](size_t a, size_t b) {
    EXPECT_EQ(AreExclusive((*blocks)[a], (*blocks)[b]), AreExclusive((*blocks)[b], (*blocks)[a]));
    return AreExclusive((*blocks)[a], (*blocks)[b]);
  };
  EXPECT_TRUE(exclusive(0, 1));   // if, else
  EXPECT_TRUE(exclusive(0, 2));   // rank == 0, rank == 1
  EXPECT_TRUE(exclusive(0, 3));   // rank == 0, rank != 0
  EXPECT_FALSE(exclusive(2, 3));  // rank == 1, rank != 0
  EXPECT_FALSE(exclusive(0, 4));
  EXPECT_FALSE(exclusive(0, 0));
}

TEST(SourceBlocks, ChoosesTheSyntaxByFileName) {
  const TemporaryDirectory dir;
  EXPECT_TRUE(ReadSourceBlocks(dir.Write("a.py", "for x in y:\n    f()\n")));
  EXPECT_TRUE(ReadSourceBlocks(dir.Write("a.F90", "do\nend do\n")));
  EXPECT_FALSE(ReadSourceBlocks(dir.Write("a.txt", "for x in y:\n    f()\n")));
  EXPECT_FALSE(ReadSourceBlocks(dir.path() + "/none.c"));
  EXPECT_FALSE(ReadSourceBlocks("<ipython-input-3>"));
}

}  // namespace
}  // namespace rollcall
