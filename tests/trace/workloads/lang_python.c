/* Python: streams, os, shutil, tempfile, mmap and a child process. */
#include "workload.h"

static const char program[] =
	"import mmap, os, shutil, subprocess, tempfile\n"
	"data = open('in.txt').read()\n"
	"open('out.txt', 'w').write(data)\n"
	"shutil.copy('in.txt', 'copy.txt')\n"
	"open('next', 'w').write('x')\n"
	"os.replace('next', 'live')\n"
	"with tempfile.NamedTemporaryFile(dir='.', prefix='t') as f:\n"
	"    f.write(b'x')\n"
	"    print('temporary', os.path.basename(f.name), flush=True)\n"
	"with open('map', 'r+b') as f, mmap.mmap(f.fileno(), 0) as p:\n"
	"    p[0] = 72\n"
	"fd = os.open('raw', os.O_WRONLY | os.O_CREAT, dir_fd=os.open('.', 0))\n"
	"os.write(fd, b'x')\n"
	"with open('by-child', 'w') as f:\n"
	"    subprocess.run(['cat', 'in.txt'], stdout=f, check=True)\n"
	"try:\n"
	"    open('nothing')\n"
	"except FileNotFoundError:\n"
	"    pass\n"
	"os.unlink('by-child')\n";

void prepare(void)
{
	if (access("/usr/bin/python3", X_OK) < 0)
		skip("no python3");
	put("in.txt", "hello");
	put("map", "hello");
	put("program.py", program);
}

void act(void)
{
	pid_t pid = CHECK(fork());

	if (pid == 0) {
		execl("/usr/bin/python3", "python3", "-SEsB", "program.py",
		      NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	expect("input program.py");
	expect("input in.txt");
	expect("output out.txt");
	expect("output copy.txt");
	expect("output live");
	expect("input map");
	expect("output map");
	expect("output raw");
	expect("temporary by-child");
}
