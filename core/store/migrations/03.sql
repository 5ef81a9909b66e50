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
