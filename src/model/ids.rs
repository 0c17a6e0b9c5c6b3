//! The keys of the catalog's tables, each a type of its own.

use std::fmt;

/// Declares a newtype over the integer key of one table, so that a folder id
/// can never be passed where a scan id is meant.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// Key of `volumes`: one filesystem (and btrfs subvolume).
    VolumeId
);
id!(
    /// Key of `roots`: one folder that the user asked to scan.
    RootId
);
id!(
    /// Key of `scans`: one run over one root, possibly resumed.
    ScanId
);
id!(
    /// Key of `folders`.
    FolderId
);
id!(
    /// Key of `faults`: one dead letter.
    FaultId
);
id!(
    /// Key of `plans`: one list of copies to act on.
    PlanId
);
id!(
    /// Key of `runs`: one time that a plan was applied.
    RunId
);
id!(
    /// Key of `actions`: what became of one name of a file.
    ActionId
);
