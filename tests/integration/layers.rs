//! The layers point one way (`src/lib.rs` draws them): which module may use
//! which, who may hold SQL, unsafe code and prints. Reads the sources, since
//! the compiler sees one crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::source::Source;

/// Each module and the paths of ours it may use, beside its own.
const MAY_USE: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("lib", &[]),
    (
        "cli",
        &[
            "settings", "scan", "report", "access", "pool", "catalog", "platform", "folders",
            "model",
        ],
    ),
    ("settings", &["model"]),
    (
        "scan",
        &["access", "pool", "catalog", "platform", "hash", "model"],
    ),
    ("report", &["cli", "scan", "catalog", "folders", "model"]),
    ("access", &["scan", "catalog", "platform", "hash", "model"]),
    ("pool", &["scan", "model"]),
    ("catalog", &["model"]),
    ("hash", &["catalog", "platform", "model"]),
    ("platform", &["model"]),
    ("folders", &["model"]),
    ("model", &[]),
];

/// Something, the modules that may hold it, and how to see it.
type Reserved = (&'static str, &'static [&'static str], fn(&Source) -> bool);

/// What only some modules may hold.
const ONLY_IN: &[Reserved] = &[
    ("rusqlite", &["catalog"], |source| {
        source.has_word("rusqlite")
    }),
    ("SQL", &["catalog"], |source| {
        source.literals.iter().any(|text| is_sql(text))
    }),
    ("unsafe code", &["platform"], |source| {
        source.has_word("unsafe")
    }),
    ("anyhow", &["cli", "report"], |source| {
        source.has_word("anyhow")
    }),
    ("printing", &["cli", "report"], prints),
    ("leaving the process", &["cli"], |source| {
        source.code.contains("process::exit")
    }),
];

fn is_sql(literal: &str) -> bool {
    let text = literal.trim_start();
    let starts = [
        "SELECT ",
        "INSERT INTO ",
        "UPDATE ",
        "DELETE FROM ",
        "CREATE TABLE ",
        "CREATE INDEX ",
        "CREATE TEMP ",
        "PRAGMA ",
        "WITH RECURSIVE ",
        "DROP TABLE ",
        "BEGIN IMMEDIATE",
        "VACUUM",
    ];
    starts.iter().any(|start| text.starts_with(start))
}

fn prints(source: &Source) -> bool {
    let macros = ["println", "print", "eprintln", "eprint", "dbg"];
    let streams = ["stdout", "stderr"];
    source.words().any(|(at, word)| {
        let next = source.code[at + word.len()..].chars().next();
        (macros.contains(&word) && next == Some('!'))
            || (streams.contains(&word) && source.code[..at].ends_with("io::"))
    })
}

/// What is wrong with one file of module `module`, `depth` modules deep.
fn violations(module: &str, depth: usize, source: &Source) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
        return BTreeSet::from([format!("module {module} is not in the table of layers")]);
    };
    for path in source.own_paths(depth) {
        let is_below = |layer: &str| path == layer || path.starts_with(&format!("{layer}::"));
        let first = path.split("::").next().unwrap_or_default();
        let is_module = MAY_USE.iter().any(|(name, _)| *name == first);
        if is_module && first != module && !allowed.iter().any(|layer| is_below(layer)) {
            found.insert(format!("{module} may not use crate::{path}"));
        }
    }
    for (what, modules, is_there) in ONLY_IN {
        if !modules.contains(&module) && is_there(source) {
            found.insert(format!("{module} may not hold {what}"));
        }
    }
    found
}

/// The sources with the module they belong to and its depth; files that are
/// compiled for tests only are left out.
fn sources() -> Vec<(PathBuf, String, usize, Source)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut tests = BTreeSet::new();
    for entry in WalkDir::new(&src).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = Source::read(&fs::read_to_string(&path).unwrap());
        let modules = modules(path.strip_prefix(&src).unwrap());
        let folder = match modules[..] {
            [ref only] if only == "lib" || only == "main" => src.clone(),
            _ => modules
                .iter()
                .fold(src.clone(), |path, name| path.join(name)),
        };
        for name in &source.test_modules {
            tests.insert(folder.join(name).with_extension("rs"));
            tests.insert(folder.join(name).join("mod.rs"));
        }
        files.push((path, modules[0].clone(), modules.len(), source));
    }
    files.retain(|(path, ..)| !tests.contains(path));
    files
}

