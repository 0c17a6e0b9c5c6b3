//! `dupescan roots`: lists the roots, and records that one has moved.

use std::ffi::OsString;
use std::path::Path;

use crate::access::{known_volume, meet_volumes, volume_row};
use crate::answers::{resolve, root_named};
use crate::catalog::{CatalogError, Exclusive, RootRow, VolumeRow};
use crate::cli::args::{RootsArgs, RootsCommand};
use crate::cli::session::Context;
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{Fault, Step, escape};
use crate::platform::Dir;
use crate::report::text::{grouped, human_size};
use crate::report::{Align, table};

const COLUMNS: [(&str, Align); 4] = [
    ("ROOT", Align::Left),
    ("FOLDERS", Align::Right),
    ("FILES", Align::Right),
    ("SIZE", Align::Right),
];

pub(crate) fn run(context: &Context, args: &RootsArgs) -> anyhow::Result<Exit> {
    match &args.command {
        RootsCommand::List => list(context)?,
        RootsCommand::Move { old, new } => move_root(context, old, new)?,
    }
    Ok(Exit::Done)
}

fn list(context: &Context) -> anyhow::Result<()> {
    let roots = context.catalog()?.roots()?;
    let rows = roots.iter().map(|root| {
        vec![
            escape(&root.path),
            grouped(root.folders),
            grouped(root.files),
            human_size(root.bytes),
        ]
    });
    output::print(table(&COLUMNS, rows, context.width()))
}

fn move_root(context: &Context, old: &Path, new: &Path) -> anyhow::Result<()> {
    let mut catalog = context.exclusive("roots move")?;
    let roots = catalog.roots()?;
    let root = root_named(&roots, old)?;
    let new = resolve(new)?;
    let volume = volume_of(&new, root, &roots)?;
    refuse_strangers(&catalog, root, &new)?;
    warn_of_another_volume(context, root, &new, &volume);
    let moved = catalog
        .register_volume(&volume)
        .and_then(|volume| catalog.move_root(&root.path, &new, volume))
        .map_err(|error| match error {
            CatalogError::Overlap { .. } => exit::usage(error),
            other => other.into(),
        })?;
    output::print(format!(
        "moved root {} to {}\n",
        escape(&root.path),
        escape(&moved.path)
    ))
}

/// The volume of the folder that a root moved to. Where nothing tells the disk from
/// a clone, the user does. Anything that cannot be opened as a folder is a usage
/// error.
fn volume_of(path: &Path, root: &RootRow, roots: &[RootRow]) -> anyhow::Result<VolumeRow> {
    let volumes = meet_volumes(roots);
    let find = |dir: Dir| {
        let dev = dir.stat()?.dev;
        match volumes.in_place(&dir, dev, &known_volume(&root.volume))? {
            Some(volume) => Ok(volume),
            None => volumes.of(&dir, dev),
        }
    };
    let volume = Dir::open_root(path).and_then(find).map_err(|error| {
        exit::usage(format_args!(
            "cannot use {} as the new folder: {}",
            path.display(),
            Fault::from_io(Step::OpenFolder, &error).message
        ))
    })?;
    Ok(volume_row(&volume))
}

/// A folder that contains nothing of the root is not where it moved to.
fn refuse_strangers(catalog: &Exclusive, root: &RootRow, new: &Path) -> anyhow::Result<()> {
    let reader = catalog.reader()?;
    let names = reader.live_names(root.top)?;
    let is_there = |name: &OsString| new.join(name).symlink_metadata().is_ok();
    if !names.is_empty() && !names.iter().any(is_there) {
        return Err(exit::usage(format_args!(
            "{} contains nothing of the root {}: give the folder where it is now",
            new.display(),
            root.path.display()
        )));
    }
    Ok(())
}

/// Allowed, since the next scan compares every file, but likely a mistake.
fn warn_of_another_volume(context: &Context, root: &RootRow, new: &Path, volume: &VolumeRow) {
    if volume.identity != root.volume.identity {
        context.note(&format!(
            "{} is on volume {}, but {} was scanned on {}: the next scan reads changed files again",
            new.display(),
            volume.identity,
            root.path.display(),
            root.volume.identity
        ));
    }
}
