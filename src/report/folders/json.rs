//! One JSON document, schema 1, one group or pair per line. Paths are written as
//! in the report of duplicates.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::answer::{FolderReport, per_mille};
use crate::folders::{
    ChangedFile, Differences, FolderAnswer, FolderGroup, FolderPair, Measure, NamedFile, PairSide,
    Similar, UncheckedFolders, Unknown,
};
use crate::report::encode::{
    AsOfJson, FiltersJson, NotComparedJson, PathJson, SCHEMA, rfc3339, rfc3339_nanos, write_value,
};

pub(crate) fn write<W: Write>(report: &FolderReport, out: W) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let frame = Frame {
        schema: SCHEMA,
        generated_at: rfc3339(report.header.generated_at),
        as_of: report.header.as_of.map(AsOfJson::new),
        unfinished_scans: report.header.unfinished,
        filters: FiltersJson::new(&report.header.filters),
        not_compared: report.header.not_compared.map(NotComparedJson::new),
        question: QuestionJson::new(&report.answer),
    };
    let mut head = Vec::new();
    write_value(&mut head, &frame)?;
    head.pop();
    out.write_all(&head)?;
    match &report.answer {
        FolderAnswer::Identical(identical) => {
            let groups = identical.groups.iter().map(GroupJson::new);
            list(&mut out, "groups", groups)?;
            out.write_all(br#","totals":"#)?;
            write_value(&mut out, &identical.totals)?;
        }
        FolderAnswer::Similar(similar) => {
            let pairs = similar.pairs.iter();
            let pairs = pairs.map(|pair| PairJson::new(pair, similar.measure));
            list(&mut out, "pairs", pairs)?;
            out.write_all(br#","totals":"#)?;
            write_value(&mut out, &SimilarTotalsJson::new(similar))?;
        }
    }
    out.write_all(b"}\n")?;
    out.flush()
}

/// A field with a list, one entry per line.
fn list<T: Serialize>(
    out: &mut impl Write,
    name: &str,
    entries: impl Iterator<Item = T>,
) -> io::Result<()> {
    write!(out, r#","{name}":["#)?;
    let mut separator = "\n";
    for entry in entries {
        out.write_all(separator.as_bytes())?;
        write_value(out, &entry)?;
        separator = ",\n";
    }
    out.write_all(b"]")
}

#[derive(Serialize)]
struct Frame<'a> {
    schema: u32,
    generated_at: String,
    as_of: Option<AsOfJson>,
    unfinished_scans: usize,
    filters: FiltersJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_compared: Option<NotComparedJson>,
    #[serde(flatten)]
    question: QuestionJson,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum QuestionJson {
    Identical { same_names: bool },
    Similar { threshold: u8, by: &'static str },
}

impl QuestionJson {
    fn new(answer: &FolderAnswer) -> Self {
        match answer {
            FolderAnswer::Identical(identical) => Self::Identical {
                same_names: identical.same_names,
            },
            FolderAnswer::Similar(similar) => Self::Similar {
                threshold: similar.percent,
                by: match similar.measure {
                    Measure::Count => "count",
                    Measure::Bytes => "bytes",
                },
            },
        }
    }
}

#[derive(Serialize)]
struct GroupJson<'a> {
    folders: usize,
    files: u64,
    bytes: u64,
    reclaimable: u64,
    paths: Vec<PathJson<'a>>,
    same_files: Vec<PathJson<'a>>,
}

impl<'a> GroupJson<'a> {
    fn new(group: &'a FolderGroup) -> Self {
        let listed = |paths: &'a [PathBuf]| paths.iter().map(|path| PathJson::new(path)).collect();
        Self {
            folders: group.paths.len(),
            files: group.files,
            bytes: group.bytes,
            reclaimable: group.reclaimable,
            paths: listed(&group.paths),
            same_files: listed(&group.aliases),
        }
    }
}

#[derive(Serialize)]
struct PairJson<'a> {
    similarity: f64,
    distinct_files_in_both: u64,
    distinct_files_in_either: u64,
    bytes_in_both: u64,
    bytes_in_either: u64,
    left: SideJson<'a>,
    right: SideJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<DifferencesJson<'a>>,
}

impl<'a> PairJson<'a> {
    fn new(pair: &'a FolderPair, measure: Measure) -> Self {
        let [left, right] = &pair.sides;
        Self {
            similarity: percent(pair.both.weight(measure), pair.either.weight(measure)),
            distinct_files_in_both: pair.both.contents,
            distinct_files_in_either: pair.either.contents,
            bytes_in_both: pair.both.bytes,
            bytes_in_either: pair.either.bytes,
            left: SideJson::new(PathJson::new(&left.0), &left.1, measure),
            right: SideJson::new(PathJson::new(&right.0), &right.1, measure),
            differences: pair.differences.as_ref().map(DifferencesJson::new),
        }
    }
}

#[derive(Serialize)]
struct SideJson<'a> {
    #[serde(flatten)]
    path: PathJson<'a>,
    contained: f64,
    files: u64,
    bytes: u64,
    distinct_files: u64,
    distinct_bytes: u64,
    only_files: u64,
    only_bytes: u64,
    only_distinct_files: u64,
    only_distinct_bytes: u64,
    unchecked_files: u64,
    incomplete: Vec<&'static str>,
}

