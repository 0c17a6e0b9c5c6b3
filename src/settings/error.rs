//! What can be wrong with the settings. Every message is one line that names
//! the value, its source and what is allowed.

use std::io;
use std::path::PathBuf;

use super::keys::{CONFIG_VARIABLE, Key};

/// A setting, or the file of settings, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value that its setting does not allow.
    #[error("invalid value '{value}' for {origin}: {allowed}")]
    Invalid {
        /// The value as it was given.
        value: String,
        /// The flag, the variable, or the key and its file.
        origin: String,
        /// What is allowed.
        allowed: String,
    },
    /// A key in the file that is not a setting.
    #[error(
        "unknown key '{key}' in {}: expected one of {}",
        file.display(),
        known_keys()
    )]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The file it is in.
        file: PathBuf,
    },
    /// A variable that starts like those of settings, but is none.
    #[error(
        "unknown environment variable '{name}': expected {CONFIG_VARIABLE}, {}",
        known_variables()
    )]
    UnknownVariable {
        /// Its name.
        name: String,
    },
    /// A file that is not TOML.
    #[error("{} is not valid TOML: line {line}: {message}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The TOML parser's message.
        message: String,
    },
    /// A file that was asked for and cannot be read.
    #[error("cannot read the configuration file {} from {origin}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Who asked for it.
        origin: String,
        /// What the system said.
        source: io::Error,
    },
    /// No catalog was given, and the platform has no data directory.
    #[error(
        "no home directory to keep the catalog in: choose a catalog with --db or the environment \
         variable DUPESCAN_DB"
    )]
    NoDataDirectory,
}

fn known_keys() -> String {
    let names: Vec<_> = Key::ALL.iter().map(|key| key.name()).collect();
    names.join(", ")
}

fn known_variables() -> String {
    let names: Vec<_> = Key::ALL.iter().map(|key| key.variable()).collect();
    names.join(", ")
}
