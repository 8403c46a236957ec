// SPDX-License-Identifier: Apache-2.0
// The transfers into a window, with a request and without, for windows.c: included once for the
// plain functions and once for those with large counts, whose names NAME makes. Rank 0 does them.
DO(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, 1, 0, window);
DO(NAME(MPI_Rput), FROM(value), AT(0), window, &request);
WAIT(request);
DO(MPI_Win_flush, 1, window);
DO(NAME(MPI_Raccumulate), FROM(value), AT(0), MPI_SUM, window, &request);
WAIT(request);
DO(MPI_Win_flush_all, window);
DO(NAME(MPI_Rget), FROM(got), AT(0), window, &request);
WAIT(request);
Observe(&got, sizeof(got));
DO(NAME(MPI_Rget_accumulate), FROM(value), FROM(got), AT(0), MPI_SUM, window, &request);
WAIT(request);
DO(MPI_Win_flush_local, 1, window);
Observe(&got, sizeof(got));
DO(NAME(MPI_Put), FROM(value), AT(1), window);
DO(NAME(MPI_Accumulate), FROM(value), AT(0), MPI_SUM, window);
DO(MPI_Win_flush, 1, window);
DO(NAME(MPI_Get), FROM(got), AT(0), window);
DO(MPI_Win_flush, 1, window);
Observe(&got, sizeof(got));
DO(NAME(MPI_Get_accumulate), FROM(value), FROM(got), AT(0), MPI_SUM, window);
DO(MPI_Win_unlock, 1, window);
Observe(&got, sizeof(got));
