"""Secrets are taken out before anything reaches the disk."""

import os
import time

import pytest

from helpers import until

SECRET = "s3cr3tValue0987654321zyx"


def raw_bytes(place):
    """All that stands below .roar/, read from the disk."""
    found = {}
    for folder, _, names in os.walk(place.path(".roar")):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[path] = f.read()
    return found


def assert_clean(place, secret=SECRET):
    for path, data in raw_bytes(place).items():
        assert secret.encode() not in data, path


@pytest.mark.parametrize("words", [
    ["--api-key", SECRET],
    ["--api-key=" + SECRET],
    ["--token", SECRET],
    ["--password=" + SECRET],
    ["DB_PASSWORD=" + SECRET],
    ["https://user:" + SECRET + "@example.org/x"],
    ["-H", "Authorization: Bearer " + SECRET],
    ["{\"client_secret\": \"" + SECRET + "\"}"],
])
def test_secrets_of_the_command_line(project, words):
    project.run("true", *words)
    assert_clean(project)
    assert "[REDACTED]" in project.last()["command"]


@pytest.mark.parametrize("program, words", [
    ("curl", ["-u", "me:" + SECRET, "http://localhost"]),
    ("curl", ["-sSume:" + SECRET]),
    ("http", ["--auth=me:" + SECRET]),
    ("mysql", ["-u", "root", "-p" + SECRET]),
    ("sshpass", ["-p", SECRET, "true"]),
])
def test_passwords_of_known_programs(project, program, words):
    """Typed, in a script, and in the command line of a child that is itself
    a script."""
    project.write(f"bin/{program}", "#!/bin/sh\n", mode=0o755)
    tool = project.path("bin", program)
    project.run(tool, *words)
    project.sh(f"{tool} {' '.join(words)}; :")
    quoted = " ".join(f"'{word}'" for word in words)
    project.sh(f"{tool} {quoted}; :")
    assert_clean(project)
    assert "[REDACTED]" in project.last()["command"]


def test_what_looks_alike_is_no_password(project):
    words = ["run", "-u", "1000:1000", "-p", "8080:80"]
    project.write("bin/docker", "#!/bin/sh\n", mode=0o755)
    project.run(project.path("bin", "docker"), *words)
    assert project.last()["command"].endswith(" ".join(words))


@pytest.mark.parametrize("token", [
    "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3",
    "sk-ant-api03-" + "a1B2c3D4e5" * 4,
    "hf_" + "abcdefghijKLMNOPQRST" + "abcdefghijKLMN",
    "AKIA" + "IOSFODNN7ABCDEFG",
])
def test_tokens_that_are_recognisable_by_themselves(project, token):
    project.run("true", "some", token, "thing")
    assert_clean(project, token)


def test_secrets_of_the_environment_wherever_they_appear(project):
    project.run("true", "prefix-" + SECRET + "-suffix",
                env={"HF_TOKEN": SECRET})
    assert_clean(project)


def test_secrets_in_what_a_user_says_of_the_run(project):
    token = "hf_" + "aB3" * 11
    project("run", "-q", "--name", "with " + SECRET,
            "--add-tag", "source=https://me:" + SECRET + "@host/x",
            "--add-tag", "classification=" + token,
            "--add-tag", "license=MIT", "--", "sh", "-c", "echo x >out",
            env={"MY_TOKEN": SECRET})
    assert_clean(project)
    assert_clean(project, token)
    assert project.last()["name"] == "with [REDACTED]"
    shown = project("show", "out").out
    assert "license=MIT" in shown
    assert "classification=[REDACTED]" in shown


def test_secrets_of_children(project):
    project.sh("/bin/true --password $PASSWORD; /bin/true --token=$PASSWORD",
               env={"PASSWORD": SECRET})
    assert_clean(project)
    commands = [p["command"] for p in project.last("--all")["processes"]]
    assert any("[REDACTED]" in c for c in commands)


def test_secrets_are_not_in_the_journal_while_the_command_runs(project):
    process = project.popen(
        "run", "-q", "sh", "-c",
        "/bin/true --api-key $MY_API_KEY; : >ready; sleep 2", "x",
        "--api-key", SECRET, env={"MY_API_KEY": SECRET})
    until(lambda: project.exists("ready"), "the command")
    time.sleep(0.2)
    assert project.journals()
    assert_clean(project)
    process.communicate(timeout=60)
    assert_clean(project)


def test_a_name_of_ones_own(project):
    project("config", "set", "redact.names", "magic-word")
    project.run("true", "--magic-word", SECRET)
    assert_clean(project)


def test_names_that_only_sound_secret_stay(project):
    project.run("true", "--tokenizer", "bert-base", "--num-tokens", "1024")
    assert project.last()["command"] == (
        "true --tokenizer bert-base --num-tokens 1024")


def test_the_command_itself_gets_its_secrets(project):
    done = project.run("echo", "--api-key", SECRET)
    assert done.out == f"--api-key {SECRET}\n"


def test_roar_says_no_secret(project):
    done = project("run", "-v", "true", "--api-key", SECRET)
    assert SECRET not in done.err
    for args in (["log"], ["show", "@1"], ["dag"], ["status"]):
        assert SECRET not in project(*args).out


def test_remote_of_git_is_recorded_without_its_password(repo):
    repo.git("remote", "add", "origin",
             f"https://me:{SECRET}@example.org/x.git")
    repo.run("true")
    assert_clean(repo)
    assert SECRET not in (repo.last()["git"]["remote"] or "")
