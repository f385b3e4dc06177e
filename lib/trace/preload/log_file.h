/* log_file.h - the file behind the shared log, from the reader's side.
 *
 * A file of the owner's alone (0600) on a tmpfs: /dev/shm, else /tmp.  Its name
 * holds the pid of the tracer and when that started, so that what a killed run
 * left behind can be told from one in use, and is removed at the next start; and,
 * where somebody will ask for it then, the name of the run: that one is kept for a
 * day. */
#ifndef ROAR_TRACE_PRELOAD_LOG_FILE_H
#define ROAR_TRACE_PRELOAD_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

struct log_header;

struct log_file {
	char path[96];
	struct log_header *header; /* mapped, shared; NULL: none */
	size_t size; /* of the mapping, bytes */
	uint32_t n_cells;
	uint64_t key;
};

/* Makes and maps the file.  `run` is its run's name or NULL, `mode` is enum log_mode,
 * `preload` what children put into LD_PRELOAD, `pass` what marks their
 * calls (log.h).  0 or a negative errno. */
int log_file_new(struct log_file *f, const char *run, unsigned mode,
		 const char *preload, uint64_t pass);

/* Removes the name; processes that have it mapped go on. */
void log_file_remove(struct log_file *f);
void log_file_release(struct log_file *f);

/* Removes the files of tracers that are gone. */
void log_file_sweep(void);

/* What the tracer of that run has left: a copy of the file, so that whoever still
 * has it mapped can do no harm.  Its path is that of the file.  -ENOENT when there
 * is none, -EBADMSG when it is no log. */
int log_file_salvage(struct log_file *f, const char *run);
/* Removes it. */
void log_file_discard(const char *run);

#endif
