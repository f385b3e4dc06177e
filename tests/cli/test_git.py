"""Uncommitted code never stops a run; it is kept as objects of git."""

import os
import time

import pytest

from helpers import SETTLE


def git_of(place):
    return place.last()["git"]


def everything(place):
    """What a user sees of the repository."""
    return (place.git("status", "--porcelain=v2", "--branch"),
            place.git("for-each-ref", "--format=%(refname) %(objectname)",
                      "refs/heads", "refs/tags", "refs/remotes",
                      "refs/stash"),
            place.git("log", "--oneline", "--all", "--", "."),
            place.git("stash", "list"),
            place.git("diff", "--cached"))


def test_clean_tree(repo):
    repo.run("true")
    git = git_of(repo)
    assert git["commit"] == repo.git("rev-parse", "HEAD").strip()
    assert git["branch"] == "main"
    assert git["root"] == repo.root
    assert git["dirty"] is False
    assert git["snapshot"] is None
    assert repo.git("for-each-ref", "refs/roar") == ""


def test_dirty_tree_runs_and_is_snapshotted(repo):
    repo.write("code.py", "print('changed')\n")
    repo.write("new.py", "print('new')\n")
    repo.run("true")
    git = git_of(repo)
    assert git["dirty"] is True
    assert repo.git("show", git["snapshot"] + ":code.py") == (
        "print('changed')\n")
    assert repo.git("show", git["snapshot"] + ":new.py") == (
        "print('new')\n")


def test_the_snapshot_is_reachable_under_refs_roar(repo):
    repo.write("code.py", "print('changed')\n")
    repo.run("true")
    snapshot = git_of(repo)["snapshot"]
    refs = repo.git("for-each-ref", "--format=%(objectname)", "refs/roar")
    assert snapshot in refs.split()
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "-t", snapshot).strip() == "commit"
    assert repo.git("rev-parse", snapshot + "^").strip() == repo.git(
        "rev-parse", "HEAD").strip()


def test_branches_index_and_status_stay_untouched(repo):
    repo.write("staged.py", "staged\n")
    repo.git("add", "staged.py")
    repo.write("code.py", "print('changed')\n")
    repo.write("untracked.py", "u\n")
    before = everything(repo)
    index = repo.read(".git/index")
    repo.run("true")
    assert repo.read(".git/index") == index
    after = everything(repo)
    assert after[0] == before[0]
    assert after[1] == before[1]
    assert after[3] == before[3]
    assert after[4] == before[4]
    assert repo.git("branch", "--list", "--all").strip() == "* main"


def test_a_deleted_file_is_missing_in_the_snapshot(repo):
    os.unlink(repo.path("code.py"))
    repo.run("true")
    names = repo.git("ls-tree", "-r", "--name-only",
                     git_of(repo)["snapshot"])
    assert "code.py" not in names.split()


def test_ignored_files_are_not_in_the_snapshot(repo):
    repo.write(".gitignore", ".roar/\n*.bin\n")
    repo.commit("ignore")
    repo.write("big.bin", "x" * 1000)
    repo.write("code.py", "changed\n")
    repo.run("true")
    names = repo.git("ls-tree", "-r", "--name-only",
                     git_of(repo)["snapshot"]).split()
    assert "big.bin" not in names
    assert not [n for n in names if n.startswith(".roar/")]


def test_roar_folder_alone_does_not_make_the_tree_dirty(empty):
    """.roar/ that git does not ignore."""
    empty.git("init", "-q")
    empty.write("code.py", "x\n")
    empty.commit("first")
    empty("init", "-n")
    time.sleep(SETTLE)
    empty.run("true")
    assert git_of(empty)["dirty"] is False
    assert git_of(empty)["snapshot"] is None


def test_the_same_dirty_state_is_one_snapshot_tree(repo):
    repo.write("code.py", "print('changed')\n")
    repo.run("true")
    first = git_of(repo)["snapshot"]
    repo.run("true")
    second = git_of(repo)["snapshot"]
    assert repo.git("rev-parse", first + "^{tree}") == repo.git(
        "rev-parse", second + "^{tree}")


