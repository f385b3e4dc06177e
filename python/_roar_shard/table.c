/* table.c - which worker has which shard, for Python */
#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"

struct table_object {
	PyObject ob_base;
	struct shard_table *table;
	void *bytes,
		*homes; /* of its shards, as the table wants them; or NULL */
};

static const char *const modes[] = {
	[SHARD_TABLE] = "table",
	[SHARD_RENDEZVOUS] = "rendezvous",
	[SHARD_JUMP] = "jump",
	[SHARD_RING] = "ring",
};

static struct shard_table *table_in(PyObject *self)
{
	return ((struct table_object *)self)->table;
}

static void dealloc(PyObject *self)
{
	shard_table_free(table_in(self));
	free(((struct table_object *)self)->bytes);
	free(((struct table_object *)self)->homes);
	object_free(self);
}

static int parse_mode(const char *word, enum shard_mode *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(word, modes[i]) == 0) {
			*ret = (enum shard_mode)i;
			return 0;
		}
	PyErr_Format(PyExc_ValueError,
		     "mode is 'table', 'rendezvous', 'jump' or 'ring', not '%s'",
		     word);
	return -1;
}

/* Numbers of `size` bytes, one for each shard; `from` is NULL where there are none. */
struct numbers {
	const char *from;
	Py_ssize_t len;
};

static int copy_numbers(const struct numbers *n, uint64_t n_shards, size_t size,
			void **ret)
{
	if (!n->from)
		return 0;
	if ((size_t)n->len != n_shards * size) {
		PyErr_Format(PyExc_ValueError,
			     "there must be %zu bytes for each shard", size);
		return -1;
	}
	*ret = malloc((size_t)n->len + 1);
	if (!*ret) {
		PyErr_NoMemory();
		return -1;
	}
	memcpy(*ret, n->from, (size_t)n->len);
	return 0;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "n_shards", "mode", "bytes", "homes", NULL };
	struct numbers bytes = { 0 }, homes = { 0 };
	struct shard_options options = { 0 };
	struct table_object *self;
	const char *mode = "table";
	uint64_t n_shards;
	int r;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "O&|sz#z#:Table", names, core_u64, &n_shards,
		    &mode, &bytes.from, &bytes.len, &homes.from, &homes.len) ||
	    parse_mode(mode, &options.mode) < 0)
		return NULL;
	if (n_shards > SHARD_MAX_SHARDS)
		return PyErr_Format(PyExc_ValueError,
				    "a table has up to %d shards, not %llu: "
				    "make them larger",
				    (int)SHARD_MAX_SHARDS,
				    (unsigned long long)n_shards);
	self = object_new((PyObject *)type);
	if (!self)
		return NULL;
	if (copy_numbers(&bytes, n_shards, sizeof(*options.bytes),
			 &self->bytes) < 0 ||
	    copy_numbers(&homes, n_shards, sizeof(*options.homes),
			 &self->homes) < 0) {
		Py_DECREF((PyObject *)self);
		return NULL;
	}
	options.bytes = self->bytes;
	options.homes = self->homes;
	r = shard_table_new((uint32_t)n_shards, &options, &self->table);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_raise(r, NULL);
}

/* ---- changes ---- */

static PyObject *refuse(int r, unsigned int worker)
{
	if (r == -ENOMEM)
		return PyErr_NoMemory();
	if (r == -EEXIST)
		PyErr_Format(PyExc_ValueError,
			     "worker %u is in the table, or was at the last "
			     "deal: give another number",
			     worker);
	else if (r == -ENOENT)
		PyErr_Format(PyExc_KeyError, "there is no worker %u", worker);
	else
		PyErr_Format(PyExc_ValueError,
			     "worker number %u is too high: give small numbers",
			     worker);
	return NULL;
}

