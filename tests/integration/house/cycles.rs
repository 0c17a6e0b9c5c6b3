//! No import cycles: between rooms (the folders of `src`), between what lies
//! in one folder, and between files.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::graph::Graph;
use super::known_cycles::KNOWN_CYCLES;
use super::module_tree::{Module, ModuleTree, Use};

/// The graphs that must have no cycles.
fn graphs(tree: &ModuleTree) -> Vec<(&'static str, Graph)> {
    let uses = tree.uses();
    let parents: BTreeSet<&[String]> = tree
        .files
        .keys()
        .filter_map(|module| Some(module.split_last()?.1))
        .collect();
    let inside = |parent| {
        let kind = if parent == [""; 0] {
            "rooms"
        } else {
            "folders"
        };
        (kind, entries_graph(tree, &uses, parent))
    };
    let mut graphs: Vec<_> = parents.into_iter().map(inside).collect();
    graphs.push(("files", files_graph(tree, &uses)));
    graphs
}

fn files_graph(tree: &ModuleTree, uses: &[Use]) -> Graph {
    let mut graph = Graph::default();
    for way in uses {
        let to = way.stops.last().unwrap();
        graph.add(file(tree, &way.from), file(tree, to), || reason(tree, way));
    }
    graph
}

/// What the entries of a folder, with all below them, use of each other. A name
/// that an entry passes on counts as its own.
fn entries_graph(tree: &ModuleTree, uses: &[Use], parent: &[String]) -> Graph {
    let is_below = |module: &&Module| module.starts_with(parent) && module.len() > parent.len();
    let entry = |module: &Module| match module.get(parent.len()) {
        Some(_) => module[..=parent.len()].join("/"),
        None => file(tree, module),
    };
    let mut graph = Graph::default();
    for way in uses.iter().filter(|way| way.from.starts_with(parent)) {
        let own = |stop: &&Module| stop.as_slice() == parent;
        let below = way.stops.iter().find(is_below);
        if let Some(to) = below.or(way.stops.last().filter(own)) {
            let (from, to) = (entry(&way.from), entry(to));
            if from != to {
                graph.add(from, to, || reason(tree, way));
            }
        }
    }
    graph
}

fn file(tree: &ModuleTree, module: &Module) -> String {
    tree.files[module].path.clone()
}

fn reason(tree: &ModuleTree, way: &Use) -> String {
    let path = way.path.join("::");
    format!("{} uses crate::{path}", file(tree, &way.from))
}

/// Every cycle as `kind: a -> b -> a`, and the reasons for its steps.
fn cycles(tree: &ModuleTree) -> Vec<(String, String)> {
    let has_children = |entry: &String| {
        let module: Module = entry.split('/').map(str::to_owned).collect();
        let mut files = tree.files.keys();
        files.any(|file| file.starts_with(&module) && file.len() > module.len())
    };
    let mut found = Vec::new();
    for (kind, graph) in graphs(tree) {
        for way in graph.cycles() {
            // Files of one folder show among the files.
            if kind == "folders" && !way.iter().any(has_children) {
                continue;
            }
            let mut reasons = String::new();
            for step in way.windows(2) {
                writeln!(reasons, "    {}", graph.reason(&step[0], &step[1])).unwrap();
            }
            found.push((format!("{kind}: {}", way.join(" -> ")), reasons));
        }
    }
    found
}

/// What to say when the cycles are not the known ones.
fn complaint(cycles: &[(String, String)], known: &[&str]) -> Option<String> {
    let mut text = String::new();
    for (cycle, reasons) in cycles {
        if !known.contains(&cycle.as_str()) {
            writeln!(text, "a cycle: {cycle}\n{reasons}").unwrap();
        }
    }
    for gone in known {
        if !cycles.iter().any(|(cycle, _)| cycle == gone) {
            writeln!(text, "gone, so remove it from KNOWN_CYCLES: {gone}").unwrap();
        }
    }
    if text.is_empty() {
        return None;
    }
    writeln!(
        text,
        "\nThe whole list for known_cycles.rs:\npub(crate) const KNOWN_CYCLES: &[&str] = &["
    )
    .unwrap();
    for (cycle, _) in cycles {
        writeln!(text, "    \"{cycle}\",").unwrap();
    }
    Some(text + "];")
}

