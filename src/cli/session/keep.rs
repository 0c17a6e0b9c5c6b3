//! Keep rules and folders to protect as they are typed: their paths are places of the
//! catalog.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::answers::{path_named, place_ever};
use crate::catalog::{ReadOnly, RootRow};
use crate::cli::terminal::exit;
use crate::model::KeepRule;

/// The rules of `--keep`. A path that has not been scanned is a usage error.
pub(crate) fn keep_rules(
    catalog: &ReadOnly,
    typed: &[impl AsRef<OsStr>],
) -> anyhow::Result<Vec<KeepRule>> {
    let place =
        |path: &Path| place_ever(catalog, &at_home(path)).map_err(|error| error.to_string());
    let rules = typed.iter();
    let rules = rules.map(|text| KeepRule::parse(text.as_ref(), place));
    rules.collect::<Result<_, _>>().map_err(exit::usage)
}

/// A shell does not expand `~` after a colon.
fn at_home(path: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// A folder that is to be protected; a name that leads to none would protect nothing.
pub(crate) fn folder_to_protect(roots: &[RootRow], typed: &Path) -> anyhow::Result<PathBuf> {
    let path = path_named(roots, typed)?;
    match path.is_dir() {
        true => Ok(path),
        false => Err(exit::usage(format_args!(
            "--protect {}: expected a folder that exists",
            typed.display()
        ))),
    }
}
