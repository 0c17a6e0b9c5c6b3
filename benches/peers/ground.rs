//! The tree that is measured on: made once and kept, or a real one that is
//! never written to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::trees::{Kind, Size, Tree};

/// Longer than a file that was just written counts as racy.
const SETTLING: Duration = Duration::from_millis(3_500);

/// A tree on disk.
pub(crate) struct Ground {
    /// Its name in results.
    pub(crate) name: String,
    /// Its size, or its path.
    pub(crate) size: String,
    pub(crate) top: PathBuf,
    made: Option<Made>,
    changed: Vec<u64>,
}

/// What is known about a tree that was made here.
struct Made {
    tree: Tree,
    /// Is there while the tree is whole and unchanged.
    stamp: PathBuf,
}

impl Ground {
    /// The tree of this kind; written if it is not there from an earlier run.
    pub(crate) fn make(kind: &Kind, size: Size, dir: &Path) -> io::Result<Self> {
        let name = format!("{}-{}", kind.name, size.name());
        let top = dir.join("trees").join(&name);
        let stamp = dir.join("trees").join(format!("{name}.whole"));
        let tree = Tree::new(kind, size);
        if !stamp.exists() {
            println!("writing {} files to {}", tree.files(), top.display());
            remove(&top)?;
            tree.write(&top)?;
            fs::write(&stamp, "")?;
            thread::sleep(SETTLING);
        }
        Ok(Self {
            name: kind.name.to_owned(),
            size: size.name().to_owned(),
            top,
            made: Some(Made { tree, stamp }),
            changed: Vec::new(),
        })
    }

    /// A tree that was there before.
    pub(crate) fn real(top: &Path) -> Self {
        Self {
            name: "real".to_owned(),
            size: top.display().to_string(),
            top: top.to_path_buf(),
            made: None,
            changed: Vec::new(),
        }
    }

    /// The number of files, where it is known.
    pub(crate) fn files(&self) -> Option<u64> {
        self.made.as_ref().map(|made| made.tree.files())
    }

    /// Gives every hundredth file other content, other files each round.
    /// `false` for a tree that may not be changed.
    pub(crate) fn change_some(&mut self, round: u64) -> io::Result<bool> {
        let Some(made) = &self.made else {
            return Ok(false);
        };
        remove_file(&made.stamp)?;
        let first = (round * 7 + 3) % 100;
        let mut files: Vec<u64> = (first..made.tree.files()).step_by(100).collect();
        if files.is_empty() {
            files.push(round % made.tree.files());
        }
        made.tree.rewrite(&self.top, &files, round)?;
        self.changed.extend(files);
        thread::sleep(SETTLING);
        Ok(true)
    }

    /// Undoes all changes.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        if let (Some(made), false) = (&self.made, self.changed.is_empty()) {
            self.changed.sort_unstable();
            self.changed.dedup();
            made.tree.restore(&self.top, &self.changed)?;
            self.changed.clear();
            fs::write(&made.stamp, "")?;
            thread::sleep(SETTLING);
        }
        Ok(())
    }
}

/// Removes a folder with everything in it, if it is there.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    absent_is_fine(fs::remove_dir_all(folder))
}

fn remove_file(path: &Path) -> io::Result<()> {
    absent_is_fine(fs::remove_file(path))
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
