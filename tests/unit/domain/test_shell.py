from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain import hazards
from long_running_agents.domain.shell import UNKNOWN, read
from long_running_agents.domain.shell_lexer import HOLE


def programs(text):
    return sorted(read(text).programs)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ls -la", ["ls"]),
        ("", []),
        ("# rm -rf /", []),
        ("echo a # rm -rf /", ["echo"]),
        ("echo '; rm -rf /'", ["echo"]),
        ('echo "; rm -rf /"', ["echo"]),
        ("echo a\\; rm", ["echo"]),
        ("echo x | node", ["echo", "node"]),
        ("echo ok && touch y", ["echo", "touch"]),
        ("echo ok || touch y", ["echo", "touch"]),
        ("echo ok; touch y", ["echo", "touch"]),
        ("echo ok\ntouch y", ["echo", "touch"]),
        ("echo ok & touch y", ["echo", "touch"]),
        ("echo ok \\\n && touch y", ["echo", "touch"]),
        ("echo $(whoami)", ["echo", "whoami"]),
        ("echo `whoami`", ["echo", "whoami"]),
        ('echo "today: $(date +%F)"', ["date", "echo"]),
        ("echo '$(whoami)'", ["echo"]),
        ("echo $(echo $(id))", ["echo", "id"]),
        ("echo ${x:-$(id)}", ["echo", "id"]),
        ("echo $((1 + $(nproc)))", ["echo", "nproc"]),
        ("diff <(sort a) <(sort b)", ["diff", "sort"]),
        ("(cd a && ls)", ["cd", "ls"]),
        ("{ ls; pwd; }", ["ls", "pwd"]),
        ("if [[ -f a && -d b ]]; then ls; else pwd; fi", ["[[", "ls", "pwd"]),
        ("for x in a b; do echo $x; done | sort > out 2>&1", ["echo", "sort"]),
        ("while read line; do echo $line; done < in", ["echo", "read"]),
        ("case $x in a) ls;; b|c) pwd;; esac", ["ls", "pwd"]),
        ("if x; then case $x in a|b) ls;; esac; fi", ["ls", "x"]),
        ("case $(id) in $(pwd)) ls;; esac", ["id", "ls", "pwd"]),
        ("f() { ls; }; f", ["f", "ls"]),
        ("function f { ls; }; f", ["f", "ls"]),
        ("! ls", ["ls"]),
        ("time ls", ["ls"]),
        ("./ls", ["./ls"]),
        ("/bin/ls", ["ls"]),
        ("/tmp/ls", ["/tmp/ls"]),
        ("r\\m x", ["rm"]),
        ("r''m x", ["rm"]),
        ("$'\\x72m' x", ["rm"]),
        ("env sh -c 'touch y'", ["sh", "touch"]),
        ("sh -c \"rm -rf '/tmp/a b'\"", ["rm", "sh"]),
        ("bash -lc 'ls; id'", ["bash", "id", "ls"]),
        ("sudo -u root -- rm x", ["rm", "sudo"]),
        ("nice -n 5 timeout -k 1 10 make", ["make"]),
        ("ls | xargs -n 1 rm", ["ls", "rm", "xargs"]),
        ("find . -name x -exec rm {} ;", ["find", "rm"]),
        ("busybox rm x", ["rm"]),
        ("eval ls -l", ["eval", "ls"]),
        ("bash <<EOF\nrm x\nEOF\nls", ["bash", "ls", "rm"]),
        ("cat <<'EOF' > a.py\nimport os; rm $(x)\nEOF\nls", ["cat", "ls"]),
        ("cat <<EOF\n$(id)\nEOF", ["cat", "id"]),
        ("command -v git", ["command"]),
        ("git -C /x push origin", ["git push"]),
        ("git -c core.pager=evil log", ["git -c"]),
        ("PAGER=evil git log", ["PAGER=", "git log"]),
        ("A=1", []),
        ("A=$(id)", ["id"]),
    ],
)
def test_the_programs_of_a_command_are_found(text, found):
    assert programs(text) == found
    assert read(text).understood


@pytest.mark.parametrize(
    "text",
    [
        "echo 'no end",
        'echo "no end',
        "echo $(no end",
        "echo `no end",
        "echo \\",
        "ls >",
        "$EDITOR x",
        "rm${IFS}-rf${IFS}/",
        'eval "$(printf x)"',
        'sh -c "$1"',
        "env -S 'rm -rf /'",
        "sh -c 'sh -c \"sh -c $X\"'",
    ],
)
def test_what_only_a_running_shell_would_know_is_an_unknown_program(text):
    assert not read(text).understood
    assert UNKNOWN in read(text).programs


def test_a_command_is_read_where_it_runs():
    commands = read("cd src && rm a; (cd /tmp && rm b); rm c; cd $X; rm d; rm /e").commands
    paths = [each.path(each.arguments[-1]) for each in commands if each.program == "rm"]

    assert paths == ["/workspace/src/a", "/tmp/b", "/workspace/src/c", HOLE, "/e"]


def test_redirections_are_files_that_are_read_and_written():
    [command] = read("sort < in.txt > out.txt 2>> err.txt 3>&1 &> all.txt").commands

    assert command.reads == ("in.txt",)
    assert command.writes == ("out.txt", "err.txt", "all.txt")
    assert command.arguments == ()


@pytest.mark.parametrize(
    "text", ["curl x | sh", "bash <(curl x)", 'eval "$(curl x)"', 'sh -c "$(curl x)"']
)
def test_a_program_knows_who_tells_it_what_to_do(text):
    assert read(text).commands[-1].fed_by == "curl"


@given(st.text(alphabet="abrm -/;&|()<>\"'`$\\{}#\n=*", max_size=60))
def test_nothing_a_model_writes_breaks_the_reading(text):
    script = read(text)
    assert script.understood or UNKNOWN in script.programs


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5))
def test_what_is_quoted_is_read_back_as_it_was(words):
    import shlex  # noqa: PLC0415 - only here

    words = ["echo", *(word for word in words if HOLE not in word)]
    [command] = read(shlex.join(words)).commands
    assert list(command.arguments) == words[1:]


@pytest.mark.parametrize(
    "text",
    [
        "[[ a ; " * 20_000,
        "ls; " * 50_000,
        "nohup " * 20_000 + "ls",
        "find . -exec " * 2_000 + "ls ;",
        "if " * 20_000,
        "A=1 " * 20_000 + "ls",
        '"$(' * 5_000,
        "echo " + '"$(echo ' * 3_000 + "x" + ')"' * 3_000,
        "${" * 3_000 + "}" * 3_000,
        "$((" * 3_000 + "))" * 3_000,
        "`" * 20_001,
        "(" * 20_000 + ")" * 20_000,
        "cat <<A\n" * 3_000,
        "cat <<'EOF'\n" + "x = 1\n" * 50_000 + "EOF",
    ],
    ids=lambda text: text[:12],
)
def test_a_command_that_is_made_to_be_slow_is_not_understood_soon(text):
    began = process_time()
    script = read(text)
    list(hazards.of_script(script))
    assert process_time() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        "ls; " * 600 + "rm -rf /",
        f"echo {'x' * 200_000}; rm -rf /",
        "echo $(" * 40 + "rm -rf /" + ")" * 40,
        "nohup " * 1_000 + "rm -rf /",
    ],
    ids=lambda text: text[:12],
)
def test_nothing_hides_behind_length(text):
    script = read(text)
    assert script.endless
    assert not script.understood
    assert list(hazards.of_script(script))
