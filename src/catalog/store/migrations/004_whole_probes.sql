-- Files of 16 to 64 KiB are probed whole, no longer by head and tail. What was
-- learned about them is learned anew by the next scan: a digest without a probe
-- would be found by no newcomer.
UPDATE files SET probe = NULL, settled_in = NULL, digest = NULL, compared = NULL, hashed_in = NULL
 WHERE size BETWEEN 16385 AND 65536;
UPDATE catalog SET probe_version = 2, unsettled = 1, grouped_in = NULL;
