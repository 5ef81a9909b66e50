CREATE TABLE document (
  rowid INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  context TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL DEFAULT '',
  path TEXT NOT NULL DEFAULT '',
  category_id TEXT NOT NULL DEFAULT '',
  category_confidence REAL NOT NULL DEFAULT 0,
  category_source TEXT NOT NULL DEFAULT '',
  taxonomy_version TEXT NOT NULL DEFAULT 'v1',
  tags TEXT NOT NULL DEFAULT '[]',
  source TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  project TEXT NOT NULL DEFAULT '',
  observation_type TEXT NOT NULL DEFAULT '',
  privacy TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  write_verdict TEXT NOT NULL DEFAULT 'allow',
  write_confidence REAL NOT NULL DEFAULT 0,
  write_reason TEXT NOT NULL DEFAULT '',
  write_gate_version TEXT NOT NULL DEFAULT '',
  write_gate_fallback INTEGER NOT NULL DEFAULT 0,
  merged_count INTEGER NOT NULL DEFAULT 0,
  recall_count INTEGER NOT NULL DEFAULT 0,
  retrieval_priority REAL NOT NULL DEFAULT 0,
  last_used_at INTEGER,
  superseded_by TEXT NOT NULL DEFAULT '',
  supersedes TEXT NOT NULL DEFAULT '',
  stale INTEGER NOT NULL DEFAULT 0,
  fingerprint TEXT NOT NULL,
  history TEXT NOT NULL DEFAULT '[]',
  forgotten_at INTEGER
);
CREATE INDEX document_fingerprint ON document (fingerprint);
CREATE INDEX document_created ON document (created_at);
CREATE INDEX document_session ON document (session_id) WHERE session_id <> '';
CREATE INDEX document_project ON document (project) WHERE project <> '';

CREATE VIRTUAL TABLE lexicon USING fts5 (
  text, context, parts,
  content = '', contentless_delete = 1,
  tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE vector_space (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL);
CREATE TABLE vector (
  document INTEGER NOT NULL, space INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (document, space)
) WITHOUT ROWID;

CREATE TABLE event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, or a follower would miss what comes after a prune
  id TEXT NOT NULL UNIQUE,
  timestamp INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  system_id TEXT NOT NULL,
  level TEXT NOT NULL,
  source TEXT NOT NULL,
  component TEXT NOT NULL,
  action TEXT NOT NULL,
  duration_ms REAL,
  success INTEGER NOT NULL,
  error TEXT,
  metadata TEXT NOT NULL,
  search_text TEXT NOT NULL
);
CREATE INDEX event_timestamp ON event (timestamp);
CREATE INDEX event_debug ON event (source, component, action, timestamp) WHERE level = 'debug';
