/* files.c - see files.h
 *
 * Answers are large and paths are many, so a window of them is worked on at a time, with
 * the GIL released. */
#include "files.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "hash/jobs/engine.h"
#include "interrupt.h"
#include "wanted.h"

enum { WINDOW = 4096 }; /* files hashed at a time */

const char files_hash_doc[] =
	"hash_files(paths, algorithms, threads, is_main): for each path, which\n"
	"is bytes, (errno or 0, size, {name: hex}).  threads is 0 for one per CPU;\n"
	"is_main says that this is the thread where Python handles signals.";

struct job {
	PyObject *paths; /* a tuple of bytes */
	struct wanted wanted;
	struct engine_options options;
	struct engine_file *files; /* of this window */
	size_t n;
	int result; /* of engine_run() */
	struct interrupt interrupt;
};

/* ---- hashing ---- */

static bool look(void *ctx, const struct engine_progress *progress)
{
	struct job *job = ctx;

	(void)progress;
	return interrupt_look(&job->interrupt);
}

static void *run(void *arg)
{
	struct job *job = arg;

	job->result = engine_run(job->files, job->n, &job->options);
	return NULL;
}

/* A thread has one table to hash at (file_pass_local()).  When a signal's handler hashes
 * files while that is in use, it does so in a thread of its own. */
static void run_apart(struct job *job)
{
	pthread_t thread;

	job->options.look = NULL;
	job->result = thread_start(&thread, NULL, run, job);
	if (job->result == 0)
		(void)pthread_join(thread, NULL);
}

static void run_released(struct job *job)
{
	static _Thread_local bool at_work; /* per thread: a nested call */

	interrupt_release(&job->interrupt);
	if (at_work) {
		run_apart(job);
	} else {
		at_work = true;
		(void)run(job);
		at_work = false;
	}
	interrupt_restore(&job->interrupt);
}

/* ---- in and out ---- */

static PyObject *answer(const struct job *job, const struct engine_file *file)
{
	PyObject *digests = file->result ? PyDict_New() :
					   wanted_dict(&job->wanted,
						       &file->hash.digests);
	uint64_t size = file->result ? 0 : file->hash.stamp.size;

	return digests ? Py_BuildValue("iKN", -file->result,
				       (unsigned long long)size, digests) :
			 NULL;
}

static int add_answers(const struct job *job, PyObject *list)
{
	for (size_t i = 0; i < job->n; i++) {
		PyObject *one = answer(job, &job->files[i]);
		int r = one ? PyList_Append(list, one) : -1;

		Py_XDECREF(one);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int fail(const struct job *job)
{
	if (job->interrupt.raised)
		return -1;
	if (job->result == -ENOMEM) {
		(void)PyErr_NoMemory();
	} else {
		errno = -job->result;
		(void)PyErr_SetFromErrno(PyExc_OSError);
	}
	return -1;
}

static int hash_window(struct job *job, Py_ssize_t first, PyObject *list)
{
	for (size_t i = 0; i < job->n; i++) {
		PyObject *path = PyTuple_GetItem(job->paths,
						 first + (Py_ssize_t)i);
		const char *text = path ? PyBytes_AsString(path) : NULL;

		if (!text)
			return -1;
		job->files[i] = (struct engine_file){ .path = text };
	}
	run_released(job);
	if (job->result < 0 || job->interrupt.raised)
		return fail(job);
	return add_answers(job, list);
}

static PyObject *hash_all(struct job *job)
{
	size_t n = (size_t)PyTuple_Size(job->paths);
	size_t size = n < WINDOW ? n : WINDOW;
	CLEANUP(freep) struct engine_file *files = NULL;
	PyObject *list;

	files = calloc(size + 1, sizeof(*files));
	if (!files)
		return PyErr_NoMemory();
	job->files = files;
	list = PyList_New(0);
	for (size_t at = 0; list && at < n; at += size) {
		job->n = n - at < size ? n - at : size;
		if (hash_window(job, (Py_ssize_t)at, list) < 0)
			Py_CLEAR(list);
	}
	return list;
}

PyObject *files_hash(PyObject *module, PyObject *args)
{
	struct job job = { 0 };
	PyObject *names;
	int is_main;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!Ip:hash_files", &PyTuple_Type,
			      &job.paths, &PyTuple_Type, &names,
			      &job.options.n_threads, &is_main))
		return NULL;
	if (wanted_read(names, &job.wanted) < 0)
		return NULL;
	job.options.want = job.wanted.set;
	job.interrupt.is_main = is_main;
	job.options.look = look;
	job.options.ctx = &job;
	return hash_all(&job);
}
