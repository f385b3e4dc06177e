"""`roar config`, `roar env` and `roar filter` keep the settings."""

from helpers import lines


# ---- config ----

def test_config_set_get_round_trip(project):
    assert project("config", "set", "output.quiet", "yes").out == (
        "Set output.quiet = true\n")
    assert project("config", "get", "output.quiet").out == "true\n"
    assert project.json("config", "get", "output.quiet") is True


def test_config_unset_goes_back_to_the_default(project):
    project("config", "set", "output.verbosity", "debug")
    project("config", "unset", "output.verbosity")
    assert project("config", "get", "output.verbosity").out == "normal\n"


def test_config_without_words_lists_every_key(project):
    listed = {line.split()[0] for line in lines(project("config").out)}
    assert {"output.verbosity", "filters.ignore_system_reads", "hash.run",
            "tracer.default", "git.snapshot"} <= listed
    assert listed == {row["key"] for row in project.json("config", "list")}


def test_config_lists_are_typed_with_commas(project):
    project("config", "set", "hash.run", "sha256, md5")
    assert project("config", "get", "hash.run").out == "sha256\nmd5\n"
    assert project.json("config", "get", "hash.run") == ["sha256", "md5"]


def test_config_keeps_comments_and_keys_of_others(project):
    path = project.path(".roar", "config.toml")
    with open(path, "a", encoding="utf-8") as f:
        f.write("\n# mine\n[someone]\nelse = 1\n")
    project("config", "set", "output.quiet", "true")
    text = project.read(".roar/config.toml").decode()
    assert "# mine" in text
    assert "else = 1" in text


def test_config_warns_of_unknown_keys_but_works(project):
    with open(project.path(".roar", "config.toml"), "a",
              encoding="utf-8") as f:
        f.write("\n[someone]\nelse = 1\n")
    done = project("config", "list")
    assert "someone.else" in done.err
    project.run("true")


def test_config_refuses_a_wrong_value_and_changes_nothing(project):
    before = project.read(".roar/config.toml")
    for key, value in (("output.quiet", "maybe"), ("hash.run", "crc32"),
                       ("hash.primary", "sha256"), ("tracer.default", "x"),
                       ("no.such", "1")):
        done = project("config", "set", key, value, code=2)
        assert len(lines(done.err)) == 1
        assert project.read(".roar/config.toml") == before


def test_config_suggests_the_key_that_was_meant(project):
    assert "output.quiet" in project("config", "get", "output.quit",
                                     code=2).err


def test_a_broken_config_file_is_named_with_its_line(project):
    project.write(".roar/config.toml", "[output\n")
    done = project("config", "list", code=1)
    assert "line 1" in done.err
    assert "config.toml" in done.err


def test_a_broken_config_file_does_not_stop_the_command(project):
    project.write(".roar/config.toml", "[output\n")
    done = project("run", "sh", "-c", "echo works; exit 3", code=3)
    assert done.out == "works\n"
    assert "config.toml" in done.err


def test_output_quiet_silences_runs(project):
    project("config", "set", "output.quiet", "true")
    assert project("run", "true").err == ""


# ---- env ----

def test_env_set_get_list_unset(project):
    assert project("env", "set", "NAME", "a value").out == (
        "Set NAME=a value\n")
    assert project("env", "get", "NAME").out == "a value\n"
    assert project("env", "list").out == "NAME=a value\n"
    assert project.json("env", "list") == {"NAME": "a value"}
    project("env", "unset", "NAME")
    assert project.json("env", "list") == {}
    assert "NAME" in project("env", "get", "NAME", code=1).err


def test_env_reaches_the_command_of_run_and_build(project):
    project("env", "set", "NAME", "a value")
    show = ["sh", "-c", "printf %s \"$NAME\""]
    assert project.run(*show).out == "a value"
    assert project("build", "-q", *show).out == "a value"
    project("env", "unset", "NAME")
    assert project.run(*show).out == ""


def test_env_wins_over_the_environment_of_the_caller(project):
    project("env", "set", "NAME", "project")
    show = ["sh", "-c", "printf %s \"$NAME\""]
    assert project.run(*show, env={"NAME": "shell"}).out == "project"


def test_env_masks_secret_names_unless_asked(project):
    project("env", "set", "HF_TOKEN", "abcdefgh12345678")
    assert "abcdefgh12345678" not in project("env", "list").out
    assert "abcdefgh12345678" in project("env", "list", "--show").out
    assert project("env", "get", "HF_TOKEN").out == "abcdefgh12345678\n"


