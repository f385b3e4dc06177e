/* translate.c - see translate.h */
#include "trace/ebpf/translate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "trace/call/call.h"
#include "trace/call/resolve.h"
#include "trace/tracer.h"

_Static_assert((unsigned)WIRE_READ == EVENT_READ &&
		       (unsigned)WIRE_WRITE == EVENT_WRITE &&
		       (unsigned)WIRE_CREATE == EVENT_CREATE &&
		       (unsigned)WIRE_TRUNC == EVENT_TRUNC &&
		       (unsigned)WIRE_INHERITED == EVENT_INHERITED &&
		       (unsigned)WIRE_EXCHANGE == EVENT_EXCHANGE,
	       "the low byte of the flags is the same");

enum { EVENT_FLAGS = 0xff };

int translator_init(struct translator *t, const struct tracer_job *job)
{
	*t = (struct translator){ .job = job };
	t->clock_ns = clock_now_ns() - clock_mono_ns();
	t->event = calloc(1, EVENT_SIZE_MAX);
	return t->event ? 0 : -ENOMEM;
}

void translator_release(struct translator *t)
{
	places_release(&t->places);
	mount_table_release(&t->mounts);
	str_release(&t->path);
	str_release(&t->path2);
	str_release(&t->base);
	free(t->event);
	t->event = NULL;
}

/* ---- sending ---- */

void translate_emit(struct translator *t, pid_t pid, int64_t time_ns,
		    enum event_kind kind, unsigned flags, int32_t aux,
		    enum event_ftype ftype, const struct stamp *stamp)
{
	struct event *ev = t->event;

	if (t->path.len > EVENT_PATH_MAX || t->path2.len > EVENT_PATH_MAX)
		return;
	ev->kind = (uint8_t)kind;
	ev->ftype = (uint8_t)ftype;
	ev->flags = (uint16_t)flags;
	ev->pid = pid;
	ev->aux = aux;
	ev->time_ns = time_ns;
	ev->before = stamp ? *stamp : (struct stamp){ 0 };
	event_set_paths(ev, str_cstr(&t->path), t->path.len,
			str_cstr(&t->path2), t->path2.len);
	t->job->sink(t->job->ctx, ev);
}

void translate_gap(struct translator *t, pid_t pid, enum event_gap gap,
		   const char *detail)
{
	str_clear(&t->path);
	str_clear(&t->path2);
	str_adds(&t->path, detail ? detail : "");
	translate_emit(t, pid, clock_now_ns(), EVENT_GAP, 0, (int32_t)gap,
		       EVENT_FTYPE_NONE, NULL);
}

/* An event of the record's own process and time. */
static void emit(struct translator *t, const struct wire_record *r,
		 enum event_kind kind, int32_t aux, enum event_ftype ftype,
		 const struct stamp *stamp)
{
	translate_emit(t, r->pid, (int64_t)r->time_ns + t->clock_ns, kind,
		       r->flags & EVENT_FLAGS, aux, ftype, stamp);
}

/* ---- the content of a record ---- */

struct wire_strings wire_strings_of(const struct wire_record *r)
{
	struct wire_strings s;

	s.name = (const char *)(r + 1);
	s.base = s.name + r->name_len;
	s.name2 = s.base + r->base_len;
	s.base2 = s.name2 + r->name2_len;
	return s;
}

bool translate_is_visible(const struct wire_record *r, const char *path)
{
	struct stat st;

	if (r->sure & WIRE_COVERED)
		return false;
	return !(r->flags & WIRE_FOREIGN) ||
	       (lstat(path, &st) == 0 && st.st_ino == r->ino &&
		st.st_dev == translate_dev_of(r));
}

/* ---- opened files ---- */

/* A file without a name may be mounted over another, whose name leads to it. */
static bool is_mounted(const struct wire_record *r)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct wire_strings s = wire_strings_of(r);
	struct stat st;

	return !(r->flags & (WIRE_LONG | WIRE_FOREIGN)) &&
	       place_add_base(&path, s.base, r->base_len) &&
	       lstat(str_cstr(&path), &st) == 0 && st.st_ino == r->ino &&
	       st.st_dev == translate_dev_of(r);
}

