/* Node: synchronous calls, and asynchronous ones from its pool of threads. */
#include "workload.h"

static const char program[] =
	"const fs = require('fs');\n"
	"fs.writeFileSync('out.txt', fs.readFileSync('in.txt'));\n"
	"fs.copyFileSync('in.txt', 'copy.txt');\n"
	"fs.renameSync('out.txt', 'final.txt');\n"
	"fs.appendFileSync('log', 'x');\n"
	"fs.promises.readFile('later.txt')\n"
	"  .then((d) => fs.promises.writeFile('async.txt', d))\n"
	"  .then(() => fs.promises.unlink('log'))\n"
	"  .then(() => fs.promises.readFile('nothing'))\n"
	"  .catch(() => fs.createReadStream('in.txt')\n"
	"    .pipe(fs.createWriteStream('stream.txt')));\n";

void prepare(void)
{
	if (system("node -e 0 > /dev/null 2>&1") != 0)
		skip("no node");
	put("in.txt", "hello");
	put("later.txt", "hello");
	put("program.js", program);
}

void act(void)
{
	REQUIRE(system("exec node program.js") == 0);
	expect("input program.js");
	expect("input in.txt");
	expect("input later.txt");
	expect("output final.txt");
	expect("output copy.txt");
	expect("output async.txt");
	expect("output stream.txt");
	expect("temporary log");
}
