/* preload_target.c - see preload_target.h.
 *
 * Read from the file, in small pieces: the ELF header (or "#!"), the program
 * headers, the name of the loader, the dynamic section and the names of the
 * libraries that it wants first. */
#include "trace/preload/preload_target.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "trace/preload/raw.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#else
#define NATIVE_MACHINE EM_AARCH64
#endif

enum {
	HEAD = 256, /* what the kernel looks at, BINPRM_BUF_SIZE */
	MAX_SCRIPTS = 4, /* interpreters of interpreters the kernel follows */
	MAX_PHDRS = 20, /* linkers write 11 to 14 */
	MAX_DYNAMIC = 256, /* entries looked at */
	CHUNK = 24, /* of them at a time */
};

struct layout {
	Elf64_Phdr ph[MAX_PHDRS];
	unsigned n;
};

static bool read_at(int fd, uint64_t offset, void *buf, size_t size)
{
	return raw_call(SYS_pread64, fd, buf, size, offset) == (long)size;
}

/* Set-uid programs and those with file capabilities run in secure mode: the
 * loader drops our variables, and they would only be visible. */
static bool is_plain(int fd)
{
	struct stat st;

	if (raw_call(SYS_fstat, fd, &st) < 0)
		return false;
	if (!S_ISREG(st.st_mode) || st.st_mode & (S_ISUID | S_ISGID))
		return false;
	return raw_call(SYS_fgetxattr, fd, "security.capability", 0, 0) < 0;
}

static bool is_ours(const Elf64_Ehdr *eh)
{
	return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == NATIVE_MACHINE &&
	       (eh->e_type == ET_EXEC || eh->e_type == ET_DYN) &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) &&
	       eh->e_phnum <= MAX_PHDRS;
}

static bool read_layout(int fd, const Elf64_Ehdr *eh, struct layout *l)
{
	l->n = eh->e_phnum;
	return read_at(fd, eh->e_phoff, l->ph, l->n * sizeof(l->ph[0]));
}

static const Elf64_Phdr *segment(const struct layout *l, uint32_t type)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->ph[i].p_type == type)
			return &l->ph[i];
	return NULL;
}

/* Is the loader glibc's?  "/lib64/ld-linux-x86-64.so.2" and the like. */
static bool has_glibc_loader(int fd, const Elf64_Phdr *interp)
{
	char name[128];
	const char *base;

	if (interp->p_filesz >= sizeof(name) ||
	    !read_at(fd, interp->p_offset, name, interp->p_filesz))
		return false;
	name[interp->p_filesz] = '\0';
	base = strrchr(name, '/');
	base = base ? base + 1 : name;
	return strncmp(base, "ld-linux", 8) == 0;
}

