//! Looking after the catalog: checking it, mending it, purging what is gone,
//! and copying it while it is in use.
