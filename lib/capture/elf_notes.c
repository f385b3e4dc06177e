/* elf_notes.c - see elf_notes.h
 *
 * The program headers lead to the notes (PT_NOTE, with NT_GNU_BUILD_ID) and to the
 * dynamic section (PT_DYNAMIC), where DT_SONAME is an offset in the strings at DT_STRTAB.
 * That is an address, which PT_LOAD maps to a position in the file.  Most files need two
 * reads: the first page usually has the headers and the notes. */
#include "capture/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	HEAD = 4096,
	PROGRAM_HEADERS_MAX = 64,
	NOTES_MAX = 8192,
	DYNAMIC_MAX = 256, /* entries */
};

struct elf {
	int fd;
	size_t head_len;
	unsigned char head[HEAD];
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	size_t n_headers;
};

/* Bytes of the file, from its first page if they are there.  Returns how many. */
static size_t read_at(const struct elf *e, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	if (at + len <= e->head_len && at + len >= at) {
		memcpy(to, e->head + at, len);
		return len;
	}
	if (at > INT64_MAX)
		return 0;
	n = pread(e->fd, to, len, (off_t)at);
	return n < 0 ? 0 : (size_t)n;
}

static Elf64_Phdr wide_header(const Elf32_Phdr *h)
{
	return (Elf64_Phdr){ .p_type = h->p_type,
			     .p_offset = h->p_offset,
			     .p_vaddr = h->p_vaddr,
			     .p_filesz = h->p_filesz };
}

static int read_headers(struct elf *e)
{
	const unsigned char *id = e->head;
	bool wide = id[EI_CLASS] == ELFCLASS64;
	Elf64_Ehdr h64;
	Elf32_Ehdr h32;
	uint64_t at;
	size_t n, size;

	if (e->head_len < sizeof(h64) || memcmp(id, ELFMAG, SELFMAG) != 0 ||
	    id[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				    ELFDATA2LSB :
				    ELFDATA2MSB) ||
	    (!wide && id[EI_CLASS] != ELFCLASS32))
		return -ENOEXEC;
	memcpy(&h64, id, sizeof(h64));
	memcpy(&h32, id, sizeof(h32));
	at = wide ? h64.e_phoff : h32.e_phoff;
	n = wide ? h64.e_phnum : h32.e_phnum;
	size = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (n > PROGRAM_HEADERS_MAX ||
	    (wide ? h64.e_phentsize : h32.e_phentsize) != size)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		Elf32_Phdr narrow;

		if (wide &&
		    read_at(e, at + i * size, &e->headers[i], size) != size)
			return -EBADMSG;
		if (wide)
			continue;
		if (read_at(e, at + i * size, &narrow, size) != size)
			return -EBADMSG;
		e->headers[i] = wide_header(&narrow);
	}
	e->n_headers = n;
	return 0;
}

/* ---- notes ---- */

static void find_build_id(const unsigned char *notes, size_t len,
			  struct elf_notes *ret)
{
	size_t at = 0;

	while (at + 12 <= len) {
		uint32_t word[3];
		size_t name, value;

		memcpy(word, notes + at, sizeof(word));
		name = at + 12;
		value = name + (((size_t)word[0] + 3) & ~(size_t)3);
		at = value + (((size_t)word[1] + 3) & ~(size_t)3);
		if (at > len)
			return;
		if (word[2] != NT_GNU_BUILD_ID || word[0] != 4 ||
		    memcmp(notes + name, "GNU", 4) != 0 || !word[1] ||
		    word[1] > ELF_BUILD_ID_MAX)
			continue;
		ret->build_id_len = (uint8_t)word[1];
		memcpy(ret->build_id, notes + value, word[1]);
		return;
	}
}

static void read_notes(const struct elf *e, const Elf64_Phdr *h,
		       struct elf_notes *ret)
{
	unsigned char notes[NOTES_MAX];
	size_t len = h->p_filesz < sizeof(notes) ? (size_t)h->p_filesz :
						   sizeof(notes);

	if (!ret->build_id_len)
		find_build_id(notes, read_at(e, h->p_offset, notes, len), ret);
}

/* ---- the dynamic section ---- */

/* The position in the file of an address; 0: nowhere. */
static uint64_t place_of(const struct elf *e, uint64_t address)
{
	for (size_t i = 0; i < e->n_headers; i++) {
		const Elf64_Phdr *h = &e->headers[i];

		if (h->p_type == PT_LOAD && address >= h->p_vaddr &&
		    address - h->p_vaddr < h->p_filesz)
			return h->p_offset + (address - h->p_vaddr);
	}
	return 0;
}

static void read_soname(const struct elf *e, const Elf64_Phdr *h,
			struct elf_notes *ret)
{
	bool wide = e->head[EI_CLASS] == ELFCLASS64;
	size_t size = wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	unsigned char dynamic[DYNAMIC_MAX * sizeof(Elf64_Dyn)];
	size_t len = h->p_filesz < sizeof(dynamic) ? (size_t)h->p_filesz :
						     sizeof(dynamic);
	uint64_t strings = 0, name = 0, place;
	bool named = false;
	size_t n;

	len = read_at(e, h->p_offset, dynamic, len);
	for (size_t at = 0; at + size <= len; at += size) {
		Elf64_Dyn d;
		Elf32_Dyn d32;

		memcpy(&d, dynamic + at, wide ? size : 0);
		memcpy(&d32, dynamic + at, sizeof(d32));
		if (!wide)
			d = (Elf64_Dyn){ .d_tag = d32.d_tag,
					 .d_un.d_val = d32.d_un.d_val };
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		named |= d.d_tag == DT_SONAME;
		if (d.d_tag == DT_SONAME)
			name = d.d_un.d_val;
	}
	place = named && name < UINT32_MAX ? place_of(e, strings) : 0;
	if (!place)
		return;
	n = read_at(e, place + name, ret->soname, sizeof(ret->soname) - 1);
	ret->soname[n] = '\0';
}

int elf_notes_read(int fd, struct elf_notes *ret)
{
	struct elf e = { .fd = fd };
	ssize_t n = pread(fd, e.head, sizeof(e.head), 0);
	int r;

	if (n < 0)
		return -errno;
	e.head_len = (size_t)n;
	r = read_headers(&e);
	if (r < 0)
		return r;
	*ret = (struct elf_notes){ 0 };
	for (size_t i = 0; i < e.n_headers; i++) {
		const Elf64_Phdr *h = &e.headers[i];

		if (h->p_type == PT_NOTE)
			read_notes(&e, h, ret);
		else if (h->p_type == PT_DYNAMIC)
			read_soname(&e, h, ret);
		ret->executable |= h->p_type == PT_INTERP;
	}
	return 0;
}

/* ---- names ---- */

static bool is_version(const char *text, size_t len)
{
	if (!len || text[0] < '0' || text[0] > '9')
		return false;
	return strspn(text, "0123456789.") >= len;
}

const char *elf_version_of_name(const char *path, size_t *ret_len)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *so = strstr(name, ".so");
	const char *dash;

	*ret_len = 0;
	if (!so)
		return "";
	if (so[3] == '.' && is_version(so + 4, strlen(so + 4))) {
		*ret_len = strlen(so + 4);
		return so + 4;
	}
	dash = memrchr(name, '-', (size_t)(so - name));
	if (!dash || !is_version(dash + 1, (size_t)(so - dash - 1)))
		return "";
	*ret_len = (size_t)(so - dash - 1);
	return dash + 1;
}
