//! The pool's contract, from the outside. Items wait at a gate rather than
//! sleep; only to show that something does *not* happen, a short time passes.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::panics::lock;
use super::*;

const NOT_NOW: Duration = Duration::from_millis(20);
/// A generous bound, which makes a hang a failure.
const LONG: Duration = Duration::from_secs(30);

/// What a test item does.
#[derive(Debug)]
enum Task {
    /// Returns how many items its worker has seen.
    Count,
    /// Says that it began, then waits until the gate opens.
    Gate,
    Panic,
    /// Only holds something, like an item that waits in the queue.
    Hold(#[expect(dead_code, reason = "held, not read")] Arc<()>),
}

/// What a test worker keeps.
struct Hand {
    seen: usize,
    gate: Receiver<Infallible>,
    began: Sender<Began>,
}

struct Began {
    worker: usize,
    thread: Option<String>,
}

impl WorkItem for Task {
    type Worker = Hand;
    type Report = usize;

    fn label(&self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Panic => "panic",
            Self::Count | Self::Hold(_) => "count",
        }
    }

    fn run(&self, hand: &mut Hand, context: &WorkerContext) -> usize {
        hand.seen += 1;
        match self {
            Self::Count | Self::Hold(_) => context.progress(10),
            Self::Panic => panic!("as asked"),
            Self::Gate => {
                context.set_path(Path::new("/mnt/stuck/file"));
                let beginning = Began {
                    worker: context.worker(),
                    thread: thread::current().name().map(str::to_owned),
                };
                hand.began.send(beginning).unwrap();
                assert!(hand.gate.recv().is_err(), "the gate only ever disconnects");
            }
        }
        hand.seen
    }
}

struct Env {
    pool: Pool<Task>,
    done: Receiver<Done<Task>>,
    began: Receiver<Began>,
    gate: Sender<Infallible>,
    shutdown: Shutdown,
    metrics: Arc<PoolMetrics>,
}

impl Env {
    fn new(workers: usize, queue: usize) -> Self {
        Self::with_done((workers, 0), queue, unbounded())
    }

    fn with_done(
        (workers, reserve): (usize, usize),
        queue: usize,
        (done, results): (Sender<Done<Task>>, Receiver<Done<Task>>),
    ) -> Self {
        let shutdown = Shutdown::token();
        let metrics = Arc::new(PoolMetrics::default());
        let (gate, closed) = bounded(0);
        let (began, beginnings) = unbounded();
        let options = PoolOptions {
            workers,
            reserve,
            queue,
        };
        let pool = Pool::start(options, &shutdown, Arc::clone(&metrics), done, move || {
            Hand {
                seen: 0,
                gate: closed.clone(),
                began: began.clone(),
            }
        });
        Self {
            pool: pool.unwrap(),
            done: results,
            began: beginnings,
            gate,
            shutdown,
            metrics,
        }
    }

    fn submit(&self, task: Task) -> u64 {
        self.pool.submit(task).unwrap()
    }

    /// Submits an item that waits at the gate, and waits for it to be there.
    fn submit_running(&self) -> (u64, Began) {
        (self.submit(Task::Gate), soon(&self.began))
    }

    /// How many items wait in the queue.
    fn waiting(&self) -> u64 {
        let now = self.metrics.snapshot();
        now.queued - now.active - now.processed - now.failed
    }
}

/// The next message.
fn soon<M>(channel: &Receiver<M>) -> M {
    channel.recv_timeout(LONG).unwrap()
}

fn in_time() -> Instant {
    Instant::now() + LONG
}

