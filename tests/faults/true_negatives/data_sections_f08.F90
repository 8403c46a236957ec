! use mpi_f08: broadcasts and gathers of strided sections, with NaN between their elements. MPICH describes them by
! datatypes, and in Open MPI the compiler passes temporary copies. Correct.
!
! rollcall-test: ranks=4 data=full
! expect: none
program data_sections_f08
  use mpi_f08
  use, intrinsic :: ieee_arithmetic
  implicit none
  integer :: rank, i
  double precision :: matrix(4, 6), rows(3, 4)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  matrix = ieee_value(matrix, ieee_quiet_nan)
  rows = ieee_value(rows, ieee_quiet_nan)
  if (rank == 1) matrix(2, :) = [(10d0 + i, i = 1, 6)]
  call MPI_Bcast(matrix(2, :), 6, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD)
  call check(all(matrix(2, :) == [(10d0 + i, i = 1, 6)]) .and. count(matrix == matrix) == 6)
  call MPI_Bcast(matrix(2, 6:1:-2), 3, MPI_DOUBLE_PRECISION, 3, MPI_COMM_WORLD)
  call check(all(matrix(2, :) == [(10d0 + i, i = 1, 6)]) .and. count(matrix == matrix) == 6)
  matrix(2, :) = matrix(2, :) + 100 * rank
  call MPI_Gather(matrix(2, ::2), 3, MPI_DOUBLE_PRECISION, rows, 3, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    do i = 0, 3
      call check(all(rows(:, i + 1) == [11d0, 13d0, 15d0] + 100 * i))
    end do
  end if
  call MPI_Finalize()
contains
  subroutine check(is_right)
    logical, intent(in) :: is_right
    if (.not. is_right) call MPI_Abort(MPI_COMM_WORLD, 9)
  end subroutine check
end program data_sections_f08
