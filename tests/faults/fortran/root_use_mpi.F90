! use mpi: rank 2 takes itself for the root of a broadcast; all return, with different values.
!
! rollcall-test: ranks=4 outcome=finished
! expect: kind=root-mismatch culprits=2 waiting=none op=MPI_Bcast seq=2 certainty=proven
program root_use_mpi
  use mpi
  implicit none
  integer :: ierror, rank, root, value
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  value = rank + 10
#ifdef FAULT
  root = merge(2, 0, rank == 2)
#else
  root = 0
#endif
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Bcast(value, 1, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)  ! @culprit @waiting
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) print *, 'value', value
  call MPI_Finalize(ierror)
end program root_use_mpi
