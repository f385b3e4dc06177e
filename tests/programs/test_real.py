"""Programs that people run: what they do is the same, and so is the record."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from real import Case, compare


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


def check(**case):
    compare(os.path.abspath(os.environ["ROAR"]), Case(**case))


# ---- gcc and make ----

PART = """
#include <stdio.h>
#include <string.h>
#include "part.h"
int part_%(i)d(const char *text)
{
	char copy[64];
	snprintf(copy, sizeof(copy), "%%s %(i)d", text);
	return (int)strlen(copy) + %(i)d;
}
"""
MAKEFILE = """
CFLAGS := -O1 -g
program: main.o libparts.a
	$(CC) -o $@ main.o -L. -lparts
libparts.a: $(patsubst %.c,%.o,$(sort $(wildcard part_*.c)))
	rm -f $@
	ar rcsD $@ $^
%.o: %.c part.h
	$(CC) $(CFLAGS) -MMD -c -o $@ $<
"""


def sources(place):
    n = 8
    place.write("part.h", "".join(f"int part_{i}(const char *);\n"
                                  for i in range(n)))
    for i in range(n):
        place.write(f"part_{i}.c", PART % {"i": i}, age=0)
    calls = " + ".join(f'part_{i}("x")' for i in range(n))
    place.write("main.c", f'#include "part.h"\nint main(void)\n{{\n'
                f"\treturn ({calls}) == 0;\n}}\n", age=0)
    place.write("Makefile", MAKEFILE)


def test_make_builds_a_program_with_gcc():
    needs("gcc", "make", "ar")
    check(setup=sources, command="make -s -j2 && ./program; echo ended $?")


def broken_sources(place):
    sources(place)
    place.write("part_3.c", "int part_3(const char *text) { return text }\n")


def test_make_stops_at_an_error():
    needs("gcc", "make")
    check(setup=broken_sources, command=["make", "-s"], code=2)


# ---- pip ----

def pip_python():
    """A Python that has pip."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run(
                [python, "-I", "-m", "pip", "--version"], check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip("pip is not installed")


def wheel(place):
    """A package of two modules and a script, as a wheel."""
    path = place.path("example-1.0-py3-none-any.whl")
    info = "example-1.0.dist-info"
    files = {
        "example/__init__.py": "def hello():\n    return 'hello'\n",
        "example/__main__.py": "from example import hello\nprint(hello())\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: example\n"
                            "Version: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
                         "Root-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\n"
                                    "example = example:hello\n",
    }
    record = "".join(f"{name},,\n" for name in files)
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as z:
        for name, text in files.items():
            z.writestr(zipfile.ZipInfo(name), text)


def test_pip_installs_into_a_virtual_environment():
    python = pip_python()

    def setup(place):
        wheel(place)
        subprocess.run([python, "-m", "venv", "--without-pip",
                        place.path("venv")], check=True)
    check(setup=setup, env={"PYTHONDONTWRITEBYTECODE": "1"},
          command=f"{python} -I -m pip --python venv/bin/python install -q "
                  "--no-index --no-compile --no-cache-dir "
                  "--disable-pip-version-check ./example-1.0-py3-none-any.whl "
                  "&& venv/bin/python -B -m example")


# ---- git, tar, rsync ----

def repository(place):
    place.write("origin/README", "read me\n")
    place.write("origin/src/main.c", "int main(void) { return 0; }\n")

    def git(*args):
        subprocess.run(["git", "-C", place.path("origin"), *args], check=True,
                       env=place.env, stdout=subprocess.DEVNULL)
    git("init", "-q")
    for i in range(5):
        place.write(f"origin/file-{i}", f"{i}\n" * 100)
        git("add", ".")
        git("commit", "-q", "-m", f"commit {i}")
    git("branch", "other")


def test_git_clones_a_repository():
    """With other times than it remembers, git reads the files again; else that
    depends on whether they are of the same tick as its index."""
    needs("git")
    check(setup=repository, varies=r"\.git/index$",
          command="git clone -q --no-local origin copy && cd copy && "
                  "touch -d 2001-01-01 README file-* src/* && "
                  "git checkout -q other && git log --oneline && "
                  "git gc -q && git fsck")


def folders(place):
    for i in range(40):
        place.write(f"tree/d{i % 5}/f{i}", f"file {i}\n" * (i * 50), age=0)
    place.write("tree/empty", "")
    os.symlink("d0/f0", place.path("tree/link"))
    # In the same folder: cp reads names by their inodes, and which of two
    # folders has the lower one is chance.
    os.link(place.path("tree/d1/f1"), place.path("tree/d1/again"))
    os.chmod(place.path("tree/d2/f2"), 0o755)


