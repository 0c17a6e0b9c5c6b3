-- The first schema. Names in braces are replaced by lists from the model; see words.rs.
-- A list of more than two values would be made a table for every row that is checked.

-- What holds for the whole catalog: exactly one row.
CREATE TABLE catalog (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    identity      TEXT    NOT NULL CHECK (length(identity) = 32),
    algorithm     TEXT    NOT NULL CHECK (algorithm IN ({catalog.algorithm})),
    probe_version INTEGER NOT NULL,
    unsettled     INTEGER NOT NULL CHECK (unsettled IN (0, 1)),
    grouped_in    INTEGER,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE volumes (
    id            INTEGER PRIMARY KEY,
    identity      TEXT    NOT NULL UNIQUE,
    fstype        TEXT    NOT NULL,
    stable_inodes INTEGER NOT NULL CHECK (stable_inodes IN (0, 1)),
    last_seen     INTEGER NOT NULL,
    disk          TEXT
) STRICT;

CREATE TABLE roots (
    id         INTEGER PRIMARY KEY,
    path       BLOB    NOT NULL UNIQUE CHECK (length(path) > 0),
    volume     INTEGER NOT NULL REFERENCES volumes,
    ino        INTEGER,
    born_ns    INTEGER,
    follow     INTEGER NOT NULL DEFAULT 0 CHECK (follow IN (0, 1)),
    excludes   TEXT    NOT NULL DEFAULT '',
    min_size   INTEGER,
    max_size   INTEGER,
    folders    INTEGER NOT NULL DEFAULT 0 CHECK (folders >= 0),
    files      INTEGER NOT NULL DEFAULT 0 CHECK (files >= 0),
    bytes      INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE scans (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    root        INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
    subpath     BLOB    NOT NULL DEFAULT x'',
    state       TEXT    NOT NULL CHECK (state IN ({scans.state})),
    stage       TEXT    NOT NULL CHECK (stage IN ({scans.stage})),
    mode        TEXT    NOT NULL CHECK (mode IN ({scans.mode})),
    algorithm   TEXT    NOT NULL CHECK (algorithm IN ({scans.algorithm})),
    options     TEXT    NOT NULL,
    {scans.counters},
    groups      INTEGER,
    copies      INTEGER,
    reclaimable INTEGER,
    unchecked   INTEGER,
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX scans_by_root ON scans (root);

CREATE TABLE folders (
    id          INTEGER PRIMARY KEY,
    root        INTEGER NOT NULL REFERENCES roots,
    parent      INTEGER REFERENCES folders,
    name        BLOB    NOT NULL,
    volume      INTEGER REFERENCES volumes,
    mount_point INTEGER NOT NULL DEFAULT 0 CHECK (mount_point IN (0, 1)),
    linked      INTEGER NOT NULL DEFAULT 0 CHECK (linked IN (0, 1)),
    scope       INTEGER NOT NULL DEFAULT 0 CHECK (scope IN (0, 1)),
    visited_in  INTEGER,
    listed_in   INTEGER,
    mtime_ns    INTEGER,
    ctime_ns    INTEGER,
    signature   BLOB CHECK (length(signature) = 16),
    first_scan  INTEGER NOT NULL,
    removed_in  INTEGER,
    CHECK ((parent IS NULL) = (length(name) = 0))
) STRICT;

CREATE UNIQUE INDEX folders_by_parent ON folders (parent, name);
CREATE INDEX folders_by_root ON folders (root);

CREATE TABLE files (
    folder     INTEGER NOT NULL REFERENCES folders,
    name       BLOB    NOT NULL CHECK (length(name) > 0),
    size       INTEGER NOT NULL CHECK (size >= 0),
    allocated  INTEGER NOT NULL CHECK (allocated >= 0),
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    ino        INTEGER,
    nlink      INTEGER NOT NULL,
    probe      INTEGER,
    digest     BLOB CHECK (length(digest) / 2 IN ({half_digest_lengths})),
    compared   INTEGER,
    settled_in INTEGER,
    hashed_in  INTEGER,
    racy       INTEGER NOT NULL DEFAULT 0 CHECK (racy IN (0, 1)),
    link       INTEGER NOT NULL DEFAULT 0 CHECK (link IN (0, 1)),
    scope      INTEGER NOT NULL DEFAULT 0 CHECK (scope BETWEEN 0 AND 2),
    first_scan INTEGER NOT NULL,
    removed_in INTEGER,
    PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;

-- How far large files were hashed; a resume continues from there.
CREATE TABLE hash_states (
    folder    INTEGER NOT NULL,
    name      BLOB    NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    ctime_ns  INTEGER NOT NULL,
    ino       INTEGER,
    algorithm TEXT    NOT NULL CHECK (algorithm IN ({hash_states.algorithm})),
    format    INTEGER NOT NULL,
    offset    INTEGER NOT NULL CHECK (offset > 0),
    state     BLOB    NOT NULL,
    PRIMARY KEY (folder, name),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- From which scan on, and until which, a file that is back was gone.
CREATE TABLE absences (
    folder      INTEGER NOT NULL,
    name        BLOB    NOT NULL,
    removed_in  INTEGER NOT NULL,
    returned_in INTEGER NOT NULL CHECK (returned_in > removed_in),
    PRIMARY KEY (folder, name, removed_in),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The groups with the most reclaimable bytes, as of catalog.grouped_in: what a
-- scan that finds nothing changed shows without reading all files again.
CREATE TABLE top_groups (
    rank        INTEGER PRIMARY KEY,
    path        BLOB    NOT NULL,
    copies      INTEGER NOT NULL,
    reclaimable INTEGER NOT NULL,
    size        INTEGER NOT NULL
) STRICT;

-- The folders whose redundant copies have the most reclaimable bytes, as of
-- catalog.grouped_in.
CREATE TABLE top_folders (
    rank        INTEGER PRIMARY KEY,
    path        BLOB    NOT NULL,
    copies      INTEGER NOT NULL,
    reclaimable INTEGER NOT NULL
) STRICT;

CREATE TABLE faults (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    root     INTEGER NOT NULL REFERENCES roots,
    folder   INTEGER NOT NULL REFERENCES folders,
    name     BLOB    NOT NULL,
    scan     INTEGER NOT NULL,
    step     TEXT    NOT NULL CHECK (step IN ({faults.step})),
    class    TEXT    NOT NULL CHECK (class IN ({faults.class})),
    errno    INTEGER,
    attempts INTEGER NOT NULL CHECK (attempts > 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    message  TEXT    NOT NULL,
    hint     TEXT    NOT NULL,
    UNIQUE (folder, name)
) STRICT;

CREATE INDEX faults_by_root ON faults (root);

-- Runs of `audit`, so that one that was stopped can be resumed.
CREATE TABLE audit_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    place       BLOB    NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

-- When a file was last read again and matched its digest, in the state that
-- the times tell.
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

-- Files that an audit found corrupted: their content no longer matches their
-- digest, though their times are those that were scanned. A row counts only
-- while the file has this digest and these times.
CREATE TABLE corrupted (
    folder   INTEGER NOT NULL,
    name     BLOB    NOT NULL,
    found_at INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    digest   BLOB    NOT NULL CHECK (length(digest) / 2 IN ({half_digest_lengths})),
    PRIMARY KEY (folder, name),
    FOREIGN KEY (folder, name) REFERENCES files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Folders that no plan ever touches.
CREATE TABLE protected (
    path       BLOB    PRIMARY KEY CHECK (length(path) > 0),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    action     TEXT    NOT NULL CHECK (action IN ({plans.action})),
    options    TEXT    NOT NULL,
    scan       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    at_least   INTEGER CHECK (at_least >= 0),
    at_most    INTEGER CHECK (at_most >= at_least)
) STRICT;

CREATE TABLE plan_groups (
    plan   INTEGER NOT NULL REFERENCES plans ON DELETE CASCADE,
    number INTEGER NOT NULL,
    size   INTEGER NOT NULL CHECK (size >= 0),
    digest BLOB    NOT NULL CHECK (length(digest) / 2 IN ({half_digest_lengths})),
    PRIMARY KEY (plan, number)
) STRICT, WITHOUT ROWID;

-- One row for each name of a copy.
CREATE TABLE plan_files (
    plan       INTEGER NOT NULL,
    group_no   INTEGER NOT NULL,
    copy_no    INTEGER NOT NULL,
    name_no    INTEGER NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ({plan_files.role})),
    path       BLOB    NOT NULL CHECK (length(path) > 0),
    root       BLOB    NOT NULL,
    volume     TEXT    NOT NULL,
    ino        INTEGER,
    mtime_ns   INTEGER NOT NULL,
    ctime_ns   INTEGER NOT NULL,
    allocated  INTEGER NOT NULL CHECK (allocated >= 0),
    PRIMARY KEY (plan, group_no, copy_no, name_no),
    FOREIGN KEY (plan, group_no) REFERENCES plan_groups ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Each time that a plan was applied.
CREATE TABLE runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    plan        INTEGER NOT NULL,
    action      TEXT    NOT NULL CHECK (action IN ({runs.action})),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

-- The journal: what became of each name. Written before a file is touched, and
-- synced to the disk.
CREATE TABLE actions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    run           INTEGER NOT NULL REFERENCES runs,
    group_no      INTEGER NOT NULL,
    path          BLOB    NOT NULL CHECK (length(path) > 0),
    keeper        BLOB    NOT NULL,
    size          INTEGER NOT NULL CHECK (size >= 0),
    mtime_ns      INTEGER NOT NULL,
    ctime_ns      INTEGER NOT NULL,
    ino           INTEGER,
    allocated     INTEGER NOT NULL CHECK (allocated >= 0),
    digest        BLOB    NOT NULL CHECK (length(digest) / 2 IN ({half_digest_lengths})),
    trash         BLOB    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ({actions.state})),
    reason        TEXT    NOT NULL DEFAULT '',
    trashed_ctime INTEGER,
    changed_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX actions_by_run ON actions (run, state);
CREATE INDEX actions_by_group ON actions (run, group_no);
CREATE INDEX actions_open ON actions (state) WHERE state IN ({open_actions});

-- For people who open the catalog with sqlite3: whole paths instead of ids.
CREATE VIEW folder_paths (folder, root, path) AS
    WITH RECURSIVE below (folder, root, path) AS (
        SELECT folders.id, roots.id, rtrim(CAST(roots.path AS TEXT), '/')
          FROM roots JOIN folders ON folders.root = roots.id AND folders.parent IS NULL
        UNION ALL
        SELECT folders.id, below.root, below.path || '/' || CAST(folders.name AS TEXT)
          FROM below JOIN folders ON folders.parent = below.folder
    )
    SELECT folder, root, path FROM below;

CREATE VIEW live_files (path, size, mtime, digest, folder, name) AS
    SELECT folder_paths.path || '/' || CAST(files.name AS TEXT),
           files.size,
           datetime(files.mtime_ns / 1000000000, 'unixepoch'),
           CASE length(files.digest) % 2
               WHEN 0 THEN lower(hex(files.digest))
               WHEN 1 THEN 'sparse:' || substr(lower(hex(files.digest)), 1, 2 * length(files.digest) - 2)
           END,
           files.folder,
           files.name
      FROM files JOIN folder_paths USING (folder)
     WHERE files.removed_in IS NULL;
