/* docgen_fish.c - completion for fish. */
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "commands.h"
#include "docgen.h"
#include "project/config_file.h"

/* In '...', where fish takes \'. */
static void add_quoted(struct str *out, const char *text)
{
	str_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			str_adds(out, "\\'");
		else if (*text == '\\')
			str_adds(out, "\\\\");
		else
			str_addc(out, *text);
	}
	str_addc(out, '\'');
}

/* " -n --name": the options of a command that are followed by a value. */
static void add_value_options(struct str *out, const struct command *c)
{
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (!o->arg)
			continue;
		if (o->letter)
			str_addf(out, " -%c", o->letter);
		str_addf(out, " --%s", o->name);
	}
}

static void add_fish_option(struct str *out, const struct option_spec *o)
{
	static const struct {
		const char *offers;
		const char *how;
	} values[] = {
		{ "folder", " -x -a '(__fish_complete_directories)'" },
		{ "target", " -x -a '(__roar_targets)'" },
		{ "file", " -r -F" },
		{ "nothing", " -x" },
	};

	if (o->letter)
		str_addf(out, " -s %c", o->letter);
	str_addf(out, " -l %s", o->name);
	if (o->values) {
		str_adds(out, " -x -a '");
		add_words(out, o->values);
		str_addc(out, '\'');
	}
	for (size_t i = 0; o->arg && !o->values && i < 4; i++)
		if (!strcmp(option_offers(o), values[i].offers))
			str_adds(out, values[i].how);
	str_adds(out, " -d ");
	add_quoted(out, o->help);
	str_addc(out, '\n');
}

static void add_fish_options(struct str *out, const struct command *c,
			     const struct option_spec *first)
{
	for (const struct option_spec *o = option_listed(first); o;
	     o = option_listed(o + 1)) {
		if (c->stops_at_operand) {
			str_addf(out, "complete -c roar -n '__roar_starts %s",
				 c->name);
			add_value_options(out, c);
			str_addc(out, '\'');
		} else if (c != program_selected()->single) {
			str_addf(out, "complete -c roar -n '__roar_is %s'",
				 c->name);
		} else {
			str_addf(out, "complete -c %s", c->name);
		}
		add_fish_option(out, o);
	}
}

static void add_fish_command(struct str *out, const struct command *c)
{
	str_addf(out, "complete -c roar -n __fish_use_subcommand -a %s -d ",
		 c->name);
	add_quoted(out, c->summary);
	str_addc(out, '\n');
	add_fish_options(out, c, c->options);
	add_fish_options(out, c, help_common_options(c));
	for (const struct verb_spec *v = c->verbs; v && v->name; v++) {
		str_addf(out, "complete -c roar -n '__roar_is %s 2' -a %s -d ",
			 c->name, v->name);
		add_quoted(out, v->help);
		str_addc(out, '\n');
	}
	if (c->operand == OPERAND_COMMAND) {
		str_addf(out,
			 "complete -c roar -n '__roar_is %s' -x -a "
			 "'(__fish_complete_subcommand --fcs-skip=2",
			 c->name);
		add_value_options(out, c);
		str_addf(out, ")'\ncomplete -c roar -n '__roar_starts %s",
			 c->name);
		add_value_options(out, c);
		str_adds(out, "; and __roar_at' -a '(__roar_steps)'\n");
	} else if (c->operand != OPERAND_NONE) {
		str_addf(out, "complete -c roar -n '__roar_is %s' -F%s\n",
			 c->name,
			 c->operand == OPERAND_TARGET ?
				 " -a '(__roar_targets)'" :
				 "");
	}
}

