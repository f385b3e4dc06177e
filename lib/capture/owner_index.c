/* owner_index.c - see owner_index.h */
#include "capture/owner_index.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/package_database.h"

#define MAGIC UINT64_C(0x316e776f72616f72) /* "roarown1" */

enum {
	SLOTS_MAX = 1 << 26,
	FILE_MAX_BYTES = 1 << 30,
	DIR_DEPTH = 8, /* parents that a look-up tries */
};

struct header {
	uint64_t magic;
	struct owner_key key;
	uint32_t n_slots;
	uint32_t n_packages;
	uint32_t n_bytes;
	uint32_t has_dirs;
};

_Static_assert(sizeof(struct header) == 104, "file layout");

struct slot {
	uint32_t tag;
	uint32_t package; /* + 1 */
};

struct stored_package {
	uint32_t name, version, arch, location; /* offsets of strings */
	uint32_t editable;
};

struct owner_index {
	const struct header *header; /* the whole file, in memory */
	const struct slot *slots;
	const struct stored_package *packages;
	const char *strings;
	size_t size;
	bool mapped;
};

/* ---- paths ---- */

/* The part of a path that counts. */
static void canonical(const char **path, size_t *len)
{
	const char *p = *path;

	if (*len < 8 || memcmp(p, "/usr/", 5) != 0)
		return;
	if (memcmp(p + 5, "lib", 3) != 0 && memcmp(p + 5, "bin", 3) != 0 &&
	    memcmp(p + 5, "sbi", 3) != 0)
		return;
	*path += 4;
	*len -= 4;
}

/* The same in every process, unlike map_hash(). */
static uint64_t path_hash(const char *path, size_t len)
{
	const uint64_t k = UINT64_C(0x9fb21c651e98df25);
	uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word = 0;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		memcpy(&word, path + i, 8);
		h = (h ^ word) * k;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, path + i, len - i);
	h = (h ^ word) * k;
	h = (h ^ h >> 35) * k;
	return h ^ h >> 28;
}

/* ---- building ---- */

struct owned {
	uint64_t hash;
	uint32_t package;
};

struct owner_builder {
	struct owned *owned;
	size_t n_owned, cap_owned;
	struct stored_package *packages;
	size_t n_packages, cap_packages;
	struct str strings;
	bool has_dirs;
	bool failed;
};

int owner_builder_new(struct owner_builder **ret)
{
	struct owner_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	str_addc(&b->strings, '\0'); /* offset 0 is "" */
	*ret = b;
	return 0;
}

void owner_builder_free(struct owner_builder *b)
{
	if (!b)
		return;
	free(b->owned);
	free(b->packages);
	str_release(&b->strings);
	free(b);
}

static uint32_t add_string(struct owner_builder *b, const char *text)
{
	size_t at = b->strings.len;

	if (!text || !*text || at > FILE_MAX_BYTES)
		return 0;
	str_add(&b->strings, text, strlen(text) + 1);
	return (uint32_t)at;
}

int owner_builder_package(struct owner_builder *b,
			  const struct owner_package *package)
{
	struct stored_package *p = VEC_PUSH(b->packages, b->n_packages,
					    b->cap_packages);

	if (!p) {
		b->failed = true;
		return -ENOMEM;
	}
	p->name = add_string(b, package->name);
	p->version = add_string(b, package->version);
	p->arch = add_string(b, package->arch);
	p->location = add_string(b, package->location);
	p->editable = package->editable;
	return (int)(b->n_packages - 1);
}

void owner_builder_path(struct owner_builder *b, const char *path, size_t len,
			int package)
{
	struct owned *o;

	if (package < 0 || !len || b->n_owned >= SLOTS_MAX / 2)
		return;
	o = VEC_PUSH(b->owned, b->n_owned, b->cap_owned);
	if (!o) {
		b->failed = true;
		return;
	}
	canonical(&path, &len);
	o->hash = path_hash(path, len);
	o->package = (uint32_t)package;
}

void owner_builder_dir(struct owner_builder *b, const char *path, size_t len,
		       int package)
{
	owner_builder_path(b, path, len, package);
	b->has_dirs = true;
}

void owner_builder_merge(struct owner_builder *b,
			 const struct owner_builder *from)
{
	size_t n = b->n_owned + from->n_owned;

	b->failed |= from->failed;
	b->has_dirs |= from->has_dirs;
	if (!from->n_owned)
		return;
	if (vec_reserve(&b->owned, &b->cap_owned, n, sizeof(*b->owned)) < 0) {
		b->failed = true;
		return;
	}
	memcpy(b->owned + b->n_owned, from->owned,
	       from->n_owned * sizeof(*b->owned));
	b->n_owned = n;
}

/* The slot of the hash, or the empty one where it belongs. */
static size_t find_slot(const struct slot *slots, size_t n_slots, uint64_t hash)
{
	size_t mask = n_slots - 1;
	size_t i = (size_t)hash & mask;

	for (size_t tries = 0; tries < n_slots; tries++, i = (i + 1) & mask)
		if (!slots[i].package || slots[i].tag == (uint32_t)(hash >> 32))
			break;
	return i;
}

static void point(struct owner_index *x, const void *file, size_t size)
{
	const struct header *h = file;

	x->header = h;
	x->slots = (const struct slot *)(h + 1);
	x->packages = (const struct stored_package *)(x->slots + h->n_slots);
	x->strings = (const char *)(x->packages + h->n_packages);
	x->size = size;
}

