//! Asking for the states of many entries of a folder on a far filesystem: threads
//! without an item help, so that one large folder takes no longer than many small
//! ones.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::model::FileName;
use crate::platform::{Dir, EntryKind, Links, RawEntry, Stat};
use crate::pool::{Errand, Shutdown, WorkerContext};
use crate::scan::devices::Disks;

/// Entries that one thread asks for at a time.
const AT_ONCE: usize = 4;
/// Fewer entries are asked for by one thread alone.
const FEW: usize = 4 * AT_ONCE;
/// Most threads that help.
const HELPERS: usize = 64;
/// How often whoever waits for answers looks for a stop.
const LOOK: Duration = Duration::from_millis(50);

/// What the system said of an entry.
pub(super) type Answer = io::Result<Stat>;

/// The questions of one folder, and the answers.
struct Questions {
    dir: Dir,
    names: Vec<Option<FileName>>,
    answers: Vec<OnceLock<Answer>>,
    next: AtomicUsize,
    answered: Mutex<usize>,
    all_answered: Condvar,
    disks: Arc<Disks>,
    shutdown: Shutdown,
}

/// Asks for the states of entries, where it is worth help; `None` for each that the
/// folder itself tells enough about, and for those that a stop cut off.
pub(super) fn ask_all(
    dir: &Dir,
    entries: &[RawEntry],
    disks: &Arc<Disks>,
    context: &WorkerContext,
) -> Vec<Option<Answer>> {
    let name = |entry: &RawEntry| match entry.kind_hint {
        Some(EntryKind::File) | None => Some(entry.name.clone()),
        Some(EntryKind::Folder | EntryKind::Link | EntryKind::Special) => None,
    };
    let names: Vec<_> = entries.iter().map(name).collect();
    let count = names.iter().flatten().count();
    // A handle of its own, because others may hold it a little longer.
    let own = dir.open_beneath([] as [&str; 0], Links::Refuse);
    let (true, Ok(dir)) = (count >= FEW, own) else {
        return Vec::new();
    };
    let questions = Arc::new(Questions {
        dir,
        answers: names.iter().map(|_| OnceLock::new()).collect(),
        names,
        next: AtomicUsize::new(0),
        answered: Mutex::default(),
        all_answered: Condvar::new(),
        disks: Arc::clone(disks),
        shutdown: context.shutdown().clone(),
    });
    let theirs = Arc::clone(&questions);
    let errand: Errand = Arc::new(move || theirs.ask(|| ()));
    context.ask_for_help(&errand, (count / AT_ONCE).min(HELPERS));
    questions.ask(|| context.progress(0));
    questions.wait(context);
    questions.take()
}

impl Questions {
    /// Asks what nobody has asked yet; each time something was answered is a sign of
    /// life.
    fn ask(&self, alive: impl Fn()) {
        loop {
            let first = self.next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let until = self.names.len().min(first.saturating_add(AT_ONCE));
            if first >= until {
                return;
            }
            let is_stopped = self.shutdown.is_stopped();
            let mut calls = 0;
            for (name, answer) in (self.names[first..until].iter()).zip(&self.answers[first..]) {
                if let Some(name) = name.as_ref().filter(|_| !is_stopped) {
                    answer.get_or_init(|| self.dir.stat_entry(name, Links::Refuse));
                    calls += 1;
                }
            }
            alive();
            self.disks.count_far(calls);
            let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            *answered += until - first;
            if *answered == self.names.len() {
                self.all_answered.notify_all();
            }
        }
    }

    /// Waits for what others asked. That a call hangs is noticed by the signs of life
    /// that do not come meanwhile.
    fn wait(&self, context: &WorkerContext) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        while *answered < self.names.len()
            && !context.shutdown().is_stopped()
            && !context.is_abandoned()
        {
            let waited = self.all_answered.wait_timeout(answered, LOOK);
            answered = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The answers that there are.
    fn take(self: Arc<Self>) -> Vec<Option<Answer>> {
        match Arc::try_unwrap(self) {
            Ok(all) => {
                let answers = all.answers.into_iter();
                answers.map(OnceLock::into_inner).collect()
            }
            // Somebody has not put it down yet, or hangs.
            Err(all) => all.answers.iter().map(copied).collect(),
        }
    }
}

fn copied(answer: &OnceLock<Answer>) -> Option<Answer> {
    let again = |error: &io::Error| match error.raw_os_error() {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => error.kind().into(),
    };
    let answer = answer.get()?;
    Some(answer.as_ref().map(|stat| *stat).map_err(again))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::IoMode;
    use crate::platform::Entries;
    use crate::pool::PoolMetrics;

    fn asked(files: usize, shutdown: &Shutdown) -> (Vec<RawEntry>, Vec<Option<Answer>>) {
        let folder = tempfile::tempdir().unwrap();
        for file in 0..files {
            fs::write(folder.path().join(file.to_string()), vec![0; file]).unwrap();
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        let mut dir = Dir::open_root(folder.path()).unwrap();
        let entries: Vec<_> = Entries::of(&mut dir).unwrap().map(Result::unwrap).collect();
        fs::remove_file(folder.path().join("3")).unwrap();
        let disks = Arc::new(Disks::new(IoMode::Auto));
        let context = WorkerContext::alone(shutdown.clone(), Arc::new(PoolMetrics::default()));
        let answers = ask_all(&dir, &entries, &disks, &context);
        (entries, answers)
    }

    #[test]
    fn every_file_is_asked_about_once_also_without_help() {
        let (entries, answers) = asked(100, &Shutdown::token());
        assert_eq!(entries.len(), answers.len());
        for (entry, answer) in entries.iter().zip(answers) {
            let name = entry.name.to_str().unwrap();
            match name.parse::<u64>() {
                Ok(3) => assert!(answer.unwrap().is_err()),
                Ok(size) => assert_eq!(answer.unwrap().unwrap().meta.size, size),
                Err(_) => assert!(answer.is_none(), "{name}"),
            }
        }
    }

    #[test]
    fn a_few_files_are_not_worth_help_and_a_stop_ends_it() {
        assert!(asked(5, &Shutdown::token()).1.is_empty());
        let shutdown = Shutdown::token();
        shutdown.stop();
        assert!(asked(100, &shutdown).1.iter().all(Option::is_none));
    }
}
