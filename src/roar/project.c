/* project.c - see project.h */
#include "project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli.h"
#include "config_file.h"
#include "recover.h"
#include "store/store.h"

/* ---- finding ---- */

/* Is DIR/.roar a folder, and someone's to trust (project.h)? */
static bool is_project(const char *dir)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *sudo = getenv("SUDO_UID");
	struct stat st;

	str_addf(&path, "%s/.roar", dir);
	if (path.failed || stat(path.data, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (st.st_uid == geteuid() || st.st_uid == 0)
		return true;
	/* `sudo roar` works in the project of whoever typed it. */
	return geteuid() == 0 && sudo &&
	       strtoul(sudo, NULL, 10) == (unsigned long)st.st_uid;
}

/* The nearest project at or above `cwd`, or NULL.  The result is an own copy. */
static int find_root(const char *cwd, char **ret_root)
{
	CLEANUP(freep) char *dir = strdup(cwd);

	if (!dir)
		return -ENOMEM;
	for (;;) {
		char *slash;

		if (is_project(dir)) {
			*ret_root = TAKE_PTR(dir);
			return 0;
		}
		slash = strrchr(dir, '/');
		if (!slash || !slash[1])
			return -ENOENT;
		slash[slash == dir] = '\0';
	}
}

/* ---- making ---- */

/* Makes a folder that only its owner enters, whatever the umask.  1 when it was
 * made, 0 when it was there. */
static int make_dir(const char *path, struct roar_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return chmod(path, 0700) < 0 ? -errno : 1;
	if (errno != EEXIST)
		return error_set(err, -errno, "cannot make '%s': %s", path,
				 strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR,
				 "'%s' is no folder: move it away", path);
	return 0;
}

/* Another init at the same time writes the same text; a file that is there, and
 * may have been changed, stays. */
static int write_config(const char *dir, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;
	int r;

	config_default_text(&text);
	str_addf(&path, "%s/config.toml", dir);
	if (text.failed || path.failed)
		return -ENOMEM;
	fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return 0;
	r = fd < 0 ? -errno : fd_write_all(fd, text.data, text.len);
	if (r < 0)
		return error_set(err, r, "cannot write '%s': %s", path.data,
				 strerror(-r));
	return 0;
}

/* A folder that ignores itself never shows up in `git status`.  Without this file
 * it does, and nothing else is wrong. */
static void hide_from_git(const char *dir)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;

	str_addf(&path, "%s/.gitignore", dir);
	if (str_error(&path) == 0)
		fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  0600);
	if (fd >= 0)
		(void)fd_write_all(fd, "*\n", 2);
}

int project_init(const char *root, struct roar_error *err)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(str_release) struct str runs = STR_INIT;
	int made;
	int r;

	str_addf(&dir, "%s/.roar", root);
	str_addf(&runs, "%s/.roar/runs", root);
	if (dir.failed || runs.failed)
		return error_set(err, -ENOMEM, "no memory to make a project");
	made = make_dir(dir.data, err);
	if (made < 0)
		return made;
	r = make_dir(runs.data, err);
	if (r >= 0 && made)
		r = write_config(dir.data, err);
	if (r >= 0 && made)
		hide_from_git(dir.data);
	return r < 0 ? r : made;
}

/* ---- opening ---- */

static int get_cwd(char **ret, struct roar_error *err)
{
	*ret = getcwd(NULL, 0);
	if (*ret)
		return 0;
	return error_set(err, -errno,
			 "the current directory cannot be found (%s): change "
			 "to one that exists",
			 strerror(errno));
}

/* Where a project is made by itself: at the top of the user's git repository, so
 * that runs from all its folders meet in one record; else right here. */
static char *new_root(const char *cwd)
{
	CLEANUP(freep) char *dir = strdup(cwd);
	CLEANUP(str_release) struct str git = STR_INIT;
	struct stat st;

	while (dir && dir[0] && dir[1]) {
		str_clear(&git);
		str_addf(&git, "%s/.git", dir);
		if (str_error(&git) == 0 && stat(git.data, &st) == 0 &&
		    st.st_uid == geteuid())
			return TAKE_PTR(dir);
		*strrchr(dir, '/') = '\0';
	}
	return strdup(cwd);
}

