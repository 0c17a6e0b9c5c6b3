-- Files of up to 48 KiB have a digest and no probe, no longer those of up to
-- 32 KiB alone. Digests stay; what was told apart by its probe is read again by
-- the next scan.
UPDATE files SET probe = NULL, settled_in = NULL WHERE size BETWEEN 32769 AND 49152;
UPDATE catalog SET probe_version = 4, unsettled = 1, grouped_in = NULL;
