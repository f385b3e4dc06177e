/* handle.h - one arena as this process has it.
 *
 * Threads share a handle.  Those that wait inside do so without the GIL, so close() cannot
 * end the arena under them: it marks the handle, they notice within a slice of their wait,
 * and the last one out closes.  Arrays made by reserve() keep the arena open in the same way. */
#ifndef ROAR_PYTHON_HANDLE_H
#define ROAR_PYTHON_HANDLE_H

#include "core.h"

#include <roar/arena.h>

struct view;

struct handle {
	PyObject_HEAD struct state
		*state; /* of the module, which our type keeps */
	struct roar_arena *a; /* NULL: closed */
	struct view *reserved; /* list of memory to be filled in place */
	PyObject *encoder; /* spare ones, NULL while in use */
	PyObject *decoder;
	size_t threshold; /* smaller leaves stay in the pickle */
	bool copy; /* what is received is private; otherwise a view */
	bool closing;
	unsigned n_inside; /* calls that use `a` now */
};

extern PyType_Spec handle_spec;

/* Functions of the module. */
PyObject *handle_create(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *handle_attach(PyObject *module, PyObject *args, PyObject *kwargs);

/* Sets ArenaClosed. */
void handle_say_closed(const struct handle *h);

/* Brackets of every call that uses h->a.  enter() fails with ArenaClosed. */
int handle_enter(struct handle *h);
void handle_leave(struct handle *h);

/* Closes the arena when that was asked for and nobody is inside. */
void handle_settle(struct handle *h);

/* ---- waiting ---- */

/* A wait in slices, so that signals are heard and close() is noticed:
 *
 *	struct wait w = wait_begin(timeout_ns);
 *	do
 *		r = roar_arena_...(a, ..., w.slice_ns, ...);
 *	while (wait_more(h, &w, &r));
 *
 * The first slice is 0 and runs with the GIL, as there is seldom anything to wait for;
 * wait_unlock() and wait_lock() give the GIL up in all others. */
struct wait {
	long long timeout_ns; /* as given; < 0: for ever */
	long long deadline_ns;
	long long slice_ns;
	PyThreadState *saved;
};

struct wait wait_begin(long long timeout_ns);
void wait_unlock(struct wait *w);
void wait_lock(struct wait *w);

/* Is one more try due?  Otherwise `*r` is the result; with an exception set -EINTR when a
 * signal handler raised one, and -EPIPE when the handle was closed meanwhile. */
bool wait_more(const struct handle *h, struct wait *w, int *r);

/* ---- methods in files of their own ---- */

PyObject *handle_send(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *handle_receive(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* reserve(nbytes, timeout_ns, format, itemsize, dlpack code, shape) -> View */
PyObject *handle_reserve(PyObject *self, PyObject *args);

#endif
