// SPDX-License-Identifier: Apache-2.0
// Reads variables of the C, C++ and Fortran frames of a thread of another process.
//
// The debug information says where a variable is; nothing is run in the process. Memory is
// untrusted: only as many bytes as the variable has are read, and they are never used as an address
// except to read where an argument is passed by reference, or a condition follows a pointer.
#ifndef ROLLCALL_COLLECTOR_LIVE_NATIVE_VARIABLES_H_
#define ROLLCALL_COLLECTOR_LIVE_NATIVE_VARIABLES_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/live/live_stack.h"
#include "collector/live/process_image.h"
#include "collector/model/values.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall {

// Whether the text of a line gives the variable a value where the line declares it: "int n = 3;".
bool InitializesIn(std::string_view line, std::string_view name);

// Whether a statement of C or C++ ends after the name in the text of a line, which declares a
// variable; or, without a name, anywhere in the text. A loop gives a variable the elements of a
// range: "for (int n : all)".
bool EndsDeclaration(std::string_view line, std::string_view name);

// Whether a statement of C or C++ in the text of a line may give the variable a value: "n += 3",
// "Find(&n)".
bool MayAssign(std::string_view line, std::string_view name);

// Whether the text of a line passes the variable to a function that may write it: "f(&n)"; or, in
// Fortran, "call f(n)".
bool MayWrite(std::string_view line, std::string_view name, bool fortran);

// Returns the wanted frames of the thread, outermost first, with the variables whose values are
// known: those in memory, and those in registers that functions preserve, as far as these could be
// restored; and what else the conditions of their functions name. All values are read twice; those
// that have changed meanwhile are left out. The thread must still be in the call in which `thread`
// was captured. `program`: the path of the process's executable.
std::vector<VariablesOfFrame> ReadNativeVariables(const ProcessImage& image,
                                                  const std::string& program,
                                                  const LiveThread& thread, Symbolizer* symbolizer,
                                                  bool (*wanted)(const SourceFrame&));

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_NATIVE_VARIABLES_H_
