//! The modules of the project, and which file each path in them leads to.
//! Rejected: asking rustc, which has no stable output for this.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path as FilePath;
use std::sync::LazyLock;

use walkdir::WalkDir;

use super::source::{Import, Path, Source};

/// `a/b.rs` and `a/b/mod.rs` are `[a, b]`; the crate itself is `[]`.
pub(crate) type Module = Vec<String>;

/// A file and what it holds outside tests.
pub(crate) struct SourceFile {
    /// Where it lies below `src`.
    pub(crate) path: String,
    pub(crate) source: Source,
}

/// All files that are compiled outside tests, by module.
pub(crate) struct ModuleTree {
    pub(crate) files: BTreeMap<Module, SourceFile>,
}

/// A path that one module uses and that leads to another.
pub(crate) struct Use {
    pub(crate) from: Module,
    /// The path from the crate's root on, as it was spelled.
    pub(crate) path: Path,
    /// The modules in which its names are looked up: the one that it spells,
    /// then the way along `use` declarations to the one that defines it.
    pub(crate) stops: Vec<Module>,
}

/// How many `use` declarations a name may lead through.
const MOST_HOPS: usize = 8;

impl ModuleTree {
    /// The project's own sources, read once.
    pub(crate) fn of_project() -> &'static Self {
        static TREE: LazyLock<ModuleTree> = LazyLock::new(ModuleTree::read_project);
        &TREE
    }

    fn read_project() -> Self {
        let src = src();
        let mut texts = Vec::new();
        for entry in WalkDir::new(&src).sort_by_file_name() {
            let path = entry.unwrap().into_path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&src).unwrap().to_str().unwrap();
                texts.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
        let texts = texts.iter();
        Self::of(texts.map(|(path, text)| (path.as_str(), text.as_str())))
    }

    /// Reads sources given by their paths below `src`.
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut files = BTreeMap::new();
        let mut tests = BTreeSet::new();
        for (path, text) in texts {
            let (module, source) = (module_of(path), Source::read(text));
            for name in &source.test_modules {
                tests.insert(child(&module, name));
            }
            let path = path.to_owned();
            files.insert(module, SourceFile { path, source });
        }
        files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { files }
    }

    /// Every path that leads out of the file it is written in.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (from, SourceFile { source, .. }) in &self.files {
            let imports = source.imports.iter();
            let needed = imports.filter(|import| self.is_needed(from, source, import));
            let paths = needed.map(|import| &import.path);
            for path in paths.chain(&source.mentions) {
                if let Some(path) = self.absolute(from, path, MOST_HOPS) {
                    let stops = self.stops(&path, MOST_HOPS);
                    if stops.last() != Some(from) {
                        let from = from.clone();
                        uses.push(Use { from, path, stops });
                    }
                }
            }
        }
        uses
    }

    /// Whether a file itself needs what it imports. It does not need a module,
    /// but what it mentions of it; nor what it merely passes on from below.
    fn is_needed(&self, from: &Module, source: &Source, import: &Import) -> bool {
        let Some(path) = self.absolute(from, &import.path, MOST_HOPS) else {
            return false;
        };
        let is_passed_on = import.is_public && path.starts_with(from);
        !self.is_module(&path) && (!is_passed_on || source.names.contains(&import.name))
    }

    /// Whether a path names a module and nothing else of that name.
    fn is_module(&self, path: &Path) -> bool {
        let Some((name, parent)) = path.split_last() else {
            return true;
        };
        self.files.contains_key(path) && self.import(parent, name).is_none()
    }

    /// A path from the crate's root on; `None` for those of other crates.
    pub(crate) fn absolute(&self, from: &[String], path: &[String], hops: usize) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let mut start = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => {
                let supers = path.iter().take_while(|segment| *segment == "super");
                let supers = supers.count();
                let parent = &from[..from.len().checked_sub(supers)?];
                return Some([parent, &path[supers..]].concat());
            }
            _ if self.files.contains_key(&child(from, first)) => child(from, first),
            _ => {
                let import = self.import(from, first)?;
                self.absolute(from, &import.path, hops.checked_sub(1)?)?
            }
        };
        start.extend_from_slice(rest);
        Some(start)
    }

    /// The modules in which the names of an absolute path are looked up.
    fn stops(&self, path: &[String], hops: usize) -> Vec<Module> {
        let mut module = Module::new();
        for (at, name) in path.iter().enumerate() {
            let rest = &path[at + 1..];
            let import = self.import(&module, name);
            let deeper = child(&module, name);
            if self.files.contains_key(&deeper) && (import.is_none() || !rest.is_empty()) {
                module = deeper;
                continue;
            }
            let target = import.and_then(|import| self.absolute(&module, &import.path, hops));
            let mut stops = vec![module];
            if let Some(target) = target
                && let Some(hops) = hops.checked_sub(1)
            {
                stops.extend(self.stops(&[&target, rest].concat(), hops));
            }
            return stops;
        }
        vec![module]
    }

    fn import(&self, module: &[String], name: &str) -> Option<&Import> {
        let imports = &self.files.get(module)?.source.imports;
        imports
            .iter()
            .find(|import| import.name == name && name != "*")
    }
}