static bool has_no_name(const struct wire_record *r)
{
	if (r->flags & WIRE_NOWHERE)
		return true;
	return (r->flags & WIRE_DELETED) && !(r->flags & WIRE_CREATE) &&
	       !is_mounted(r);
}

static void on_open(struct translator *t, const struct wire_record *r)
{
	struct wire_strings s = wire_strings_of(r);
	enum event_ftype ftype = event_ftype_of(r->mode);
	struct stamp stamp;

	translate_sums(t, r);
	if (has_no_name(r)) {
		if (r->flags & WIRE_HANDLE)
			translate_gap(t, r->pid, EVENT_GAP_HANDLE, NULL);
		return;
	}
	if ((r->flags & WIRE_LONG) ||
	    !place_add_base(&t->path, s.base, r->base_len) ||
	    t->path.len >= PATH_MAX) {
		translate_gap(t, r->pid, EVENT_GAP_PATH, "path too long");
		return;
	}
	if (!t->path.len)
		str_addc(&t->path, '/');
	if (!translate_is_visible(r, t->path.data)) {
		struct str name = t->path;

		t->path = STR_INIT;
		translate_gap(t, r->pid, EVENT_GAP_NAMESPACE, str_cstr(&name));
		str_release(&name);
		return;
	}
	translate_sums_open(t, r);
	if (r->flags & WIRE_CREATE) {
		emit(t, r, EVENT_OPEN, 0, EVENT_FTYPE_NONE, NULL);
		return;
	}
	if ((r->flags & WIRE_TRUNC) && ftype == EVENT_FTYPE_REGULAR)
		stamp = translate_emptied(t, r);
	else
		stamp = translate_stamp(t, r, t->path.data);
	emit(t, r, EVENT_OPEN, 0, ftype, &stamp);
}

/* Evidence only: what cannot be named is left out. */
static void on_stream(struct translator *t, const struct wire_record *r)
{
	struct wire_strings s = wire_strings_of(r);

	if (has_no_name(r) || (r->flags & WIRE_LONG) ||
	    !place_add_base(&t->path, s.base, r->base_len) ||
	    t->path.len >= PATH_MAX || !t->path.len ||
	    !translate_is_visible(r, t->path.data))
		return;
	translate_emit(t, r->pid, t->clock_ns + (int64_t)r->time_ns, EVENT_OPEN,
		       EVENT_PASSED | (r->flags & (WIRE_READ | WIRE_WRITE)), 0,
		       EVENT_FTYPE_REGULAR, NULL);
}

/* ---- names ---- */

/* The current file of a name. */
static enum event_ftype look(const struct str *path, struct stamp *ret)
{
	struct stat st;

	*ret = (struct stamp){ 0 };
	if (lstat(str_cstr(path), &st) < 0)
		return EVENT_FTYPE_NONE;
	*ret = stamp_of(&st);
	return event_ftype_of(st.st_mode);
}

/* The file that was moved or linked to t->path2: as the kernel saw it, or as it is
 * now. */
static enum event_ftype look_at_moved(struct translator *t,
				      const struct wire_record *r,
				      struct stamp *ret)
{
	if (!r->ino)
		return look(&t->path2, ret);
	*ret = translate_stamp(t, r, t->path2.data);
	return event_ftype_of(r->mode);
}

bool translate_names_are_foreign(struct translator *t,
				 const struct wire_record *r)
{
	if (!(r->flags & WIRE_FOREIGN) && !(r->sure & WIRE_COVERED))
		return false;
	translate_gap(t, r->pid, EVENT_GAP_NAMESPACE,
		      "names were changed there");
	return true;
}

/* Two names of one file: the kernel did nothing.  (A file with one name has only been
 * moved back meanwhile.)  Where the kernel side resolved both names it was noticed
 * there. */
