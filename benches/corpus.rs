//! Writes a tree of files to measure on: seeded, and byte-identical on every
//! machine.
//!
//! `cargo bench --bench corpus -- KIND DIR [FILES]` where KIND is
//! - `small`: log-normal sizes around 1.5 kB, 35 % copies, 40 files a folder;
//! - `media`: 1 to 48 MB, 30 % copies, 20 % near-copies that differ in one
//!   byte at the end, in the middle or anywhere;
//! - `mixed`: 170 kB on average, 15 % copies, 5 % share their first 4 KiB;
//! - `twins`: 64 KiB each, equal in head and tail, different in the middle.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A generator whose numbers are the same everywhere (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Log-normal in whole numbers only, since floating-point functions differ
    /// between machines: the sum of twelve uniform numbers is nearly normal.
    fn log_normal(&mut self, median: u64) -> u64 {
        let sum: i64 = (0..12).map(|_| (self.next() >> 44).cast_signed()).sum();
        // Standard deviations in 1/2^20; 1.6 powers of two to each.
        let exponent = (sum - (6 << 20)) * 16 / 10;
        let (whole, part) = (exponent >> 20, (exponent & 0xf_ffff).cast_unsigned());
        let scaled = (median * ((1 << 20) + part)) >> 20;
        if whole >= 0 {
            scaled << whole.min(20)
        } else {
            scaled >> (-whole).min(20)
        }
    }
}

/// The content of a file: its seed, its size, and one changed byte if any.
#[derive(Clone, Copy)]
struct Content {
    seed: u64,
    size: u64,
    /// Bytes at the start that come from another seed.
    shared_head: u64,
    flipped: Option<u64>,
}

impl Content {
    fn new(seed: u64, size: u64) -> Self {
        Self {
            seed,
            size,
            shared_head: 0,
            flipped: None,
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or(0) + 8);
        fill(&mut bytes, 7, self.shared_head.min(self.size));
        fill(&mut bytes, self.seed, self.size);
        if let Some(at) = self.flipped {
            bytes[usize::try_from(at).unwrap_or(0)] ^= 1;
        }
        File::create(path)?.write_all(&bytes)
    }
}

fn fill(bytes: &mut Vec<u8>, seed: u64, size: u64) {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut random = Random(seed);
    while bytes.len() < size {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(size);
}

/// One kind of tree.
struct Kind {
    files: u64,
    files_per_folder: u64,
    copies: u64,
    make: fn(&mut Random, u64) -> Content,
    copy: fn(&mut Random, Content) -> Content,
}

fn kind(name: &str) -> Option<Kind> {
    let same = |_: &mut Random, original| original;
    Some(match name {
        "small" => Kind {
            files: 200_000,
            files_per_folder: 40,
            copies: 35,
            make: |random, seed| Content::new(seed, random.log_normal(1_500).max(1)),
            copy: same,
        },
        "media" => Kind {
            files: 240,
            files_per_folder: 12,
            copies: 50,
            make: |random, seed| Content::new(seed, 1_000_000 + random.below(47_000_000)),
            copy: |random, original| {
                let flipped = match random.below(5) {
                    0 => Some(original.size - 1),
                    1 => Some(
                        [original.size / 2, random.below(original.size)][random.below(2) as usize],
                    ),
                    _ => None,
                };
                Content {
                    flipped,
                    ..original
                }
            },
        },
        "mixed" => Kind {
            files: 60_000,
            files_per_folder: 30,
            copies: 15,
            make: |random, seed| Content {
                shared_head: if random.percent(5) { 4_096 } else { 0 },
                ..Content::new(seed, random.log_normal(80_000).max(1))
            },
            copy: same,
        },
        "twins" => Kind {
            files: 20_000,
            files_per_folder: 50,
            copies: 0,
            make: |random, _| Content {
                flipped: Some(16_384 + random.below(32_768)),
                ..Content::new(1, 65_536)
            },
            copy: same,
        },
        _ => return None,
    })
}

fn generate(kind: &Kind, top: &Path, files: u64) -> io::Result<u64> {
    let mut random = Random(42);
    let mut originals: Vec<Content> = Vec::new();
    let mut bytes = 0;
    for number in 0..files {
        let content = if !originals.is_empty() && random.percent(kind.copies) {
            let original =
                originals[usize::try_from(random.below(originals.len() as u64)).unwrap_or(0)];
            (kind.copy)(&mut random, original)
        } else {
            let made = (kind.make)(&mut random, 1_000 + number);
            originals.push(made);
            made
        };
        let folder = folder_of(top, number / kind.files_per_folder);
        if number % kind.files_per_folder == 0 {
            fs::create_dir_all(&folder)?;
        }
        content.write(&folder.join(format!("file{number:07}.dat")))?;
        bytes += content.size;
    }
    Ok(bytes)
}

fn folder_of(top: &Path, number: u64) -> PathBuf {
    top.join(format!("d{:03}", number / 64))
        .join(format!("e{:02}", number % 64))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let usage = "usage: cargo bench --bench corpus -- small|media|mixed|twins DIR [FILES]";
    let (Some(name), Some(top)) = (arguments.first(), arguments.get(1)) else {
        // `cargo bench` without arguments has nothing to write.
        eprintln!("{usage}");
        return ExitCode::SUCCESS;
    };
    let Some(kind) = kind(name) else {
        eprintln!("{usage}");
        return ExitCode::from(2);
    };
    let files = arguments.get(2).map_or(Ok(kind.files), |text| text.parse());
    match files.map_err(|error| error.to_string()).and_then(|files| {
        generate(&kind, Path::new(top), files)
            .map(|bytes| (files, bytes))
            .map_err(|error| error.to_string())
    }) {
        Ok((files, bytes)) => {
            println!("{files} files, {bytes} bytes in {top}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
