-- Files that an audit found rotten: their content is not what their digest
-- says, though their times are those that were scanned. A row counts only
-- while the file has this digest and these times.
CREATE TABLE rot (
    folder   INTEGER NOT NULL,
    name     BLOB    NOT NULL,
    found_at INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest   BLOB    NOT NULL CHECK (length(digest) IN (32, 64)),
    PRIMARY KEY (folder, name),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
