/* site.c - see site.h: the directory and its inputs */
#include "reproduce/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/quote.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "keep/keep.h"
#include "reproduce/child.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "ui/view.h"

/* ---- the directory ---- */

static bool is_empty(const char *dir)
{
	CLEANUP(closedirp) DIR *d = opendir(dir);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	return d && n == 2; /* "." and ".." */
}

static int open_dir(struct site *s, const char *dir, struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	CLEANUP(freep) char *path = NULL;

	quote_printable_cut(&shown, dir, 300);
	if (mkdir(dir, 0777) < 0 && (errno != EEXIST || !is_empty(dir)))
		return error_set(err, -errno,
				 errno == EEXIST ?
					 "'%s' exists and is not an empty "
					 "directory: nothing in it is "
					 "overwritten, name a new one with "
					 "--into" :
					 "cannot create the directory '%s': "
					 "%s",
				 str_cstr(&shown), strerror(errno));
	path = realpath(dir, NULL);
	s->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!path || s->dirfd < 0)
		return error_set(err, -errno,
				 "cannot open the directory '%s': %s",
				 str_cstr(&shown), strerror(errno));
	s->dir = pool_strdup(&s->p->view->pool, path);
	return s->dir ? 0 : -ENOMEM;
}

static int find_program(struct site *s)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return -errno;
	s->program = pool_dup(&s->p->view->pool, path, (size_t)n);
	return s->program ? 0 : -ENOMEM;
}

/* The recorded roots and where they are now.  There is room for the interpreters. */
static int find_changes(struct site *s)
{
	const struct recipe *recipe = &s->p->recipe;
	const struct recipe_roots *roots = &recipe->roots;
	size_t room = roots->n + 1;

	for (size_t i = 0; i < recipe->n_steps; i++)
		room += recipe->steps[i].needs.n_interpreters;
	s->changes = pool_zalloc(&s->p->view->pool, room * sizeof(*s->changes));
	if (!s->changes)
		return -ENOMEM;
	for (size_t i = 0; i < roots->n; i++) {
		const char *place = path_relative(roots->dirs[i], roots->base);

		if (*place == '/')
			place++;
		s->changes[i] = (struct recipe_change){
			.from = roots->dirs[i],
			.to = site_path(s, place),
		};
		if (!s->changes[i].to)
			return -ENOMEM;
	}
	s->n_changes = roots->n;
	return 0;
}

static int init(struct site *s)
{
	s->python_of = pool_zalloc(&s->p->view->pool,
				   (s->p->recipe.n_steps + 1) *
					   sizeof(*s->python_of));
	return s->python_of ? find_changes(s) : -ENOMEM;
}

int site_open(struct site *s, struct reproduce *p, const char *dir,
	      struct roar_error *err)
{
	int r;

	s->p = p;
	r = open_dir(s, dir, err);
	if (r == 0)
		r = find_program(s);
	if (r == 0)
		r = site_code_find_made(s);
	return r < 0 ? r : init(s);
}

int site_imagine(struct site *s, struct reproduce *p, const char *dir)
{
	int r;

	s->p = p;
	s->dir = dir;
	s->imagined = true;
	r = site_code_find_made(s);
	return r < 0 ? r : init(s);
}

void site_release(struct site *s)
{
	closep(&s->dirfd);
	map_release(&s->made);
	free(s->pythons);
	free(s->proofs);
}

const char *site_path(struct site *s, const char *place)
{
	struct pool *pool = &s->p->view->pool;

	return strcmp(place, ".") == 0 ?
		       s->dir :
		       pool_printf(pool, "%s/%s", s->dir, place);
}

void site_say(const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "roar: %s\n", str_cstr(&text));
}

/* ---- programs ---- */

