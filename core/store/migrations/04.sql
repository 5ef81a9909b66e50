CREATE TABLE outbox ( -- documents that a cluster has not got yet as they are; `core.store.outbox` has the triggers
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  collection INTEGER NOT NULL,
  gone INTEGER NOT NULL DEFAULT 0, -- the row was deleted, not only forgotten
  queued_at INTEGER NOT NULL,
  not_before INTEGER NOT NULL DEFAULT 0,
  doubt INTEGER NOT NULL DEFAULT 0, -- when it was sent and nobody answered
  refusal TEXT NOT NULL DEFAULT ''
);
CREATE TABLE outbox_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE outbox_version (id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox_share ( -- what other machines add to a document's counters
  id TEXT NOT NULL, origin TEXT NOT NULL, number INTEGER NOT NULL, recalls INTEGER NOT NULL, priority REAL NOT NULL,
  PRIMARY KEY (id, origin)
) WITHOUT ROWID;
CREATE TABLE outbox_seen (collection TEXT NOT NULL, origin TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (collection, origin)
) WITHOUT ROWID;
