// SPDX-License-Identifier: Apache-2.0
// Repeats a sample of the comparisons of tests/oracle/run as a test.
#ifndef ROLLCALL_TESTS_ORACLE_AGREEMENT_H_
#define ROLLCALL_TESTS_ORACLE_AGREEMENT_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/oracle/case.h"
#include "tests/support/sanitizers.h"

namespace rollcall::oracle {

// `option` selects this family in tests/oracle/run. Compares `of_kind` traces of each kind of
// fault.
template <typename Family, int of_kind = 100>
void ExpectAgreement(std::string_view option) {
  constexpr uint64_t kSeed = 20;
  constexpr uint64_t kTraces = Rounds(of_kind) * KindsOf<Family>();
  const Sample sample = CompareMany<Family>(
      kSeed, kTraces, [&](uint64_t number, const auto& one, const auto&, const auto& judgement) {
        EXPECT_EQ(judgement.violations, std::vector<std::string>{})
            << "tests/oracle/run " << option << "--one " << kSeed << ":" << number << "\n"
            << Family::Smaller(one.generated);
        return judgement.violations.empty();
      });
  EXPECT_GT(sample.all.stuck * 10, kTraces * 3) << "too few deadlocks to say anything";
  EXPECT_GT(sample.all.proven * 10, kTraces * 2);
  if (!kSanitized) {
    EXPECT_EQ(Shortfalls<Family>(sample), "")
        << "the culprits are named less often than before, or innocents oftener";
  }
  if (Family::kNeverInconclusive) {
    EXPECT_EQ(sample.all.hits[static_cast<int>(Hit::kInconclusive)], 0u) << "on complete traces";
  }
}

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_AGREEMENT_H_
