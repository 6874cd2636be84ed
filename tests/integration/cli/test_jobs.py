"""Jobs at the terminal."""

import json

import pytest


def test_a_job_is_added_shown_run_paused_and_removed(lra):
    code, told, _ = lra(
        "jobs", "add", "Morning", "daily 09:00", "Say hello.", "--zone", "Asia/Tokyo"
    )
    assert code == 0
    assert "morning (active)" in told
    assert told.count("+0900") == 5
    listed = json.loads(lra("jobs", "list", "--json")[1])
    assert [each["job"]["id"] for each in listed] == ["morning"]
    code, told, _ = lra("jobs", "run", "morning")
    assert (code, "ran done" in told, "Hello there" in told) == (0, True, True)
    [fired] = json.loads(lra("jobs", "history", "morning", "--json")[1])
    assert (fired["firing"]["outcome"], fired["status"]) == ("ran", "done")
    assert "paused" in lra("jobs", "pause", "morning")[1]
    assert "Every hour" in lra("jobs", "edit", "morning", "--schedule", "every 1h")[1]
    assert "active" in lra("jobs", "resume", "morning")[1]
    assert lra("jobs", "remove", "morning")[0] == 0
    assert "There are no jobs" in lra("jobs", "list")[2]


def test_what_a_job_watches_and_tells_is_said_and_shown(lra):
    code, told, _ = lra(
        "jobs", "add", "Releases", "watch 1h", "What is new?", "--watch", "git ls-remote",
        "--expect-every", "2d", "--notify", "result", "--notify", "silence",
    )  # fmt: skip
    assert code == 0
    assert "Every hour, if what is watched has changed" in told
    for line in ("Watches: git ls-remote", "2 days", "Tells of: result, silence"):
        assert line in told
    assert lra("jobs", "edit", "releases", "--expect-every", "soon")[0] == 2
    code, _, wrong = lra("jobs", "add", "Odd", "sometimes", "What?")
    assert (code, "every 30m, daily 09:00" in wrong) == (2, True)
    assert lra("jobs", "hook", "releases")[0] == 2
    assert lra("jobs", "add", "Deploy", "webhook", "Look at it.", "--overlap", "queue")[0] == 0
    code, secret, said = lra("jobs", "hook", "deploy")
    assert (code, secret.startswith("whsec_"), "/hooks/deploy" in said) == (0, True, True)
    assert lra("tokens", "create", "ci", "--scope", "hook:deploy")[0] == 0
    assert lra("tokens", "create", "ci", "--scope", "hooks")[0] == 2


def test_jobs_go_out_and_come_in_as_a_file(lra, tmp_path):
    lra("jobs", "add", "Morning", "daily 09:00", "Say hello.", "--tokens", "5000")
    file = tmp_path / "jobs.json"
    file.write_text(lra("jobs", "export")[1])
    lra("jobs", "remove", "morning")
    assert lra("jobs", "import", str(file))[0] == 0
    assert (
        json.loads(lra("jobs", "show", "morning", "--json")[1])["job"]["limits"]["tokens"] == 5000
    )


def test_what_is_told_is_shown_without_the_secret_of_its_address(lra, monkeypatch):
    assert "notices.urls" in lra("jobs", "notices")[2]
    monkeypatch.setenv("LRA_NOTICES__URLS", "http://127.0.0.1:9/S3CRET")
    added = ["jobs", "add", "Morning", "manual", "Say hello.", "--expect-every", "3600"]
    assert lra(*added, "--notify", "result", "--notify", "failure")[0] == 0
    assert lra("jobs", "run", "morning")[0] == 0
    told = lra("jobs", "notices")[1]
    assert "http://127.0.0.1:9 (" in told
    assert "Morning: done" in told
    assert lra("jobs", "edit", "morning", "--notify", "none")[0] == 0
    job = json.loads(lra("jobs", "show", "morning", "--json")[1])["job"]
    assert (job["notify"], job["expect_every"]) == ([], 3600)
    checks = {each["name"]: each for each in json.loads(lra("doctor", "--json")[1])}
    assert (checks["notices"]["state"], "127.0.0.1:9" in checks["notices"]["detail"]) == (
        "ok",
        True,
    )
    assert "[redacted]" in lra("config", "notices.urls")[1]
    assert "S3CRET" not in told + json.dumps(checks) + lra("config")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["add", "X", "sometimes", "Go."], 2, "sometimes"),
        (["add", "X", "at 2001-01-01T00:00", "Go."], 2, "in the past"),
        (["add", "X", "daily 09:00", "Go.", "--zone", "Mars"], 2, "Mars"),
        (["add", "X", "manual", "Go.", "--notify", "all"], 2, "notify"),
        (["add", "X", "manual", "Go.", "--expect-every", "5"], 2, "expect_every"),
        (["show", "nobody"], 3, "nobody"),
        (["run", "nobody"], 3, "nobody"),
    ],
)
def test_what_is_wrong_is_said_with_its_code(lra, arguments, code, said):
    got, _, told = lra("jobs", *arguments)
    assert (got, said in told) == (code, True)