static bool is_idle_rename(const struct translator *t,
			   const struct wire_record *r,
			   const struct stamp *moved)
{
	struct stamp old;
	struct stat st;

	if ((r->flags & WIRE_EXCHANGE) || (r->sure & WIRE_SURE && r->ino) ||
	    lstat(t->path.data, &st) < 0 || st.st_nlink < 2)
		return false;
	old = stamp_of(&st);
	return stamp_same_file(&old, moved);
}

/* The type of the file that had the new name before an exchange. */
static int32_t other_side(const struct translator *t,
			  const struct wire_record *r)
{
	struct stamp stamp;

	if (!(r->flags & WIRE_EXCHANGE))
		return 0;
	return (int32_t)(r->aux ? event_ftype_of((uint32_t)r->aux) :
				  look(&t->path, &stamp));
}

static void on_rename(struct translator *t, const struct wire_record *r)
{
	struct stamp moved;
	enum event_ftype ftype;

	if (translate_names_are_foreign(t, r) ||
	    translate_name(t, r, false, &t->path) < 0 ||
	    translate_name(t, r, true, &t->path2) < 0)
		return;
	ftype = look_at_moved(t, r, &moved);
	if (is_idle_rename(t, r, &moved))
		return;
	/* It was moved again already. */
	if (ftype == EVENT_FTYPE_NONE)
		ftype = places_is_dir(&t->places, &t->path) ?
				EVENT_FTYPE_DIRECTORY :
				EVENT_FTYPE_REGULAR;
	if (ftype == EVENT_FTYPE_DIRECTORY)
		places_note_dir(&t->places, &t->path2);
	places_forget(&t->places);
	emit(t, r, EVENT_RENAME, other_side(t, r), ftype, &moved);
}

static void on_link(struct translator *t, const struct wire_record *r)
{
	struct wire_strings s = wire_strings_of(r);
	struct stamp linked;
	enum event_ftype ftype;

	if (translate_names_are_foreign(t, r))
		return;
	if (!(r->flags & WIRE_FD)) {
		if (translate_name(t, r, false, &t->path) < 0)
			return;
		if ((r->aux & AT_SYMLINK_FOLLOW) && !(r->sure & WIRE_SURE))
			place_follow(&t->path);
	} else if (!(r->flags & (WIRE_DELETED | WIRE_NOWHERE))) {
		(void)place_add_base(&t->path, s.base, r->base_len);
	}
	if (translate_name(t, r, true, &t->path2) < 0)
		return;
	ftype = look_at_moved(t, r, &linked);
	if (ftype == EVENT_FTYPE_NONE)
		ftype = EVENT_FTYPE_REGULAR;
	emit(t, r, EVENT_LINK, 0, ftype, &linked);
}

static void on_symlink(struct translator *t, const struct wire_record *r)
{
	if (translate_names_are_foreign(t, r) ||
	    translate_name(t, r, true, &t->path2) < 0)
		return;
	places_forget(&t->places);
	str_adds(&t->path, wire_strings_of(r).name);
	emit(t, r, EVENT_SYMLINK, 0, EVENT_FTYPE_NONE, NULL);
}

static void on_unlink(struct translator *t, const struct wire_record *r)
{
	if (translate_names_are_foreign(t, r) ||
	    translate_name(t, r, false, &t->path) < 0)
		return;
	places_forget(&t->places);
	emit(t, r, EVENT_UNLINK, 0, EVENT_FTYPE_REGULAR, NULL);
}

static void on_truncate(struct translator *t, const struct wire_record *r)
{
	struct stamp stamp = { 0 };

	if (translate_names_are_foreign(t, r) ||
	    translate_name(t, r, false, &t->path) < 0)
		return;
	if (!(r->sure & WIRE_SURE))
		place_follow(&t->path);
	if (r->ino)
		stamp = translate_emptied(t, r);
	emit(t, r, EVENT_TRUNCATE, 0, EVENT_FTYPE_REGULAR, &stamp);
}

