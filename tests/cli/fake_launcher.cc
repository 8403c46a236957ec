// Stands for Open MPI's launcher in tests: prints the fork agent that it would use.
#include <cstdio>
#include <cstdlib>

int main() {
  const char* agent = getenv("OMPI_MCA_orte_fork_agent");
  puts(agent == nullptr ? "" : agent);
}
