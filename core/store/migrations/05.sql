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
