ALTER TABLE session ADD COLUMN worktree TEXT NOT NULL DEFAULT ''; -- where it edited last, if that is not its folder
