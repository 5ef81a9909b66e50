CREATE INDEX IF NOT EXISTS document_unplaced ON document (session_id) WHERE project = '' AND session_id <> '';
CREATE TABLE IF NOT EXISTS tally ( -- how many documents are alike in what `memory stats` counts; kept by triggers
  collection INTEGER NOT NULL,
  forgotten INTEGER NOT NULL, -- 0 or 1
  verdict TEXT NOT NULL,
  category TEXT NOT NULL,
  source TEXT NOT NULL,
  project TEXT NOT NULL,
  documents INTEGER NOT NULL,
  merges INTEGER NOT NULL,
  PRIMARY KEY (collection, forgotten, verdict, category, source, project)
) WITHOUT ROWID;
DELETE FROM tally;
INSERT INTO tally SELECT rowid >> 40, forgotten_at IS NOT NULL, write_verdict, category_id, source, project, count(*),
  sum(merged_count) FROM document GROUP BY 1, 2, 3, 4, 5, 6;
CREATE TRIGGER IF NOT EXISTS tally_inserted AFTER INSERT ON document BEGIN
  INSERT INTO tally VALUES (NEW.rowid >> 40, NEW.forgotten_at IS NOT NULL, NEW.write_verdict, NEW.category_id,
    NEW.source, NEW.project, 1, NEW.merged_count)
    ON CONFLICT DO UPDATE SET documents = documents + 1, merges = merges + excluded.merges;
END;
CREATE TRIGGER IF NOT EXISTS tally_deleted AFTER DELETE ON document BEGIN
  UPDATE tally SET documents = documents - 1, merges = merges - OLD.merged_count
    WHERE collection = OLD.rowid >> 40 AND forgotten = (OLD.forgotten_at IS NOT NULL) AND verdict = OLD.write_verdict
    AND category = OLD.category_id AND source = OLD.source AND project = OLD.project;
END;
CREATE TRIGGER IF NOT EXISTS tally_changed
  AFTER UPDATE OF forgotten_at, write_verdict, category_id, source, project, merged_count ON document BEGIN
  UPDATE tally SET documents = documents - 1, merges = merges - OLD.merged_count
    WHERE collection = OLD.rowid >> 40 AND forgotten = (OLD.forgotten_at IS NOT NULL) AND verdict = OLD.write_verdict
    AND category = OLD.category_id AND source = OLD.source AND project = OLD.project;
  INSERT INTO tally VALUES (NEW.rowid >> 40, NEW.forgotten_at IS NOT NULL, NEW.write_verdict, NEW.category_id,
    NEW.source, NEW.project, 1, NEW.merged_count)
    ON CONFLICT DO UPDATE SET documents = documents + 1, merges = merges + excluded.merges;
END;
CREATE TABLE IF NOT EXISTS seen_file ( -- how a transcript was when the archive had all of it, or left it out
  path TEXT PRIMARY KEY, -- fingerprint of its real path
  stamp TEXT NOT NULL, -- its size, times and number; with any other it is looked at again
  asked TEXT NOT NULL, -- the client that was named as its writer, "" where the file was to tell
  client TEXT NOT NULL, -- whose it is, "" where it was left out
  reason TEXT NOT NULL, -- why it was left out
  seen_at INTEGER NOT NULL -- ms since the epoch
) WITHOUT ROWID;
DELETE FROM seen_file; -- as in every step that has transcripts read again