static void add_last_line(struct str *out, const struct str *text)
{
	const char *end = str_cstr(text) + text->len;
	const char *start;

	while (end > text->data && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (start = end; start > text->data && start[-1] != '\n'; start--)
		continue;
	quote_printable(out, start, (size_t)(end - start));
}

int site_call(struct site *s, const char *what, char *const *argv,
	      struct roar_error *err)
{
	CLEANUP(str_release) struct str output = STR_INIT;
	CLEANUP(str_release) struct str last = STR_INIT;
	const struct child child = { .argv = argv,
				     .dirfd = s->dirfd,
				     .output = &output };
	int r = child_run(&child);

	if (r == 0 || r == -EINTR)
		return r;
	if (r > 0 && output.len)
		add_last_line(&last, &output);
	else if (r > 0)
		str_addf(&last, "it ended with exit code %d", r);
	else
		str_adds(&last, strerror(-r));
	return error_set(err, r < 0 ? r : -EIO, "%s: %.200s: %.500s", what,
			 argv[0], str_cstr(&last));
}

bool site_has_program(const char *name)
{
	const char *path = getenv("PATH");
	CLEANUP(str_release) struct str file = STR_INIT;

	while (path && *path) {
		size_t len = strcspn(path, ":");

		str_clear(&file);
		str_add(&file, path, len);
		str_addf(&file, "/%s", name);
		if (len && access(str_cstr(&file), X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* ---- inputs ---- */

static const char *shown(struct site *s, const char *path)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *copy;

	quote_printable_cut(&text, path, 300);
	copy = pool_strdup(&s->p->view->pool, str_cstr(&text));
	return copy ? copy : "";
}

static bool is_there(struct site *s, const struct recipe_input *input)
{
	struct digests now;

	return enclosure_hash(s->dirfd, input->place, &now, NULL) == 0 &&
	       memcmp(now.blake3, input->row->digests.blake3, BLAKE3_LEN) == 0;
}

static int copy_from(struct site *s, const struct recipe_input *input,
		     const char *path)
{
	CLEANUP(closep)
	int from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return enclosure_copy(s->dirfd, input->place, from,
			      (st.st_mode & 0777) | 0600,
			      input->row->digests.blake3);
}

static int copy_kept(struct site *s, const struct recipe_input *input)
{
	const uint8_t *digest = input->row->digests.blake3;
	CLEANUP(closep)
	int from = keep_open(s->p->view->project.dirfd, digest);

	if (from < 0)
		return from;
	return enclosure_copy(s->dirfd, input->place, from, 0644, digest);
}

static int fetch(struct site *s, const struct recipe_input *input,
		 struct roar_error *err)
{
	char hex[2 * BLAKE3_LEN + 1];
	const char *to = site_path(s, input->place);
	char *argv[] = { (char *)s->program, "get",
			 "--hash",	     hex,
			 "--force",	     (char *)input->from,
			 (char *)to,	     NULL };
	int r = to ? enclosure_make_parents(s->dirfd, input->place) : -ENOMEM;

	if (r < 0)
		return r;
	digest_hex(hex, input->row->digests.blake3, BLAKE3_LEN);
	return site_call(s, "an input cannot be fetched", argv, err);
}

/* Puts a regular file of known content into place. */
static int place_input(struct site *s, const struct recipe_input *input,
		       struct roar_error *err)
{
	const char *from = input->from ? input->from : input->row->path;
	int r = input->source == RECIPE_FETCH ? fetch(s, input, err) :
		input->source == RECIPE_KEPT  ? copy_kept(s, input) :
						copy_from(s, input, from);

	/* It changed since the plan, or the code has other content. */
	if (r == -ESTALE || r == -ENOENT || r == -EBADMSG)
		r = copy_kept(s, input);
	if (r == 0 && !is_there(s, input))
		r = -ESTALE;
	if (r == 0 || r == -EINTR || err->text[0])
		return r;
	return error_set(err, r,
			 r == -ESTALE || r == -ENOENT ?
				 "the input '%s' does not have its recorded "
				 "content any more, which was not kept "
				 "either" :
				 "the input '%s' cannot be put into the new "
				 "directory: %s",
			 shown(s, input->row->path), strerror(-r));
}

/* A file outside of the project is only read. */
static int check_in_place(struct site *s, const struct recipe_input *input,
			  struct roar_error *err)
{
	const struct store_file *row = input->row;
	struct file_hash now;
	int r;

	if (!(row->digests.have & DIGEST_SET_BLAKE3) ||
	    row->ftype != EVENT_FTYPE_REGULAR)
		return 0;
	r = file_hash(AT_FDCWD, row->path, DIGEST_SET_BLAKE3, NULL, NULL, &now);
	if (r == 0 &&
	    !memcmp(now.digests.blake3, row->digests.blake3, BLAKE3_LEN))
		return 0;
	return error_set(err, r < 0 ? r : -ESTALE,
			 "the input '%s', which is outside of the project, "
			 "%s: %s",
			 shown(s, row->path),
			 r < 0 ? "cannot be read" : "has other content now",
			 r < 0 ? strerror(-r) :
				 "put the recorded content there");
}

static int do_input(struct site *s, const struct recipe_input *input,
		    struct roar_error *err)
{
	if (input->source == RECIPE_REMOTE)
		return 0;
	if (!input->place)
		return check_in_place(s, input, err);
	if (!(input->row->digests.have & DIGEST_SET_BLAKE3))
		return error_set(err, -ENODATA,
				 "the input '%s' was not identified when it "
				 "was recorded, so its content is not known",
				 shown(s, input->row->path));
	if (is_there(s, input))
		return 0;
	return place_input(s, input, err);
}

int site_inputs(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe *recipe = &s->p->recipe;
	int r = 0;

	while (r == 0 && s->n_inputs < recipe->n_inputs &&
	       recipe->inputs[s->n_inputs].step <= step)
		r = do_input(s, &recipe->inputs[s->n_inputs++], err);
	return r;
}
