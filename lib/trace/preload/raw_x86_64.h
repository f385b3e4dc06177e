/* raw_x86_64.h - see raw.h. */
#ifndef ROAR_TRACE_PRELOAD_RAW_X86_64_H
#define ROAR_TRACE_PRELOAD_RAW_X86_64_H

static inline long raw_call6(long nr, long a, long b, long c, long d, long e,
			     long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
