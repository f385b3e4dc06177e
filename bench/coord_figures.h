/* coord_figures.h - how long calls took, and what they cost the server.
 *
 * Of one stretch of time in a process: begin, add, end, print. */
#ifndef BENCH_COORD_FIGURES_H
#define BENCH_COORD_FIGURES_H

#include <stdint.h>
#include <sys/types.h>

/* `server` is the process whose CPU time is told; 0 for nobody's. */
void figures_begin(pid_t server);
void figures_add(int64_t ns);
void figures_end(pid_t server);
/* One JSON object: percentiles in us, calls a second, CPU of the server a call. */
void figures_print(void);

#endif
