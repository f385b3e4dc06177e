/* docgen_zsh.c - completion for zsh. */
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "commands.h"
#include "docgen.h"
#include "project/config_file.h"

/* Text inside of [...] or behind a colon of a specification. */
static void add_zsh_text(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			str_addc(out, '\\');
		if (*text == '\'')
			str_adds(out, "'\\''");
		else
			str_addc(out, *text);
	}
}

/* A blank: nothing is offered. */
static void add_zsh_action(struct str *out, const char *offers)
{
	static const struct {
		const char *offers;
		const char *action;
	} actions[] = {
		{ "folder", "_files -/" },
		{ "file", "_files" },
		{ "target", "_roar_target" },
		{ "nothing", " " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (!strcmp(offers, actions[i].offers))
			str_adds(out, actions[i].action);
}

static void add_zsh_option(struct str *out, const struct option_spec *o)
{
	bool repeat = o->flags & OPTION_REPEAT;

	str_adds(out, "\t\t\t");
	if (repeat)
		str_adds(out, "'*'");
	else if (o->letter)
		str_addf(out, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		str_addf(out, "{-%c%s,--%s%s}", o->letter, o->arg ? "+" : "",
			 o->name, o->arg ? "=" : "");
	else
		str_addf(out, "--%s%s", o->name, o->arg ? "=" : "");
	str_adds(out, "'[");
	add_zsh_text(out, o->help);
	str_addc(out, ']');
	if (o->arg) {
		str_adds(out, ":");
		add_zsh_text(out, o->arg);
		str_adds(out, ":");
		if (o->values) {
			str_addc(out, '(');
			add_words(out, o->values);
			str_addc(out, ')');
		} else {
			add_zsh_action(out, option_offers(o));
		}
	}
	str_adds(out, "' \\\n");
}

static void add_zsh_options(struct str *out, const struct option_spec *first)
{
	for (const struct option_spec *o = option_listed(first); o;
	     o = option_listed(o + 1))
		add_zsh_option(out, o);
}

static void add_zsh_verbs(struct str *out, const struct command *c)
{
	str_adds(out, "\t\t\t'1:action:((");
	for (const struct verb_spec *v = c->verbs; v->name; v++) {
		str_addf(out, "%s%s\\:\"", v == c->verbs ? "" : " ", v->name);
		add_zsh_text(out, v->help);
		str_addc(out, '"');
	}
	str_adds(out, "))' \\\n\t\t\t'*:argument:_roar_action'\n");
}

static void add_zsh_command(struct str *out, const struct command *c)
{
	/* A blank before an action keeps zsh from adding words of its own in
	 * front of its arguments. */
	static const char *const operands[] = {
		[OPERAND_NONE] = "\t\t\t&& return\n",
		[OPERAND_TARGET] = ("\t\t\t'*:target:{ _roar_target; "
				    "_files }'\n"),
		[OPERAND_COMMAND] = ("\t\t\t'(-)1:command: _roar_command' \\\n"
				     "\t\t\t'*::arguments: _normal'\n"),
		[OPERAND_FILE] = "\t\t\t'*:file:_files'\n",
	};

	str_addf(out, "\t%s)\n\t\t_arguments -s -S \\\n", c->name);
	add_zsh_options(out, c->options);
	add_zsh_options(out, help_common_options(c));
	if (c->verbs)
		add_zsh_verbs(out, c);
	else
		str_adds(out, operands[c->operand]);
	str_adds(out, "\t\t;;\n");
}

static void add_zsh_settings(struct str *out)
{
	str_adds(out, "_roar_action() {\n"
		      "\tcase $words[1]:$words[2]:$CURRENT in\n"
		      "\tconfig:(get|set|unset):3)\n"
		      "\t\tcompadd ");
	add_key_names(out);
	str_adds(out, "\n\t\t;;\n\tconfig:set:4)\n\t\tcase $words[3] in\n");
	for (const struct config_key *k = config_keys; k->name; k++) {
		if (k->type != CONFIG_BOOL && !k->values)
			continue;
		str_addf(out, "\t\t%s) compadd ", k->name);
		add_key_values(out, k);
		str_adds(out, " ;;\n");
	}
	str_adds(out,
		 "\t\tesac\n\t\t;;\n\t(filter:add|shards:audit):*) _files ;;\n"
		 "\tfilter:remove:*) compadd -- ${(f)\"$(" LIST_PATTERNS
		 ")\"} ;;\n"
		 "\tenv:(get|set|unset):3) compadd -- ${(f)\"$(" LIST_VARIABLES
		 ")\"} ;;\n"
		 "\ttracer:(enable|disable):3) compadd ebpf ;;\n"
		 "\ttracer:(use|set-default|check):3) compadd ");
	add_key_values(out, config_key_find("tracer.default"));
	str_adds(out, " ;;\n\tesac\n}\n\n");
}

/* What the record holds. */
static const char zsh_record[] =
	"_roar_steps() { compadd -- ${(f)\"$(" LIST_STEPS ")\"} }\n\n"
	"_roar_target() {\n\t_roar_steps\n"
	"\tcompadd -- ${(f)\"$(" LIST_JOBS ")\"}\n}\n\n"
	"_roar_command() {\n"
	"\tif [[ $PREFIX == @* ]]; then\n\t\t_roar_steps\n"
	"\telse\n\t\t_command_names -e\n\tfi\n}\n\n";

/* `commands` is what zsh itself calls the programs of PATH. */
void complete_zsh(struct str *out)
{
	str_adds(out, "#compdef roar\n# generated from the tables of roar\n\n");
	str_adds(out, zsh_record);
	add_zsh_settings(out);
	str_adds(out, "_roar() {\n"
		      "\tlocal curcontext=\"$curcontext\" state line\n"
		      "\tlocal -a roar_commands\n"
		      "\ttypeset -A opt_args\n\n\troar_commands=(\n");
	for (size_t i = 0; roar_program.commands[i]; i++) {
		str_addf(out, "\t\t'%s:", roar_program.commands[i]->name);
		add_zsh_text(out, roar_program.commands[i]->summary);
		str_adds(out, "'\n");
	}
	str_adds(out, "\t\t'help:show help'\n\t)\n"
		      "\t_arguments -C \\\n"
		      "\t\t'(- *)'{-h,--help}'[show help]' \\\n"
		      "\t\t'(- *)'{-V,--version}'[show the version]' \\\n"
		      "\t\t'1:command:->command' \\\n"
		      "\t\t'*::argument:->argument' && return\n"
		      "\tif [[ $state == command ]]; then\n"
		      "\t\t_describe -t commands command roar_commands\n"
		      "\t\treturn\n\tfi\n"
		      "\tcase $words[1] in\n");
	for (size_t i = 0; roar_program.commands[i]; i++)
		add_zsh_command(out, roar_program.commands[i]);
	str_adds(out, "\thelp) _describe -t commands command roar_commands ;;\n"
		      "\tesac\n}\n\n"
		      "if [[ $funcstack[1] == _roar ]]; then\n"
		      "\t_roar \"$@\"\nelse\n\tcompdef _roar roar\nfi\n");
}

void complete_zsh_single(struct str *out, const struct command *c)
{
	str_addf(out,
		 "#compdef %s\n# generated from its table\n\n"
		 "_arguments -s -S \\\n",
		 c->name);
	add_zsh_options(out, c->options);
	add_zsh_options(out, help_common_options(c));
	str_adds(out, "\t\t\t&& return\n");
}
