# SPDX-License-Identifier: Apache-2.0
"""A launcher for the tests of signals: writes each signal that it receives into a file, one name a line.

It says `ready`, and repeats each line of its input. SIGUSR2 ends it. With `--ignore`, nothing but SIGKILL ends it.
"""

import os
import signal
import sys

LOGGED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGCONT", "SIGUSR1", "SIGUSR2", "SIGALRM")


def main():
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    ignores = "--ignore" in sys.argv[2:]
    if "--own-group" in sys.argv[2:]:
        os.setpgid(0, 0)

    def write(number, _frame):
        os.write(log, (signal.Signals(number).name + "\n").encode())
        if number == signal.SIGUSR2 and not ignores:
            os._exit(0)
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for name in LOGGED + ("SIGTSTP",):
        signal.signal(getattr(signal, name), write)
    print("ready %d" % os.getpid(), flush=True)
    for line in sys.stdin:
        print("read " + line, end="", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