static PyObject *join(PyObject *self, PyObject *args)
{
	unsigned int worker, weight = 1, home = 0;
	struct shard_worker who;
	const char *name;
	Py_ssize_t len;
	int r;

	if (!PyArg_ParseTuple(args, "Is#|II:join", &worker, &name, &len,
			      &weight, &home))
		return NULL;
	who = (struct shard_worker){ .key = placement_key(name, (size_t)len),
				     .weight = weight,
				     .home = home };
	r = shard_table_join(table_in(self), worker, &who);
	return r < 0 ? refuse(r, worker) : Py_NewRef(Py_None);
}

static PyObject *leave(PyObject *self, PyObject *args)
{
	unsigned int worker;
	int r;

	if (!PyArg_ParseTuple(args, "I:leave", &worker))
		return NULL;
	r = shard_table_leave(table_in(self), worker);
	return r < 0 ? refuse(r, worker) : Py_NewRef(Py_None);
}

static PyObject *deal(PyObject *self, PyObject *unused)
{
	struct shard_certificate c;
	int r = shard_table_deal(table_in(self), &c);

	(void)unused;
	if (r < 0)
		return core_raise(r, NULL);
	return Py_BuildValue("{sKsKsIsIsIsIsKsK}", "version",
			     (unsigned long long)c.version, "hash",
			     (unsigned long long)c.hash, "workers", c.n_workers,
			     "shards", c.n_shards, "most", c.most, "least",
			     c.least, "moved", (unsigned long long)c.moved,
			     "minimum", (unsigned long long)c.minimum);
}

/* ---- looking ---- */

static PyObject *owner(PyObject *self, PyObject *args)
{
	unsigned int shard;
	uint32_t worker;

	if (!PyArg_ParseTuple(args, "I:owner", &shard))
		return NULL;
	worker = shard_table_owner(table_in(self), shard);
	return worker == SHARD_NONE ? Py_NewRef(Py_None) :
				      PyLong_FromUnsignedLong(worker);
}

static PyObject *shards(PyObject *self, PyObject *args)
{
	const struct shard_table *t = table_in(self);
	PyObject *list = PyList_New(0);
	unsigned int worker;
	uint32_t shard = SHARD_NONE;

	if (!list || !PyArg_ParseTuple(args, "I:shards", &worker)) {
		Py_XDECREF(list);
		return NULL;
	}
	while (list &&
	       (shard = shard_table_next(t, worker, shard)) != SHARD_NONE) {
		PyObject *number = PyLong_FromUnsignedLong(shard);

		if (!number || PyList_Append(list, number) < 0)
			Py_CLEAR(list);
		Py_XDECREF(number);
	}
	if (list && PyList_Sort(list) < 0)
		Py_CLEAR(list);
	return list;
}

static PyObject *get_version(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(shard_table_version(table_in(self)));
}

static PyObject *get_hash(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(shard_table_hash(table_in(self)));
}

static PyMethodDef methods[] = {
	{ "join", join, METH_VARARGS,
	  "join(worker, name, weight=1): it gets shards from the next deal on." },
	{ "leave", leave, METH_VARARGS,
	  "leave(worker): it gets no shards from the next deal on." },
	{ "deal", deal, METH_NOARGS,
	  "deal(): moves as few shards as possible; the certificate as a dict." },
	{ "owner", owner, METH_VARARGS,
	  "owner(shard): the worker that owns it, or None." },
	{ "shards", shards, METH_VARARGS,
	  "shards(worker): its shards, in order." },
	{ 0 },
};

static PyGetSetDef fields[] = {
	{ .name = "version",
	  .get = get_version,
	  .doc = "deals that changed it" },
	{ .name = "hash", .get = get_hash, .doc = "of all owners" },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc,
	  "Table(n_shards, mode='table'): which worker owns which shard." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, fields },
	{ 0, NULL },
};

PyType_Spec table_type_spec = {
	.name = "_roar_shard.Table",
	.basicsize = sizeof(struct table_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
