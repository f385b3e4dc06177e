/* test_libraries.c - build ids, sonames, versions and interpreters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>

#include "capture/elf_notes.h"
#include "capture/interpreter.h"
#include "capture/libraries.h"
#include "capture/packages.h"
#include "tree.h"

/* An ELF file with a build id and a soname. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr headers[3];
	struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[4];
	} note;
	Elf64_Dyn dynamic[3];
	char strings[16];
};

static struct file make_file(void)
{
	struct file f = {
		.head = { .e_phoff = offsetof(struct file, headers),
			  .e_phnum = 3,
			  .e_phentsize = sizeof(Elf64_Phdr) },
		.headers = {
			{ .p_type = PT_LOAD, .p_vaddr = 0x1000,
			  .p_filesz = sizeof(struct file) },
			{ .p_type = PT_NOTE,
			  .p_offset = offsetof(struct file, note),
			  .p_filesz = sizeof(f.note) },
			{ .p_type = PT_DYNAMIC,
			  .p_offset = offsetof(struct file, dynamic),
			  .p_filesz = sizeof(f.dynamic) },
		},
		.note = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 0xff } },
		.dynamic = {
			{ DT_SONAME, { 1 } },
			{ DT_STRTAB,
			  { 0x1000 + offsetof(struct file, strings) } },
			{ DT_NULL, { 0 } },
		},
		.strings = "\0libx.so.1",
	};

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
					  ELFDATA2LSB :
					  ELFDATA2MSB;
	return f;
}

static int read_notes(const struct tree *t, const char *name,
		      struct elf_notes *ret)
{
	int fd = open(tree_path(t, name), O_RDONLY | O_CLOEXEC);
	int r = elf_notes_read(fd, ret);

	(void)close(fd);
	return r;
}

static void build_id_and_soname_are_read(void **state)
{
	struct tree *t = *state;
	struct file f = make_file();
	struct elf_notes n;

	tree_write_bytes(t, "libx.so", &f, sizeof(f));
	assert_int_equal(read_notes(t, "libx.so", &n), 0);
	assert_int_equal(n.build_id_len, 4);
	assert_int_equal(n.build_id[3], 0xff);
	assert_string_equal(n.soname, "libx.so.1");
	assert_false(n.executable);
}

static void this_program_is_elf(void **state)
{
	struct elf_notes n;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_notes_read(fd, &n), 0);
	assert_true(n.executable);
	(void)close(fd);
}

static void other_files_are_not_elf(void **state)
{
	struct tree *t = *state;
	struct elf_notes n;

	tree_write(t, "script", "#!/bin/sh\n");
	tree_write(t, "empty", "");
	assert_int_equal(read_notes(t, "script", &n), -ENOEXEC);
	assert_int_equal(read_notes(t, "empty", &n), -ENOEXEC);
}

/* Every byte is changed and every length tried. */
static void damaged_files_do_not_crash(void **state)
{
	struct tree *t = *state;
	struct file good = make_file();
	struct elf_notes n;

	for (size_t i = 0; i < sizeof(good); i++) {
		struct file f = good;

		((unsigned char *)&f)[i] ^= 0xff;
		tree_write_bytes(t, "x.so", &f, sizeof(f));
		(void)read_notes(t, "x.so", &n);
		tree_write_bytes(t, "x.so", &good, i);
		(void)read_notes(t, "x.so", &n);
	}
}

static void check_version(const char *path, const char *version)
{
	size_t len;
	const char *found = elf_version_of_name(path, &len);

	assert_int_equal(len, strlen(version));
	assert_memory_equal(found, version, len);
}

static void names_have_versions(void **state)
{
	(void)state;
	check_version("/usr/lib/libc.so.6", "6");
	check_version("/usr/lib/libcudart.so.12.1.105", "12.1.105");
	check_version("libopenblasp-0.3.21.so", "0.3.21");
	check_version("/x/_ssl.cpython-311-x86_64-linux-gnu.so", "");
	check_version("libfoo.so.old", "");
	check_version("plain", "");
}

/* ---- interpreters ---- */

static void interpreters_are_recognised(void **state)
{
	(void)state;
	assert_string_equal(interpreter_kind("/usr/bin/python3.11"), "python");
	assert_string_equal(interpreter_kind("/x/node"), "node");
	assert_string_equal(interpreter_kind("R"), "r");
	assert_null(interpreter_kind("/usr/bin/pythonic"));
	assert_null(interpreter_kind("/usr/bin/rustc"));
}

static void versions_of_interpreters_are_found(void **state)
{
	struct tree *t = *state;
	struct interpreter i;

	interpreter_of_program(&i, "/usr/bin/python3.11", "1:3.11.2-6+b1");
	assert_string_equal(i.version, "3.11.2");
	assert_string_equal(i.prefix, "/usr");
	tree_write(t, "include/python3.12/patchlevel.h",
		   "#define PY_MAJOR 3\n#define PY_VERSION  \"3.12.1\"\n");
	interpreter_of_program(&i, tree_path(t, "bin/python3.12"), "");
	assert_string_equal(i.version, "3.12.1");
	assert_string_equal(i.prefix, t->dir);
	interpreter_of_program(&i, "/opt/x/bin/python3.9", "");
	assert_string_equal(i.version, "3.9");
	interpreter_of_program(&i, "/node", "");
	assert_string_equal(i.version, "");
	assert_string_equal(i.prefix, "/");
}

