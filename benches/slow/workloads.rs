//! What is measured, one after the other.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::options::Options;
use super::run::{Call, Finds, Race};
use super::storage::{Mounted, Plain, folders_image, image};

/// One table.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) run: fn(&Options) -> io::Result<()>,
}

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "hdd",
        title: "first scan of a hard disk",
        run: hard_disk,
    },
    Workload {
        name: "hdd-again",
        title: "rescan, audit and all digests of a hard disk",
        run: hard_disk_again,
    },
    Workload {
        name: "far",
        title: "first scan and rescan of a far filesystem",
        run: far,
    },
    Workload {
        name: "one-folder",
        title: "a far filesystem: all files in one folder, then spread over 200",
        run: one_folder,
    },
    Workload {
        name: "far-hdd",
        title: "a far server with one hard disk",
        run: far_hard_disk,
    },
];

fn hard_disk(options: &Options) -> io::Result<()> {
    let disk = Mounted::hard_disk(&image(options)?, options.dir.join("disk"))?;
    let tree = disk.at.join("tree");
    let mut race = Race::new(&tree, Some(&disk), &options.dir);
    find(&mut race)?;
    fclones(options, &mut race, &[])?;
    scans(options, &mut race, false, &[])
}

fn hard_disk_again(options: &Options) -> io::Result<()> {
    let disk = Mounted::hard_disk(&image(options)?, options.dir.join("disk"))?;
    let tree = disk.at.join("tree");
    let mut race = Race::new(&tree, Some(&disk), &options.dir);
    find(&mut race)?;
    for program in programs(options) {
        let catalog = new_catalog(options, &program)?;
        for (label, command) in [
            ("first scan", "scan"),
            ("rescan", "scan"),
            ("--hash-all", "scan"),
            ("audit", "audit"),
        ] {
            let label = format!("{} {label}", program.display());
            let mut call = own(&label, &program, &catalog, command, &tree);
            if label.ends_with("all") {
                call.arguments.push("--hash-all".to_owned());
            }
            race.run(&call)?;
        }
    }
    Ok(())
}

fn far(options: &Options) -> io::Result<()> {
    let near = Plain::mount(&image(options)?, options.dir.join("near"), "loop,ro")?;
    let source = near.at.join("tree");
    let far = Mounted::far(&source, options.dir.join("far"), options.latency)?;
    let mut race = Race::new(&far.at, None, &options.dir);
    for threads in ["32", "64"] {
        fclones(options, &mut race, &["-t", threads])?;
    }
    scans(options, &mut race, true, &[])?;
    drop(far);
    Ok(())
}

fn one_folder(options: &Options) -> io::Result<()> {
    let image = folders_image(options)?;
    let near = Plain::mount(&image, options.dir.join("near"), "loop,ro")?;
    for folder in ["spread", "one"] {
        let source = near.at.join(folder);
        let far = Mounted::far(&source, options.dir.join("far"), options.latency)?;
        println!("| **{folder}** | | | | | | |");
        let mut race = Race::new(&far.at, None, &options.dir);
        fclones(options, &mut race, &["-t", "64"])?;
        scans(options, &mut race, true, &[])?;
    }
    Ok(())
}

fn far_hard_disk(options: &Options) -> io::Result<()> {
    let disk = Mounted::hard_disk(&image(options)?, options.dir.join("disk"))?;
    let source = disk.at.join("tree");
    let far = Mounted::far(&source, options.dir.join("far"), options.latency)?;
    let mut race = Race::new(&far.at, Some(&disk), &options.dir);
    for threads in ["1", "8", "32"] {
        fclones(options, &mut race, &["-t", threads])?;
    }
    scans(options, &mut race, false, &[])?;
    for workers in ["1", "2", "4", "8", "16", "32"] {
        scans(options, &mut race, false, &["--threads", workers])?;
    }
    drop(far);
    Ok(())
}

fn find(race: &mut Race<'_>) -> io::Result<()> {
    let tree = race.tree.to_string_lossy().into_owned();
    race.run(&Call {
        label: "find -type f",
        program: OsStr::new("find"),
        arguments: vec![tree, "-type".to_owned(), "f".to_owned()],
        finds: Finds::Nothing,
    })
}

fn fclones(options: &Options, race: &mut Race<'_>, more: &[&str]) -> io::Result<()> {
    if !options.with_fclones {
        return Ok(());
    }
    let tree = race.tree.to_string_lossy().into_owned();
    let arguments = ["group", "-.", "-A", "-f", "json", &tree];
    let arguments = arguments.iter().chain(more).map(|word| (*word).to_owned());
    race.run(&Call {
        label: &format!("fclones {}", more.join(" ")),
        program: OsStr::new("fclones"),
        arguments: arguments.collect(),
        finds: Finds::Fclones,
    })
}

/// A first scan by every dupescan, and a rescan where that is asked for.
fn scans(options: &Options, race: &mut Race<'_>, again: bool, more: &[&str]) -> io::Result<()> {
    let tree = race.tree.to_path_buf();
    for program in programs(options) {
        let catalog = new_catalog(options, &program)?;
        let words = options
            .words
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied());
        let words: Vec<&str> = words.collect();
        let label = format!("{} {}", program.display(), words.join(" "));
        for label in [label.clone(), format!("{label} again")] {
            let mut call = own(&label, &program, &catalog, "scan", &tree);
            call.arguments
                .extend(words.iter().map(|word| (*word).to_owned()));
            race.run(&call)?;
            if !again {
                break;
            }
        }
    }
    Ok(())
}

/// The dupescan that was built with this bench, and others to compare it with.
fn programs(options: &Options) -> Vec<PathBuf> {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_dupescan"));
    options.others.iter().cloned().chain([built]).collect()
}

fn own<'c>(
    label: &'c str,
    program: &'c Path,
    catalog: &'c Path,
    command: &str,
    tree: &Path,
) -> Call<'c> {
    let short = label.rsplit('/').next().unwrap_or(label);
    let [catalog_text, tree] = [catalog, tree].map(|path| path.to_string_lossy().into_owned());
    Call {
        label: short,
        program: program.as_os_str(),
        arguments: [command, "--db", &catalog_text, &tree]
            .map(str::to_owned)
            .to_vec(),
        finds: match command {
            "scan" => Finds::Catalog(catalog),
            _ => Finds::Nothing,
        },
    }
}

/// A catalog that does not exist yet.
fn new_catalog(options: &Options, program: &Path) -> io::Result<PathBuf> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let folder = options.dir.join(format!("catalog-{name}"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder.join("catalog.db"))
}
