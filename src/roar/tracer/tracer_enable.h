/* tracer_enable.h - enables eBPF for all users, and disables it.
 *
 * All steps are commands that a user could type.  They are printed first, and run (with
 * sudo, unless root) only after confirmation. */
#ifndef ROAR_TRACER_ENABLE_H
#define ROAR_TRACER_ENABLE_H

#include "cli/cli.h"

/* Both return an exit status. */
int tracer_enable(const struct args *args);
int tracer_disable(const struct args *args);

#endif
