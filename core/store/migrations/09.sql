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
