/* store_failure.c - from SQLite's result codes to one sentence and an errno.
 *
 * The first row that fits decides.  A sentence is put together as
 *	before 'path' after (detail): remedy */
#include "store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/str.h"

struct cause {
	int code; /* primary result code; 0 any */
	int sys; /* errno that caused it; 0 any */
	int error; /* what is returned, positive */
	bool detail; /* show the words of SQLite or the system */
	const char *before;
	const char *after;
	const char *remedy;
};

#define MOVE_AWAY "move it away and run 'roar init'"
#define RESTORE "restore a copy or " MOVE_AWAY

static const struct cause causes[] = {
	{ .sys = ENOSPC,
	  .error = ENOSPC,
	  .before = "no space left on the device that holds ",
	  .remedy = "free some and try again" },
	{ .code = SQLITE_FULL,
	  .error = ENOSPC,
	  .before = "no space left on the device that holds ",
	  .remedy = "free some and try again" },
	{ .sys = EDQUOT,
	  .error = EDQUOT,
	  .before = "the disk quota leaves no space for ",
	  .remedy = "free some and try again" },
	{ .sys = EFBIG,
	  .error = EFBIG,
	  .before = "the file size limit leaves no space for ",
	  .remedy = "raise it with 'ulimit -f' and try again" },
	{ .code = SQLITE_CANTOPEN,
	  .sys = ENOENT,
	  .error = ENOENT,
	  .after = " does not exist",
	  .remedy = "run 'roar init' first" },
	{ .code = SQLITE_CANTOPEN,
	  .sys = ENOTDIR,
	  .error = ENOTDIR,
	  .after = " cannot exist: a component of its path is not a directory",
	  .remedy = MOVE_AWAY },
	{ .code = SQLITE_CANTOPEN,
	  .sys = EISDIR,
	  .error = EISDIR,
	  .after = " is a directory",
	  .remedy = MOVE_AWAY },
	{ .code = SQLITE_CANTOPEN,
	  .sys = EACCES,
	  .error = EACCES,
	  .before = "no permission to open ",
	  .remedy = "check the owner and mode of it and of its directory" },
	{ .code = SQLITE_CANTOPEN,
	  .sys = EPERM,
	  .error = EACCES,
	  .before = "no permission to open ",
	  .remedy = "check the owner and mode of it and of its directory" },
	{ .code = SQLITE_CANTOPEN,
	  .sys = EROFS,
	  .error = EROFS,
	  .after = " is on a read-only file system",
	  .remedy = "copy the project to a place that can be written" },
	{ .code = SQLITE_CANTOPEN,
	  .sys = ENAMETOOLONG,
	  .error = ENAMETOOLONG,
	  .before = "the path of ",
	  .after = " is too long for SQLite",
	  .remedy = "use a project directory with a shorter path" },
	{ .code = SQLITE_CANTOPEN,
	  .error = EACCES,
	  .detail = true,
	  .before = "cannot open ",
	  .remedy = "check the permissions of it and of its directory" },
	{ .code = SQLITE_CORRUPT,
	  .error = EUCLEAN,
	  .detail = true,
	  .after = " is damaged",
	  .remedy = RESTORE },
	{ .code = SQLITE_NOTADB,
	  .error = EUCLEAN,
	  .after = " is not a database",
	  .remedy = RESTORE },
	{ .code = SQLITE_ERROR,
	  .error = EUCLEAN,
	  .detail = true,
	  .after = " is not laid out as roar expects",
	  .remedy = RESTORE },
	{ .code = SQLITE_BUSY,
	  .error = EBUSY,
	  .after = " has been locked by another program for 30 s",
	  .remedy = "wait for it to end and try again" },
	{ .code = SQLITE_LOCKED,
	  .error = EBUSY,
	  .after = " has been locked by another program for 30 s",
	  .remedy = "wait for it to end and try again" },
	{ .code = SQLITE_READONLY,
	  .error = EROFS,
	  .after = " cannot be written",
	  .remedy = "check the permissions of it and of its directory" },
	{ .code = SQLITE_PERM,
	  .error = EACCES,
	  .before = "no permission to use ",
	  .remedy = "check the owner and mode of it and of its directory" },
	{ .code = SQLITE_NOMEM,
	  .error = ENOMEM,
	  .before = "out of memory while using ",
	  .remedy = "end other programs and try again" },
	{ .code = SQLITE_TOOBIG,
	  .error = E2BIG,
	  .before = "a text of more than 1 GB does not fit into ",
	  .remedy = "shorten it and try again" },
	{ .code = SQLITE_CONSTRAINT,
	  .error = EINVAL,
	  .detail = true,
	  .before = "a row contradicts what is in ",
	  .remedy = "run 'roar db --check'" },
	{ .code = SQLITE_INTERRUPT,
	  .error = EINTR,
	  .before = "interrupted while using ",
	  .remedy = "try again" },
	{ .error = EIO,
	  .detail = true,
	  .before = "cannot read or write ",
	  .remedy = "check the disk and try again" },
};

static const struct cause *find(int code, int sys)
{
	const struct cause *c = causes;

	while ((c->code && c->code != code) || (c->sys && c->sys != sys))
		c++;
	return c;
}

int store_failure(const char *path, int code, int sys, const char *detail,
		  struct roar_error *err)
{
	const struct cause *c = find(code & 0xff, sys);
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable(&shown, path, strlen(path));
	return error_set(err, -c->error, "%s'%s'%s%s%s%s: %s",
			 c->before ? c->before : "", str_cstr(&shown),
			 c->after ? c->after : "", c->detail ? " (" : "",
			 c->detail ? (sys ? strerror(sys) : detail) : "",
			 c->detail ? ")" : "", c->remedy);
}

/* A commit that fails leaves no errno with the connection, but with the log that
 * could not be written. */
static int log_errno(const struct store *s)
{
	sqlite3_file *log = NULL;
	int sys = 0;

	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER,
				 (void *)&log) == SQLITE_OK &&
	    log && log->pMethods)
		(void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO,
						  &sys);
	return sys;
}

int store_fail(const struct store *s, struct roar_error *err)
{
	int code = sqlite3_errcode(s->db);
	int extended = sqlite3_extended_errcode(s->db);
	char detail[256];
	int sys = 0;

	(void)snprintf(detail, sizeof(detail), "%s", sqlite3_errmsg(s->db));
	/* Only these two leave a current errno. */
	if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
		sys = sqlite3_system_errno(s->db);
	if (!sys && extended == SQLITE_IOERR_WRITE)
		sys = log_errno(s);
	/* The words are the same for all of these. */
	if (!sys && code == SQLITE_IOERR)
		(void)snprintf(detail, sizeof(detail), "%s %d",
			       sqlite3_errstr(code), extended);
	return store_failure(s->path, code, sys, detail, err);
}
