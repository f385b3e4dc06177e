/* position.c - which positions a rank takes, for Python */
#include "core.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "shard/order/position.h"

struct position_object {
	PyObject ob_base;
	struct position position;
};

static const char *const tails[] = {
	[POSITION_EXACT] = "exact",
	[POSITION_DROP] = "drop",
	[POSITION_PAD] = "pad",
};

static const struct position *position_in(PyObject *self)
{
	return &((struct position_object *)self)->position;
}

static void dealloc(PyObject *self)
{
	position_release(&((struct position_object *)self)->position);
	object_free(self);
}

static int parse_tail(const char *word, enum position_tail *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++)
		if (strcmp(word, tails[i]) == 0) {
			*ret = (enum position_tail)i;
			return 0;
		}
	PyErr_Format(PyExc_ValueError,
		     "tail is 'exact', 'drop' or 'pad', not '%s'", word);
	return -1;
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "total", "world",  "rank", "batch",
				 "tail",  "before", NULL };
	struct ranges_arg before = { .state = PyType_GetModuleState(type) };
	struct position_spec spec = { 0 };
	struct roar_error err = { 0 };
	struct position_object *self;
	const char *tail = "exact";
	int r;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "O&O&O&O&|sO&:Position", names, core_u64,
		    &spec.total, core_u64, &spec.world, core_u64, &spec.rank,
		    core_u64, &spec.batch, &tail, ranges_take, &before) ||
	    parse_tail(tail, &spec.tail) < 0)
		return NULL;
	self = object_new((PyObject *)type);
	if (!self)
		return NULL;
	r = position_init(&self->position, &spec, before.set, &err);
	if (r == 0)
		return (PyObject *)self;
	Py_DECREF((PyObject *)self);
	return core_raise(r, &err);
}

/* The number of a step, below `end`. */
static bool get_step(PyObject *args, const char *format, uint64_t end,
		     uint64_t *ret)
{
	if (!PyArg_ParseTuple(args, format, core_u64, ret))
		return false;
	if (*ret < end)
		return true;
	PyErr_Format(PyExc_IndexError, "there is no step %llu among %llu",
		     (unsigned long long)*ret, (unsigned long long)end);
	return false;
}

static PyObject *take(PyObject *self, PyObject *args)
{
	const struct position *p = position_in(self);
	CLEANUP(freep) uint64_t *positions = NULL;
	PyObject *numbers;
	uint64_t step;
	uint64_t *to;
	size_t n_pad;
	size_t n;

	if (!get_step(args, "O&:take", position_n_steps(p), &step))
		return NULL;
	positions = malloc(p->spec.batch * sizeof(*positions));
	if (!positions)
		return PyErr_NoMemory();
	n = position_take(p, step, positions, &n_pad);
	numbers = core_numbers(n, &to);
	if (!numbers)
		return NULL;
	if (n)
		memcpy(to, positions, n * sizeof(*to));
	return Py_BuildValue("Nn", numbers, (Py_ssize_t)n_pad);
}

static PyObject *give(PyObject *self, int r, struct interval_set *set)
{
	PyObject *made = r < 0 ? core_raise(r, NULL) :
				 ranges_give(
					 PyType_GetModuleState(Py_TYPE(self)),
					 set);

	interval_set_release(set);
	return made;
}

static PyObject *ranges(PyObject *self, PyObject *args)
{
	const struct position *p = position_in(self);
	struct interval_set set = { 0 };
	uint64_t step;

	if (!get_step(args, "O&:ranges", position_n_steps(p), &step))
		return NULL;
	return give(self, position_ranges(p, step, &set), &set);
}

static PyObject *consumed(PyObject *self, PyObject *args)
{
	const struct position *p = position_in(self);
	struct interval_set set = { 0 };
	uint64_t steps;

	if (!get_step(args, "O&:consumed", position_n_steps(p) + 1, &steps))
		return NULL;
	return give(self, position_consumed(p, steps, &set), &set);
}

static PyObject *dropped(PyObject *self, PyObject *unused)
{
	struct interval_set set = { 0 };

	(void)unused;
	return give(self, position_dropped(position_in(self), &set), &set);
}

static Py_ssize_t length(PyObject *self)
{
	return (Py_ssize_t)position_n_steps(position_in(self));
}

static PyMethodDef methods[] = {
	{ "take", take, METH_VARARGS,
	  "take(step): the rank's positions as a memoryview of 64-bit "
	  "integers, and how many of the last are padding." },
	{ "ranges", ranges, METH_VARARGS,
	  "ranges(step): the rank's positions, without padding." },
	{ "consumed", consumed, METH_VARARGS,
	  "consumed(steps): positions that all ranks have consumed after that "
	  "many steps." },
	{ "dropped", dropped, METH_NOARGS,
	  "dropped(): positions that are in no step." },
	{ 0 },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc,
	  "Position(total, world, rank, batch, tail='exact', before=None): the "
	  "steps of a rank through what is left of an epoch; len() of them." },
	{ Py_tp_new, new },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ Py_sq_length, length },
	{ 0, NULL },
};

PyType_Spec position_type_spec = {
	.name = "_roar_shard.Position",
	.basicsize = sizeof(struct position_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
