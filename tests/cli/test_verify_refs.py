"""`roar verify` of a job, a session, a hash or a collection."""

import os


def states(place, *args, code=0):
    rows = place.json("verify", *args, code=code)
    return {row["path"]: row["state"] for row in rows}


def three_steps(place):
    place.write("raw", "1\n")
    place.sh("cat raw > a; echo x > b; echo t > gone; rm gone")
    place.sh("cat a b > c")
    place.sh("cat raw >> b")


def test_a_job_is_verified_by_what_it_wrote(project):
    three_steps(project)
    assert states(project, "@2") == {"c": "ok"}
    assert states(project, "@1", code=1) == {"a": "ok", "b": "changed"}
    assert states(project, "@2", "--inputs", code=1) == {"a": "ok", "b": "changed"}
    # What a job reads and writes is not as it has read it.
    assert states(project, "@3", "--inputs") == {"raw": "ok"}
    assert states(project, "@1", "--inputs", "--outputs", code=1) == {
        "raw": "ok", "a": "ok", "b": "changed"}
    uid = project.jobs()[1]["job_uid"]
    assert states(project, uid) == {"c": "ok"}
    os.unlink(project.path("c"))
    done = project("verify", uid, code=1)
    assert done.out == "c: FAILED, missing\n"
    assert "1 file" in done.err
    assert "'@9' does not exist" in project("verify", "@9", code=1).err
    project("verify", "@x", code=2)
    project("verify", "--inputs", "raw", code=2)


def test_a_session_by_its_uid_and_its_hash(project):
    three_steps(project)
    uid = project.json("status")["session"]["uid"]
    whole = project("session", "hash").out.strip()
    project("reset", "-y")
    expected = {"raw": "ok", "a": "ok", "b": "ok", "c": "ok"}
    assert states(project, uid) == expected
    assert states(project, whole[:16]) == expected
    assert states(project, uid, "--inputs") == {"raw": "ok"}
    project.write("a", "other")
    assert states(project, uid, code=1) == {**expected, "a": "changed"}


def test_a_hash_by_the_places_that_should_have_it(project):
    project.sh("echo same > a; cp a b; cp a c")
    project.sh("echo more >> c")
    digest = project.digests("a")["blake3"]
    assert states(project, digest[:12]) == {"a": "ok", "b": "ok"}
    project.write("b", "other")
    assert states(project, digest[:12], code=1) == {"a": "ok", "b": "changed"}
    assert states(project, "a", "@2") == {"a": "ok", "c": "ok"}
    done = project("verify", "0123456789ab", code=1)
    assert "0123456789ab: NOT PROVED" in done.out


def test_a_collection_by_its_members(project):
    project.write("raw/1", "a")
    project.sh("mkdir -p set/sub; for i in 0 1; do echo $i > set/$i.tar; done; echo x > set/sub/x")
    project("collection", "create", "mixed", "raw", "set")
    fine = {"set/0.tar": "ok", "set/1.tar": "ok", "set/sub/x": "ok"}
    tree = project.json("show", "set")["hash"]
    for ref in ("set", "./set/", tree):
        assert states(project, ref) == fine
    assert states(project, "mixed") == {"raw/1": "ok", **fine}
    project.write("set/1.tar", "other")
    project.write("set/sub/new", "y")
    os.unlink(project.path("set/0.tar"))
    assert states(project, "set", code=1) == {
        "set/0.tar": "missing", "set/1.tar": "changed", "set/sub/x": "ok",
        "set/sub/new": "unproved"}
    assert "not a member" in project("verify", "mixed", code=1).err
