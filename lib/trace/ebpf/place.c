/* place.c - see place.h */
#include "trace/ebpf/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"

enum { NOTED_MAX = 1 << 16 }; /* names remembered of each kind */

struct place_text {
	uint32_t len;
	char text[];
};

void places_release(struct places *p)
{
	map_release(&p->dirs);
	map_release(&p->made);
	pool_release(&p->dirs_pool);
	pool_release(&p->names_pool);
	str_release(&p->scratch);
}

void places_forget(struct places *p)
{
	if (!p->dirs.count)
		return;
	map_release(&p->dirs);
	pool_release(&p->dirs_pool);
}

/* ---- names of the run ---- */

void places_note_dir(struct places *p, const struct str *path)
{
	char *copy;

	if (p->made.count >= NOTED_MAX ||
	    map_get(&p->made, path->data, path->len))
		return;
	copy = pool_dup(&p->names_pool, path->data, path->len);
	if (copy)
		(void)map_set(&p->made, copy, path->len, copy);
}

bool places_is_dir(const struct places *p, const struct str *path)
{
	return map_get(&p->made, path->data, path->len);
}

/* ---- bases ---- */

bool place_add_base(struct str *out, const char *base, size_t len)
{
	size_t end = len;

	if (len && base[len - 1])
		return false;
	while (end) {
		size_t start = end - 1;

		while (start && base[start - 1])
			start--;
		if (start == end - 1)
			return false;
		str_addc(out, '/');
		str_add(out, base + start, end - 1 - start);
		end = start;
	}
	return str_error(out) == 0;
}

/* ---- looking up ---- */

static int path_of(int fd, struct str *out)
{
	char path[PATH_MAX];
	ssize_t n = readlink(proc_fd_path(fd).text, path, sizeof(path) - 1);

	if (n < 0)
		return -errno;
	if (n == sizeof(path) - 1)
		return -ENAMETOOLONG;
	if (path[0] != '/')
		return -ENOENT;
	str_clear(out);
	str_add(out, path, n == 1 ? 0 : (size_t)n); /* "/" is "" */
	return str_error(out);
}

/* Below another root absolute symbolic links start from there. */
static int open_dir(const char *root, const char *dir)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC };
	CLEANUP(closep) int top = -1;
	int fd;

	if (!*root) {
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	how.resolve = RESOLVE_IN_ROOT;
	fd = (int)syscall(SYS_openat2, top, dir, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Adds directories that do not exist any more, as they were written. */
static int add_gone(struct str *out, const char *rest)
{
	while (*rest) {
		size_t len;

		rest += strspn(rest, "/");
		len = strcspn(rest, "/");
		if (len == 2 && rest[0] == '.' && rest[1] == '.')
			return -ENOENT;
		if (len && !(len == 1 && rest[0] == '.')) {
			str_addc(out, '/');
			str_add(out, rest, len);
		}
		rest += len;
	}
	return str_error(out);
}

/* The length of a path without its last component. */
static size_t cut_last(const char *path, size_t len)
{
	while (len && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	return len;
}

/* Opens the longest existing part of a directory's name, and returns its length. */
static int open_rest(const char *root, const char *dir, size_t *ret_len)
{
	char name[PATH_MAX];
	size_t len = strlen(dir);
	int fd = -ENAMETOOLONG;

	while (len && len < sizeof(name)) {
		memcpy(name, dir, len);
		name[len] = '\0';
		fd = open_dir(root, name);
		if (fd != -ENOENT && fd != -ENOTDIR)
			break;
		len = cut_last(dir, len);
	}
	*ret_len = len;
	return fd;
}

static void remember(struct places *p, const struct str *named,
		     const struct str *dir)
{
	struct place_text *t;
	char *key;

	if (p->dirs.count >= NOTED_MAX)
		places_forget(p);
	key = pool_dup(&p->dirs_pool, named->data, named->len);
	t = pool_alloc(&p->dirs_pool, sizeof(*t) + dir->len + 1);
	if (!key || !t)
		return;
	t->len = (uint32_t)dir->len;
	memcpy(t->text, str_cstr(dir), dir->len + 1);
	(void)map_set(&p->dirs, key, named->len, t);
}

/* The canonical form of the directory that `p->scratch` names; its first `root_len`
 * bytes are the root it is seen from. */
static int find_dir(struct places *p, size_t root_len, struct str *out)
{
	CLEANUP(closep) int fd = -1;
	struct str *named = &p->scratch;
	const struct place_text *known = map_get(&p->dirs, named->data,
						 named->len);
	const char *dir = named->data + root_len;
	char root[PATH_MAX];
	size_t len;
	int r;

	if (known) {
		str_clear(out);
		str_add(out, known->text, known->len);
		return str_error(out);
	}
	if (root_len >= sizeof(root))
		return -ENAMETOOLONG;
	memcpy(root, named->data, root_len);
	root[root_len] = '\0';
	fd = open_rest(root, dir, &len);
	r = fd < 0 ? fd : path_of(fd, out);
	if (r == 0 && !dir[len])
		remember(p, named, out);
	return r < 0 ? r : add_gone(out, dir + len);
}

static bool is_plain(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* Where the last component starts; its end without final slashes goes to
 * `ret_len`. */
static const char *last_component(const char *name, size_t *ret_len)
{
	size_t end = strlen(name);
	size_t start;

	while (end > 1 && name[end - 1] == '/')
		end--;
	start = end;
	while (start && name[start - 1] != '/')
		start--;
	*ret_len = end - start;
	return name + start;
}

static bool is_dots(const char *name, size_t len)
{
	return !len || (len == 1 && name[0] == '.') ||
	       (len == 2 && name[0] == '.' && name[1] == '.');
}

int place_name(struct places *p, const struct str *base, const char *name,
	       struct str *out)
{
	bool absolute = name[0] == '/';
	size_t last_len;
	const char *last = last_component(name, &last_len);
	int r;

	str_clear(out);
	if (is_plain(name)) {
		str_add(out, base->data, base->len);
		str_addc(out, '/');
		str_adds(out, name);
		return out->len >= PATH_MAX ? -ENAMETOOLONG : str_error(out);
	}
	str_clear(&p->scratch);
	str_add(&p->scratch, base->data, base->len);
	if (!absolute)
		str_addc(&p->scratch, '/');
	if (is_dots(last, last_len))
		last_len = 0;
	str_add(&p->scratch, name,
		last_len ? (size_t)(last - name) : strlen(name));
	r = str_error(&p->scratch);
	if (r == 0)
		r = find_dir(p, absolute ? base->len : 0, out);
	if (r < 0)
		return r;
	if (last_len) {
		str_addc(out, '/');
		str_add(out, last, last_len);
	}
	return out->len >= PATH_MAX ? -ENAMETOOLONG : str_error(out);
}

void place_follow(struct str *path)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(str_release) struct str real = STR_INIT;

	fd = open(path->data, O_PATH | O_CLOEXEC);
	if (fd < 0 || path_of(fd, &real) < 0 || !real.len)
		return;
	str_clear(path);
	str_add(path, real.data, real.len);
}
