"""Turns a text into a C string.

usage: embed_text.py NAME INPUT OUTPUT
"""
import os
import sys


def main():
    name, source, target = sys.argv[1:]
    with open(source, encoding="ascii") as f:
        lines = f.read().splitlines()
    with open(target, "w", encoding="ascii") as f:
        f.write("/* Made from %s by embed_text.py. */\n" %
                os.path.basename(source))
        f.write("static const char %s[] =\n" % name)
        for line in lines:
            quoted = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write('\t"%s\\n"\n' % quoted)
        f.write("\t;\n")


main()
