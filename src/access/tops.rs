//! Whether the parts of the catalog are on the filesystems they were scanned on.
//! Where another one is mounted now, no file is what it was, whatever its state.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

use super::roots::{OpenRoots, join, volume_row};
use crate::catalog::VolumeTop;
use crate::platform::VolumeTable;

/// The topmost folders of all volumes, innermost first; none where every volume
/// is what it was, and would be noticed if it were not.
#[derive(Debug, Default)]
pub(crate) struct VolumeTops(Vec<Top>);

#[derive(Debug)]
struct Top {
    path: PathBuf,
    holds: bool,
    /// Where the states of files prove nothing, the device that they must be on.
    image: Option<u64>,
}

impl VolumeTops {
    /// Looks at the topmost folders of all volumes in these roots.
    pub(crate) fn look(tops: Vec<VolumeTop>, roots: &OpenRoots, volumes: &VolumeTable) -> Self {
        let looked = tops.into_iter();
        let mut tops: Vec<Top> = looked
            .filter_map(|top| Top::look(&top, roots, volumes).ok())
            .collect();
        if tops.iter().all(|top| top.holds && top.image.is_none()) {
            tops.clear();
        }
        tops.sort_by_key(|top| Reverse(top.path.components().count()));
        Self(tops)
    }

    /// Whether a file on the device `dev` is on the volume that was scanned there.
    pub(crate) fn holds(&self, path: &Path, dev: u64) -> bool {
        let top = self.0.iter().find(|top| path.starts_with(&top.path));
        top.is_none_or(|top| top.holds && top.image.is_none_or(|image| image == dev))
    }
}

impl Top {
    fn look(top: &VolumeTop, roots: &OpenRoots, volumes: &VolumeTable) -> io::Result<Self> {
        let root = roots.get(&top.root).ok_or(io::ErrorKind::NotFound)?;
        let dir = root.dir.open_beneath(&top.below, root.links)?;
        let stat = dir.stat()?;
        let now = volume_row(&*volumes.of(&dir, stat.dev)?);
        Ok(Self {
            path: join(&root.path, &top.below),
            holds: top.volume.holds_on(&now),
            image: now.is_image().then_some(stat.dev),
        })
    }
}
