//! The stage and state of a scan: words that the catalog stores.

/// Declares an enum whose words are stored in the catalog.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$case_doc])* $case),+ }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$case),+];

            /// The word stored in the catalog.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$case => $word),+ }
            }

            /// The value that a stored word stands for.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$case),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words!(
    /// How a scan stands.
    ScanState {
        /// A process works on it.
        Running = "running",
        /// It can be resumed.
        Interrupted = "interrupted",
        /// It is done.
        Complete = "complete",
        /// A later scan started over instead of resuming it.
        Superseded = "superseded",
    }
);

words!(
    /// How far a scan has come.
    Stage {
        /// Listing folders.
        List = "list",
        /// Hashing heads and tails.
        Probe = "probe",
        /// Reading whole files.
        Hash = "hash",
        /// Adding up.
        Settle = "settle",
    }
);

impl Default for Stage {
    /// Every run starts with it.
    fn default() -> Self {
        Self::List
    }
}
