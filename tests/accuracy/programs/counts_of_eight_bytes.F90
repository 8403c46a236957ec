! The counts of MPI_GATHERV are integer*8: MPI reads 4000, 0, 4000 at the root, and rank 1 sends 4000.
!
! report: 2decomp-fft/2decomp-fft#147, open-mpi/ompi#7056
! job: ranks=3 outcome=hung
! expect: kind=count-mismatch culprits=0|0,1
! says: MPI_Gatherv
program gather_pencils
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, nranks, i
#ifdef CONTROL
  integer, allocatable :: counts(:), displs(:)
#else
  integer(8), allocatable :: counts(:), displs(:)
#endif
  double precision :: mine(4000)
  double precision, allocatable :: all(:)
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
  allocate (counts(nranks), displs(nranks), all(4000*nranks))
  do i = 1, nranks
    counts(i) = 4000
    displs(i) = 4000*(i - 1)
  end do
  mine = rank
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  call MPI_GATHERV(mine, 4000, MPI_DOUBLE_PRECISION, all, counts, displs, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'sum', sum(all)
  call MPI_FINALIZE(ierr)
end program