static size_t file_size(const struct header *h)
{
	return sizeof(*h) + h->n_slots * sizeof(struct slot) +
	       h->n_packages * sizeof(struct stored_package) + h->n_bytes +
	       sizeof(h->magic);
}

static void fill_slots(struct slot *slots, size_t n_slots,
		       const struct owner_builder *b)
{
	for (size_t i = 0; i < b->n_owned; i++) {
		size_t s = find_slot(slots, n_slots, b->owned[i].hash);

		slots[s].tag = (uint32_t)(b->owned[i].hash >> 32);
		slots[s].package = b->owned[i].package + 1;
	}
}

int owner_builder_end(struct owner_builder *b, const struct owner_key *key,
		      struct owner_index **ret)
{
	struct header h = { .magic = MAGIC,
			    .key = *key,
			    .n_slots = 16,
			    .n_packages = (uint32_t)b->n_packages,
			    .n_bytes = (uint32_t)b->strings.len,
			    .has_dirs = b->has_dirs };
	struct owner_index *x;
	char *file;
	size_t size;

	if (b->failed || str_error(&b->strings) < 0 ||
	    b->strings.len > FILE_MAX_BYTES)
		return -ENOMEM;
	while (h.n_slots < b->n_owned * 3 / 2 + 1)
		h.n_slots *= 2;
	size = file_size(&h);
	x = calloc(1, sizeof(*x));
	file = calloc(1, size);
	if (!x || !file) {
		free(x);
		free(file);
		return -ENOMEM;
	}
	memcpy(file, &h, sizeof(h));
	point(x, file, size);
	fill_slots((struct slot *)(file + sizeof(h)), h.n_slots, b);
	if (b->n_packages)
		memcpy((char *)x->packages, b->packages,
		       b->n_packages * sizeof(*b->packages));
	memcpy((char *)x->strings, b->strings.data, b->strings.len);
	memcpy(file + size - sizeof(h.magic), &h.magic, sizeof(h.magic));
	*ret = x;
	return 0;
}

/* ---- files ---- */

void owner_index_save(const struct owner_index *index, const char *path)
{
	package_cache_save(path, index->header, index->size);
}

static int check(const struct header *h, size_t size)
{
	const char *end = (const char *)h + size;

	if (h->magic != MAGIC || !h->n_slots || h->n_slots > SLOTS_MAX ||
	    (h->n_slots & (h->n_slots - 1)) || h->n_packages > SLOTS_MAX ||
	    !h->n_bytes || h->n_bytes > FILE_MAX_BYTES ||
	    file_size(h) != size ||
	    memcmp(end - sizeof(h->magic), &h->magic, sizeof(h->magic)) != 0 ||
	    end[-(ptrdiff_t)sizeof(h->magic) - 1] != '\0')
		return -EBADMSG;
	return 0;
}

static bool same_key(const struct owner_key *a, const struct owner_key *b)
{
	return stamp_equal(&a->stamps[0], &b->stamps[0]) &&
	       stamp_equal(&a->stamps[1], &b->stamps[1]);
}

int owner_index_open(const char *path, const struct owner_key *key,
		     struct owner_index **ret)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CLEANUP(owner_index_freep) struct owner_index *x = NULL;
	struct stat st;
	void *file;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)(sizeof(struct header) + sizeof(uint64_t)) ||
	    st.st_size > FILE_MAX_BYTES)
		return -EBADMSG;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	x->header = file;
	x->size = (size_t)st.st_size;
	x->mapped = true;
	if (check(x->header, x->size) < 0)
		return -EBADMSG;
	if (!same_key(&x->header->key, key))
		return -ESTALE;
	point(x, file, x->size);
	*ret = TAKE_PTR(x);
	return 0;
}

void owner_index_free(struct owner_index *index)
{
	if (!index)
		return;
	if (index->mapped)
		(void)munmap((void *)index->header, index->size);
	else
		free((void *)index->header);
	free(index);
}

/* ---- looking up ---- */

static int find_exact(const struct owner_index *x, const char *path, size_t len)
{
	uint64_t hash = path_hash(path, len);
	const struct slot
		*s = &x->slots[find_slot(x->slots, x->header->n_slots, hash)];

	if (s->tag != (uint32_t)(hash >> 32) ||
	    s->package > x->header->n_packages)
		return -1;
	return (int)s->package - 1;
}

int owner_index_find(const struct owner_index *index, const char *path,
		     size_t len)
{
	int found;

	canonical(&path, &len);
	found = find_exact(index, path, len);
	for (int i = 0; found < 0 && index->header->has_dirs && i < DIR_DEPTH;
	     i++) {
		const char *slash = memrchr(path, '/', len);

		if (!slash || slash == path)
			break;
		len = (size_t)(slash - path);
		found = find_exact(index, path, len);
	}
	return found;
}

size_t owner_index_count(const struct owner_index *index)
{
	return index->header->n_packages;
}

static const char *string_at(const struct owner_index *x, uint32_t offset)
{
	return offset < x->header->n_bytes ? x->strings + offset : "";
}

struct owner_package owner_index_package(const struct owner_index *index,
					 int number)
{
	const struct stored_package *p = &index->packages[number];

	return (struct owner_package){
		.name = string_at(index, p->name),
		.version = string_at(index, p->version),
		.arch = string_at(index, p->arch),
		.location = string_at(index, p->location),
		.editable = p->editable != 0,
	};
}

bool owner_index_is_editable(const struct owner_index *index, int number)
{
	return index->packages[number].editable != 0;
}
