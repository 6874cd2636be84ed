CREATE TABLE agent_examples (
	owner VARCHAR NOT NULL,
	agent VARCHAR NOT NULL,
	text VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (owner, agent, text)
)

CREATE TABLE agents (
	owner VARCHAR NOT NULL,
	name VARCHAR NOT NULL,
	version INTEGER NOT NULL,
	stage VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	origin VARCHAR NOT NULL,
	body TEXT NOT NULL,
	warnings TEXT NOT NULL,
	revision INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (owner, name, version)
)

CREATE TABLE approvals (
	id VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	turn_id VARCHAR NOT NULL,
	call_id VARCHAR NOT NULL,
	tool VARCHAR NOT NULL,
	args TEXT NOT NULL,
	question TEXT NOT NULL,
	state VARCHAR NOT NULL,
	reason TEXT DEFAULT '' NOT NULL,
	asked_at BIGINT NOT NULL,
	answered_at BIGINT,
	offer TEXT,
	lasting VARCHAR DEFAULT 'once' NOT NULL,
	expires_at BIGINT,
	PRIMARY KEY (id),
	UNIQUE (turn_id, call_id),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE audit (
	id INTEGER NOT NULL,
	at BIGINT NOT NULL,
	actor VARCHAR NOT NULL,
	action VARCHAR NOT NULL,
	subject VARCHAR NOT NULL,
	detail TEXT DEFAULT '' NOT NULL,
	PRIMARY KEY (id)
)

CREATE TABLE conversations (
	owner VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	turn_id VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (owner, digest),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE curations (
	owner VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (owner)
)

CREATE TABLE decisions (
	id INTEGER NOT NULL,
	at BIGINT NOT NULL,
	owner VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	turn_id VARCHAR NOT NULL,
	call_id VARCHAR NOT NULL,
	tool VARCHAR NOT NULL,
	args TEXT NOT NULL,
	decision VARCHAR NOT NULL,
	why TEXT NOT NULL,
	who VARCHAR NOT NULL,
	PRIMARY KEY (id)
)

CREATE TABLE delegations (
	turn_id VARCHAR NOT NULL,
	parent_id VARCHAR NOT NULL,
	call_id VARCHAR NOT NULL,
	place INTEGER NOT NULL,
	depth INTEGER NOT NULL,
	parallel INTEGER NOT NULL,
	background BOOLEAN NOT NULL,
	receipt TEXT,
	created_at BIGINT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (turn_id),
	UNIQUE (parent_id, call_id, place),
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE,
	FOREIGN KEY(parent_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE events (
	session_id VARCHAR NOT NULL,
	seq INTEGER NOT NULL,
	turn_id VARCHAR,
	type VARCHAR NOT NULL,
	body TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (session_id, seq),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE evidence (
	work_id VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	task INTEGER NOT NULL,
	turn INTEGER NOT NULL,
	step INTEGER NOT NULL,
	kind VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	"by" VARCHAR NOT NULL,
	proof TEXT NOT NULL,
	cause VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (work_id, number),
	UNIQUE (work_id, task, cause),
	FOREIGN KEY(work_id) REFERENCES works (id) ON DELETE CASCADE
)

CREATE TABLE file_origins (
	owner VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	path TEXT NOT NULL,
	source TEXT NOT NULL,
	PRIMARY KEY (owner, digest)
)

CREATE TABLE firings (
	owner VARCHAR NOT NULL,
	job_id VARCHAR NOT NULL,
	"key" VARCHAR NOT NULL,
	planned BIGINT NOT NULL,
	outcome VARCHAR NOT NULL,
	turn_id VARCHAR,
	session_id VARCHAR,
	seen_at BIGINT NOT NULL,
	note TEXT NOT NULL,
	PRIMARY KEY (owner, job_id, "key"),
	FOREIGN KEY(owner, job_id) REFERENCES jobs (owner, id) ON DELETE CASCADE
)

CREATE TABLE folds (
	session_id VARCHAR NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	steps INTEGER NOT NULL,
	text TEXT NOT NULL,
	faults TEXT NOT NULL,
	digest VARCHAR NOT NULL,
	model VARCHAR NOT NULL,
	cost BIGINT,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (session_id, first),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE grants (
	id VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	session_id VARCHAR,
	tool VARCHAR NOT NULL,
	scope TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	used INTEGER DEFAULT '0' NOT NULL,
	revoked_at BIGINT,
	PRIMARY KEY (id),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE holds (
	id VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	model VARCHAR NOT NULL,
	input_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL,
	input_cost BIGINT,
	output_cost BIGINT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (id)
)

CREATE TABLE jobs (
	owner VARCHAR NOT NULL,
	id VARCHAR NOT NULL,
	name TEXT NOT NULL,
	schedule TEXT NOT NULL,
	prompt TEXT NOT NULL,
	watch TEXT NOT NULL,
	note TEXT NOT NULL,
	zone VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	agent VARCHAR NOT NULL,
	session_mode VARCHAR NOT NULL,
	missed VARCHAR NOT NULL,
	overlap VARCHAR NOT NULL,
	notify VARCHAR NOT NULL,
	created_by VARCHAR NOT NULL,
	session_id VARCHAR,
	max_age FLOAT,
	expect_every FLOAT,
	seconds FLOAT,
	jitter FLOAT NOT NULL,
	steps BIGINT,
	tokens BIGINT,
	cost BIGINT,
	deep_work BOOLEAN NOT NULL,
	version INTEGER NOT NULL,
	anchor BIGINT NOT NULL,
	cursor BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	next_at BIGINT,
	seen TEXT DEFAULT '' NOT NULL,
	PRIMARY KEY (owner, id)
)

CREATE TABLE learned (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	owner VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	text TEXT NOT NULL,
	quote TEXT NOT NULL,
	reason TEXT NOT NULL,
	session_id VARCHAR,
	turn_id VARCHAR,
	memory_id INTEGER,
	at BIGINT NOT NULL,
	FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE
)

CREATE TABLE memories (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	owner VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	scope VARCHAR NOT NULL,
	trust VARCHAR NOT NULL,
	actor VARCHAR NOT NULL,
	source VARCHAR NOT NULL,
	content TEXT NOT NULL,
	digest VARCHAR NOT NULL,
	agent VARCHAR,
	session_id VARCHAR,
	turn_id VARCHAR,
	previous_id INTEGER,
	event_at BIGINT NOT NULL,
	recorded_at BIGINT NOT NULL,
	valid_to BIGINT,
	expires_at BIGINT,
	superseded_by INTEGER,
	seen INTEGER DEFAULT '1' NOT NULL,
	enabled BOOLEAN DEFAULT '1' NOT NULL
)

CREATE TABLE memory_changes (
	revision INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	memory_id INTEGER NOT NULL
)

CREATE TABLE memory_entries (
	memory_id INTEGER NOT NULL,
	entry BLOB NOT NULL,
	PRIMARY KEY (memory_id),
	FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE
)

CREATE TABLE memory_links (
	memory_id INTEGER NOT NULL,
	derived_from INTEGER NOT NULL,
	PRIMARY KEY (memory_id, derived_from),
	FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE,
	FOREIGN KEY(derived_from) REFERENCES memories (id) ON DELETE CASCADE
)

CREATE TABLE memory_names (
	code INTEGER NOT NULL,
	name VARCHAR NOT NULL,
	PRIMARY KEY (code),
	UNIQUE (name)
)

CREATE TABLE memory_spaces (
	id INTEGER NOT NULL,
	name VARCHAR NOT NULL,
	dimensions INTEGER NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
)

CREATE TABLE memory_trash (
	batch VARCHAR NOT NULL,
	memory_id INTEGER NOT NULL,
	owner VARCHAR NOT NULL,
	body TEXT NOT NULL,
	forgotten_at BIGINT NOT NULL,
	until BIGINT NOT NULL,
	PRIMARY KEY (batch, memory_id)
)

CREATE TABLE memory_turns (
	turn_id VARCHAR NOT NULL,
	ended_at BIGINT NOT NULL,
	PRIMARY KEY (turn_id),
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE memory_uses (
	memory_id INTEGER NOT NULL,
	shown INTEGER DEFAULT '0' NOT NULL,
	used INTEGER DEFAULT '0' NOT NULL,
	harmed INTEGER DEFAULT '0' NOT NULL,
	shown_at BIGINT,
	used_at BIGINT,
	kept BOOLEAN DEFAULT '0' NOT NULL,
	PRIMARY KEY (memory_id),
	FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE
)

CREATE TABLE memory_vectors (
	space INTEGER NOT NULL,
	memory_id INTEGER NOT NULL,
	vector BLOB NOT NULL,
	PRIMARY KEY (space, memory_id),
	FOREIGN KEY(space) REFERENCES memory_spaces (id) ON DELETE CASCADE,
	FOREIGN KEY(memory_id) REFERENCES memories (id) ON DELETE CASCADE
)

CREATE VIRTUAL TABLE memory_words USING fts5(
  words, owner,
  tokenize = "porter unicode61 remove_diacritics 2",
  columnsize = 0
)

CREATE TABLE messages (
	session_id VARCHAR NOT NULL,
	seq INTEGER NOT NULL,
	turn_id VARCHAR NOT NULL,
	step INTEGER NOT NULL,
	kind VARCHAR NOT NULL,
	body TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (session_id, seq),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE model_cards (
	endpoint VARCHAR NOT NULL,
	model VARCHAR NOT NULL,
	native_tools BOOLEAN NOT NULL,
	text_tools BOOLEAN NOT NULL,
	streaming BOOLEAN NOT NULL,
	streamed_calls BOOLEAN NOT NULL,
	usage BOOLEAN NOT NULL,
	context_window INTEGER,
	cuts_silently BOOLEAN NOT NULL,
	checked_at BIGINT NOT NULL,
	PRIMARY KEY (endpoint, model)
)

CREATE TABLE model_lacks (
	endpoint VARCHAR NOT NULL,
	model VARCHAR NOT NULL,
	what VARCHAR NOT NULL,
	learned_at BIGINT NOT NULL,
	PRIMARY KEY (endpoint, model, what)
)

CREATE TABLE notices (
	owner VARCHAR NOT NULL,
	"key" VARCHAR NOT NULL,
	target VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	job_id VARCHAR NOT NULL,
	title TEXT NOT NULL,
	text TEXT NOT NULL,
	error TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	next_at BIGINT,
	sent_at BIGINT,
	PRIMARY KEY (owner, "key", target)
)

CREATE TABLE pictures (
	session_id VARCHAR NOT NULL,
	id VARCHAR NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (session_id, id),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE plans (
	work_id VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	version INTEGER NOT NULL,
	state VARCHAR NOT NULL,
	"by" VARCHAR NOT NULL,
	tasks TEXT NOT NULL,
	reason TEXT NOT NULL,
	frozen TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (work_id, number),
	FOREIGN KEY(work_id) REFERENCES works (id) ON DELETE CASCADE
)

CREATE TABLE raises (
	owner VARCHAR NOT NULL,
	scope VARCHAR NOT NULL,
	"key" VARCHAR NOT NULL,
	steps BIGINT DEFAULT '0' NOT NULL,
	tokens BIGINT DEFAULT '0' NOT NULL,
	cost BIGINT DEFAULT '0' NOT NULL,
	seconds FLOAT DEFAULT '0' NOT NULL,
	PRIMARY KEY (owner, scope, "key")
)

CREATE TABLE reflections (
	session_id VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (session_id),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE requests (
	owner VARCHAR NOT NULL,
	"key" VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	turn_id VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (owner, "key"),
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)

CREATE TABLE rules (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	owner VARCHAR NOT NULL,
	session_id VARCHAR,
	turn_id VARCHAR,
	text TEXT NOT NULL,
	scope VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	source VARCHAR NOT NULL,
	created_at BIGINT NOT NULL,
	pinned_at BIGINT,
	ended_at BIGINT,
	enforced TEXT DEFAULT '[]' NOT NULL,
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE sessions (
	id VARCHAR NOT NULL,
	title TEXT NOT NULL,
	mode VARCHAR NOT NULL,
	model VARCHAR,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	forked_from VARCHAR,
	forked_at VARCHAR,
	owner VARCHAR DEFAULT 'me' NOT NULL,
	last_turn INTEGER DEFAULT '0' NOT NULL,
	last_message INTEGER DEFAULT '0' NOT NULL,
	last_event INTEGER DEFAULT '0' NOT NULL,
	last_task INTEGER DEFAULT '0' NOT NULL,
	cleared INTEGER DEFAULT '0' NOT NULL,
	compacted INTEGER DEFAULT '0' NOT NULL,
	origin VARCHAR DEFAULT 'own' NOT NULL,
	agent VARCHAR,
	PRIMARY KEY (id)
)

CREATE TABLE skill_problems (
	owner VARCHAR NOT NULL,
	path VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	error TEXT NOT NULL,
	seen_at BIGINT NOT NULL,
	PRIMARY KEY (owner, path)
)

CREATE TABLE skill_versions (
	owner VARCHAR NOT NULL,
	name VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	kind VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	source TEXT NOT NULL,
	about TEXT NOT NULL,
	description TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	standing VARCHAR NOT NULL,
	decided_by VARCHAR DEFAULT '' NOT NULL,
	decided_at BIGINT,
	turn_id VARCHAR,
	call_id VARCHAR,
	PRIMARY KEY (owner, name, number),
	FOREIGN KEY(owner, name) REFERENCES skills (owner, name) ON DELETE CASCADE
)

CREATE TABLE skills (
	owner VARCHAR NOT NULL,
	name VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	enabled BOOLEAN NOT NULL,
	version INTEGER,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	calls INTEGER DEFAULT '0' NOT NULL,
	failures INTEGER DEFAULT '0' NOT NULL,
	failures_in_a_row INTEGER DEFAULT '0' NOT NULL,
	recent VARCHAR DEFAULT '' NOT NULL,
	used_at BIGINT,
	note TEXT DEFAULT '' NOT NULL,
	PRIMARY KEY (owner, name)
)

CREATE TABLE taints (
	turn_id VARCHAR NOT NULL,
	call_id VARCHAR NOT NULL,
	source TEXT NOT NULL,
	session_id VARCHAR NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (turn_id, call_id, source),
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE,
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE tasks (
	session_id VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	title TEXT NOT NULL,
	description TEXT DEFAULT '' NOT NULL,
	status VARCHAR NOT NULL,
	parent INTEGER,
	result TEXT DEFAULT '' NOT NULL,
	made_by VARCHAR,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	depends_on TEXT DEFAULT '[]' NOT NULL,
	notes TEXT DEFAULT '[]' NOT NULL,
	scope TEXT DEFAULT '{}' NOT NULL,
	criterion TEXT,
	estimate INTEGER,
	work_id VARCHAR,
	planned BOOLEAN DEFAULT '0' NOT NULL,
	PRIMARY KEY (session_id, number),
	UNIQUE (session_id, made_by),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE tokens (
	id VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	name VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	scopes VARCHAR NOT NULL,
	created_at BIGINT NOT NULL,
	used_at BIGINT,
	expires_at BIGINT,
	revoked_at BIGINT,
	PRIMARY KEY (id),
	UNIQUE (digest)
)

CREATE TABLE tool_calls (
	turn_id VARCHAR NOT NULL,
	call_id VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	step INTEGER NOT NULL,
	position INTEGER NOT NULL,
	tool VARCHAR NOT NULL,
	args TEXT NOT NULL,
	effect VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	result TEXT,
	started_at BIGINT,
	ended_at BIGINT,
	PRIMARY KEY (turn_id, call_id),
	FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE,
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE turns (
	id VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	prompt TEXT NOT NULL,
	origin VARCHAR NOT NULL,
	attended BOOLEAN NOT NULL,
	status VARCHAR NOT NULL,
	model VARCHAR,
	answer TEXT DEFAULT '' NOT NULL,
	error TEXT DEFAULT '' NOT NULL,
	steps INTEGER DEFAULT '0' NOT NULL,
	tool_calls INTEGER DEFAULT '0' NOT NULL,
	input_tokens BIGINT DEFAULT '0' NOT NULL,
	output_tokens BIGINT DEFAULT '0' NOT NULL,
	cost BIGINT DEFAULT '0' NOT NULL,
	seconds FLOAT DEFAULT '0' NOT NULL,
	renewals INTEGER DEFAULT '0' NOT NULL,
	attempts INTEGER DEFAULT '0' NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at BIGINT,
	owner VARCHAR DEFAULT 'me' NOT NULL,
	mode VARCHAR DEFAULT 'bounded' NOT NULL,
	client_tools TEXT,
	steer BOOLEAN DEFAULT '0' NOT NULL,
	work_id VARCHAR,
	agent VARCHAR DEFAULT '' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (session_id, number),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE TABLE usage (
	id INTEGER NOT NULL,
	session_id VARCHAR NOT NULL,
	turn_id VARCHAR NOT NULL,
	step INTEGER NOT NULL,
	model VARCHAR NOT NULL,
	input_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL,
	cache_read_tokens BIGINT NOT NULL,
	cache_write_tokens BIGINT NOT NULL,
	cost BIGINT,
	estimated BOOLEAN NOT NULL,
	seconds FLOAT DEFAULT '0' NOT NULL,
	at BIGINT NOT NULL,
	owner VARCHAR DEFAULT 'me' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (turn_id, step)
)

CREATE TABLE works (
	id VARCHAR NOT NULL,
	session_id VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	goal TEXT NOT NULL,
	note TEXT NOT NULL,
	phase VARCHAR NOT NULL,
	policy VARCHAR NOT NULL,
	progress VARCHAR NOT NULL,
	pause VARCHAR,
	scope TEXT NOT NULL,
	steps BIGINT,
	tokens BIGINT,
	cost BIGINT,
	seconds FLOAT,
	attended BOOLEAN NOT NULL,
	plan_version INTEGER NOT NULL,
	turns INTEGER NOT NULL,
	rounds INTEGER NOT NULL,
	nudges INTEGER NOT NULL,
	alerts INTEGER NOT NULL,
	alerted INTEGER NOT NULL,
	looked INTEGER NOT NULL,
	replan INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (id),
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
)

CREATE INDEX agents_by_revision ON agents (owner, revision)

CREATE INDEX agents_by_stage ON agents (owner, stage, name)

CREATE INDEX approvals_by_session ON approvals (session_id, state)

CREATE INDEX decisions_by_session ON decisions (session_id)

CREATE INDEX events_by_time ON events (at)

CREATE INDEX events_by_turn ON events (turn_id)

CREATE INDEX firings_by_time ON firings (owner, job_id, planned)

CREATE INDEX firings_by_turn ON firings (turn_id)

CREATE INDEX grants_by_owner ON grants (owner)

CREATE INDEX jobs_by_next ON jobs (next_at)

CREATE INDEX learned_by_memory ON learned (memory_id)

CREATE INDEX learned_by_owner ON learned (owner, number)

CREATE INDEX memories_by_digest ON memories (owner, digest)

CREATE INDEX memories_by_owner ON memories (owner, kind, id)

CREATE INDEX memories_by_previous ON memories (previous_id)

CREATE INDEX memories_by_session ON memories (session_id, id)

CREATE INDEX memories_by_source ON memories (owner, source)

CREATE INDEX memories_by_successor ON memories (superseded_by)

CREATE INDEX memories_by_turn ON memories (turn_id)

CREATE INDEX memories_ended ON memories (owner, kind) WHERE valid_to IS NOT NULL

CREATE INDEX memory_links_by_origin ON memory_links (derived_from)

CREATE INDEX memory_trash_by_end ON memory_trash (until)

CREATE INDEX memory_vectors_by_memory ON memory_vectors (memory_id)

CREATE INDEX messages_by_turn ON messages (turn_id)

CREATE INDEX notices_by_next ON notices (next_at)

CREATE INDEX requests_by_time ON requests (at)

CREATE INDEX rules_by_owner ON rules (owner, session_id)

CREATE INDEX rules_by_session ON rules (session_id)

CREATE INDEX sessions_by_owner ON sessions (owner, updated_at)

CREATE INDEX sessions_by_update ON sessions (updated_at)

CREATE INDEX skill_versions_by_call ON skill_versions (turn_id, call_id)

CREATE INDEX taints_by_session ON taints (session_id)

CREATE INDEX tool_calls_by_session ON tool_calls (session_id, state)

CREATE INDEX turns_by_agent ON turns (owner, agent, created_at)

CREATE INDEX turns_by_status ON turns (status, session_id, number)

CREATE INDEX turns_by_work ON turns (work_id)

CREATE INDEX usage_by_owner ON usage (owner, at)

CREATE INDEX usage_by_session ON usage (session_id)

CREATE INDEX usage_by_time ON usage (at)

CREATE INDEX works_by_owner ON works (owner, updated_at)

CREATE INDEX works_by_session ON works (session_id)
