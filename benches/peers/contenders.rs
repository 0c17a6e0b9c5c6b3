//! The programs that are compared, and how each is called at its best: data
//! only. `{tree}` is the tree, `{state}` a folder of the contender's own (its
//! home, its caches, its output), `{cores}` the number of cores, `{twice}` two
//! times that.

use super::output::Format;

/// One way to call one program.
pub(crate) struct Contender {
    /// Its name in tables and for `--contenders`.
    pub(crate) label: &'static str,
    /// The program; `None` is dupescan as built with this bench.
    pub(crate) program: Option<&'static str>,
    /// How the first scan is called.
    pub(crate) arguments: &'static [&'static str],
    /// How a rescan is called, where it remembers anything.
    pub(crate) cached: Option<&'static [&'static str]>,
    /// Where the groups are found afterwards.
    pub(crate) groups: Groups,
}

/// Where a contender leaves the groups it found.
pub(crate) enum Groups {
    /// On its standard output.
    Stdout(Format),
    /// In a file in its state folder.
    File(&'static str, Format),
    /// What this further call of it prints.
    Asked(&'static [&'static str], Format),
    /// It does not find groups of whole files.
    Incomparable,
}

impl Contender {
    /// Whether this is dupescan.
    pub(crate) fn is_own(&self) -> bool {
        self.program.is_none()
    }

    /// The name of its state folder.
    pub(crate) fn slug(&self) -> String {
        self.label
            .replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }
}

const ASK_DUPESCAN: Groups = Groups::Asked(
    &[
        "report",
        "--db",
        "{state}/catalog.db",
        "--format",
        "fdupes",
        "--null",
    ],
    Format::NulBlocks,
);

