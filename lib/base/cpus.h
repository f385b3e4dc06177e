/* cpus.h - how many CPUs there are for us. */
#ifndef ROAR_BASE_CPUS_H
#define ROAR_BASE_CPUS_H

/* Those that this thread may run on; at least 1. */
unsigned cpus_allowed(void);

#endif
