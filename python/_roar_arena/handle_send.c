/* handle_send.c - an object on its way into the arena
 *
 *	few bytes		roar_arena_send(): the envelope is all
 *	with parts		room for all of them is reserved, they are copied in without
 *				the GIL, the unit is committed
 *	parts in the arena	are handed on with the unit, without a copy
 *	larger than the arena	roar_arena_send() in pieces */
#include "handle.h"

#include <errno.h>
#include <string.h>

#include "encode.h"
#include "errors.h"
#include "view.h"

enum { FEW = 64 * 1024 }; /* bytes that are copied faster than the GIL moves */

struct item {
	struct encoder *e;
	struct roar_arena_part *parts; /* what is to be reserved */
	struct roar_arena_buffer *buffers; /* what is to be copied */
	struct view **views; /* those handed on, each once */
	size_t n, n_views;
	size_t bytes; /* to be copied */
	uint64_t tag;
};

static const struct part *part_at(const struct encoder *e, size_t i)
{
	return i < e->leaves.n ? &e->leaves.at[i] :
				 &e->buffers.at[i - e->leaves.n];
}

/* From now on nobody else hands this memory on. */
static void add_view(struct item *item, struct view *v)
{
	if (v->sent)
		return;
	v->sent = true;
	roar_arena_retain(v->unit); /* the view's own; the other one goes */
	item->views[item->n_views++] = v;
}

static void take_back_views(struct item *item)
{
	for (size_t i = 0; i < item->n_views; i++) {
		item->views[i]->sent = false;
		roar_arena_release(item->views[i]->unit);
	}
	item->n_views = 0;
}

static void fill_item(struct item *item)
{
	for (size_t i = 0; i < item->n; i++) {
		const struct part *p = part_at(item->e, i);

		item->buffers[i].data = (void *)p->data;
		item->buffers[i].len = p->len;
		item->parts[i] = (struct roar_arena_part){ .len = p->len };
		if (p->in) {
			item->parts[i].in = p->in->unit;
			item->parts[i].offset = (size_t)((const char *)p->data -
							 p->in->data);
			add_view(item, p->in);
		} else {
			item->bytes += p->len;
		}
	}
}

static int item_init(struct item *item, struct encoder *e, uint64_t tag)
{
	size_t n = e->leaves.n + e->buffers.n;

	*item = (struct item){ .e = e, .n = n, .tag = tag };
	item->parts = PyMem_Calloc(n, sizeof(*item->parts));
	item->buffers = PyMem_Calloc(n, sizeof(*item->buffers));
	item->views = PyMem_Calloc(n, sizeof(struct view *));
	if (!item->parts || !item->buffers || !item->views) {
		PyErr_NoMemory();
		return -ENOMEM;
	}
	fill_item(item);
	return 0;
}

static void item_release(struct item *item)
{
	PyMem_Free(item->parts);
	PyMem_Free(item->buffers);
	PyMem_Free(item->views);
}

static void copy_in(const struct item *item, struct roar_arena_unit *unit)
{
	memcpy(unit->envelope, item->e->out, item->e->out_len);
	for (size_t i = 0; i < item->n; i++)
		if (!item->parts[i].in && item->parts[i].len)
			roar_arena_copy(unit->buffers[i].data,
					item->buffers[i].data,
					item->parts[i].len, item->bytes);
}

/* Copies in and commits; without the GIL when that takes its time. */
static int fill_and_commit(const struct item *item,
			   struct roar_arena_unit *unit)
{
	bool many = item->bytes + item->e->out_len >= FEW;
	PyThreadState *saved = many ? PyEval_SaveThread() : NULL;
	int r;

	copy_in(item, unit);
	r = roar_arena_commit(unit, item->tag);
	if (r < 0)
		roar_arena_release(unit);
	if (saved)
		PyEval_RestoreThread(saved);
	return r;
}

