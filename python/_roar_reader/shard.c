/* shard.c - see shard.h */
#include "shard.h"

#include "hash/digest/digest.h"
#include "sample.h"

const char shard_open_doc[] =
	"open(path, kind, ...): a Reader.  path and index_dir are bytes, kind is a\n"
	"name or None, index 0 (cache), 1 (beside) or 2 (none), blake3 32 bytes\n"
	"or None; an empty index_dir is none; beginning: see Reader.whole.";

static struct state *state_of(PyObject *self)
{
	return PyType_GetModuleState(Py_TYPE(self));
}

static struct reader *reader_of(PyObject *self)
{
	return ((struct shard *)self)->reader;
}

/* ---- opening ---- */

static int read_kind(const char *name, enum reader_kind *ret)
{
	*ret = name ? reader_kind_parse(name) : READER_AUTO;
	if (*ret != READER_KIND_END)
		return 0;
	PyErr_Format(PyExc_ValueError,
		     "there is no kind '%s' of shards, choose one of: files, "
		     "tar, jsonl, raw",
		     name);
	return -1;
}

static PyObject *wrap(const struct state *state, struct reader *reader)
{
	struct shard *self = object_new(state->reader_type);

	if (!self) {
		reader_close(reader);
		return NULL;
	}
	self->reader = reader;
	return (PyObject *)self;
}

static PyObject *open_it(const struct state *state, const char *path,
			 const struct reader_options *options)
{
	struct roar_error err = { "" };
	struct reader *reader = NULL;
	PyThreadState *others = core_release();
	int r = reader_open(path, options, &reader, &err);

	PyEval_RestoreThread(others);
	return r < 0 ? core_fail(state, r, &err) : wrap(state, reader);
}

PyObject *shard_open(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "path",	 "kind",
				 "record_bytes", "header_bytes",
				 "max_sample",	 "index",
				 "index_dir",	 "blake3",
				 "beginning",	 NULL };
	struct reader_options o = { .index_dir = "" };
	unsigned long long record = 0;
	unsigned long long header = 0;
	unsigned long long most = 0;
	const char *digest = NULL;
	Py_ssize_t digest_len = 0;
	const char *kind;
	const char *path;
	int beginning = 0;
	int index = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "yz|$KKKiyz#p:open",
					 names, &path, &kind, &record, &header,
					 &most, &index, &o.index_dir, &digest,
					 &digest_len, &beginning))
		return NULL;
	if (read_kind(kind, &o.kind) < 0)
		return NULL;
	if (digest && digest_len != BLAKE3_LEN) {
		PyErr_SetString(PyExc_ValueError,
				"a BLAKE3 digest has 32 bytes");
		return NULL;
	}
	if (!o.index_dir[0])
		o.index_dir = NULL;
	o.record_bytes = record;
	o.header_bytes = header;
	o.max_sample = most;
	o.index = (enum reader_index)index;
	o.blake3 = (const uint8_t *)digest;
	o.beginning = beginning;
	return open_it(PyModule_GetState(module), path, &o);
}

static PyObject *shard_open_whole(PyObject *self, PyObject *unused)
{
	struct roar_error err = { "" };
	struct reader *reader = NULL;
	PyThreadState *others = core_release();
	int r = reader_open_whole(reader_of(self), &reader, &err);

	(void)unused;
	PyEval_RestoreThread(others);
	return r < 0 ? core_fail(state_of(self), r, &err) :
		       wrap(state_of(self), reader);
}

static void shard_dealloc(PyObject *self)
{
	reader_close(reader_of(self));
	object_free(self);
}

/* ---- samples ---- */

static PyObject *shard_read(PyObject *self, PyObject *args)
{
	struct state *state = state_of(self);
	const struct reader *reader = reader_of(self);
	const struct reader_sample *sample = NULL;
	struct reader_block *block = NULL;
	struct roar_error err = { "" };
	unsigned long long number;
	PyThreadState *others;
	PyObject *object;
	int views;
	int r;

	if (!PyArg_ParseTuple(args, "Kp:read", &number, &views))
		return NULL;
	others = core_release();
	r = reader_read(reader, number, &block, &sample, &err);
	PyEval_RestoreThread(others);
	if (r < 0)
		return core_fail(state, r, &err);
	object = sample_object(state, reader_kind_of(reader), sample, block,
			       views);
	reader_block_drop(block);
	return object;
}

static PyObject *shard_read_into(PyObject *self, PyObject *args)
{
	const struct reader *reader = reader_of(self);
	struct roar_error err = { "" };
	unsigned long long number;
	PyThreadState *others;
	Py_buffer to;
	int64_t len;

	if (!PyArg_ParseTuple(args, "Kw*:read_into", &number, &to))
		return NULL;
	others = core_release();
	len = reader_read_into(reader, number, to.buf, (size_t)to.len, &err);
	PyEval_RestoreThread(others);
	PyBuffer_Release(&to);
	return len < 0 ? core_fail(state_of(self), (int)len, &err) :
			 PyLong_FromLongLong(len);
}

/* ---- the type ---- */

static PyObject *get_count(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(reader_count(reader_of(self)));
}

static PyObject *get_kind(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(
		reader_kind_name(reader_kind_of(reader_of(self))));
}

static PyObject *get_index_was_kept(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(reader_index_was_kept(reader_of(self)));
}

static PyObject *get_whole(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(reader_is_whole(reader_of(self)));
}

static PyObject *get_stamp(PyObject *self, void *unused)
{
	struct stamp stamp = reader_stamp(reader_of(self));

	(void)unused;
	return Py_BuildValue("(KL)", (unsigned long long)stamp.size,
			     (long long)stamp.mtime_ns);
}

static PyMethodDef methods[] = {
	{ "read", shard_read, METH_VARARGS, "read(number, views): one sample." },
	{ "read_into", shard_read_into, METH_VARARGS,
	  "read_into(number, buffer): its length." },
	{ "open_whole", shard_open_whole, METH_NOARGS,
	  "open_whole(): a Reader of all samples." },
	{ 0 },
};

static PyGetSetDef attributes[] = {
	{ "count", get_count, NULL, "number of samples", NULL },
	{ "kind", get_kind, NULL, "files, tar, jsonl or raw", NULL },
	{ "index_was_kept", get_index_was_kept, NULL,
	  "was the index read from a file rather than built?", NULL },
	{ "stamp", get_stamp, NULL, "tells one content from another", NULL },
	{ "whole", get_whole, NULL,
	  "does it contain all samples, not only those at the beginning?",
	  NULL },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "One open shard." },
	{ Py_tp_dealloc, shard_dealloc },
	{ Py_tp_methods, methods },
	{ Py_tp_getset, attributes },
	{ 0 },
};

PyType_Spec shard_spec = {
	.name = "_roar_reader.Reader",
	.basicsize = sizeof(struct shard),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
