//! What has been scanned, what is unfinished and what is offline.

use std::path::PathBuf;

use super::history::path_of;
use crate::access::{meet_volumes, online_state};
use crate::catalog::{
    CatalogError, Lock, ReadOnly, RootRow, ScanRow, StageProgress, VolumeRow, Wanted, own_files,
};
use crate::model::{Algorithm, NotCompared, ScanId, Stage, Timestamp, Totals};

/// Everything that is shown.
pub(crate) struct Status {
    pub(crate) now: Timestamp,
    pub(crate) catalog: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) algorithm: Algorithm,
    pub(crate) roots: Vec<RootStatus>,
    pub(crate) volumes: Vec<(VolumeRow, Timestamp)>,
    pub(crate) unfinished: Vec<Unfinished>,
    /// The sums over all groups, and the last scan that counted them.
    pub(crate) totals: Option<(ScanId, Totals)>,
    pub(crate) not_compared: Option<NotCompared>,
    pub(crate) dead_letters: u64,
    /// Files that an audit found corrupted.
    pub(crate) corrupted: u64,
    pub(crate) user: User,
}

/// Who changes the catalog now.
pub(crate) enum User {
    Nobody,
    Process(String),
    /// The lock cannot be read.
    Unknown,
}

impl User {
    fn of(catalog: &ReadOnly) -> Self {
        match Lock::holder(catalog.path()) {
            Ok(None) => Self::Nobody,
            Ok(Some(process)) => Self::Process(process),
            Err(_) => Self::Unknown,
        }
    }
}

/// A scan that is running or can be resumed.
pub(crate) struct Unfinished {
    pub(crate) scan: ScanRow,
    pub(crate) path: PathBuf,
    pub(crate) share: Option<StageProgress>,
}

impl Unfinished {
    /// Seconds since its last commit.
    pub(crate) fn age(&self, now: Timestamp) -> u64 {
        u64::try_from(now.0.saturating_sub(self.scan.updated.0)).unwrap_or(0)
    }
}

pub(crate) struct RootStatus {
    pub(crate) root: RootRow,
    pub(crate) last_complete: Option<ScanRow>,
    pub(crate) state: RootState,
}

/// The state of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootState {
    Ok,
    NeverCompleted,
    /// Offline, and why.
    Offline(String),
}

impl RootState {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NeverCompleted => "never completed",
            Self::Offline(_) => "offline",
        }
    }
}

impl Status {
    pub(crate) fn of(catalog: &ReadOnly) -> Result<Self, CatalogError> {
        let roots = catalog.roots()?;
        let user = User::of(catalog);
        let mut shares = Shares::default();
        let unfinished = catalog
            .unfinished_scans()?
            .into_iter()
            .map(|scan| {
                Ok(Unfinished {
                    path: path_of(&scan, &roots),
                    share: shares.of(catalog, &scan)?,
                    scan,
                })
            })
            .collect::<Result<_, CatalogError>>()?;
        Ok(Self {
            now: Timestamp::now(),
            catalog: catalog.path().to_owned(),
            bytes: size_of(catalog),
            algorithm: catalog.algorithm()?,
            unfinished,
            volumes: catalog.volumes()?,
            totals: totals(catalog, &user)?,
            not_compared: catalog.not_compared()?,
            dead_letters: catalog.fault_count()?,
            corrupted: catalog.corrupted()?.len() as u64,
            user,
            roots: root_states(catalog, roots)?,
        })
    }
}

/// The sums over all groups. While a scan is running they are those of the scan
/// before it: counting takes time, and the numbers would not last.
fn totals(catalog: &ReadOnly, user: &User) -> Result<Option<(ScanId, Totals)>, CatalogError> {
    let Some(scan) = catalog.last_settled_scan()? else {
        return Ok(None);
    };
    let totals = match (user, scan.totals) {
        (User::Process(_), Some(totals)) => totals,
        _ => catalog.totals()?,
    };
    Ok(Some((scan.id, totals)))
}

/// The shares found so far: scans that stopped together have one, and it
/// takes a pass over the catalog.
#[derive(Default)]
struct Shares(Vec<(Stage, Wanted, StageProgress)>);

impl Shares {
    fn of(
        &mut self,
        catalog: &ReadOnly,
        scan: &ScanRow,
    ) -> Result<Option<StageProgress>, CatalogError> {
        let wanted = Wanted::by(scan);
        let is_same = |known: &&(Stage, Wanted, _)| (known.0, known.1) == (scan.stage, wanted);
        // Listing is a scan's own.
        let known = self.0.iter().find(is_same);
        if let Some((.., share)) = known.filter(|_| scan.stage != Stage::List) {
            return Ok(Some(*share));
        }
        let share = catalog.stage_progress(scan, &wanted)?;
        self.0
            .extend(share.map(|share| (scan.stage, wanted, share)));
        Ok(share)
    }
}

/// Bytes of the catalog and the files beside it.
fn size_of(catalog: &ReadOnly) -> u64 {
    own_files(catalog.path())
        .iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|file| file.len())
        .sum()
}

fn root_states(catalog: &ReadOnly, roots: Vec<RootRow>) -> Result<Vec<RootStatus>, CatalogError> {
    let volumes = meet_volumes(&roots);
    roots
        .into_iter()
        .map(|root| {
            let last_complete = catalog.last_complete_scan(root.id)?;
            let state = match (online_state(&root, &volumes).err(), &last_complete) {
                (Some(reason), _) => RootState::Offline(reason),
                (None, None) => RootState::NeverCompleted,
                (None, Some(_)) => RootState::Ok,
            };
            Ok(RootStatus {
                root,
                last_complete,
                state,
            })
        })
        .collect()
}
