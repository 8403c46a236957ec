! Rank 1 finds its input wrong and executes ERROR STOP, without MPI_Finalize.
!
! rollcall-test: ranks=3 outcome=hung
! launcher[openmpi]: --enable-recovery
! launcher[mpich]: -disable-auto-cleanup sh -c '"$@" || exec sleep 8' sh
! expect: kind=uncaught-exception culprits=1 waiting=0,2 op=MPI_Allreduce seq=2 certainty=proven
program stop_f08
  use mpi_f08
  implicit none
  integer :: rank, token
  double precision :: mine, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  mine = rank
  call MPI_Barrier(MPI_COMM_WORLD)
  ! The others have come this far before rank 1 goes: messages that they need may go with it.
  token = 0
  if (rank == 1) then
    call MPI_Recv(token, 1, MPI_INTEGER, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Recv(token, 1, MPI_INTEGER, 2, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  else
    call MPI_Send(token, 1, MPI_INTEGER, 1, 99, MPI_COMM_WORLD)
  end if
#ifdef FAULT
  if (rank == 1) call read_input()
#endif
  call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)  ! @waiting
  if (rank == 0) print *, 'total', total
  call MPI_Finalize()
#ifdef FAULT
contains
  subroutine read_input()
    error stop 'no such input'  ! @culprit
  end subroutine read_input
#endif
end program stop_f08
