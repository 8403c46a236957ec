// SPDX-License-Identifier: Apache-2.0
// All of messages.c but what has no large count: included once for the plain functions and once for
// those with large counts, whose names NAME makes.

// Rank 1 has posted a receive before each, so that even a ready send may start.
SENDS(Send, send)
SENDS(Bsend, bsend)
SENDS(Ssend, ssend)
SENDS(Rsend, rsend)

Fill(rank);
if (rank == 0) {
  for (int i = 0; i < 4; ++i) DO(MPI_Send, MESSAGE);
} else {
  MPI_Message message = MPI_MESSAGE_NULL;
  DO(NAME(MPI_Recv), data, kCount, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
  DO(NAME(MPI_Recv_init), data, kCount, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
  DO(MPI_Start, &request);
  WAIT();
  DO(MPI_Request_free, &request);
  DO(MPI_Probe, 0, 1, comm, &status);
  DO(MPI_Mprobe, 0, MPI_ANY_TAG, comm, &message, &status);
  DO(NAME(MPI_Mrecv), data, kCount, MPI_INT, &message, MPI_STATUS_IGNORE);
  POLL(flag, MPI_Iprobe, 0, 1, comm, &flag, &status);
  POLL(flag, MPI_Improbe, MPI_ANY_SOURCE, 1, comm, &flag, &message, &status);
  DO(NAME(MPI_Imrecv), data, kCount, MPI_INT, &message, &request);
  WAIT();
  Observe(data, sizeof(data));
}

Fill(rank);
DO(NAME(MPI_Sendrecv), data, kCount, MPI_INT, other, 2, second, kCount, MPI_INT, other, 2, comm,
   &status);
Observe(second, sizeof(second));
DO(NAME(MPI_Sendrecv_replace), data, kCount, MPI_INT, other, 2, other, 2, comm, &status);
Observe(data, sizeof(data));

#if MPI_VERSION >= 4
Fill(rank);
DO(NAME(MPI_Isendrecv), data, kCount, MPI_INT, other, 2, second, kCount, MPI_INT, other, 2, comm,
   &request);
WAIT();
Observe(second, sizeof(second));
DO(NAME(MPI_Isendrecv_replace), data, kCount, MPI_INT, other, 2, other, 2, comm, &request);
WAIT();
Observe(data, sizeof(data));
#endif
