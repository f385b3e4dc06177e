/* Two names of one file from before the run: what is read by one and then changed by
 * the other was an input and is an output, by both names. */
#include "workload.h"

void prepare(void)
{
	put("append", "hello");
	CHECK(link("append", "append.b"));
	put("change", "hello");
	CHECK(link("change", "change.b"));
	put("empty", "hello");
	CHECK(link("empty", "empty.b"));
	put("number", "hello");
	sleep_ms(50);
}

/* What is left of a file is its number, which another one may get. */
static void replace_number(void)
{
	take("number");
	CHECK(unlink("number"));
	put("number", "new");
	put("other", "x");
	put_fd(CHECK(open("other", O_WRONLY | O_APPEND)), "y");
	expect("input number");
	expect("output number");
	expect("output other");
}

void act(void)
{
	int fd;

	take("append");
	put_fd(CHECK(open("append.b", O_WRONLY | O_APPEND)), "x");
	expect("input append");
	expect("output append");
	expect("output append.b");

	take("change");
	fd = CHECK(open("change.b", O_RDWR));
	put_fd(fd, "x");
	expect("input change");
	expect("input change.b");
	expect("output change");
	expect("output change.b");

	/* eBPF hears of O_TRUNC when the file is not what was read. */
	take("empty");
	put("empty.b", "x");
	expect("input empty");
	expect("except ebpf output empty");
	expect("output empty.b");
	replace_number();
}
