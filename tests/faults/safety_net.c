// fault.h's safety net for programs that cannot include it: linked into the Fortran ones.
#include "tests/faults/fault.h"
