import json


def test_what_was_spent_is_told(lra):
    lra("ask", "--session", "talk", "Hello")
    code, out, _ = lra("usage", "--json")
    assert code == 0
    spent = json.loads(out)
    assert spent["total"]["requests"] >= 1
    assert list(spent["sessions"]) == ["talk"]
    code, out, _ = lra("usage", "--range", "7d", "--tz", "UTC")
    assert code == 0
    assert out.splitlines()[-1].startswith("total\t7d\t")


def test_a_home_without_a_database_has_spent_nothing(lra):
    code, out, err = lra("usage")
    assert (code, out) == (0, "")
    assert "Nothing was spent" in err


def test_a_zone_that_is_none_is_a_mistake(lra):
    assert lra("usage", "--tz", "Nowhere")[0] == 2


def test_a_session_is_exported_and_taken_over(lra, tmp_path):
    lra("ask", "--session", "talk", "Hello")
    file = tmp_path / "talk.jsonl"
    lra("sessions", "export", "talk", "--format", "jsonl", "-o", str(file))
    code, out, _ = lra("sessions", "import", str(file), "--json")
    assert code == 0
    copy = json.loads(out)
    assert copy["id"] != "talk"
    shown = json.loads(lra("sessions", "show", copy["id"], "--json")[1])
    old = json.loads(lra("sessions", "show", "talk", "--json")[1])
    assert [turn["prompt"] for turn in shown["turns"]] == ["Hello"]
    assert shown["turns"][0]["answer"] == old["turns"][0]["answer"]
    lra("sessions", "delete", "talk", "--yes")
    code, out, _ = lra("sessions", "import", str(file))
    assert out.strip() == "talk"


def test_what_is_no_export_is_refused(lra, tmp_path):
    file = tmp_path / "x"
    file.write_text("spell", encoding="utf-8")
    code, _, err = lra("sessions", "import", str(file))
    assert code == 2
    assert "Line 1" in err


def test_the_next_request_is_shown_with_its_rules(lra):
    assert lra("context")[0] == 2
    lra("ask", "Hello", "--session", "s")
    lra("rules", "pin", "Be brief.")
    code, out, _ = lra("context", "s")
    assert code == 0
    assert "tokens in the next request" in out
    assert "- Be brief." in out
    told = json.loads(lra("context", "--json")[1])
    assert told["shares"]["block"] == 0


def test_a_budget_is_shown_and_raised_and_the_turn_goes_on(lra, monkeypatch):
    monkeypatch.setenv("LRA_BUDGET__SESSION__STEPS", "1")
    assert lra("ask", "--session", "talk", "plan")[0] == 5
    code, out, _ = lra("budget", "show", "--session", "talk", "--json")
    [line] = json.loads(out)
    assert (code, line["scope"], line["resource"], line["spent"]) == (0, "session", "steps", 1)
    code, out, err = lra("budget", "raise", "--session", "talk")
    assert (code, out.strip()) == (0, "Planned.")
    assert "Turns that go on: 1" in err
    assert "session talk\tsteps\t2\t0\t2\t100%" in lra("budget", "show", "-s", "talk")[1]


def test_without_limits_there_is_nothing_to_show_or_to_raise(lra):
    code, out, err = lra("budget")
    assert (code, out) == (0, "")
    assert "budget.day" in err
    code, _, err = lra("budget", "raise", "--tokens", "5")
    assert code == 2
    assert "raises no limit of a day" in err
    assert lra("budget", "raise", "--tokens", "-5")[0] == 2
    assert lra("budget", "show", "--session", "nobody")[0] == 3


def test_a_check_passes_or_names_what_is_missing(lra):
    assert lra("context", "check")[0] == 2
    assert lra("context", "check", "nobody")[0] == 3
    lra("ask", "Recite the herons.", "--session", "s")
    code, out, _ = lra("context", "check", "s")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["recall", "continuation"]
    assert all(line.endswith(" passed") for line in out.splitlines())

    lra("rules", "pin", "Be brief.")
    code, out, _ = lra("context", "check")
    assert code == 1
    rules, *others = out.splitlines()
    assert rules.startswith("recall ")
    assert rules.endswith(" missing: Be brief.")
    assert all(line.endswith(" passed") for line in others)
    code, out, _ = lra("context", "check", "s", "--json")
    assert code == 1
    assert [each["missing"] for each in json.loads(out)] == [["Be brief."], [], []]
    # A session of that name is shown as any other.
    assert lra("context", "show", "s")[1] == lra("context", "s")[1]


def test_a_check_without_a_model_says_so(lra, monkeypatch):
    lra("ask", "Recite the herons.", "--session", "s")
    monkeypatch.delenv("AGENT_MODEL")
    monkeypatch.delenv("AGENT_MODEL_URL")
    code, out, err = lra("context", "check", "s")
    assert (code, out) == (1, "")
    assert "model" in err
