! The last rank serves output. When it is told that the model is done, it finalizes MPI without the barrier in which the
! ranks of the model wait.
!
! report: DOI-USGS/COAWST#217
! job: ranks=4 outcome=hung
! expect: kind=rank-conditional-collective|finalized-early culprits=3
module quilting
  use mpi
  implicit none
  integer, parameter :: tag_field = 1, tag_done = 2
  integer :: rank, nranks, server
contains
  subroutine serve()
    integer :: ierr, status(MPI_STATUS_SIZE), left, n
    double precision :: field(100), written
    left = nranks - 1
    written = 0
    do while (left > 0)
      call MPI_RECV(field, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      if (status(MPI_TAG) == tag_done) then
        left = left - 1
      else
        call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, n, ierr)
        written = written + n
      end if
    end do
    print *, 'written', written
  end subroutine serve

  subroutine integrate(steps)
    integer, intent(in) :: steps
    integer :: step, ierr
    double precision :: field(100)
    do step = 1, steps
      field = step
      call MPI_SEND(field, 100, MPI_DOUBLE_PRECISION, server, tag_field, MPI_COMM_WORLD, ierr)
    end do
    call MPI_SEND(field, 0, MPI_DOUBLE_PRECISION, server, tag_done, MPI_COMM_WORLD, ierr)
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  end subroutine integrate
end module quilting

program coupled
  use quilting
  implicit none
  integer :: ierr
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
  server = nranks - 1
  if (rank == server) then
    call serve()
#ifdef CONTROL
    call MPI_BARRIER(MPI_COMM_WORLD, ierr)
#endif
  else
    call integrate(5)
  end if
  call MPI_FINALIZE(ierr)
end program coupled
