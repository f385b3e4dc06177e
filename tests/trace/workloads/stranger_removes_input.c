/* Somebody else removes what a process has just read, and the process ends.  Backends
 * that look later may have lost the input, but not where the process was. */
#include "workload.h"

enum { N = 8 };

static char name[8];

static void name_of(const char *prefix, int i)
{
	snprintf(name, sizeof(name), "%s%d", prefix, i);
}

static void serve(void)
{
	int asked = CHECK(open("ask", O_RDWR)), answered;
	char i;

	answered = CHECK(open("answer", O_RDWR));
	for (int n = 0; n < N; n++) {
		REQUIRE(read(asked, &i, 1) == 1);
		name_of("in", i);
		CHECK(unlink(name));
		REQUIRE(write(answered, &i, 1) == 1);
	}
}

void prepare(void)
{
	CHECK(mkfifo("ask", 0666));
	CHECK(mkfifo("answer", 0666));
	for (int i = 0; i < N; i++) {
		name_of("in", i);
		put(name, "x");
	}
	stranger_waits(serve);
}

static void read_and_write(char i, int ask, int answer)
{
	name_of("in", i);
	take(name);
	REQUIRE(write(ask, &i, 1) == 1);
	REQUIRE(read(answer, &i, 1) == 1);
	name_of("out", i);
	put(name, "x");
	_exit(0);
}

void act(void)
{
	int ask = CHECK(open("ask", O_RDWR)), answer;

	answer = CHECK(open("answer", O_RDWR));
	CHECK(mkdir(".go", 0777));
	for (char i = 0; i < N; i++) {
		pid_t pid = CHECK(fork());

		if (pid == 0)
			read_and_write(i, ask, answer);
		await(pid, 0);
		expect_watched("input in%d", i);
		expect("output out%d", i);
	}
	expect("may gap changed");
	expect("special ask");
	expect("special answer");
}
