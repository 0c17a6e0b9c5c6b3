//! Keep rules: which copy of a group stays. Plans act on them, and reports mark
//! the copy; both ask for the order that is defined here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::CopyEntry;
use super::ids::ScanId;
use super::scope::Globs;

/// The order of the copies of a group, best first. The first rule that tells two
/// copies apart decides, and in the end their paths.
#[derive(Debug, Clone, Default)]
pub struct KeepOrder {
    rules: Vec<KeepRule>,
    /// Duplicates in each folder, where a rule asks.
    folder_copies: HashMap<PathBuf, u64>,
}

/// Where a copy stands in the order: of two, the one with the lower place is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeepPlace {
    ranks: Vec<i64>,
    path: PathBuf,
}

impl KeepPlace {
    /// Whether nothing but the path tells the two apart.
    pub fn is_tied_with(&self, other: &Self) -> bool {
        self.ranks == other.ranks
    }
}

impl KeepOrder {
    /// The order that these rules make.
    pub fn of(rules: Vec<KeepRule>) -> Self {
        Self {
            rules,
            folder_copies: HashMap::new(),
        }
    }

    /// Whether all groups must be counted before the first copy has its place.
    pub fn wants_groups(&self) -> bool {
        self.asks_for(&Test::FullestFolder)
    }

    /// Whether it must be known which scan found a copy.
    pub fn wants_first_scan(&self) -> bool {
        self.asks_for(&Test::FirstSeen)
    }

    fn asks_for(&self, test: &Test) -> bool {
        let wanted = std::mem::discriminant(test);
        let mut tests = self.rules.iter().map(|rule| &rule.0);
        tests.any(|test| std::mem::discriminant(test) == wanted)
    }

    /// Counts the duplicates in the folders of a group of these copies.
    pub fn count(&mut self, copies: &[CopyEntry]) {
        for folder in copies.iter().filter_map(|copy| copy.path.parent()) {
            *self.folder_copies.entry(folder.to_owned()).or_default() += 1;
        }
    }

    /// The place of a copy that this scan found first.
    pub fn place(&self, copy: &CopyEntry, first_scan: ScanId) -> KeepPlace {
        let folder = copy.path.parent().unwrap_or(Path::new("/"));
        let facts = Facts {
            first_scan,
            folder_copies: self.folder_copies.get(folder).copied().unwrap_or(0),
        };
        let ranks = self.rules.iter().map(|rule| rule.rank(copy, &facts));
        KeepPlace {
            ranks: ranks.collect(),
            path: copy.path.clone(),
        }
    }
}

/// What rules ask beyond the copy itself.
struct Facts {
    first_scan: ScanId,
    folder_copies: u64,
}

/// One rule, in favour of copies that are kept.
#[derive(Debug, Clone)]
pub struct KeepRule(Test);

#[derive(Debug, Clone)]
enum Test {
    Under(PathBuf),
    NotUnder(PathBuf),
    Glob(Globs),
    Name(Globs),
    NotName(Globs),
    Oldest,
    Newest,
    FirstSeen,
    ShortestPath,
    Shallowest,
    ShortestName,
    MostLinks,
    FullestFolder,
}

/// The rules without a value.
const PLAIN: &[(&str, Test)] = &[
    ("oldest", Test::Oldest),
    ("newest", Test::Newest),
    ("first-seen", Test::FirstSeen),
    ("shortest-path", Test::ShortestPath),
    ("shallowest", Test::Shallowest),
    ("shortest-name", Test::ShortestName),
    ("most-links", Test::MostLinks),
    ("fullest-folder", Test::FullestFolder),
];

/// All rules, for messages.
const RULES: &str = "under:PATH, not-under:PATH, glob:GLOB, name:GLOB, not-name:GLOB, oldest, \
     newest, first-seen, shortest-path, shallowest, shortest-name, most-links or fullest-folder";

/// Without a rule: the copy nearest to the top, then the oldest.
pub const DEFAULT_RULES: [&str; 2] = ["shallowest", "oldest"];

impl KeepRule {
    /// Reads a rule as it is typed. `place` makes a path of it whole, and says
    /// what is wrong with one that has not been scanned.
    pub fn parse(
        text: &OsStr,
        place: impl FnOnce(&Path) -> Result<PathBuf, String>,
    ) -> Result<Self, String> {
        let shown = text.to_string_lossy().into_owned();
        if let Some((_, test)) = PLAIN.iter().find(|(name, _)| *name == shown) {
            return Ok(Self(test.clone()));
        }
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let (name, value) = bytes.split_at(colon.ok_or_else(|| unknown(&shown))?);
        let value = OsStr::from_bytes(&value[1..]);
        if value.is_empty() {
            return Err(format!("invalid rule '{shown}': nothing after the colon"));
        }
        let test = match name {
            b"under" => Test::Under(place(Path::new(value))?),
            b"not-under" => Test::NotUnder(place(Path::new(value))?),
            b"glob" => Test::Glob(globs(value, &shown)?),
            b"name" => Test::Name(globs(value, &shown)?),
            b"not-name" => Test::NotName(globs(value, &shown)?),
            _ => return Err(unknown(&shown)),
        };
        Ok(Self(test))
    }

