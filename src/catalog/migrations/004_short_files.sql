-- Files up to 64 KiB, no longer only up to 16 KiB, are hashed whole instead of
-- probed. What was learned from their probes is learned anew by the next scan.
UPDATE files SET probe = NULL, settled_in = NULL WHERE size BETWEEN 16385 AND 65536;
UPDATE catalog SET probe_version = 2, unsettled = 1;
