/* arena_stream.c - the arena from C: what a small unit costs, how soon it is there, how fast
 * bytes get in.
 *
 *	arena_stream [SECONDS]		prints one JSON object
 *
 * Each figure has its bound of the same machine and minute beside it: a bare futex between
 * two processes for the latency of a sleeper, the best of several loops of stores past
 * the caches for the copy. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <roar/arena.h>

#include "base/clock.h"

static void die(const char *what)
{
	(void)fprintf(stderr, "arena_stream: %s: %s\n", what,
		      roar_arena_error());
	exit(1);
}

static struct roar_arena *join(int fd, unsigned roles)
{
	struct roar_arena *a = NULL;

	if (roar_arena_attach(fd, &a) < 0 || roar_arena_join(a, roles, 0) < 0)
		die("join");
	return a;
}

static struct roar_arena *create(struct roar_arena_config config)
{
	struct roar_arena *a = NULL;

	if (roar_arena_create(&config, &a) < 0)
		die("create");
	return a;
}

static pid_t start(void (*body)(int fd, double seconds), int fd, double seconds)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		body(fd, seconds);
		_exit(0);
	}
	return pid;
}

static void send_small(struct roar_arena *a, uint64_t tag)
{
	struct roar_arena_unit *u = NULL;

	if (roar_arena_reserve(a, NULL, 0, 16, ROAR_ARENA_FOREVER, &u) < 0)
		die("reserve");
	memcpy(u->envelope, &tag, sizeof(tag));
	if (roar_arena_commit(u, tag) < 0)
		die("commit");
}

/* ---- streaming ---- */

enum { STOP = 1 };

static void stream(int fd, double seconds)
{
	struct roar_arena *a = join(fd, ROAR_ARENA_PRODUCER);
	int64_t end = clock_mono_ns() + (int64_t)(seconds * 1e9);
	uint64_t tag = 2;

	do
		for (int i = 0; i < 1024; i++)
			send_small(a, tag++);
	while (clock_mono_ns() < end);
	send_small(a, STOP);
	roar_arena_close(a);
}

static double units_per_s(double seconds)
{
	struct roar_arena *a = create(
		(struct roar_arena_config){ .size_bytes = 1 << 20,
					    .n_units = 256 });
	struct roar_arena_unit *u = NULL;
	int64_t began = 0;
	uint64_t n = 0;
	bool more = true;
	pid_t pid;

	if (roar_arena_join(a, ROAR_ARENA_CONSUMER, 0) < 0)
		die("join");
	pid = start(stream, roar_arena_fd(a), seconds);
	while (more) {
		if (roar_arena_receive(a, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER,
				       &u) < 0)
			die("receive");
		if (!n++)
			began = clock_mono_ns();
		more = u->tag != STOP;
		roar_arena_release(u);
	}
	double result = (double)n / (double)(clock_mono_ns() - began) * 1e9;

	(void)waitpid(pid, NULL, 0);
	roar_arena_close(a);
	return result;
}

/* ---- latency ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

enum { SAMPLES = 200, ROUNDS = 30 };

struct latency {
	double p50_us;
	double p99_us;
};

static struct latency summary(double *us, size_t n)
{
	qsort(us, n, sizeof(*us), compare);
	return (struct latency){ us[n / 2], us[n * 99 / 100] };
}

/* Each side has a CPU of its own: what is measured is the way between them. */
static void use_cpu(unsigned i)
{
	cpu_set_t all;
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && i-- == 0)
			CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/* A pause between two, so that the reader is asleep, or polls with nothing in its way. */
static void wait_us(int64_t us)
{
	int64_t end = clock_mono_ns() + us * 1000;

	while (clock_mono_ns() < end)
		;
}

static void send_times(int fd, double us)
{
	struct roar_arena *a = join(fd, ROAR_ARENA_PRODUCER);

	use_cpu(1);
	(void)usleep(20000);
	for (int i = 0; i < SAMPLES; i++) {
		wait_us((int64_t)us);
		send_small(a, (uint64_t)clock_mono_ns());
	}
	(void)usleep(20000);
	roar_arena_close(a);
}

static struct latency arena_latency(long long spin_ns, double pause_us)
{
	static double us[SAMPLES];
	struct roar_arena *a = create(
		(struct roar_arena_config){ .size_bytes = 1 << 20,
					    .n_units = 64 });
	struct roar_arena_unit *u = NULL;
	cpu_set_t before;
	pid_t pid;

	if (roar_arena_join(a, ROAR_ARENA_CONSUMER, 0) < 0)
		die("join");
	roar_arena_spin(a, spin_ns);
	(void)sched_getaffinity(0, sizeof(before), &before);
	pid = start(send_times, roar_arena_fd(a), pause_us);
	use_cpu(0);
	for (int i = 0; i < SAMPLES; i++) {
		if (roar_arena_receive(a, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER,
				       &u) < 0)
			die("receive");
		us[i] = (double)(clock_mono_ns() - (int64_t)u->tag) / 1e3;
		roar_arena_release(u);
	}
	(void)waitpid(pid, NULL, 0);
	(void)sched_setaffinity(0, sizeof(before), &before);
	roar_arena_close(a);
	return summary(us, SAMPLES);
}

struct bare {
	_Atomic uint32_t word;
	_Atomic int64_t sent_ns;
};

/* The least that a wake-up costs: a word, a wake, a sleeper. */
static struct latency futex_latency(double pause_us)
{
	static double us[SAMPLES];
	struct bare *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t before;
	pid_t pid;