/// The folder of the project's sources.
pub(crate) fn src() -> std::path::PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The module of a file below `src`.
fn module_of(path: &str) -> Module {
    let stem = path.strip_suffix(".rs").unwrap();
    let mut names: Module = stem.split('/').map(str::to_owned).collect();
    match names.last().map(String::as_str) {
        Some("mod") => drop(names.pop()),
        Some("lib") if names.len() == 1 => names.clear(),
        _ => {}
    }
    names
}

/// The module `name` in `module`.
pub(crate) fn child(module: &[String], name: &str) -> Module {
    [module, &[name.to_owned()]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The uses of a made-up set of sources: who, and the way of its path.
    fn uses(texts: &[(&str, &str)]) -> Vec<String> {
        let spelled = |way: &Use| {
            let stops = way.stops.iter().map(|stop| stop.join("::"));
            format!(
                "{}: {}",
                way.from.join("::"),
                stops.collect::<Vec<_>>().join(", ")
            )
        };
        let uses = ModuleTree::of(texts.iter().copied()).uses();
        uses.iter().map(spelled).collect()
    }

    #[test]
    fn a_name_leads_to_the_file_that_defines_it() {
        let mods = (
            "a/mod.rs",
            "mod b; mod c; pub use b::B; pub const A: u8 = 0;",
        );
        let b = ("a/b.rs", "pub struct B;");
        let cases = [
            ("use super::B;", "a::c: a, a::b"),
            ("use super::b::B;", "a::c: a::b"),
            ("use super::A;", "a::c: a"),
            ("fn x() -> crate::a::B {}", "a::c: a, a::b"),
            ("use super::b; fn x() { b::B }", "a::c: a::b"),
            ("use super::*;", "a::c: a"),
        ];
        for (text, expected) in cases {
            assert_eq!(uses(&[mods, b, ("a/c.rs", text)]), [expected], "{text}");
        }
        for nothing in [
            "use super::b;",
            "use std::fs;",
            "#[cfg(test)] use super::B;",
        ] {
            assert_eq!(uses(&[mods, b, ("a/c.rs", nothing)]), [""; 0], "{nothing}");
        }
    }

    #[test]
    fn a_parent_uses_a_child_when_it_needs_what_is_in_it() {
        let child = ("a/b.rs", "pub struct B; pub fn b() {}");
        let cases = [
            ("mod b;", false),
            ("mod b; pub use b::B;", false),
            ("mod b; pub(crate) use b::b;", false),
            ("mod b; pub use b::B; fn x() -> B {}", true),
            ("mod b; use b::B;", true),
            ("mod b; fn x() { b::b() }", true),
            ("mod b; fn x() { self::b::b() }", true),
        ];
        for (text, is_use) in cases {
            let expected = if is_use { "a: a::b" } else { "" };
            let found = uses(&[("a.rs", text), child]).concat();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_function_may_have_the_name_of_its_module() {
        let texts = [
            ("a.rs", "mod b; mod c; pub use b::b;"),
            ("a/b.rs", "pub fn b() {}"),
            ("a/c.rs", "use super::b; fn c() { b() }"),
            ("d.rs", "use crate::a; fn d() { a::b() }"),
        ];
        assert_eq!(uses(&texts), ["a::c: a, a::b", "d: a, a::b"]);
    }

    #[test]
    fn files_of_test_modules_are_skipped_with_all_below_them() {
        let texts = [
            ("a.rs", "#[cfg(test)] mod tests;"),
            ("a/tests.rs", "mod more; use crate::b::B;"),
            ("a/tests/more.rs", "use crate::b::B;"),
            ("b.rs", ""),
        ];
        assert_eq!(uses(&texts), [""; 0]);
    }
}
