// SPDX-License-Identifier: Apache-2.0
// Brings plugin.c and the libraries that it uses together, and does nothing.
int Root(void);
int Root(void) { return 0; }