/* Where in the file an address of the program is; 0 when nowhere. */
static uint64_t file_offset(const struct layout *l, uint64_t address)
{
	for (unsigned i = 0; i < l->n; i++) {
		const Elf64_Phdr *ph = &l->ph[i];

		if (ph->p_type == PT_LOAD && address >= ph->p_vaddr &&
		    address - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (address - ph->p_vaddr);
	}
	return 0;
}

/* A run-time that refuses to start after a preloaded library. */
static bool is_jealous(int fd, uint64_t name_at)
{
	/* No pointers: the library would have to relocate them. */
	static const char names[][13] = {
		"libasan.", "libtsan.", "libhwasan.",
		"libmsan.", "liblsan.", "libclang_rt."
	};
	char name[16] = "";

	/* A short read is fine: the table may end here. */
	if (raw_call(SYS_pread64, fd, name, sizeof(name) - 1, name_at) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Entries `from`... of the dynamic section; returns how many. */
static unsigned read_dynamic(int fd, const Elf64_Phdr *dynamic, unsigned from,
			     Elf64_Dyn d[CHUNK])
{
	uint64_t n = dynamic->p_filesz / sizeof(*d);
	long r;

	if (from >= n || from >= MAX_DYNAMIC)
		return 0;
	n = n - from < CHUNK ? n - from : CHUNK;
	r = raw_call(SYS_pread64, fd, d, n * sizeof(*d),
		     dynamic->p_offset + from * sizeof(*d));
	return r > 0 ? (unsigned)((size_t)r / sizeof(*d)) : 0;
}

/* Calls `match` for every entry with this tag, until it is true. */
static bool find_dynamic(int fd, const Elf64_Phdr *dynamic, int64_t tag,
			 bool (*match)(int fd, uint64_t value, uint64_t *ctx),
			 uint64_t *ctx)
{
	Elf64_Dyn d[CHUNK];
	unsigned n;

	for (unsigned from = 0; (n = read_dynamic(fd, dynamic, from, d)) > 0;
	     from += n) {
		for (unsigned i = 0; i < n; i++) {
			if (d[i].d_tag == DT_NULL)
				return false;
			if (d[i].d_tag == tag && match(fd, d[i].d_un.d_val, ctx))
				return true;
		}
	}
	return false;
}

static bool take_value(int fd, uint64_t value, uint64_t *ret)
{
	(void)fd;
	*ret = value;
	return true;
}

static bool is_jealous_entry(int fd, uint64_t name, uint64_t *strings)
{
	return is_jealous(fd, *strings + name);
}

static bool wants_to_be_first(int fd, const struct layout *l,
			      const Elf64_Phdr *dynamic)
{
	uint64_t strings = 0;

	if (!find_dynamic(fd, dynamic, DT_STRTAB, take_value, &strings))
		return true; /* unknown format */
	strings = file_offset(l, strings);
	return find_dynamic(fd, dynamic, DT_NEEDED, is_jealous_entry, &strings);
}

static bool elf_bears(int fd, const Elf64_Ehdr *eh)
{
	struct layout l;
	const Elf64_Phdr *interp, *dynamic;

	if (!is_ours(eh) || !read_layout(fd, eh, &l))
		return false;
	interp = segment(&l, PT_INTERP);
	dynamic = segment(&l, PT_DYNAMIC);
	return interp && dynamic && has_glibc_loader(fd, interp) &&
	       !wants_to_be_first(fd, &l, dynamic);
}

/* The interpreter in "#! path arg\n", made a string in place; NULL when there
 * is none. */
static char *interpreter(char *head)
{
	char *path = head + 2 + strspn(head + 2, " \t");
	size_t len = strcspn(path, " \t\n");

	if (len == 0 || path[len] == '\0')
		return NULL;
	path[len] = '\0';
	return path;
}

/* 1 or 0: bears or not.  -1: a script, whose interpreter was opened as *ret_fd. */
static int look(int fd, target_opener opener, int *ret_fd)
{
	union {
		Elf64_Ehdr eh;
		char head[HEAD + 1];
	} u = { .head = "" };
	char *path;

	if (!is_plain(fd) || raw_call(SYS_pread64, fd, u.head, HEAD, 0) < 2)
		return 0;
	if (u.head[0] != '#' || u.head[1] != '!')
		return elf_bears(fd, &u.eh);
	path = interpreter(u.head);
	*ret_fd = path ? opener(path) : -1;
	return *ret_fd < 0 ? 0 : -1;
}

bool target_bears(int fd, target_opener opener)
{
	int current = fd, r = -1;

	for (int depth = 0; r < 0 && depth < MAX_SCRIPTS; depth++) {
		int next = -1;

		r = look(current, opener, &next);
		if (current != fd)
			(void)raw_call(SYS_close, current);
		current = next;
	}
	if (r < 0 && current >= 0)
		(void)raw_call(SYS_close, current);
	return r == 1;
}

bool target_path_bears(const char *path, target_opener opener)
{
	int fd = opener(path);
	bool bears;

	if (fd < 0)
		return false;
	bears = target_bears(fd, opener);
	(void)raw_call(SYS_close, fd);
	return bears;
}

int target_open(const char *path)
{
	return (int)raw_call(SYS_openat, AT_FDCWD, path,
			     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
