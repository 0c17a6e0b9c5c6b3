//! The environment variables that give settings. A mistyped one is an error,
//! like a mistyped key in the configuration file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::error::ConfigError;
use super::keys::{CONFIG_VARIABLE, Key};

const PREFIX: &str = "DUPESCAN_";
/// Variables of this project's own tests, which are not settings.
const TEST_PREFIX: &str = "DUPESCAN_TEST_";

/// The `DUPESCAN_` variables that are set; an empty one counts as unset.
#[derive(Debug)]
pub(crate) struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// Picks the settings out of all variables.
    pub(crate) fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let named = variables.into_iter().filter_map(|(name, value)| {
            let name = name.to_str()?;
            let is_ours = name.starts_with(PREFIX) && !name.starts_with(TEST_PREFIX);
            (is_ours && !value.is_empty()).then(|| (name.to_owned(), value))
        });
        let settings: BTreeMap<_, _> = named.collect();
        let is_known = |name: &str| {
            name == CONFIG_VARIABLE || Key::ALL.iter().any(|key| key.variable() == name)
        };
        match settings.keys().find(|name| !is_known(name)) {
            Some(name) => Err(ConfigError::UnknownVariable { name: name.clone() }),
            None => Ok(Self(settings)),
        }
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str)
    }
}
