//! Signals that end a command while it writes a file.

use std::fs;

use crate::env::TestEnv;

#[test]
fn a_signal_leaves_no_temporary_file() {
    let env = TestEnv::new();
    for n in 0..3_000 {
        env.file(format!("tree/{n}/a"), format!("{n}"));
        env.file(format!("tree/{n}/b"), format!("{n}"));
    }
    env.run("scan tree").ok();
    env.folder("out");
    let files = || fs::read_dir(env.path("out")).unwrap().count();
    for line in [
        "report --check -o out/report.html --format html",
        "backup out/copy.db",
    ] {
        let (mut stopped, mut pause) = (false, 4_000);
        for _ in 0..40 {
            let mut run = env.start(line);
            run.wait_until(|| files() > 0);
            std::thread::sleep(std::time::Duration::from_micros(pause));
            pause /= 2;
            run.signal(rustix::process::Signal::TERM);
            let is_done = run.wait().exit == Some(0);
            let left: Vec<_> = fs::read_dir(env.path("out")).unwrap().collect();
            for entry in left {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(!name.starts_with('.'), "{line} left {name}");
                env.remove(format!("out/{name}"));
            }
            stopped |= !is_done;
        }
        assert!(stopped, "{line} always ended before the signal");
    }
}
