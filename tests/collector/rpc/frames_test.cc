// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/frames.h"

#include <gtest/gtest.h>

namespace rollcall::rpc {
namespace {

TEST(FramesTest, RoundTripKeepsFrame) {
  SourceFrame frame;
  frame.function = "Model.step";
  frame.file = "train.py";
  frame.line = 23;
  frame.detail = FrameDetail::kSourceLine;
  frame.note = "not started";
  for (const Language language : {Language::kPython, Language::kNative}) {
    frame.language = language;
    SymbolFrame message;
    ToRpc(frame, &message);
    EXPECT_EQ(FromRpc(message), frame);
  }
  // A value that no version of rollcall sends.
  SymbolFrame message;
  message.set_language(77);
  EXPECT_EQ(FromRpc(message).language, Language::kNative);
}

}  // namespace
}  // namespace rollcall::rpc
