/* A handler on an alternate stack of the smallest size opens files. */
#include <sys/auxv.h>

#include "workload.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static void handler(int sig)
{
	(void)sig;
	CHECK(close(CHECK(open("in.txt", O_RDONLY))));
	CHECK(close(CHECK(open("out.txt", O_WRONLY | O_CREAT, 0644))));
}

void prepare(void)
{
	put("in.txt", "hello");
}

void act(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_size = getauxval(AT_MINSIGSTKSZ) + 8192 };

	stack.ss_sp = malloc(stack.ss_size);
	REQUIRE(stack.ss_sp);
	CHECK(sigaltstack(&stack, NULL));
	CHECK(sigaction(SIGUSR1, &sa, NULL));
	CHECK(raise(SIGUSR1));
	expect("input in.txt");
	expect("output out.txt");
}
