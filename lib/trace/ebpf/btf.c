/* btf.c - see btf.h */
#include "trace/ebpf/btf.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "trace/ebpf/image.h"

static const char kernel_types[] = "/sys/kernel/btf/vmlinux";

enum {
	DEPTH_MAX = 8, /* of nested structs without a name */
	WANTED_SLOTS = 1024, /* a power of two, several times the names */
	KINDS = 32,
	STRIDE = 16, /* types between two marks */
};

/* A type of a wanted name; there may be several of one name. */
struct found {
	const char *name;
	uint32_t id;
	uint32_t kind;
};

struct btf {
	uint8_t *data;
	size_t len;
	bool mapped;
	const uint8_t *types;
	size_t types_len;
	const char *strings;
	size_t strings_len;
	uint32_t *marks; /* offset of every STRIDE-th type */
	uint32_t n_types;
	struct found *found;
	size_t n_found;
	const char *wanted[WANTED_SLOTS]; /* open addressing; only for the pass */
	uint8_t starts[8192]; /* a bit for the first bytes of each name */
};

/* ---- the file ---- */

/* Kernels before 6.16 cannot map it. */
static int read_all(struct btf *b, int fd, size_t len)
{
	ssize_t n;

	b->data = malloc(len);
	if (!b->data)
		return -ENOMEM;
	n = fd_read_all(fd, b->data, len);
	if (n < 0)
		return (int)n;
	b->len = (size_t)n;
	return 0;
}

static int load_file(struct btf *b, const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)sizeof(struct btf_header) ||
	    st.st_size > INT32_MAX)
		return -EBADMSG;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ,
		  MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED)
		return read_all(b, fd, (size_t)st.st_size);
	b->data = at;
	b->len = (size_t)st.st_size;
	b->mapped = true;
	return 0;
}

static int check_header(struct btf *b)
{
	struct btf_header h;
	size_t rest;

	memcpy(&h, b->data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len > b->len)
		return -EBADMSG;
	rest = b->len - h.hdr_len;
	if (h.type_off > rest || h.type_len > rest - h.type_off ||
	    h.str_off > rest || !h.str_len || h.str_len > rest - h.str_off)
		return -EBADMSG;
	b->types = b->data + h.hdr_len + h.type_off;
	b->types_len = h.type_len;
	b->strings = (const char *)b->data + h.hdr_len + h.str_off;
	b->strings_len = h.str_len;
	return b->strings[0] || b->strings[h.str_len - 1] ? -EBADMSG : 0;
}

/* ---- wanted names ---- */

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261U;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619U;
	return h;
}

/* A hash of the first eight bytes of a name, or of all if it is shorter; `room`
 * bytes may be read. */
static unsigned start_of(const char *name, size_t room)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t word = 0, end;

	memcpy(&word, name, room < sizeof(word) ? room : sizeof(word));
	end = (word - ones) & ~word & ones << 7; /* 0x80 in the NUL */
	end &= -end;
	if (end)
		word &= (end >> 7) - 1;
	return (unsigned)(word * 0x9e3779b97f4a7c15 >> 48);
}

static void want(struct btf *b, const char *name)
{
	unsigned start = start_of(name, strlen(name) + 1);
	uint32_t i = hash(name) % WANTED_SLOTS;

	while (b->wanted[i]) {
		if (strcmp(b->wanted[i], name) == 0)
			return;
		i = (i + 1) % WANTED_SLOTS;
	}
	b->wanted[i] = name;
	b->starts[start / 8] |= (uint8_t)(1U << start % 8);
}

/* Most names differ from all wanted ones in their first bytes. */
static bool is_wanted(const struct btf *b, const char *name)
{
	unsigned start = start_of(name,
				  b->strings_len - (size_t)(name - b->strings));
	uint32_t i;

	if (!(b->starts[start / 8] & 1U << start % 8))
		return false;
	i = hash(name) % WANTED_SLOTS;
	while (b->wanted[i] && strcmp(b->wanted[i], name) != 0)
		i = (i + 1) % WANTED_SLOTS;
	return b->wanted[i];
}

