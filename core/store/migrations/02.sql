CREATE TABLE transcript (
  source TEXT PRIMARY KEY, -- the file's path, or session:<id> where the client keeps no file
  offset INTEGER NOT NULL,
  head TEXT NOT NULL,
  carry TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
