/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the offsets of proto/python_layout.h as the headers of one Python say, one `field value` a
   line. Compiled by python_layout_test.cc against the headers of each interpreter that is
   installed. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <opcode.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#else
#include <frameobject.h>
#include <internal/pycore_pystate.h>
#include <longintrepr.h>
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
  SHOW("type_name", PyTypeObject, tp_name)
  SHOW("type_dict", PyTypeObject, tp_dict)
  SHOW("type_set", PyTypeObject, tp_descr_set)
  SHOW("type_dict_offset", PyTypeObject, tp_dictoffset)
  SHOW("type_mro", PyTypeObject, tp_mro)
#if PY_VERSION_HEX >= 0x030b0000
  SHOW("type_cached_keys", PyHeapTypeObject, ht_cached_keys)
  SHOW("values_items", struct _dictvalues, values)
  printf("managed_dict %lu\n", (unsigned long)Py_TPFLAGS_MANAGED_DICT);
#endif
#if PY_VERSION_HEX >= 0x030d0000
  printf("inline_values %lu\n", (unsigned long)Py_TPFLAGS_INLINE_VALUES);
#endif
  printf("code_bytes %zu\n", sizeof(PyCodeObject));
#if PY_VERSION_HEX >= 0x030b0000
  SHOW("frame_globals", _PyInterpreterFrame, f_globals)
  SHOW("frame_locals", _PyInterpreterFrame, f_locals)
  SHOW("frame_slots", _PyInterpreterFrame, localsplus)
#if PY_VERSION_HEX >= 0x030e0000
  SHOW("frame_stack_top", _PyInterpreterFrame, stackpointer)
#else
  SHOW("frame_stack_top", _PyInterpreterFrame, stacktop)
#endif
  SHOW("code_slot_count", PyCodeObject, co_nlocalsplus)
  SHOW("code_slot_names", PyCodeObject, co_localsplusnames)
  SHOW("code_slot_kinds", PyCodeObject, co_localspluskinds)
  SHOW("generator_frame", PyGenObject, gi_iframe)
  SHOW("generator_state", PyGenObject, gi_frame_state)
  SHOW("keys_index_bytes", struct _dictkeysobject, dk_log2_index_bytes)
  SHOW("keys_kind", struct _dictkeysobject, dk_kind)
  SHOW("keys_entry_count", struct _dictkeysobject, dk_nentries)
  SHOW("keys_indices", struct _dictkeysobject, dk_indices)
#else
  SHOW("frame_globals", PyFrameObject, f_globals)
  SHOW("frame_locals", PyFrameObject, f_locals)
  SHOW("frame_slots", PyFrameObject, f_localsplus)
#if PY_VERSION_HEX >= 0x030a0000
  SHOW("frame_stack_top", PyFrameObject, f_stackdepth)
#else
  SHOW("frame_stack_top", PyFrameObject, f_stacktop)
#endif
  SHOW("code_slot_count", PyCodeObject, co_nlocals)
  SHOW("code_slot_names", PyCodeObject, co_varnames)
  SHOW("code_cell_names", PyCodeObject, co_cellvars)
  SHOW("code_free_names", PyCodeObject, co_freevars)
  SHOW("generator_frame", PyGenObject, gi_frame)
#endif
  SHOW("code_flags", PyCodeObject, co_flags)
  SHOW("code_stack_size", PyCodeObject, co_stacksize)
  SHOW("code_names", PyCodeObject, co_names)
  SHOW("type_basic_size", PyTypeObject, tp_basicsize)
  SHOW("type_item_size", PyTypeObject, tp_itemsize)
  SHOW("type_flags", PyTypeObject, tp_flags)
  SHOW("type_next", PyTypeObject, tp_iternext)
  SHOW("tuple_items", PyTupleObject, ob_item)
  SHOW("cell_value", PyCellObject, ob_ref)
#if PY_VERSION_HEX >= 0x030c0000
  SHOW("integer_size", PyLongObject, long_value.lv_tag)
  SHOW("integer_digits", PyLongObject, long_value.ob_digit)
#else
  SHOW("integer_size", PyLongObject, ob_base.ob_size)
  SHOW("integer_digits", PyLongObject, ob_digit)
#endif
  SHOW("dict_keys", PyDictObject, ma_keys)
  SHOW("dict_values", PyDictObject, ma_values)
  printf("store_name %d\nstore_global %d\nextended_argument %d\n", STORE_NAME, STORE_GLOBAL,
         EXTENDED_ARG);
  printf("digit_bits %d\ninteger_flag %lu\noptimized_code %d\n", PyLong_SHIFT,
         Py_TPFLAGS_LONG_SUBCLASS, CO_OPTIMIZED);
#if PY_VERSION_HEX >= 0x030b0000
  printf("cell_slot %d\nfree_slot %d\n", CO_FAST_CELL, CO_FAST_FREE);
#endif
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
