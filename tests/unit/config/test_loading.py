import json

import pytest

from long_running_agents.config import load
from long_running_agents.config.loader import every_key, value_of
from long_running_agents.config.settings import Settings
from long_running_agents.errors import ConfigError

KEY = "agent.max_loop_iterations"
THIRD_SEED = """
{
  "gateway": { "host": "0.0.0.0", "port": 8000 },
  "agent": {
    "name": "agent_computer Agent",
    "workspace": "./workspace",
    "model": {
      "provider": "lmstudio",
      "model_id": "your-model-id",
      "base_url": "http://10.5.0.2:1234/v1",
      "max_tokens": 8192
    },
    "tools": {
      "allow": ["shell", "read_file", "write_file", "list_directory",
                 "web_fetch", "web_fetch_js", "web_fetch_stealth",
                 "manage_tasks", "memory_search"],
      "require_approval": ["shell"]
    },
    "max_loop_iterations": 15,
    "deep_work": {
      "max_iterations": 200,
      "token_budget": 1500000,
      "warning_threshold": 0.8
    }
  },
  "sessions": { "directory": "./sessions", "max_history_tokens": 100000 },
  "reflection": {
    "enabled": true,
    "model_id": "",
    "max_tokens": 4096,
    "max_sessions_per_startup": 10
  },
  "memory": {
    "enabled": true,
    "embedding_base_url": "http://10.5.0.2:1234/v1",
    "embedding_model": "text-embedding-nomic-embed-text-v1.5",
    "top_k": 5
  }
}
"""


@pytest.fixture
def home(tmp_path):
    """Writes files into a home and loads it."""

    class Writer:
        path = tmp_path

        def write(self, name, text):
            data = text if isinstance(text, bytes) else text.encode()
            (tmp_path / name).write_bytes(data)
            return self

        def load(self, environ=None, **options):
            return load(home=tmp_path, environ=environ or {}, **options)

    return Writer()


def test_each_source_wins_over_the_ones_beneath_it(home):
    home.write("config.toml", "[agent]\nmax_loop_iterations = 2")
    steps = []

    def look(**options):
        loaded = home.load(**options)
        steps.append((value_of(loaded.settings, KEY), loaded.origin(KEY)))

    look()
    home.write(".env", "AGENT_MAX_STEPS=3")
    look()
    look(environ={"AGENT_MAX_STEPS": "4"})
    look(environ={"AGENT_MAX_STEPS": "4"}, flags={KEY: 5})

    assert steps == [
        (2, str(home.path / "config.toml")),
        (3, f"{home.path / '.env'} (AGENT_MAX_STEPS)"),
        (4, "environment (AGENT_MAX_STEPS)"),
        (5, "flag"),
    ]


def test_what_nobody_set_is_a_default(home):
    loaded = home.load()

    assert loaded.settings == Settings()
    assert loaded.origin(KEY) == "default"
    assert loaded.origins == {}


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("AGENT_MODEL", "qwen2.5-coder-7b", "agent.model.model_id", "qwen2.5-coder-7b"),
        ("AGENT_MODEL_URL", "http://localhost:8000/v1", "agent.model.base_url",
         "http://localhost:8000/v1"),
        ("AGENT_MAX_STEPS", "20", KEY, 20),
        ("AGENT_TEMPERATURE", "0.7", "agent.model.temperature", 0.7),
        ("AGENT_ENABLE_SHELL", "false", "agent.tools.enable.shell", False),
        ("AGENT_ENABLE_FILES", "0", "agent.tools.enable.files", False),
        ("AGENT_ENABLE_FETCH", "no", "agent.tools.enable.fetch", False),
        ("AGENT_ENABLE_DATA_VIEW", "off", "agent.tools.enable.data_view", False),
        ("AGENT_ENABLE_PYEXE", "False", "agent.tools.enable.pyexe", False),
        ("AGENT_LOG_LEVEL", "INFO", "log_level", "INFO"),
        ("SANDBOX_URL", "http://localhost:8000", "sandbox.url", "http://localhost:8000"),
        ("DATABASE_URL", "sqlite+aiosqlite:///./data/agent_memory.db", "storage.database_url",
         "sqlite+aiosqlite:///./data/agent_memory.db"),
        ("VECTOR_STORE_PATH", "./data/chroma_db", "storage.vector_store_path", "./data/chroma_db"),
        ("LRA_LOG_LEVEL", "DEBUG", "log_level", "DEBUG"),
        ("LRA_AGENT__MAX_LOOP_ITERATIONS", "9", KEY, 9),
        ("LRA_GATEWAY__PORT", "0", "gateway.port", 0),
        ("LRA_AGENT__MODEL__MODEL_ID", "m", "agent.model.model_id", "m"),
        ("LRA_AGENT__TOOLS__ALLOW", "shell, read_file,", "agent.tools.allow",
         ("shell", "read_file")),
        ("LRA_AGENT__TOOLS__ALLOW", "[]", "agent.tools.allow", ()),
        ("LRA_AGENT__MODEL__FALLBACK", '["a:b", "c:d"]', "agent.model.fallback", ("a:b", "c:d")),
        ("LRA_AGENT__TOOLS__REQUIRE_APPROVAL", "shell", "agent.tools.require_approval",
         ("shell",)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["environment", ".env"])
