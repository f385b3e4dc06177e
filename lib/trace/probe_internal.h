/* probe_internal.h - between probe.c and probe_cache.c */
#ifndef ROAR_TRACE_PROBE_INTERNAL_H
#define ROAR_TRACE_PROBE_INTERNAL_H

#include "trace/probe.h"

/* Fetches the remembered refusal of this backend into `why`; false when there is none. */
bool probe_recall(const struct tracer_ops *ops, char *why, size_t size);

/* Does this process have all capabilities of the mask? */
bool probe_has_capabilities(unsigned long long mask);
unsigned long long probe_capabilities(void);

#endif
