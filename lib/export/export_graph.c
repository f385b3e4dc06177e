/* export_graph.c - the drawing for programs that do their own layout. */
#include "export/export.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "export/export_drawing.h"
#include "export/export_set.h"
#include "store/store.h"

static int finish(const struct str *out, struct roar_error *err)
{
	return str_error(out) < 0 ? error_set(err, -ENOMEM, "out of memory") :
				    0;
}

/* A string of Graphviz: only the quote is special, and \N and the like. */
static void add_dot_string(struct str *out, const char *text)
{
	str_addc(out, '"');
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			str_addc(out, '\\');
		str_addc(out, *c);
	}
	str_addc(out, '"');
}

static const char *const dot_styles[] = {
	[DRAWING_JOB] = "shape=box, style=filled, fillcolor=\"#dbe9ff\"",
	[DRAWING_FILE] = "shape=note",
	[DRAWING_MORE] = "shape=plaintext",
};

int export_dot(const struct export_set *set, struct str *out,
	       struct roar_error *err)
{
	CLEANUP(drawing_release) struct drawing d = DRAWING_INIT;

	if (drawing_make(set, &d) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	str_adds(out, "digraph roar {\n\trankdir=LR;\n"
		      "\tnode [fontname=\"sans-serif\", fontsize=10];\n");
	for (size_t i = 0; i < d.n_nodes; i++) {
		str_addf(out, "\tn%zu [%s, label=", i,
			 dot_styles[d.nodes[i].kind]);
		add_dot_string(out, d.nodes[i].label);
		str_adds(out, "];\n");
	}
	for (size_t i = 0; i < d.n_edges; i++)
		str_addf(out, "\tn%u -> n%u%s;\n", d.edges[i].from,
			 d.edges[i].to,
			 d.edges[i].is_copy ? " [style=dashed]" : "");
	str_adds(out, "}\n");
	return finish(out, err);
}

/* Mermaid reads entity codes within quotes: every character that it might take for its
 * own syntax is one. */
static void add_mermaid_string(struct str *out, const char *text)
{
	str_addc(out, '"');
	for (const char *c = text; *c; c++) {
		unsigned char u = (unsigned char)*c;

		if (u >= 0x80 || (u >= '0' && u <= '9') ||
		    (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z') ||
		    u == ' ' || u == '.' || u == '/' || u == '-' || u == '_')
			str_addc(out, *c);
		else
			str_addf(out, "#%u;", u);
	}
	str_addc(out, '"');
}

int export_mermaid(const struct export_set *set, struct str *out,
		   struct roar_error *err)
{
	static const char *const brackets[][2] = {
		[DRAWING_JOB] = { "(", ")" },
		[DRAWING_FILE] = { "[", "]" },
		[DRAWING_MORE] = { "[/", "/]" },
	};
	CLEANUP(drawing_release) struct drawing d = DRAWING_INIT;

	if (drawing_make(set, &d) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	str_adds(out, "flowchart LR\n");
	for (size_t i = 0; i < d.n_nodes; i++) {
		const char *const *pair = brackets[d.nodes[i].kind];

		str_addf(out, "  n%zu%s", i, pair[0]);
		add_mermaid_string(out, d.nodes[i].label);
		str_addf(out, "%s\n", pair[1]);
	}
	for (size_t i = 0; i < d.n_edges; i++)
		str_addf(out, "  n%u %s n%u\n", d.edges[i].from,
			 d.edges[i].is_copy ? "-.->" : "-->", d.edges[i].to);
	str_adds(out, "  classDef job fill:#dbe9ff,stroke:#2f5ea8\n");
	for (size_t i = 0; i < set->n_jobs; i++)
		str_addf(out, "  class n%zu job\n", i);
	return finish(out, err);
}