static void add_fish_settings(struct str *out)
{
	str_adds(out, "complete -c roar -n '__roar_does config 3 get set unset'"
		      " -a '");
	add_key_names(out);
	str_adds(out, "'\n");
	for (const struct config_key *k = config_keys; k->name; k++) {
		if (k->type != CONFIG_BOOL && !k->values)
			continue;
		str_addf(out, "complete -c roar -n '__roar_sets %s' -a '",
			 k->name);
		add_key_values(out, k);
		str_adds(out, "'\n");
	}
	str_adds(out,
		 "complete -c roar -n '__roar_does filter 0 add' -F\n"
		 "complete -c roar -n '__roar_does shards 0 audit' -F\n"
		 "complete -c roar -n '__roar_does filter 0 remove' -a "
		 "'(__roar_patterns)'\n"
		 "complete -c roar -n '__roar_does env 3 get set unset' -a "
		 "'(__roar_variables)'\n"
		 "complete -c roar -n '__roar_does tracer 3 enable disable' -a "
		 "ebpf\n"
		 "complete -c roar -n '__roar_does tracer 3 use set-default "
		 "check' -a '");
	add_key_values(out, config_key_find("tracer.default"));
	str_adds(out, "'\n");
}

static const char fish_start[] =
	"# fish completion for roar; generated from its tables.\n"
	"\n"
	"# __roar_is COMMAND [WORDS]: is it that command, with so many words yet?\n"
	"function __roar_is\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
	"\tor return 1\n"
	"\ttest (count $argv) -lt 2; or test (count $words) -eq $argv[2]\n"
	"end\n"
	"\n"
	"# __roar_starts COMMAND [OPTION]...: is it that command, still without\n"
	"# an operand?  Behind the options named stands a value.\n"
	"function __roar_starts\n"
	"\t__roar_is $argv[1]; or return 1\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l is_value 0\n"
	"\tfor word in $words[3..-1]\n"
	"\t\tif test $is_value = 1\n"
	"\t\t\tset is_value 0\n"
	"\t\telse if contains -- $word $argv[2..-1]\n"
	"\t\t\tset is_value 1\n"
	"\t\telse if test $word = --; or not string match -q -- '-*' $word\n"
	"\t\t\treturn 1\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"\n"
	"# __roar_does COMMAND WORDS ACTION...: 0 words means any number.\n"
	"function __roar_does\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -ge 3; and test $words[2] = $argv[1]\n"
	"\tand contains -- $words[3] $argv[3..-1]\n"
	"\tor return 1\n"
	"\ttest $argv[2] -eq 0; or test (count $words) -eq $argv[2]\n"
	"end\n"
	"\n"
	"function __roar_sets\n"
	"\tset -l words (commandline -opc)\n"
	"\t__roar_does config 4 set; and test $words[4] = $argv[1]\n"
	"end\n"
	"\n"
	"function __roar_at\n"
	"\tstring match -q -- '@*' (commandline -ct)\n"
	"end\n"
	"\n"
	"function __roar_steps\n\t" LIST_STEPS "\nend\n"
	"\n"
	"function __roar_targets\n\t" LIST_STEPS "\n\t" LIST_JOBS "\nend\n"
	"\n"
	"function __roar_variables\n\t" LIST_VARIABLES "\nend\n"
	"\n"
	"function __roar_patterns\n\t" LIST_PATTERNS "\nend\n"
	"\n"
	"complete -c roar -f\n"
	"complete -c roar -n __fish_use_subcommand -s h -l help -d 'show help'\n"
	"complete -c roar -n __fish_use_subcommand -s V -l version -d 'show the "
	"version'\n";

void complete_fish(struct str *out)
{
	str_adds(out, fish_start);
	for (size_t i = 0; roar_program.commands[i]; i++)
		add_fish_command(out, roar_program.commands[i]);
	str_adds(out,
		 "complete -c roar -n __fish_use_subcommand -a help -d "
		 "'show help'\ncomplete -c roar -n '__roar_is help 2' -a '");
	add_command_names(out);
	str_adds(out, "'\n");
	add_fish_settings(out);
}

void complete_fish_single(struct str *out, const struct command *c)
{
	str_addf(out,
		 "# fish completion for %s; generated from its table.\n"
		 "complete -c %s -f\n",
		 c->name, c->name);
	add_fish_options(out, c, c->options);
	add_fish_options(out, c, help_common_options(c));
}
