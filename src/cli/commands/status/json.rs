//! The status for programs: one JSON document.

use serde::Serialize;

use crate::answers::{RootState, RootStatus, Status, Unfinished, User};
use crate::model::{Algorithm, Timestamp, Totals};
use crate::report::{PathJson, rfc3339, write_value};

#[derive(Serialize)]
struct StatusJson<'a> {
    schema: u32,
    generated_at: String,
    catalog: CatalogJson<'a>,
    roots: Vec<RootJson<'a>>,
    volumes: Vec<VolumeJson<'a>>,
    unfinished: Vec<ScanJson<'a>>,
    totals: Option<TotalsJson>,
    not_compared_files: u64,
    errors: u64,
    corrupted: u64,
}

#[derive(Serialize)]
struct CatalogJson<'a> {
    #[serde(flatten)]
    path: PathJson<'a>,
    bytes: u64,
    algorithm: Algorithm,
    in_use_by: Option<&'a str>,
}

#[derive(Serialize)]
struct RootJson<'a> {
    #[serde(flatten)]
    path: PathJson<'a>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    folders: u64,
    files: u64,
    bytes: u64,
    excludes: Vec<String>,
    min_size: Option<u64>,
    max_size: Option<u64>,
    volume: &'a str,
    last_complete_scan: Option<i64>,
    last_complete_at: Option<String>,
}

impl<'a> RootJson<'a> {
    fn new(status: &'a RootStatus) -> Self {
        let root = &status.root;
        let last = status.last_complete.as_ref();
        Self {
            path: PathJson::new(&root.path),
            state: status.state.name(),
            reason: match &status.state {
                RootState::Offline(reason) => Some(reason),
                _ => None,
            },
            folders: root.folders,
            files: root.files,
            bytes: root.bytes,
            excludes: root.scope.excludes.globs(),
            min_size: root.scope.sizes.min,
            max_size: root.scope.sizes.max,
            volume: &root.volume.identity,
            last_complete_scan: last.map(|scan| scan.id.0),
            last_complete_at: last.and_then(|scan| scan.finished).map(rfc3339),
        }
    }
}

#[derive(Serialize)]
struct VolumeJson<'a> {
    identity: &'a str,
    fstype: &'a str,
    stable_inodes: bool,
    last_seen: String,
}

#[derive(Serialize)]
struct ScanJson<'a> {
    scan: i64,
    #[serde(flatten)]
    path: PathJson<'a>,
    state: &'static str,
    stage: &'static str,
    progress: Option<ShareJson>,
    started_at: String,
    updated_at: String,
    age_seconds: u64,
}

#[derive(Serialize)]
struct ShareJson {
    of: &'static str,
    unit: &'static str,
    done: u64,
    total: u64,
}

impl<'a> ScanJson<'a> {
    fn new(unfinished: &'a Unfinished, now: Timestamp) -> Self {
        let scan = &unfinished.scan;
        Self {
            scan: scan.id.0,
            path: PathJson::new(&unfinished.path),
            state: scan.state.name(),
            stage: scan.stage.name(),
            progress: unfinished.share.map(|share| ShareJson {
                of: share.unit.of(),
                unit: share.unit.name(),
                done: share.done,
                total: share.total,
            }),
            started_at: rfc3339(scan.started),
            updated_at: rfc3339(scan.updated),
            age_seconds: unfinished.age(now),
        }
    }
}

#[derive(Serialize)]
struct TotalsJson {
    as_of_scan: i64,
    #[serde(flatten)]
    totals: Totals,
}

/// The whole status.
pub(crate) fn render(status: &Status) -> anyhow::Result<String> {
    let document = StatusJson {
        schema: 1,
        generated_at: rfc3339(status.now),
        catalog: CatalogJson {
            path: PathJson::new(&status.catalog),
            bytes: status.bytes,
            algorithm: status.algorithm,
            in_use_by: match &status.user {
                User::Process(process) => Some(process),
                User::Nobody | User::Unknown => None,
            },
        },
        roots: status.roots.iter().map(RootJson::new).collect(),
        volumes: status
            .volumes
            .iter()
            .map(|(volume, seen)| VolumeJson {
                identity: &volume.identity,
                fstype: &volume.fstype,
                stable_inodes: volume.stable_inodes,
                last_seen: rfc3339(*seen),
            })
            .collect(),
        unfinished: status
            .unfinished
            .iter()
            .map(|scan| ScanJson::new(scan, status.now))
            .collect(),
        totals: status.totals.map(|(scan, totals)| TotalsJson {
            as_of_scan: scan.0,
            totals,
        }),
        not_compared_files: status.not_compared.map_or(0, |found| found.files),
        errors: status.dead_letters,
        corrupted: status.corrupted,
    };
    let mut text = Vec::new();
    write_value(&mut text, &document)?;
    text.push(b'\n');
    Ok(String::from_utf8(text)?)
}
