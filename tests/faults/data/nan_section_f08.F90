! use mpi_f08: rows of a matrix are reduced. A row is a strided section, of which the compiler passes a temporary
! copy. (MPICH 4.0 passes a datatype instead, and refuses to sum it.) On rank 1, in the third row, a column's norm is 0
! and the normalised value is 0/0.
!
! rollcall-test: ranks=4 mpi=openmpi data=full check=
! expect: kind=non-finite-input culprits=1 waiting=none op=MPI_Allreduce seq=3 certainty=proven
program nan_section_f08
  use mpi_f08
  implicit none
  integer, parameter :: rows = 5, columns = 400
  integer :: rank, row, column
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: precision
  double precision :: matrix(rows, columns), total(rows, columns), norm(rows, columns)
  call MPI_Init()
  comm = MPI_COMM_WORLD
  precision = MPI_DOUBLE_PRECISION
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
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
    call MPI_Allreduce(matrix(row, :), total(row, :), columns, precision, MPI_SUM, comm)  ! @culprit
  end do
#ifdef FAULT
  if (count(total /= total) /= 1) call MPI_Abort(MPI_COMM_WORLD, 9)
#else
  if (any(total /= total)) call MPI_Abort(MPI_COMM_WORLD, 9)
#endif
  if (rank == 0) print *, 'total', total(1, 1)
  call MPI_Finalize()
end program nan_section_f08