#[test]
fn as_many_threads_take_items_as_are_admitted() {
    let env = Env::with_done((1, 2), 10, unbounded());
    assert_eq!(env.metrics.snapshot().threads, 3);
    for _ in 0..3 {
        env.submit(Task::Gate);
    }
    assert_eq!(soon(&env.began).worker, 1);
    assert_eq!(env.waiting(), 2, "one worker has one item");
    env.pool.admit(100);
    let others: BTreeSet<usize> = (0..2).map(|_| soon(&env.began).worker).collect();
    assert_eq!(others, BTreeSet::from([2, 3]));
    assert_eq!(env.metrics.snapshot().workers, 3, "there are no more");
    env.pool.admit(0);
    assert_eq!(env.metrics.snapshot().workers, 1, "one always works");
    let Env {
        pool, done, gate, ..
    } = env;
    drop(gate);
    for _ in 0..3 {
        soon(&done);
    }
    // Two have left, and one does it all.
    let count = || {
        pool.submit(Task::Count).unwrap();
        soon(&done).result.unwrap()
    };
    let seen: BTreeSet<usize> = (0..20).map(|_| count()).collect();
    assert_eq!(seen.len(), 20, "{seen:?}");
    assert_eq!(pool.wait(in_time()).abandoned, 0);
}

#[test]
fn idle_threads_help_with_an_errand_and_one_that_panics_does_no_harm() {
    let env = Env::new(3, 10);
    let (_, began) = env.submit_running();
    let context = WorkerContext::new(
        9,
        Shutdown::token(),
        Arc::clone(&env.metrics),
        env.pool.errands(),
    );
    let (helped, helpers) = unbounded();
    let errand: Errand = Arc::new(move || {
        helped
            .send(thread::current().name().map(str::to_owned))
            .unwrap();
        panic!("as asked");
    });
    context.ask_for_help(&errand, 2);
    for _ in 0..2 {
        assert_ne!(soon(&helpers), began.thread, "one has an item");
    }
    env.submit(Task::Count);
    soon(&env.done);
    let Env { pool, gate, .. } = env;
    drop(gate);
    let ended = pool.wait(in_time());
    assert_eq!((ended.abandoned, ended.errors.len()), (0, 0));
}

#[test]
fn as_many_workers_run_as_were_asked_for() {
    let env = Env::new(4, 10);
    for _ in 0..5 {
        env.submit(Task::Gate);
    }
    let began: Vec<Began> = (0..4).map(|_| soon(&env.began)).collect();
    let workers: BTreeSet<usize> = began.iter().map(|one| one.worker).collect();
    assert_eq!(workers, BTreeSet::from([1, 2, 3, 4]));
    for one in &began {
        let name = format!("dupescan-worker-{}", one.worker);
        assert_eq!(one.thread.as_deref(), Some(name.as_str()));
    }
    assert_eq!(env.waiting(), 1, "the fifth waits for a worker");
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 5);
}

#[test]
fn no_worker_is_an_error_in_plain_words() {
    let (done, _results) = unbounded::<Done<Task>>();
    let options = PoolOptions {
        workers: 0,
        reserve: 0,
        queue: 10,
    };
    let started = Pool::start(options, &Shutdown::token(), Arc::default(), done, || {
        unreachable!("no thread is started")
    });
    let error = started.err().unwrap();
    assert!(matches!(error, PoolError::NoWorkers));
    assert!(error.to_string().contains("at least one worker"), "{error}");
}

#[test]
fn submit_waits_while_the_queue_is_full() {
    let env = Env::new(1, 1);
    env.submit_running();
    env.submit(Task::Count);
    let (through, passed) = unbounded();
    thread::scope(|scope| {
        let (pool, gate) = (&env.pool, env.gate);
        scope.spawn(move || through.send(pool.submit(Task::Count)));
        assert!(passed.recv_timeout(NOT_NOW).is_err(), "submit did not wait");
        drop(gate);
        assert_eq!(soon(&passed).unwrap(), 3);
    });
    for _ in 0..3 {
        soon(&env.done);
    }
}

#[test]
fn submit_timeout_gives_the_item_back() {
    let env = Env::new(1, 1);
    env.submit_running();
    let submit = |timeout| env.pool.submit_timeout(Task::Count, timeout);
    submit(Duration::ZERO).expect("there is room for one");
    let refused = submit(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(refused, Refused::Full(Task::Count)), "{refused:?}");
    assert_eq!(env.metrics.snapshot().queued, 2);
    drop(env.gate);
}

