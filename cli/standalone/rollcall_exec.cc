// SPDX-License-Identifier: Apache-2.0
// rollcall-exec: `rollcall exec` as a separate program, not linked with gRPC. It is started once
// for every rank; loading the whole tool would cost each rank 13 ms of CPU time and 1.7 MiB.
#include "cli/command.h"

int main(int argc, char** argv) { return rollcall::RunExec(argc, argv); }
