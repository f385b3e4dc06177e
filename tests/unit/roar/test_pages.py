"""The man page of a program has the options of its --help, and points to related pages.

usage: test_pages.py PROGRAM PAGE TEXT...
"""
import re
import subprocess
import sys

program, page, *texts = sys.argv[1:]
with open(page, encoding="utf-8") as f:
    manual = f.read().replace("\\-", "-")
shown = subprocess.run([program, "--help"], capture_output=True, text=True,
                       check=True).stdout
options = re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", shown, re.MULTILINE)
assert len(options) > 2, shown
for option in options:
    assert re.search(r"^\.B .*%s\b" % option, manual, re.MULTILINE), option
for text in texts:
    assert text in manual, text
