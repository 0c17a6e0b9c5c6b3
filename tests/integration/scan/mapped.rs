//! Files that are written through a memory mapping: their times move with the
//! first write to a page, and not again before it was written to the disk.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::env::{TestEnv, skip};

/// A program that has a file mapped, and no handle of it open.
struct Mapper(Child);

impl Mapper {
    /// `None` where Python is missing.
    fn of(path: &Path) -> Option<Self> {
        let script = "
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
pages = mmap.mmap(fd, 0)
os.close(fd)
for line in sys.stdin:
    pages[0] = int(line)
    print('written', flush=True)
";
        let mut command = Command::new("python3");
        command.arg("-c").arg(script).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().ok().map(Self)
    }

    /// Changes the first byte of the file.
    fn write(&mut self, byte: u8) {
        let mut input = self.0.stdin.as_ref().unwrap();
        writeln!(input, "{byte}").unwrap();
        let mut answer = String::new();
        let output = self.0.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut answer).unwrap();
        assert_eq!(answer, "written\n");
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Two equal files of this size in `tree`, one of them mapped and written to.
fn mapped_copy(env: &TestEnv, tree: &Path, size: usize) -> Option<Mapper> {
    std::fs::create_dir_all(tree).unwrap();
    env.file(tree.join("a"), vec![b'x'; size])
        .copy(tree.join("a"), tree.join("b"));
    let mut mapper = Mapper::of(&tree.join("a"))?;
    mapper.write(b'x');
    // Its last change is the one through the mapping.
    env.file("settled", "").settle_clock();
    Some(mapper)
}

fn times(path: &Path) -> (i64, i64, i64) {
    let stat = std::fs::metadata(path).unwrap();
    (stat.mtime(), stat.mtime_nsec(), stat.ctime_nsec())
}

fn is_read_again(tree: &Path, size: usize) {
    let env = TestEnv::new();
    let Some(mut mapper) = mapped_copy(&env, tree, size) else {
        skip!("no python3");
    };
    let scan = format!("scan {}", tree.display());
    env.run(&scan).ok().says("1 duplicate group");
    let before = times(&tree.join("a"));
    mapper.write(b'y');
    if times(&tree.join("a")) != before {
        skip!("the page was written to the disk meanwhile");
    }
    let audit = env.run("audit").ok();
    audit.says("1 file changed since the scan");
    let diff = format!("diff {0}/a {0}/b", tree.display());
    assert_ne!(env.run(&diff).exit, Some(0));
    env.run(&scan).ok().says("No duplicates");
}

#[test]
fn a_file_that_is_mapped_for_writing_is_read_again() {
    for size in [9_000, 200_000, 5_000_000] {
        let folder = tempfile::tempdir().unwrap();
        is_read_again(&folder.path().join("tree"), size);
    }
}

#[test]
fn a_file_in_memory_that_is_mapped_for_writing_is_read_again() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        skip!("no /dev/shm");
    };
    is_read_again(&folder.path().join("tree"), 9_000);
}

#[test]
fn a_file_that_was_closed_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let env = TestEnv::new();
    let tree = folder.path().join("tree");
    let Some(mapper) = mapped_copy(&env, &tree, 9_000) else {
        skip!("no python3");
    };
    drop(mapper);
    let scan = format!("scan {}", tree.display());
    env.run(&scan).ok();
    env.run(&scan).ok().says("0 B read");
}
