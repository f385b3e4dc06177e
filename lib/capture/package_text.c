/* package_text.c - reading files that package managers have written */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "capture/package_database.h"

/* A read that is shorter than the room for it has met the end of the file: a thousand
 * small files cost three system calls each. */
int package_file_read(int dirfd, const char *path, size_t max, struct str *out)
{
	enum { ROOM = 8 * 1024 };
	CLEANUP(closep)
	int fd = openat(dirfd, path,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	str_clear(out);
	if (fd < 0)
		return -errno;
	for (;;) {
		size_t room;
		ssize_t n;

		if (str_reserve(out, ROOM) < 0)
			return -ENOMEM;
		room = out->cap - out->len - 1;
		n = read(fd, out->data + out->len, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		if (out->len > max)
			return -EFBIG;
		if ((size_t)n < room)
			return 0;
	}
}

void package_cache_save(const char *path, const void *data, size_t len)
{
	CLEANUP(str_release) struct str temporary = STR_INIT;
	CLEANUP(closep) int fd = -1;

	str_addf(&temporary, "%s.%d.new", path, (int)getpid());
	if (str_error(&temporary) < 0)
		return;
	fd = open(temporary.data,
		  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (fd_write_all(fd, data, len) < 0 || rename(temporary.data, path) < 0)
		(void)unlink(temporary.data);
}

bool package_field(const char *text, size_t len, const char *field,
		   const char **ret_value, size_t *ret_len)
{
	const char *end = text + len;
	size_t n = strlen(field);

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		const char *stop = eol ? eol : end;
		const char *value = text + n + 1;

		if (stop > text + n && text[n] == ':' &&
		    !memcmp(text, field, n)) {
			while (value < stop && *value == ' ')
				value++;
			while (stop > value &&
			       (stop[-1] == ' ' || stop[-1] == '\r'))
				stop--;
			*ret_value = value;
			*ret_len = (size_t)(stop - value);
			return true;
		}
		text = stop + 1;
	}
	return false;
}
