! use mpi_f08: rank 3's loop runs once less than every other rank's.
!
! rollcall-test: ranks=4 outcome=hung
! expect: kind=uneven-iterations culprits=3 waiting=0-2 op=MPI_Allreduce seq=5 certainty=proven
program uneven_f08
  use mpi_f08
  implicit none
  integer :: rank, step, steps
  double precision :: mine, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
#ifdef FAULT
  steps = merge(4, 5, rank == 3)
#else
  steps = 5
#endif
  mine = 1
  do step = 1, steps
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)  ! @waiting
    mine = total / 4
  end do
  call MPI_Barrier(MPI_COMM_WORLD)  ! @culprit
  if (rank == 0) print *, 'total', total
  call MPI_Finalize()
end program uneven_f08