    /// The rank of a copy: of two, the one with the lower rank is kept.
    fn rank(&self, copy: &CopyEntry, facts: &Facts) -> i64 {
        let path = copy.path.as_path();
        let no = |wanted: bool| i64::from(!wanted);
        let any = |test: &dyn Fn(&Path) -> bool| copy.names().any(|name| test(name));
        let name_of = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
        let length = |text: &OsStr| i64::try_from(text.len()).unwrap_or(i64::MAX);
        match &self.0 {
            Test::Under(folder) => no(any(&|name| name.starts_with(folder))),
            Test::NotUnder(folder) => no(!any(&|name| name.starts_with(folder))),
            Test::Glob(globs) => no(any(&|name| globs.matches_file(below_top(name)))),
            Test::Name(globs) => no(any(&|name| globs.matches_name(&name_of(name)))),
            Test::NotName(globs) => no(!any(&|name| globs.matches_name(&name_of(name)))),
            Test::Oldest => copy.mtime_ns,
            Test::Newest => copy.mtime_ns.saturating_neg(),
            Test::FirstSeen => facts.first_scan.0,
            Test::ShortestPath => length(path.as_os_str()),
            Test::Shallowest => i64::try_from(path.components().count()).unwrap_or(i64::MAX),
            Test::ShortestName => length(name_of(path).as_os_str()),
            Test::MostLinks => i64::try_from(copy.links.len()).map_or(i64::MIN, |links| -links),
            Test::FullestFolder => i64::try_from(facts.folder_copies).map_or(i64::MIN, |all| -all),
        }
    }
}

/// Globs are matched against paths without the slash in front.
fn below_top(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn globs(value: &OsStr, rule: &str) -> Result<Globs, String> {
    let text = value
        .to_str()
        .ok_or_else(|| format!("invalid rule '{rule}': a glob is UTF-8 text"))?;
    Globs::new(&[text.to_owned()]).map_err(|(_, why)| format!("invalid rule '{rule}': {why}"))
}

fn unknown(text: &str) -> String {
    format!("invalid rule '{text}': expected {RULES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> KeepRule {
        KeepRule::parse(text.as_ref(), |path| Ok(path.to_owned())).unwrap()
    }

    fn copy(names: &[&str], mtime_ns: i64) -> CopyEntry {
        let mut names = names.iter().map(PathBuf::from);
        CopyEntry {
            path: names.next().unwrap(),
            links: names.collect(),
            mtime_ns,
            ..CopyEntry::default()
        }
    }

    fn prefers(text: &str, one: &CopyEntry, other: &CopyEntry) {
        let order = KeepOrder::of(vec![rule(text)]);
        let [one, other] = [one, other].map(|copy| order.place(copy, ScanId(1)));
        assert!(one < other && !one.is_tied_with(&other), "{text}");
    }

    #[test]
    fn each_rule_names_what_is_kept() {
        let old = copy(&["/p/albums/b.jpg"], 1);
        let new = copy(&["/p/x/y/longer name.jpeg", "/q/z"], 2);
        for text in [
            "under:/p/albums",
            "not-under:/q",
            "glob:**/albums/*",
            "name:*.jpg",
            "not-name:long*",
            "oldest",
            "shortest-path",
            "shallowest",
            "shortest-name",
        ] {
            prefers(text, &old, &new);
        }
        for text in ["under:/q", "not-under:/p/albums", "newest", "most-links"] {
            prefers(text, &new, &old);
        }
    }

    #[test]
    fn what_no_copy_knows_is_asked_for() {
        let order = KeepOrder::of(vec![rule("first-seen")]);
        assert!(order.wants_first_scan() && !order.wants_groups());
        let [early, late] = [copy(&["/z"], 1), copy(&["/a"], 1)];
        assert!(order.place(&early, ScanId(1)) < order.place(&late, ScanId(2)));
        let mut order = KeepOrder::of(vec![rule("fullest-folder")]);
        assert!(order.wants_groups() && !order.wants_first_scan());
        let [full, other] = [copy(&["/z/1"], 1), copy(&["/a/1"], 1)];
        order.count(&[full.clone(), copy(&["/z/2"], 1), other.clone()]);
        assert!(order.place(&full, ScanId(1)) < order.place(&other, ScanId(1)));
    }

    #[test]
    fn the_first_difference_decides_and_paths_come_last() {
        let order = KeepOrder::of(vec![rule("under:/b"), rule("oldest")]);
        let place = |path: &str, mtime_ns| order.place(&copy(&[path], mtime_ns), ScanId(1));
        assert!(place("/b/2", 9) < place("/a/1", 1));
        assert!(place("/b/2", 1) < place("/b/1", 2));
        let [one, other] = [place("/b/1", 1), place("/b/2", 1)];
        assert!(one < other && one.is_tied_with(&other));
    }

    #[test]
    fn what_is_no_rule_is_named_with_what_is_allowed() {
        let fails = |text: &str| {
            KeepRule::parse(text.as_ref(), |_| Err("has not been scanned".to_owned())).unwrap_err()
        };
        assert!(fails("older").contains("'older': expected under:PATH"));
        assert!(fails("color:red").contains("expected under:PATH"));
        assert!(fails("name:").contains("nothing after the colon"));
        assert!(fails("name:[").contains("'name:['"));
        assert_eq!(fails("under:/nowhere"), "has not been scanned");
    }
}
