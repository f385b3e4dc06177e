/* self_report.h - file operations that a program reports of itself, as text.
 *
 * Python writes such a text at the end of `with roar.record()`, and `roar record-files` reads
 * it.  It is a sequence of strings, each ended by NUL:
 *
 *	roar-files 1			once, first
 *	name TEXT			name of the step
 *	arg TEXT			the command line, argument by argument
 *	pid N
 *	started NS, ended NS		since 1970
 *	exit N				0 to 255
 *	lost N				operations that were not kept
 *	gap TEXT			something else that was not seen
 *	open FLAGS STAMP NS PATH	FLAGS: letters of r (read), w (write), c (the file was
 *					created), t (emptied)
 *	rename OLD NEW
 *	link OLD NEW
 *	symlink TEXT NEW
 *	remove STAMP PATH
 *
 * An open for reading alone may have "-": then the reader of the list finds out by NS whether
 * the file has changed since.  Each word and each field is one string.  STAMP is "-", or the file before the operation:
 * mode:device:inode:size:mtime:ctime, decimal, times in nanoseconds.  Paths are absolute.
 * Operations come in their order.  A reader checks the whole text before it uses any part
 * of it. */
#ifndef ROAR_EVENT_SELF_REPORT_H
#define ROAR_EVENT_SELF_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"

enum { SELF_REPORT_PATH_MAX = 32 * 1024 };

enum self_report_kind {
	SELF_REPORT_NAME = 1,
	SELF_REPORT_ARG,
	SELF_REPORT_PID,
	SELF_REPORT_STARTED,
	SELF_REPORT_ENDED,
	SELF_REPORT_EXIT,
	SELF_REPORT_LOST,
	SELF_REPORT_GAP,
	SELF_REPORT_OPEN,
	SELF_REPORT_RENAME,
	SELF_REPORT_LINK,
	SELF_REPORT_SYMLINK,
	SELF_REPORT_REMOVE,
};

struct self_report_item {
	enum self_report_kind kind;
	unsigned flags; /* of an open: EVENT_READ, ... */
	uint32_t mode; /* of the file before; 0: there was none */
	struct stamp stamp; /* likewise; zero */
	int64_t number; /* of kinds with N or NS */
	const char *path; /* or text; NULL for kinds without one */
	const char *path2; /* the new name */
};

struct self_report {
	const char *at, *end;
	int version; /* 0: nothing was read yet */
};

/* Reads `len` bytes at `text`, which must stay. */
struct self_report self_report_of(const char *text, size_t len);

/* The next item, with strings in the text.  1; 0 at the end; -EBADMSG: the text is not of
 * this form. */
int self_report_next(struct self_report *report, struct self_report_item *ret);

#endif
