"""`lra sandbox` and what `lra doctor` says of it."""

import json

import pytest


def test_doctor_tries_the_sandboxes_for_real(lra):
    code, out, _ = lra("sandbox", "doctor", "--json")
    probes = {probe["backend"]: probe for probe in json.loads(out)}

    assert code == 0
    assert probes["bubblewrap"]["ok"]
    assert "seccomp" in probes["bubblewrap"]["isolation"]


def test_doctor_says_what_mends_it(lra, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    code, out, _ = lra("sandbox", "doctor")

    assert code == 1
    assert "bubblewrap is not installed" in out
    assert "DOCKER_HOST" in out


def test_the_general_doctor_mentions_it(lra):
    checks = json.loads(lra("doctor", "--json")[1])

    [check] = [check for check in checks if check["name"] == "sandbox"]
    assert check["state"] == "ok"
    assert "bubblewrap" in check["detail"]


@pytest.mark.parametrize("requirement", ["../evil", "--index-url=http://evil.example"])
def test_prepare_takes_names_only(lra, requirement):
    code, _, err = lra("sandbox", "prepare", "--", requirement)

    assert code == 2
    assert "is not the name of a package" in err


def test_an_open_address_needs_a_key(lra, monkeypatch):
    monkeypatch.delenv("SANDBOX_API_KEY", raising=False)
    code, _, err = lra("sandbox", "serve", "--host", "0.0.0.0")

    assert code == 2
    assert "SANDBOX_API_KEY" in err
