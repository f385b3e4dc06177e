/* loader.c - see loader.h */
#include "trace/call/loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/stamp.h"

enum { HEADERS_MAX = 64 };

/* "#! /usr/bin/env -S x": the interpreter's path. */
static const char *shebang(char *head, size_t n)
{
	char *start;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return NULL;
	start = head + 2 + strspn(head + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	return *start ? start : NULL;
}

/* The program headers, as both classes of ELF have them. */
struct headers {
	uint64_t offset;
	size_t size; /* of one */
	unsigned n;
};

static struct headers headers_of(const char *head)
{
	struct headers h;

	if (head[EI_CLASS] == ELFCLASS64) {
		Elf64_Ehdr eh;

		memcpy(&eh, head, sizeof(eh));
		h = (struct headers){ eh.e_phoff, sizeof(Elf64_Phdr),
				      eh.e_phnum };
	} else {
		Elf32_Ehdr eh;

		memcpy(&eh, head, sizeof(eh));
		h = (struct headers){ eh.e_phoff, sizeof(Elf32_Phdr),
				      eh.e_phnum };
	}
	return h;
}

/* Where the loader's path stands, if this header names it; else 0. */
static uint64_t interpreter_offset(const char *at, size_t size)
{
	if (size == sizeof(Elf64_Phdr)) {
		Elf64_Phdr ph;

		memcpy(&ph, at, sizeof(ph));
		return ph.p_type == PT_INTERP ? ph.p_offset : 0;
	}
	Elf32_Phdr ph;

	memcpy(&ph, at, sizeof(ph));
	return ph.p_type == PT_INTERP ? ph.p_offset : 0;
}

static const char *elf_loader(const char *head, size_t n)
{
	struct headers h;

	if (n < sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return NULL;
	h = headers_of(head);
	for (unsigned i = 0; i < h.n && i < HEADERS_MAX; i++) {
		uint64_t at = h.offset + (uint64_t)i * h.size;
		uint64_t path;

		if (at > n || n - at < h.size)
			return NULL;
		path = interpreter_offset(head + at, h.size);
		if (path && path < n)
			return head[path] == '/' ? head + path : NULL;
	}
	return NULL;
}

const char *loader_of(char *head, size_t n)
{
	const char *path;

	head[n] = '\0';
	path = shebang(head, n);
	return path ? path : elf_loader(head, n);
}

ssize_t loader_read(const char *path, char head[LOADER_HEAD])
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd_read_all(fd, head, LOADER_HEAD - 1);
}

/* ---- remembered ---- */

enum {
	SLOTS = 8, /* of 4 KiB each */
	YOUNG_S = 5, /* a recent change may be followed by one without a new
		      * stamp */
};

static struct slot {
	struct stamp stamp;
	bool executable; /* by us */
	bool plain; /* without capabilities */
	ssize_t n; /* bytes of the head */
	char head[LOADER_HEAD];
} slots[SLOTS];

/* Permissions and attributes cannot change without a new stamp either.  NULL: not
 * cached. */
static struct slot *find_slot(const struct stamp *stamp)
{
	struct slot *s = &slots[stamp->ino % SLOTS];

	return s->n > 0 && stamp_equal(&s->stamp, stamp) ? s : NULL;
}

static void remember(const struct stamp *stamp, const char *head, ssize_t n)
{
	struct slot *s = &slots[stamp->ino % SLOTS];

	memcpy(s->head, head, (size_t)n);
	s->stamp = *stamp;
	s->n = n;
	s->executable = false;
	s->plain = false;
}

ssize_t loader_read_known(const char *path, const struct stat *st,
			  char head[LOADER_HEAD])
{
	struct stamp stamp = stamp_of(st);
	const struct slot *s = find_slot(&stamp);
	ssize_t n;

	if (s) {
		memcpy(head, s->head, (size_t)s->n);
		return s->n;
	}
	n = loader_read(path, head);
	if (n > 0 && time(NULL) - st->st_ctim.tv_sec > YOUNG_S)
		remember(&stamp, head, n);
	return n;
}

bool loader_is_executable(const char *path, const struct stat *st)
{
	struct stamp stamp = stamp_of(st);
	struct slot *s = find_slot(&stamp);

	if (s && s->executable)
		return true;
	if (!S_ISREG(st->st_mode) ||
	    faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return false;
	if (s)
		s->executable = true;
	return true;
}

bool loader_has_capability(const char *path, const struct stat *st)
{
	struct stamp stamp = stamp_of(st);
	struct slot *s = find_slot(&stamp);

	if (s && s->plain)
		return false;
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return true;
	if (s)
		s->plain = true;
	return false;
}
