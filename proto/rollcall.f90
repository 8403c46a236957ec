! SPDX-License-Identifier: Apache-2.0
! rollcall.h for Fortran: compile this file with the program, and write
!
!   use rollcall
!   call rollcall_phase("exchange")
!   call rollcall_value("batches", number_of_batches)
!
! A value is an integer, real or logical of the default kinds, or of those of iso_fortran_env below. rollcall.h has the
! conventions. Without librollcall.so in the process, the calls do nothing. Linux only; before glibc 2.34 the program
! needs -ldl.
module rollcall
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: rollcall_phase, rollcall_value

  interface rollcall_value
    module procedure record_int32, record_int64, record_real32, record_real64, record_logical
  end interface

  integer(c_int), parameter :: is_signed = 1, is_double = 3  ! ROLLCALL_VALUE_* in rollcall.h

  abstract interface
    subroutine phase_function(text) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine value_function(name, kind_of_value, value, bytes) bind(c)
      import :: c_char, c_int, c_ptr, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: kind_of_value
      type(c_ptr), value :: value
      integer(c_size_t), value :: bytes
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c, name="dlsym") result(found)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: found
    end function
  end interface

contains

  ! A null pointer is RTLD_DEFAULT.
  subroutine rollcall_phase(text)
    character(*), intent(in) :: text
    procedure(phase_function), pointer :: set_phase
    type(c_funptr) :: found
    found = dlsym(c_null_ptr, "rollcall_phase" // c_null_char)
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, set_phase)
    call set_phase(trim(text) // c_null_char)
  end subroutine

  subroutine record(name, kind_of_value, value)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind_of_value
    integer(c_int64_t), intent(in), target :: value
    procedure(value_function), pointer :: record_value
    type(c_funptr) :: found
    found = dlsym(c_null_ptr, "rollcall_value" // c_null_char)
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, record_value)
    call record_value(trim(name) // c_null_char, kind_of_value, c_loc(value), 8_c_size_t)
  end subroutine

  subroutine record_int64(name, value)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    call record(name, is_signed, value)
  end subroutine

  subroutine record_int32(name, value)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    call record(name, is_signed, int(value, int64))
  end subroutine

  subroutine record_real64(name, value)
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    call record(name, is_double, transfer(value, 0_int64))
  end subroutine

  subroutine record_real32(name, value)
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    call record_real64(name, real(value, real64))
  end subroutine

  subroutine record_logical(name, value)
    character(*), intent(in) :: name
    logical, intent(in) :: value
    call record(name, is_signed, merge(1_int64, 0_int64, value))
  end subroutine

end module
