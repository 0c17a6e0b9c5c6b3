//! What happens to each copy of one group. Pure: everything that was looked up
//! comes with the copies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::model::{CopyEntry, KeepPlace, Role};

/// Why a copy is not acted on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spared {
    /// It is the one to keep, or one of them.
    Kept,
    /// It is in a protected folder.
    Protected,
    /// It is in a tree whose files belong together.
    Guarded(&'static str),
    /// It is outside the folders that the plan is about.
    Elsewhere,
    /// The rules do not tell it from a copy that is kept.
    Tied,
    /// It has hard links that the catalog does not know.
    MoreNames,
    /// Symbolic links lead to it.
    LinkedTo,
    /// Files on its filesystem cannot be told apart reliably.
    Filesystem(String),
    /// It is only in memory, and others are not.
    Volatile,
    /// No copy that could be compared with it stays.
    NoKeeper,
}

impl Spared {
    /// In words, for a summary.
    pub fn words(&self) -> String {
        match self {
            Self::Kept => "kept".to_owned(),
            Self::Protected => "in a protected folder".to_owned(),
            Self::Guarded(tree) => format!("in {tree}"),
            Self::Elsewhere => "outside the folders of the plan".to_owned(),
            Self::Tied => "tied with a kept copy: the rules do not tell them apart".to_owned(),
            Self::MoreNames => "has hard links outside the catalog".to_owned(),
            Self::LinkedTo => "symbolic links lead to it".to_owned(),
            Self::Filesystem(fstype) => {
                format!("on {fstype}, where files cannot be told apart reliably")
            }
            Self::Volatile => "only in memory, while others are on a disk".to_owned(),
            Self::NoKeeper => "no other copy would be kept to compare with".to_owned(),
        }
    }
}

/// A copy, and what was looked up about it.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The copy.
    pub(crate) copy: CopyEntry,
    /// How much the rules prefer it.
    pub(crate) place: KeepPlace,
    /// Whether it may be kept as the copy that the others are compared with.
    pub(crate) may_keep: bool,
    /// Whether it is gone once the computer is switched off.
    pub(crate) is_volatile: bool,
    /// Why it must not go, if so.
    pub(crate) spared: Option<Spared>,
}

/// How many copies stay, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// At least this many.
    pub(crate) copies: u64,
    /// At least this many on each volume that has any.
    pub(crate) per_volume: u64,
    /// Copies below one of these folders count as one, and stay or go together.
    pub(crate) isolate: Vec<PathBuf>,
    /// Whether copies that the rules do not tell apart all stay.
    pub(crate) skip_ties: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            copies: 1,
            per_volume: 0,
            isolate: Vec::new(),
            skip_ties: false,
        }
    }
}

/// A copy with what happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The copy.
    pub(crate) copy: CopyEntry,
    /// `Act`, or `Keep` for one that can be compared with.
    pub(crate) role: Option<Role>,
    /// Why it stays, if it does.
    pub(crate) spared: Option<Spared>,
}

/// Decides about the copies of a group, best first. Whatever the rules and
/// limits say, a copy goes only if another one that may be kept stays.
pub(crate) fn choose(mut group: Vec<Candidate>, limits: &Limits) -> Vec<Chosen> {
    spare_volatile(&mut group);
    group.sort_by(|one, other| one.place.cmp(&other.place));
    let kept = kept(&group, limits);
    let has_keeper = |at: usize| {
        (0..group.len()).any(|other| other != at && kept[other] && group[other].may_keep)
    };
    let is_tied = |at: usize| {
        limits.skip_ties
            && (0..group.len())
                .any(|other| kept[other] && group[other].place.is_tied_with(&group[at].place))
    };
    let fates: Vec<Option<Spared>> = (0..group.len())
        .map(|at| match &group[at].spared {
            Some(reason) => Some(reason.clone()),
            None if kept[at] => Some(Spared::Kept),
            None if is_tied(at) => Some(Spared::Tied),
            None if !has_keeper(at) => Some(Spared::NoKeeper),
            None => None,
        })
        .collect();
    group
        .into_iter()
        .zip(fates)
        .zip(kept)
        .map(|((one, spared), is_kept)| Chosen {
            role: match &spared {
                None => Some(Role::Act),
                Some(_) if is_kept && one.may_keep => Some(Role::Keep),
                Some(_) => None,
            },
            copy: one.copy,
            spared,
        })
        .collect()
}

