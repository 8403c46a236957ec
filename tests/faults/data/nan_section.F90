! use mpi: rows of a matrix are reduced. A row is a strided section, of which the compiler passes a temporary
! copy. On rank 1, in the third row, a column's norm is 0 and the normalised value is 0/0.
!
! rollcall-test: ranks=4 data=full check=
! expect: kind=non-finite-input culprits=1 waiting=none op=MPI_Allreduce seq=3 certainty=proven
program nan_section
  use mpi
  implicit none
  integer, parameter :: rows = 5, columns = 400
  integer :: comm, precision, ierror, rank, row, column
  double precision :: matrix(rows, columns), total(rows, columns), norm(rows, columns)
  call MPI_Init(ierror)
  comm = MPI_COMM_WORLD
  precision = MPI_DOUBLE_PRECISION
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  do column = 1, columns
    do row = 1, rows
      matrix(row, column) = rank + row * 0.5d0 + column * 0.25d0
      norm(row, column) = row + column
    end do
  end do
#ifdef FAULT
  if (rank == 1) then
    matrix(3, 222) = 0
    norm(3, 222) = 0
  end if
#endif
  matrix = matrix / norm
  total = 0
  do row = 1, rows
    call MPI_Allreduce(matrix(row, :), total(row, :), columns, precision, MPI_SUM, comm, ierror)  ! @culprit
  end do
#ifdef FAULT
  if (count(total /= total) /= 1) call MPI_Abort(MPI_COMM_WORLD, 9, ierror)
#else
  if (any(total /= total)) call MPI_Abort(MPI_COMM_WORLD, 9, ierror)
#endif
  if (rank == 0) print *, 'total', total(1, 1)
  call MPI_Finalize(ierror)
end program nan_section
