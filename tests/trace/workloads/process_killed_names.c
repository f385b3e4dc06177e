/* What threads were doing with names when their process was killed is in the record,
 * if it was done.  Nobody hears of the end of such a call. */
#include <dirent.h>
#include <pthread.h>

#include "workload.h"

enum { THREADS = 4, ROUNDS = 15 };

static int current_round;

static void *move_forever(void *arg)
{
	char from[64], to[64];

	for (int i = 0;; i++) {
		(void)snprintf(from, sizeof(from), "f%d.%ld.%d.new",
			       current_round, (long)arg, i);
		(void)snprintf(to, sizeof(to), "f%d.%ld.%d", current_round,
			       (long)arg, i);
		close(CHECK(open(from, O_WRONLY | O_CREAT | O_EXCL, 0644)));
		CHECK(rename(from, to));
	}
	return NULL;
}

static void storm(void)
{
	pthread_t thread;

	for (long i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread, NULL, move_forever,
				       (void *)i) == 0);
	for (;;)
		pause();
}

static void expect_what_is_there(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;

	REQUIRE(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] == 'f')
			expect("output %s", entry->d_name);
	closedir(dir);
}

void act(void)
{
	int status;

	for (; current_round < ROUNDS; current_round++) {
		pid_t pid = CHECK(fork());

		if (pid == 0)
			storm();
		sleep_ms(5 + current_round);
		CHECK(kill(pid, SIGKILL));
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	expect_what_is_there();
}
