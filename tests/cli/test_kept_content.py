"""Content that stays: `roar run --keep`, `roar keep` and `roar objects`."""

import os

import pytest
from helpers import lines

COPY = "cp data.txt model.pt"


def objects(place):
    """The contents in .roar/objects, by the hash that names them."""
    found = {}
    for folder, _, names in os.walk(place.path(".roar", "objects")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                found[os.path.basename(folder) + name] = f.read()
    return found


@pytest.fixture
def step(project):
    """A step that made model.pt of data.txt."""
    project.write("data.txt", "data\n")
    project.run("sh", "-c", COPY)
    return project


@pytest.mark.parametrize("what, kept", [
    ("none", []), ("outputs", [b"made\n"]), ("inputs", [b"data\n"]),
    ("all", [b"data\n", b"made\n"])])
def test_a_run_keeps_what_the_option_says(project, what, kept):
    project.write("data.txt", "data\n")
    done = project("run", "--keep", what, "sh", "-c",
                   "cat data.txt; echo made > out.txt")
    assert sorted(objects(project).values()) == kept
    assert ("kept" in done.err) == bool(kept)


def test_the_setting_keeps_and_the_option_overrides_it(project):
    project("config", "set", "objects.keep", "outputs")
    project("run", "--keep", "none", "sh", "-c", "echo one > a")
    assert not objects(project)
    project("run", "sh", "-c", "echo two > a")
    assert list(objects(project).values()) == [b"two\n"]


def test_limits_hold_and_the_report_names_them(project):
    command = ["run", "--keep", "outputs", "sh", "-c",
               "echo some content > a; echo x > b"]
    project("config", "set", "objects.max_file_size", "10")
    done = project(*command)
    assert "objects.max_file_size" in done.err
    assert list(objects(project).values()) == [b"x\n"]
    project("config", "set", "objects.max_file_size", "none")
    project("config", "set", "objects.max_size", "5B")
    done = project(*command)
    assert "objects.max_size" in done.err
    assert list(objects(project).values()) == [b"x\n"]
    assert project.json("show", "@1")["verdict"] == "complete"


def test_a_place_that_cannot_be_written_costs_one_sentence(project):
    project.write(".roar/objects", "in the way")
    done = project("run", "--keep", "outputs", "sh", "-c",
                   "echo x > a; echo y > b")
    assert len([line for line in lines(done.err) if "not kept" in line]) == 1
    assert project.json("show", "@1")["verdict"] == "complete"
    assert len(project.json("show", "@1")["outputs"]) == 2
    log = project.read(".roar/roar.log").decode()
    assert "warning" in log
    assert "2 files were not kept" in log


def test_a_full_disk_costs_one_sentence_and_leaves_nothing(project):
    small = os.path.join(project.base, "small")
    os.mkdir(small)
    if os.geteuid() != 0 or os.system(
            f"mount -t tmpfs -o size=64k none '{small}' 2>/dev/null"):
        pytest.skip("mounting a small file system needs root")
    try:
        os.symlink(small, project.path(".roar", "objects"))
        done = project("run", "--keep", "outputs", "sh", "-c",
                       "head -c 200000 /dev/urandom > large; echo x > a")
        assert "No space left on device" in done.err
        assert all(len(name) == 64 for name in objects(project))
        assert not [f for _, _, names in os.walk(small) for f in names
                    if ".roar-" in f]
        assert project.json("show", "@1")["verdict"] == "complete"
    finally:
        os.system(f"umount -l '{small}'")


# ---- roar keep ----

def test_keep_takes_a_file_a_hash_and_a_job(step):
    step.json("keep", "model.pt")
    digest = step.json("show", "model.pt")["digests"]["blake3"]
    assert objects(step) == {digest: b"data\n"}
    assert step.json("show", "model.pt")["kept"]
    answer = step.json("keep", digest[:12])
    assert [k["how"] for k in answer["kept"]] == ["present"]
    step.run("sh", "-c", "cat model.pt; echo two > a; echo three > b")
    assert len(step.json("keep", "@2")["kept"]) == 2
    assert [k["path"] for k in step.json("keep", "--inputs", "@2")["kept"]
            ] == [step.path("model.pt")]


def test_a_file_that_changed_is_not_kept(step):
    step.write("model.pt", "other")
    step.write("data.txt", "other")
    done = step("keep", "model.pt", code=1)
    assert "changed" in done.out
    assert not objects(step)
    assert len(step.json("keep", "@1", code=1)["failed"]) == 1


def test_content_of_another_name_is_kept_as_well(step):
    os.unlink(step.path("model.pt"))
    kept = step.json("keep", "model.pt")["kept"]
    assert [k["path"] for k in kept] == [step.path("data.txt")]


# ---- roar objects ----

def test_restore_gives_the_content_back(step):
    step("keep", "model.pt")
    step.write("model.pt", "other\n")
    step("objects", "restore", "model.pt", "old.pt")
    assert step.read("old.pt") == b"data\n"
    assert step.read("model.pt") == b"other\n"
    assert "--force" in step("objects", "restore", "model.pt", code=1).err
    assert step.read("model.pt") == b"other\n"
    step("objects", "restore", "--force", "model.pt")
    assert step.read("model.pt") == b"data\n"
    os.mkdir(step.path("dir"))
    step("objects", "restore", "model.pt", "dir")
    assert step.read("dir/model.pt") == b"data\n"
    assert step("objects", "restore", "@1", code=2).err


def test_a_link_that_changed_is_found_and_not_used(step):
    os.chmod(step.path("model.pt"), 0o444)
    step("keep", "model.pt")
    (name,) = objects(step)
    kept = step.path(".roar", "objects", name[:2], name[2:])
    os.chmod(kept, 0o644)
    with open(kept, "w", encoding="utf-8") as f:
        f.write("DATA\n")
    assert "damaged" in step("objects", "restore", "model.pt", "new",
                             code=1).err
    assert not step.exists("new")
    damaged = step.json("objects", "verify", code=1)["damaged"]
    assert [d["blake3"] for d in damaged] == [name]
    # No file has the content any more, and what is kept does not count.
    for path in "model.pt", "data.txt":
        os.unlink(step.path(path))
        step.write(path, "other\n")
    (failed,) = step.json("keep", "model.pt", code=1)["failed"]
    assert failed["digests"]["blake3"] == name
    os.unlink(step.path("model.pt"))
    step.write("model.pt", "data\n")
    step("keep", "model.pt")
    step("objects", "verify")
    assert objects(step) == {name: b"data\n"}


def test_gc_removes_what_no_record_mentions_then_the_oldest(project):
    for name in ("a", "b", "c"):
        project("run", "--keep", "outputs", "sh", "-c", f"echo {name} > {name}")
    listed = project.json("objects", "ls")
    assert [o["path"] for o in listed["objects"]] == [
        project.path(n) for n in "abc"]
    assert listed["size_bytes"] == 6
    os.unlink(project.path("b"))
    project("pop", "-y")
    dry = project.json("objects", "gc", "-n", "--max-size", "2")
    assert [r["reason"] for r in dry["removed"]] == ["size", "unrecorded"]
    assert len(objects(project)) == 3
    assert project.json("objects", "gc")["freed_bytes"] == 2
    assert sorted(objects(project).values()) == [b"a\n", b"b\n"]
    project("objects", "gc", "--max-size", "2")
    assert list(objects(project).values()) == [b"b\n"]
    project("objects", "gc", "--max-size", "much", code=2)


def test_kept_content_belongs_to_the_user_and_is_read_only(user):
    user("run", "--keep", "outputs", "sh", "-c", "echo x > a")
    (name,) = objects(user)
    status = os.stat(user.path(".roar", "objects", name[:2], name[2:]))
    assert status.st_uid == os.stat(user.root).st_uid
    assert status.st_mode & 0o777 == 0o444
