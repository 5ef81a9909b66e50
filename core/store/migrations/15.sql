CREATE TABLE IF NOT EXISTS unchecked_session ( -- a fork may have been given its turns, if it was archived first
  id TEXT PRIMARY KEY
) WITHOUT ROWID;
INSERT OR IGNORE INTO unchecked_session SELECT id FROM session WHERE prompts > 0;