def test_variables_set_settings(home, name, text, key, value, where):
    if where == ".env":
        loaded = home.write(".env", f"{name}={text}").load()
    else:
        loaded = home.load(environ={name: text})

    assert value_of(loaded.settings, key) == value
    assert name in loaded.origin(key)


def test_every_setting_has_a_variable(home):
    for key in every_key():
        name = "LRA_" + key.upper().replace(".", "__")
        try:
            origin = home.load(environ={name: "1"}).origin(key)
        except ConfigError as refused:
            origin = str(refused)
        assert name in origin


def test_an_empty_variable_sets_nothing_and_hides_nothing(home):
    home.write(".env", "AGENT_MODEL=from-env-file\nOPENAI_API_KEY=sk-from-env-file")

    loaded = home.load(environ={"AGENT_MODEL": "", "OPENAI_API_KEY": ""})

    assert loaded.settings.agent.model.model_id == "from-env-file"
    assert loaded.variables["OPENAI_API_KEY"] == "sk-from-env-file"


def test_the_environment_wins_over_env_file_for_keys(home):
    home.write(".env", "OPENAI_API_KEY=old")

    assert home.load(environ={"OPENAI_API_KEY": "new"}).variables["OPENAI_API_KEY"] == "new"


def test_the_third_seeds_config_loads_unchanged(home):
    loaded = home.write("config.json", THIRD_SEED).load()

    dumped = json.loads(loaded.settings.model_dump_json())

    def contains(whole, part):
        if isinstance(part, dict):
            return all(contains(whole[name], value) for name, value in part.items())
        return whole == part

    assert contains(dumped, json.loads(THIRD_SEED))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.toml", "[agent]\nmax_loop_iteration = 3"),
        ("config.json", '{"agent": {"max_loop_iteration": 3}}'),
    ],
)
def test_an_unknown_key_is_refused_with_a_suggestion(home, name, text):
    with pytest.raises(ConfigError) as refused:
        home.write(name, text).load()

    assert refused.value.message == (
        f"{home.path / name}: unknown setting 'agent.max_loop_iteration'."
    )
    assert refused.value.hint == f"Did you mean {KEY}?"


def test_an_unknown_variable_of_ours_is_refused_and_others_are_not(home):
    home.load(environ={"LRA_SOMETHING": "1", "AGENTX": "1", "PATH": "/bin"})

    with pytest.raises(ConfigError, match=r"LRA_AGNT__NAME.*unknown setting 'agnt.name'"):
        home.load(environ={"LRA_AGNT__NAME": "x"})


def test_a_key_like_nothing_known_points_to_the_list(home):
    with pytest.raises(ConfigError, match="'lra config' lists all keys"):
        home.write("config.toml", "zzzzqqqq = 1").load()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[agent]\nmax_loop_iterations = "many"',
            ["agent.max_loop_iterations = 'many'", "integer"],
        ),
        ("[agent]\nmax_loop_iterations = 0", ["agent.max_loop_iterations = 0", "greater than"]),
        ('log_level = "LOUD"', ["log_level = 'LOUD'", "'DEBUG', 'INFO'"]),
        ('[agent.tools]\nallow = "shell"', ["agent.tools.allow = 'shell'", "valid tuple"]),
        ("[agent.tools]\nallow = [1]", ["agent.tools.allow = 1", "valid string"]),
        ("[agent.limits]\ncost = -1", ["agent.limits.cost = -1", "greater than or equal"]),
        ("agent = 3", ["agent is a section", "Expected a table"]),
    ],
)
def test_a_wrong_value_is_refused_with_file_key_and_expected_form(home, text, words):
    with pytest.raises(ConfigError) as refused:
        home.write("config.toml", text).load()

    for word in [str(home.path / "config.toml"), *words]:
        assert word in str(refused.value)


