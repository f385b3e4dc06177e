/* The file of somebody whom a user namespace does not know is shut even to its
 * root. */
#include "workload.h"

enum { SOMEBODY = 1234 };

void prepare(void)
{
	if (geteuid() != 0)
		skip("needs root");
	put("theirs", "hello");
	CHECK(chmod("theirs", 0600));
	CHECK(chown("theirs", SOMEBODY, SOMEBODY));
	put("ours", "hello");
}

void act(void)
{
	int fd = open("theirs", O_RDONLY);

	if (fd >= 0) {
		take_fd(fd);
		expect("input theirs");
	} else {
		REQUIRE(errno == EACCES);
	}
	take("ours");
	expect("input ours");
}
