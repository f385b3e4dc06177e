/* export_html.c - one page about the set: the picture, then each job.
 *
 * Without scripts, a job of the picture is a link to its section, which opens because its
 * heading is the target.  The page states that it loads nothing (Content-Security-
 * Policy), so that it can be mailed and archived. */
#include "export/export.h"

#include <errno.h>

#include "base/clock.h"
#include "base/str.h"
#include "export/export_set.h"
#include "store/store.h"

enum { FILES_MAX = 1000 }; /* of a job that are listed */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
	"'none'; style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<title>Lineage</title>\n<style>\n"
	":root{color-scheme:light dark}\n"
	"body{font:15px/1.5 sans-serif;margin:1.5rem auto;max-width:75rem;"
	"padding:0 1rem}\n"
	"figure{margin:0;overflow:auto;max-height:75vh;border:1px solid "
	"#8795a888;border-radius:6px}\n"
	"section{border-top:1px solid #8795a888;margin-top:1.5rem}\n"
	"section:target{background:#ffd24a33}\n"
	"pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8795a822;"
	"padding:.6rem;border-radius:6px}\n"
	"table{border-collapse:collapse;width:100%}td,th{text-align:left;"
	"padding:.15rem .8rem .15rem 0;vertical-align:top}\n"
	"td{overflow-wrap:anywhere}code{font-size:.9em}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;"
	"gap:.1rem 1rem}dd{margin:0;overflow-wrap:anywhere}\n"
	"</style></head><body>\n";

static void add_fact(struct str *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	str_addf(out, "<dt>%s</dt><dd>", name);
	export_add_xml(out, value);
	str_adds(out, "</dd>\n");
}

static void add_file(const struct export_entity *e, struct str *out)
{
	char hex[2 * BLAKE3_LEN + 1] = "";

	if (e->digests.have & DIGEST_SET_BLAKE3)
		digest_hex(hex, e->digests.blake3, BLAKE3_LEN);
	str_adds(out, "<tr><td>");
	export_add_xml(out, e->name);
	str_addf(out, "</td><td>%lld</td><td><code>%s</code></td><td>",
		 (long long)e->size, hex[0] ? hex : "not identified");
	if (e->maker != EXPORT_NONE)
		str_addf(out, "<a href=\"#job-%u\">made here</a>",
			 e->maker + 1);
	str_adds(out, "</td></tr>\n");
}

static void add_files(const struct export_set *set, const char *title,
		      const uint32_t *files, size_t n, struct str *out)
{
	if (!n)
		return;
	str_addf(out,
		 "<h3>%s (%zu)</h3><table><tr><th>File</th><th>Bytes</th>"
		 "<th>BLAKE3</th><th>Made by</th></tr>\n",
		 title, n);
	for (size_t i = 0; i < n && i < FILES_MAX; i++)
		add_file(&set->entities[files[i]], out);
	str_adds(out, "</table>\n");
	if (n > FILES_MAX)
		str_addf(out, "<p>%zu more are not listed.</p>\n",
			 n - FILES_MAX);
}

static void add_job(const struct export_set *set, size_t i, struct str *out)
{
	const struct export_job *job = &set->jobs[i];
	const struct store_job *j = job->job;
	struct str time = STR_INIT;
	struct str took = STR_INIT;

	clock_format(&time, j->started_ns);
	clock_format_duration(&took, j->duration_ns);
	str_addf(out, "<section id=\"job-%zu\"><h2>%s ", i + 1, job->ref);
	export_add_xml(out, j->name);
	str_adds(out, "</h2>\n<pre>");
	export_add_xml(out, j->command);
	str_adds(out, "</pre>\n<dl>\n");
	add_fact(out, "Job", j->uid);
	add_fact(out, "Directory", j->cwd);
	add_fact(out, "Started", str_cstr(&time));
	add_fact(out, "Duration", str_cstr(&took));
	str_addf(out, "<dt>Exit code</dt><dd>%d</dd>\n", j->exit_code);
	add_fact(out, "Record", j->complete ? "complete" : "incomplete");
	add_fact(out, "Commit", j->git_commit);
	add_fact(out, "Uncommitted changes", j->git_snapshot);
	add_fact(out, "Repository", j->git_remote);
	add_fact(out, "Host", j->host);
	str_adds(out, "</dl>\n");
	add_files(set, "Inputs", job->inputs, job->n_inputs, out);
	add_files(set, "Outputs", job->outputs, job->n_outputs, out);
	str_adds(out, "</section>\n");
	out->failed |= time.failed || took.failed;
	str_release(&time);
	str_release(&took);
}

int export_html(const struct export_set *set, struct str *out,
		struct roar_error *err)
{
	int r;

	str_adds(out, head);
	str_addf(out, "<h1>Lineage</h1>\n<p>%zu jobs, %zu files.</p>\n<figure>",
		 set->n_jobs, set->n_entities);
	r = export_svg_part(set, out);
	str_adds(out, "</figure>\n");
	for (size_t i = 0; r == 0 && i < set->n_jobs; i++)
		add_job(set, i, out);
	str_adds(out, "</body></html>\n");
	if (r == 0)
		r = str_error(out);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}