	(void)sched_getaffinity(0, sizeof(before), &before);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		use_cpu(1);
		(void)usleep(20000);
		for (int i = 0; i < SAMPLES; i++) {
			wait_us((int64_t)pause_us);
			atomic_store(&b->sent_ns, clock_mono_ns());
			atomic_fetch_add(&b->word, 1);
			(void)syscall(SYS_futex, &b->word, FUTEX_WAKE, 1, NULL,
				      NULL, 0);
		}
		_exit(0);
	}
	use_cpu(0);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		while (atomic_load(&b->word) <= i)
			(void)syscall(SYS_futex, &b->word, FUTEX_WAIT, i, NULL,
				      NULL, 0);
		us[i] = (double)(clock_mono_ns() - atomic_load(&b->sent_ns)) /
			1e3;
	}
	(void)waitpid(pid, NULL, 0);
	(void)sched_setaffinity(0, sizeof(before), &before);
	(void)munmap(b, 4096);
	return summary(us, SAMPLES);
}

/* ---- copying ---- */

typedef void (*copy_fn)(void *to, const void *from, size_t len);

static void copy_plain(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void
copy_512(void *to, const void *from, size_t len)
{
	for (size_t i = 0; i < len; i += 64)
		_mm512_stream_si512((__m512i *)((char *)to + i),
				    _mm512_loadu_si512((const char *)from + i));
	_mm_sfence();
}

__attribute__((target("avx512f"))) static void
copy_512_ahead(void *to, const void *from, size_t len)
{
	for (size_t i = 0; i < len; i += 64) {
		_mm_prefetch((const char *)from + i + 1024, _MM_HINT_NTA);
		_mm512_stream_si512((__m512i *)((char *)to + i),
				    _mm512_loadu_si512((const char *)from + i));
	}
	_mm_sfence();
}

__attribute__((target("avx2"))) static void copy_256(void *to, const void *from,
						     size_t len)
{
	for (size_t i = 0; i < len; i += 32)
		_mm256_stream_si256(
			(__m256i *)((char *)to + i),
			_mm256_loadu_si256(
				(const __m256i *)((const char *)from + i)));
	_mm_sfence();
}

static void copy_movsb(void *to, const void *from, size_t len)
{
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(len)
			 :
			 : "memory");
}
#endif

static void copy_arena(void *to, const void *from, size_t len)
{
	roar_arena_copy(to, from, len, len);
}

enum { COPY = 32 << 20, SOURCES = 4, TURNS = 40 };

static const struct {
	const char *name;
	copy_fn copy;
} copies[] = {
	{ "arena", copy_arena },     { "memcpy", copy_plain },
#ifdef __x86_64__
	{ "rep_movsb", copy_movsb }, { "avx2", copy_256 },
	{ "avx512", copy_512 },	     { "avx512_ahead", copy_512_ahead },
#endif
};

enum { COPIES = sizeof(copies) / sizeof(*copies) };

static bool works(size_t i)
{
#ifdef __x86_64__
	if (strncmp(copies[i].name, "avx512", 6) == 0)
		return __builtin_cpu_supports("avx512f");
	if (strcmp(copies[i].name, "avx2") == 0)
		return __builtin_cpu_supports("avx2");
#endif
	return i < COPIES;
}

/* GB/s of the best turn of each, all in turn: others use the machine too.  No source is
 * used again before the others, so that none is in the caches. */
static void measure_copies(char *to, char *const *from, double *rates)
{
	size_t n = 0;

	for (int turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < COPIES; i++) {
			int64_t began = clock_mono_ns();
			double rate;

			if (!works(i))
				continue;
			copies[i].copy(to, from[n++ % SOURCES], COPY);
			rate = COPY / (double)(clock_mono_ns() - began);
			rates[i] = rate > rates[i] ? rate : rates[i];
		}
}

static void print_copies(void)
{
	char *to = mmap(NULL, COPY, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *from[SOURCES];
	double rates[COPIES] = { 0 };
	double best = 0;

	for (int i = 0; i < SOURCES; i++) {
		from[i] = mmap(NULL, COPY, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(from[i], i, COPY);
	}
	memset(to, 1, COPY);
	measure_copies(to, from, rates);
	for (size_t i = 0; i < COPIES; i++) {
		(void)printf("  \"copy_%s_gb_s\": %.2f,\n", copies[i].name,
			     rates[i]);
		best = i && rates[i] > best ? rates[i] : best;
	}
	(void)printf("  \"copy_of_best\": %.3f\n", rates[0] / best);
}

/* The round with the least median: others use the machine too. */
static void keep_best(struct latency *best, struct latency l)
{
	if (best->p50_us == 0 || l.p50_us < best->p50_us)
		*best = l;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	struct latency polls = { 0 };
	struct latency sleeps = { 0 };
	struct latency bare = { 0 };

	(void)printf("{\n  \"units_per_s\": %.0f,\n", units_per_s(seconds));
	for (int i = 0; i < ROUNDS; i++) {
		keep_best(&polls, arena_latency(ROAR_ARENA_FOREVER, 20));
		keep_best(&bare, futex_latency(200));
		keep_best(&sleeps, arena_latency(0, 200));
	}
	(void)printf(
		"  \"polling_p50_us\": %.2f,\n  \"polling_p99_us\": %.2f,\n",
		polls.p50_us, polls.p99_us);
	(void)printf("  \"futex_p50_us\": %.2f,\n  \"futex_p99_us\": %.2f,\n",
		     bare.p50_us, bare.p99_us);
	(void)printf(
		"  \"sleeping_p50_us\": %.2f,\n  \"sleeping_p99_us\": %.2f,\n"
		"  \"sleeping_of_futex\": %.3f,\n",
		sleeps.p50_us, sleeps.p99_us, sleeps.p50_us / bare.p50_us);
	print_copies();
	(void)printf("}\n");
	return 0;
}
