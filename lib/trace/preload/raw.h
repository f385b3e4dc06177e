/* raw.h - system calls without libc.
 *
 * For code that runs inside other people's programs: no errno, no cancellation
 * point, nothing that another library may have replaced.  Results are those of
 * the kernel: negative errno on failure. */
#ifndef ROAR_TRACE_PRELOAD_RAW_H
#define ROAR_TRACE_PRELOAD_RAW_H

#include <sys/syscall.h>

#if defined(__x86_64__)
#include "trace/preload/raw_x86_64.h"
#elif defined(__aarch64__)
#include "trace/preload/raw_aarch64.h"
#else
#error "no raw system calls for this architecture"
#endif

/* raw_call(nr, ...) with up to six arguments of any scalar type. */
#define RAW_SIX(nr, a, b, c, d, e, f, ...)                                   \
	raw_call6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
		  (long)(f))
#define raw_call(nr, ...) RAW_SIX(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

#endif
