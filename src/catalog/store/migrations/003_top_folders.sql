-- The folders whose redundant copies free most, as of catalog.grouped_in,
-- beside top_groups.
CREATE TABLE top_folders (
    rank        INTEGER PRIMARY KEY,
    path        BLOB    NOT NULL,
    copies      INTEGER NOT NULL,
    reclaimable INTEGER NOT NULL
) STRICT;

-- They were not counted with the groups that are kept.
UPDATE catalog SET grouped_in = NULL;