def test_a_later_change_is_another_snapshot(repo):
    repo.write("code.py", "one\n")
    repo.run("true")
    first = git_of(repo)["snapshot"]
    repo.write("code.py", "two\n")
    repo.run("true")
    second = git_of(repo)["snapshot"]
    assert repo.git("show", first + ":code.py") == "one\n"
    assert repo.git("show", second + ":code.py") == "two\n"


def test_the_snapshot_is_of_the_code_before_the_command_changed_it(repo):
    repo.write("code.py", "before\n")
    repo.sh("sleep 0.5; echo after >code.py")
    assert repo.git("show", git_of(repo)["snapshot"] + ":code.py") == (
        "before\n")


def test_outputs_are_not_taken_for_uncommitted_code_of_their_own_run(repo):
    """The look at the tree and the first write of the command race."""
    for i in range(12):
        repo.sh(f"echo result >result{i}.txt")
        assert git_of(repo)["dirty"] is False
        os.unlink(repo.path(f"result{i}.txt"))


def test_outputs_of_the_run_are_seen_by_the_next_look(repo):
    repo.sh("echo result >result.txt")
    repo.run("true")
    assert git_of(repo)["dirty"] is True


def test_snapshots_can_be_switched_off(repo):
    repo("config", "set", "git.snapshot", "false")
    repo.write("code.py", "changed\n")
    repo.run("true")
    assert git_of(repo)["dirty"] is True
    assert git_of(repo)["snapshot"] is None
    assert repo.git("for-each-ref", "refs/roar") == ""


def test_remote_and_detached_head(repo):
    repo.git("remote", "add", "origin", "https://example.org/team/x.git")
    repo.git("checkout", "-q", "--detach")
    repo.run("true")
    git = git_of(repo)
    assert git["remote"] == "https://example.org/team/x.git"
    assert git["branch"] is None
    assert git["commit"] == repo.git("rev-parse", "HEAD").strip()


def test_a_repository_without_commit(empty):
    empty.git("init", "-q")
    empty.write("code.py", "x\n")
    empty("init", "-y")
    empty.run("true")
    git = git_of(empty)
    assert git["commit"] is None
    assert git["branch"] == "main"
    assert git["dirty"] is True
    if git["snapshot"]:
        assert empty.git("show", git["snapshot"] + ":code.py") == "x\n"


def test_a_folder_below_the_root_of_the_repository(repo):
    os.mkdir(repo.path("sub"))
    repo.write("sub/more.py", "x\n")
    repo.run("true", cwd=repo.path("sub"))
    git = git_of(repo)
    assert git["root"] == repo.root
    assert repo.git("show", git["snapshot"] + ":sub/more.py") == "x\n"


def test_a_work_tree_of_git(repo):
    repo.git("worktree", "add", "-q", "-b", "side", "../side")
    side = os.path.join(repo.base, "side")
    repo("run", "-q", "true", cwd=side)
    repo("init", "-n", "--path", side, cwd=side)
    done = repo.json("log", cwd=side)
    uid = done["jobs"][0]["job_uid"]
    git = repo.json("show", uid, cwd=side)["git"]
    assert git["branch"] == "side"


def test_a_commit_between_runs_is_noticed(repo):
    repo.run("true")
    first = git_of(repo)["commit"]
    repo.write("code.py", "changed\n")
    repo.commit("second")
    repo.run("true")
    second = git_of(repo)
    assert second["commit"] != first
    assert second["dirty"] is False


def test_a_change_of_the_same_size_is_noticed_at_once(repo):
    repo.run("true")
    text = repo.read("code.py")
    repo.write("code.py", text[::-1], age=0)
    repo.run("true")
    assert git_of(repo)["dirty"] is True


