/* hot.c - see hot.h */
#include "trace/ptrace/hot.h"

#include <unistd.h>

enum {
	WINDOW_NS = 2000000, /* stops are judged over this time... */
	STOPS_MIN = 12, /* ...and must be at least so many */
	OTHERS_SHARE = 8, /* others may cause at most one in so many */
	BARRED_NS = 20000000,
};

void hot_init(struct hot *h)
{
	*h = (struct hot){ 0 };
	h->possible = sched_getaffinity(0, sizeof(h->tracer_cpus),
					&h->tracer_cpus) == 0 &&
		      CPU_COUNT(&h->tracer_cpus) > 1;
}

static void give_back(struct hot *h)
{
	if (!h->borrowed)
		return;
	(void)sched_setaffinity(h->borrowed, sizeof(h->thread_cpus),
				&h->thread_cpus);
	(void)sched_setaffinity(0, sizeof(h->tracer_cpus), &h->tracer_cpus);
	h->returned = h->borrowed;
	h->borrowed = 0;
}

static bool bind_both(struct hot *h, pid_t tid)
{
	int cpu = sched_getcpu();

	h->returned = 0;
	if (cpu < 0 ||
	    sched_getaffinity(tid, sizeof(h->thread_cpus), &h->thread_cpus) < 0)
		return false;
	if (!CPU_ISSET(cpu, &h->thread_cpus))
		return false;
	CPU_ZERO(&h->loan_cpu);
	CPU_SET(cpu, &h->loan_cpu);
	if (sched_setaffinity(0, sizeof(h->loan_cpu), &h->loan_cpu) < 0)
		return false;
	h->borrowed = tid;
	if (sched_setaffinity(tid, sizeof(h->loan_cpu), &h->loan_cpu) < 0) {
		give_back(h);
		return false;
	}
	return true;
}

static void new_window(struct hot *h, pid_t tid, int64_t now_ns)
{
	h->candidate = tid;
	h->n_stops = 1;
	h->n_others = 0;
	h->start_ns = now_ns;
}

/* Did one thread cause nearly all stops? */
static bool is_lonely(const struct hot *h)
{
	return h->n_others * OTHERS_SHARE <= h->n_stops;
}

bool hot_stop(struct hot *h, pid_t tid, int64_t now_ns)
{
	bool began = false;

	if (!h->possible)
		return false;
	h->n_total++;
	if (tid == h->candidate)
		h->n_stops++;
	else
		h->n_others++;
	if (h->borrowed && !is_lonely(h) && h->n_others > STOPS_MIN / 2)
		give_back(h);
	/* Enough stops in a short time are sufficient: begin before the window ends. */
	if (!h->borrowed && h->n_stops >= STOPS_MIN && is_lonely(h) &&
	    now_ns - h->start_ns < WINDOW_NS && now_ns >= h->barred_until_ns)
		began = bind_both(h, h->candidate);
	if (now_ns - h->start_ns >= WINDOW_NS)
		new_window(h, tid, now_ns);
	return began;
}

bool hot_tick(struct hot *h)
{
	if (h->borrowed && h->n_total - h->n_last_tick < STOPS_MIN)
		give_back(h);
	h->n_last_tick = h->n_total;
	return h->borrowed != 0;
}

void hot_end(struct hot *h, int64_t now_ns)
{
	give_back(h);
	h->barred_until_ns = now_ns + BARRED_NS;
}

static bool is_bound(const struct hot *h, pid_t tid)
{
	cpu_set_t cpus;

	return sched_getaffinity(tid, sizeof(cpus), &cpus) == 0 &&
	       CPU_EQUAL(&cpus, &h->loan_cpu);
}

void hot_forked(struct hot *h, pid_t parent, pid_t child)
{
	bool on_loan = h->borrowed == parent;

	/* A parent that is bound without a loan has set that affinity itself. */
	if (!on_loan && (h->returned != parent || is_bound(h, parent) ||
			 !is_bound(h, child)))
		return;
	(void)sched_setaffinity(child, sizeof(h->thread_cpus), &h->thread_cpus);
	if (on_loan)
		give_back(h);
}

void hot_renamed(struct hot *h, pid_t former, pid_t tid)
{
	if (former != tid)
		hot_gone(h, tid);
	if (h->borrowed && h->borrowed == former)
		h->borrowed = tid;
}

void hot_gone(struct hot *h, pid_t tid)
{
	if (h->returned == tid)
		h->returned = 0;
	if (h->borrowed != tid)
		return;
	h->borrowed = 0;
	(void)sched_setaffinity(0, sizeof(h->tracer_cpus), &h->tracer_cpus);
}
