/* The kernel's old asynchronous interface reads and writes descriptors that were
 * opened as usual. */
#include <linux/aio_abi.h>
#include <stdint.h>

#include "workload.h"

static void submit(aio_context_t ctx, int fd, int opcode, char *data)
{
	struct iocb block = { .aio_fildes = (unsigned)fd,
			      .aio_lio_opcode = (uint16_t)opcode,
			      .aio_buf = (uintptr_t)data,
			      .aio_nbytes = 5 };
	struct iocb *list[] = { &block };
	struct io_event event;

	REQUIRE(syscall(SYS_io_submit, ctx, 1, list) == 1);
	REQUIRE(syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) == 1);
	REQUIRE(event.res == 5);
}

void prepare(void)
{
	aio_context_t ctx = 0;

	put("in.txt", "hello");
	put("changed", "world");
	if (syscall(SYS_io_setup, 4, &ctx) < 0)
		skip("no asynchronous I/O in this kernel");
}

void act(void)
{
	aio_context_t ctx = 0;
	char data[5];

	CHECK(syscall(SYS_io_setup, 4, &ctx));
	submit(ctx, CHECK(open("in.txt", O_RDONLY)), IOCB_CMD_PREAD, data);
	submit(ctx, CHECK(open("changed", O_WRONLY)), IOCB_CMD_PWRITE, data);
	CHECK(syscall(SYS_io_destroy, ctx));
	expect("input in.txt");
	expect("output changed");
}
