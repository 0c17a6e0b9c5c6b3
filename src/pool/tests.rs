//! The pool from the outside. Items wait at a gate rather than sleep; only to
//! show that something does *not* happen is a short time let pass.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, RecvTimeoutError, select, unbounded};

use super::*;

const NOT_NOW: Duration = Duration::from_millis(20);

/// What a test item does.
#[derive(Debug)]
enum Task {
    /// Returns how many items its worker's state has seen.
    Count,
    /// Says that it began, then waits until the gate opens.
    Gate,
    Panic,
    /// Only holds something, like an item that waits in the queue.
    Hold(#[expect(dead_code, reason = "held, not read")] Arc<()>),
}

struct Env {
    pool: Pool<Task, usize>,
    done: Receiver<Done<Task, usize>>,
    began: Receiver<Began>,
    gate: Sender<Infallible>,
    shutdown: Shutdown,
    metrics: Arc<Metrics>,
}

struct Began {
    worker: usize,
    job: u64,
    thread: Option<String>,
}

impl Env {
    fn new(workers: usize, queue_per_worker: usize) -> Self {
        let (done, results) = unbounded();
        Self::with_done(workers, queue_per_worker, done, results)
    }

    fn with_done(
        workers: usize,
        queue_per_worker: usize,
        done: Sender<Done<Task, usize>>,
        results: Receiver<Done<Task, usize>>,
    ) -> Self {
        let shutdown = Shutdown::token();
        let metrics = Arc::new(Metrics::new());
        let (gate, closed) = bounded(0);
        let (began, beginnings) = unbounded();
        let limits = limits(workers, queue_per_worker);
        let pool = Pool::start(&limits, &shutdown, Arc::clone(&metrics), done, move |_| {
            let (closed, began) = (closed.clone(), began.clone());
            let mut seen = 0;
            move |job: &Job<Task>, context: &WorkerContext| {
                seen += 1;
                perform(job, context, &closed, &began);
                seen
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
        self.pool.submit(ItemKind::List, task).unwrap()
    }

    /// Submits an item that waits at the gate, and waits for it to be there.
    fn submit_running(&self) -> Began {
        self.submit(Task::Gate);
        soon(&self.began)
    }
}

fn limits(workers: usize, queue_per_worker: usize) -> Limits {
    Limits {
        workers,
        queue_per_worker,
        ..Limits::default()
    }
}

fn perform(
    job: &Job<Task>,
    context: &WorkerContext,
    closed: &Receiver<Infallible>,
    began: &Sender<Began>,
) {
    match job.item {
        Task::Count | Task::Hold(_) => context.progress(10),
        Task::Panic => panic!("as asked"),
        Task::Gate => {
            context.set_path(Path::new("/mnt/stuck/file"));
            let beginning = Began {
                worker: context.worker(),
                job: job.id,
                thread: thread::current().name().map(str::to_owned),
            };
            began.send(beginning).unwrap();
            assert!(closed.recv().is_err(), "the gate only ever disconnects");
        }
    }
}

/// The next message; a generous bound makes a hang a failure.
fn soon<M>(channel: &Receiver<M>) -> M {
    channel.recv_timeout(Duration::from_secs(30)).unwrap()
}

fn in_time() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

#[test]
fn further_workers_take_what_waits() {
    let env = Env::new(1, 10);
    for _ in 0..3 {
        env.submit(Task::Gate);
    }
    assert_eq!(soon(&env.began).worker, 1);
    assert_eq!(env.pool.queue().len(), 2, "one worker has one item");
    env.pool.enlarge(2);
    let others: BTreeSet<usize> = (0..2).map(|_| soon(&env.began).worker).collect();
    assert_eq!(others, BTreeSet::from([2, 3]));
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 3);
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
    assert_eq!(env.pool.queue().len(), 1, "the fifth waits for a worker");
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 5);
}

#[test]
fn no_worker_is_an_error_in_plain_words() {
    let (done, _results) = unbounded::<Done<(), ()>>();
    let error = Pool::start(
        &limits(0, 10),
        &Shutdown::token(),
        Arc::new(Metrics::new()),
        done,
        |_| |_: &Job<()>, _: &WorkerContext| (),
    )
    .err()
    .unwrap();
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
        scope.spawn(move || through.send(pool.submit(ItemKind::List, Task::Count)));
        assert!(passed.recv_timeout(NOT_NOW).is_err(), "submit did not wait");
        drop(gate);
        assert_eq!(soon(&passed).unwrap(), 3);
    });
    for _ in 0..3 {
        soon(&env.done);
    }
}

#[test]
fn a_full_queue_times_out() {
    let env = Env::new(1, 1);
    env.submit_running();
    let kind = ItemKind::Hash;
    let submit = |timeout| env.pool.submit_timeout(kind, Task::Count, timeout);
    submit(Duration::ZERO).expect("there is room for one");
    let error = submit(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(error, PoolError::QueueFull { .. }), "{error}");
    assert_eq!(env.metrics.snapshot().queued, 2);
    drop(env.gate);
}