#[test]
fn submit_timeout_is_woken_when_half_of_the_queue_is_taken() {
    let env = Env::new(1, 4);
    env.submit_running();
    for _ in 0..4 {
        env.submit(Task::Count);
    }
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let began = Instant::now();
            let submitted = env.pool.submit_timeout(Task::Count, LONG);
            (submitted.unwrap(), began.elapsed())
        });
        thread::sleep(NOT_NOW);
        assert!(!waiting.is_finished(), "it did not wait");
        drop(env.gate);
        let (id, waited) = waiting.join().unwrap();
        assert!(id == 6 && waited < LONG, "{id}, {waited:?}");
    });
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 6);
}

#[test]
fn a_stopped_pool_takes_nothing() {
    let env = Env::new(2, 10);
    env.pool.stop();
    env.pool.stop();
    assert!(!env.shutdown.is_stopped(), "others continue without it");
    let refused = env.pool.submit(Task::Count);
    assert!(matches!(refused, Err(Refused::Stopped(_))), "{refused:?}");
    let refused = env.pool.submit_timeout(Task::Count, LONG);
    assert!(matches!(refused, Err(Refused::Stopped(_))), "{refused:?}");
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
}

#[test]
fn shutdown_wakes_those_that_wait_for_room() {
    let env = Env::new(1, 1);
    env.submit_running();
    env.submit(Task::Count);
    let (through, passed) = unbounded();
    thread::scope(|scope| {
        let (pool, other) = (&env.pool, through.clone());
        scope.spawn(move || through.send(pool.submit(Task::Count)));
        scope.spawn(move || other.send(pool.submit_timeout(Task::Count, LONG)));
        assert!(passed.recv_timeout(NOT_NOW).is_err(), "submit did not wait");
        env.shutdown.stop();
        for _ in 0..2 {
            assert!(matches!(soon(&passed), Err(Refused::Stopped(_))));
        }
    });
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
}

#[test]
fn a_panic_fails_its_item_and_renews_the_worker() {
    let env = Env::new(1, 10);
    for task in [Task::Count, Task::Count, Task::Panic, Task::Count] {
        env.submit(task);
    }
    let results: Vec<_> = (0..4).map(|_| soon(&env.done).result).collect();
    assert_eq!(results[0].as_ref().unwrap(), &1);
    assert_eq!(results[1].as_ref().unwrap(), &2);
    let panicked = results[2].as_ref().unwrap_err();
    assert!(panicked.message.contains("as asked"), "{panicked}");
    assert!(panicked.backtrace.contains("run"), "the stack is there");
    assert_eq!(results[3].as_ref().unwrap(), &1, "a new worker starts over");

    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed), (3, 1));
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.errors.len(), 1);
    assert!(ended.errors[0].contains("item 3 (panic) panicked: as asked"));
}

#[test]
fn a_worker_that_cannot_be_made_fails_the_item_only() {
    let (done, results) = unbounded();
    let (_gate, closed) = bounded(0);
    let tries = AtomicU64::new(0);
    let options = PoolOptions {
        workers: 1,
        reserve: 0,
        queue: 10,
    };
    let pool = Pool::start(
        options,
        &Shutdown::token(),
        Arc::default(),
        done,
        move || {
            let earlier = tries.fetch_add(1, Ordering::Relaxed);
            assert!(earlier > 0, "no connection yet");
            Hand {
                seen: 0,
                gate: closed.clone(),
                began: unbounded().0,
            }
        },
    )
    .unwrap();
    pool.submit(Task::Count).unwrap();
    pool.submit(Task::Count).unwrap();
    assert!(soon(&results).result.is_err());
    assert_eq!(soon(&results).result.unwrap(), 1);
}

#[test]
fn errors_are_bounded() {
    let env = Env::new(1, 10);
    for _ in 0..150 {
        env.submit(Task::Panic);
        soon(&env.done);
    }
    assert_eq!(env.metrics.snapshot().failed, 150);
    assert_eq!(env.pool.wait(in_time()).errors.len(), 100);
}

