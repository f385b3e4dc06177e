/* export_svg.c - the drawing as a picture.
 *
 * Boxes in columns, lines as curves from the right edge of one box to the left edge of
 * another.  Colours follow the reader's light or dark setting. */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/utf8.h"
#include "export/export_drawing.h"
#include "export/export_layout.h"
#include "export/export_set.h"
#include "query/query.h"
#include "store/store.h"

/* Pixels. */
enum {
	BOX_WIDTH = 230,
	BOX_HEIGHT = 26,
	COLUMN = 310,
	ROW = 36,
	MARGIN = 16,
	TEXT_LEFT = 9,
	TEXT_DOWN = 17,
};

static const char style[] =
	".r{font:12px sans-serif;fill:#1c2430}.r rect{fill:#fff;"
	"stroke:#8795a8}.r .j rect{fill:#dbe9ff;stroke:#2f5ea8}"
	".r .m rect{stroke-dasharray:3 3}.r path{fill:none;stroke:#8795a8}"
	".r .c{stroke-dasharray:4 3}"
	"@media(prefers-color-scheme:dark){.r{fill:#e6ebf2}.r rect{"
	"fill:#1b222c;stroke:#5d6b7e}.r .j rect{fill:#1d3557;"
	"stroke:#7fb0ff}.r path{stroke:#5d6b7e}}";

void export_add_xml(struct str *out, const char *text)
{
	CLEANUP(str_release) struct str printable = STR_INIT;

	quote_printable(&printable, text, strlen(text));
	if (str_error(&printable) < 0)
		out->failed = true;
	for (const char *c = str_cstr(&printable); *c; c++) {
		switch (*c) {
		case '&':
			str_adds(out, "&amp;");
			break;
		case '<':
			str_adds(out, "&lt;");
			break;
		case '>':
			str_adds(out, "&gt;");
			break;
		case '"':
			str_adds(out, "&quot;");
			break;
		case '\'':
			str_adds(out, "&#39;");
			break;
		default:
			str_addc(out, *c);
		}
	}
}

static unsigned left_of(const struct layout *l, uint32_t node)
{
	return MARGIN + l->places[node].column * COLUMN;
}

static unsigned top_of(const struct layout *l, uint32_t node)
{
	return MARGIN + l->places[node].row * ROW;
}

/* What a box is, in full: shown when the pointer is on it. */
static void add_title(const struct export_set *set,
		      const struct drawing_node *node, struct str *out)
{
	if (node->kind == DRAWING_MORE)
		return;
	str_adds(out, "<title>");
	export_add_xml(out, node->kind == DRAWING_JOB ?
				    set->jobs[node->number].job->command :
				    set->entities[node->number].path);
	str_adds(out, "</title>");
}

static void add_node(const struct export_set *set, const struct drawing *d,
		     const struct layout *l, uint32_t i, bool is_part,
		     struct str *out)
{
	static const char *const classes[] = { "j", "f", "m" };
	const struct drawing_node *node = &d->nodes[i];
	bool is_link = is_part && node->kind == DRAWING_JOB;

	if (is_link)
		str_addf(out, "<a href=\"#job-%u\">", node->number + 1);
	str_addf(out, "<g class=\"%s\">", classes[node->kind]);
	add_title(set, node, out);
	str_addf(out,
		 "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" "
		 "rx=\"%d\"/><text x=\"%u\" y=\"%u\">",
		 left_of(l, i), top_of(l, i), BOX_WIDTH, BOX_HEIGHT,
		 node->kind == DRAWING_JOB ? 8 : 2, left_of(l, i) + TEXT_LEFT,
		 top_of(l, i) + TEXT_DOWN);
	export_add_xml(out, node->label);
	str_adds(out, is_link ? "</text></g></a>\n" : "</text></g>\n");
}

static void add_edge(const struct drawing_edge *e, const struct layout *l,
		     struct str *out)
{
	int x1 = (int)left_of(l, e->from) + BOX_WIDTH;
	int y1 = (int)top_of(l, e->from) + BOX_HEIGHT / 2;
	int x2 = (int)left_of(l, e->to);
	int y2 = (int)top_of(l, e->to) + BOX_HEIGHT / 2;
	int bend = x2 > x1 ? (x2 - x1) / 2 : 60;

	str_addf(out, "<path%s d=\"M%d %dC%d %d %d %d %d %d\"/>\n",
		 e->is_copy ? " class=\"c\"" : "", x1, y1, x1 + bend, y1,
		 x2 - bend, y2, x2, y2);
}

static int draw(const struct export_set *set, const struct drawing *d,
		bool is_part, struct str *out)
{
	struct layout l;
	unsigned width, height;
	int r = layout_make(d, set->query->pool, &l);

	if (r < 0)
		return r;
	width = 2 * MARGIN + (l.n_columns ? l.n_columns - 1 : 0) * COLUMN +
		BOX_WIDTH;
	height = 2 * MARGIN + l.n_rows * ROW;
	str_addf(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"r\" "
		 "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
		 "role=\"img\" aria-label=\"Lineage: %zu jobs\">\n"
		 "<style>%s</style>\n",
		 width, height, width, height, set->n_jobs, style);
	for (size_t i = 0; i < d->n_edges; i++)
		add_edge(&d->edges[i], &l, out);
	for (uint32_t i = 0; i < d->n_nodes; i++)
		add_node(set, d, &l, i, is_part, out);
	str_adds(out, "</svg>\n");
	return str_error(out);
}

static int add_picture(const struct export_set *set, bool is_part,
		       struct str *out)
{
	CLEANUP(drawing_release) struct drawing d = DRAWING_INIT;
	int r = drawing_make(set, &d);

	return r < 0 ? r : draw(set, &d, is_part, out);
}

int export_svg_part(const struct export_set *set, struct str *out)
{
	return add_picture(set, true, out);
}

int export_svg(const struct export_set *set, struct str *out,
	       struct roar_error *err)
{
	int r;

	str_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	r = add_picture(set, false, out);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}
