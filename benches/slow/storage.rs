//! The storage that is measured on: images that hold a tree that grew, and mounts
//! that are as slow as a disk with a moving head or a server far away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::options::Options;

/// An emulated mount; unmounted when dropped.
pub(crate) struct Mounted {
    kind: &'static str,
    pub(crate) at: PathBuf,
}

impl Mounted {
    /// Mounts an image as if it were on a disk with a moving head.
    pub(crate) fn hard_disk(image: &Path, at: PathBuf) -> io::Result<Self> {
        Self::up("hdd", &[image], at, &[])
    }

    /// Shows a folder as a server this many microseconds away would.
    pub(crate) fn far(source: &Path, at: PathBuf, latency: u64) -> io::Result<Self> {
        Self::up("far", &[source], at, &[&latency.to_string()])
    }

    fn up(kind: &'static str, from: &[&Path], at: PathBuf, rest: &[&str]) -> io::Result<Self> {
        fs::create_dir_all(&at)?;
        let mut command = emulate();
        command.args([kind, "up"]).args(from).arg(&at).args(rest);
        // What stays behind must not hold the bench's own output open.
        let output = command.stdout(std::process::Stdio::null()).status()?;
        if !output.success() {
            return Err(io::Error::other(format!("cannot mount {}", at.display())));
        }
        Ok(Self { kind, at })
    }

    /// Seeks and megabytes since this was last asked.
    pub(crate) fn counted(&self) -> io::Result<(u64, u64)> {
        let output = emulate().args([self.kind, "stats"]).arg(&self.at).output();
        let text = String::from_utf8_lossy(&checked(output?)?.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse().ok()
        };
        Ok((after("seeks").unwrap_or(0), after("MB").unwrap_or(0)))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let down = emulate().args([self.kind, "down"]).arg(&self.at).status();
        if !down.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.at.display());
        }
    }
}

fn emulate() -> Command {
    Command::new(beside("emulate"))
}

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/slow")
        .join(name)
}

fn checked(output: Output) -> io::Result<Output> {
    match output.status.success() {
        true => Ok(output),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}

/// The image of an ext4 filesystem with a tree that grew; made at the first use.
pub(crate) fn image(options: &Options) -> io::Result<PathBuf> {
    let (photos, small) = options.tree();
    let name = format!("grown-{}-{photos}-{small}", options.seed);
    let (photos, small) = (photos.to_string(), small.to_string());
    image_of(options, &name, |at| {
        let mut grow = Command::new("python3");
        grow.arg(beside("grow.py")).arg(at.join("tree")).args([
            &options.seed.to_string(),
            &photos,
            &small,
        ]);
        grow
    })
}

/// The image of files in one folder, and of as many in two hundred.
pub(crate) fn folders_image(options: &Options) -> io::Result<PathBuf> {
    let files = match options.is_full {
        true => 6_000,
        false => 1_500,
    };
    let write = format!(
        "import os,sys\n\
         for i in range({files}):\n\
         \x20for name in (f'one/{{i}}', f'spread/{{i % 200}}/{{i}}'):\n\
         \x20\x20path = os.path.join(sys.argv[1], name)\n\
         \x20\x20os.makedirs(os.path.dirname(path), exist_ok=True)\n\
         \x20\x20open(path, 'wb').write((b'%d' % (i // 2)) * 900)\n"
    );
    image_of(options, &format!("folders-{files}"), |at| {
        let mut python = Command::new("python3");
        python.args(["-c", &write]).arg(at);
        python
    })
}

fn image_of(options: &Options, name: &str, fill: impl Fn(&Path) -> Command) -> io::Result<PathBuf> {
    fs::create_dir_all(&options.dir)?;
    let image = options.dir.join(format!("{name}.img"));
    if image.exists() {
        return Ok(image);
    }
    let unfinished = options.dir.join("unfinished.img");
    fs::File::create(&unfinished)?.set_len(12 << 30)?;
    checked(
        Command::new("mkfs.ext4")
            .args(["-q", "-F"])
            .arg(&unfinished)
            .output()?,
    )?;
    let mount = Plain::mount(&unfinished, options.dir.join("fill"), "loop")?;
    checked(fill(&mount.at).output()?)?;
    drop(mount);
    fs::rename(&unfinished, &image)?;
    Ok(image)
}

/// An image mounted as it is; unmounted when dropped.
pub(crate) struct Plain {
    pub(crate) at: PathBuf,
}

impl Plain {
    pub(crate) fn mount(image: &Path, at: PathBuf, how: &str) -> io::Result<Self> {
        fs::create_dir_all(&at)?;
        let mount = Command::new("mount")
            .args(["-o", how])
            .arg(image)
            .arg(&at)
            .output();
        checked(mount?)?;
        Ok(Self { at })
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.at).status());
    }
}
