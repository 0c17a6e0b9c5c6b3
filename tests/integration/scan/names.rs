//! Names of any bytes: found, stored, reported exactly, and harmless.

use std::collections::BTreeSet;

use crate::env::oracle;
use crate::env::{TestEnv, odd, skip};

/// Every byte that a name can hold, sixteen to a name.
fn every_byte() -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = (1..=255).filter(|&byte| byte != b'/').collect();
    bytes.chunks(16).map(|part| [b"n", part].concat()).collect()
}

fn scanned() -> TestEnv {
    let env = TestEnv::new();
    for (number, name) in every_byte().iter().enumerate() {
        let path = odd(&[b"tree/", name.as_slice()].concat());
        env.file(&path, format!("content {number:03}"));
        env.file(
            odd(&[b"tree/", name.as_slice(), b"/copy"]
                .concat()
                .replace_at(5, b"d")),
            format!("content {number:03}"),
        );
    }
    env.run("scan tree").ok();
    env
}

/// A name with another first byte, so that the folder does not meet the file.
trait ReplaceAt {
    fn replace_at(self, at: usize, with: &[u8]) -> Vec<u8>;
}

impl ReplaceAt for Vec<u8> {
    fn replace_at(mut self, at: usize, with: &[u8]) -> Vec<u8> {
        self.splice(at..at + with.len(), with.iter().copied());
        self
    }
}

#[test]
fn any_byte_comes_back_in_json() {
    let env = scanned();
    let truth = oracle::groups(&env.path(""), &["tree"]);
    assert_eq!(truth.len(), every_byte().len());
    assert_eq!(env.groups(), truth);
    env.run("scan tree").ok();
    assert_eq!(env.groups(), truth, "and after a rescan");
}

#[test]
fn any_byte_comes_back_in_nul_ended_lists() {
    let env = scanned();
    let out = env.run("report --format fdupes -0").ok().stdout;
    let groups: BTreeSet<BTreeSet<_>> = split_groups(&out)
        .into_iter()
        .map(|group| {
            let paths = group.into_iter().map(|path| odd(&path));
            paths
                .map(|path| path.strip_prefix(env.path("")).unwrap().to_owned())
                .collect()
        })
        .collect();
    assert_eq!(groups, oracle::groups(&env.path(""), &["tree"]));
}

/// Paths that end in NUL, groups parted by one more.
fn split_groups(out: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut groups = vec![Vec::new()];
    for path in out.split(|&byte| byte == 0) {
        match path {
            [] => groups.push(Vec::new()),
            path => groups.last_mut().unwrap().push(path.to_vec()),
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[test]
fn control_characters_never_reach_people() {
    let env = scanned();
    env.file("tree/\u{1b}[2J\u{202e}evil", "e")
        .file("tree/plain", "e");
    env.file("tree/ev\nil2", "e2").file("tree/plain2", "e2");
    let scan = env.run("scan tree").ok();
    for run in [scan, env.run("report").ok(), env.run("status").ok()] {
        for bad in ['\u{1b}', '\u{202e}', '\u{7f}', '\u{9b}', '\r', '\u{7}'] {
            assert!(!run.out().contains(bad), "{bad:?} from {}", run.describe());
            assert!(!run.err().contains(bad), "{bad:?} from {}", run.describe());
        }
    }
}

#[test]
fn a_root_and_a_catalog_may_have_any_name() {
    let env = TestEnv::new();
    let root = odd(b"ro\xffot %2F?#'\" \n");
    env.file(root.join("a"), "x").file(root.join("b"), "x");
    env.use_db("data/cat % ?#'.db");
    env.run_args(["scan".as_ref(), root.as_os_str()]).ok();
    assert_eq!(
        env.groups(),
        [[root.join("a"), root.join("b")].into()].into()
    );
    env.run_args(["forget".as_ref(), root.as_os_str()]).ok();
    assert_eq!(env.groups().len(), 0);
}

#[test]
fn formulas_in_csv_are_neutralised() {
    let env = TestEnv::new();
    env.file("tree/=1+1", "x").file("tree/b", "x");
    let mut scan = env.command(["scan", "."]);
    scan.current_dir(env.path("tree"));
    env.finish(scan).ok();
    let out = env.run("report --format csv").ok().out();
    // Whole paths start with a slash, so that no cell is a formula.
    for cell in out.split([',', '\n']) {
        assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell}");
    }
}

#[test]
fn a_terminal_gets_no_control_character_of_a_name() {
    let env = scanned();
    env.file("tree/\u{1b}[2J\u{202e}evil", "e")
        .file("tree/plain", "e");
    env.run("scan tree").ok();
    for line in [
        "scan tree",
        "report",
        "report --format fdupes --links",
        "report --format csv",
        "report --format json",
    ] {
        let mut script = env.bare_command("script");
        let command = format!(
            "{} --db {} --color never -q {line}",
            env!("CARGO_BIN_EXE_dupescan"),
            env.db().display()
        );
        script.args(["-qec", &command, "/dev/null"]);
        script.stdin(std::process::Stdio::null());
        if std::process::Command::new("script")
            .arg("--version")
            .output()
            .is_err()
        {
            skip!("no `script` to make a terminal");
        }
        let run = env.finish(script).ok();
        for bad in ['\u{1b}', '\u{202e}', '\u{7f}', '\u{9b}', '\u{7}', '\u{8}'] {
            assert!(!run.out().contains(bad), "{bad:?} from {}", run.describe());
        }
        assert!(
            line == "scan tree" || run.out().contains("evil"),
            "{}",
            run.describe()
        );
    }
}

#[test]
fn what_reorders_or_hides_text_is_escaped_in_messages_and_tables() {
    let env = TestEnv::new();
    let name = "a\u{202e}b\u{200b}c\u{feff}d\u{2060}e\u{ad}f";
    env.file(format!("tree/{name}"), "same")
        .file("tree/b", "same");
    env.run("scan tree").ok();
    let shown = r"a\u{202e}b\u{200b}c\u{feff}d\u{2060}e\u{ad}f";
    env.run("report").ok().says(shown);
    let missing = env.run_args(["scan", name]).refused(2);
    assert!(missing.contains(shown), "{missing}");
    let wrong = env.run_args(["report", "--min-size", name]).refused(2);
    assert!(wrong.contains(shown), "{wrong}");
}