/// `a/b/mod.rs` and `a/b.rs` are `[a, b]`.
fn modules(file: &Path) -> Vec<String> {
    let stem = file.with_extension("");
    let mut names: Vec<_> = stem
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if names.len() > 1 && names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    names
}

#[test]
fn the_layers_point_one_way() {
    let sources = sources();
    let modules: BTreeSet<_> = sources
        .iter()
        .map(|(_, module, ..)| module.as_str())
        .collect();
    for expected in [
        "cli", "settings", "scan", "report", "catalog", "platform", "model",
    ] {
        assert!(
            modules.contains(expected),
            "no sources of {expected} were found"
        );
    }
    let mut wrong = Vec::new();
    for (path, module, depth, source) in &sources {
        let found = violations(module, *depth, source);
        wrong.extend(
            found
                .into_iter()
                .map(|what| format!("{}: {what}", path.display())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_needed_is_seen() {
    // A checker that finds nothing in the right places would find nothing in
    // the wrong ones.
    let holds = |what: &str, module: &str| {
        let (_, _, is_there) = ONLY_IN.iter().find(|(name, ..)| *name == what).unwrap();
        sources()
            .iter()
            .any(|(_, name, _, source)| name == module && is_there(source))
    };
    assert!(holds("rusqlite", "catalog"));
    assert!(holds("SQL", "catalog"));
    assert!(holds("anyhow", "cli"));
    assert!(holds("printing", "cli"));
}

#[test]
fn a_wrong_direction_is_found() {
    let wrong = |module: &str, depth: usize, text: &str| -> Vec<String> {
        violations(module, depth, &Source::read(text))
            .into_iter()
            .collect()
    };
    let cases = [
        (
            "folders",
            "use crate::scan::pool::Pool;",
            "folders may not use crate::scan::pool::Pool",
        ),
        (
            "settings",
            "use crate::{model, scan::pool};",
            "settings may not use crate::scan::pool",
        ),
        (
            "catalog",
            "fn a() { crate::cli::run() }",
            "catalog may not use crate::cli::run",
        ),
        (
            "platform",
            "use crate::scan::Fault;",
            "platform may not use crate::scan::Fault",
        ),
        (
            "model",
            "use super::scan::Row;",
            "model may not use crate::scan::Row",
        ),
        (
            "scan",
            "fn a() { unsafe {} }",
            "scan may not hold unsafe code",
        ),
        (
            "scan",
            "use rusqlite::Connection;",
            "scan may not hold rusqlite",
        ),
        (
            "report",
            "const Q: &str = \"SELECT 1\";",
            "report may not hold SQL",
        ),
        (
            "catalog",
            "fn a() { println!(\"x\") }",
            "catalog may not hold printing",
        ),
        (
            "scan",
            "fn a() { std::io::stderr().lock(); }",
            "scan may not hold printing",
        ),
        (
            "settings",
            "fn a() -> anyhow::Result<()> { Ok(()) }",
            "settings may not hold anyhow",
        ),
        (
            "scan",
            "fn a() { std::process::exit(1) }",
            "scan may not hold leaving the process",
        ),
        ("extra", "", "module extra is not in the table of layers"),
    ];
    for (module, text, expected) in cases {
        assert_eq!(wrong(module, 1, text), [expected], "{text}");
    }
    assert_eq!(
        wrong("folders", 2, "use super::super::scan::Mode;"),
        ["folders may not use crate::scan::Mode"]
    );
    for fine in [
        ("cli", "use crate::{settings, scan};"),
        ("settings", "use crate::model::{Algorithm, Limits};"),
        (
            "scan",
            "#[cfg(test)]\nmod tests { fn a() { println!(\"{}\", unsafe { 1 }) } }",
        ),
        ("scan", "// unsafe, and crate::cli\nuse crate::scan::pool;"),
    ] {
        assert_eq!(wrong(fine.0, 1, fine.1), [""; 0], "{}", fine.1);
    }
}
