/* words.c - the command line of a program that is about to be executed
 *
 * It is in the memory of the calling process: an array of pointers and the strings they
 * point to, which are usually adjacent.  So memory is read through windows that end
 * with their page, because the next page may not be mapped; the hundred arguments of a
 * compiler cost a few system calls.  The memory read with the path may hold all of it:
 * a shell has path, array and arguments in one place. */
#include <string.h>

#include "trace/hybrid/hybrid_internal.h"

enum {
	COMMAND_MAX = 4096,
	POINTERS_MAX = 512,
	PAGE = 4096, /* at least */
	WINDOW = 1024,
};

struct window {
	struct hybrid *h;
	pid_t tid;
	const struct words_seen *seen;
	uint64_t start;
	size_t len; /* valid bytes; 0: nothing was read */
	char data[WINDOW];
};

/* The available bytes from `address` on; NULL: none. */
static const char *at(struct window *w, uint64_t address, size_t *ret_len)
{
	size_t len = PAGE - (size_t)(address & (PAGE - 1));
	const struct words_seen *seen = w->seen;

	if (address - seen->start < seen->len) {
		*ret_len = seen->len - (size_t)(address - seen->start);
		return seen->data + (address - seen->start);
	}
	if (address - w->start >= w->len) {
		len = len < WINDOW ? len : WINDOW;
		w->len = 0;
		if (memory_read(&w->h->o.memory, w->tid, address, w->data,
				len) < 0)
			return NULL;
		w->start = address;
		w->len = len;
	}
	*ret_len = w->len - (size_t)(address - w->start);
	return w->data + (address - w->start);
}

/* A number that does not cross pages: pointers are aligned.  0: not readable. */
static uint64_t pointer_at(struct window *w, uint64_t address, size_t size)
{
	static const struct words_seen nothing;
	uint64_t value = 0;
	size_t len;
	const char *p = at(w, address, &len);

	if (p && len < size) { /* the end of the window, not of the page */
		w->len = 0;
		w->seen = &nothing;
		p = at(w, address, &len);
	}
	if (p && len >= size)
		memcpy(&value, p, size);
	return value;
}

/* Copies a string with its NUL, cut at `room`.  Returns the number of bytes; 0 when it
 * cannot be read. */
static size_t copy_word(struct window *w, uint64_t address, char *to,
			size_t room)
{
	size_t got = 0;

	while (got + 1 < room) {
		size_t len;
		const char *p = at(w, address + got, &len);
		const char *nul;

		if (!p)
			return 0;
		nul = memchr(p, '\0', len);
		len = nul ? (size_t)(nul - p) : len;
		len = len < room - 1 - got ? len : room - 1 - got;
		memcpy(to + got, p, len);
		got += len;
		if (nul)
			break;
	}
	to[got] = '\0';
	return got + 1;
}

void words_read(struct hybrid *h, struct tracee *t, uint64_t array,
		size_t pointer_size, const struct words_seen *seen)
{
	struct window pointers = { .h = h, .tid = t->tid, .seen = seen };
	struct window strings = { .h = h, .tid = t->tid, .seen = seen };
	char words[COMMAND_MAX + 1];
	size_t len = 0;

	for (unsigned i = 0; array && i < POINTERS_MAX && len < COMMAND_MAX;
	     i++) {
		uint64_t word = pointer_at(&pointers, array + i * pointer_size,
					   pointer_size);
		size_t n = word ? copy_word(&strings, word, words + len,
					    COMMAND_MAX - len) :
				  0;

		if (!n)
			break;
		len += n;
	}
	str_clear(&t->exec_command);
	if (len)
		call_exec_quote(&t->exec_command, words, len);
}
