//! Random kills: in each round, SIGKILL ends one or two processes of an indexing server at random moments. After the call was
//! repeated until it succeeded, the rows are those of an undisturbed run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::server::{KillableServer, argument, data_directory, parsers_of};
use crate::embedded::cluster::{processes_of, wait_for};
use crate::harness::{Dice, Repository, cluster, http, new_home};
use crate::kills::{assert_equal, digest_over};

/// Number of files of the repository; each round changes a few.
const FILES: u64 = 24;
/// The number of times that a call is repeated before the test fails.
const ATTEMPTS: usize = 20;

/// The kinds of processes that are killed.
const VICTIMS: &[&str] = &["server", "postmaster", "backend", "supervisor", "parser"];

struct Scenario {
    server: KillableServer,
    data: PathBuf,
    repository: Repository,
    dice: Dice,
}

impl Scenario {
    /// A random process of this kind, if one runs at this moment.
    fn pick_process(&mut self, kind: &str) -> Option<i32> {
        let children_of = |parent: i32| -> Vec<i32> {
            let text =
                std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
        };
        let postmaster = || {
            let text = std::fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
            text.lines().next()?.trim().parse::<i32>().ok()
        };
        let all = match kind {
            "server" => self.server.pid().into_iter().collect(),
            "postmaster" => postmaster().into_iter().collect(),
            "backend" => postmaster().map(children_of).unwrap_or_default(),
            "supervisor" => {
                let cluster = self.data.parent().unwrap();
                processes_of(cluster)
                    .into_iter()
                    .filter(|pid| argument(*pid) == "postgres-supervisor")
                    .collect()
            }
            "parser" => self.server.pid().map(parsers_of).unwrap_or_default(),
            _ => Vec::new(),
        };
        let count = u64::try_from(all.len()).unwrap();
        (count > 0).then(|| all[usize::try_from(self.dice.roll(count)).unwrap()])
    }

    /// Kills one or two processes at random moments. Returns their kinds.
    fn kill_at_random(&mut self) -> Vec<&'static str> {
        let mut killed = Vec::new();
        for _ in 0..=self.dice.roll(2) {
            std::thread::sleep(Duration::from_millis(self.dice.roll(900)));
            let kind = VICTIMS[usize::try_from(self.dice.roll(VICTIMS.len() as u64)).unwrap()];
            if let Some(pid) = self.pick_process(kind).and_then(Pid::from_raw)
                && kill_process(pid, Signal::KILL).is_ok()
            {
                killed.push(kind);
            }
        }
        killed
    }

    /// Changes a few files.
    fn edit(&mut self) {
        for _ in 0..=self.dice.roll(5) {
            let (file, size) = (self.dice.roll(FILES), 1 + self.dice.roll(30));
            let path = format!("part_{}/m{file}.py", file % 5);
            if self.dice.roll(5) == 0 && self.repository.path().join(&path).exists() && file > 4 {
                self.repository.remove(&path);
                continue;
            }
            let salt = self.dice.roll(1000);
            let functions = (0..size).map(|at| {
                format!("def task_{salt}_{at}(coin):\n    total = coin.weigh({salt})\n    return [total, {at}]\n\n")
            });
            self.repository.write(&path, &functions.collect::<String>());
        }
    }
}

/// Calls the server's `build_index` once. None if the call was not answered or failed.
async fn build(url: &str, root: &str, project: &str) -> Option<Value> {
    let body = json!({ "repoPath": root, "project_id": project, "stubEmbeddings": true, "force": true });
    let answer = http().post(format!("{url}/tools/build_index")).json(&body).send().await.ok()?;
    let envelope: Value = answer.json().await.ok()?;
    (envelope["ok"] == true).then(|| envelope["result"].clone())
}

