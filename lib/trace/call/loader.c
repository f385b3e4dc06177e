/* loader.c - see loader.h */
#include "trace/call/loader.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { HEADERS_MAX = 64 };

/* "#! /usr/bin/env -S x": the interpreter's path. */
static const char *shebang(char *head, size_t n)
{
	char *start;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return NULL;
	start = head + 2 + strspn(head + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	return *start ? start : NULL;
}

/* The program headers, as both classes of ELF have them. */
struct headers {
	uint64_t offset;
	size_t size; /* of one */
	unsigned n;
};

static struct headers headers_of(const char *head)
{
	struct headers h;

	if (head[EI_CLASS] == ELFCLASS64) {
		Elf64_Ehdr eh;

		memcpy(&eh, head, sizeof(eh));
		h = (struct headers){ eh.e_phoff, sizeof(Elf64_Phdr),
				      eh.e_phnum };
	} else {
		Elf32_Ehdr eh;

		memcpy(&eh, head, sizeof(eh));
		h = (struct headers){ eh.e_phoff, sizeof(Elf32_Phdr),
				      eh.e_phnum };
	}
	return h;
}

/* Where the loader's path stands, if this header names it; else 0. */
static uint64_t interpreter_offset(const char *at, size_t size)
{
	if (size == sizeof(Elf64_Phdr)) {
		Elf64_Phdr ph;

		memcpy(&ph, at, sizeof(ph));
		return ph.p_type == PT_INTERP ? ph.p_offset : 0;
	}
	Elf32_Phdr ph;

	memcpy(&ph, at, sizeof(ph));
	return ph.p_type == PT_INTERP ? ph.p_offset : 0;
}

static const char *elf_loader(const char *head, size_t n)
{
	struct headers h;

	if (n < sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return NULL;
	h = headers_of(head);
	for (unsigned i = 0; i < h.n && i < HEADERS_MAX; i++) {
		uint64_t at = h.offset + (uint64_t)i * h.size;
		uint64_t path;

		if (at > n || n - at < h.size)
			return NULL;
		path = interpreter_offset(head + at, h.size);
		if (path && path < n)
			return head[path] == '/' ? head + path : NULL;
	}
	return NULL;
}

const char *loader_of(char *head, size_t n)
{
	const char *path;

	head[n] = '\0';
	path = shebang(head, n);
	return path ? path : elf_loader(head, n);
}
