CREATE INDEX IF NOT EXISTS document_pinned ON document (project) WHERE instr(tags, '"pinned"') > 0;
