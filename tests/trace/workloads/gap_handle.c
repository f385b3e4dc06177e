/* A file opened by handle has no name in the call: told, or confessed. */
#include "workload.h"

union handle {
	struct file_handle fh;
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static int open_by_handle(void)
{
	union handle h = { .fh.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;
	int dir = CHECK(open(".", O_RDONLY | O_DIRECTORY));

	CHECK(name_to_handle_at(AT_FDCWD, "in.txt", &h.fh, &mount_id, 0));
	return open_by_handle_at(dir, &h.fh, O_RDONLY);
}

void prepare(void)
{
	put("in.txt", "hello");
	if (open_by_handle() < 0)
		skip("open_by_handle_at() needs CAP_DAC_READ_SEARCH");
}

void act(void)
{
	take_fd(CHECK(open_by_handle()));
	expect("may input in.txt");
	expect("may gap handle");
}
