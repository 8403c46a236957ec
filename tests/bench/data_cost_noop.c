/* SPDX-License-Identifier: Apache-2.0 */
/* Behind librollcall.so in LD_PRELOAD: a reduction that does nothing, for data_cost.c. */
int MPI_Allreduce(const void* in, void* out, int count, void* type, void* op, void* comm) {
  (void)in, (void)out, (void)count, (void)type, (void)op, (void)comm;
  return 0;
}
