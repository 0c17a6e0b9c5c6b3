//! Writing a tree, or some of its files again.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use super::content::Content;
use super::plan::Tree;

/// Seeds of rewritten files start here, beyond those of any tree.
const REWRITTEN: u64 = 1 << 40;

impl Tree {
    /// Writes the whole tree below `top`, which is created.
    pub(crate) fn write(&self, top: &Path) -> io::Result<()> {
        for number in 0..self.folders {
            fs::create_dir_all(top.join(self.folder(number)))?;
        }
        let numbers: Vec<u64> = (0..self.files()).collect();
        self.write_files(top, &numbers, |content, _| content)
    }

    /// Gives these files other content of the same size, in place; `round`
    /// decides which.
    pub(crate) fn rewrite(&self, top: &Path, files: &[u64], round: u64) -> io::Result<()> {
        self.write_files(top, files, |content, number| {
            Content::new(REWRITTEN * (1 + round) + number, content.size)
        })
    }

    /// Gives these files the content that they were planned with.
    pub(crate) fn restore(&self, top: &Path, files: &[u64]) -> io::Result<()> {
        self.write_files(top, files, |content, _| content)
    }

    fn write_files(
        &self,
        top: &Path,
        files: &[u64],
        content: impl Fn(Content, u64) -> Content + Sync,
    ) -> io::Result<()> {
        let threads = thread::available_parallelism()?.get();
        let write_some = |numbers: &[u64]| -> io::Result<()> {
            let mut bytes = Vec::new();
            for &number in numbers {
                content(self.content(number), number).make(&mut bytes);
                fs::write(top.join(self.path(number)), &bytes)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let parts = files.chunks(files.len().div_ceil(threads).max(1));
            let writers: Vec<_> = parts.map(|part| scope.spawn(|| write_some(part))).collect();
            let join = |writer: thread::ScopedJoinHandle<'_, io::Result<()>>| {
                writer.join().expect("writing does not panic")
            };
            writers.into_iter().try_for_each(join)
        })
    }

    pub(super) fn content(&self, number: u64) -> Content {
        self.contents[usize::try_from(number).expect("the number of a file")]
    }
}
