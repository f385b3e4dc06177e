/* Whoever watches files by fanotify is given descriptors of them, by a read().  Nobody
 * sees which: a gap.  Where handles were asked for instead there is nothing to miss. */
#include <sys/fanotify.h>

#include "workload.h"

void prepare(void)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);

	put("in.txt", "hello");
	if (fd < 0)
		skip("fanotify needs CAP_SYS_ADMIN");
}

static void toucher(void)
{
	CHECK(close(CHECK(open("in.txt", O_WRONLY | O_APPEND))));
}

void act(void)
{
	struct fanotify_event_metadata event;
	int fd = CHECK(fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY));

	CHECK(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "in.txt"));
	in_child(toucher);
	REQUIRE(CHECK(read(fd, &event, sizeof(event))) > 0);
	take_fd(event.fd);
	CHECK(close(fd));
	expect("touched in.txt");
	expect("except preload gap path");
}
