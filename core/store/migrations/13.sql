ALTER TABLE session ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 0; -- when a turn ended last (ms), 0: not noted
