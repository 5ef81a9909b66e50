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
