CREATE TABLE IF NOT EXISTS segment ( -- turns of a session in a row, indexed together
  rowid INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  first INTEGER NOT NULL -- row of its first episode
);
CREATE INDEX IF NOT EXISTS segment_session ON segment (session_id, first);
CREATE VIRTUAL TABLE IF NOT EXISTS segment_lexicon USING fts5 (
  text, parts, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE IF NOT EXISTS segment_due ( -- sessions whose segments are to be indexed anew, from which episode on
  session_id TEXT PRIMARY KEY,
  first INTEGER NOT NULL
) WITHOUT ROWID;
INSERT OR IGNORE INTO segment_due
  SELECT session_id, min(rowid) FROM document WHERE session_id <> '' AND rowid >> 40 = 2 GROUP BY session_id;
CREATE TRIGGER IF NOT EXISTS segment_inserted AFTER INSERT ON document
WHEN NEW.rowid >> 40 = 2 AND NEW.session_id <> '' BEGIN
  INSERT INTO segment_due VALUES (NEW.session_id, NEW.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
CREATE TRIGGER IF NOT EXISTS segment_updated AFTER UPDATE OF text, forgotten_at ON document
WHEN NEW.rowid >> 40 = 2 AND NEW.session_id <> ''
  AND (NEW.text IS NOT OLD.text OR NEW.forgotten_at IS NOT OLD.forgotten_at) BEGIN
  INSERT INTO segment_due VALUES (NEW.session_id, NEW.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
CREATE TRIGGER IF NOT EXISTS segment_deleted AFTER DELETE ON document
WHEN OLD.rowid >> 40 = 2 AND OLD.session_id <> '' BEGIN
  INSERT INTO segment_due VALUES (OLD.session_id, OLD.rowid)
    ON CONFLICT DO UPDATE SET first = min(first, excluded.first);
END;