def test_the_command_may_use_git_itself(repo):
    repo.sh("echo x >x; git add x; git commit -q -m inside; git log --oneline")
    assert repo.git("status", "--porcelain") == ""


def test_without_git_installed_the_run_works(repo):
    repo.write("code.py", "changed\n")
    repo.run("/bin/echo", "hi", env={"PATH": "/nowhere"})
    assert git_of(repo)["commit"] == repo.git("rev-parse", "HEAD").strip()


def test_a_broken_repository_does_not_stop_the_run(repo):
    repo.write(".git/HEAD", "garbage\n")
    done = repo("run", "sh", "-c", "echo works")
    assert done.out == "works\n"
    assert len(repo.jobs()) == 1


def test_a_repository_of_someone_else_is_no_danger(user):
    """git's own programs must not run hooks or filters of strangers."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make a file of another user")
    user.git("init", "-q")
    user.write("code.py", "x\n")
    os.chown(user.path(".git"), 0, 0)
    user.run("true")
    assert len(user.jobs()) == 1


def test_git_variables_of_the_environment_are_left_to_the_command(repo):
    done = repo.sh("echo $GIT_DIR", env={"GIT_DIR": "/nowhere"})
    assert done.out == "/nowhere\n"


def test_no_git_process_is_left_behind(repo):
    repo.write("code.py", "changed\n")
    for _ in range(5):
        repo.run("true")
    assert repo.leftovers() == []
    assert not repo.exists(".git/index.lock")


# ---- what is left out of a snapshot ----

SECRETS = [".env.local", ".env.production", ".envrc", "credentials.json",
           "client_secret.json", "service-account.json", "key.pem",
           "server.key", "kaggle.json", "secrets.toml",
           ".streamlit/secrets.toml", "token.txt", ".env", "id_rsa", ".netrc"]


def names_in(place, snapshot):
    return place.git("ls-tree", "-r", "--name-only", snapshot).split()


def test_credentials_are_in_no_snapshot_and_every_one_is_named(repo):
    os.mkdir(repo.path(".streamlit"))
    for name in SECRETS:
        repo.write(name, f"secret of {name}\n", age=0)
    repo.write("code.py", "print('changed')\n")
    repo.run("true")
    git = git_of(repo)
    assert not set(SECRETS) & set(names_in(repo, git["snapshot"]))
    assert {f["path"] for f in git["left_out"]} == set(SECRETS)
    assert {f["reason"] for f in git["left_out"]} == {"credentials"}
    assert git["left_out_count"] == len(SECRETS)
    assert f"{len(SECRETS)} uncommitted files are not in the snapshot: " in (
        git["note"])
    assert f"(credentials) and {len(SECRETS) - 4} more" in git["note"]
    packed = repo.git("cat-file", "--batch-all-objects", "--batch")
    assert "secret of" not in packed


def test_code_with_a_name_like_pythons_is_in_the_snapshot(repo):
    os.mkdir(repo.path("bin"))
    repo.write("bin/python-job.sh", "echo mine\n")
    repo.run("sh", "bin/python-job.sh")
    git = git_of(repo)
    assert repo.git("show", git["snapshot"] + ":bin/python-job.sh") == (
        "echo mine\n")
    assert git["left_out"] == [] and git["note"] is None


def test_the_line_of_a_run_says_what_is_not_in_the_snapshot(repo):
    repo.write(".env.local", "A=b\n")
    repo.write("big.py", "x" * (1 << 20) + "\n")
    repo.write("code.py", "print('changed')\n")
    done = repo("run", "true")
    assert (", not in the snapshot: .env.local (credentials) and 1 more, "
            in done.err)


def test_the_block_counts_what_is_in_the_snapshot(repo):
    repo.write(".env.local", "A=b\n")
    repo.write("big.py", "x" * (1 << 20) + "\n")
    repo.write("code.py", "print('changed')\n")
    done = repo("run", "-v", "true")
    git = git_of(repo)
    assert (f", 3 uncommitted, 1 of them in snapshot {git['snapshot'][:12]}\n"
            in done.err)
    assert ("2 uncommitted files are not in the snapshot: "
            ".env.local (credentials), big.py (too large)\n") in done.err
    os.unlink(repo.path("code.py"))
    repo.git("checkout", "code.py")
    done = repo("run", "-v", "true")
    assert ", 2 uncommitted, no snapshot\n" in done.err
    assert "2 uncommitted files are in no snapshot: " in done.err
    os.unlink(repo.path(".env.local"))
    os.unlink(repo.path("big.py"))
    repo.write("code.py", "print('changed')\n")
    done = repo("run", "-v", "true")
    assert ", 1 uncommitted, in snapshot " in done.err


def test_the_list_of_what_is_left_out_holds_the_first_hundred(repo):
    for i in range(120):
        repo.write(f"{i:03}.key", "x\n", age=0)
    repo.run("true")
    git = git_of(repo)
    assert len(git["left_out"]) == 100
    assert git["left_out_count"] == 120
    assert "and 116 more" in git["note"]


# ---- clean, dirty, or not known ----

def test_without_git_it_is_not_known_whether_the_tree_is_clean(repo):
    repo.write("code.py", "changed\n")
    done = repo("run", "/bin/echo", "hi", env={"PATH": "/nowhere"})
    git = git_of(repo)
    assert git["dirty"] is None
    assert "git is not installed" in git["note"]
    assert ", git state unknown, " in done.err
    done = repo("run", "-v", "/bin/echo", "hi", env={"PATH": "/nowhere"})
    assert ", state unknown\n" in done.err
    assert "git is not installed\n" in done.err
    assert ", state unknown\n" in repo("show", "@1").out


def test_of_a_repository_that_git_refuses_nothing_is_claimed(repo):
    """Root in another's folder: "dubious ownership"."""
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    for folder, _, names in os.walk(repo.path(".git")):
        for name in [folder] + [os.path.join(folder, n) for n in names]:
            os.chown(name, 65534, 65534)
    os.chown(repo.root, 65534, 65534)
    repo.write("code.py", "changed\n")
    repo.run("true")
    git = git_of(repo)
    assert git["dirty"] is None and git["snapshot"] is None
    assert "dubious ownership" in git["note"]


