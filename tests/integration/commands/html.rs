//! `dupescan report --format html` as a file: whole, closed to the network,
//! and exact. What it does in a browser is tested by `tests/browser/run`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::env::oracle;
use crate::env::report_json::Copies;
use crate::env::{TestEnv, odd, skip};

/// Names that try to become markup, script, or what a terminal obeys.
const HOSTILE: [&[u8]; 7] = [
    b"<img src=x onerror=alert(1)>",
    b"<!--<script>&amp;",
    b"\"' onmouseover='alert(2)' `${alert(3)}`",
    b"back\\slash \\x41 \\u{41}",
    "\u{1b}[2J\u{202e}gpj.exe\u{2028}".as_bytes(),
    b"two\nlines",
    b"latin-\xe9\xff",
];

fn hostile() -> TestEnv {
    let env = TestEnv::new();
    for (number, name) in HOSTILE.iter().enumerate() {
        let content = format!("content {number}");
        env.file(odd(&[b"tree/", *name].concat()), &content);
        env.file(odd(&[b"other/", *name, b"/copy"].concat()), &content);
    }
    env.file("tree/</script><script>alert(4)</script>/a", "x")
        .file("other/plain", "x");
    env.hard_link("other/plain", odd(b"other/\xfe\xff link"));
    env.run("scan tree other").ok();
    env
}

fn page(env: &TestEnv, options: &str) -> String {
    env.run(&format!("report --format html {options}"))
        .ok()
        .out()
}

/// The text between two marks that occur once.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap();
    assert!(!rest.contains(start), "{start} occurs twice");
    rest.split_once(end).unwrap().0
}

fn data(page: &str, id: &str) -> Value {
    serde_json::from_str(between(page, &format!(" id=\"{id}\">"), "</script>")).unwrap()
}

/// Every name of every copy in the page, as exact bytes below `base`.
fn copies(page: &str, env: &TestEnv) -> Copies {
    let mut folders = vec![String::new()];
    let mut groups = Copies::new();
    let blocks = page.split("class=\"groups-data\">").skip(1);
    for block in blocks.map(|text| text.split("</script>").next().unwrap()) {
        for group in serde_json::from_str::<Vec<Vec<Value>>>(block).unwrap() {
            let list = |field: usize| {
                group
                    .get(field)
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default()
            };
            for folder in list(5).chunks(2) {
                let parent = &folders[index(&folder[0])];
                folders.push(format!("{parent}/{}", folder[1].as_str().unwrap()));
            }
            let path = |folder: &Value, name: &Value| {
                let text = format!("{}/{}", folders[index(folder)], name.as_str().unwrap());
                unescaped(&text)
                    .strip_prefix(env.path(""))
                    .unwrap()
                    .to_owned()
            };
            let mut names: Vec<BTreeSet<PathBuf>> = list(4)
                .chunks(3)
                .map(|copy| [path(&copy[0], &copy[1])].into())
                .collect();
            for link in list(6).chunks(3) {
                names[index(&link[0])].insert(path(&link[1], &link[2]));
            }
            groups.insert(names.into_iter().collect());
        }
    }
    groups
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// The bytes behind an escaped path, read as the documentation says.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            bytes.extend(character.to_string().bytes());
            continue;
        }
        match characters.next().unwrap() {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'x' => {
                let digits: String = characters.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            'u' => {
                let digits: String = characters
                    .by_ref()
                    .skip(1)
                    .take_while(|&c| c != '}')
                    .collect();
                let code = u32::from_str_radix(&digits, 16).unwrap();
                bytes.extend(char::from_u32(code).unwrap().to_string().bytes());
            }
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

#[test]
fn the_policy_allows_the_page_s_own_script_and_style_and_nothing_else() {
    let page = page(&hostile(), "");
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let script = hash(between(&page, "<script>", "</script>"));
    let style = hash(between(&page, "<style>", "</style>"));
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src {script}; style-src {style}; \
             base-uri 'none'; form-action 'none'"
        )
    );
}

#[test]
fn the_page_asks_no_one_for_anything() {
    let page = page(&hostile(), "");
    let (front, _) = page.split_once("id=\"header-data\"").unwrap();
    for word in [
        " src=",
        "url(",
        "@import",
        "<link",
        "<iframe",
        "<base",
        "fetch(",
        "XMLHttpRequest",
        "://",
    ] {
        assert!(!front.contains(word), "{word}");
    }
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</body>\n</html>\n"));
}

#[test]
fn names_stay_data_and_come_back_exactly() {
    let env = hostile();
    let page = page(&env, "");
    let truth = oracle::copies(&env.path(""), &["tree", "other"]);
    assert_eq!(truth.len(), HOSTILE.len() + 1);
    assert_eq!(copies(&page, &env), truth);
    // Every tag after the page's own is one that holds data.
    let (_, data) = page.split_once("<p id=\"said\"").unwrap();
    let tags = data.matches('<').count();
    let own = data.matches("<script type=\"application/json\"").count();
    assert_eq!((own, tags), (3, 1 + 2 * own + 2), "{data}");
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'));
    assert!(!page.contains(['\u{202e}', '\u{2028}']));
}

#[test]
fn sums_and_scan_are_those_of_the_other_formats() {
    let env = hostile();
    for options in ["", "--limit 3", "--across --min-size 2"] {
        let page = page(&env, options);
        assert_eq!(
            data(&page, "totals-data"),
            env.report(options)["totals"],
            "{options}"
        );
        let table = env.run(&format!("report {options}")).ok().out();
        let as_of = table.lines().last().unwrap();
        assert_eq!(data(&page, "header-data")["as_of"], as_of, "{options}");
    }
    assert_eq!(copies(&page(&env, "--limit 3"), &env).len(), 3);
}

#[test]
fn a_file_gets_what_standard_output_gets() {
    let env = hostile();
    env.run("report --format html --output dupes.html")
        .ok()
        .without_complaint();
    let written = std::fs::read_to_string(env.path("dupes.html")).unwrap();
    let printed = page(&env, "");
    let timeless = |page: &str| {
        page.replace(
            data(page, "header-data")["generated_at"].as_str().unwrap(),
            "",
        )
    };
    assert_eq!(timeless(&written), timeless(&printed));
}

#[test]
fn a_terminal_is_refused() {
    if Command::new("script").arg("--version").output().is_err() {
        skip!("no `script` to make a terminal");
    }
    let env = hostile();
    let mut script = env.bare_command("script");
    let program = env!("CARGO_BIN_EXE_dupescan");
    let command = format!("{program} --db {} report --format html", env.db().display());
    script
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null());
    env.finish(script)
        .code(2)
        .says("--output dupes.html")
        .keeps_quiet_about("<html");
}
