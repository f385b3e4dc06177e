/* raw_aarch64.h - see raw.h. */
#ifndef ROAR_TRACE_PRELOAD_RAW_AARCH64_H
#define ROAR_TRACE_PRELOAD_RAW_AARCH64_H

static inline long raw_call6(long nr, long a, long b, long c, long d, long e,
			     long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* With a sixth argument that is cleared from its register after the call. */
static inline long raw_call_marked(long nr, long a, long b, long c, long d,
				   long mark)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = 0;
	register long x5 __asm__("x5") = mark;

	__asm__ volatile("svc #0\n\tmov x5, xzr"
			 : "+r"(x0), "+r"(x5)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}

#endif
