ALTER TABLE name ADD COLUMN written INTEGER NOT NULL DEFAULT 0; -- number of the last call whose input has it, 0: none
UPDATE name SET written = last WHERE calls > 1 OR weight > 1; -- of those, no row so far says which of its uses it was
