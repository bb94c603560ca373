//! Runs that are killed at random end nevertheless, each with one branch and one pull request.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use futures::stream::{StreamExt, iter};
use launch::event::{LogHead, verify_chain};
use launch::snapshot::RunSnapshot;
use serde_json::Value;

use super::Scene;
use super::events::log_and_snapshot;
use super::kills::{CONCURRENT, advance_elsewhere, advancing, artifacts, scene_and_uninterrupted};
use crate::harness::Dice;

/// Failpoints of runs on the local forge, with the number of visits from which one is chosen.
const FAILPOINTS: &[(&str, u64)] = &[
    ("launch.claimed", 3),
    ("launch.before_write", 36),
    ("launch.before_commit", 36),
    ("launch.committed", 36),
    ("launch.objects_written", 1),
    ("launch.branch_created", 1),
];
/// Longest time until a process that is killed has written the event at which it is.
const PROGRESS_MAX: Duration = Duration::from_secs(120);

/// When a process is killed.
#[derive(Debug)]
enum Kill {
    /// By itself, at a failpoint.
    At(String),
    /// From outside with SIGKILL, a moment after the log of the run has this many events.
    After { events: i32, then: Duration },
}

impl Kill {
    /// Half are at failpoints, half at any time while the log grows to `events`.
    fn rolled(dice: &mut Dice, events: i32) -> Self {
        if dice.roll(2) == 0 {
            let (name, visits) = FAILPOINTS[usize::try_from(dice.roll(FAILPOINTS.len() as u64)).unwrap()];
            return Self::At(format!("{name}:{}", dice.roll(visits) + 1));
        }
        let events = i32::try_from(dice.roll(u64::try_from(events).unwrap())).unwrap();
        Self::After { events, then: Duration::from_micros(dice.roll(30_000)) }
    }
}

/// Has another process advance a run and kills it; how it ended.
async fn advance_and_kill(scene: &Scene, run: &str, kill: &Kill) -> ExitStatus {
    let (events, then) = match kill {
        Kill::At(failpoint) => return advance_elsewhere(scene, run, Some(failpoint)).await.status,
        Kill::After { events, then } => (*events, *then),
    };
    let mut child = advancing(scene, run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while log_and_snapshot(scene, run).await.1.seq < events {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < PROGRESS_MAX, "{run}: the process makes no progress");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(then).await;
    // It may have ended by itself meanwhile.
    let _ = child.kill();
    tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap()
}

/// Kills a new run, has another process end it, and checks what it left. False if the run ended before it could be killed.
async fn killed(scene: &Scene, kill: &Kill, uninterrupted: &BTreeMap<String, Value>, which: &str) -> bool {
    let run = scene.start("faulty").await;
    let ended = advance_and_kill(scene, &run, kill).await;
    let died = ended.signal().is_some();
    assert!(died || ended.success(), "{which}: {ended}");
    let recovered = advance_elsewhere(scene, &run, None).await;
    assert!(
        recovered.status.success(),
        "{which}: {} {}",
        String::from_utf8_lossy(&recovered.stdout),
        String::from_utf8_lossy(&recovered.stderr)
    );
    assert_eq!(&artifacts(scene, &run).await, uninterrupted, "{which}");
    let branches: Vec<String> = scene.published().into_iter().filter(|name| name.contains(&run)).collect();
    assert_eq!(branches, [format!("launch/{run}/faulty")], "{which}: one branch");
    let (events, stored) = log_and_snapshot(scene, &run).await;
    let head = verify_chain(LogHead::EMPTY, &events).unwrap_or_else(|broken| panic!("{which}: {broken}"));
    assert_eq!(head.seq, stored.seq, "{which}");
    assert_eq!(RunSnapshot::fold(&events).unwrap(), stored, "{which}");
    for once in ["RUN_CREATED", "PR_OPENED", "RUN_COMPLETED"] {
        assert_eq!(events.iter().filter(|event| event.kind == once).count(), 1, "{which}: {once}");
    }
    died
}

/// Kills so many runs. Each seed decides about one of them, so that it can be repeated alone.
async fn kill_runs(count: u64, seed: u64) {
    let (scene, uninterrupted) = scene_and_uninterrupted().await;
    let scene = &scene;
    // A run as long as the others, to know how long their logs get.
    let longest = scene.start("faulty").await;
    assert!(advance_elsewhere(scene, &longest, None).await.status.success());
    let events = log_and_snapshot(scene, &longest).await.1.seq;
    let uninterrupted = &uninterrupted;
    let runs = iter(seed..seed + count).map(|seed| async move {
        let mut dice = Dice(seed);
        loop {
            let kill = Kill::rolled(&mut dice, events);
            let which = format!("seed {seed}, {kill:?}");
            if killed(scene, &kill, uninterrupted, &which).await {
                eprintln!("{which}: recovered");
                return;
            }
        }
    });
    let recovered = runs.buffer_unordered(CONCURRENT).count().await;
    assert_eq!(u64::try_from(recovered).unwrap(), count);
    scene.site_git(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_killed_at_random_end() {
    kill_runs(6, 25).await;
}

/// The long form; docs/reliability.md has the command.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo test --test it -- --ignored --nocapture two_hundred_runs"]
async fn two_hundred_runs_that_are_killed_at_random_end() {
    kill_runs(200, 2026).await;
}
