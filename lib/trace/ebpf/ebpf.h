/* ebpf.h - the backend that observes from inside the kernel.
 *
 * Sees everything and stops no process: a process pays for its own records and never
 * waits for the tracer.  Needs the privilege to load programs (CAP_BPF and
 * CAP_PERFMON), or programs that are already loaded. */
#ifndef ROAR_TRACE_EBPF_EBPF_H
#define ROAR_TRACE_EBPF_EBPF_H

extern const struct tracer_ops tracer_ebpf;

#endif
