/* cpus.h - the number of usable CPUs. */
#ifndef ROAR_BASE_CPUS_H
#define ROAR_BASE_CPUS_H

/* The number of CPUs that this thread may run on; at least 1. */
unsigned cpus_allowed(void);

#endif