def test_tar_packs_and_unpacks():
    needs("tar", "gzip")
    check(setup=folders,
          command="tar --sort=name --mtime=@0 --owner=0 --group=0 "
                  "-cf a.tar tree && gzip -nk a.tar && mkdir out && "
                  "tar -xzf a.tar.gz -C out && diff -r tree out/tree")


def test_rsync_copies_a_tree_and_its_changes():
    needs("rsync")
    check(setup=folders,
          command="rsync -a tree/ copy/ && echo more >> tree/d3/f3 && "
                  "rm tree/d4/f4 && rsync -a --checksum --delete tree/ copy/ "
                  "&& diff -r tree copy")


def test_cp_copies_and_find_counts():
    check(setup=folders,
          command="cp -a tree copy && find copy -type f | sort | xargs cat | "
                  "wc -c > size && cat size")


# ---- languages ----

SQL = """
create table t (id integer primary key, name text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into t select i, 'name ' || i, i * 1.5 from n;
create index by_name on t (name);
delete from t where id % 7 = 0;
vacuum;
.output report.csv
.mode csv
select id, name, value from t where id < 50;
"""


def test_sqlite3_makes_a_database():
    needs("sqlite3")
    check(setup=lambda place: place.write("make.sql", SQL),
          command="sqlite3 -batch data.db < make.sql && "
                  "sqlite3 data.db 'pragma integrity_check'")


NODE = """
const fs = require('fs');
const { execFileSync } = require('child_process');
fs.mkdirSync('out');
const words = fs.readFileSync('words.txt', 'utf8').split('\\n');
fs.writeFileSync('out/sorted.json', JSON.stringify(words.sort()));
execFileSync('sh', ['-c', 'wc -c < words.txt > out/size']);
async function main() {
  await Promise.all(words.map((word, i) =>
    fs.promises.writeFile(`out/${i}.txt`, word)));
  await fs.promises.rename('out/0.txt', 'out/first.txt');
  fs.createReadStream('out/sorted.json')
    .pipe(fs.createWriteStream('out/copy.json'))
    .on('close', () => console.log('done'));
}
main();
"""


def test_node_reads_and_writes():
    needs("node")

    def setup(place):
        place.write("words.txt", "\n".join(f"word {i}" for i in range(30)))
        place.write("main.js", NODE)
    check(setup=setup, command=["node", "main.js"])


BASH = r"""
set -eu
mkdir -p out/{a,b,c}
for i in 1 2 3 4 5; do
	echo "line $i" >> out/a/list
	tr a-z A-Z < out/a/list > "out/b/upper.$i"
done
sort -r out/a/list | head -n 3 | tee out/c/top | wc -l
cat > out/here <<END
here is $(wc -l < out/a/list)
END
sed -i 's/line/row/' out/a/list
(cd out/c && ln -s ../a/list link && cp link copy && mv copy moved)
while read -r word rest; do echo "$rest $word"; done < out/a/list > out/swapped
diff <(sort out/a/list) <(sort out/swapped) > out/diff || echo differs
exec 5<> out/both; echo five >&5; exec 5>&-
awk '{ print $2 > ("out/awk." $2) }' out/a/list
printf '%s\n' out/b/* | xargs rm
exit 7
"""


def test_bash_redirects_and_pipes():
    needs("bash", "awk", "sed", "diff")
    check(setup=lambda place: place.write("work.sh", BASH),
          command=["bash", "work.sh"], code=7)


def test_standard_output_may_be_a_file():
    check(setup=lambda place: place.write("in.txt", "one\n"),
          command="cat in.txt; sort in.txt", stdout="out.txt")


def test_a_shell_that_is_killed():
    check(command="echo one > before; kill -TERM $$; echo two > after",
          code=143)


POOL = """
import json, multiprocessing, os, sys

def work(i):
    with open("in.txt") as f:
        text = f.read()
    with open(f"part-{i}.txt", "w") as f:
        f.write(text * i)
    return i, os.path.getsize(f"part-{i}.txt")

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(3) as pool:
        sizes = dict(pool.map(work, range(12)))
    with open("sizes.json", "w") as f:
        json.dump(sizes, f, sort_keys=True)
    print(sum(sizes.values()))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_python_with_multiprocessing(method):
    def setup(place):
        place.write("in.txt", "some text\n" * 50)
        place.write("pool.py", POOL)
    check(setup=setup, env={"PYTHONDONTWRITEBYTECODE": "1"},
          command=[sys.executable, "pool.py", method])