def test_env_value_that_starts_with_a_dash(project):
    project("env", "set", "--", "FLAGS", "-O2")
    assert project("env", "get", "FLAGS").out == "-O2\n"


def test_env_refuses_names_that_no_variable_has(project):
    for name in ("1A", "A-B", "", "A=B"):
        done = project("env", "set", name, "x", code=2)
        assert len(lines(done.err)) == 1
    assert project.json("env", "list") == {}


# ---- filter ----

def test_filter_add_list_remove(project):
    project("filter", "add", "*.log", "/mnt/scratch")
    listed = project.json("filter", "list")
    assert listed["patterns"] == ["*.log", "/mnt/scratch"]
    assert {"name": "system", "key": "filters.ignore_system_reads",
            "on": True} in listed["filters"]
    assert "*.log" in project("filter", "list").out
    project("filter", "remove", "*.log")
    assert project.json("filter", "list")["patterns"] == ["/mnt/scratch"]


def test_filter_add_twice_is_once(project):
    project("filter", "add", "*.log")
    project("filter", "add", "*.log")
    assert project.json("filter", "list")["patterns"] == ["*.log"]


def test_filter_remove_without_a_match_fails_and_changes_nothing(project):
    project("filter", "add", "a")
    done = project("filter", "remove", "a", "b", code=1)
    assert len(lines(done.err)) == 1
    assert project.json("filter", "list")["patterns"] == ["a"]


def test_filter_shows_a_switched_off_filter(project):
    project("config", "set", "filters.ignore_tmp_files", "false")
    rows = project.json("filter", "list")["filters"]
    assert [r["on"] for r in rows if r["name"] == "tmp"] == [False]


def test_filter_refuses_a_pattern_that_could_not_match(project):
    for pattern in ("", "../x"):
        done = project("filter", "add", pattern, code=2)
        assert len(lines(done.err)) == 1
    assert project.json("filter", "list")["patterns"] == []


# ---- mistakes in the file ----

def test_a_wrong_value_costs_only_its_own_setting(project):
    project.write(".roar/config.toml",
                  "[output]\nquiet = \"yes\"\n[redact]\nnames = [\"mykey\"]\n"
                  "[env]\nFOO = \"bar\"\n")
    done = project("run", "sh", "-c", "printf %s \"$FOO\"", "--mykey=SECRET",
                   "--other=plain")
    assert done.out == "bar"
    assert "line 2: output.quiet takes true or false" in done.err
    command = project.last()["command"]
    assert "SECRET" not in command
    assert "--other=plain" in command
    assert project("run", "-q", "true").err == ""


def test_unreadable_names_of_secrets_make_all_values_secret(project):
    for text in ("[redact]\nnames = \"mykey\"\n", "[redact\n",
                 "[redact]\nnmaes = [\"mykey\"]\n"):
        project.write(".roar/config.toml", text)
        done = project("run", "true", "--mykey=SECRET", "--my-other", "HIDDEN")
        assert "[REDACTED]" in done.err
        command = project.last()["command"]
        assert "SECRET" not in command
        assert "HIDDEN" not in command


def test_what_has_no_effect_is_said(project):
    for text, said in (("[output]\nquite = true\n", "'output.quiet'"),
                       ("output = 3\n", "the table [output]"),
                       ("[[env]]\nA = 'b'\n", "the table [env]")):
        project.write(".roar/config.toml", text)
        for words in (["run", "true"], ["config", "list"]):
            done = project(*words)
            assert said in done.err
            assert "config.toml' line " in done.err
    project.write(".roar/config.toml", "[someone]\nelse = 1\n")
    assert "someone" not in project("run", "true").err


def test_a_change_that_cannot_be_made_names_the_file(project):
    project.write(".roar/config.toml", "output = 3\n")
    done = project("config", "set", "output.quiet", "true", code=1)
    assert project.path(".roar", "config.toml") in done.err
    assert project.read(".roar/config.toml") == b"output = 3\n"


def test_json_is_printed_or_refused_but_never_ignored(project):
    project("env", "set", "NAME", "a value")
    assert project.json("env", "get", "NAME") == "a value"
    for words in (["env", "set", "A", "b"], ["env", "unset", "NAME"],
                  ["config", "set", "output.quiet", "true"],
                  ["config", "unset", "output.quiet"],
                  ["filter", "add", "x"], ["filter", "remove", "x"]):
        done = project(*words, "--json", code=2)
        assert "takes no option '--json'" in done.err
    assert project.json("env", "list") == {"NAME": "a value"}