/* ---- the pass ---- */

/* Bytes after the 12 that every type has: a fixed number, and a number for each member.
 * A table, because the CPU cannot predict the next kind. */
static const uint8_t fixed_bytes[KINDS] = {
	[BTF_KIND_INT] = 4,
	[BTF_KIND_VAR] = 4,
	[BTF_KIND_DECL_TAG] = 4,
	[BTF_KIND_ARRAY] = sizeof(struct btf_array),
};

static const uint8_t member_bytes[KINDS] = {
	[BTF_KIND_STRUCT] = sizeof(struct btf_member),
	[BTF_KIND_UNION] = sizeof(struct btf_member),
	[BTF_KIND_DATASEC] = sizeof(struct btf_var_secinfo),
	[BTF_KIND_ENUM64] = sizeof(struct btf_enum64),
	[BTF_KIND_ENUM] = sizeof(struct btf_enum),
	[BTF_KIND_FUNC_PROTO] = sizeof(struct btf_param),
};

static size_t whole_size(uint32_t info)
{
	uint32_t kind = BTF_INFO_KIND(info) % KINDS;

	return sizeof(struct btf_type) + fixed_bytes[kind] +
	       (size_t)member_bytes[kind] * BTF_INFO_VLEN(info);
}

static bool is_of_interest(uint32_t kind)
{
	enum {
		KINDS_WANTED = 1 << BTF_KIND_STRUCT | 1 << BTF_KIND_UNION |
			       1 << BTF_KIND_TYPEDEF | 1 << BTF_KIND_FUNC,
	};

	return KINDS_WANTED >> kind & 1;
}

/* A missing name is the empty string, with which a table of strings starts. */
static const char *string(const struct btf *b, uint32_t offset)
{
	return b->strings + (offset < b->strings_len ? offset : 0);
}

