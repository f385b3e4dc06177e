/* translate_exec.c - programs that were executed
 *
 * The record has the program that runs and the name it was executed by.  If these are
 * two files, the name is that of a script.  Other files that the kernel loaded on the
 * way (interpreters, the program's loader) are named in the files themselves. */
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "trace/call/loader.h"
#include "trace/ebpf/translate.h"

/* The arguments as the process sees them, quoted. */
static void quote_command(const char *words, size_t len, struct str *out)
{
	size_t at = 0;

	while (at < len) {
		char word[WIRE_COMMAND_MAX + 1];
		size_t n = strnlen(words + at, len - at);

		memcpy(word, words + at, n);
		word[n] = '\0';
		if (at)
			str_addc(out, ' ');
		quote_shell(out, word);
		at += n + 1;
	}
}

struct chain {
	struct translator *t;
	const struct wire_record *r;
	unsigned flags;
	const struct str *command; /* for the first file; then NULL */
};

static void emit_loaded(struct chain *c, const struct str *path,
			enum event_ftype ftype, const struct stamp *stamp)
{
	struct translator *t = c->t;

	str_clear(&t->path);
	str_clear(&t->path2);
	str_add(&t->path, path->data, path->len);
	if (c->command)
		str_add(&t->path2, c->command->data, c->command->len);
	c->command = NULL;
	translate_emit(t, c->r->pid, (int64_t)c->r->time_ns + t->clock_ns,
		       EVENT_EXEC, c->flags, 0, ftype, stamp);
}

/* Sends the files that `path` needs to run, and those that they need. */
static void emit_needed(struct chain *c, struct str *path)
{
	char head[LOADER_HEAD];

	for (int depth = 0; depth < LOADER_CHAIN; depth++) {
		ssize_t n = loader_read(path->data, head);
		const char *next = n > 0 ? loader_of(head, (size_t)n) : NULL;
		struct stamp stamp;
		struct stat st;

		if (!next)
			return;
		str_clear(path);
		str_adds(path, next);
		place_follow(path);
		if (stat(path->data, &st) < 0)
			return;
		stamp = stamp_of(&st);
		emit_loaded(c, path, event_ftype_of(st.st_mode), &stamp);
	}
}

/* The file by which the program was executed; false when it cannot be found. */
static bool executed_name(struct translator *t, const struct wire_record *r,
			  struct str *out)
{
	struct wire_strings s = wire_strings_of(r);
	const char *rest;

	str_clear(&t->base);
	if (!r->name_len || !place_add_base(&t->base, s.base, r->base_len))
		return false;
	if (!(r->flags & WIRE_FD)) {
		if (translate_name(t, r, false, out) < 0)
			return false;
		if (!(r->sure & WIRE_SURE))
			place_follow(out);
		return true;
	}
	/* "/dev/fd/7" or "/dev/fd/7/name": base is what 7 is. */
	rest = strchr(s.name + strlen("/dev/fd/"), '/');
	if (rest)
		rest += strspn(rest, "/");
	if (!rest || !*rest)
		str_add(out, t->base.data, t->base.len);
	else if (place_name(&t->places, &t->base, rest, out) < 0)
		return false;
	if (rest && *rest)
		place_follow(out);
	return out->len > 0;
}

/* The stamp of the script at `named`, as the kernel saw it or as it is now.  False when
 * there is none. */
static bool look_at_script(const struct chain *c, const struct str *named,
			   struct stamp *ret)
{
	struct wire_record *script = &c->t->script;
	struct stat st;

	if (script->pid == c->r->pid && script->ino) {
		*ret = translate_stamp(c->t, script, named->data);
		script->ino = 0;
		return true;
	}
	if ((c->r->sure & WIRE_SURE) || stat(named->data, &st) < 0 ||
	    st.st_ino == c->r->ino)
		return false;
	*ret = stamp_of(&st);
	return true;
}

static bool is_still(const struct str *path, const struct stamp *stamp)
{
	struct stamp now;
	struct stat st;

	if (stat(path->data, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_same_file(&now, stamp) && now.mtime_ns == stamp->mtime_ns;
}

/* A script, and all files that follow from it.  False when the name was that of the
 * program itself, or when the script does not name its interpreter any more. */
static bool emit_script(struct chain *c, const struct str *program)
{
	CLEANUP(str_release) struct str named = STR_INIT;
	struct stamp stamp;

	if (!executed_name(c->t, c->r, &named))
		return false;
	if (look_at_script(c, &named, &stamp)) {
		emit_loaded(c, &named, EVENT_FTYPE_REGULAR, &stamp);
		if (!is_still(&named, &stamp))
			return false;
		emit_needed(c, &named);
		return true;
	}
	/* It does not exist any more; its stamp remains. */
	if (!(c->r->sure & WIRE_SURE) && access(named.data, F_OK) < 0 &&
	    strcmp(str_cstr(&named), str_cstr(program)) != 0)
		emit_loaded(c, &named, EVENT_FTYPE_REGULAR, NULL);
	return false;
}

void translate_exec(struct translator *t, const struct wire_record *r)
{
	CLEANUP(str_release) struct str command = STR_INIT;
	CLEANUP(str_release) struct str program = STR_INIT;
	struct wire_strings s = wire_strings_of(r);
	struct chain c = { t, r, r->pid == t->root ? EVENT_ROOT : 0, &command };
	struct stamp stamp;

	quote_command(s.name2, r->name2_len, &command);
	if (r->flags & WIRE_DELETED ||
	    !place_add_base(&program, s.base2, r->base2_len))
		str_clear(&program);
	if (program.len && !translate_is_visible(r, program.data)) {
		translate_gap(t, r->pid, EVENT_GAP_NAMESPACE, program.data);
		str_clear(&program);
	} else if (emit_script(&c, &program)) {
		return;
	}
	/* Executed from memory: there is no file, but a command line. */
	if (!program.len) {
		emit_loaded(&c, &program, EVENT_FTYPE_NONE, NULL);
		return;
	}
	stamp = translate_stamp(t, r, program.data);
	emit_loaded(&c, &program, EVENT_FTYPE_REGULAR, &stamp);
	emit_needed(&c, &program);
}
