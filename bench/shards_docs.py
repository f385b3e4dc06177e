"""The figures of shards, or of readers, as Markdown between two marks of a document."""

from arena_docs import figures_table, machine_line

BEGIN = '<!-- figures: make bench BENCH="--only {0} --docs docs/{0}.md" ' \
    "writes what follows -->"
END = "<!-- end of figures -->"


def into(path, facts, rows, group="shards"):
    """Replaces what stands between the marks, where a document has them."""
    begin = BEGIN.format(group)
    with open(path, encoding="utf-8") as f:
        document = f.read()
    if begin not in document or END not in document:
        print(f"bench: {path} has no place for the figures of {group}: put "
              f"'{begin}' and '{END}' there")
        return
    before, rest = document.split(begin, 1)
    section = "\n\n".join([begin, machine_line(facts), figures_table(rows), END])
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + section + rest.split(END, 1)[1])
    print(f"the figures are in {path}")
