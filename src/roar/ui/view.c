/* view.c - see view.h */
#include "ui/view.h"

#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/quote.h"
#include "query/variant.h"

static int open_store(struct view *v, unsigned store_flags,
		      struct roar_error *err)
{
	int r;

	r = project_open(PROJECT_NO_CONFIG, &v->project, NULL, err);
	if (r < 0)
		return r;
	r = project_store(&v->project, store_flags, &v->store, err);
	if (r < 0)
		return r;
	v->query.store = v->store;
	v->query.pool = &v->pool;
	r = store_session_active(v->store, false, &v->session, err);
	if (r < 0 && r != -ENOENT)
		return r;
	v->has_session = r >= 0;
	return 0;
}

int view_open(struct view *v, unsigned store_flags)
{
	struct roar_error err = { 0 };
	int r;

	r = open_store(v, store_flags, &err);
	if (r < 0)
		return view_fail(r, &err);
	v->term = term_of(STDOUT_FILENO);
	v->width = VIEW_PIPE_WIDTH;
	if (v->term.tty || getenv("COLUMNS"))
		v->width = (size_t)v->term.width;
	return 0;
}

void view_close(struct view *v)
{
	store_closep(&v->store);
	v->store = NULL;
	project_release(&v->project);
	query_release(&v->query);
	for (int i = 0; i < LABEL_ENTITY_END; i++)
		map_release(&v->labels[i]);
	str_release(&v->out);
	pool_release(&v->pool);
}

int view_fail(int r, const struct roar_error *err)
{
	return cli_fail("%s", err->text[0] ? err->text : strerror(-r));
}

int view_print(struct view *v)
{
	return cli_print(&v->out);
}

void view_step_number(struct str *out, bool is_build, int64_t step)
{
	str_addf(out, "@%s%lld", is_build ? "B" : "", (long long)step);
}

void view_step(struct str *out, const struct store_job *job)
{
	view_step_number(out, strcmp(job->kind, "build") == 0, job->step);
}

const char *view_session_uid(struct view *v, int64_t session_id)
{
	struct roar_error err = { 0 };

	if (v->has_session && session_id == v->session.id)
		return v->session.uid;
	if (!v->sessions && store_sessions(v->store, &v->pool, &v->sessions,
					   &v->n_sessions, &err) < 0) {
		v->out.failed = true;
		return NULL;
	}
	for (size_t i = 0; i < v->n_sessions; i++)
		if (v->sessions[i].id == session_id)
			return v->sessions[i].uid;
	return NULL;
}

void view_step_full(struct view *v, struct str *out,
		    const struct store_job *job)
{
	const char *uid;

	view_step(out, job);
	if (v->has_session && job->session_id == v->session.id)
		return;
	uid = view_session_uid(v, job->session_id);
	if (uid)
		str_addf(out, " of session %.8s", uid);
}

const char *view_step_ref(struct view *v, const struct store_job *job)
{
	struct str text = STR_INIT;
	const char *copy;

	view_step(&text, job);
	copy = pool_strdup(&v->pool, str_cstr(&text));
	str_release(&text);
	return copy ? copy : "";
}

const char *view_outcome(const struct store_job *job)
{
	if (job->status == STORE_INTERRUPTED)
		return "INT";
	if (variant_is_restored(job))
		return "KEPT";
	return job->exit_code ? "FAIL" : "OK";
}

void view_status(struct str *out, const struct store_job *job)
{
	str_adds(out, view_outcome(job));
	if (!job->complete)
		str_addc(out, '*');
}

enum color view_status_color(const struct store_job *job)
{
	if (job->status == STORE_INTERRUPTED || !job->complete)
		return COLOR_YELLOW;
	return job->exit_code ? COLOR_RED : COLOR_GREEN;
}

void view_hash(struct str *out, const struct digests *d)
{
	char hex[2 * BLAKE3_LEN + 1];

	if (!(d->have & DIGEST_SET_BLAKE3)) {
		str_addc(out, '-');
		return;
	}
	digest_hex(hex, d->blake3, BLAKE3_LEN);
	str_add(out, hex, VIEW_HASH_DIGITS);
}

void view_path(struct view *v, struct str *out, const char *path)
{
	const char *name = path_relative(path, v->project.cwd);

	quote_name(out, name, strlen(name));
}

/* A command line may have two megabytes; no column needs more than four bytes
 * of them. */
void view_cut(struct str *out, const char *text, size_t width)
{
	size_t len = strnlen(text, 4 * width + 16);
	CLEANUP(freep) char *head = strndup(text, len);

	if (head)
		quote_printable_cut(out, head, width);
	else
		out->failed = true;
}

size_t view_columns(const struct str *out, size_t start)
{
	size_t n = 0;

	for (size_t i = start; i < out->len; i++) {
		if (out->data[i] == '\033') {
			while (i < out->len && out->data[i] != 'm')
				i++;
			continue;
		}
		n += ((unsigned char)out->data[i] & 0xc0) != 0x80;
	}
	return n;
}

void view_pad(struct str *out, size_t start, size_t width)
{
	size_t n = view_columns(out, start);

	if (n < width)
		str_pad(out, ' ', width - n);
}

void view_cell(struct view *v, enum color color, const char *text, size_t width)
{
	size_t start = v->out.len;

	if (*text)
		term_add(&v->out, &v->term, color, text);
	view_pad(&v->out, start, width);
}

void view_cell_str(struct view *v, enum color color, const struct str *text,
		   size_t width)
{
	v->out.failed |= text->failed;
	view_cell(v, color, str_cstr(text), width);
}

void view_label(struct view *v, const char *label)
{
	size_t start = v->out.len;

	str_adds(&v->out, "  ");
	term_add(&v->out, &v->term, COLOR_DIM, label);
	view_pad(&v->out, start, 16);
}
