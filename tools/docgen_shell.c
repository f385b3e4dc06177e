/* docgen_shell.c - completions for bash, zsh and fish.
 *
 * All three know the commands, their options, the values an option takes, the
 * actions of a command, and the settings with their values.  Behind `run` and
 * `build` they hand over to the completion of the command that is run. */
#include <string.h>

#include "base/str.h"
#include "cli.h"
#include "commands.h"
#include "config_file.h"
#include "docgen.h"

/* ---- words for all of them ---- */

/* In '...' as all three shells read it; fish has no '\'' but takes \' inside. */
static void add_quoted(struct str *out, const char *text, bool fish)
{
	str_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			str_adds(out, fish ? "\\'" : "'\\''");
		else if (*text == '\\' && fish)
			str_adds(out, "\\\\");
		else
			str_addc(out, *text);
	}
	str_addc(out, '\'');
}

static void add_verb_names(struct str *out, const struct command *c)
{
	for (const struct verb_spec *v = c->verbs; v && v->name; v++)
		str_addf(out, "%s%s", v == c->verbs ? "" : " ", v->name);
}

static void add_command_names(struct str *out)
{
	for (size_t i = 0; commands[i]; i++)
		str_addf(out, "%s%s", i ? " " : "", commands[i]->name);
}

static void add_key_names(struct str *out)
{
	for (const struct config_key *k = config_keys; k->name; k++)
		str_addf(out, "%s%s", k == config_keys ? "" : " ", k->name);
}

static void add_key_values(struct str *out, const struct config_key *k)
{
	if (k->type == CONFIG_BOOL)
		str_adds(out, "true false");
	else if (k->values)
		add_words(out, k->values);
}

static bool takes_folder(const struct option_spec *o)
{
	return o->arg && !strcmp(o->arg, "DIR");
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

/* ---- bash ---- */

static void add_bash_options(struct str *out, const struct command *c)
{
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (o->letter)
			str_addf(out, "-%c ", o->letter);
		str_addf(out, "--%s ", o->name);
	}
	str_adds(out, "-h --help");
}

/* What may follow an option that takes a value. */
static void add_bash_values(struct str *out, const struct command *c)
{
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (!o->arg)
			continue;
		str_addf(out, "\t%s:--%s", c->name, o->name);
		if (o->letter)
			str_addf(out, "|%s:-%c", c->name, o->letter);
		str_adds(out, ") kind=");
		if (o->values) {
			str_adds(out, "words words='");
			add_words(out, o->values);
			str_adds(out, "' ;;\n");
		} else {
			str_addf(out, "%s ;;\n",
				 takes_folder(o) ? "folder" : "file");
		}
	}
}

static void add_bash_command(struct str *out, const struct command *c)
{
	str_addf(out, "\t%s)\n\t\toptions='", c->name);
	add_bash_options(out, c);
	str_adds(out, "'\n");
	if (c->verbs) {
		str_adds(out, "\t\tverbs='");
		add_verb_names(out, c);
		str_adds(out, "'\n");
	}
	if (c->operand != OPERAND_NONE)
		str_addf(out, "\t\toperand=%s\n",
			 c->operand == OPERAND_COMMAND ? "command" : "file");
	str_adds(out, "\t\t;;\n");
}

static void add_bash_keys(struct str *out)
{
	str_adds(out, "_roar_setting()\n{\n\tcase $1 in\n");
	for (const struct config_key *k = config_keys; k->name; k++) {
		str_addf(out, "\t%s) echo '", k->name);
		add_key_values(out, k);
		str_adds(out, "' ;;\n");
	}
	str_adds(out, "\tesac\n}\n\n");
}

/* The parts that do not depend on the tables. */
static const char bash_start[] =
	"# bash completion for roar; generated from its tables.\n\n";

static const char bash_words[] =
	"_roar_words()\n"
	"{\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_roar_files()\n"
	"{\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen \"${1:--f}\" -- \"$cur\")\n"
	"}\n"
	"\n";

