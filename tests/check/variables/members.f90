! SPDX-License-Identifier: Apache-2.0
! As members.cc.
module settings
  use mpi_f08
  implicit none
  type part_type
    integer :: padding = 3
    logical :: skip = .false.
    real(8) :: tolerance = 1
  end type
  integer :: truth
  integer :: module_count = 4
contains
  subroutine exchange(part, step)
    type(part_type), intent(in) :: part
    integer, intent(in) :: step
    integer, save :: calls = 0
    integer :: mine
    calls = calls + merge(2, 1, module_count == 9)
    mine = step
    if (step == 2) then
      write (truth, '(a, a)') 'settings::exchange part%skip ', trim(merge('true ', 'false', part%skip))
      write (truth, '(a, g0.17)') 'settings::exchange part%tolerance ', part%tolerance
      write (truth, '(a, i0)') 'settings::exchange module_count ', module_count
      write (truth, '(a, i0)') 'settings::exchange calls ', calls
      write (truth, '(a, i0)') 'settings::exchange step ', step
      flush (truth)
    end if
    if (step /= 2 .or. .not. (part%skip .or. part%tolerance > 2 .or. module_count == 9 .or. calls > 4)) &
      call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (mine < 0) print *, part%padding
  end subroutine
end module

program members
  use settings
  implicit none
  integer :: rank, step
  character(4096) :: directory
  type(part_type) :: part
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, directory)
  write (directory, '(a, a, i0)') trim(directory), '/truth.', rank
  open (newunit=truth, file=directory)
  part%skip = rank == 0
  part%tolerance = merge(2.5d0, 0.25d0, rank == 0)
  module_count = merge(9, 8, rank == 0)
  do step = 0, 4
    call exchange(part, step)
  end do
  call MPI_Finalize()
end program
