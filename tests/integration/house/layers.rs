//! The layers point one way (`src/lib.rs` draws them): which module may use
//! which, who may hold SQL, unsafe code and prints. Reads the sources, since
//! the compiler sees one crate.

use std::collections::BTreeSet;

use super::module_tree::{Module, ModuleTree, SourceFile};
use super::source::Source;

/// Each module and the paths of ours it may use, beside its own.
const MAY_USE: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("lib", &[]),
    (
        "cli",
        &[
            "settings", "scan", "act", "answers", "report", "access", "pool", "catalog",
            "platform", "folders", "model",
        ],
    ),
    ("settings", &["model"]),
    (
        "answers",
        &["access", "catalog", "platform", "folders", "model"],
    ),
    (
        "scan",
        &["access", "pool", "catalog", "platform", "hash", "model"],
    ),
    ("act", &["access", "pool", "catalog", "platform", "model"]),
    ("report", &["folders", "model"]),
    ("access", &["catalog", "platform", "hash", "model"]),
    ("pool", &[]),
    ("catalog", &["model"]),
    ("hash", &["platform", "model"]),
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
    ("anyhow", &["cli"], |source| source.has_word("anyhow")),
    ("printing", &["cli"], prints),
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

/// Modules inside a room that other rooms may name. All others are reached
/// through the `pub use` lines of their room.
const PUBLIC_INSIDE: &[&str] = &[
    "access::content",
    "model::sampling",
    "report::run",
    "report::text",
    "settings::values",
];

/// The first module on the way to a file, or the crate's own file.
fn room(module: &Module) -> &str {
    module.first().map_or("lib", String::as_str)
}

/// What is wrong with one file.
fn violations(tree: &ModuleTree, module: &Module, source: &Source) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let room = room(module);
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        return BTreeSet::from([format!("module {room} is not in the table of layers")]);
    };
    for path in own_paths(tree, module, source) {
        let is_below = |layer: &str| path == layer || path.starts_with(&format!("{layer}::"));
        let first = path.split("::").next().unwrap_or_default();
        let is_module = MAY_USE.iter().any(|(name, _)| *name == first);
        if is_module && first != room && !allowed.iter().any(|layer| is_below(layer)) {
            found.insert(format!("{room} may not use crate::{path}"));
        }
    }
    for (what, rooms, is_there) in ONLY_IN {
        if !rooms.contains(&room) && is_there(source) {
            found.insert(format!("{room} may not hold {what}"));
        }
    }
    found
}

/// The paths of ours that a file uses, from the crate's root on.
fn own_paths<'a>(
    tree: &'a ModuleTree,
    module: &'a Module,
    source: &'a Source,
) -> impl Iterator<Item = String> + 'a {
    let paths = source.paths();
    let own = paths.filter_map(|path| tree.absolute(module, path, 1));
    own.map(|path| path.join("::"))
}

/// The modules inside other rooms that files name, and who does.
fn named_inside(tree: &ModuleTree) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for way in tree.uses() {
        if let [room, inside, _, ..] = way.path.as_slice()
            && way.from.first() != Some(room)
            && tree.files.contains_key(&way.path[..2])
        {
            let user = tree.files[&way.from].path.clone();
            named.push((format!("{room}::{inside}"), user));
        }
    }
    named
}

#[test]
fn the_layers_point_one_way() {
    let tree = ModuleTree::of_project();
    let rooms: BTreeSet<_> = tree.files.keys().map(room).collect();
    for (expected, _) in MAY_USE {
        assert!(rooms.contains(expected), "no sources of {expected}");
    }
    let mut wrong = Vec::new();
    for (module, SourceFile { path, source }) in &tree.files {
        let found = violations(tree, module, source);
        wrong.extend(found.into_iter().map(|what| format!("{path}: {what}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rooms_are_entered_by_their_door() {
    let named = named_inside(ModuleTree::of_project());
    let wrong = named
        .iter()
        .filter(|(inside, _)| !PUBLIC_INSIDE.contains(&inside.as_str()));
    let wrong: BTreeSet<_> = wrong
        .map(|(inside, user)| format!("{user} names {inside}"))
        .collect();
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for public in PUBLIC_INSIDE {
        let is_used = named.iter().any(|(inside, _)| inside == public);
        assert!(is_used, "{public} can leave PUBLIC_INSIDE");
    }
}

#[test]
fn a_door_that_is_missed_is_found() {
    let named = |text| {
        let texts = [
            ("a/mod.rs", "pub mod b; pub use b::B;"),
            ("a/b.rs", ""),
            ("c.rs", text),
        ];
        named_inside(&ModuleTree::of(texts))
    };
    let found = [("a::b".to_owned(), "c.rs".to_owned())];
    assert_eq!(named("use crate::a::b::B;"), found);
    assert_eq!(named("use crate::a; fn c() { a::b::b() }"), found);
    assert_eq!(named("use crate::a::B; fn c() { B::new() }"), []);
}

#[test]
fn what_is_needed_is_seen() {
    // A checker that finds nothing in the right places would find nothing in
    // the wrong ones.
    let tree = ModuleTree::of_project();
    let holds = |what: &str, module: &str| {
        let (_, _, is_there) = ONLY_IN.iter().find(|(name, ..)| *name == what).unwrap();
        let mut files = tree.files.iter();
        files.any(|(file, SourceFile { source, .. })| room(file) == module && is_there(source))
    };
    assert!(holds("rusqlite", "catalog"));
    assert!(holds("SQL", "catalog"));
    assert!(holds("anyhow", "cli"));
    assert!(holds("printing", "cli"));
}

#[test]
fn a_wrong_direction_is_found() {
    let wrong = |module: &str, text: &str| -> Vec<String> {
        let module = module.split('/').map(str::to_owned).collect();
        let found = violations(&ModuleTree::of([]), &module, &Source::read(text));
        found.into_iter().collect()
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
        assert_eq!(wrong(module, text), [expected], "{text}");
    }
    assert_eq!(
        wrong("folders/similar", "use super::super::scan::Mode;"),
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
        assert_eq!(wrong(fine.0, fine.1), [""; 0], "{}", fine.1);
    }
}