static void on_mknod(struct translator *t, const struct wire_record *r)
{
	if (translate_names_are_foreign(t, r) ||
	    translate_name(t, r, false, &t->path) < 0)
		return;
	translate_emit(t, r->pid, (int64_t)r->time_ns + t->clock_ns, EVENT_OPEN,
		       EVENT_WRITE | EVENT_CREATE, 0, EVENT_FTYPE_NONE, NULL);
}

static void on_mkdir(struct translator *t, const struct wire_record *r)
{
	if (!(r->flags & (WIRE_FOREIGN | WIRE_LONG | WIRE_NOWHERE)) &&
	    translate_name(t, r, false, &t->path) == 0)
		places_note_dir(&t->places, &t->path);
}

/* ---- processes ---- */

static void on_fork(struct translator *t, const struct wire_record *r)
{
	if (t->born)
		t->born(t->ctx, r->pid);
	emit(t, r, EVENT_FORK, r->aux, EVENT_FTYPE_NONE, NULL);
}

static void on_exit_(struct translator *t, const struct wire_record *r)
{
	if (t->died)
		t->died(t->ctx, r->pid);
	emit(t, r, EVENT_EXIT, r->aux, EVENT_FTYPE_NONE, NULL);
}

/* The execution itself comes next. */
static void on_script(struct translator *t, const struct wire_record *r)
{
	t->script = *r;
}

static void on_gap(struct translator *t, const struct wire_record *r)
{
	char exe[PATH_MAX];

	(void)proc_readlink(r->pid, "exe", exe, sizeof(exe));
	translate_gap(t, r->pid, (enum event_gap)r->aux, exe);
}

static void (*const kinds[WIRE_KIND_END])(struct translator *t,
					  const struct wire_record *r) = {
	[WIRE_OPEN] = on_open,		[WIRE_RENAME] = on_rename,
	[WIRE_LINK] = on_link,		[WIRE_SYMLINK] = on_symlink,
	[WIRE_UNLINK] = on_unlink,	[WIRE_TRUNCATE] = on_truncate,
	[WIRE_MKNOD] = on_mknod,	[WIRE_MKDIR] = on_mkdir,
	[WIRE_FORK] = on_fork,		[WIRE_EXEC] = translate_exec,
	[WIRE_EXIT] = on_exit_,		[WIRE_GAP] = on_gap,
	[WIRE_SCRIPT] = on_script,	[WIRE_SUMS] = translate_sums,
	[WIRE_MOUNT] = translate_mount, [WIRE_UNMOUNT] = translate_unmount,
	[WIRE_STREAM] = on_stream,
};

void translate(struct translator *t, const struct wire_record *r)
{
	if (r->kind >= WIRE_KIND_END || !kinds[r->kind])
		return;
	str_clear(&t->path);
	str_clear(&t->path2);
	kinds[r->kind](t, r);
}

/* ---- the start ---- */

static void tell_inherited(struct translator *t, pid_t pid, int fd)
{
	unsigned flags = EVENT_INHERITED;
	struct stamp stamp;
	struct stat st;
	unsigned mode;

	if (call_descriptor_flags(pid, fd, &mode) < 0 ||
	    (mode & (O_PATH | O_CLOEXEC)) ||
	    resolve_fd(pid, fd, &t->path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (call_flags_read(mode))
		flags |= EVENT_READ;
	if (call_flags_write(mode))
		flags |= EVENT_WRITE;
	stamp = stamp_of(&st);
	translate_emit(t, pid, clock_now_ns(), EVENT_OPEN, flags, 0,
		       EVENT_FTYPE_REGULAR, &stamp);
}

void translate_start(struct translator *t, pid_t command,
		     const struct inherited *inherited)
{
	t->root = command;
	str_clear(&t->path);
	str_clear(&t->path2);
	translate_emit(t, command, clock_now_ns(), EVENT_FORK, EVENT_ROOT, 0,
		       EVENT_FTYPE_NONE, NULL);
	for (size_t i = 0; i < inherited->n; i++)
		tell_inherited(t, command, inherited->fds[i]);
	if (inherited->error)
		translate_gap(t, command, EVENT_GAP_PATH,
			      "a descriptor could not be examined");
}
