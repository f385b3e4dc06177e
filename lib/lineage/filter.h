/* filter.h - which files of a run are noise to its reader.
 *
 * A filter never hides a file from the record: the file is stored with the filter that
 * matched, counted, and listed on request.  It is not hashed and not shown by default.
 * Each filter can be switched off; the first that matches, in the order of the enum,
 * takes the file.
 *
 * Files below the project's root are never "system" or "tmp", wherever the project is.
 * There a name alone makes few "packages": site-packages, dist-packages, node_modules,
 * conda-meta, renv/library, *.dist-info, *.egg-info and the hidden directories of tools
 * (.tox, .pyenv); otherwise there must be evidence of an environment.
 *
 * Three kinds of files are kept.  Files in /tmp that the run only read: another program
 * wrote them.  Files that a symbolic link of the project leads to: they are results
 * (run/links.h describes the links).  Compiled Python that was read (run/bytecode.h). */
#ifndef ROAR_LINEAGE_FILTER_H
#define ROAR_LINEAGE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

enum filter_id {
	FILTER_NONE, /* kept */
	FILTER_ROAR, /* .roar/ itself; always on */
	FILTER_GIT, /* .git/, git's own configuration; always on */
	FILTER_CREDENTIALS, /* .netrc, .ssh/, .aws/credentials...; always on */
	FILTER_DEVICES, /* /dev, /proc, /sys: without content; always on */
	FILTER_SYSTEM, /* /usr, /etc, /lib, ...: the operating system, and
		        * directories with bin/, lib/, share/ ...  below /opt */
	FILTER_PACKAGES, /* installed Python, conda, R, node packages; written *.pyc */
	FILTER_TORCH_CACHE, /* torchinductor, triton and torch extension caches */
	FILTER_LIBRARY_CACHES, /* ~/.cache/<library>, matplotlib, numba, ... */
	FILTER_TMP, /* temporary directories */
	FILTER_PATTERNS, /* the user's own filters.ignore_paths */
	FILTER_END,
};

struct filter_options {
	bool off[FILTER_END]; /* switched off by configuration */
	const char *project; /* root of the project, absolute */
	const char *home; /* may be NULL */
	const char *tmpdir; /* $TMPDIR or NULL; /tmp and /var/tmp always count */
	char *const *patterns; /* see below */
	size_t n_patterns;
	/* Is the directory path[0 .. len) of the project an environment, into
	 * which packages are installed?  NULL: there are none. */
	bool (*is_environment)(void *ctx, const char *path, size_t len);
	void *ctx;
	/* Does a symbolic link of the project lead to this file in a temporary
	 * directory, or to a directory above it?  NULL: there are none. */
	bool (*is_linked)(void *links_ctx, const char *path);
	void *links_ctx;
};

/* A pattern matches whole path components; "*" and "?" stay inside one.  When it
 * matches a directory, it takes everything below.
 *	"/data/raw"	absolute: from the root
 *	"~/scratch"	from the home directory
 *	"*.log", "wandb/run-*"
 *			relative: at any depth; for files of the project, of
 *			the part below its root
 * A leading "./" and slashes at the end are ignored. */

/* The filter that takes `path`, or FILTER_NONE.  `written`: the run wrote it. */
enum filter_id filter_match(const struct filter_options *options,
			    const char *path, bool written);

/* "system", "packages", ... */
const char *filter_name(enum filter_id id);

/* The configuration key that switches it ("filters.ignore_system_reads"), NULL
 * when it is always on. */
const char *filter_key(enum filter_id id);

/* What it takes, as a phrase: "files of the operating system". */
const char *filter_about(enum filter_id id);

#endif
