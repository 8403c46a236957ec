! SPDX-License-Identifier: Apache-2.0
! As branch.c.
module work
  use mpi_f08
  implicit none
  integer :: truth
contains
  subroutine exchange(step, tolerance, count)
    integer, intent(in) :: step, count
    double precision, intent(in) :: tolerance
    integer :: rank, mine, total
    logical :: skip
    real :: ratio
    integer(8) :: big
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    skip = rank == 0 .and. step == 2
    ratio = merge(0.5, 0.25, skip)
    big = merge(-5000000000_8, 5000000000_8, skip)
    mine = count
    if (step == 2) then
      write (truth, '(a, i0)') 'work::exchange step ', step
      write (truth, '(a, g0.17)') 'work::exchange tolerance ', tolerance
      write (truth, '(a, i0)') 'work::exchange count ', count
      write (truth, '(a, i0)') 'work::exchange rank ', rank
      write (truth, '(a, a)') 'work::exchange skip ', trim(merge('true ', 'false', skip))
      write (truth, '(a, g0.9)') 'work::exchange ratio ', ratio
      write (truth, '(a, i0)') 'work::exchange big ', big
      write (truth, '(a, i0)') 'work::exchange mine ', mine
      flush (truth)
    end if
    if (.not. skip) then
      call MPI_Barrier(MPI_COMM_WORLD)
    end if
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (total < 0) print *, ratio, big, tolerance
  end subroutine
end module

program branch
  use work
  implicit none
  integer :: rank, step, count
  character(4096) :: directory
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, directory)
  write (directory, '(a, a, i0)') trim(directory), '/truth.', rank
  open (newunit=truth, file=directory)
  count = merge(7, 8, rank == 0)
  write (truth, '(a, i0)') 'branch count ', count
  write (truth, '(a, i0)') 'branch rank ', rank
  do step = 0, 4
    if (step == 2) write (truth, '(a, i0)') 'branch step ', step
    call exchange(step, merge(1d-6, 1d-3, rank == 0), count)
  end do
  call MPI_Finalize()
end program
