! A routine determines the machine precision by MPI_ALLREDUCE in its first call. Rank 0 had called it before, on a
! communicator of its own, so that the others are alone in the reduction.
!
! report: opencollab/arpack-ng#46
! job: ranks=4 outcome=hung
! expect: kind=rank-conditional-collective|collective-mismatch culprits=0
module arnoldi
  use mpi
  implicit none
contains
  subroutine napps(comm, x)
    integer, intent(in) :: comm
    double precision, intent(inout) :: x
    logical, save :: first = .true.
    double precision, save :: eps = 0
    double precision :: mine
    integer :: ierr
    if (first) then
      mine = epsilon(mine)
      call MPI_ALLREDUCE(mine, eps, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
#ifndef CONTROL
      first = .false.
#endif
    end if
    call MPI_BCAST(x, 1, MPI_DOUBLE_PRECISION, 0, comm, ierr)
    x = x*(1 + eps)
  end subroutine napps

  double precision function iterate(comm, steps)
    integer, intent(in) :: comm, steps
    integer :: step
    iterate = 1
    do step = 1, steps
      call napps(comm, iterate)
    end do
  end function iterate
end module arnoldi

program eigenvalues
  use arnoldi
  implicit none
  integer :: ierr, rank, part
  double precision :: x
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, merge(0, MPI_UNDEFINED, rank == 0), rank, part, ierr)
  if (part /= MPI_COMM_NULL) then
    x = iterate(part, 3)
    call MPI_COMM_FREE(part, ierr)
  end if
  x = iterate(MPI_COMM_WORLD, 3)
  if (rank == 0) print *, 'x', x
  call MPI_FINALIZE(ierr)
end program eigenvalues
