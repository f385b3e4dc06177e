/* io_uring opens files behind the tracer's back: the record says so, unless the
 * tracer sees what comes out of it.  A set-up that fails is no reason. */
#include <linux/io_uring.h>

#include "workload.h"

static int set_up(unsigned entries, struct io_uring_params *params)
{
	return (int)syscall(SYS_io_uring_setup, entries, params);
}

void prepare(void)
{
	struct io_uring_params params = { 0 };

	if (set_up(4, &params) < 0)
		skip("no io_uring here");
}

void act(void)
{
	struct io_uring_params params = { 0 };

	FAILS(set_up(0, &params), EINVAL);
	CHECK(close(CHECK(set_up(4, &params))));
	put("out.txt", "x");
	expect("except ebpf gap io_uring");
	expect("output out.txt");
}