/// All of them. Options that only make programs look at the same files:
/// hidden and ignored ones too, from one byte on.
pub(crate) const CONTENDERS: &[Contender] = &[
    Contender {
        label: "dupescan sha256",
        program: None,
        arguments: &[
            "scan",
            "--db",
            "{state}/catalog.db",
            "--hash",
            "sha256",
            "{tree}",
        ],
        cached: Some(&[
            "scan",
            "--db",
            "{state}/catalog.db",
            "--hash",
            "sha256",
            "{tree}",
        ]),
        groups: ASK_DUPESCAN,
    },
    Contender {
        label: "dupescan blake3",
        program: None,
        arguments: &[
            "scan",
            "--db",
            "{state}/catalog.db",
            "--hash",
            "blake3",
            "{tree}",
        ],
        cached: Some(&[
            "scan",
            "--db",
            "{state}/catalog.db",
            "--hash",
            "blake3",
            "{tree}",
        ]),
        groups: ASK_DUPESCAN,
    },
    Contender {
        label: "fclones",
        program: Some("fclones"),
        arguments: &["group", "-.", "-A", "-f", "json", "{tree}"],
        cached: Some(&["group", "-.", "-A", "-f", "json", "--cache", "{tree}"]),
        groups: Groups::Stdout(Format::FclonesJson),
    },
    Contender {
        label: "fclones with a thread a core",
        program: Some("fclones"),
        arguments: &[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "-t",
            "main:{cores}",
            "-t",
            "default:{cores}",
            "{tree}",
        ],
        cached: Some(&[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "-t",
            "main:{cores}",
            "-t",
            "default:{cores}",
            "--cache",
            "{tree}",
        ]),
        groups: Groups::Stdout(Format::FclonesJson),
    },
    Contender {
        label: "fclones with two threads a core",
        program: Some("fclones"),
        arguments: &[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "-t",
            "main:{twice}",
            "-t",
            "default:{twice}",
            "{tree}",
        ],
        cached: Some(&[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "-t",
            "main:{twice}",
            "-t",
            "default:{twice}",
            "--cache",
            "{tree}",
        ]),
        groups: Groups::Stdout(Format::FclonesJson),
    },
    Contender {
        label: "fclones sha256 with a thread a core",
        program: Some("fclones"),
        arguments: &[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "--hash-fn",
            "sha256",
            "-t",
            "main:{cores}",
            "-t",
            "default:{cores}",
            "{tree}",
        ],
        cached: Some(&[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "--hash-fn",
            "sha256",
            "-t",
            "main:{cores}",
            "-t",
            "default:{cores}",
            "--cache",
            "{tree}",
        ]),
        groups: Groups::Stdout(Format::FclonesJson),
    },
    Contender {
        label: "fclones sha256 with two threads a core",
        program: Some("fclones"),
        arguments: &[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "--hash-fn",
            "sha256",
            "-t",
            "main:{twice}",
            "-t",
            "default:{twice}",
            "{tree}",
        ],
        cached: Some(&[
            "group",
            "-.",
            "-A",
            "-f",
            "json",
            "--hash-fn",
            "sha256",
            "-t",
            "main:{twice}",
            "-t",
            "default:{twice}",
            "--cache",
            "{tree}",
        ]),
        groups: Groups::Stdout(Format::FclonesJson),
    },
    Contender {
        label: "yadf",
        program: Some("yadf"),
        arguments: &["-n", "-f", "json", "{tree}"],
        cached: None,
        groups: Groups::Stdout(Format::YadfJson),
    },
    Contender {
        label: "jdupes",
        program: Some("jdupes"),
        arguments: &["-r", "-q", "{tree}"],
        cached: None,
        groups: Groups::Stdout(Format::LineBlocks),
    },
    Contender {
        label: "jdupes -Q (trusts its 64-bit hash)",
        program: Some("jdupes"),
        arguments: &["-r", "-q", "-Q", "{tree}"],
        cached: None,
        groups: Groups::Stdout(Format::LineBlocks),
    },
    Contender {
        label: "czkawka_cli",
        program: Some("czkawka_cli"),
        // -W: it would exit with 11 because it found something.
        arguments: &[
            "dup",
            "-d",
            "{tree}",
            "-m",
            "1",
            "-N",
            "-W",
            "-H",
            "-C",
            "{state}/groups.json",
        ],
        // Without the minimum sizes its cache skips small files.
        cached: Some(&[
            "dup",
            "-d",
            "{tree}",
            "-m",
            "1",
            "-N",
            "-W",
            "-u",
            "-Z",
            "1",
            "-c",
            "1",
            "-C",
            "{state}/groups.json",
        ]),
        groups: Groups::File("groups.json", Format::CzkawkaJson),
    },
    Contender {
        label: "czkawka_cli with XXH3",
        program: Some("czkawka_cli"),
        // -W: it would exit with 11 because it found something.
        arguments: &[
            "dup",
            "-d",
            "{tree}",
            "-m",
            "1",
            "-N",
            "-W",
            "-t",
            "XXH3",
            "-H",
            "-C",
            "{state}/groups.json",
        ],
        // Without the minimum sizes its cache skips small files.
        cached: Some(&[
            "dup",
            "-d",
            "{tree}",
            "-m",
            "1",
            "-N",
            "-W",
            "-t",
            "XXH3",
            "-u",
            "-Z",
            "1",
            "-c",
            "1",
            "-C",
            "{state}/groups.json",
        ]),
        groups: Groups::File("groups.json", Format::CzkawkaJson),
    },
    Contender {
        label: "rmlint",
        program: Some("rmlint"),
        arguments: &[
            "-T",
            "df",
            "-r",
            "-s",
            "1",
            "-o",
            "json:{state}/groups.json",
            "-VVV",
            "{tree}",
        ],
        // Its only cache writes into the scanned files' attributes, which
        // moves their ctime and spoils the rescans of all others.
        cached: None,
        groups: Groups::File("groups.json", Format::RmlintJson),
    },
    Contender {
        label: "rdfind",
        program: Some("rdfind"),
        arguments: &[
            "-dryrun",
            "true",
            "-outputname",
            "{state}/results.txt",
            "{tree}",
        ],
        cached: None,
        groups: Groups::File("results.txt", Format::RdfindResults),
    },
    Contender {
        label: "fdupes",
        program: Some("fdupes"),
        arguments: &["-r", "-q", "-n", "{tree}"],
        cached: None,
        groups: Groups::Stdout(Format::LineBlocks),
    },
    Contender {
        label: "duperemove (blocks, not files)",
        program: Some("duperemove"),
        arguments: &["-r", "-q", "{tree}"],
        cached: Some(&["-r", "-q", "--hashfile={state}/hashes.db", "{tree}"]),
        groups: Groups::Incomparable,
    },
];
