/* fixture.h - a project in a temporary directory, with a record made by hand.
 *
 * Jobs are added through the store as `roar run` would add them, with files
 * that really lie in the project; then a command runs in this process and its
 * output is compared as a whole.  Times, hosts and UIDs are fixed, the directory
 * is shown as DIR and the session's UID as SESSION. */
#ifndef ROAR_TEST_ROAR_READ_FIXTURE_H
#define ROAR_TEST_ROAR_READ_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "store/store.h"

struct args;
struct command;

struct fixture {
	char dir[64];
	struct store *store;
	struct store_session session;
	struct pool pool;
	struct store_job job; /* the one being described */
	struct store_file *files; /* of that job */
	size_t n_files, files_cap;
	struct store_gap *gaps;
	size_t n_gaps, gaps_cap;
	struct store_process *processes;
	size_t n_processes, processes_cap;
	int n_jobs;
	/* For tests of commands, see roar_read/fixture.h: calls the command in
	 * another way than command->run(), or NULL; what the last one printed. */
	int (*run)(const struct command *command, const struct args *args);
	struct str out;
	struct str err;
};

int fixture_make(void **state);
int fixture_remove(void **state);

#define FIXTURE_TEST(f) \
	cmocka_unit_test_setup_teardown(f, fixture_make, fixture_remove)

/* Writes a file of the project. */
void put(struct fixture *f, const char *name, const char *content);

/* Describes a job; what follows, up to record(), belongs to it. */
void job(struct fixture *f, const char *uid, const char *command);
void input(struct fixture *f, const char *name);
void output(struct fixture *f, const char *name, const char *content);
struct store_file *file(struct fixture *f, const char *name, unsigned role);

/* An output that the job renamed from another name, and did not write. */
void moved(struct fixture *f, const char *from, const char *to);
void gap(struct fixture *f, int code, const char *detail, int64_t count);
void process(struct fixture *f, int pid, int parent, const char *command);
void record(struct fixture *f);

/* A whole job that reads one file (NULL: none) and writes another. */
void record_made(struct fixture *f, const char *uid, const char *command,
		 const char *from, const char *to, const char *content);

#endif
