/* A file opened by handle has no name in the call.  The descriptor knows it, unless
 * the name is gone: then nobody does, and that is confessed. */
#include "workload.h"

union handle {
	struct file_handle fh;
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static union handle handle_of(const char *name)
{
	union handle h = { .fh.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;

	CHECK(name_to_handle_at(AT_FDCWD, name, &h.fh, &mount_id, 0));
	return h;
}

static int open_handle(union handle *h)
{
	int dir = CHECK(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int fd = open_by_handle_at(dir, &h->fh, O_RDONLY | O_CLOEXEC);

	CHECK(close(dir));
	return fd;
}

void prepare(void)
{
	union handle h;

	put("in.txt", "hello");
	put("gone.txt", "hello");
	put("old", "hello");
	h = handle_of("in.txt");
	if (open_handle(&h) < 0)
		skip("open_by_handle_at() needs CAP_DAC_READ_SEARCH");
}

void act(void)
{
	union handle in = handle_of("in.txt");
	union handle gone = handle_of("gone.txt");
	int keep = CHECK(open("gone.txt", O_RDONLY | O_CLOEXEC));
	int fd = CHECK(open_handle(&in));

	/* Everybody looks before a name changes. */
	CHECK(rename("old", "new"));
	take_fd(fd);
	CHECK(unlink("gone.txt"));
	fd = CHECK(open_handle(&gone));
	CHECK(rename("new", "old"));
	take_fd(fd);
	CHECK(close(keep));
	expect("input in.txt");
	expect("input gone.txt");
	expect("gap handle");
}