static void a_virtual_environment_belongs_to_its_home(void **state)
{
	struct tree *t = *state;
	struct interpreter i;
	const char *venv = tree_path(t, "venv");

	tree_write(t, "venv/pyvenv.cfg",
		   "home = /usr/bin\ninclude-system-site-packages = false\n"
		   "version = 3.11.2\n");
	assert_true(interpreter_of_venv(&i, venv, "/usr/bin/python3.11"));
	assert_true(i.venv);
	assert_string_equal(i.version, "3.11.2");
	assert_string_equal(i.prefix, venv);
	assert_false(interpreter_of_venv(&i, venv, "/opt/bin/python3.11"));
	assert_false(interpreter_of_venv(&i, t->dir, "/usr/bin/python3.11"));
}

/* ---- the document ---- */

static void add(struct libraries *l, const struct tree *t, const char *name)
{
	const char *path = tree_path(t, name);
	struct stamp stamp;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	stamp = stamp_of(&st);
	libraries_add(l, path, strlen(path), &stamp, st.st_mode & 0100);
}

static const char *document(struct tree *t)
{
	struct capture_system system = { .root = t->dir };
	CLEANUP(packages_freep) struct packages *p = NULL;
	CLEANUP(libraries_freep) struct libraries *l = NULL;
	struct json json = json_writer(&t->text, false);

	str_clear(&t->text);
	assert_int_equal(packages_new(&system, &p), 0);
	assert_int_equal(libraries_new(tree_path(t, "cache"), &l), 0);
	add(l, t, "libx.so.1.2");
	add(l, t, "data.txt");
	add(l, t, "fake.so");
	assert_true(libraries_write(l, p, &json));
	return t->text.data;
}

static void libraries_are_listed(void **state)
{
	struct tree *t = *state;
	struct file f = make_file();
	CLEANUP(freep) char *first = NULL;

	assert_int_equal(mkdir(tree_path(t, "cache"), 0700), 0);
	tree_write_bytes(t, "libx.so.1.2", &f, sizeof(f));
	tree_write(t, "data.txt", "x");
	tree_write(t, "fake.so", "not ELF");
	first = strdup(document(t));
	assert_non_null(strstr(first, "/libx.so.1.2\",\"soname\":\"libx.so.1\","
				      "\"version\":\"1.2\",\"build_id\":"
				      "\"010203ff\"}]}"));
	assert_null(strstr(first, "fake.so"));
	/* From the cache, if the file is old enough, or a damaged one. */
	assert_string_equal(document(t), first);
	tree_write(t, "cache/elf-notes", "damaged");
	assert_string_equal(document(t), first);
}

/* What the run has loaded is not there any more. */
static void a_replaced_library_is_left_out(void **state)
{
	struct tree *t = *state;
	CLEANUP(packages_freep) struct packages *p = NULL;
	CLEANUP(libraries_freep) struct libraries *l = NULL;
	struct capture_system system = { .root = t->dir };
	struct json json = json_writer(&t->text, false);
	struct file f = make_file();

	tree_write_bytes(t, "libx.so", &f, sizeof(f));
	assert_int_equal(packages_new(&system, &p), 0);
	assert_int_equal(libraries_new(NULL, &l), 0);
	add(l, t, "libx.so");
	tree_write_bytes(t, "libx.so", &f, sizeof(f) - 1);
	assert_true(libraries_write(l, p, &json));
	assert_string_equal(str_cstr(&t->text),
			    "{\"interpreters\":[],\"libraries\":[]}");
}

static void a_script_is_not_an_interpreter(void **state)
{
	struct tree *t = *state;
	CLEANUP(packages_freep) struct packages *p = NULL;
	CLEANUP(libraries_freep) struct libraries *l = NULL;
	struct capture_system system = { .root = t->dir };
	struct json json = json_writer(&t->text, false);
	struct file f = make_file();

	tree_write(t, "shims/python3", "#!/bin/sh\n");
	tree_write_bytes(t, "bin/node", &f, sizeof(f));
	assert_int_equal(chmod(tree_path(t, "shims/python3"), 0700), 0);
	assert_int_equal(chmod(tree_path(t, "bin/node"), 0700), 0);
	assert_int_equal(packages_new(&system, &p), 0);
	assert_int_equal(libraries_new(NULL, &l), 0);
	add(l, t, "shims/python3");
	add(l, t, "bin/node");
	assert_true(libraries_write(l, p, &json));
	assert_null(strstr(str_cstr(&t->text), "shims"));
	assert_non_null(strstr(str_cstr(&t->text), "\"kind\":\"node\""));
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(build_id_and_soname_are_read),
		TEST(this_program_is_elf),
		TEST(other_files_are_not_elf),
		TEST(damaged_files_do_not_crash),
		TEST(names_have_versions),
		TEST(interpreters_are_recognised),
		TEST(versions_of_interpreters_are_found),
		TEST(a_virtual_environment_belongs_to_its_home),
		TEST(libraries_are_listed),
		TEST(a_replaced_library_is_left_out),
		TEST(a_script_is_not_an_interpreter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