static int note(struct btf *b, const char *name, uint32_t id, uint32_t kind)
{
	struct found *more;

	if (!is_wanted(b, name))
		return 0;
	more = realloc(b->found, (b->n_found + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	b->found = more;
	more[b->n_found++] = (struct found){ name, id, kind };
	return 0;
}

static int pass(struct btf *b)
{
	size_t at = 0;

	b->marks = malloc((b->types_len / sizeof(struct btf_type) / STRIDE + 1) *
			  sizeof(*b->marks));
	if (!b->marks)
		return -ENOMEM;
	for (uint32_t id = 1; at < b->types_len; id++) {
		struct btf_type t;
		int r = 0;

		if (b->types_len - at < sizeof(t))
			return -EBADMSG;
		memcpy(&t, b->types + at, sizeof(t));
		if (!BTF_INFO_KIND(t.info) ||
		    whole_size(t.info) > b->types_len - at)
			return -EBADMSG;
		if (id % STRIDE == 0 || id == 1)
			b->marks[id / STRIDE] = (uint32_t)at;
		b->n_types = id;
		if (t.name_off && is_of_interest(BTF_INFO_KIND(t.info)))
			r = note(b, string(b, t.name_off), id,
				 BTF_INFO_KIND(t.info));
		if (r < 0)
			return r;
		at += whole_size(t.info);
	}
	return 0;
}

int btf_open(const char *path, const char *const *names, size_t n_names,
	     struct btf **ret_btf)
{
	CLEANUP(btf_closep) struct btf *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	if (n_names > WANTED_SLOTS / 2)
		return -E2BIG;
	r = load_file(b, path ? path : kernel_types);
	if (r < 0)
		return r;
	r = check_header(b);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_names; i++)
		want(b, names[i]);
	r = pass(b);
	if (r < 0)
		return r;
	*ret_btf = TAKE_PTR(b);
	return 0;
}

void btf_close(struct btf *b)
{
	if (!b)
		return;
	if (b->mapped)
		(void)munmap(b->data, b->len);
	else
		free(b->data);
	free(b->marks);
	free(b->found);
	free(b);
}

/* ---- questions ---- */

/* The address of a type; NULL when there is none of that number. */
static const uint8_t *get_type(const struct btf *b, uint32_t id,
			       struct btf_type *ret)
{
	uint32_t i = id < STRIDE ? 1 : id - id % STRIDE;
	const uint8_t *at;

	if (!id || id > b->n_types)
		return NULL;
	at = b->types + b->marks[id / STRIDE];
	memcpy(ret, at, sizeof(*ret));
	for (; i < id; i++) {
		at += whole_size(ret->info);
		memcpy(ret, at, sizeof(*ret));
	}
	return at;
}

/* The type below typedefs and qualifiers. */
static uint32_t plain(const struct btf *b, uint32_t id)
{
	struct btf_type t;

	for (int i = 0; i < 32 && get_type(b, id, &t); i++) {
		switch (BTF_INFO_KIND(t.info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = t.type;
			break;
		default:
			return id;
		}
	}
	return 0;
}

/* Finds a member, also in members without a name.  Bits from the start, or
 * negative; its type goes to `ret_type`. */
static int64_t find_member(const struct btf *b, uint32_t id, const char *name,
			   int depth, uint32_t *ret_type)
{
	struct btf_type t;
	const uint8_t *at = depth > DEPTH_MAX ? NULL :
						get_type(b, plain(b, id), &t);

	if (!at || (BTF_INFO_KIND(t.info) != BTF_KIND_STRUCT &&
		    BTF_INFO_KIND(t.info) != BTF_KIND_UNION))
		return -ENOENT;
	for (uint32_t i = 0; i < BTF_INFO_VLEN(t.info); i++) {
		struct btf_member m;
		int64_t bits, inner;

		memcpy(&m, at + sizeof(t) + i * sizeof(m), sizeof(m));
		bits = BTF_INFO_KFLAG(t.info) ?
			       BTF_MEMBER_BIT_OFFSET(m.offset) :
			       m.offset;
		if (m.name_off) {
			if (strcmp(string(b, m.name_off), name) != 0)
				continue;
			*ret_type = m.type;
			return bits;
		}
		inner = find_member(b, m.type, name, depth + 1, ret_type);
		if (inner >= 0)
			return bits + inner;
	}
	return -ENOENT;
}

static int64_t field_of(const struct btf *b, uint32_t id,
			const struct image_field *field)
{
	int64_t total = 0;

	for (int i = 0; i < IMAGE_PATH_MAX && field->path[i]; i++) {
		int64_t bits = find_member(b, id, field->path[i], 0, &id);

		if (bits < 0)
			return bits;
		total += bits;
	}
	return total % 8 ? -ENOENT : total / 8 + field->extra;
}

int64_t btf_field(const struct btf *b, const struct image_field *field)
{
	for (size_t i = 0; i < b->n_found; i++) {
		const struct found *f = &b->found[i];
		int64_t offset;

		if (strcmp(f->name, field->type) != 0 ||
		    (f->kind != BTF_KIND_STRUCT && f->kind != BTF_KIND_UNION))
			continue;
		offset = field_of(b, f->id, field);
		if (offset >= 0)
			return offset;
	}
	return -ENOENT;
}

static int find(const struct btf *b, const char *name, uint32_t kind)
{
	for (size_t i = 0; i < b->n_found; i++)
		if (b->found[i].kind == kind &&
		    strcmp(b->found[i].name, name) == 0)
			return (int)b->found[i].id;
	return -ENOENT;
}

int btf_struct(const struct btf *b, const char *name)
{
	return find(b, name, BTF_KIND_STRUCT);
}

int btf_typedef(const struct btf *b, const char *name)
{
	return find(b, name, BTF_KIND_TYPEDEF);
}

int btf_function(const struct btf *b, const char *name)
{
	return find(b, name, BTF_KIND_FUNC);
}
