-- From which scan on, and up to which, a file that is back was gone.
CREATE TABLE absences (
    folder      INTEGER NOT NULL,
    name        BLOB    NOT NULL,
    removed_in  INTEGER NOT NULL,
    returned_in INTEGER NOT NULL CHECK (returned_in > removed_in),
    PRIMARY KEY (folder, name, removed_in),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