static int send_reserved(struct handle *h, struct item *item,
			 long long timeout_ns)
{
	struct wait w = wait_begin(timeout_ns);
	struct roar_arena_unit *unit = NULL;
	int r;

	do {
		wait_unlock(&w);
		r = roar_arena_reserve(h->a, item->parts, item->n,
				       item->e->out_len, w.slice_ns, &unit);
		wait_lock(&w);
	} while (wait_more(h, &w, &r));
	return r < 0 ? r : fill_and_commit(item, unit);
}

struct asking {
	const struct handle *h;
	struct wait w;
};

/* Between two slices of a wait: 0 to go on. */
static int ask(void *arg)
{
	struct asking *asking = arg;
	int r = -EAGAIN;
	bool more;

	wait_lock(&asking->w);
	more = wait_more(asking->h, &asking->w, &r);
	wait_unlock(&asking->w);
	return more ? 0 : r;
}

/* In pieces.  The slices are the library's: what was sent of a message could not be taken
 * up again. */
static int send_pieces(struct handle *h, struct item *item,
		       long long timeout_ns)
{
	/* The library keeps the time. */
	struct asking asking = { .h = h,
				 .w = wait_begin(
					 timeout_ns ? ROAR_ARENA_FOREVER : 0) };
	int r = -EAGAIN;

	take_back_views(item);
	if (timeout_ns && !wait_more(h, &asking.w, &r))
		return r;
	wait_unlock(&asking.w);
	r = roar_arena_send_asking(h->a, item->e->out, item->e->out_len,
				   item->buffers, item->n, item->tag,
				   timeout_ns, ask, &asking);
	wait_lock(&asking.w);
	return r;
}

static int send_parts(struct handle *h, struct encoder *e, uint64_t tag,
		      long long timeout_ns)
{
	struct item item;
	int r = item_init(&item, e, tag);

	if (r == 0)
		r = send_reserved(h, &item, timeout_ns);
	if (r == -EMSGSIZE)
		r = send_pieces(h, &item, timeout_ns);
	if (r < 0)
		take_back_views(&item);
	item_release(&item);
	return r;
}

static int send_envelope(struct handle *h, struct encoder *e, uint64_t tag,
			 long long timeout_ns)
{
	struct wait w = wait_begin(timeout_ns);
	int r;

	if (e->out_len >= FEW)
		return send_parts(h, e, tag, timeout_ns);
	do {
		wait_unlock(&w);
		r = roar_arena_send(h->a, e->out, e->out_len, NULL, 0, tag,
				    w.slice_ns);
		wait_lock(&w);
	} while (wait_more(h, &w, &r));
	return r == -EMSGSIZE ? send_parts(h, e, tag, timeout_ns) : r;
}

static int send_object(struct handle *h, struct encoder *e, PyObject *obj,
		       uint64_t tag, long long timeout_ns)
{
	int r;

	if (encoder_run(e, obj) < 0)
		return -EINVAL;
	r = e->leaves.n + e->buffers.n ? send_parts(h, e, tag, timeout_ns) :
					 send_envelope(h, e, tag, timeout_ns);
	if (r < 0 && !PyErr_Occurred())
		error_raise(h->state, h->a, r, ERROR_SENDING);
	return r;
}

PyObject *handle_send(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct handle *h = (struct handle *)self;
	unsigned long long tag;
	long long timeout_ns;
	struct encoder *e;
	int r = -1;

	if (n != 3) {
		PyErr_SetString(PyExc_TypeError, "send(obj, tag, timeout_ns)");
		return NULL;
	}
	tag = PyLong_AsUnsignedLongLong(args[1]);
	timeout_ns = PyLong_AsLongLong(args[2]);
	if (PyErr_Occurred() || handle_enter(h) < 0)
		return NULL;
	e = encoder_take(h);
	if (e) {
		r = send_object(h, e, args[0], tag, timeout_ns);
		encoder_give(h, e);
	}
	handle_leave(h);
	if (r < 0)
		return NULL;
	Py_RETURN_NONE;
}
