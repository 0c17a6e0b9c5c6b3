-- Runs of `audit`, so that one that was stopped goes on.
CREATE TABLE audit_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    place       BLOB    NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

-- When a file was last read again and found to be what its digest says, in
-- the state that the times tell.
CREATE TABLE audits (
    folder     INTEGER NOT NULL,
    name       BLOB    NOT NULL,
    run        INTEGER NOT NULL,
    audited_at INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    PRIMARY KEY (folder, name),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
