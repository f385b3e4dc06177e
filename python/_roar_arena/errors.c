/* errors.c - from errno to the exceptions of roar._errors */
#include "errors.h"

#include <string.h>

#include <roar/arena.h>

#include "base/macros.h"

static const struct {
	int error;
	const char *sending, *receiving, *other;
} table[] = {
	{ EAGAIN, "ArenaFull", "ArenaEmpty", "ArenaError" },
	{ ETIMEDOUT, "ArenaFull", "ArenaEmpty", "ArenaError" },
	{ EMSGSIZE, "ArenaTooLarge", "ArenaError", "ArenaError" },
	{ EPIPE, "ArenaClosed", "ArenaClosed", "ArenaClosed" },
	{ EPERM, "NotAParty", "NotAParty", "NotAParty" },
	{ ENOMEM, "ArenaNoMemory", "ArenaNoMemory", "ArenaNoMemory" },
	{ ENOSPC, "ArenaNoMemory", "ArenaNoMemory", "ArenaNoMemory" },
	{ EINVAL, "ArenaInvalid", "ArenaInvalid", "ArenaInvalid" },
	{ EBADF, "ArenaInvalid", "ArenaInvalid", "ArenaInvalid" },
	{ EACCES, "ArenaInvalid", "ArenaInvalid", "ArenaInvalid" },
	{ EPROTO, "ArenaInvalid", "ArenaInvalid", "ArenaInvalid" },
	{ EBADMSG, "ArenaInvalid", "ArenaInvalid", "ArenaInvalid" },
};

static const char *name_of(int error, enum error_side side)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].error != error)
			continue;
		return side == ERROR_SENDING   ? table[i].sending :
		       side == ERROR_RECEIVING ? table[i].receiving :
						 table[i].other;
	}
	return "ArenaError";
}

/* roar._errors, imported when something fails for the first time. */
static PyObject *exceptions(struct state *state)
{
	if (!state->ref[REF_ERRORS])
		state->ref[REF_ERRORS] = PyImport_ImportModule("roar._errors");
	return state->ref[REF_ERRORS];
}

void *error_say(struct state *state, const char *name, const char *sentence)
{
	PyObject *module = exceptions(state);
	PyObject *type = module ? PyObject_GetAttrString(module, name) : NULL;

	if (!type)
		return NULL;
	PyErr_SetString(type, sentence);
	Py_DECREF(type);
	return NULL;
}

static void *raise_death(struct state *state, const char *sentence,
			 const struct roar_arena_death *death)
{
	PyObject *module = exceptions(state);

	if (!module)
		return NULL;
	return module_raise(PyObject_CallMethod(
		module, "peer_died", "siIii", sentence, death->pid,
		death->roles, death->known, death->status));
}

void *error_raise(struct state *state, const struct roar_arena *a, int r,
		  enum error_side side)
{
	const char *sentence = roar_arena_error();
	struct roar_arena_death death;

	if (!sentence || !*sentence)
		sentence = strerror(-r);
	if (r == -ECONNRESET && a && roar_arena_death(a, &death) == 0)
		return raise_death(state, sentence, &death);
	return error_say(state, name_of(-r, side), sentence);
}
