# SPDX-License-Identifier: Apache-2.0
import os
import sys
import sysconfig

PROGRAM = os.path.join(sysconfig.get_path("scripts"), "rollcall")
os.execv(PROGRAM, [PROGRAM] + sys.argv[1:])