#[test]
fn a_stopped_pool_takes_nothing() {
    let env = Env::new(2, 10);
    env.pool.stop();
    env.pool.stop();
    assert!(!env.shutdown.is_stopped(), "the scan goes on without it");
    let kind = ItemKind::List;
    let refused = env.pool.submit(kind, Task::Count);
    assert!(matches!(refused, Err(PoolError::Stopped)), "{refused:?}");
    let refused = env.pool.submit_timeout(kind, Task::Count, NOT_NOW);
    assert!(matches!(refused, Err(PoolError::Stopped)), "{refused:?}");
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
}

#[test]
fn the_scans_shutdown_wakes_a_waiting_submit() {
    let env = Env::new(1, 1);
    env.submit_running();
    env.submit(Task::Count);
    let (through, passed) = unbounded();
    thread::scope(|scope| {
        let pool = &env.pool;
        scope.spawn(move || through.send(pool.submit(ItemKind::List, Task::Count)));
        assert!(passed.recv_timeout(NOT_NOW).is_err(), "submit did not wait");
        env.shutdown.stop();
        assert!(matches!(soon(&passed), Err(PoolError::Stopped)));
    });
    drop(env.gate);
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
}

#[test]
fn a_panic_fails_its_item_and_renews_the_workers_state() {
    let env = Env::new(1, 10);
    for task in [Task::Count, Task::Count, Task::Panic, Task::Count] {
        env.submit(task);
    }
    let results: Vec<_> = (0..4).map(|_| soon(&env.done).result).collect();
    assert_eq!(results[0].as_ref().unwrap(), &1);
    assert_eq!(results[1].as_ref().unwrap(), &2);
    let panicked = results[2].as_ref().unwrap_err();
    assert!(panicked.message.contains("as asked"), "{panicked}");
    assert!(panicked.backtrace.contains("perform"), "the stack is there");
    assert_eq!(results[3].as_ref().unwrap(), &1, "a new state counts anew");

    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed), (3, 1));
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.errors.len(), 1);
    assert!(ended.errors[0].contains("item 3 (list) panicked: as asked"));
}

#[test]
fn a_state_that_cannot_be_made_fails_the_item_only() {
    let (done, results) = unbounded();
    let tries = AtomicU64::new(0);
    let pool = Pool::start(
        &limits(1, 10),
        &Shutdown::token(),
        Arc::new(Metrics::new()),
        done,
        move |_| {
            let earlier = tries.fetch_add(1, Ordering::Relaxed);
            assert!(earlier > 0, "no connection yet");
            |job: &Job<u32>, _: &WorkerContext| job.item
        },
    )
    .unwrap();
    pool.submit(ItemKind::Probe, 1).unwrap();
    pool.submit(ItemKind::Probe, 2).unwrap();
    assert!(soon(&results).result.is_err());
    assert_eq!(soon(&results).result.unwrap(), 2);
}

#[test]
fn errors_are_bounded() {
    let env = Env::new(1, 10);
    for number in 0..150 {
        env.pool.shared.note_error(number.to_string());
    }
    assert_eq!(env.pool.wait(in_time()).errors.len(), 100);
}