static const char bash_operands[] =
	"# The command behind `roar run` completes itself.\n"
	"_roar_command()\n"
	"{\n"
	"\tif ((COMP_CWORD > $1)) && declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD > $1)); then\n"
	"\t\t_roar_files\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# Words behind an action.\n"
	"_roar_action()\n"
	"{\n"
	"\tcase $command:${actions[0]}:${#actions[@]} in\n"
	"\tconfig:get:1 | config:set:1 | config:unset:1) _roar_words \"$keys\" ;;\n"
	"\tconfig:set:2) _roar_words \"$(_roar_setting \"${actions[1]}\")\" ;;\n"
	"\tfilter:add:*) _roar_files ;;\n"
	"\tesac\n"
	"}\n"
	"\n";

static const char bash_main[] =
	"_roar()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
	"\tlocal previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal commands='' keys='' options='' verbs='' operand=''\n"
	"\tlocal kind='' words='' first=0 i\n"
	"\tlocal -a actions=()\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\t_roar_tables\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_roar_words \"$commands help --help --version\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $command == help ]]; then\n"
	"\t\t_roar_words \"$commands\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# \"--option=value\" arrives as three words.\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ $previous == = ]]; then\n"
	"\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ $first == 0 && ${COMP_WORDS[i]} == -* ]]; then\n"
	"\t\t\t_roar_takes_value \"${COMP_WORDS[i]}\" && ((i++))\n"
	"\t\t\t[[ ${COMP_WORDS[i]} == = ]] && ((i++))\n"
	"\t\telse\n"
	"\t\t\t[[ $operand == command && $first == 0 ]] && first=$i\n"
	"\t\t\tactions+=(\"${COMP_WORDS[i]}\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t_roar_takes_value \"$previous\"\n"
	"\tif ((first)); then\n"
	"\t\t_roar_command \"$first\"\n"
	"\telif [[ $kind == words ]]; then\n"
	"\t\t_roar_words \"$words\"\n"
	"\telif [[ $kind == folder ]]; then\n"
	"\t\t_roar_files -d\n"
	"\telif [[ $kind == file ]]; then\n"
	"\t\t_roar_files\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\t_roar_words \"$options\"\n"
	"\telif [[ -n $verbs && ${#actions[@]} == 0 ]]; then\n"
	"\t\t_roar_words \"$verbs\"\n"
	"\telif [[ -n $verbs ]]; then\n"
	"\t\t_roar_action\n"
	"\telif [[ $operand == command ]]; then\n"
	"\t\t_roar_command \"$COMP_CWORD\"\n"
	"\telif [[ $operand == file ]]; then\n"
	"\t\t_roar_files\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _roar roar\n";

/* Sets what the main function asks about the command. */
static void add_bash_tables(struct str *out)
{
	str_adds(out, "_roar_tables()\n{\n\tcommands='");
	add_command_names(out);
	str_adds(out, "'\n\tkeys='");
	add_key_names(out);
	str_adds(out, "'\n\tcase $command in\n");
	for (size_t i = 0; commands[i]; i++)
		add_bash_command(out, commands[i]);
	str_adds(out, "\tesac\n}\n\n");
	str_adds(out, "# Does the option take a value, and which?\n"
		      "_roar_takes_value()\n{\n"
		      "\tkind=''\n\tcase $command:$1 in\n");
	for (size_t i = 0; commands[i]; i++)
		add_bash_values(out, commands[i]);
	str_adds(out, "\tesac\n\t[[ -n $kind ]]\n}\n\n");
}

void complete_bash(struct str *out)
{
	str_adds(out, bash_start);
	add_bash_keys(out);
	str_adds(out, bash_words);
	add_bash_tables(out);
	str_adds(out, bash_operands);
	str_adds(out, bash_main);
}

/* ---- zsh ---- */

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
			str_adds(out, takes_folder(o) ? "_files -/" : "_files");
		}
	}
	str_adds(out, "' \\\n");
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
		[OPERAND_TARGET] = "\t\t\t'*:target:_files'\n",
		[OPERAND_COMMAND] = ("\t\t\t'(-)1:command: _command_names -e' \\\n"
				     "\t\t\t'*::arguments: _normal'\n"),
		[OPERAND_FILE] = "\t\t\t'*:file:_files'\n",
	};
	static const struct option_spec help = { .name = "help",
						 .letter = 'h',
						 .help = "show help" };

	str_addf(out, "\t%s)\n\t\t_arguments -s -S \\\n", c->name);
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1))
		add_zsh_option(out, o);
	add_zsh_option(out, &help);
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
	str_adds(out, "\t\tesac\n\t\t;;\n\tfilter:add:*) _files ;;\n"
		      "\tesac\n}\n\n");
}

