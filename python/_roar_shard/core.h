/* core.h - what the files of the extension _roar_shard share.
 *
 * The extension speaks the limited API of Python 3.11.  All state is in the module, and
 * every type is a heap type.
 *
 *	ranges		sets of positions
 *	order		the order of an epoch; datasets mixed by weight
 *	position	which positions a rank takes
 *	audit		what a rank has consumed, on disk
 *	table		which worker has which shard */
#ifndef ROAR_PYTHON_SHARD_CORE_H
#define ROAR_PYTHON_SHARD_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "shard/order.h"
#include "shard/ranges.h"

struct state {
	PyObject *ranges_type;
};

extern PyType_Spec audit_type_spec, mix_type_spec, order_type_spec,
	position_type_spec, ranges_type_spec, table_type_spec;

/* ---- core.c ---- */

/* The state of the module that a type belongs to. */
struct state *core_state(PyTypeObject *type);

/* A zeroed object of a heap type, and its end. */
void *core_new(PyTypeObject *type);
void core_free(PyObject *self);

/* Raises what the negative errno means; `err` may have a sentence.  Returns NULL. */
void *core_raise(int r, const struct roar_error *err);

/* For "O&": a whole number from 0 to 2^64 - 1. */
int core_u64(PyObject *object, void *ret);

/* A memoryview of `n` numbers of 64 bits, of format "Q", that are to be filled in. */
PyObject *core_numbers(size_t n, uint64_t **ret);

/* ---- ranges.c ---- */

/* A set that becomes Python's; *set is empty then. */
PyObject *ranges_give(const struct state *state, struct shard_ranges *set);

/* For "O&", with the state in front: NULL for None, TypeError for anything else that is
 * no set. */
struct ranges_arg {
	const struct state *state;
	const struct shard_ranges *set;
};
int ranges_take(PyObject *object, void *arg);

#endif
