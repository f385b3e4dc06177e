/* coord_figures.c - see coord_figures.h */
#include "coord_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"
#include "coord_load.h"

enum { MAX_SAMPLES = 4 << 20 }; /* beyond that calls are only counted */

static struct {
	uint32_t *ns;
	size_t n, cap;
	uint64_t n_calls;
	int64_t cpu_ns, wall_ns; /* of the server, of the clock */
} figures;

static int64_t server_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (!pid || clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &t) < 0)
		return 0;
	return clock_timespec_ns(t);
}

void figures_begin(pid_t server)
{
	figures.n = 0;
	figures.n_calls = 0;
	figures.cpu_ns = -server_cpu_ns(server);
	figures.wall_ns = -clock_mono_ns();
}

void figures_end(pid_t server)
{
	figures.cpu_ns += server_cpu_ns(server);
	figures.wall_ns += clock_mono_ns();
}

void figures_add(int64_t ns)
{
	uint32_t *to;

	figures.n_calls++;
	if (figures.n == MAX_SAMPLES)
		return;
	to = VEC_PUSH(figures.ns, figures.n, figures.cap);
	if (!to)
		die("no memory");
	*to = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double at_us(double part)
{
	size_t i = (size_t)(part * (double)figures.n);

	return figures.ns[i < figures.n ? i : figures.n - 1] / 1e3;
}

void figures_print(void)
{
	double seconds = (double)figures.wall_ns / 1e9;

	if (!figures.n)
		die("nothing was measured");
	qsort(figures.ns, figures.n, sizeof(*figures.ns), compare);
	printf("{\"n\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, "
	       "\"p999_us\": %.1f, \"max_us\": %.1f, \"per_s\": %.0f, "
	       "\"server_us\": %.3f, \"server_busy\": %.3f}\n",
	       figures.n, at_us(0.5), at_us(0.99), at_us(0.999), at_us(1.0),
	       (double)figures.n_calls / seconds,
	       (double)figures.cpu_ns / 1e3 / (double)figures.n_calls,
	       (double)figures.cpu_ns / (double)figures.wall_ns);
	free(figures.ns);
}