#[test]
fn a_thousand_items_from_many_threads_are_done_once_each() {
    let env = Env::new(4, 12);
    let submitted: Mutex<BTreeSet<u64>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let id = env.submit(Task::Count);
                    assert!(lock(&submitted).insert(id), "an id was given twice");
                }
            });
        }
    });
    let ended = env.pool.wait(in_time());
    assert!(ended.errors.is_empty() && ended.abandoned == 0, "{ended:?}");
    let done: Vec<u64> = env.done.try_iter().map(|done| done.job.id).collect();
    assert_eq!(done.len(), 1_000);
    assert_eq!(done.into_iter().collect::<BTreeSet<_>>(), *lock(&submitted));

    let seen = env.metrics.snapshot();
    assert_eq!((seen.queued, seen.processed), (1_000, 1_000));
    assert_eq!((seen.failed, seen.active), (0, 0));
    assert!((1..=12).contains(&seen.queue_peak), "{}", seen.queue_peak);
}

#[test]
fn what_nobody_took_can_be_recalled() {
    let env = Env::new(1, 10);
    env.submit_running();
    env.submit(Task::Count);
    env.submit(Task::Panic);
    let recalled = env.pool.recall();
    assert!(matches!(recalled[..], [Task::Count, Task::Panic]));
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 1, "only the running item");
}

#[test]
fn stop_drops_what_is_queued() {
    let env = Env::new(1, 10);
    env.submit_running();
    for _ in 0..3 {
        env.submit(Task::Count);
    }
    env.pool.stop();
    drop(env.gate);
    let ended = env.pool.wait(in_time());
    assert!(ended.errors.is_empty() && ended.abandoned == 0, "{ended:?}");
    assert_eq!(env.done.try_iter().count(), 1, "only the running item");
}

#[test]
fn wait_without_stop_works_off_the_queue() {
    let env = Env::new(2, 100);
    for _ in 0..100 {
        env.submit(Task::Count);
    }
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 100);
}

#[test]
fn wait_abandons_hanging_workers_at_the_deadline() {
    let env = Env::new(2, 10);
    let held = Arc::new(());
    env.submit_running();
    let (second, began) = env.submit_running();
    env.submit(Task::Hold(Arc::clone(&held)));
    env.pool.stop();
    let begin = Instant::now();
    let ended = env.pool.wait(begin + NOT_NOW);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(ended.abandoned, 2);
    let line = format!(
        "worker {} was abandoned in item {second} (gate)",
        began.worker
    );
    assert!(ended.errors.iter().any(|error| error.starts_with(&line)));
    assert!(ended.errors[0].ends_with("/mnt/stuck/file"), "{ended:?}");
    assert_eq!(Arc::strong_count(&held), 1, "queued items were dropped");

    drop(env.gate);
    let late = env.done.recv_timeout(LONG);
    assert_eq!(late.err(), Some(RecvTimeoutError::Disconnected));
}

#[test]
fn only_the_hanging_worker_is_abandoned() {
    let env = Env::new(3, 10);
    env.submit_running();
    env.submit(Task::Count);
    soon(&env.done);
    env.pool.stop();
    // Long enough for the idle workers to leave, even on a loaded machine.
    let ended = env.pool.wait(Instant::now() + Duration::from_millis(500));
    assert_eq!((ended.abandoned, ended.errors.len()), (1, 1), "{ended:?}");
    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.abandoned, seen.active), (1, 1, 0));
    drop(env.gate);
}

#[test]
fn a_worker_does_not_insist_on_reporting() {
    let env = Env::with_done((1, 0), 10, bounded(0));
    env.submit(Task::Count);
    while env.metrics.snapshot().processed == 0 {
        thread::yield_now();
    }
    env.pool.stop();
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
}

#[test]
fn the_pool_stops_when_nobody_listens() {
    let Env { pool, done, .. } = Env::new(1, 1);
    drop(done);
    while pool.submit(Task::Count).is_ok() {}
    assert_eq!(pool.wait(in_time()).abandoned, 0);
}

#[test]
fn dropping_the_pool_stops_it() {
    let Env { pool, done, .. } = Env::new(2, 1);
    drop(pool);
    let end = done.recv_timeout(LONG);
    assert_eq!(end.err(), Some(RecvTimeoutError::Disconnected));
}

