/* log_file.h - the file that holds the shared log, from the reader's side.
 *
 * A file of mode 0600 on a tmpfs: /dev/shm, else /tmp.  Its name holds the pid and the
 * start time of the tracer, so that the leftover of a killed run can be distinguished
 * from a file in use.  Leftovers are removed at the next start.  If the run can be
 * recovered, the name also holds the name of the run, and the file is kept for a day. */
#ifndef ROAR_TRACE_PRELOAD_LOG_FILE_H
#define ROAR_TRACE_PRELOAD_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

struct log_header;

struct log_file {
	char path[96];
	struct log_header *header; /* mapped, shared (log.h names the writer of
				    * each field); NULL: none */
	size_t size; /* of the mapping, bytes */
	uint32_t n_cells;
	uint64_t key;
};

/* Makes and maps the file.  `run` is the run's name or NULL, `mode` is enum log_mode,
 * `preload` the entry for LD_PRELOAD of children, `pass` the secret that marks their
 * calls (log.h).  0 or a negative errno. */
int log_file_new(struct log_file *f, const char *run, unsigned mode,
		 const char *preload, uint64_t pass);

/* Removes the name; processes that have the file mapped continue. */
void log_file_remove(struct log_file *f);
void log_file_release(struct log_file *f);

/* Removes the files of tracers that have ended. */
void log_file_sweep(void);

/* Reads the log that a killed tracer of that run has left.  It is a private copy, so
 * processes that still have the file mapped cannot change it.  The path is that of the
 * file.  -ENOENT when there is none, -EBADMSG when it is not a log. */
int log_file_salvage(struct log_file *f, const char *run);
/* Removes that file. */
void log_file_discard(const char *run);

#endif
