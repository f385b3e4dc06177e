/* part.c - see part.h */
#include "part.h"

#include <string.h>

#include "ckpt/ckpt_save.h"

struct part {
	PyObject_HEAD struct ckpt_pending *pending; /* NULL: it has ended */
	bool is_busy; /* a thread uses it without the GIL */
};

PyObject *part_new(const struct state *state, struct ckpt_pending *pending)
{
	struct part *part = object_new(state->part_type);

	if (part)
		part->pending = pending;
	else
		ckpt_save_free(pending);
	return (PyObject *)part;
}

static void part_dealloc(PyObject *self)
{
	ckpt_save_free(((struct part *)self)->pending);
	object_free(self);
}

static struct part *part_of(PyObject *self)
{
	struct part *part = (struct part *)self;

	if (part->pending && !part->is_busy)
		return part;
	PyErr_SetString(PyExc_RuntimeError,
			part->pending ?
				"another thread commits this part" :
				"this part was committed or removed before");
	return NULL;
}

static PyObject *part_digest(PyObject *self, PyObject *args)
{
	struct part *part = part_of(self);
	uint8_t digest[BLAKE3_LEN];
	int r;

	(void)args;
	if (!part)
		return NULL;
	r = ckpt_save_digest(part->pending, digest);
	return r < 0 ? core_fail(r, "") :
		       PyBytes_FromStringAndSize((const char *)digest,
						 BLAKE3_LEN);
}

static int take_agreement(PyObject *args, bool *ret_given,
			  struct ckpt_agreement *ret)
{
	unsigned long long world_epoch = 0, token = 0;
	PyObject *digests = NULL;

	if (!PyArg_ParseTuple(args, "|KKO!:commit", &world_epoch, &token,
			      &PyBytes_Type, &digests))
		return -1;
	*ret_given = digests != NULL;
	if (!digests)
		return 0;
	*ret = (struct ckpt_agreement){
		.world_epoch = world_epoch,
		.fencing_token = token,
		.digests = (const void *)PyBytes_AsString(digests),
		.n_digests = (size_t)PyBytes_Size(digests) / BLAKE3_LEN,
	};
	return 0;
}

static int keep_digest(void *ctx, const uint8_t digest[32])
{
	memcpy(ctx, digest, BLAKE3_LEN);
	return 0;
}

static PyObject *part_commit(PyObject *self, PyObject *args)
{
	struct part *part = part_of(self);
	struct roar_error err = { 0 };
	struct ckpt_agreement agreement;
	uint8_t digest[BLAKE3_LEN] = { 0 };
	bool is_agreed;
	int r;

	if (!part || take_agreement(args, &is_agreed, &agreement) < 0)
		return NULL;
	part->is_busy = true;
	Py_BEGIN_ALLOW_THREADS;
	ckpt_save_agree(part->pending, is_agreed ? &agreement : NULL);
	r = ckpt_save_commit(part->pending, keep_digest, digest, &err);
	ckpt_save_agree(part->pending, NULL);
	if (r == 0)
		ckpt_save_free(TAKE_PTR(part->pending));
	Py_END_ALLOW_THREADS;
	part->is_busy = false;
	if (r < 0)
		return core_fail(r, err.text);
	return PyBytes_FromStringAndSize((const char *)digest, BLAKE3_LEN);
}

static PyObject *part_abort(PyObject *self, PyObject *args)
{
	struct part *part = part_of(self);
	struct ckpt_pending *pending;

	(void)args;
	if (!part)
		return NULL;
	pending = TAKE_PTR(part->pending);
	Py_BEGIN_ALLOW_THREADS;
	ckpt_save_abort(pending);
	ckpt_save_free(pending);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "digest", part_digest, METH_NOARGS,
	  "The BLAKE3 of the part, by which a coordinator knows it." },
	{ "commit", part_commit, METH_VARARGS,
	  "commit([world epoch, fencing token, digests]): merges the parts of all ranks\n"
	  "and publishes the checkpoint.  Returns the BLAKE3 of the manifest.  The digests\n"
	  "of all parts, sorted and joined, are those that a coordinator was told of." },
	{ "abort", part_abort, METH_NOARGS, "Removes what was written." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "What one rank of a sharded save has written." },
	{ Py_tp_dealloc, part_dealloc },
	{ Py_tp_methods, methods },
	{ 0 },
};

PyType_Spec part_spec = {
	.name = "_roar_ckpt.Part",
	.basicsize = sizeof(struct part),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = slots,
};
