/* fuzz_capture.c - what package managers, linkers and trackers have written.
 *
 * The first byte chooses the parser; the rest is its file, which ends where its memory
 * ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "capture/elf_notes.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"
#include "capture/packages.h"
#include "capture/process_environment.h"
#include "capture/trackers.h"
#include "lineage/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int file = -1; /* in memory */
static char file_path[64];

static void put_file(const char *text, size_t len)
{
	if (file < 0) {
		file = memfd_create("fuzz", MFD_CLOEXEC);
		(void)snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d",
			       file);
	}
	if (ftruncate(file, 0) < 0 || pwrite(file, text, len, 0) < 0)
		abort();
}

static void parse_dpkg(const char *text, size_t len, struct owner_builder *b)
{
	dpkg_list_parse(text, len, b, 0);
}

static void parse_apk(const char *text, size_t len, struct owner_builder *b)
{
	(void)apk_installed_parse(text, len, b);
}

static void parse_conda(const char *text, size_t len, struct owner_builder *b)
{
	(void)conda_meta_parse("/prefix", text, len, b);
}

static void parse_pip(const char *text, size_t len, struct owner_builder *b)
{
	pip_record_parse("/site-packages", text, len, b, 0);
}

static void parse_rpm(const char *text, size_t len, struct owner_builder *b)
{
	rpm_answer_parse(text, len, b);
}

static void parse_elf(const char *text, size_t len, struct owner_builder *b)
{
	struct elf_notes notes;

	(void)b;
	put_file(text, len);
	if (elf_notes_read(file, &notes) == 0 &&
	    strlen(notes.soname) >= sizeof(notes.soname))
		abort();
}

static void parse_wandb(const char *text, size_t len, struct owner_builder *b)
{
	const char *project;
	size_t n;

	(void)b;
	project = trackers_wandb_project(text, len, &n);
	if (n && (project < text || project + n > text + len))
		abort();
}

static void open_index(const char *text, size_t len, struct owner_builder *b)
{
	struct owner_index *index;
	struct owner_key key;
	int found;

	(void)b;
	if (len < 8 + sizeof(key))
		return;
	memcpy(&key, text + 8, sizeof(key));
	put_file(text, len);
	if (owner_index_open(file_path, &key, &index) < 0)
		return;
	found = owner_index_find(index, "/usr/lib/a.so", 13);
	if (found >= 0)
		(void)strlen(owner_index_package(index, found).name);
	owner_index_free(index);
}

static void take_environment(const char *text, size_t len,
			     struct owner_builder *b)
{
	struct process_environments *set = NULL;
	struct redact *redact = NULL;

	(void)b;
	if (redact_new(NULL, NULL, 0, &redact) == 0 &&
	    process_environments_new(redact, &set) == 0) {
		process_environments_add(set, 1, "x", text, len);
		(void)process_environments_get(set, 1, "RANK");
	}
	process_environments_free(set);
	redact_free(redact);
}

static void (*const parsers[])(const char *text, size_t len,
			       struct owner_builder *b) = {
	parse_dpkg, parse_apk,	 parse_conda, parse_pip,	parse_rpm,
	parse_elf,  parse_wandb, open_index,  take_environment,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct owner_key key = { 0 };
	const struct owner_package p = { "p", "1", "", "", false };
	struct owner_builder *b = NULL;
	struct owner_index *index;
	char *text;

	if (!len || owner_builder_new(&b) < 0)
		return 0;
	text = malloc(len > 1 ? len - 1 : 1);
	if (text && owner_builder_package(b, &p) == 0) {
		memcpy(text, data + 1, len - 1);
		parsers[data[0] % (sizeof(parsers) / sizeof(parsers[0]))](
			text, len - 1, b);
		if (owner_builder_end(b, &key, &index) == 0)
			owner_index_free(index);
	}
	free(text);
	owner_builder_free(b);
	return 0;
}