#[test]
fn a_thousand_items_from_many_threads_are_done_once_each() {
    let env = Env::new(4, 3);
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
fn the_orchestrator_sends_in_a_select() {
    let env = Env::new(2, 1);
    let mut waiting: Vec<Task> = (0..50).map(|_| Task::Count).collect();
    let mut results = 0;
    let mut next = waiting.pop().map(|task| env.pool.job(ItemKind::List, task));
    // Nobody receives from it, so that sending to it is never ready.
    let (closed, _receiver) = bounded(0);
    while results < 50 {
        let queue = if next.is_some() {
            env.pool.queue()
        } else {
            &closed
        };
        select! {
            send(queue, next.take().unwrap()) -> sent => {
                sent.unwrap();
                env.pool.note_queued();
                next = waiting.pop().map(|task| env.pool.job(ItemKind::List, task));
            }
            recv(env.done) -> done => {
                done.unwrap();
                results += 1;
            }
            default(Duration::from_secs(30)) => panic!("the pool hangs"),
        }
    }
    assert_eq!(env.metrics.snapshot().queued, 50);
}

#[test]
fn stop_leaves_what_is_queued() {
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
    let env = Env::new(2, 50);
    for _ in 0..100 {
        env.submit(Task::Count);
    }
    assert_eq!(env.pool.wait(in_time()).abandoned, 0);
    assert_eq!(env.done.try_iter().count(), 100);
}

#[test]
fn wait_leaves_hanging_workers_at_the_deadline() {
    let env = Env::new(2, 10);
    let held = Arc::new(());
    env.submit_running();
    let second = env.submit_running();
    env.submit(Task::Hold(Arc::clone(&held)));
    env.pool.stop();
    let begin = Instant::now();
    let ended = env.pool.wait(begin + NOT_NOW);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(ended.abandoned, 2);
    let line = format!("worker {} was abandoned in item 2 (list)", second.worker);
    assert!(ended.errors.iter().any(|error| error.starts_with(&line)));
    assert!(ended.errors[0].ends_with("/mnt/stuck/file"), "{ended:?}");
    assert_eq!(Arc::strong_count(&held), 1, "queued items were dropped");

    drop(env.gate);
    let late = env.done.recv_timeout(Duration::from_secs(30));
    assert_eq!(late.err(), Some(RecvTimeoutError::Disconnected));
}

#[test]
fn only_the_hanging_worker_is_left_behind() {
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
    let (done, results) = bounded(0);
    let env = Env::with_done(1, 10, done, results);
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
    while pool.submit(ItemKind::List, Task::Count).is_ok() {}
    assert_eq!(pool.wait(in_time()).abandoned, 0);
}

#[test]
fn dropping_the_pool_stops_it() {
    let Env { pool, done, .. } = Env::new(2, 1);
    drop(pool);
    let end = done.recv_timeout(Duration::from_secs(30));
    assert_eq!(end.err(), Some(RecvTimeoutError::Disconnected));
}

#[test]
fn stalled_names_the_hanging_item() {
    let env = Env::new(2, 10);
    let hanging = env.submit_running();
    assert_eq!(env.pool.stalled(Duration::from_secs(3600)), []);
    let stalled = env.pool.stalled(Duration::ZERO);
    assert_eq!(stalled.len(), 1, "the idle worker is not stalled");
    assert_eq!(stalled[0].worker, hanging.worker);
    assert_eq!(stalled[0].job_id, hanging.job);
    assert_eq!(stalled[0].kind, ItemKind::List);
    assert_eq!(stalled[0].what, Path::new("/mnt/stuck/file"));
    drop(env.gate);
    soon(&env.done);
    assert_eq!(env.pool.stalled(Duration::ZERO), []);
}

#[test]
fn abandon_hands_the_item_back_and_starts_a_replacement() {
    let env = Env::new(1, 10);
    let stuck = env.submit_running();
    assert!(
        env.pool.abandon(stuck.job + 1, Duration::ZERO).is_none(),
        "not running"
    );
    let abandoned = env.pool.abandon(stuck.job, Duration::ZERO).unwrap();
    assert_eq!((abandoned.worker, abandoned.job.id), (1, stuck.job));
    assert!(matches!(abandoned.job.item, Task::Gate));
    assert_eq!(abandoned.what, Path::new("/mnt/stuck/file"));
    assert!(
        env.pool.abandon(stuck.job, Duration::ZERO).is_none(),
        "already abandoned"
    );

    let next = env.submit_running();
    assert_eq!(next.worker, 2, "the replacement took it");
    drop(env.gate);
    assert_eq!(soon(&env.done).job.id, next.job);
    let ended = env.pool.wait(in_time());
    assert_eq!((ended.abandoned, ended.errors.len()), (1, 1), "{ended:?}");
    // The channel disconnects only when the stuck thread has left, too.
    let late = env.done.recv_timeout(Duration::from_secs(30));
    assert_eq!(late.err(), Some(RecvTimeoutError::Disconnected));
    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed, seen.abandoned), (1, 1, 1));
    assert_eq!(seen.active, 0);
}

#[test]
fn a_pool_whose_workers_are_all_stuck_stops() {
    let env = Env::new(1, 10);
    for _ in 0..Pool::<Task, usize>::MAX_REPLACEMENTS {
        assert!(
            env.pool
                .abandon(env.submit_running().job, Duration::ZERO)
                .is_some()
        );
    }
    let last = env.submit_running();
    env.submit(Task::Count);
    assert!(env.pool.abandon(last.job, Duration::ZERO).is_some());
    let refused = env.pool.submit(ItemKind::List, Task::Count);
    assert!(matches!(refused, Err(PoolError::Stopped)));
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.abandoned, 65);
    assert!(
        ended
            .errors
            .iter()
            .any(|error| error.contains("every worker"))
    );
    drop(env.gate);
}

#[test]
fn the_metrics_tell_what_happened() {
    let env = Env::new(2, 5);
    let (first, second) = (env.submit_running(), env.submit_running());
    assert_ne!(first.worker, second.worker);
    for _ in 0..3 {
        env.pool.submit(ItemKind::Probe, Task::Count).unwrap();
    }
    env.pool.submit(ItemKind::Hash, Task::Panic).unwrap();
    let seen = env.metrics.snapshot();
    assert_eq!((seen.workers, seen.active), (2, 2));
    assert_eq!((seen.queued, seen.processed, seen.queue_peak), (6, 0, 4));

    drop(env.gate);
    let ended = env.pool.wait(in_time());
    assert_eq!(ended.errors.len(), 1);
    let seen = env.metrics.snapshot();
    assert_eq!((seen.processed, seen.failed, seen.active), (5, 1, 0));
    assert_eq!(seen.bytes_read, 30);
    let counts = ItemKind::ALL.map(|kind| seen.kind(kind).count);
    assert_eq!(counts, [2, 3, 1]);
    assert!(seen.kind(ItemKind::List).mean > Duration::ZERO);
    assert!(seen.utilisation > 0.0 && seen.utilisation <= 1.0);
}
