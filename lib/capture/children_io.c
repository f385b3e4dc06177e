/* children_io.c - see children_io.h */
#include "capture/children_io.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"

static bool read_io(pid_t tid, const char *name, struct children_io *ret)
{
	char text[512];
	const char *written;

	if (proc_read(tid, name, text, sizeof(text)) < 0 ||
	    strncmp(text, "rchar: ", 7) != 0)
		return false;
	written = strstr(text, "wchar: ");
	if (!written)
		return false;
	ret->bytes_read = strtoull(text + 7, NULL, 10);
	ret->bytes_written = strtoull(written + 7, NULL, 10);
	return true;
}

static void subtract(uint64_t *from, uint64_t n)
{
	*from = *from > n ? *from - n : 0;
}

bool children_io_find(struct children_io *ret)
{
	pid_t pid = getpid();
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(pid, "task").text);
	struct children_io own[2] = { 0 };
	int tid;

	/* First the sum: what is read meanwhile is subtracted too, at worst. */
	if (!dir || !read_io(pid, "io", ret))
		return false;
	while ((tid = proc_next(dir)) >= 0) {
		char name[32];

		(void)snprintf(name, sizeof(name), "task/%d/io", tid);
		if (!read_io(pid, name, &own[1]))
			continue;
		own[0].bytes_read += own[1].bytes_read;
		own[0].bytes_written += own[1].bytes_written;
	}
	subtract(&ret->bytes_read, own[0].bytes_read);
	subtract(&ret->bytes_written, own[0].bytes_written);
	return true;
}