#[test]
fn stalled_names_the_hanging_item() {
    let env = Env::new(2, 10);
    let (hanging, began) = env.submit_running();
    assert_eq!(env.pool.stalled(Duration::from_secs(3600)), []);
    let stalled = env.pool.stalled(Duration::ZERO);
    assert_eq!(stalled.len(), 1, "the idle worker is not stalled");
    assert_eq!(stalled[0].worker, began.worker);
    assert_eq!((stalled[0].job_id, stalled[0].label), (hanging, "gate"));
    assert_eq!(stalled[0].path, Path::new("/mnt/stuck/file"));
    drop(env.gate);
    soon(&env.done);
    assert_eq!(env.pool.stalled(Duration::ZERO), []);
}

#[test]
fn abandon_hands_the_item_back_and_starts_a_replacement() {
    let env = Env::new(1, 10);
    let (stuck, _) = env.submit_running();
    let abandon = |job| env.pool.abandon(job, Duration::ZERO);
    assert!(abandon(stuck + 1).is_none(), "not running");
    let abandoned = abandon(stuck).unwrap();
    assert_eq!((abandoned.worker, abandoned.job.id), (1, stuck));
    assert!(matches!(abandoned.job.item, Task::Gate));
    assert_eq!(abandoned.path, Path::new("/mnt/stuck/file"));
    assert!(abandon(stuck).is_none(), "already abandoned");

    let (next, began) = env.submit_running();
    assert_eq!(began.worker, 2, "the replacement took it");
    drop(env.gate);
    assert_eq!(soon(&env.done).job.id, next);
    let ended = env.pool.wait(in_time());
    assert_eq!((ended.abandoned, ended.errors.len()), (1, 1), "{ended:?}");
    // The channel disconnects only when the stuck thread has left, too.
    let late = env.done.recv_timeout(LONG);
    assert_eq!(late.err(), Some(RecvTimeoutError::Disconnected));
    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed, seen.abandoned), (1, 1, 1));
    assert_eq!(seen.active, 0);
}

#[test]
fn a_pool_whose_workers_are_all_stuck_stops() {
    let env = Env::new(1, 10);
    let abandon = |job| env.pool.abandon(job, Duration::ZERO).is_some();
    for _ in 0..Pool::<Task>::MAX_REPLACEMENTS {
        assert!(abandon(env.submit_running().0));
    }
    let (last, _) = env.submit_running();
    env.submit(Task::Count);
    assert!(abandon(last));
    let refused = env.pool.submit(Task::Count);
    assert!(matches!(refused, Err(Refused::Stopped(_))));
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.abandoned, 65);
    let mut errors = ended.errors.iter();
    assert!(errors.any(|error| error.contains("every worker")));
    drop(env.gate);
}

#[test]
fn the_metrics_say_what_happened() {
    let env = Env::new(2, 10);
    let (first, second) = (env.submit_running().1, env.submit_running().1);
    assert_ne!(first.worker, second.worker);
    for _ in 0..3 {
        env.submit(Task::Count);
    }
    env.submit(Task::Panic);
    let seen = env.metrics.snapshot();
    assert_eq!((seen.workers, seen.active), (2, 2));
    assert_eq!((seen.queued, seen.processed, seen.queue_peak), (6, 0, 4));

    drop(env.gate);
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.errors.len(), 1);
    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed, seen.active), (5, 1, 0));
    assert_eq!(seen.progress, 30);
    let count = |label| seen.durations(label).histogram.iter().sum::<u64>();
    assert_eq!(["gate", "count", "panic"].map(count), [2, 3, 1]);
    assert!(seen.durations("gate").total > Duration::ZERO);
    let share = seen.utilisation(Duration::from_secs(3600));
    assert!(share > 0.0 && share <= 1.0, "{share}");
}

#[test]
fn the_metrics_name_a_path_that_a_worker_is_at() {
    let env = Env::new(1, 10);
    assert_eq!(env.metrics.current_path(), Path::new(""));
    env.submit_running();
    assert_eq!(env.metrics.current_path(), Path::new("/mnt/stuck/file"));
    drop(env.gate);
}
