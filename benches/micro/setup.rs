//! What is measured on: a small tree, and catalogs of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::trees::{Kind, Size, Tree};

/// A tree of small files in a folder that ends with the bench.
pub(crate) struct Setup {
    folder: TempDir,
    pub(crate) files: u64,
}

impl Setup {
    /// The quick tree of small files, or five times as many.
    pub(crate) fn new(kind: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let kind = Kind::from_name(kind).expect("a kind of tree");
        let tree = Tree::new(kind, Size::Quick);
        tree.write(&folder.path().join("tree"))
            .expect("room for a small tree");
        Self {
            folder,
            files: tree.files(),
        }
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    /// A path beside the tree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Scans the tree with the program.
    pub(crate) fn scan(&self, catalog: &Path, mode: &str) {
        let status = Command::new(env!("CARGO_BIN_EXE_dupescan"))
            .args(["scan", "--mode", mode, "--db"])
            .args([catalog, &self.tree()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("dupescan was built with this bench");
        assert!(status.success(), "scan --mode {mode}: {status}");
    }
}
