! mpif.h: rank 1 skips a barrier that all others call.
!
! rollcall-test: ranks=4 outcome=hung
! expect: kind=rank-conditional-collective culprits=1 waiting=0,2,3 op=MPI_Barrier seq=2
! expect+: certainty=proven
subroutine synchronise(rank)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: rank
  integer :: ierror, mine, total
  mine = rank
#ifdef FAULT
  if (rank /= 1) then
#else
  if (rank >= 0) then
#endif
    call MPI_Barrier(MPI_COMM_WORLD, ierror)  ! @waiting
  end if
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)  ! @culprit
  if (rank == 0) print *, 'total', total
end subroutine synchronise

program barrier_mpif
  implicit none
  include 'mpif.h'
  integer :: ierror, rank
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call synchronise(rank)
  call MPI_Finalize(ierror)
end program barrier_mpif
