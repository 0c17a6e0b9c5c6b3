//! Whether a device answers at all, asked at its topmost folder: this tells a
//! few bad files at the end of a stage from a device that died there.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use std::{fs, io, thread};

use crossbeam_channel::{bounded, select};

use crate::model::{Fault, Step};
use crate::pool::Shutdown;

/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The device works, or at least does not fail as a whole.
    Works,
    /// It fails as the paths on it do.
    Fails(Fault),
    /// Shutdown was requested first.
    Stopped,
}

/// Asks the device that `path` lies on. A call that hangs is abandoned with its
/// thread.
pub(crate) fn ask(path: &Path, shutdown: &Shutdown) -> Answer {
    let (sender, answer) = bounded(1);
    let path = path.to_owned();
    let asking = thread::Builder::new()
        .name("device-check".to_owned())
        .spawn(move || sender.send(list_top(&path)).ok());
    if asking.is_err() {
        return Answer::Works;
    }
    select! {
        recv(answer) -> answer => match answer {
            Ok(Err(error)) => judge(&error),
            _ => Answer::Works,
        },
        recv(shutdown.signal()) -> _ => Answer::Stopped,
        default(PATIENCE) => {
            Answer::Fails(Fault::timed_out(Step::OpenFolder, PATIENCE.as_secs()))
        }
    }
}

fn judge(error: &io::Error) -> Answer {
    let fault = Fault::from_io(Step::OpenFolder, error);
    if fault.is_device_like() {
        Answer::Fails(fault)
    } else {
        Answer::Works
    }
}

/// Reads an entry of the topmost folder on the device of `path`.
fn list_top(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let device = folder.metadata()?.dev();
    let is_on_it = |above: &&Path| above.metadata().is_ok_and(|found| found.dev() == device);
    let top = folder.ancestors().take_while(is_on_it).last();
    fs::read_dir(top.unwrap_or(folder))?
        .next()
        .transpose()
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_works_says_so_whatever_is_wrong_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["file", "no/such/folder"] {
            let answer = ask(&folder.path().join(path), &Shutdown::token());
            assert!(matches!(answer, Answer::Works), "{path}: {answer:?}");
        }
    }

    #[test]
    fn only_errors_of_devices_count_against_one() {
        let of = |errno: rustix::io::Errno| judge(&errno.into());
        assert!(matches!(of(rustix::io::Errno::IO), Answer::Fails(_)));
        assert!(matches!(of(rustix::io::Errno::ACCESS), Answer::Works));
    }
}
