"""Turns an SQL file into the C string of the same text.

usage: embed_sql.py NAME INPUT OUTPUT

Comments and indentation are left out: SQLite keeps the text of each CREATE in
the database and parses it at every start.
"""
import os
import re
import sys


def statements(text):
    """The lines of `text` without what only a human reads."""
    for line in text.splitlines():
        line = re.sub(r"\s+", " ", re.sub(r"--.*", "", line)).strip()
        if line:
            yield line


def main():
    name, source, target = sys.argv[1:]
    with open(source, encoding="ascii") as f:
        lines = list(statements(f.read()))
    with open(target, "w", encoding="ascii") as f:
        f.write("/* Made from %s by embed_sql.py. */\n" %
                os.path.basename(source))
        f.write("static const char %s[] =\n" % name)
        for line in lines:
            quoted = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write('\t"%s\\n"\n' % quoted)
        f.write("\t;\n")


main()
