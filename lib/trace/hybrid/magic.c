/* magic.c - names that lead through a process's own descriptors
 *
 * "/proc/self/fd/3", "/dev/stdin", "/proc/self/cwd/x" and links to them mean another
 * file in every process.  A tracer that stops at the end of a call examines the new
 * descriptor.  This tracer must know the file at the entry, from the current content of
 * the process's directory in /proc. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/hybrid/hybrid_internal.h"

enum { LINKS_MAX = 8 };

/* Follows one link at the last component of `name`: 1 when it was a link, 0 when it is
 * not, -EINVAL when it does not lead to a file of the file system. */
static int step(struct hybrid *h, struct tracee *t, struct str *name)
{
	char text[MEMORY_PATH_MAX];
	ssize_t n = readlink(str_cstr(name), text, sizeof(text) - 1);

	if (n < 0) /* not a link, or no file yet */
		return errno == EINVAL || errno == ENOENT ? 0 : -errno;
	text[n] = '\0';
	if (strncmp(name->data, "/proc/", 6) == 0) {
		if (text[0] != '/')
			return -EINVAL; /* pipe:[1], memfd:... */
		str_clear(name);
		str_add(name, text, (size_t)n);
		return 1;
	}
	if (text[0] != '/') {
		char *slash = memrchr(name->data, '/', name->len);
		struct str full = STR_INIT;
		int r;

		str_add(&full, name->data, (size_t)(slash - name->data) + 1);
		str_add(&full, text, (size_t)n);
		r = resolve_name(&h->o.resolver, &h->o.tree, t, AT_FDCWD,
				 str_cstr(&full), full.len, name);
		str_release(&full);
		return r < 0 ? r : 1;
	}
	return resolve_name(&h->o.resolver, &h->o.tree, t, AT_FDCWD, text,
			    (size_t)n, name) < 0 ?
		       -ENOENT :
		       1;
}

int magic_follow(struct hybrid *h, struct tracee *t, struct str *name)
{
	if (h->o.resolver.viewed)
		return resolve_target(&h->o.resolver, t, name);
	for (int i = 0; i < LINKS_MAX; i++) {
		int r = step(h, t, name);

		if (r <= 0)
			return r;
	}
	return -ELOOP;
}

bool magic_follows(uint64_t flags)
{
	return !(flags & O_NOFOLLOW) &&
	       (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
}

int magic_replace(struct hybrid *h, struct tracee *t, struct call_args *a,
		  struct str *name)
{
	struct stat st;
	int r;

	if (!resolve_is_private(a->path) || process_is_elsewhere(t->process))
		return 0;
	r = resolve_name(&h->o.resolver, &h->o.tree, t, a->dirfd, a->path,
			 a->len, name);
	if (r == 0 && magic_follows(a->flags)) {
		r = resolve_follow(&h->o.resolver, t, name, &st);
		/* The file may be created at the target of a link. */
		if (r == -ENOENT)
			r = magic_follow(h, t, name);
	}
	if (r == -EINVAL || r == -ESTALE)
		return -EINVAL;
	if (r < 0 || resolve_is_private(name->data))
		return 0;
	a->dirfd = AT_FDCWD;
	a->path = name->data;
	a->len = name->len;
	return 0;
}
