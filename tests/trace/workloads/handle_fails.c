/* Handles that cannot be made or opened: nothing was opened. */
#include "workload.h"

union handle {
	struct file_handle fh;
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

void act(void)
{
	union handle h = { .fh.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;

	put("out.txt", "x");
	FAILS(name_to_handle_at(AT_FDCWD, "nothing", &h.fh, &mount_id, 0),
	      ENOENT);
	h.fh.handle_bytes = 0;
	FAILS(name_to_handle_at(AT_FDCWD, "out.txt", &h.fh, &mount_id, 0),
	      EOVERFLOW);
	h.fh.handle_bytes = MAX_HANDLE_SZ;
	REQUIRE(open_by_handle_at(-9, &h.fh, O_RDONLY) == -1);
	h.fh.handle_bytes = MAX_HANDLE_SZ + 1;
	REQUIRE(open_by_handle_at(AT_FDCWD, &h.fh, O_RDONLY) == -1);
	expect("output out.txt");
}
