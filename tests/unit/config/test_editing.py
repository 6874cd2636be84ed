import json
import tomllib

import pytest

from long_running_agents.cli.setup import config_toml
from long_running_agents.config import load
from long_running_agents.config.editor import set_values
from long_running_agents.errors import ConfigError

SECTION = "agent.model"


def edited(tmp_path, text, name="config.toml", **values):
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert set_values(tmp_path, SECTION, values) == path
    return path.read_text(encoding="utf-8")


def test_the_commented_line_of_the_template_becomes_the_setting(tmp_path):
    before = config_toml()
    after = edited(tmp_path, before, model_id="ollama:qwen3")

    changed = set(after.splitlines()) ^ set(before.splitlines())
    assert changed == {'model_id = "ollama:qwen3"'}
    assert load(home=tmp_path, environ={}).settings.agent.model.model_id == "ollama:qwen3"


def test_comments_order_and_other_values_stay(tmp_path):
    before = (
        "# mine\n[agent.model] # here\n  model_id = 'old' # the one\nretries = 2\n\n"
        '[agent.model.more]\nmodel_id = "not this"\n'
    )
    after = edited(tmp_path, before, model_id="new", base_url="http://h/v1")

    assert after.splitlines()[:2] == before.splitlines()[:2]
    assert tomllib.loads(after) == {
        "agent": {
            "model": {
                "model_id": "new",
                "base_url": "http://h/v1",
                "retries": 2,
                "more": {"model_id": "not this"},
            }
        }
    }


def test_a_value_is_taken_away_by_a_comment(tmp_path):
    after = edited(tmp_path, '[agent.model]\nbase_url = "x"\n', base_url=None, model_id="m")

    assert '# base_url = "x"' in after
    assert tomllib.loads(after) == {"agent": {"model": {"model_id": "m"}}}


@pytest.mark.parametrize("before", [None, "", 'log_level = "INFO"\n', '[agent]\nname = "x"\n'])
def test_a_section_that_is_missing_is_added(tmp_path, before):
    after = edited(tmp_path, before, model_id='odd "name" \\ é')

    assert tomllib.loads(after)["agent"]["model"] == {"model_id": 'odd "name" \\ é'}
    assert (before or "") in after


def test_a_json_file_stays_one(tmp_path):
    before = {"agent": {"model": {"base_url": "x"}, "name": "y"}}
    after = edited(tmp_path, json.dumps(before), "config.json", model_id="m", base_url=None)

    assert json.loads(after) == {"agent": {"model": {"model_id": "m"}, "name": "y"}}


@pytest.mark.parametrize(
    "before",
    [
        '[agent]\nmodel = { model_id = "x" }\n',
        'agent.model.model_id = "x"\n',
        "agent = 1\n",
        'text = """\n[agent.model]\n"""\n',
    ],
)
def test_what_cannot_be_changed_line_by_line_is_left_alone(tmp_path, before):
    (tmp_path / "config.toml").write_text(before, encoding="utf-8")

    with pytest.raises(ConfigError, match=r'Under \[agent.model\], set model_id = "m"'):
        set_values(tmp_path, SECTION, {"model_id": "m"})
    assert (tmp_path / "config.toml").read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_the_file_is_private_from_the_start(tmp_path):
    edited(tmp_path, None, model_id="m")

    assert (tmp_path / "config.toml").stat().st_mode & 0o777 == 0o600
