/* dir_census.h - which directories a run has read or written as a whole.
 *
 * The caller adds the files that the run read or wrote.  dir_census_take() then lists each
 * directory that has such files, once and from the bottom up, and compares names: all of
 * its files must be known ones, all of one side, and its directories must be whole too.
 * A listing ends at the first name too many, so that the cost is that of the known files,
 * also for a few files of a directory of millions.
 *
 * Known layouts are recognised by their names:
 *	checkpoint	step-N with a manifest of roar
 *	zarr		.zarray, .zgroup or zarr.json
 *	lance		_versions and data
 *	lerobot		meta/info.json and data/chunk-*
 *	webdataset	at least two tar archives
 *	parquet		at least two parquet files, also below KEY=VALUE directories
 * A directory of a known layout is reported without the directories in it; of plain
 * directories only the topmost ones are, if they have at least two files.
 *
 * Symbolic links count as files.  A directory with a FIFO, a socket or a device, and a
 * place (see below) is never whole. */
#ifndef ROAR_RUN_DIR_CENSUS_H
#define ROAR_RUN_DIR_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct dir_census;

enum dir_side { DIR_READ, DIR_WRITTEN, DIR_SIDES };

enum { DIR_CENSUS_PLAIN_MAX = 64 }; /* plain directories that are reported */

struct dir_whole {
	const char *path; /* in the census */
	int kind; /* enum collection_kind */
	enum dir_side side;
	uint64_t n_files;
};

/* `places` are directories such as the project and the home directory, ended by NULL:
 * they and all above them are more than a set of files.  NULL and "" are skipped. */
int dir_census_new(const char *const *places, size_t n_places,
		   struct dir_census **ret);
void dir_census_free(struct dir_census *c);
DEFINE_CLEANUP(struct dir_census *, dir_census_free)

/* Adds a file by its absolute path, which exists after the run.  0 or -ENOMEM. */
int dir_census_add(struct dir_census *c, const char *path, size_t len,
		   enum dir_side side);

/* Finds the whole directories, ordered by depth.  To be called once, after all files
 * were added.  The result lives as long as the census.  0 or -ENOMEM. */
int dir_census_take(struct dir_census *c, const struct dir_whole **ret,
		    size_t *ret_n);

#endif
