ALTER TABLE session ADD COLUMN forked_at INTEGER NOT NULL DEFAULT 0; -- time of the last entry that a fork copied, in ms
