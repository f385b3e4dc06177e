/* tracer_enable.h - eBPF for everybody: what it takes, and its undoing.
 *
 * All steps are commands that a user could type; they are printed first, and run
 * (with sudo where we are not root) only after a yes. */
#ifndef ROAR_TRACER_ENABLE_H
#define ROAR_TRACER_ENABLE_H

#include "cli/cli.h"

/* Both return an exit status. */
int tracer_enable(const struct args *args);
int tracer_disable(const struct args *args);

#endif
