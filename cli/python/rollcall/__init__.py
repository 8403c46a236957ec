# SPDX-License-Identifier: Apache-2.0
"""Tells rollcall what a program does. Does nothing unless librollcall.so is loaded, as `rollcall run` loads it."""

try:
    import ctypes

    # PyDLL keeps the GIL: no other thread runs because of the call.
    _phase = ctypes.PyDLL(None).rollcall_phase
    _phase.argtypes, _phase.restype = [ctypes.c_char_p], None
except (ImportError, AttributeError, OSError, TypeError):  # no ctypes; not loaded; not an ELF system
    _phase = None


def loaded():
    """True if a phase can be recorded, once the process has initialised MPI."""
    return _phase is not None


def phase(text):
    """From now on the process is in the phase `text`; None or "" ends it. proto/rollcall.h has the conventions."""
    if _phase is not None:
        _phase((text or "").encode("utf-8", "replace"))
