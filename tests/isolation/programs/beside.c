/* SPDX-License-Identifier: Apache-2.0 */
/* A library that was linked with the other MPI, and does not call it. */
int Beside(void);
int Beside(void) { return 0; }
