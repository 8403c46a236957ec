// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/frames.h"

namespace rollcall::rpc {

void ToRpc(const SourceFrame& frame, SymbolFrame* out) {
  out->set_function(frame.function);
  out->set_file(frame.file);
  out->set_line(frame.line);
  out->set_inlined(frame.inlined);
  out->set_module(frame.module);
  out->set_vaddr(frame.vaddr);
  out->set_detail(static_cast<uint32_t>(frame.detail));
  out->set_symbol_offset(frame.symbol_offset);
  out->set_note(frame.note);
  out->set_language(static_cast<uint32_t>(frame.language));
}

SourceFrame FromRpc(const SymbolFrame& frame) {
  SourceFrame out;
  out.function = frame.function();
  out.file = frame.file();
  out.line = frame.line();
  out.inlined = frame.inlined();
  out.module = frame.module();
  out.vaddr = frame.vaddr();
  out.detail = frame.detail() <= static_cast<uint32_t>(FrameDetail::kModule)
                   ? static_cast<FrameDetail>(frame.detail())
                   : FrameDetail::kModule;
  out.symbol_offset = frame.symbol_offset();
  out.note = frame.note();
  out.language = frame.language() == static_cast<uint32_t>(Language::kPython) ? Language::kPython
                                                                              : Language::kNative;
  return out;
}

}  // namespace rollcall::rpc
