/* What compile_cost.py asks of callgrind while it runs a program. Outside of valgrind these do nothing. */

#include <valgrind/callgrind.h>

int is_counting(void) { return RUNNING_ON_VALGRIND != 0; }

void start_counting(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void stop_counting(const char* name) {
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
}
