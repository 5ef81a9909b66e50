CREATE TABLE IF NOT EXISTS session ( -- what an archived session did; what was said in it is in `document`
  id TEXT PRIMARY KEY,
  client TEXT NOT NULL,
  project TEXT NOT NULL,
  folder TEXT NOT NULL, -- the root that the files of its calls are relative to
  updated_at INTEGER NOT NULL,
  prompts INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  plan TEXT NOT NULL -- JSON: list of [id, step, status]
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_project ON session (project, updated_at);
CREATE TABLE IF NOT EXISTS call (
  rowid INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  number INTEGER NOT NULL, -- 1 is the first call of the session
  key TEXT NOT NULL, -- fingerprint of the client's id of the call
  prompt INTEGER NOT NULL, -- how many prompts the user had given
  at INTEGER, -- ms since the epoch
  tool TEXT NOT NULL,
  file TEXT NOT NULL,
  command TEXT NOT NULL,
  outcome TEXT NOT NULL, -- ok, failed, or empty: it still runs, or was rejected or interrupted
  error TEXT NOT NULL,
  passage TEXT NOT NULL, -- the lines of input and output in which a name stands for the first time in the session
  UNIQUE (session_id, key)
);
CREATE INDEX IF NOT EXISTS call_number ON call (session_id, number);
CREATE VIRTUAL TABLE IF NOT EXISTS call_lexicon USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
);
CREATE TABLE IF NOT EXISTS name ( -- identifiers, file names, numbers of a session's calls
  session_id TEXT NOT NULL,
  name TEXT NOT NULL,
  first INTEGER NOT NULL, -- numbers of calls
  last INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  weight REAL NOT NULL, -- uses that fade with each call, as of `last`
  place TEXT NOT NULL, -- the file, or the beginning of the command, where it was last at work
  PRIMARY KEY (session_id, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS compaction (
  session_id TEXT NOT NULL,
  call INTEGER NOT NULL, -- number of the last call before it
  at INTEGER NOT NULL,
  summary TEXT NOT NULL, -- what the client kept in place of what was before, "" while that is not known
  PRIMARY KEY (session_id, call)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS document_global ON document (project) WHERE project = '' AND session_id = '';
UPDATE transcript SET head = ''; -- read again from the beginning, for the calls
