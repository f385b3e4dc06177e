"""The figures of the coordinator as Markdown, between two marks of a document."""

from arena_docs import figures_table, machine_line

BEGIN = '<!-- figures: make bench BENCH="--only coordinator --docs ' \
    'docs/coordinator.md" writes what follows -->'
END = "<!-- end of figures -->"


def section(facts, rows, urgent):
    how = "Server and clients ran before everything else on it (--urgent)." \
        if urgent else "Server and clients ran as any other process."
    return "\n\n".join([BEGIN, f"{machine_line(facts)} {how}",
                        figures_table(rows), END])


def into(path, facts, rows, urgent):
    """Replaces what stands between the marks, where a document has them."""
    with open(path, encoding="utf-8") as f:
        document = f.read()
    if BEGIN not in document or END not in document:
        print(f"bench: {path} has no place for the coordinator's figures: put "
              f"'{BEGIN}' and '{END}' there")
        return
    before, rest = document.split(BEGIN, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + section(facts, rows, urgent) + rest.split(END, 1)[1])
    print(f"the figures are in {path}")
