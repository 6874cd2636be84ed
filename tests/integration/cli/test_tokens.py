"""`lra tokens` on a home that nobody serves."""

import json

from long_running_agents.domain.auth import plausible


def test_a_token_is_shown_once_and_on_stdout_alone(lra):
    code, out, err = lra("tokens", "create", "phone")
    secret = out.strip()
    listed = lra("tokens", "list")

    assert code == 0
    assert plausible(secret)
    assert out == f"{secret}\n"
    assert secret not in err + listed[1] + listed[2]
    assert listed[1].split("\t")[1:4] == ["me", "approve, chat, read", "never"]


def test_a_token_is_made_as_it_was_wished_for(lra):
    made = json.loads(
        lra(
            "tokens", "create", "laptop", "--owner", "anne", "--scope", "read", "--scope", "admin",
            "--expires", "30d", "--json",
        )[1]
    )  # fmt: skip
    listed = json.loads(lra("tokens", "list", "--json")[1])

    assert (made["owner"], made["scopes"]) == ("anne", ["admin", "read"])
    assert made["created_at"] < made["expires_at"]
    assert listed == [{key: value for key, value in made.items() if key != "secret"}]


def test_a_rotated_token_is_another_and_a_revoked_one_is_gone(lra):
    made = json.loads(lra("tokens", "create", "phone", "--json")[1])
    rotated = json.loads(lra("tokens", "rotate", made["id"], "--json")[1])
    revoked = lra("tokens", "revoke", made["id"])

    assert rotated["id"] == made["id"]
    assert rotated["secret"] != made["secret"]
    assert revoked[0] == 0
    assert lra("tokens", "list", "--json")[1] == "[]\n"
    assert json.loads(lra("tokens", "list", "--all", "--json")[1])[0]["revoked_at"]
    assert lra("tokens", "revoke", made["id"])[0] == 75
    assert lra("tokens", "rotate", "token_x")[0] == 3


def test_what_cannot_be_is_refused(lra):
    assert lra("tokens", "create", "")[0] == 2
    assert lra("tokens", "create", "x", "--scope", "root")[0] == 2
    assert lra("tokens", "create", "x", "--expires", "2001-01-01")[0] == 2
    assert lra("tokens", "create", "x", "--expires", "soon")[0] == 2
    assert lra("tokens", "create", "x", "--expires", "99999y")[0] == 2
    assert lra("tokens", "list")[1] == ""