def test_a_wrong_variable_is_named(home):
    with pytest.raises(ConfigError, match=r"environment \(AGENT_MAX_STEPS\).*'soon'"):
        home.load(environ={"AGENT_MAX_STEPS": "soon"})


def test_a_broken_list_in_a_variable_is_refused(home):
    with pytest.raises(ConfigError, match="LRA_AGENT__TOOLS__ALLOW"):
        home.load(environ={"LRA_AGENT__TOOLS__ALLOW": '["shell"'})


def test_two_config_files_are_one_too_many(home):
    home.write("config.toml", "").write("config.json", "{}")

    with pytest.raises(
        ConfigError, match=r"config.toml and .*config.json are both there. Keep one"
    ):
        home.load()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.toml", "[agent", "is not valid TOML"),
        ("config.json", '{"agent": }', "is not valid JSON: .*line 1"),
        ("config.json", "[1, 2]", "holds no table of settings"),
        ("config.toml", b"name = '\xff'", "cannot be read.*encoding"),
        ("config.json", b'{"a": "\xff"}', "cannot be read.*encoding"),
        (".env", b"A=\xff\xfe", "cannot be read.*encoding"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(home, name, text, words):
    with pytest.raises(ConfigError, match=words) as refused:
        home.write(name, text).load()

    assert str(home.path / name) in str(refused.value)


def test_a_folder_in_place_of_a_file_is_named(home):
    (home.path / "config.toml").mkdir()

    with pytest.raises(ConfigError, match=r"config.toml cannot be read"):
        home.load()


def test_the_home_is_the_flag_then_the_variable_then_the_platforms_folder(tmp_path):
    environ = {"LRA_HOME": str(tmp_path / "variable")}

    assert load(home=tmp_path / "flag", environ=environ).home == tmp_path / "flag"
    assert load(environ=environ).home == tmp_path / "variable"
    assert load(environ={}).home.name == "lra"
    assert not (tmp_path / "variable").exists()


def test_a_home_may_begin_in_the_persons_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert load(home="~/mine", environ={}).home == tmp_path / "mine"


def test_the_process_environment_is_read_unless_another_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_MAX_STEPS", "77")

    assert load(home=tmp_path).settings.agent.max_loop_iterations == 77
    assert load(home=tmp_path, environ={}).settings.agent.max_loop_iterations == 15


def test_values_in_env_files_are_taken_literally(home):
    home.write(".env", "AGENT_MODEL='a${HOME}$b'\nexport DB_PASSWORD=\"x y\"\n# comment\nEMPTY\n")

    loaded = home.load()

    assert loaded.settings.agent.model.model_id == "a${HOME}$b"
    assert loaded.variables["DB_PASSWORD"] == "x y"
    assert "EMPTY" not in loaded.variables


@pytest.mark.parametrize(
    ("environ", "env_file", "text", "shown"),
    [
        ({"MY_API_KEY": "abcdef123"}, "", "abcdef123", "[redacted]"),
        ({"GITHUB_TOKEN": "abcdef123"}, "", "abcdef123", "[redacted]"),
        ({"db_password": "abcdef123"}, "", "abcdef123", "[redacted]"),
        ({"HOSTNAME": "abcdef123"}, "", "abcdef123", "abcdef123"),
        ({}, "ANYTHING=abcdef123", "abcdef123", "[redacted]"),
        ({}, "AGENT_MODEL=abcdef123", "abcdef123", "abcdef123"),
        ({}, "LRA_AGENT__NAME=abcdef123", "abcdef123", "abcdef123"),
        ({}, "AGENT_MODEL_KEY=abcdef123", "abcdef123", "[redacted]"),
        ({"PROXY": "http://me:hunter22@host/"}, "", "hunter22", "[redacted]"),
        ({}, "DATABASE_URL=postgresql://me:hunter22@host/db", "hunter22", "[redacted]"),
        ({"PIN_TOKEN": "12345"}, "", "12345", "12345"),
        ({"A_KEY": ""}, "", "text", "text"),
    ],
)
def test_secrets_are_found_where_people_keep_them(home, environ, env_file, text, shown):
    loaded = home.write(".env", env_file).load(environ=environ)

    assert loaded.redact(text) == shown


def test_rules_about_calls_are_tables_of_the_file(tmp_path):
    (tmp_path / "config.toml").write_text(
        """
        [[agent.tools.rules]]
        decision = "deny"
        tool = "shell"
        program = "curl"

        [[agent.tools.rules]]
        decision = "allow"
        path = "docs/*"
        """,
        encoding="utf-8",
    )
    curl, docs = load(home=tmp_path, environ={}).settings.agent.tools.rules
    assert (curl.decision, curl.tool, curl.program) == ("deny", "shell", "curl")
    assert (docs.decision, docs.tool, docs.path) == ("allow", "*", "docs/*")


def test_a_rule_that_says_nothing_known_is_refused_by_name(tmp_path):
    wrong = [{"decision": "maybe"}]
    with pytest.raises(ConfigError, match=r"agent\.tools\.rules"):
        load(home=tmp_path, environ={}, flags={"agent.tools.rules": wrong})


@pytest.fixture
def nearby(tmp_path, monkeypatch):
    """Writes the .env of the current folder."""
    here = tmp_path / "project"
    here.mkdir()
    monkeypatch.chdir(here)

    def write(text):
        (here / ".env").write_text(text)
        return here / ".env"

    return write


def test_the_current_folder_is_believed_least_and_says_so(home, nearby):
    path = nearby("AGENT_MODEL=mine\nAGENT_MODEL_URL=http://127.0.0.1:1/v1\nAGENT_MAX_STEPS=7\n")
    loaded = home.load({})
    assert (loaded.settings.agent.model.model_id, value_of(loaded.settings, KEY)) == ("mine", 7)
    assert loaded.origin(KEY) == f"{path} (AGENT_MAX_STEPS)"
    home.write(".env", "AGENT_MAX_STEPS=8\n")
    assert value_of(home.load({}).settings, KEY) == 8
    assert value_of(home.load({"AGENT_MAX_STEPS": "9"}).settings, KEY) == 9


def test_of_the_current_folder_only_the_agents_own_names_are_settings(home, nearby):
    nearby(
        "DATABASE_URL=postgres://db\nLRA_SANDBOX__UNSAFE_LOCAL=true\nLRA_HOME=/x\n"
        "OTEL_EXPORTER_OTLP_ENDPOINT=https://cloud\nSANDBOX_URL=http://evil\n"
    )
    assert home.load({}).origins == {}


def test_a_key_of_the_current_folder_is_for_a_model_that_was_chosen(home, nearby):
    nearby("OPENAI_API_KEY=sk-of-this-folder\n")
    loaded = home.load({})
    assert "OPENAI_API_KEY" not in loaded.variables
    assert loaded.model_variables["OPENAI_API_KEY"] == "sk-of-this-folder"
    assert "sk-of-this-folder" not in loaded.redact("it is sk-of-this-folder")
    own = home.load({"OPENAI_API_KEY": "sk-mine"})
    assert own.model_variables["OPENAI_API_KEY"] == "sk-mine"


def test_the_current_folder_cannot_send_the_talk_to_another_machine(home, nearby):
    nearby("AGENT_MODEL_URL=https://models.example.org/v1\n")
    with pytest.raises(ConfigError, match="another machine") as caught:
        home.load({})
    assert ".env of the home" in caught.value.hint
    ours = {"AGENT_MODEL_URL": "https://models.example.org/v1"}
    assert home.load(ours).settings.agent.model.base_url == ours["AGENT_MODEL_URL"]


def test_a_file_of_the_current_folder_that_cannot_be_read_is_not_ours(home, nearby):
    nearby("").write_bytes(b"\xff\xfe\x00")
    assert home.load({}).nearby == {}
