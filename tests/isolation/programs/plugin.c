/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice with different frames, PLUGIN 1 and 2: calls back through a frame of its own. */
#include <string.h>

int PluginCall(int (*call)(void)) {
#if PLUGIN == 1
  volatile char room[64];
#else
  volatile char room[4096];
#endif
  memset((char*)room, PLUGIN, sizeof(room));
  const int result = call();
  return result + room[sizeof(room) - 1];
}
