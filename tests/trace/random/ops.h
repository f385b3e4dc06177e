/* ops.h - the operations of a random program; each does one thing to the files
 * and the same to the model, or nothing where it is not possible now. */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include <stdbool.h>

#include "../workloads/workload.h"
#include "model.h"
#include "spell.h"

/* Tells what is done, when asked to. */
#define SAY(...)                          \
	do {                              \
		if (m->talkative)         \
			say(__VA_ARGS__); \
	} while (0)

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A directory and a name in it that is free; false: no luck. */
bool pick_free(int *ret_dir, const char **ret_name);

/* ---- ops_file.c: content ---- */
void op_read(void);
void op_write(void);
void op_create(void);
void op_truncate(void);
void op_copy(void);
void op_map(void);
void op_tmpfile(void);

/* ---- ops_fd.c: descriptors that are kept ---- */
void keep(int fd, int node, bool reads, bool writes);
void op_kept_write(void);
void op_kept_read(void);
void op_kept_truncate(void);
void op_kept_close(void);
void op_kept_duplicate(void);
void op_kept_reopen(void);

/* Writes some bytes through a descriptor, now and then none. */
void write_some(int fd, int inode, bool append);
void read_all(int fd, int inode);

/* ---- ops_name.c: names ---- */
void op_unlink(void);
void op_rename(void);
void op_rename_over(void);
void op_rename_directory(void);
void op_exchange(void);
void op_link(void);
void op_symlink(void);
void op_mkdir(void);
void op_rmdir(void);
void op_chdir(void);

/* ---- ops_fail.c: calls that must fail ---- */
void op_fail_open(void);
void op_fail_name(void);

/* ---- ops_process.c: who does it ---- */
void op_fork(void);
void op_vfork(void);
void op_thread(void);
void op_exec(void);
void op_script(void);

/* ---- ops_view.c: processes to which names mean other files ---- */
void op_chroot(void);
void op_mount(void);

/* Goes on until that many operations are done; main.c. */
void run_until(int n_ops);

/* The same for the part of the current process, which ends with it. */
void run_part(void);

#endif
