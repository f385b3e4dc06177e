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

/* With a sixth argument that is cleared from its register after the call. */
static inline long raw_call_marked(long nr, long a, long b, long c, long d,
				   long mark)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = mark;
	long result;

	__asm__ volatile("syscall\n\txor %%r9d, %%r9d"
			 : "=a"(result), "+r"(r9)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "cc", "memory");
	return result;
}

#endif
