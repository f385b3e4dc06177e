/* foreign_record.c - see foreign_record.h */
#include "reproduce/foreign_record.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "exchange/import_file.h"
#include "portable/portable.h"
#include "reproduce/child.h"
#include "reproduce/recipe.h"
#include "ui/view.h"

enum { HEAD_BYTES = 256, RECENT = 1000 };

static bool is_url(const char *word)
{
	return strncmp(word, "https://", 8) == 0 ||
	       strncmp(word, "http://", 7) == 0;
}

bool foreign_record_is(const char *word)
{
	CLEANUP(closep) int fd = -1;
	char head[HEAD_BYTES];
	ssize_t n;

	if (is_url(word))
		return true;
	fd = open(word, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = fd < 0 ? 0 : fd_read_all(fd, head, sizeof(head));
	return n > 0 && portable_matches(head, (size_t)n);
}

/* Downloads it as "record" of the directory. */
static int fetch(const char *url, int dirfd)
{
	CLEANUP(str_release) struct str output = STR_INIT;
	char *argv[] = { (char *)"/proc/self/exe", (char *)"get", (char *)url,
			 (char *)"record", NULL };
	const struct child child = { .argv = argv,
				     .dirfd = dirfd,
				     .output = &output };
	int r = child_run(&child);

	if (r == 0)
		return 0;
	if (r == -EINTR)
		return cli_fail("interrupted: nothing was run");
	if (r < 0)
		return cli_fail("cannot fetch '%.200s': %s", url, strerror(-r));
	(void)fwrite(output.data, 1, output.len, stderr);
	return 1;
}

/* With the project as the current directory, which view_open() looks at. */
static int read_into(struct view *v, const char *path, const char *dir)
{
	struct import_result result = { 0 };
	struct roar_error err = { 0 };
	int r = project_init(dir, &err);

	if (r < 0)
		return view_fail(r, &err);
	r = view_open(v, STORE_CREATE);
	if (r)
		return r;
	r = import_file(v, path, "roar", &result, &err);
	return r < 0 ? view_fail(r, &err) : 0;
}

static int read_record(struct foreign_record *f, const char *word,
		       struct view *v)
{
	CLEANUP(closep)
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep)
	int dirfd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(freep)
	char *path = is_url(word) ? strdup("record") : realpath(word, NULL);
	char *cwd = getcwd(NULL, 0);
	int r;

	if (here < 0 || dirfd < 0 || !path || !cwd) {
		free(cwd);
		return cli_fail("cannot read '%.200s': %s", word,
				strerror(errno));
	}
	r = is_url(word) ? fetch(word, dirfd) : 0;
	if (r == 0 && fchdir(dirfd) == 0)
		r = read_into(v, path, f->dir);
	if (fchdir(here) < 0)
		r = cli_fail("cannot return to '%.200s'", cwd);
	/* Names are shown and searched as seen from here. */
	free(v->project.cwd);
	v->project.cwd = cwd;
	return r;
}

int foreign_record_open(struct foreign_record *f, const char *word,
			struct view *v)
{
	int r = child_catch_signals(); /* the directory is removed after Ctrl-C */

	if (r < 0)
		return cli_fail("cannot catch signals: %s", strerror(-r));
	strcpy(f->dir, "/tmp/roar-record-XXXXXX");
	if (!mkdtemp(f->dir)) {
		f->dir[0] = '\0';
		return cli_fail("cannot make a temporary directory: %s",
				strerror(errno));
	}
	r = read_record(f, word, v);
	return child_stopped() ? 130 : r;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)remove(path); /* what stays is in a temporary directory */
	return 0;
}

void foreign_record_remove(struct foreign_record *f)
{
	if (f->dir[0])
		(void)nftw(f->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int foreign_record_last_job(struct view *v, struct store_job *ret,
			    struct roar_error *err)
{
	const struct store_job_query newest = { .limit = RECENT };
	struct store_job *jobs;
	size_t n;
	int r = store_jobs(v->store, &v->pool, &newest, &jobs, &n, err);

	if (r < 0)
		return r;
	while (n && recipe_is_transfer(&jobs[n - 1]))
		n--;
	if (!n)
		return error_set(err, -ENOENT,
				 "the record has no job to reproduce");
	*ret = jobs[n - 1];
	return 0;
}