def test_changes_inside_a_submodule_are_not_called_clean(repo):
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q",
             repo.root, "part")
    repo.commit()
    repo.write("part/code.py", "print('changed inside')\n")
    repo.run("true")
    assert git_of(repo)["dirty"] is None
    repo.write("code.py", "changed\n")
    repo.run("true")
    assert git_of(repo)["dirty"] is True


def test_bytecode_of_python_does_not_make_a_tree_dirty(repo):
    os.mkdir(repo.path("__pycache__"))
    repo.write("__pycache__/code.cpython-311.pyc", "x\n")
    repo.run("true")
    assert git_of(repo)["dirty"] is False
    assert git_of(repo)["note"] is None


def test_sudo_leaves_the_repository_to_its_owner(repo):
    if os.geteuid() != 0:
        pytest.skip("needs root to be sudo")
    everyone = [repo.base, repo.home, repo.root]
    for folder, _, names in os.walk(repo.root):
        everyone += [folder] + [os.path.join(folder, n) for n in names]
    for name in everyone:
        os.chown(name, 65534, 65534, follow_symlinks=False)
    repo.write("code.py", "print('changed')\n")
    repo.env["SUDO_UID"] = "65534"
    repo.run("cat", "code.py")
    git = git_of(repo)
    assert git["dirty"] is True and git["note"] is None
    roots = [os.path.join(folder, n)
             for folder, folders, names in os.walk(repo.path(".git"))
             for n in folders + names
             if os.lstat(os.path.join(folder, n)).st_uid == 0]
    assert roots == []
    assert repo.git("-c", "safe.directory=*", "cat-file", "-t",
                    git["snapshot"]).strip() == "commit"
