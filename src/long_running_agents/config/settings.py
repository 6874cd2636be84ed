"""What can be set. The keys are those of ``config.toml``; each says what it is for."""

from decimal import Decimal
from typing import Literal

from pydantic import ConfigDict, Field

from long_running_agents.domain.events import DescribedModel


class _Section(DescribedModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), defer_build=True
    )


class GatewaySettings(_Section):
    """Where the server listens."""

    host: str = "127.0.0.1"
    """Address to bind; anything but loopback needs a token."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to bind."""
    require_token: bool = False
    """Whether callers on this machine need a token, too."""
    allowed_hosts: tuple[str, ...] = ()
    """Other names of the server, such as agent.example.org or *.example.org; they need a token."""
    allowed_origins: tuple[str, ...] = ()
    """Other sites whose pages may call the server, such as https://chat.example.org."""
    max_body: int = Field(default=10_000_000, ge=1000)
    """Bytes of a request's body, or of a message on a socket."""
    max_upload: int = Field(default=100_000_000, ge=1000)
    """Bytes of a file that is uploaded."""
    max_sockets: int = Field(default=1000, ge=1)
    """WebSockets that may be open at once; another machine gets a quarter of them."""
    requests_per_minute: int = Field(default=6000, ge=1)
    """Requests that another machine may make."""


class ModelSettings(_Section):
    """Which model answers."""

    provider: str = ""
    """Provider name, such as openai, openrouter, lmstudio, ollama, anthropic, google or local."""
    model_id: str = ""
    """Model name at that provider, or 'provider:model' in one."""
    base_url: str = ""
    """Address of an OpenAI-compatible server, ending in /v1."""
    selected: str = ""
    """The model that was chosen since, by its full name; the three settings above stay as set."""
    servers: tuple[str, ...] = ()
    """Addresses of more OpenAI-compatible servers, whose models can be chosen as well."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Longest answer, in tokens."""
    context_window: int | None = Field(default=None, ge=1)
    """Tokens the model can hold, question and answer together; unset means what is known of it."""
    pictures: bool | None = None
    """Whether the model sees pictures; unset means that it is shown them until it refuses."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds to wait for the next piece of an answer."""
    retries: int = Field(default=3, ge=0, le=10)
    """How often a failed request is made again before the next model is tried."""
    fallback: tuple[str, ...] = ()
    """Models to try, in order, when this one does not answer ('provider:model')."""
    concurrency: int = Field(default=8, ge=1)
    """How many requests one provider gets at the same time; others wait in order."""
    probe: tuple[str, ...] = ("lmstudio:1234", "ollama:11434", "vllm:8000", "llama-server:8080")
    """Servers of this machine to look for when no model is set, as kind:port."""


class ToolSwitches(_Section):
    """Families of tools that can be switched off."""

    shell: bool = True
    """The shell tool."""
    files: bool = True
    """The file tools."""
    fetch: bool = True
    """The web tools."""
    data_view: bool = True
    """The table viewer."""
    pyexe: bool = True
    """The Python tool."""
    skills: bool = True
    """Skills, and the tools that make them."""
    delegation: bool = True
    """Handing work to other agents, and proposing one."""


class ToolRule(_Section):
    """A rule about some calls; patterns have * and ?, and what is unset fits everything."""

    decision: Literal["allow", "ask", "deny"]
    """What becomes of the calls it fits; any deny wins, else the first rule that fits."""
    tool: str = "*"
    """Names of tools."""
    program: str | None = None
    """Programs of a shell command, such as curl or 'git push', or names of packages."""
    path: str | None = None
    """Files, as seen from the workspace."""
    host: str | None = None
    """Hosts of web addresses."""
    reason: str = ""
    """Why, for the person or the model that reads it."""
    tainted: bool = False
    """Whether an allow also holds after the session has read foreign words."""


class ToolSettings(_Section):
    """What the model may call."""

    allow: tuple[str, ...] | None = None
    """Names of the tools that may run; unset means all."""
    require_approval: tuple[str, ...] = ()
    """Names of the tools that run only after a person agreed."""
    rules: tuple[ToolRule, ...] = ()
    """Rules about calls: decision, and any of tool, program, path, host, reason, tainted."""
    taint: bool = True
    """Whether calls that could do harm take consent once a session has read foreign words."""
    approval_expiry: float = Field(default=1440.0, ge=0)
    """Minutes after which an unanswered question, or a wait for a client's tool, ends; 0: never."""
    non_interactive_approval_policy: Literal["deny", "allow", "ask"] = "deny"
    """What becomes of a question when nobody is there: a no, a yes, or it waits for somebody."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds one tool call may take."""
    result_limit: int = Field(default=50_000, ge=1000)
    """Longest tool result, in characters; the rest is cut with a note."""
    enable: ToolSwitches = ToolSwitches()


