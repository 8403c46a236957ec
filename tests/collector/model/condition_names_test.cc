// SPDX-License-Identifier: Apache-2.0
#include "collector/model/condition_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace rollcall {
namespace {

// "skip, ctx->n; done()"
std::string Names(std::string_view condition, bool fortran = false) {
  ConditionNames names;
  AddConditionNames(condition, fortran, &names);
  return fmt::format("{}; {}", fmt::join(names.variables, ", "), fmt::join(names.calls, ", "));
}

TEST(ConditionNames, AreVariablesAndMembers) {
  EXPECT_EQ(Names("!skip && step < 3 * limit"), "skip, step, limit; ");
  EXPECT_EQ(Names("opt.skip || ctx -> n > 1e-6 || this->done == 0x1f"),
            "opt.skip, ctx->n, this->done; ");
  EXPECT_EQ(Names("not self.done and best is None"), "self.done, best; ");
  EXPECT_EQ(Names("a.b.c % d == e"), "a.b.c, d, e; ");
  EXPECT_EQ(Names("*flag && limits[i].skip && x"), "flag, i, x; ");
  EXPECT_EQ(Names("mode == Mode::kFast and mode"), "mode, Mode::kFast; ");
}

TEST(ConditionNames, LeaveOutTextsAndComments) {
  EXPECT_EQ(Names("name == \"a \\\" b\" /* c */ && d == 'e'"), "name, d; ");
  EXPECT_EQ(Names("name == \"unterminated"), "name; ");
  EXPECT_EQ(Names("a /* b"), "a; ");
  EXPECT_EQ(Names("first && long_nam…"), "first; ");
}

TEST(ConditionNames, AreOfCalls) {
  EXPECT_EQ(Names("done(step, comm) && self.finished()"), "step, comm; done(), self.finished()");
  EXPECT_EQ(Names("i < files.size() && std::max(a, b) && len(c)"), "i, files, a, b, c; ");
  EXPECT_EQ(Names("static_cast<int>(n) > int(m)"), "n, m; ");
  EXPECT_EQ(Names("next()->done && next(1).size()"), "; next()");
}

TEST(ConditionNames, OfFortran) {
  EXPECT_EQ(Names("n==0.and..not.part%skip.or.x>1.5", true), "n, part%skip, x; ");
  EXPECT_EQ(Names("done(i).eqv..true.", true), "i; ");
  EXPECT_EQ(Names("i=1,n", true), "i, n; ");
  EXPECT_TRUE(IsFortran("a/b.F90"));
  EXPECT_FALSE(IsFortran("a/f.cc"));
}

}  // namespace
}  // namespace rollcall
