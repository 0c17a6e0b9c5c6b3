//! Keep rules: which copy of a group stays. Ordered; the first that tells two
//! copies apart decides.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::Globs;

/// What the rules ask about a copy, besides its paths.
#[derive(Debug, Clone, Default)]
pub struct Traits {
    /// Its names; the first one counts as its path.
    pub names: Vec<PathBuf>,
    /// When its content last changed.
    pub mtime_ns: i64,
    /// The scan that found it.
    pub first_scan: i64,
    /// How many duplicates its folder holds.
    pub folder_copies: u64,
}

/// One rule, in favour of copies that are kept.
#[derive(Debug, Clone)]
pub struct KeepRule {
    text: String,
    test: Test,
}

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

/// All rules, for help and messages.
pub const RULES: &str = "under:PATH, not-under:PATH, glob:GLOB, name:GLOB, not-name:GLOB, oldest, \
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
            return Ok(Self {
                text: shown,
                test: test.clone(),
            });
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
        Ok(Self { text: shown, test })
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it must be known how many duplicates each folder holds.
    pub fn wants_folders(&self) -> bool {
        matches!(self.test, Test::FullestFolder)
    }

    /// The rank of a copy: of two, the one with the lower rank is kept.
    pub fn rank(&self, copy: &Traits) -> i64 {
        let path = copy.names.first().map_or(Path::new(""), PathBuf::as_path);
        let no = |wanted: bool| i64::from(!wanted);
        let any = |test: &dyn Fn(&Path) -> bool| copy.names.iter().any(|name| test(name));
        let name_of = |path: &Path| path.file_name().map(PathBuf::from).unwrap_or_default();
        let length = |text: &OsStr| i64::try_from(text.len()).unwrap_or(i64::MAX);
        match &self.test {
            Test::Under(folder) => no(any(&|name| name.starts_with(folder))),
            Test::NotUnder(folder) => no(!any(&|name| name.starts_with(folder))),
            Test::Glob(globs) => no(any(&|name| globs.matches_file(below_top(name)))),
            Test::Name(globs) => no(any(&|name| globs.matches_name(&name_of(name)))),
            Test::NotName(globs) => no(!any(&|name| globs.matches_name(&name_of(name)))),
            Test::Oldest => copy.mtime_ns,
            Test::Newest => copy.mtime_ns.saturating_neg(),
            Test::FirstSeen => copy.first_scan,
            Test::ShortestPath => length(path.as_os_str()),
            Test::Shallowest => i64::try_from(path.components().count()).unwrap_or(i64::MAX),
            Test::ShortestName => length(name_of(path).as_os_str()),
            Test::MostLinks => i64::try_from(copy.names.len()).map_or(i64::MIN, |links| -links),
            Test::FullestFolder => i64::try_from(copy.folder_copies).map_or(i64::MIN, |all| -all),
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

    fn copy(names: &[&str], mtime_ns: i64) -> Traits {
        Traits {
            names: names.iter().map(PathBuf::from).collect(),
            mtime_ns,
            ..Traits::default()
        }
    }

    fn prefers(text: &str, one: &Traits, other: &Traits) {
        let rule = rule(text);
        assert!(rule.rank(one) < rule.rank(other), "{text}");
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
        let with = |first_scan, folder_copies| Traits {
            first_scan,
            folder_copies,
            ..Traits::default()
        };
        prefers("first-seen", &with(1, 0), &with(2, 0));
        prefers("fullest-folder", &with(1, 9), &with(1, 8));
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
