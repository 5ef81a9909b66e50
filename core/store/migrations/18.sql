ALTER TABLE session ADD COLUMN parent TEXT NOT NULL DEFAULT ''; -- the session that began it, or that it was forked from
ALTER TABLE session ADD COLUMN kind TEXT NOT NULL DEFAULT 'main'; -- main, fork, subagent, review
ALTER TABLE session ADD COLUMN folders TEXT NOT NULL DEFAULT '[]'; -- JSON list, in order: the folders of its entries
ALTER TABLE session ADD COLUMN branches TEXT NOT NULL DEFAULT '[]'; -- JSON list of rewinds: from and to which mark
CREATE INDEX IF NOT EXISTS session_parent ON session (parent) WHERE parent <> '';
ALTER TABLE call ADD COLUMN project TEXT NOT NULL DEFAULT ''; -- of the folder in which it ran; '': that of its session
ALTER TABLE call ADD COLUMN abandoned INTEGER NOT NULL DEFAULT 0; -- 0 or 1: the user went back to before it
CREATE TABLE IF NOT EXISTS node ( -- entries of a session's tree, each with its mark: what was stored up to it
  session_id TEXT NOT NULL,
  id INTEGER NOT NULL, -- a hash of the entry's id
  calls INTEGER NOT NULL, -- number of the last call
  episode INTEGER NOT NULL, -- row of the last episode
  is_prompt INTEGER NOT NULL, -- 0 or 1
  PRIMARY KEY (session_id, id)
) WITHOUT ROWID;