/// Repeats the call until it succeeds and returns its result.
async fn build_until_success(scenario: &mut Scenario, project: &str, round: usize) -> Value {
    let root = scenario.repository.root();
    for _ in 0..ATTEMPTS {
        let url = scenario.server.url();
        // A file whose parser was killed twice is skipped; the next call reads it.
        if let Some(result) = build(&url, &root, project).await
            && !result["report"]["factsMissing"].to_string().contains("parse_timeout")
        {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let url = scenario.server.url();
    let body = json!({ "repoPath": root, "project_id": project, "stubEmbeddings": true });
    let last_answer =
        http().post(format!("{url}/tools/build_index")).json(&body).send().await.unwrap().text().await;
    panic!("round {round}: the call never succeeded: {last_answer:?}");
}

async fn scalar(connection: &mut PgConnection, text: String) -> i64 {
    sqlx::query(AssertSqlSafe(text)).fetch_one(connection).await.unwrap().get(0)
}

/// Runs the rounds. Returns, for each, what was killed and the time from the last kill to the answer.
async fn run_rounds(name: &str, rounds: usize, seed: u64) -> Vec<(Vec<&'static str>, Duration)> {
    let home = new_home(name);
    let data = data_directory(&home).await;
    let mut scenario = Scenario {
        server: KillableServer::new(&home),
        data,
        repository: Repository::new(&[("readme.md", "# Coins\n\nHow coins are weighed.\n")]),
        dice: Dice(seed),
    };
    for file in 0..5 {
        scenario.repository.write(
            &format!("part_{file}/m{file}.py"),
            &format!("def first_{file}(coin):\n    return coin\n"),
        );
    }
    let mut times = Vec::new();
    for round in 0..rounds {
        scenario.edit();
        let (url, root) = (scenario.server.url(), scenario.repository.root());
        let disturbed = tokio::spawn(async move { build(&url, &root, "disturbed").await });
        let killed = tokio::task::block_in_place(|| scenario.kill_at_random());
        let last_kill = Instant::now();
        let report = build_until_success(&mut scenario, "disturbed", round).await;
        times.push((killed.clone(), last_kill.elapsed()));
        assert_eq!(report["report"]["vectorsPending"], 0, "round {round} {killed:?}: {report:#}");
        // The first call has ended, too, whatever its answer.
        let _ = tokio::time::timeout(Duration::from_secs(60), disturbed).await.expect("a call hangs");
        build_until_success(&mut scenario, "calm", round).await;
        for project in ["disturbed", "calm"] {
            // Names and vectors of deleted text stay until garbage is collected.
            let answer = http()
                .post(format!("{}/tools/cache_gc", scenario.server.url()))
                .json(&json!({ "project_id": project }))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.json::<Value>().await.unwrap()["ok"], true, "round {round} {killed:?}");
        }

        let server = tokio::task::block_in_place(|| cluster(&home));
        let mut connection = PgConnection::connect_with(&server.connect_options()).await.unwrap();
        let (disturbed_rows, calm_rows) =
            (digest_over(&mut connection, "disturbed").await, digest_over(&mut connection, "calm").await);
        assert_equal(&format!("round {round} of seed {seed} {killed:?}"), &disturbed_rows, &calm_rows);
        let live = "SELECT count(*) FROM pairofcleats.jobs WHERE state IN ('queued', 'running')";
        assert_eq!(
            scalar(&mut connection, live.to_owned()).await,
            0,
            "round {round} {killed:?}: a job is left"
        );
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        assert_eq!(
            scalar(&mut connection, waiting.to_owned()).await,
            0,
            "round {round} {killed:?}: a transaction waits for a lock"
        );
    }
    let cluster_folder = scenario.data.parent().unwrap().to_owned();
    drop(scenario);
    wait_for("all processes of the cluster to be gone", || processes_of(&cluster_folder).is_empty());
    times
}

#[tokio::test(flavor = "multi_thread")]
async fn after_random_kills_the_rows_are_those_of_an_undisturbed_run() {
    run_rounds("rounds-short", 5, 15).await;
}

/// The long form; docs/reliability.md has the command and the latest figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half an hour: cargo test --test it -- --ignored --nocapture two_hundred_rounds"]
async fn two_hundred_rounds_of_random_kills_leave_the_rows_of_an_undisturbed_run() {
    let times = run_rounds("rounds-long", 200, 2026).await;
    let mut seconds: Vec<f64> = times.iter().map(|(_, time)| time.as_secs_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |part: f64| seconds[((seconds.len() - 1) as f64 * part) as usize];
    eprintln!(
        "recovery after the last kill: median {:.1} s, 95 % {:.1} s, longest {:.1} s",
        at(0.5),
        at(0.95),
        at(1.0)
    );
    for kind in VICTIMS {
        let count = times.iter().filter(|(killed, _)| killed.contains(kind)).count();
        eprintln!("{kind}: killed in {count} rounds");
    }
    let pairs = times.iter().filter(|(killed, _)| killed.len() > 1).count();
    eprintln!("pairs: {pairs}");
}
