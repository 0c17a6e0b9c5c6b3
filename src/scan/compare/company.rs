//! Which files a class consisted of when it was told how far they came. If it
//! consists of the same files after a stop, those of which nothing was saved are
//! known to differ from the others, and need not be read again.

use crate::catalog::{HashClass, WorkCopy};
use crate::model::Algorithm;
use crate::scan::hasher::Hasher;

const LENGTH: usize = 32;

/// All files of a class and the states they are in, as one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Company([u8; LENGTH]);

impl Company {
    /// Not all files of the class were compared, or how far they came was not
    /// saved of all.
    pub(super) const INCOMPLETE: Self = Self([0; LENGTH]);

    pub(super) fn of(class: &HashClass) -> Self {
        // Classes come in different orders.
        let mut files: Vec<_> = class.copies.iter().map(bytes_of).collect();
        files.sort_unstable();
        let digest = Hasher::digest(Algorithm::Blake3, &files.concat());
        Self::read(digest.as_bytes()).unwrap_or(Self::INCOMPLETE)
    }

    /// What is saved of a file: its company, and the state of its hasher.
    pub(super) fn with(self, hasher: &[u8]) -> Vec<u8> {
        [&self.0, hasher].concat()
    }

    /// The company and the state of the hasher that were saved.
    pub(super) fn split(saved: &[u8]) -> Option<(Self, &[u8])> {
        let (company, hasher) = saved.split_at_checked(LENGTH)?;
        Some((Self::read(company)?, hasher))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// A file and its state; one without a stable inode is known by its name.
fn bytes_of(copy: &WorkCopy) -> Vec<u8> {
    let state = &copy.state;
    let mut bytes = Vec::new();
    bytes.extend(copy.volume.0.to_le_bytes());
    bytes.extend(state.size.to_le_bytes());
    bytes.extend(state.mtime_ns.to_le_bytes());
    bytes.extend(state.ctime_ns.to_le_bytes());
    match (state.ino, copy.names.first()) {
        (Some(ino), _) => bytes.extend(ino.to_le_bytes()),
        (None, Some((folder, name))) => {
            bytes.extend(folder.0.to_le_bytes());
            bytes.extend(name.as_encoded_bytes());
        }
        (None, None) => {}
    }
    // So that the bytes of one never look like those of two.
    bytes.extend((bytes.len() as u64).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::FileState;
    use crate::model::{FolderId, VolumeId};

    fn copy(name: &str, ino: Option<u64>) -> WorkCopy {
        WorkCopy {
            names: vec![(FolderId(1), name.into())],
            state: FileState {
                size: 10,
                mtime_ns: 1,
                ctime_ns: 2,
                ino,
            },
            volume: VolumeId(1),
        }
    }

    fn of(copies: &[WorkCopy]) -> Company {
        Company::of(&HashClass {
            size: 10,
            must_digest: false,
            copies: copies.to_vec(),
        })
    }

    #[test]
    fn the_same_files_are_the_same_company_in_any_order() {
        let (a, b) = (copy("a", Some(1)), copy("b", Some(2)));
        let both = of(&[a.clone(), b.clone()]);
        assert_eq!(both, of(&[b.clone(), a.clone()]));
        assert_eq!(both, of(&[copy("another name", Some(1)), b.clone()]));
        assert_ne!(both, Company::INCOMPLETE);
    }

    #[test]
    fn another_file_or_state_is_another_company() {
        let (a, b) = (copy("a", Some(1)), copy("b", None));
        let both = of(&[a.clone(), b.clone()]);
        let touched = |touch: fn(&mut WorkCopy)| {
            let mut b = b.clone();
            touch(&mut b);
            of(&[a.clone(), b])
        };
        for other in [
            of(std::slice::from_ref(&a)),
            of(&[a.clone(), b.clone(), copy("c", None)]),
            touched(|b| b.state.mtime_ns += 1),
            touched(|b| b.state.ctime_ns += 1),
            touched(|b| b.volume = VolumeId(2)),
            touched(|b| b.names[0].0 = FolderId(2)),
            touched(|b| b.names[0].1 = "c".into()),
        ] {
            assert_ne!(both, other);
        }
    }

    #[test]
    fn what_was_saved_is_read_back() {
        let company = of(&[copy("a", Some(1))]);
        let saved = company.with(b"hasher");
        assert_eq!(Company::split(&saved), Some((company, &b"hasher"[..])));
        assert_eq!(Company::split(b"short"), None);
    }
}