class SkillSettings(_Section):
    """Tools that are made, not shipped."""

    approval: Literal["person", "auto"] = "person"
    """Who lets a skill be used: a person, or its review and trial alone."""
    offered: int = Field(default=10, ge=0, le=100)
    """How many are offered to the model at once; the others it finds by searching."""
    offered_tokens: int = Field(default=1500, ge=100)
    """Tokens that those may take in a request."""
    failures: int = Field(default=5, ge=0)
    """Failures in a row after which one is disabled; 0 means never."""
    timeout: float = Field(default=30.0, gt=0, le=600)
    """Seconds one call may take, unless the skill says otherwise."""
    memory: int = Field(default=512, ge=32)
    """Megabytes one call may use, unless the skill says otherwise."""
    allowed_imports: tuple[str, ...] = (
        "abc", "asyncio", "base64", "bisect", "calendar", "cmath", "collections", "contextlib",
        "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions",
        "functools", "hashlib", "heapq", "html", "io", "itertools", "json", "math", "numbers",
        "operator", "pathlib", "random", "re", "statistics", "string", "textwrap", "time", "typing",
        "unicodedata", "urllib.parse", "uuid", "zoneinfo", "numpy", "pandas",
    )  # fmt: skip
    """Modules that skills may import; the sandbox is the wall, this is what a review lets pass."""


class LimitSettings(_Section):
    """What one turn may use. Unset means no limit."""

    tokens: int | None = Field(default=None, ge=0)
    """Tokens in and out."""
    cost: Decimal | None = Field(default=None, ge=0)
    """US dollars."""
    tool_calls: int | None = Field(default=None, ge=0)
    """Tool calls."""
    seconds: float | None = Field(default=None, gt=0)
    """Wall-clock seconds, waiting for approvals not counted."""


class DeepWorkSettings(_Section):
    """What a session in deep work may use."""

    max_iterations: int = Field(default=200, ge=1)
    """Steps."""
    token_budget: int = Field(default=1_500_000, ge=1)
    """Tokens in and out."""
    warning_threshold: float = Field(default=0.8, gt=0, le=1)
    """Share of any budget of tokens or money from which on you and the agent are told."""
    plan_policy: Literal["ask", "auto_within_scope", "read_only"] = "ask"
    """Whether you approve a plan; if not, it keeps to the scope you gave, or only reads."""


class AgentSettings(_Section):
    """The agent itself."""

    name: str = "lra"
    """What the agent calls itself."""
    workspace: str = ""
    """The agent's folder: 'workspace' unless set. In a file of the home, it is relative to it."""
    workspace_trust: Literal["user", "foreign"] = "user"
    """Whose words files are that neither the agent nor an upload has written."""
    model: ModelSettings = ModelSettings()
    model_aliases: tuple[str, ...] = ()
    """Models that agents' files name in short, such as 'sonnet=anthropic:claude-sonnet-4-5'."""
    tools: ToolSettings = ToolSettings()
    skills: SkillSettings = SkillSettings()
    max_loop_iterations: int = Field(default=15, ge=1)
    """Steps one turn may take."""
    limits: LimitSettings = LimitSettings()
    deep_work: DeepWorkSettings = DeepWorkSettings()


class SessionSettings(_Section):
    """How conversations are kept and shown to the model."""

    directory: str = ""
    """Folder for exports; unset means 'sessions' in the home."""
    max_history_tokens: int = Field(default=128_000, ge=1000)
    """Longest history shown to the model, in tokens; of a large window at most 60 % are used."""
    max_history_messages: int = Field(default=200, ge=10)
    """Longest history shown to the model, in messages."""


class ReflectionSettings(_Section):
    """Reading finished turns to make memories and skill proposals."""

    enabled: bool = True
    """Whether it happens."""
    model_id: str = ""
    """Model for it; unset means the agent's."""
    max_tokens: int = Field(default=4096, ge=1)
    """Longest answer."""
    max_sessions_per_startup: int = Field(default=10, ge=0)
    """How many sessions are read after a start."""
    quiet_minutes: float = Field(default=15.0, gt=0)
    """Minutes without a message after which a session is read."""
    share: float = Field(default=0.05, ge=0, le=1)
    """Share of the day's tokens that it may use."""
    small_models: bool = False
    """Whether a small local model may extract; most of what it finds cannot be quoted."""


class JobSettings(_Section):
    """Jobs: prompts with a schedule."""

    timezone: str = ""
    """Time zone of jobs that name none, such as Europe/Berlin; unset means the machine's."""


class NoticeSettings(_Section):
    """Telling somebody outside about jobs."""

    urls: tuple[str, ...] = ()
    """Where notices go: addresses that take JSON, or others of the extra [notices] (apprise)."""


class MemorySettings(_Section):
    """Remembering across sessions."""

    enabled: bool = True
    """Whether it happens."""
    embedder: Literal["auto", "bundled", "off"] = "auto"
    """What finds memories by meaning; auto means the server or model below, or the bundled one."""
    embedding_base_url: str = ""
    """OpenAI-compatible server for embeddings, ending in /v1."""
    embedding_model: str = ""
    """Embedding model at that server, or 'provider:model' at a provider."""
    recall: bool = True
    """Whether memories are recalled before every turn, without being asked for."""
    top_k: int = Field(default=5, ge=1, le=50)
    """How many memories are recalled."""
    recall_tokens: int = Field(default=800, ge=50)
    """Longest recollection shown to the model, in tokens."""


