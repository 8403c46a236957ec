! Rank 2 takes part in no output, because its own settings turn the output off.
!
! rollcall-test: ranks=4 outcome=hung
! expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=MPI_Allreduce seq=1
! expect+: certainty=proven values=output:0/1
include "../../../proto/rollcall.f90"

program output_step
  use mpi_f08
  use rollcall
  implicit none
  integer :: rank, mine, total
  logical :: output
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
#ifdef FAULT
  output = rank /= 2
#else
  output = .true.
#endif
  call rollcall_value("output", output)
  call rollcall_value("ranks", 4)
  call rollcall_value("tolerance", 1.0d-3)
  mine = 1
  if (output) then
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)  ! @waiting
  end if
  call MPI_Barrier(MPI_COMM_WORLD)  ! @culprit
  if (rank == 0) print *, 'done', mine
  call MPI_Finalize()
end program output_step
