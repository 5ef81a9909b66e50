CREATE TABLE IF NOT EXISTS folder ( -- the project of a repository's folder, which outlives its remote, its path and itself
  path TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  made_at INTEGER NOT NULL -- when its repository was made there, in ns, which a move keeps; 0: unknown
) WITHOUT ROWID;
INSERT OR REPLACE INTO folder SELECT folder, project, 0 FROM session
  WHERE folder <> '' AND instr(project, '/') > 0 AND updated_at >= 0 ORDER BY updated_at;