class BudgetLimits(_Section):
    """What may be used. Unset means no limit, 0 means nothing."""

    tokens: int | None = Field(default=None, ge=0)
    """Tokens in and out."""
    cost: Decimal | None = Field(default=None, ge=0)
    """US dollars."""
    steps: int | None = Field(default=None, ge=0)
    """Requests to models."""
    seconds: float | None = Field(default=None, ge=0)
    """Seconds that turns have worked, looked at before each request."""


class BudgetSettings(_Section):
    """What may be used by more than one turn; what one turn may use is in agent.limits."""

    day: BudgetLimits = BudgetLimits()
    session: BudgetLimits = BudgetLimits()
    allow_unpriced: bool = False
    """Whether models of unknown price may be asked although money is limited."""


class SandboxSettings(_Section):
    """Where foreign code runs."""

    url: str = ""
    """Address of a sandbox server; unset means in process."""
    backend: Literal["auto", "bubblewrap", "docker"] = "auto"
    """What the walls are made of; auto takes the first that works."""
    unsafe_local: bool = False
    """Run code WITHOUT a sandbox, with all rights of yours; never in turns that nobody watches."""
    docker_runtime: str = ""
    """Another runtime for containers, such as runsc (gVisor)."""
    timeout: float = Field(default=30.0, gt=0, le=600)
    """Seconds one call may take, unless it asks for others."""
    memory: int = Field(default=1024, ge=64)
    """Megabytes of memory of one sandbox."""
    processes: int = Field(default=64, ge=8)
    """Processes in one sandbox."""
    disk: int = Field(default=512, ge=1)
    """Megabytes in its workspace."""
    network: tuple[str, ...] = ()
    """Hosts that code may reach, such as example.org or *.example.org; none by default."""
    packages: tuple[str, ...] = ("numpy", "pandas", "matplotlib", "requests", "httpx")
    """Python packages in it; fetched when code first imports one, or by 'lra sandbox prepare'."""
    warm: int = Field(default=2, ge=0, le=16)
    """Sandboxes kept ready."""
    most: int = Field(default=8, ge=1)
    """Sandboxes that may exist at once for one owner."""
    idle_minutes: float = Field(default=30.0, gt=0)
    """Minutes without use after which a sandbox goes."""


class WebSettings(_Section):
    """Reading the web."""

    user_agent: str = Field(default="", max_length=300, pattern=r"^[\x20-\x7e]*$")
    """What sites are told who asks; unset means what a browser says."""
    timeout: float = Field(default=20.0, gt=0, le=600)
    """Seconds one request may take."""
    total_timeout: float = Field(default=60.0, gt=0, le=600)
    """Seconds a page may take in all, redirects included."""
    max_bytes: int = Field(default=5_000_000, ge=1000, le=100_000_000)
    """Bytes that are taken of a page, counted when they are unpacked."""
    robots: bool = True
    """Whether what robots.txt asks to leave alone is left alone."""
    allow_hosts: tuple[str, ...] = ()
    """The only hosts to visit, such as example.org or *.example.org; unset means all."""
    deny_hosts: tuple[str, ...] = ()
    """Hosts not to visit."""
    browser: str = ""
    """Path of a Chromium; unset means one that is found."""
    search_provider: Literal["duckduckgo", "searxng", "brave"] = "duckduckgo"
    """Who searches."""
    search_url: str = ""
    """Address of your SearXNG server, or another address of the provider."""


class StorageSettings(_Section):
    """Where data is kept."""

    database_url: str = ""
    """SQLAlchemy URL; unset means lra.db in the home."""
    vector_store_path: str = ""
    """Folder of an optional ChromaDB index."""
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    """FULL survives a power cut; NORMAL is faster and survives kill -9."""
    backups: int = Field(default=7, ge=0, le=1000)
    """How many daily backups are kept, which are made while serving; 0 makes none."""


class TelemetrySettings(_Section):
    """Telling a collector of traces what is done."""

    otlp_endpoint: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Address of an OTLP/HTTP collector, such as http://127.0.0.1:4318; unset means no traces."""
    content: bool = False
    """Whether traces hold what was said, and what tools were given and returned."""


class Settings(_Section):
    """Everything that can be set."""

    owner: str = Field(default="me", min_length=1, max_length=100)
    """Whose sessions and memories these are; those of others in the same home stay theirs."""
    gateway: GatewaySettings = GatewaySettings()
    agent: AgentSettings = AgentSettings()
    sessions: SessionSettings = SessionSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    jobs: JobSettings = JobSettings()
    notices: NoticeSettings = NoticeSettings()
    memory: MemorySettings = MemorySettings()
    budget: BudgetSettings = BudgetSettings()
    sandbox: SandboxSettings = SandboxSettings()
    web: WebSettings = WebSettings()
    storage: StorageSettings = StorageSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    """How much the log file says."""
    log_format: Literal["text", "json"] = "text"
    """Whether lines of the log file are for people or for programs."""