impl<'a> SideJson<'a> {
    fn new(path: PathJson<'a>, side: &PairSide, measure: Measure) -> Self {
        let all = side.all.weight(measure);
        let unknown = [
            (Unknown::UNREADABLE, "unreadable"),
            (Unknown::UNLISTED, "not_listed"),
            (Unknown::FILTERED, "filtered"),
        ];
        let unknown = unknown
            .into_iter()
            .filter(|(gap, _)| side.unknown.has(*gap));
        Self {
            path,
            contained: percent(all - side.only.weight(measure), all),
            files: side.files,
            bytes: side.bytes,
            distinct_files: side.all.contents,
            distinct_bytes: side.all.bytes,
            only_files: side.only_files,
            only_bytes: side.only_bytes,
            only_distinct_files: side.only.contents,
            only_distinct_bytes: side.only.bytes,
            unchecked_files: side.unchecked,
            incomplete: unknown.map(|(_, name)| name).collect(),
        }
    }
}

#[derive(Serialize)]
struct DifferencesJson<'a> {
    only_left: Vec<OnlyJson<'a>>,
    only_right: Vec<OnlyJson<'a>>,
    changed: Vec<ChangedJson<'a>>,
}

impl<'a> DifferencesJson<'a> {
    fn new(differences: &'a Differences) -> Self {
        let [left, right] = &differences.only;
        Self {
            only_left: left.iter().map(OnlyJson::new).collect(),
            only_right: right.iter().map(OnlyJson::new).collect(),
            changed: differences.changed.iter().map(ChangedJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct OnlyJson<'a> {
    #[serde(flatten)]
    path: PathJson<'a>,
    size: u64,
    mtime: String,
    unchecked: bool,
}

impl<'a> OnlyJson<'a> {
    fn new(file: &'a NamedFile) -> Self {
        Self {
            path: PathJson::new(&file.path),
            size: file.size,
            mtime: rfc3339_nanos(file.mtime_ns),
            unchecked: file.is_unresolved,
        }
    }
}

#[derive(Serialize)]
struct ChangedJson<'a> {
    #[serde(flatten)]
    path: PathJson<'a>,
    left: StateJson,
    right: StateJson,
}

#[derive(Serialize)]
struct StateJson {
    size: u64,
    mtime: String,
}

impl<'a> ChangedJson<'a> {
    fn new(file: &'a ChangedFile) -> Self {
        let [left, right] = [0, 1].map(|side| StateJson {
            size: file.sizes[side],
            mtime: rfc3339_nanos(file.mtimes_ns[side]),
        });
        Self {
            path: PathJson::new(&file.path),
            left,
            right,
        }
    }
}

#[derive(Serialize)]
struct SimilarTotalsJson {
    pairs: u64,
    complete: bool,
    paired_with_first_only: u64,
    unchecked: UncheckedFolders,
}

impl SimilarTotalsJson {
    fn new(similar: &Similar) -> Self {
        Self {
            pairs: similar.all,
            complete: similar.is_complete,
            paired_with_first_only: similar.crowded,
            unchecked: similar.unchecked,
        }
    }
}

/// A share in percent with one decimal.
fn percent(part: u64, whole: u64) -> f64 {
    // At most 1000, so nothing is lost.
    f64::from(u32::try_from(per_mille(part, whole)).unwrap_or(1000)) / 10.0
}