#[test]
fn there_are_no_cycles_but_the_known_ones() {
    let cycles = cycles(ModuleTree::of_project());
    if let Some(complaint) = complaint(&cycles, KNOWN_CYCLES) {
        panic!("{complaint}");
    }
}

/// The cycles of a made-up set of sources.
fn cycles_of(texts: &[(&str, &str)]) -> Vec<String> {
    let cycles = cycles(&ModuleTree::of(texts.iter().copied()));
    cycles.into_iter().map(|(cycle, _)| cycle).collect()
}

#[test]
fn a_cycle_between_rooms_is_found() {
    let texts = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One;"),
        ("a/one.rs", "use crate::b::B;"),
        ("a/two.rs", ""),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "fn c() { crate::a::two::two() }"),
    ];
    assert_eq!(cycles_of(&texts), ["rooms: a -> b -> c -> a"]);
}

#[test]
fn a_room_that_passes_a_name_on_is_used() {
    let texts = [
        ("a.rs", "pub use crate::b::B;"),
        ("b.rs", "pub struct B; use crate::c::D;"),
        ("c.rs", "use crate::a::B; pub struct D;"),
    ];
    assert_eq!(
        cycles_of(&texts),
        ["rooms: a -> b -> c -> a", "files: b.rs -> c.rs -> b.rs",]
    );
}

#[test]
fn a_cycle_between_folders_of_a_room_is_found() {
    let texts = [
        ("a/mod.rs", "mod x; mod y;"),
        (
            "a/x/mod.rs",
            "mod one; mod two; pub use one::One; pub use two::Two;",
        ),
        ("a/x/one.rs", "use super::super::y::Y;"),
        ("a/x/two.rs", ""),
        ("a/y.rs", "use super::x::Two;"),
    ];
    assert_eq!(cycles_of(&texts), ["folders: a/x -> a/y -> a/x"]);
}

#[test]
fn a_cycle_between_files_is_found() {
    let texts = [
        (
            "a/mod.rs",
            "mod b; mod c; pub use b::B; pub(crate) use c::C;",
        ),
        ("a/b.rs", "use super::C;"),
        ("a/c.rs", "fn c(b: super::b::B) {}"),
    ];
    assert_eq!(cycles_of(&texts), ["files: a/b.rs -> a/c.rs -> a/b.rs"]);
}

#[test]
fn a_cycle_of_parent_and_child_is_found() {
    let child = ("a/b.rs", "use super::A; pub fn b() {}");
    let cycles = |parent| cycles_of(&[("a.rs", parent), child]);
    assert_eq!(cycles("mod b; pub struct A;"), [""; 0]);
    assert_eq!(cycles("mod b; pub use b::b; pub struct A;"), [""; 0]);
    let cycle = ["files: a.rs -> a/b.rs -> a.rs"];
    assert_eq!(cycles("mod b; pub struct A; fn a() { b::b() }"), cycle);
    assert_eq!(cycles("mod b; pub struct A; use b::b;"), cycle);
}

#[test]
fn the_known_cycles_are_exactly_those_that_exist() {
    let cycles = [("rooms: a -> b -> a".to_owned(), String::new())];
    assert_eq!(complaint(&cycles, &["rooms: a -> b -> a"]), None);
    let new = complaint(&cycles, &[]).unwrap();
    assert!(new.contains("a cycle: rooms: a -> b -> a"), "{new}");
    let gone = complaint(&[], &["rooms: a -> b -> a"]).unwrap();
    assert!(gone.contains("gone, so remove it"), "{gone}");
}
