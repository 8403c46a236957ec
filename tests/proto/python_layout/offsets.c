/* Prints the offsets of proto/python_layout.h as the headers of one Python say, one `field value` a
   line. Compiled by python_layout_test.cc against the headers of each interpreter that is
   installed. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#else
#include <frameobject.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#endif

#define SHOW(name, type, field) printf("%s %zu\n", name, offsetof(type, field));

int main(void) {
  printf("version_hex %d\n", PY_VERSION_HEX);
#if PY_VERSION_HEX >= 0x03090000
  SHOW("runtime_finalizing", struct pyruntimestate, _finalizing)
#else
  SHOW("runtime_finalizing", struct pyruntimestate, finalizing)
#endif
  SHOW("runtime_interpreters_head", struct pyruntimestate, interpreters.head)
  SHOW("runtime_main_thread", struct pyruntimestate, main_thread)
  SHOW("runtime_interpreters_main", struct pyruntimestate, interpreters.main)
  SHOW("interpreter_next", struct _is, next)
#if PY_VERSION_HEX >= 0x030b0000
  SHOW("interpreter_threads_head", struct _is, threads.head)
  SHOW("thread_native_id", struct _ts, native_thread_id)
#else
  SHOW("interpreter_threads_head", struct _is, tstate_head)
#endif
  SHOW("thread_next", struct _ts, next)
  SHOW("thread_interpreter", struct _ts, interp)
  SHOW("thread_id", struct _ts, thread_id)
#if PY_VERSION_HEX >= 0x030d0000
  SHOW("thread_frame", struct _ts, current_frame)
#elif PY_VERSION_HEX >= 0x030b0000
  SHOW("thread_frame", struct _ts, cframe)
  SHOW("cframe_frame", _PyCFrame, current_frame)
#else
  SHOW("thread_frame", struct _ts, frame)
  SHOW("frame_previous", PyFrameObject, f_back)
  SHOW("frame_code", PyFrameObject, f_code)
  SHOW("frame_instruction", PyFrameObject, f_lasti)
  SHOW("code_instruction_object", PyCodeObject, co_code)
#endif
#if PY_VERSION_HEX >= 0x030b0000
  SHOW("frame_previous", _PyInterpreterFrame, previous)
  SHOW("frame_owner", _PyInterpreterFrame, owner)
  SHOW("code_qualname", PyCodeObject, co_qualname)
  SHOW("code_first_traceable", PyCodeObject, _co_firsttraceable)
  SHOW("code_instructions", PyCodeObject, co_code_adaptive)
#if PY_VERSION_HEX >= 0x030d0000
  SHOW("frame_instruction", _PyInterpreterFrame, instr_ptr)
  SHOW("frame_code", _PyInterpreterFrame, f_executable)
#else
  SHOW("frame_instruction", _PyInterpreterFrame, prev_instr)
  SHOW("frame_code", _PyInterpreterFrame, f_code)
#if PY_VERSION_HEX < 0x030c0000
  SHOW("frame_is_entry", _PyInterpreterFrame, is_entry)
#endif
#endif
#endif
  printf("code_bytes %zu\n", sizeof(PyCodeObject));
#if PY_VERSION_HEX >= 0x030a0000
  SHOW("code_line_table", PyCodeObject, co_linetable)
#else
  SHOW("code_line_table", PyCodeObject, co_lnotab)
#endif
  SHOW("code_file", PyCodeObject, co_filename)
  SHOW("code_name", PyCodeObject, co_name)
  SHOW("code_first_line", PyCodeObject, co_firstlineno)
  SHOW("object_type", PyObject, ob_type)
  SHOW("object_size", PyVarObject, ob_size)
  SHOW("bytes_data", PyBytesObject, ob_sval)
  SHOW("text_length", PyASCIIObject, length)
  SHOW("text_state", PyASCIIObject, state)
  printf("text_ascii %zu\ntext_compact %zu\n", sizeof(PyASCIIObject),
         sizeof(PyCompactUnicodeObject));
  /* The bits of a str's state, by asking the compiler. */
  PyASCIIObject text = {0};
  unsigned bits = 0;
  text.state.kind = 1;
  __builtin_memcpy(&bits, &text.state, sizeof(bits));
  printf("text_state_shift %d\n", __builtin_ctz(bits));
  return 0;
}