static int find_or_make(unsigned flags, struct project *p, bool *ret_created,
			struct roar_error *err)
{
	int r = find_root(p->cwd, &p->root);

	if (r != -ENOENT)
		return r;
	if (!(flags & PROJECT_CREATE))
		return error_set(
			err, -ENOENT,
			"no roar project here or above: run 'roar init'");
	p->root = new_root(p->cwd);
	if (!p->root)
		return -ENOMEM;
	r = project_init(p->root, err);
	if (r < 0)
		return r;
	*ret_created = r == 1;
	if (!is_project(p->root))
		return error_set(err, -EPERM,
				 "'%s/.roar' belongs to someone else: work in a "
				 "folder of your own",
				 p->root);
	return 0;
}

static int open_dir(struct project *p, struct roar_error *err)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	str_addf(&dir, "%s/.roar", strcmp(p->root, "/") ? p->root : "");
	p->dir = str_take(&dir);
	if (!p->dir)
		return -ENOMEM;
	p->dirfd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dirfd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", p->dir,
				 strerror(errno));
	return 0;
}

int project_open(unsigned flags, struct project *ret, bool *ret_created,
		 struct roar_error *err)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	bool created = false;
	int r;

	r = get_cwd(&p.cwd, err);
	if (r == 0)
		r = find_or_make(flags, &p, &created, err);
	if (r == 0)
		r = open_dir(&p, err);
	if (r == 0 && !(flags & PROJECT_NO_CONFIG))
		r = config_load(p.dir, &p.config, err);
	if (r == -ENOMEM)
		return error_set(err, r, "no memory to open the project");
	if (r < 0)
		return r;
	if (ret_created)
		*ret_created = created;
	*ret = p;
	p = (struct project){ .dirfd = -1 };
	return 0;
}

void project_release(struct project *p)
{
	config_release(&p->config);
	closep(&p->dirfd);
	free(p->root);
	free(p->dir);
	free(p->cwd);
	*p = (struct project){ .dirfd = -1 };
}

/* ---- the store ---- */

/* Is there any journal?  Nearly always not, and then nothing has to be opened
 * for writing. */
static bool has_journals(const struct project *p)
{
	int fd = openat(p->dirfd, "runs",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool found = false;

	if (!dir) {
		closep(&fd);
		return false;
	}
	while (!found && (e = readdir(dir)))
		found = e->d_name[0] != '.';
	(void)closedir(dir);
	return found;
}

static int recover(struct project *p, struct store *store,
		   struct roar_error *err)
{
	CLEANUP(store_closep) struct store *own = NULL;
	int r = 0;

	if (!store) {
		r = store_open(p->dir, STORE_CREATE, &own, err);
		store = own;
	}
	return r < 0 ? r : recover_runs(p, store, err);
}

void project_recover(struct project *p)
{
	struct roar_error why = { 0 };

	if (has_journals(p) && recover(p, NULL, &why) < 0)
		(void)cli_fail("runs that were killed are not recorded yet: %s",
			       why.text);
}

int project_store(struct project *p, unsigned store_flags,
		  struct store **ret_store, struct roar_error *err)
{
	bool recovering = has_journals(p);
	struct roar_error why = { 0 };
	int recovered = 0;
	int r;

	if (recovering && store_flags & STORE_READONLY)
		recovered = recover(p, NULL, &why);
	r = store_open(p->dir, store_flags, ret_store, err);
	if (r == 0 && recovering && !(store_flags & STORE_READONLY))
		recovered = recover(p, *ret_store, &why);
	/* Said only where the reading goes on: of a store that cannot be opened
	 * the caller says all there is to say. */
	if (r == 0 && recovered < 0)
		(void)cli_fail("runs that were killed are not recorded yet: %s",
			       why.text);
	return r;
}
