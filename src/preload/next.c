/* next.c - see next.h. */
#include "next.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Atomic(void *) next_table[NEXT_END];
bool next_foreign[NEXT_END];

/* The names, one after the other: pointers to them would have to be relocated in every
 * program that starts. */
static const struct names {
#define X(symbol) char name_##symbol[sizeof(#symbol)];
#include "next_names.inc"
#undef X
} names = {
#define X(symbol) #symbol,
#include "next_names.inc"
#undef X
};

static const uint16_t name_at[NEXT_END] = {
#define X(symbol) offsetof(struct names, name_##symbol),
#include "next_names.inc"
#undef X
};

static const char *name_of(int which)
{
	return (const char *)&names + name_at[which];
}

/* The symbols of one loaded object. */
struct object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions; /* NULL: none */
	const uint32_t *hash; /* DT_GNU_HASH */
};

static struct object libc;
static _Atomic int ready;

/* Pointers in a dynamic section are relocated by glibc, or not (vDSO). */
static const void *pointer(ElfW(Addr) base, const ElfW(Dyn) * d)
{
	ElfW(Addr) p = d->d_un.d_ptr;

	return (const void *)(p < base ? base + p : p);
}

static bool object_init(struct object *o, ElfW(Addr) base, const ElfW(Dyn) * d)
{
	memset(o, 0, sizeof(*o));
	o->base = base;
	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o->symbols = pointer(base, d);
		else if (d->d_tag == DT_STRTAB)
			o->strings = pointer(base, d);
		else if (d->d_tag == DT_VERSYM)
			o->versions = pointer(base, d);
		else if (d->d_tag == DT_GNU_HASH)
			o->hash = pointer(base, d);
	}
	return o->symbols && o->strings && o->hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Is this a definition of `name`, in the version new programs get? */
static bool is_definition(const struct object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];

	if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC)
		return false;
	if (o->versions && o->versions[i] & 0x8000)
		return false;
	return strcmp(o->strings + s->st_name, name) == 0;
}

/* The address of a function in `o`, or NULL.  DT_GNU_HASH: four words (buckets,
 * first symbol, words and shift of the Bloom filter), the filter, the buckets, and
 * for each symbol its hash, whose lowest bit ends a chain. */
static void *object_find(const struct object *o, const char *name)
{
	uint32_t h = gnu_hash(name);
	uint32_t n_buckets = o->hash[0], first = o->hash[1];
	uint32_t n_words = o->hash[2], shift = o->hash[3];
	const ElfW(Addr) *filter = (const void *)(o->hash + 4);
	const uint32_t *buckets = (const void *)(filter + n_words);
	const uint32_t *chain = buckets + n_buckets;
	ElfW(Addr) word;
	uint32_t i;

	if (n_buckets == 0)
		return NULL;
	word = filter[h / 64 % n_words];
	if (!(word >> h % 64 & 1) || !(word >> (h >> shift) % 64 & 1))
		return NULL;
	i = buckets[h % n_buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t c = chain[i - first];

		if ((c | 1) == (h | 1) && is_definition(o, i, name))
			return (void *)(o->base + o->symbols[i].st_value);
		if (c & 1)
			return NULL;
	}
}

/* What another library has replaced. */
static void note_foreign(const struct object *o)
{
	for (int i = 0; i < NEXT_END; i++) {
		void *f;

		if (atomic_load_explicit(&next_table[i], memory_order_relaxed))
			continue;
		f = object_find(o, name_of(i));
		if (f) {
			next_foreign[i] = true;
			atomic_store_explicit(&next_table[i], f,
					      memory_order_relaxed);
		}
	}
}

static bool has_base_name(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

/* Old systems have the functions that wait a second time in libpthread. */
static bool is_part_of_libc(const char *path)
{
	return has_base_name(path, "libpthread.so") ||
	       has_base_name(path, "libpthread-2.");
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (const void *)(info->dlpi_addr +
					      info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

static bool contains(const struct dl_phdr_info *info, ElfW(Addr) address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD &&
		    address - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

/* Objects come in the order in which symbols are looked for. */
static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
	bool *after_us = ctx;
	const ElfW(Dyn) *dynamic = dynamic_of(info);
	struct object o;

	(void)size;
	if (contains(info, (ElfW(Addr))next_table)) {
		*after_us = true;
		return 0;
	}
	if (!dynamic || !object_init(&o, info->dlpi_addr, dynamic))
		return 0;
	if (has_base_name(info->dlpi_name, "libc.so") ||
	    has_base_name(info->dlpi_name, "libc-2.")) {
		libc = o;
		return 1;
	}
	if (*after_us && !is_part_of_libc(info->dlpi_name))
		note_foreign(&o);
	return 0;
}

void next_init(void)
{
	bool after_us = false;

	if (atomic_load_explicit(&ready, memory_order_acquire))
		return;
	(void)dl_iterate_phdr(visit, &after_us);
	atomic_store_explicit(&ready, 1, memory_order_release);
}

static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *next_find(enum next which)
{
	void *f;

	next_init();
	f = atomic_load_explicit(&next_table[which], memory_order_relaxed);
	if (!f && libc.hash)
		f = object_find(&libc, name_of((int)which));
	if (!f)
		f = (void *)missing;
	atomic_store_explicit(&next_table[which], f, memory_order_relaxed);
	return f;
}
