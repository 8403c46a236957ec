! As takes_another_sender.c, in Fortran, whose bindings call the library in another way.
!
! schedules-test: ranks=3 finds=hang by=first
program takes_another_sender
  use mpi
  implicit none
  integer :: rank, value, error, source

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  value = rank
#ifdef FAULT
  source = MPI_ANY_SOURCE
#else
  source = 2
#endif
  if (rank == 0) then
    call MPI_Recv(value, 1, MPI_INTEGER, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Recv(value, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    print '(a, i0)', 'received from rank ', value
  else
    if (rank == 1) call sleep(1)
    call MPI_Send(value, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, error)
  end if
  call MPI_Finalize(error)
end program takes_another_sender
