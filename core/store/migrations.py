"""The schema, as a list of steps. A released step is never edited; a change is a new step at the end."""

STEPS = (
    """
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
""",
    """
CREATE TABLE transcript (
  source TEXT PRIMARY KEY, -- the file's path, or session:<id> where the client keeps no file
  offset INTEGER NOT NULL,
  head TEXT NOT NULL,
  carry TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
""",
    """
CREATE TABLE IF NOT EXISTS observed (
  session_id TEXT PRIMARY KEY,
  reached INTEGER NOT NULL, -- row of the last episode that an observer was asked about
  tail TEXT NOT NULL, -- fingerprint of what that episode said, since a message may grow
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS observed_failure ( -- replies in a row that could not be read, about the next range
  session_id TEXT PRIMARY KEY,
  failures INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS observed_range (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  episodes TEXT NOT NULL, -- JSON list of ids
  observed_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS evidence (
  document TEXT NOT NULL, -- id of an observation
  from_range INTEGER NOT NULL,
  PRIMARY KEY (document, from_range)
) WITHOUT ROWID;
""",
    """
CREATE TABLE outbox ( -- documents that a cluster has not got yet as they are; `core.store.outbox` has the triggers
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  collection INTEGER NOT NULL,
  gone INTEGER NOT NULL DEFAULT 0, -- the row was deleted, not only forgotten
  queued_at INTEGER NOT NULL,
  not_before INTEGER NOT NULL DEFAULT 0,
  doubt INTEGER NOT NULL DEFAULT 0, -- when it was sent and nobody answered
  refusal TEXT NOT NULL DEFAULT ''
);
CREATE TABLE outbox_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE outbox_version (id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox_share ( -- what other machines add to a document's counters
  id TEXT NOT NULL, origin TEXT NOT NULL, number INTEGER NOT NULL, recalls INTEGER NOT NULL, priority REAL NOT NULL,
  PRIMARY KEY (id, origin)
) WITHOUT ROWID;
CREATE TABLE outbox_seen (collection TEXT NOT NULL, origin TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (collection, origin)
) WITHOUT ROWID;
""",
    """
CREATE TABLE IF NOT EXISTS export_cursor (
  destination TEXT PRIMARY KEY, -- fingerprint of signal and endpoint
  signal TEXT NOT NULL,
  endpoint TEXT NOT NULL, -- as it is shown, without user and password
  reached INTEGER NOT NULL, -- number of the last event that was taken there
  exported INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  totals TEXT NOT NULL, -- JSON: what the metrics count up to
  exported_at INTEGER,
  failures INTEGER NOT NULL, -- since the last success
  error TEXT NOT NULL,
  failed_at INTEGER,
  next_try_at INTEGER NOT NULL
) WITHOUT ROWID;
""",
    """
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
""",
    """
CREATE TABLE IF NOT EXISTS segment ( -- turns of a session in a row, indexed together
  rowid INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  first INTEGER NOT NULL -- row of its first episode
);
CREATE INDEX IF NOT EXISTS segment_session ON segment (session_id, first);
CREATE VIRTUAL TABLE IF NOT EXISTS segment_lexicon USING fts5 (
  text, parts, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS segment_due ( -- sessions whose segments are to be indexed anew, from which episode on
  session_id TEXT PRIMARY KEY,
  first INTEGER NOT NULL
) WITHOUT ROWID;
INSERT OR IGNORE INTO segment_due
  SELECT session_id, min(rowid) FROM document WHERE session_id <> '' AND rowid >> 40 = 2 GROUP BY session_id;
CREATE TRIGGER IF NOT EXISTS segment_inserted AFTER INSERT ON document
WHEN NEW.rowid >> 40 = 2 AND NEW.session_id <> '' BEGIN
  INSERT INTO segment_due VALUES (NEW.session_id, NEW.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
CREATE TRIGGER IF NOT EXISTS segment_updated AFTER UPDATE OF text, forgotten_at ON document
WHEN NEW.rowid >> 40 = 2 AND NEW.session_id <> ''
  AND (NEW.text IS NOT OLD.text OR NEW.forgotten_at IS NOT OLD.forgotten_at) BEGIN
  INSERT INTO segment_due VALUES (NEW.session_id, NEW.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
CREATE TRIGGER IF NOT EXISTS segment_deleted AFTER DELETE ON document
WHEN OLD.rowid >> 40 = 2 AND OLD.session_id <> '' BEGIN
  INSERT INTO segment_due VALUES (OLD.session_id, OLD.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
""",
    """
CREATE INDEX IF NOT EXISTS document_unplaced ON document (session_id) WHERE project = '' AND session_id <> '';
CREATE TABLE IF NOT EXISTS tally ( -- how many documents are alike in what `memory stats` counts; kept by triggers
  collection INTEGER NOT NULL,
  forgotten INTEGER NOT NULL, -- 0 or 1
  verdict TEXT NOT NULL,
  category TEXT NOT NULL,
  source TEXT NOT NULL,
  project TEXT NOT NULL,
  documents INTEGER NOT NULL,
  merges INTEGER NOT NULL,
  PRIMARY KEY (collection, forgotten, verdict, category, source, project)
) WITHOUT ROWID;
DELETE FROM tally;
INSERT INTO tally SELECT rowid >> 40, forgotten_at IS NOT NULL, write_verdict, category_id, source, project, count(*),
  sum(merged_count) FROM document GROUP BY 1, 2, 3, 4, 5, 6;
CREATE TRIGGER IF NOT EXISTS tally_inserted AFTER INSERT ON document BEGIN
  INSERT INTO tally VALUES (NEW.rowid >> 40, NEW.forgotten_at IS NOT NULL, NEW.write_verdict, NEW.category_id,
    NEW.source, NEW.project, 1, NEW.merged_count)
    ON CONFLICT DO UPDATE SET documents = documents + 1, merges = merges + excluded.merges;
END;
CREATE TRIGGER IF NOT EXISTS tally_deleted AFTER DELETE ON document BEGIN
  UPDATE tally SET documents = documents - 1, merges = merges - OLD.merged_count
    WHERE collection = OLD.rowid >> 40 AND forgotten = (OLD.forgotten_at IS NOT NULL) AND verdict = OLD.write_verdict
    AND category = OLD.category_id AND source = OLD.source AND project = OLD.project;
END;
CREATE TRIGGER IF NOT EXISTS tally_changed
  AFTER UPDATE OF forgotten_at, write_verdict, category_id, source, project, merged_count ON document BEGIN
  UPDATE tally SET documents = documents - 1, merges = merges - OLD.merged_count
    WHERE collection = OLD.rowid >> 40 AND forgotten = (OLD.forgotten_at IS NOT NULL) AND verdict = OLD.write_verdict
    AND category = OLD.category_id AND source = OLD.source AND project = OLD.project;
  INSERT INTO tally VALUES (NEW.rowid >> 40, NEW.forgotten_at IS NOT NULL, NEW.write_verdict, NEW.category_id,
    NEW.source, NEW.project, 1, NEW.merged_count)
    ON CONFLICT DO UPDATE SET documents = documents + 1, merges = merges + excluded.merges;
END;
CREATE TABLE IF NOT EXISTS seen_file ( -- how a transcript was when the archive had all of it, or left it out
  path TEXT PRIMARY KEY, -- fingerprint of its real path
  stamp TEXT NOT NULL, -- its size, times and number; with any other it is looked at again
  asked TEXT NOT NULL, -- the client that was named as its writer, "" where the file was to tell
  client TEXT NOT NULL, -- whose it is, "" where it was left out
  reason TEXT NOT NULL, -- why it was left out
  seen_at INTEGER NOT NULL -- ms since the epoch
) WITHOUT ROWID;
DELETE FROM seen_file; -- as in every step that has transcripts read again
""",
    """
CREATE TABLE IF NOT EXISTS hook_call ( -- every hook, also those whose debug event the log left out as noise
  session_id TEXT NOT NULL,
  id TEXT NOT NULL, -- of the event that told of it
  at INTEGER NOT NULL, -- ms since the epoch, when it ended
  client TEXT NOT NULL,
  event TEXT NOT NULL, -- as the client calls it
  kind TEXT NOT NULL, -- start, prompt, tool, turn ...; "" where it was not read so far
  ms REAL,
  outcome TEXT NOT NULL, -- ok, degraded, failed, late
  error TEXT NOT NULL,
  percent REAL, -- context usage, where the event told it
  tokens INTEGER,
  context_window INTEGER,
  chars INTEGER NOT NULL, -- of what was injected
  PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hook_call_at ON hook_call (at);
CREATE TABLE IF NOT EXISTS injection ( -- texts that sessions were given, as they were given
  id TEXT PRIMARY KEY, -- of the event that tells of it
  session_id TEXT NOT NULL,
  at INTEGER NOT NULL, -- ms since the epoch
  kind TEXT NOT NULL, -- compaction-recovery, memory-recall ...
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL, -- as estimated
  ms REAL, -- what it took to recall and compose
  memories TEXT NOT NULL -- JSON list of ids
);
CREATE INDEX IF NOT EXISTS injection_session ON injection (session_id, at);
CREATE INDEX IF NOT EXISTS injection_at ON injection (at);
CREATE INDEX IF NOT EXISTS event_session ON event (session_id, timestamp) WHERE level <> 'debug';
INSERT OR IGNORE INTO hook_call
  SELECT session_id, id, timestamp, coalesce(json_extract(metadata, '$.agent'), ''),
    coalesce(json_extract(metadata, '$.event'), ''), '', duration_ms,
    CASE action WHEN 'hook.completed' THEN 'ok' WHEN 'hook.degraded' THEN 'degraded' WHEN 'hook.failed' THEN 'failed'
      ELSE 'late' END, coalesce(error, ''), NULL, NULL, NULL, coalesce(json_extract(metadata, '$.contentChars'), 0)
  FROM event WHERE component = 'hook'
    AND action IN ('hook.completed', 'hook.degraded', 'hook.failed', 'hook.timeout') AND json_valid(metadata);
""",
    """
CREATE TABLE IF NOT EXISTS upkeep (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID; -- what is still owed
""",
    """
ALTER TABLE name ADD COLUMN written INTEGER NOT NULL DEFAULT 0; -- number of the last call whose input has it, 0: none
UPDATE name SET written = last WHERE calls > 1 OR weight > 1; -- of those, no row so far says which of its uses it was
""",
    """
CREATE TABLE IF NOT EXISTS place_file ( -- a file in which a session saw names, or edited
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  path TEXT NOT NULL, -- relative to the session's folder where it lies in it
  UNIQUE (session_id, path)
);
CREATE TABLE IF NOT EXISTS place ( -- where a name stands in a file, as the session saw it last
  file_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  line INTEGER NOT NULL, -- from 1; it moves with the edits above it
  number INTEGER NOT NULL, -- of the last call that showed it
  shown INTEGER NOT NULL, -- how many calls did
  defines INTEGER NOT NULL, -- 0 or 1: the line defines the name
  PRIMARY KEY (file_id, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS place_name ON place (name);
CREATE TABLE IF NOT EXISTS edit ( -- lines that a call changed; they move with the edits above them
  file_id INTEGER NOT NULL,
  number INTEGER NOT NULL, -- of the call
  hunk INTEGER NOT NULL, -- of that call, from 0
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (file_id, number, hunk)
) WITHOUT ROWID;
UPDATE transcript SET head = ''; -- read again from the beginning, for the places
DELETE FROM seen_file; -- as in every step that has transcripts read again
""",
    """
ALTER TABLE session ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 0; -- when a turn ended last (ms), 0: not noted
""",
    """
ALTER TABLE session ADD COLUMN worktree TEXT NOT NULL DEFAULT ''; -- where it edited last, if that is not its folder
""",
)

# Made with the sqlite-vec extension; its own step, since a machine without the extension still has the words.
SIGNATURES = """
CREATE VIRTUAL TABLE signature USING vec0 (collection INTEGER PARTITION KEY, bits BIT[256])
"""
