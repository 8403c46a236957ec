// SPDX-License-Identifier: Apache-2.0
// Stands for Open MPI's launcher in tests: prints the fork agents that 4.1 and 5.0 would use.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

int main() {
  for (const char* name : {"OMPI_MCA_orte_fork_agent", "PRTE_MCA_odls_base_exec_agent"}) {
    const char* agent = getenv(name);
    puts(agent == nullptr ? "" : agent);
  }
}
