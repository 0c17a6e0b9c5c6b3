//! The benches have no test harness of their own. Those of their modules that
//! could be wrong unnoticed are compiled here too, with the tests beside them.

#![allow(dead_code, reason = "the tests need only a part of each module")]

#[path = "../../../benches/peers/groups.rs"]
mod groups;
#[path = "../../../benches/peers/output.rs"]
mod output;
#[path = "../../../benches/peers/results.rs"]
mod results;
#[path = "../../../benches/trees/mod.rs"]
mod trees;
