/* project.c - see project.h */
#include "project/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "project/config_file.h"
#include "project/owner.h"
#include "project/recover.h"
#include "store/store.h"

/* ---- finding ---- */

enum belonging {
	NO_PROJECT,
	OWN, /* someone's to trust (project.h) */
	PLANTED, /* a stranger's, in a folder that is not his; closed, of root */
	FOREIGN, /* another's project */
};

/* What is root's is to be trusted, but of use only when it can be entered. */
static bool is_usable(const char *dir, uid_t owner)
{
	if (owner == geteuid() || owner_typed_sudo(owner))
		return true;
	return owner == 0 &&
	       faccessat(AT_FDCWD, dir, R_OK | X_OK, AT_EACCESS) == 0;
}

/* Whose is DIR/.roar? */
static enum belonging look_at(const char *dir, uid_t *ret_owner)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct stat folder;
	struct stat st;

	str_addf(&path, "%s/.roar", dir);
	if (path.failed || stat(path.data, &st) < 0 || !S_ISDIR(st.st_mode))
		return NO_PROJECT;
	*ret_owner = st.st_uid;
	if (is_usable(path.data, st.st_uid))
		return OWN;
	if (stat(*dir ? dir : "/", &folder) < 0)
		return PLANTED;
	/* Root's in one's own folder comes from `sudo`, and is in the way. */
	if (st.st_uid == 0)
		return folder.st_uid == geteuid() ? FOREIGN : PLANTED;
	return folder.st_uid == st.st_uid ? FOREIGN : PLANTED;
}

static void add_user(struct str *out, uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		str_addf(out, "%s (uid %u)", user->pw_name, uid);
	else
		str_addf(out, "uid %u", uid);
}

static int refuse(const char *root, uid_t owner, struct roar_error *err)
{
	CLEANUP(str_release) struct str whose = STR_INIT;
	CLEANUP(str_release) struct str mine = STR_INIT;

	add_user(&whose, owner);
	add_user(&mine, geteuid());
	return error_set(
		err, -EPERM,
		"'%s/.roar' belongs to %s and roar runs as %s: run it "
		"as the owner, or take the project over with 'chown -R "
		"%u %s/.roar'",
		root, str_cstr(&whose), str_cstr(&mine), geteuid(), root);
}

/* The nearest project at or above `cwd`; the result is an own copy.  -ENOENT when
 * there is none. */
static int find_root(const char *cwd, char **ret_root, struct roar_error *err)
{
	CLEANUP(freep) char *dir = strdup(cwd);
	uid_t owner = 0;

	if (!dir)
		return -ENOMEM;
	for (;;) {
		enum belonging b = look_at(dir, &owner);
		char *slash;

		if (b == FOREIGN)
			return refuse(dir, owner, err);
		if (b == OWN) {
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
		return error_set(err, -errno, "cannot create '%s': %s", path,
				 strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR,
				 "'%s' is not a directory: move it away", path);
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
	if (fd >= 0 && r < 0)
		(void)unlink(path.data);
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

static int init(const char *root, struct roar_error *err)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(str_release) struct str runs = STR_INIT;
	uid_t owner = 0;
	int made;
	int r;

	str_addf(&dir, "%s/.roar", root);
	str_addf(&runs, "%s/.roar/runs", root);
	if (dir.failed || runs.failed)
		return error_set(err, -ENOMEM, "no memory to create a project");
	if (look_at(root, &owner) > OWN)
		return refuse(root, owner, err);
	made = make_dir(dir.data, err);
	if (made < 0)
		return made;
	r = make_dir(runs.data, err);
	if (r >= 0 && made)
		r = write_config(dir.data, err);
	if (r >= 0)
		hide_from_git(dir.data);
	/* Half a project would look like one. */
	if (r < 0 && made) {
		(void)rmdir(runs.data);
		(void)rmdir(dir.data);
	}
	return r < 0 ? r : made;
}

int project_init(const char *root, struct roar_error *err)
{
	CLEANUP(closep) int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool acted = owner_act(fd);
	int r = init(root, err);

	owner_act_as_self(acted);
	return r;
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
		    (st.st_uid == geteuid() || owner_typed_sudo(st.st_uid)))
			return TAKE_PTR(dir);
		*strrchr(dir, '/') = '\0';
	}
	return strdup(cwd);
}

static int find_or_make(unsigned flags, struct project *p, bool *ret_created,
			struct roar_error *err)
{
	int r = find_root(p->cwd, &p->root, err);

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
	return 0;
}

static void make_runs(const struct project *p)
{
	bool acted = owner_act(p->dirfd);

	(void)mkdirat(p->dirfd, "runs", 0700);
	owner_act_as_self(acted);
}

static int open_dir(unsigned flags, struct project *p, struct roar_error *err)
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
	/* Who tidied up may have taken it for rubbish; runs need it. */
	if (!(flags & PROJECT_NO_CONFIG) &&
	    faccessat(p->dirfd, "runs", F_OK, 0) < 0)
		make_runs(p);
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
		r = open_dir(flags, &p, err);
	if (r == 0 && !(flags & PROJECT_NO_CONFIG))
		r = config_load(p.dir, &p.config);
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

int project_store_create(const struct project *p, struct store **ret_store,
			 struct roar_error *err)
{
	bool acted = owner_act(p->dirfd);
	int r = store_open(p->dir, STORE_CREATE, ret_store, err);

	owner_act_as_self(acted);
	/* Earlier files may be root's. */
	if (r < 0 && acted)
		r = store_open(p->dir, STORE_CREATE, ret_store, err);
	return r;
}

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
		r = project_store_create(p, &own, err);
		store = own;
	}
	return r < 0 ? r : recover_runs(p, store, err);
}

void project_recover(struct project *p)
{
	struct roar_error why = { 0 };

	if (has_journals(p))
		(void)recover(p, NULL, &why);
}

/* A database of an older roar is brought up to date by whoever comes first, even
 * those who only want to read. */
static int open_store(const struct project *p, unsigned flags,
		      struct store **ret_store, struct roar_error *err)
{
	CLEANUP(store_closep) struct store *newer = NULL;
	struct roar_error why = { 0 };
	int r = store_open(p->dir, flags, ret_store, err);

	if (r != -ESTALE || project_store_create(p, &newer, &why) < 0)
		return r;
	return store_open(p->dir, flags, ret_store, err);
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
	r = open_store(p, store_flags, ret_store, err);
	if (r == 0 && recovering && !(store_flags & STORE_READONLY))
		recovered = recover(p, *ret_store, &why);
	/* Said only where the reading goes on: of a store that cannot be opened
	 * the caller says all there is to say. */
	if (r == 0 && recovered < 0)
		(void)cli_fail("runs that were killed are not recorded yet: %s",
			       why.text);
	return r;
}
