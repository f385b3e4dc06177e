/* Perl: open in its spellings, rename, backticks, in-place editing. */
#include "workload.h"

static const char program[] =
	"open(my $in, '<', 'in.txt') or die;\n"
	"my $text = <$in>;\n"
	"open(my $out, '>', 'out.txt') or die; print $out $text; close $out;\n"
	"open(my $log, '>>', 'log') or die; print $log $text; close $log;\n"
	"open(my $new, '+>', 'scratch') or die; print $new 1; close $new;\n"
	"unlink 'scratch' or die;\n"
	"rename 'out.txt', 'final.txt' or die;\n"
	"my $all = `cat in.txt`; die unless $all eq $text;\n"
	"open(my $no, '<', 'nothing') and die;\n"
	"@ARGV = ('edited'); $^I = ''; while (<>) { s/hello/bye/; print }\n";

void prepare(void)
{
	if (access("/usr/bin/perl", X_OK) < 0)
		skip("no perl");
	put("in.txt", "hello\n");
	put("log", "old\n");
	put("edited", "hello\n");
	put("program.pl", program);
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("/usr/bin/perl", "perl", "program.pl", NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input program.pl");
	expect("input in.txt");
	expect("output final.txt");
	expect("output log");
	expect("temporary scratch");
	expect("input edited");
	expect("output edited");
}
