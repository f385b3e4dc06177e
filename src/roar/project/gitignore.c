/* gitignore.c - see gitignore.h
 *
 * Only the forms people write are recognised; who ignores .roar/ in another way
 * (a global file, a pattern with a star) gets one line too much at worst. */
#include "project/gitignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/path.h"
#include "base/str.h"
#include "project/owner.h"

enum { FILE_MAX = 1024 * 1024 };

static bool is_our_line(const char *line, size_t len)
{
	static const char *const forms[] = { ".roar",	".roar/",   "/.roar",
					     "/.roar/", "**/.roar", "**/.roar/",
					     ".roar/*", ".roar/**" };

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (strlen(forms[i]) == len && !memcmp(line, forms[i], len))
			return true;
	return false;
}

static bool names_roar(const struct str *text)
{
	const char *line = str_cstr(text);

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (is_our_line(line, n))
			return true;
		line += n;
		line += *line == '\n';
	}
	return false;
}

static bool file_names_roar(const char *dir, const char *name)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct stat st;

	str_addf(&path, "%s/%s", dir, name);
	if (stat(str_cstr(&path), &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	return fd_read_file(AT_FDCWD, path.data, FILE_MAX, &text) == 0 &&
	       names_roar(&text);
}

static bool has_git(const char *dir)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	str_addf(&path, "%s/.git", dir);
	return !path.failed && access(path.data, F_OK) == 0;
}

int gitignore_find(const char *root, struct gitignore *ret)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	bool ignored = false;

	str_adds(&dir, root);
	for (;;) {
		CLEANUP(str_release) struct str above = STR_INIT;

		ignored |= file_names_roar(str_cstr(&dir), ".gitignore");
		if (has_git(str_cstr(&dir)))
			break;
		path_dirname(&above, str_cstr(&dir));
		if (above.failed || dir.failed)
			return -ENOMEM;
		if (!strcmp(above.data, dir.data))
			return -ENOENT;
		str_clear(&dir);
		str_adds(&dir, above.data);
	}
	ignored |= file_names_roar(str_cstr(&dir), ".git/info/exclude");
	str_addf(&path, "%s/.gitignore", str_cstr(&dir));
	ret->path = str_take(&path);
	ret->ignored = ignored;
	return ret->path ? 0 : -ENOMEM;
}

void gitignore_release(struct gitignore *g)
{
	free(g->path);
	*g = (struct gitignore){ 0 };
}

/* Appends under a lock, so that two at once add one line. */
static int append_line(const struct gitignore *g)
{
	CLEANUP(closep)
	int fd = open(g->path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
		      0666);
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *line = ".roar/\n";
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (flock(fd, LOCK_EX) < 0)
		return -errno;
	r = fd_read_file(AT_FDCWD, g->path, FILE_MAX, &text);
	if (r < 0)
		return r;
	if (names_roar(&text))
		return 0;
	if (text.len && text.data[text.len - 1] != '\n')
		line = "\n.roar/\n";
	r = fd_write_all(fd, line, strlen(line));
	return r < 0 ? r : 1;
}

/* As the owner of the folder, where the file may have to be made. */
static int append_as_owner(const struct gitignore *g)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(closep) int fd = -1;
	bool acted;
	int r;

	path_dirname(&dir, g->path);
	if (str_error(&dir) == 0)
		fd = open(dir.data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	acted = owner_act(fd);
	r = append_line(g);
	owner_act_as_self(acted);
	/* An earlier file may be root's. */
	return r == -EACCES && acted ? append_line(g) : r;
}

int gitignore_add(const struct gitignore *g, struct roar_error *err)
{
	int r = append_as_owner(g);

	if (r < 0)
		return error_set(err, r, "cannot add '.roar/' to '%s': %s",
				 g->path, strerror(-r));
	return r;
}
