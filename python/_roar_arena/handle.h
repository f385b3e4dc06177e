/* handle.h - the handle of an arena in this process.
 *
 * Threads share a handle and wait without the GIL, so close() cannot free the arena while they
 * use it.  close() marks the handle; waiting threads notice that after a slice of their wait, and
 * the last thread frees the arena.  Arrays made by reserve() keep it open in the same way. */
#ifndef ROAR_PYTHON_HANDLE_H
#define ROAR_PYTHON_HANDLE_H

#include "core.h"

#include <roar/arena.h>

struct view;

struct handle {
	PyObject_HEAD struct state
		*state; /* of the module, which the type keeps alive */
	struct roar_arena *a; /* NULL: closed */
	struct view *reserved; /* list of views to be filled in place */
	PyObject *encoder; /* cached; NULL while in use */
	PyObject *decoder;
	size_t threshold; /* smaller leaves stay in the pickle */
	bool copy; /* received objects are private copies, not views */
	bool closing;
	unsigned n_inside; /* calls that use `a` now */
};

extern PyType_Spec handle_spec;

/* Functions of the module. */
PyObject *handle_create(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *handle_attach(PyObject *module, PyObject *args, PyObject *kwargs);

/* Raises ArenaClosed. */
void handle_say_closed(const struct handle *h);

/* Every use of h->a is between these.  enter() fails with ArenaClosed. */
int handle_enter(struct handle *h);
void handle_leave(struct handle *h);

/* Closes the arena if that was requested and no call uses it. */
void handle_settle(struct handle *h);

/* ---- waiting ---- */

/* A wait in slices, so that signals and close() are handled:
 *
 *	struct wait w = wait_begin(timeout_ns);
 *	do
 *		r = roar_arena_...(a, ..., w.slice_ns, ...);
 *	while (wait_more(h, &w, &r));
 *
 * The first slice is 0 and keeps the GIL, because most calls need not wait.  wait_unlock() and
 * wait_lock() release the GIL in all other slices. */
struct wait {
	long long timeout_ns; /* as given; < 0: for ever */
	long long deadline_ns;
	long long slice_ns;
	PyThreadState *saved;
};

struct wait wait_begin(long long timeout_ns);
void wait_unlock(struct wait *w);
void wait_lock(struct wait *w);

/* Should the caller retry?  Otherwise `*r` is the result.  -EINTR (a signal handler raised)
 * and -EPIPE (the handle was closed meanwhile) come with an exception set. */
bool wait_more(const struct handle *h, struct wait *w, int *r);

/* ---- methods in files of their own ---- */

PyObject *handle_send(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *handle_receive(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* reserve(nbytes, timeout_ns, format, itemsize, dlpack code, shape) -> View */
PyObject *handle_reserve(PyObject *self, PyObject *args);

#endif
