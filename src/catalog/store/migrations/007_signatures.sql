-- One number for all files of a folder, so that a rescan that finds them
-- unchanged need not read their rows.
ALTER TABLE folders ADD COLUMN signature BLOB CHECK (length(signature) = 16);