/* `commands` is what zsh itself calls the programs of PATH. */
void complete_zsh(struct str *out)
{
	str_adds(out, "#compdef roar\n# generated from the tables of roar\n\n");
	add_zsh_settings(out);
	str_adds(out, "_roar() {\n"
		      "\tlocal curcontext=\"$curcontext\" state line\n"
		      "\tlocal -a roar_commands\n"
		      "\ttypeset -A opt_args\n\n\troar_commands=(\n");
	for (size_t i = 0; commands[i]; i++) {
		str_addf(out, "\t\t'%s:", commands[i]->name);
		add_zsh_text(out, commands[i]->summary);
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
	for (size_t i = 0; commands[i]; i++)
		add_zsh_command(out, commands[i]);
	str_adds(out, "\thelp) _describe -t commands command roar_commands ;;\n"
		      "\tesac\n}\n\n"
		      "if [[ $funcstack[1] == _roar ]]; then\n"
		      "\t_roar \"$@\"\nelse\n\tcompdef _roar roar\nfi\n");
}

/* ---- fish ---- */

static void add_fish_option(struct str *out, const struct command *c,
			    const struct option_spec *o)
{
	if (c->stops_at_operand) {
		str_addf(out, "complete -c roar -n '__roar_starts %s", c->name);
		add_value_options(out, c);
		str_addc(out, '\'');
	} else {
		str_addf(out, "complete -c roar -n '__roar_is %s'", c->name);
	}
	if (o->letter)
		str_addf(out, " -s %c", o->letter);
	str_addf(out, " -l %s", o->name);
	if (o->values) {
		str_adds(out, " -x -a '");
		add_words(out, o->values);
		str_addc(out, '\'');
	} else if (takes_folder(o)) {
		str_adds(out, " -x -a '(__fish_complete_directories)'");
	} else if (o->arg) {
		str_adds(out, " -r -F");
	}
	str_adds(out, " -d ");
	add_quoted(out, o->help, true);
	str_addc(out, '\n');
}

static void add_fish_command(struct str *out, const struct command *c)
{
	static const struct option_spec help = { .name = "help",
						 .letter = 'h',
						 .help = "show help" };

	str_addf(out, "complete -c roar -n __fish_use_subcommand -a %s -d ",
		 c->name);
	add_quoted(out, c->summary, true);
	str_addc(out, '\n');
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1))
		add_fish_option(out, c, o);
	add_fish_option(out, c, &help);
	for (const struct verb_spec *v = c->verbs; v && v->name; v++) {
		str_addf(out, "complete -c roar -n '__roar_is %s 2' -a %s -d ",
			 c->name, v->name);
		add_quoted(out, v->help, true);
		str_addc(out, '\n');
	}
	if (c->operand == OPERAND_COMMAND) {
		str_addf(out,
			 "complete -c roar -n '__roar_is %s' -x -a "
			 "'(__fish_complete_subcommand --fcs-skip=2",
			 c->name);
		add_value_options(out, c);
		str_adds(out, ")'\n");
	} else if (c->operand != OPERAND_NONE) {
		str_addf(out, "complete -c roar -n '__roar_is %s' -F\n",
			 c->name);
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
	str_adds(out, "complete -c roar -n '__roar_does filter 0 add' -F\n");
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
	"complete -c roar -f\n"
	"complete -c roar -n __fish_use_subcommand -s h -l help -d 'show help'\n"
	"complete -c roar -n __fish_use_subcommand -s V -l version -d 'show the "
	"version'\n";

void complete_fish(struct str *out)
{
	str_adds(out, fish_start);
	for (size_t i = 0; commands[i]; i++)
		add_fish_command(out, commands[i]);
	str_adds(out,
		 "complete -c roar -n __fish_use_subcommand -a help -d "
		 "'show help'\ncomplete -c roar -n '__roar_is help 2' -a '");
	add_command_names(out);
	str_adds(out, "'\n");
	add_fish_settings(out);
}
