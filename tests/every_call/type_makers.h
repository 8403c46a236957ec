// SPDX-License-Identifier: Apache-2.0
// Every function that makes a datatype and has a form with large counts, for local_calls.c:
// included once for the plain functions and once for the others, whose names NAME makes and whose
// counts COUNTS are.
{
  const COUNTS lengths[2] = {1, 2};
  const COUNTS places[2] = {0, 2};
  const AINTS bytes[2] = {0, 8};
  const COUNTS sizes[2] = {4, 4};
  const COUNTS parts[2] = {2, 2};
  const COUNTS starts[2] = {1, 1};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  const int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
  const int defaults[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[2] = {2, 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  DO(NAME(MPI_Type_contiguous), 3, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_vector), 2, 1, 2, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_hvector), 2, 1, 8, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_indexed), 2, lengths, places, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_hindexed), 2, lengths, bytes, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_indexed_block), 2, 1, places, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_hindexed_block), 2, 1, bytes, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_struct), 2, lengths, bytes, types, &type);
  Use(type);
  DO(NAME(MPI_Type_create_subarray), 2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_darray), 2, 0, 2, sizes, distributions, defaults, grid, MPI_ORDER_C,
     MPI_INT, &type);
  Use(type);
  DO(NAME(MPI_Type_create_resized), MPI_INT, 0, 8, &type);
  Use(type);
}
