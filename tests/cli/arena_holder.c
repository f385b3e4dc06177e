/* arena_holder.c - has an arena, in a state that is known, until its input ends.
 *
 *	arena_holder segments	a pool: a unit written, one ready, one held
 *	arena_holder blocks	the same without segments, and a second process
 *	arena_holder stalled	a producer that waited for room and a consumer
 *				that waited for units, once each
 *	arena_holder broadcast	a unit that this consumer has released and that
 *				of the second process has not received
 *	arena_holder many N	N small units, all ready
 *	arena_holder two	two arenas
 *	arena_holder damaged	an arena whose header is overwritten
 *	arena_holder empty	a memfd that is called as arenas are, without content
 *	arena_holder named	one that is called nearly so
 *	arena_holder none	no arena at all
 *
 * It prints a line when it is ready: its pid, and that of the second process. */
#include <roar/arena.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEGMENT = 1 << 20, PAYLOAD = 300000 };

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "arena_holder: %s: %s: %s\n", what, strerror(-r),
		roar_arena_error());
	exit(1);
}

static struct roar_arena *create(uint64_t segment_bytes, uint32_t n_units,
				 uint64_t size_bytes)
{
	struct roar_arena_config config = {
		.segment_bytes = segment_bytes,
		.n_units = n_units,
		.size_bytes = size_bytes,
	};
	struct roar_arena *a = NULL;

	check(roar_arena_create(&config, &a), "create");
	return a;
}

/* Another party in this process. */
static struct roar_arena *attach(struct roar_arena *first, unsigned roles)
{
	struct roar_arena *a = NULL;

	check(roar_arena_attach(roar_arena_fd(first), &a), "attach");
	check(roar_arena_join(a, roles, 0), "join");
	return a;
}

static struct roar_arena_unit *reserve(struct roar_arena *a, size_t len)
{
	struct roar_arena_part part = { .len = len };
	struct roar_arena_unit *unit = NULL;

	check(roar_arena_reserve(a, &part, 1, 16, 0, &unit), "reserve");
	return unit;
}

static void commit(struct roar_arena *a, size_t len, uint64_t tag)
{
	check(roar_arena_commit(reserve(a, len), tag), "commit");
}

/* Three units: held (tag 1), ready (tag 2), being written. */
static void three(struct roar_arena *producer, struct roar_arena *consumer)
{
	struct roar_arena_unit *unit = NULL;

	commit(producer, PAYLOAD, 1);
	commit(producer, PAYLOAD, 2);
	check(roar_arena_receive(consumer, ROAR_ARENA_ANY, 0, &unit),
	      "receive");
	(void)reserve(producer, PAYLOAD);
}

static pid_t child_with(struct roar_arena *a)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)attach(a, ROAR_ARENA_CONSUMER);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	(void)close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	return pid;
}

/* ---- states ---- */

static pid_t segments(void)
{
	struct roar_arena *a = create(SEGMENT, 6, 0);

	check(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), "join");
	three(a, attach(a, ROAR_ARENA_CONSUMER));
	return 0;
}

static pid_t blocks(void)
{
	struct roar_arena *a = create(0, 0, 4 << 20);
	struct roar_arena *consumer;

	check(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), "join");
	consumer = attach(a, ROAR_ARENA_CONSUMER);
	three(a, consumer);
	return child_with(a);
}

static pid_t stalled(void)
{
	struct roar_arena *a = create(SEGMENT, 1, 0);
	struct roar_arena *consumer;
	struct roar_arena_part part = { .len = 1 };
	struct roar_arena_unit *unit = NULL;

	check(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), "join");
	consumer = attach(a, ROAR_ARENA_CONSUMER);
	(void)roar_arena_receive(consumer, ROAR_ARENA_ANY, 20000000, &unit);
	(void)reserve(a, SEGMENT / 2);
	(void)roar_arena_reserve(a, &part, 1, 0, 20000000, &unit);
	return 0;
}

static pid_t broadcast(void)
{
	struct roar_arena_config config = {
		.size_bytes = 1 << 20,
		.flags = ROAR_ARENA_BROADCAST,
	};
	struct roar_arena_unit *unit = NULL;
	struct roar_arena *consumer;
	struct roar_arena *a = NULL;
	pid_t child;

	check(roar_arena_create(&config, &a), "create");
	check(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), "join");
	consumer = attach(a, ROAR_ARENA_CONSUMER);
	child = child_with(a);
	commit(a, PAYLOAD, 1);
	check(roar_arena_receive(consumer, ROAR_ARENA_ANY, 0, &unit),
	      "receive");
	roar_arena_release(unit);
	return child;
}

static pid_t many(int n)
{
	struct roar_arena *a = create(0, (uint32_t)n, 16 << 20);

	check(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), "join");
	(void)attach(a, ROAR_ARENA_CONSUMER);
	for (int i = 0; i < n; i++)
		commit(a, 64, (uint64_t)i);
	return 0;
}

static pid_t two(void)
{
	(void)segments();
	(void)segments();
	return 0;
}

static pid_t damaged(void)
{
	struct roar_arena *a = create(SEGMENT, 6, 0);
	char noise[256];

	memset(noise, 0xa5, sizeof(noise));
	if (pwrite(roar_arena_fd(a), noise, sizeof(noise), 0) < 0)
		exit(1);
	return 0;
}

static pid_t memfd(const char *name)
{
	if (memfd_create(name, MFD_CLOEXEC) < 0)
		exit(1);
	return 0;
}

static pid_t prepare(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "segments") == 0)
		return segments();
	if (strcmp(word, "blocks") == 0)
		return blocks();
	if (strcmp(word, "stalled") == 0)
		return stalled();
	if (strcmp(word, "broadcast") == 0)
		return broadcast();
	if (strcmp(word, "many") == 0 && argc > 2)
		return many(atoi(argv[2]));
	if (strcmp(word, "two") == 0)
		return two();
	if (strcmp(word, "damaged") == 0)
		return damaged();
	if (strcmp(word, "empty") == 0)
		return memfd("roar-arena");
	if (strcmp(word, "named") == 0)
		return memfd("roar-arena-not");
	if (strcmp(word, "none") == 0)
		return 0;
	fprintf(stderr, "arena_holder: %s?\n", word);
	exit(2);
}

int main(int argc, char **argv)
{
	pid_t other = prepare(argc, argv);
	char c;

	printf("%d %d\n", (int)getpid(), (int)other);
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	if (other) {
		(void)kill(other, SIGKILL);
		(void)waitpid(other, NULL, 0);
	}
	_exit(0);
}
