# SPDX-License-Identifier: Apache-2.0
"""Tells rollcall what a program does, and which values decide its next step. Does nothing unless librollcall.so is
loaded, as `rollcall run` loads it."""

_SIGNED, _UNSIGNED, _DOUBLE, _BYTES = 1, 2, 3, 4  # ROLLCALL_VALUE_* in proto/rollcall.h

try:
    import ctypes

    # PyDLL keeps the GIL: no other thread runs because of the call.
    _library = ctypes.PyDLL(None)
    _phase = _library.rollcall_phase
    _phase.argtypes, _phase.restype = [ctypes.c_char_p], None
    _value = _library.rollcall_value
    _value.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    _value.restype = None
except (ImportError, AttributeError, OSError, TypeError):  # no ctypes; not loaded; not an ELF system
    _phase = _value = None


def loaded():
    """True if a phase can be recorded, once the process has initialised MPI."""
    return _phase is not None


def phase(text):
    """From now on the process is in the phase `text`; None or "" ends it. proto/rollcall.h has the conventions."""
    if _phase is not None:
        _phase((text or "").encode("utf-8", "replace"))


def value(name, value):
    """Records the next value with this name; proto/rollcall.h has the conventions.

    `value` is a number (also of NumPy, or of a PyTorch tensor in the memory of the CPU), a bool, text or bytes. Of text,
    of bytes and of integers over 64 bits only a hash is kept. Any other value is ignored, and so is a tensor on a
    device, because its value would have to be waited for."""
    if _value is None:
        return
    kind, data = _encode(value)
    if kind is not None:
        _value(name.encode("utf-8", "replace"), kind, data, len(data))


def _encode(value):
    if isinstance(value, str):
        return _BYTES, value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray)):
        return _BYTES, bytes(value)
    if getattr(getattr(value, "device", None), "type", "cpu") != "cpu":
        return None, None
    try:
        number = value.__index__()
    except (AttributeError, TypeError, ValueError):
        try:
            return _DOUBLE, bytes(ctypes.c_double(value.__float__()))
        except (AttributeError, TypeError, ValueError):
            return None, None
    if -2**63 <= number < 2**63:
        return _SIGNED, bytes(ctypes.c_int64(number))
    if 0 <= number < 2**64:
        return _UNSIGNED, bytes(ctypes.c_uint64(number))
    return _BYTES, repr(number).encode()
