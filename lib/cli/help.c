/* help.c - see help.h */
#include "cli/help.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { WIDTH_MAX = 80, INDENT = 2, OPTION_COLUMN = 26 };

static int text_width(const struct term *t)
{
	return t->width < WIDTH_MAX ? t->width : WIDTH_MAX;
}

/* "  name      text", where the text hangs at the column. */
static void add_row(struct str *out, const char *name, const char *text,
		    int column, int width)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	size_t used = INDENT + strlen(name);

	str_pad(out, ' ', INDENT);
	str_adds(out, name);
	help_wrap(&body, text, column, width);
	if (used + 2 > (size_t)column) {
		str_addc(out, '\n');
		str_adds(out, str_cstr(&body));
	} else if (body.len > (size_t)column) {
		str_pad(out, ' ', (size_t)column - used);
		str_adds(out, body.data + column);
	}
}

static void add_heading(struct str *out, const struct term *t, const char *text)
{
	str_addc(out, '\n');
	term_add(out, t, COLOR_BOLD, text);
	str_addc(out, '\n');
}

/* ---- PROGRAM --help ---- */

/* As wide as the longest name, and two blanks. */
static int command_column(const struct program *p)
{
	size_t longest = 0;

	for (size_t i = 0; p->commands[i]; i++) {
		size_t n = strlen(p->commands[i]->name);

		longest = n > longest ? n : longest;
	}
	return INDENT + (int)longest + 2;
}

void help_program(struct str *out, const struct term *t,
		  const struct program *p)
{
	const char *group = "";

	term_add(out, t, COLOR_BOLD, p->name);
	str_addf(out, " - %s\n\n", p->summary);
	for (const char *line = p->usage; *line;) {
		size_t n = strcspn(line, "\n");

		str_addf(out, "%s %s %.*s\n",
			 line == p->usage ? "Usage:" : "      ", p->name,
			 (int)n, line);
		line += n + (line[n] == '\n');
	}
	for (size_t i = 0; p->commands[i]; i++) {
		if (strcmp(p->commands[i]->group, group) != 0) {
			group = p->commands[i]->group;
			add_heading(out, t, group);
		}
		add_row(out, p->commands[i]->name, p->commands[i]->summary,
			command_column(p), text_width(t));
	}
	add_heading(out, t, "Options");
	add_row(out, "-h, --help", "show this help", OPTION_COLUMN,
		text_width(t));
	add_row(out, "-V, --version", "show the version", OPTION_COLUMN,
		text_width(t));
	str_addf(out,
		 "\n'%s COMMAND --help' explains a command; 'man %s' is the "
		 "manual.\n",
		 p->name, p->name);
}

/* ---- PROGRAM COMMAND --help ---- */

const struct option_spec *help_common_options(const struct command *c)
{
	static const struct option_spec options[] = {
		{ .name = "version", .letter = 'V', .help = "show the version" },
		{ .name = "help", .letter = 'h', .help = "show this help" },
		{ 0 },
	};

	return c == program_selected()->single ? options : options + 1;
}

enum { VALUES_MAX = 60 };

void help_option_text(struct str *out, const struct option_spec *o)
{
	str_adds(out, o->help);
	/* A long list has no place to break: the text says it in words. */
	if (o->values && strlen(o->values) <= VALUES_MAX)
		str_addf(out, " (%s)", o->values);
	if (o->flags & OPTION_REPEAT)
		str_adds(out, "; may be repeated");
}

static void add_options(struct str *out, const struct option_spec *o, int width)
{
	for (; o && o->name; o++) {
		CLEANUP(str_release) struct str name = STR_INIT;
		CLEANUP(str_release) struct str text = STR_INIT;

		if (o->flags & OPTION_HIDDEN)
			continue;
		if (o->letter)
			str_addf(&name, "-%c, ", o->letter);
		else
			str_adds(&name, "    ");
		str_addf(&name, "--%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		help_option_text(&text, o);
		add_row(out, str_cstr(&name), str_cstr(&text), OPTION_COLUMN,
			width);
	}
}

static void add_verbs(struct str *out, const struct term *t,
		      const struct command *c)
{
	if (!c->verbs)
		return;
	add_heading(out, t, "Actions");
	for (const struct verb_spec *v = c->verbs; v->name; v++) {
		CLEANUP(str_release) struct str name = STR_INIT;

		str_adds(&name, v->name);
		if (v->operands && *v->operands)
			str_addf(&name, " %s", v->operands);
		add_row(out, str_cstr(&name), v->help, OPTION_COLUMN,
			text_width(t));
	}
}

static void add_examples(struct str *out, const struct term *t,
			 const struct command *c)
{
	if (!c->examples || !c->examples->command)
		return;
	add_heading(out, t, "Examples");
	for (const struct example *e = c->examples; e->command; e++) {
		str_addf(out, "  %s\n", e->command);
		if (e->comment)
			help_wrap(out, e->comment, 6, text_width(t));
	}
}

void help_command(struct str *out, const struct term *t,
		  const struct command *c)
{
	str_adds(out, "Usage: ");
	command_add_call(out, c);
	str_addf(out, "%s%s\n\n", c->synopsis && *c->synopsis ? " " : "",
		 c->synopsis ? c->synopsis : "");
	help_wrap(out, c->about ? c->about : c->summary, 0, text_width(t));
	add_verbs(out, t, c);
	add_heading(out, t, "Options");
	add_options(out, c->options, text_width(t));
	add_options(out, help_common_options(c), text_width(t));
	add_examples(out, t, c);
	if (c->exit_status) {
		add_heading(out, t, "Exit status");
		help_wrap(out, c->exit_status, INDENT, text_width(t));
	}
}
