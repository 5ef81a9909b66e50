CREATE TABLE IF NOT EXISTS forgotten ( -- rows of forgotten sessions and calls, until they are brought back or purged
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  project TEXT NOT NULL,
  at INTEGER NOT NULL, -- ms since the epoch, when the session or the call was active last
  number INTEGER NOT NULL, -- of the call that was forgotten by itself, 0: the session was forgotten
  kind TEXT NOT NULL, -- the table, or `document` for the id of a memory
  value TEXT NOT NULL -- the row as JSON
);
CREATE INDEX IF NOT EXISTS forgotten_session ON forgotten (session_id, number);
