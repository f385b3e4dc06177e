/* ha_workers.c - workers that meet again and again, whichever coordinator leads.
 *
 *	ha_workers ADDRESSES WORKERS [PAUSE_MS]
 *
 * All workers of one process join a job and come to one barrier after the other, PAUSE_MS (50)
 * apart; one more sets keys meanwhile, one after the other.  It says "joined", then for each
 * barrier that all have left "barrier GENERATION TIME", the time in milliseconds of
 * CLOCK_MONOTONIC, and flushes.  When its input ends it reads the keys again and says "facts
 * N lost N token N": how many were acknowledged, and how many of these are not there. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <roar/coord.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
	N_KEYS = 64, /* that are set by turns */
	WAIT_MS = 120000,
};

struct worker {
	struct roar_coord *c;
	int64_t due_ms; /* of its next turn */
};

struct all {
	struct worker *workers;
	size_t n;
	int epoll;
	size_t n_left; /* of this barrier */
	uint64_t generation;
	int failed; /* -errno of the first that was told so */
};

struct facts {
	const char *addresses;
	_Atomic bool stop;
	int64_t kept[N_KEYS]; /* the last value that was acknowledged; 0: none */
	uint64_t n, n_lost;
	uint64_t token;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "ha_workers: %s: %s\n", what, roar_coord_error());
	exit(1);
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- facts ---- */

static struct roar_coord *observe(const char *addresses)
{
	struct roar_coord_options o = { .address = addresses,
					.job = "ha",
					.connect_timeout_ms = WAIT_MS,
					.flags = ROAR_COORD_OBSERVER };
	struct roar_coord *c = NULL;

	if (roar_coord_join(&o, &c) < 0)
		die("no connection");
	return c;
}

static int64_t look(struct roar_coord *c, const char *key)
{
	void *value = NULL;
	size_t len = 0;
	int64_t found;

	if (roar_coord_get(c, key, 0, &value, &len, NULL) < 0)
		return -1;
	found = strtoll(value, NULL, 10);
	free(value);
	return found;
}

/* A value that was not acknowledged may be there all the same: then it is the larger. */
static void check_facts(struct facts *f, struct roar_coord *c)
{
	char key[32];

	for (int i = 0; i < N_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "fact-%d", i);
		if (f->kept[i] && look(c, key) < f->kept[i])
			f->n_lost++;
	}
	f->token = roar_coord_fencing_token(c);
}

static void *keep_facts(void *arg)
{
	struct facts *f = arg;
	struct roar_coord *c = observe(f->addresses);
	char key[32], value[32];

	for (int64_t n = 1; !f->stop; n++) {
		(void)snprintf(key, sizeof(key), "fact-%d", (int)(n % N_KEYS));
		(void)snprintf(value, sizeof(value), "%" PRId64, n);
		if (roar_coord_set(c, key, value, strlen(value), 0) < 0)
			continue;
		f->kept[n % N_KEYS] = n;
		f->n++;
	}
	check_facts(f, c);
	roar_coord_free(c);
	return NULL;
}

/* ---- workers ---- */

static void turn(struct worker *w)
{
	int64_t ms = 0;

	(void)roar_coord_turn(w->c, &ms);
	w->due_ms = ms < 0 ? INT64_MAX : now_ms() + ms;
}

/* Those who have something to read, and those whose time has come. */
static void turn_all(struct all *a, int timeout_ms)
{
	struct epoll_event events[256];
	int64_t now;
	int n = epoll_wait(a->epoll, events, 256, timeout_ms);

	for (int i = 0; i < n; i++)
		turn(events[i].data.ptr);
	now = now_ms();
	for (size_t i = 0; i < a->n; i++) {
		if (a->workers[i].c && a->workers[i].due_ms <= now)
			turn(&a->workers[i]);
	}
}

static void join(struct all *a, const char *addresses)
{
	for (size_t i = 0; i < a->n; i++) {
		struct worker *w = &a->workers[i];
		char id[32];
		struct roar_coord_options o = { .address = addresses,
						.job = "ha",
						.worker_id = id,
						.connect_timeout_ms = WAIT_MS,
						.flags = ROAR_COORD_NO_THREAD };
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = w };

		(void)snprintf(id, sizeof(id), "w-%zu", i);
		if (roar_coord_join(&o, &w->c) < 0)
			die("no place");
		if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, roar_coord_fd(w->c),
			      &e) < 0)
			die("no memory");
		turn_all(a, 0);
	}
}

static void on_released(void *data, int error,
			const struct roar_coord_meeting *m)
{
	struct all *a = data;

	a->n_left--;
	if (error && !a->failed)
		a->failed = error;
	if (m)
		a->generation = m->generation;
}

static void meet(struct all *a)
{
	struct roar_coord_meet m = { .id = "b", .timeout_ms = WAIT_MS };

	a->n_left = a->n;
	for (size_t i = 0; i < a->n; i++) {
		if (roar_coord_begin_meet(a->workers[i].c, &m, NULL, 0,
					  on_released, a) < 0)
			die("no barrier");
		turn(&a->workers[i]);
	}
	while (a->n_left)
		turn_all(a, 20);
	if (a->failed) {
		(void)printf("failed %s\n", strerror(-a->failed));
		exit(1);
	}
	(void)printf("barrier %" PRIu64 " %" PRId64 "\n", a->generation,
		     now_ms());
	(void)fflush(stdout);
}

static bool input_ended(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char c;

	return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &c, 1) <= 0;
}

int main(int argc, char **argv)
{
	struct all a = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
	int64_t pause_ms = argc > 3 ? atoll(argv[3]) : 50;
	struct facts f = { 0 };
	pthread_t thread;

	if (argc < 3)
		return 2;
	f.addresses = argv[1];
	a.n = strtoul(argv[2], NULL, 10);
	a.workers = calloc(a.n, sizeof(*a.workers));
	if (!a.workers || a.epoll < 0)
		die("no memory");
	join(&a, argv[1]);
	if (pthread_create(&thread, NULL, keep_facts, &f) != 0)
		die("no thread");
	(void)puts("joined");
	(void)fflush(stdout);
	while (!input_ended()) {
		int64_t until = now_ms() + pause_ms;

		meet(&a);
		while (now_ms() < until)
			turn_all(&a, 5);
	}
	f.stop = true;
	(void)pthread_join(thread, NULL);
	(void)printf("facts %" PRIu64 " lost %" PRIu64 " token %" PRIu64 "\n",
		     f.n, f.n_lost, f.token);
	for (size_t i = 0; i < a.n; i++)
		roar_coord_free(a.workers[i].c);
	free(a.workers);
	(void)close(a.epoll);
	return f.n_lost ? 1 : 0;
}
