//! Turns typed paths into paths as the catalog stores them: absolute, without
//! `.` and `..`, links resolved where the path exists.

use std::path::{Component, Path, PathBuf};

use super::context::{Context, shell_word};
use crate::catalog::RootRow;
use crate::cli::terminal::exit;

/// The path without links, or, where it does not exist, made absolute by its
/// text alone.
pub(crate) fn resolve(path: &Path) -> anyhow::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(_) => absolute(path),
    }
}

/// The path made absolute by its text alone.
pub(crate) fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path)
        .map_err(|error| exit::usage(format_args!("{}: {error}", path.display())))?;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Ok(plain)
}

/// The root that `typed` means. A root that moved away may be a link now, so
/// the text is tried before the link's target.
pub(crate) fn root_named<'r>(roots: &'r [RootRow], typed: &Path) -> anyhow::Result<&'r RootRow> {
    let candidates = [absolute(typed)?, resolve(typed)?];
    candidates
        .iter()
        .find_map(|path| roots.iter().find(|root| root.path == *path))
        .ok_or_else(|| {
            exit::usage(format_args!(
                "{} is not a root of this catalog (`dupescan status` lists them)",
                candidates[0].display()
            ))
        })
}

/// The place in the catalog that `typed` means: below a root, or above one.
pub(crate) fn place_named(
    context: &Context,
    roots: &[RootRow],
    typed: &Path,
) -> anyhow::Result<PathBuf> {
    if let Some(place) = place_among(roots, typed)? {
        return Ok(place);
    }
    if typed.is_file() {
        return Err(is_a_file(typed));
    }
    let place = resolve(typed)?;
    Err(exit::usage(format_args!(
        "{} has not been scanned: scan it with `{}`",
        place.display(),
        scan_of(context, &place)
    )))
}

/// A command line that scans a place.
pub(crate) fn scan_of(context: &Context, place: &Path) -> String {
    context.command(&format!("scan {}", shell_word(place)))
}

fn place_among(roots: &[RootRow], typed: &Path) -> anyhow::Result<Option<PathBuf>> {
    let known = |path: &PathBuf| {
        roots
            .iter()
            .any(|root| path.starts_with(&root.path) || root.path.starts_with(path))
    };
    let mut candidates = [resolve(typed)?, absolute(typed)?].into_iter();
    Ok(candidates.find(known))
}

/// A file was named where only a folder makes sense.
pub(crate) fn is_a_file(path: &Path) -> anyhow::Error {
    let path = path.display();
    exit::usage(format_args!("{path} is a file: give its folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::VolumeRow;
    use crate::model::{FolderId, RootId};

    fn root(path: &Path) -> RootRow {
        RootRow {
            volume_id: crate::model::VolumeId(1),
            id: RootId(1),
            path: path.to_owned(),
            top: FolderId(1),
            volume: VolumeRow {
                identity: "uuid:1".into(),
                fstype: "ext4".into(),
                stable_inodes: true,
            },
            follow: false,
            folders: 1,
            files: 0,
            bytes: 0,
        }
    }

    #[test]
    fn dots_are_resolved_in_paths_that_do_not_exist() {
        let path = absolute(Path::new("/no/such/../place/./x/")).unwrap();
        assert_eq!(path, Path::new("/no/place/x"));
        assert_eq!(absolute(Path::new("/../..")).unwrap(), Path::new("/"));
        assert!(resolve(Path::new("no-such-place")).unwrap().is_absolute());
    }

    #[test]
    fn a_root_is_found_by_its_text_or_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let roots = [root(Path::new("/gone/root")), root(&real)];
        assert_eq!(root_named(&roots, &link).unwrap().path, real);
        let gone = root_named(&roots, Path::new("/gone/x/../root/")).unwrap();
        assert_eq!(gone.path, Path::new("/gone/root"));
        let error = root_named(&roots, folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not a root of this catalog"), "{error}");
    }

    #[test]
    fn a_place_lies_below_or_above_a_root() {
        let roots = [root(Path::new("/data/photos"))];
        for place in ["/data/photos", "/data/photos/2024", "/data", "/"] {
            let place = Path::new(place);
            assert_eq!(place_among(&roots, place).unwrap().unwrap(), place);
        }
        assert_eq!(place_among(&roots, Path::new("/data/music")).unwrap(), None);
    }
}
