/* help.c - see help.h */
#include "cli/help.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { WIDTH_MAX = 80, INDENT = 2, OPTION_COLUMN = 26, COMMAND_COLUMN = 10 };

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

/* ---- roar --help ---- */

void help_main(struct str *out, const struct term *t)
{
	const char *group = "";

	term_add(out, t, COLOR_BOLD, "roar");
	str_adds(out, " - the flight recorder of ML training\n\n"
		      "Usage: roar COMMAND [ARG]...\n"
		      "       roar run python train.py\n");
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->group, group) != 0) {
			group = commands[i]->group;
			add_heading(out, t, group);
		}
		add_row(out, commands[i]->name, commands[i]->summary,
			INDENT + COMMAND_COLUMN, text_width(t));
	}
	add_heading(out, t, "Options");
	add_row(out, "-h, --help", "show this help", OPTION_COLUMN,
		text_width(t));
	add_row(out, "-V, --version", "show the version", OPTION_COLUMN,
		text_width(t));
	str_adds(out, "\n'roar COMMAND --help' explains a command, "
		      "'man roar' tells the story.\n");
}

/* ---- roar COMMAND --help ---- */

static void add_option(struct str *out, const struct option_spec *o, int width)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;

	if (o->letter)
		str_addf(&name, "-%c, ", o->letter);
	else
		str_adds(&name, "    ");
	str_addf(&name, "--%s", o->name);
	if (o->arg)
		str_addf(&name, " %s", o->arg);
	str_adds(&text, o->help);
	if (o->values)
		str_addf(&text, " (%s)", o->values);
	if (o->flags & OPTION_REPEAT)
		str_adds(&text, "; may be repeated");
	add_row(out, str_cstr(&name), str_cstr(&text), OPTION_COLUMN, width);
}

static void add_options(struct str *out, const struct term *t,
			const struct command *c)
{
	static const struct option_spec help = { .name = "help",
						 .letter = 'h',
						 .help = "show this help" };

	add_heading(out, t, "Options");
	for (const struct option_spec *o = c->options; o && o->name; o++)
		if (!(o->flags & OPTION_HIDDEN))
			add_option(out, o, text_width(t));
	add_option(out, &help, text_width(t));
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
	str_addf(out, "Usage: roar %s%s%s\n\n", c->name,
		 c->synopsis && *c->synopsis ? " " : "",
		 c->synopsis ? c->synopsis : "");
	help_wrap(out, c->about ? c->about : c->summary, 0, text_width(t));
	add_verbs(out, t, c);
	add_options(out, t, c);
	add_examples(out, t, c);
	if (c->exit_status) {
		add_heading(out, t, "Exit status");
		help_wrap(out, c->exit_status, INDENT, text_width(t));
	}
}