/// Nothing in memory stands for what is on a disk. It is left alone, since the rules
/// may prefer it.
fn spare_volatile(group: &mut [Candidate]) {
    if group.iter().all(|one| one.is_volatile) {
        return;
    }
    for one in group.iter_mut().filter(|one| one.is_volatile) {
        one.may_keep = false;
        one.spared.get_or_insert(Spared::Volatile);
    }
}

/// Which copies stay, of a group in order of preference.
fn kept(group: &[Candidate], limits: &Limits) -> Vec<bool> {
    let unit = |at: usize| {
        let inside = |folder: &PathBuf| group[at].copy.path.starts_with(folder);
        match limits.isolate.iter().position(inside) {
            Some(folder) => (0, folder),
            None => (1, at),
        }
    };
    // What must not go stays anyway, and counts if it can be compared with.
    let mut kept: Vec<bool> = group.iter().map(|one| one.spared.is_some()).collect();
    let mut units = BTreeSet::new();
    let mut on_volume: BTreeMap<&str, u64> = BTreeMap::new();
    for (at, one) in group.iter().enumerate() {
        if kept[at] && one.may_keep {
            units.insert(unit(at));
            *on_volume.entry(&one.copy.volume).or_default() += 1;
        }
    }
    for (at, one) in group.iter().enumerate() {
        if kept[at] || !one.may_keep {
            continue;
        }
        let wanted = (units.len() as u64) < limits.copies.max(1);
        let volume = on_volume.entry(&one.copy.volume).or_default();
        if wanted || *volume < limits.per_volume {
            kept[at] = true;
            *volume += 1;
            units.insert(unit(at));
        }
    }
    // A unit stays as a whole: no folder loses the copy that counts for it.
    let is_unit_kept = |at| unit(at).0 == 0 && units.contains(&unit(at));
    let kept = kept.into_iter().enumerate();
    kept.map(|(at, is_kept)| is_kept || is_unit_kept(at))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{KeepOrder, KeepRule, ScanId};

    fn candidate(path: &str) -> Candidate {
        let copy = CopyEntry {
            path: path.into(),
            volume: "uuid:1".to_owned(),
            ..CopyEntry::default()
        };
        Candidate {
            place: KeepOrder::default().place(&copy, ScanId(1)),
            copy,
            may_keep: true,
            is_volatile: false,
            spared: None,
        }
    }

    /// The group with the places that these rules give.
    fn placed(mut group: Vec<Candidate>, texts: &[&str]) -> Vec<Candidate> {
        let parse =
            |text: &&str| KeepRule::parse(OsStr::new(text), |path| Ok(path.to_owned())).unwrap();
        let order = KeepOrder::of(texts.iter().map(parse).collect());
        for one in &mut group {
            one.place = order.place(&one.copy, ScanId(1));
        }
        group
    }

    fn going(group: Vec<Candidate>, texts: &[&str], limits: &Limits) -> Vec<String> {
        let chosen = choose(placed(group, texts), limits);
        let going = chosen.iter().filter(|one| one.role == Some(Role::Act));
        going
            .map(|one| one.copy.path.display().to_string())
            .collect()
    }

    #[test]
    fn the_first_difference_decides_and_paths_come_last() {
        let group = || ["/b/x", "/a/long", "/a/x"].map(candidate).to_vec();
        let limits = Limits::default();
        assert_eq!(going(group(), &[], &limits), ["/a/x", "/b/x"]);
        let texts = ["under:/b"];
        assert_eq!(going(group(), &texts, &limits), ["/a/long", "/a/x"]);
        let texts = ["under:/a", "shortest-name"];
        assert_eq!(going(group(), &texts, &limits), ["/a/long", "/b/x"]);
    }

    #[test]
    fn ties_can_stay_and_more_copies_can_be_kept() {
        let group = || ["/a/1", "/a/2", "/b/c/3"].map(candidate).to_vec();
        let skip = Limits {
            skip_ties: true,
            ..Limits::default()
        };
        assert_eq!(going(group(), &["shallowest"], &skip), ["/b/c/3"]);
        let two = Limits {
            copies: 2,
            ..Limits::default()
        };
        assert_eq!(going(group(), &["under:/b"], &two), ["/a/2"]);
    }

    #[test]
    fn a_volume_and_a_folder_keep_theirs() {
        let mut group = ["/a/1", "/a/2", "/b/1", "/b/2"].map(candidate).to_vec();
        for one in &mut group[2..] {
            one.copy.volume = "uuid:2".to_owned();
        }
        let each = Limits {
            per_volume: 1,
            ..Limits::default()
        };
        assert_eq!(going(group.clone(), &[], &each), ["/a/2", "/b/2"]);
        let isolate = Limits {
            isolate: vec!["/a".into(), "/b".into()],
            ..Limits::default()
        };
        assert_eq!(going(group, &["under:/b"], &isolate), ["/a/1", "/a/2"]);
    }

    #[test]
    fn what_cannot_be_compared_with_is_no_keeper() {
        let mut group = ["/a", "/b"].map(candidate).to_vec();
        group[0].may_keep = false;
        group[0].spared = Some(Spared::Filesystem("fuse".to_owned()));
        assert_eq!(going(group.clone(), &[], &Limits::default()), [""; 0]);
        group.push(candidate("/c"));
        assert_eq!(going(group, &[], &Limits::default()), ["/c"]);
    }

    fn any_candidate() -> impl Strategy<Value = Candidate> {
        let spared = prop_oneof![
            3 => Just(None),
            1 => Just(Some(Spared::Protected)),
            1 => Just(Some(Spared::Guarded("x"))),
            1 => Just(Some(Spared::Elsewhere)),
        ];
        let place = (0..3_u8, 0..2_u8, 0..3_i64);
        (place, spared, any::<bool>()).prop_map(|((top, volume, mtime), spared, may_keep)| {
            let mut one = candidate(&format!("/{top}"));
            one.copy.volume = format!("uuid:{volume}");
            one.copy.mtime_ns = mtime;
            one.may_keep = may_keep;
            // What cannot be kept for lack of identity cannot go either.
            one.spared = spared.or((!may_keep).then(|| Spared::Filesystem("fuse".to_owned())));
            one
        })
    }

    /// Every copy under a path of its own.
    fn numbered(mut group: Vec<Candidate>) -> Vec<Candidate> {
        for (number, one) in group.iter_mut().enumerate() {
            one.copy.path.push(number.to_string());
        }
        group
    }

    fn any_limits() -> impl Strategy<Value = Limits> {
        (0..4_u64, 0..3_u64, 0..3_usize, any::<bool>()).prop_map(
            |(copies, per_volume, isolated, skip_ties)| Limits {
                copies,
                per_volume,
                isolate: (0..isolated).map(|at| format!("/{at}").into()).collect(),
                skip_ties,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: std::env::var("DUPESCAN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn no_choice_loses_the_last_copy_or_touches_what_is_spared(
            group in proptest::collection::vec(any_candidate(), 0..7).prop_map(numbered),
            limits in any_limits(),
            texts in proptest::collection::vec(
                prop_oneof!["under:/[012]", "not-under:/[012]", Just("oldest".to_owned()),
                            Just("newest".to_owned()), Just("shallowest".to_owned())], 0..3),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let chosen = choose(placed(group.clone(), &texts), &limits);
            prop_assert_eq!(chosen.len(), group.len());
            let going = || chosen.iter().filter(|one| one.role == Some(Role::Act));
            let keepers = chosen.iter().filter(|one| one.role == Some(Role::Keep));
            let keepers = keepers.collect::<Vec<_>>();
            if going().next().is_some() {
                prop_assert!(!keepers.is_empty());
                // At least as many stay as were asked for.
                let unit = |path: &std::path::Path| {
                    limits.isolate.iter().position(|folder| path.starts_with(folder))
                        .map_or(path.to_owned(), |at| limits.isolate[at].clone())
                };
                let units: BTreeSet<_> =
                    keepers.iter().map(|one| unit(&one.copy.path)).collect();
                prop_assert!(units.len() as u64 >= limits.copies.max(1));
            }
            for one in going() {
                prop_assert!(one.spared.is_none());
                let same = |candidate: &&Candidate| candidate.copy == one.copy
                    && candidate.spared.is_none() && candidate.may_keep;
                prop_assert!(group.iter().any(|candidate| same(&candidate)));
            }
            for one in &keepers {
                prop_assert!(one.spared.is_some());
            }
        }
    }
}
