//! Random kills: a server that indexes, and in each round one or two of its processes end by SIGKILL at any moment. When the
//! same call has succeeded, the rows are those of a run that nobody disturbed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::server::{Server, argument, data_directory, parsers_of};
use crate::embedded::cluster::{processes_of, wait_for};
use crate::harness::{Dice, Repository, cluster, http, new_home};
use crate::kills::{assert_equal, digest_over};

/// Files of the repository, of which each round changes a few.
const FILES: u64 = 24;
/// How often a call is made again before it has failed for good.
const ATTEMPTS: usize = 20;

/// What can be killed.
const VICTIMS: &[&str] = &["server", "postmaster", "backend", "supervisor", "parser"];

struct Stage {
    server: Server,
    data: PathBuf,
    repository: Repository,
    dice: Dice,
}

impl Stage {
    /// One of the processes of a kind; none where there is none at this moment.
    fn victim(&mut self, kind: &str) -> Option<i32> {
        let below = |parent: i32| -> Vec<i32> {
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
            "backend" => postmaster().map(below).unwrap_or_default(),
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

    /// Kills one or two of them, each at any moment; which they were.
    fn strike(&mut self) -> Vec<&'static str> {
        let mut struck = Vec::new();
        for _ in 0..=self.dice.roll(2) {
            std::thread::sleep(Duration::from_millis(self.dice.roll(900)));
            let kind = VICTIMS[usize::try_from(self.dice.roll(VICTIMS.len() as u64)).unwrap()];
            if let Some(pid) = self.victim(kind).and_then(Pid::from_raw)
                && kill_process(pid, Signal::KILL).is_ok()
            {
                struck.push(kind);
            }
        }
        struck
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

/// One call of the server's `build_index`. None when it did not come to an answer or failed.
async fn build(url: &str, root: &str, project: &str) -> Option<Value> {
    let body = json!({ "repoPath": root, "project_id": project, "stubEmbeddings": true, "force": true });
    let answer = http().post(format!("{url}/tools/build_index")).json(&body).send().await.ok()?;
    let envelope: Value = answer.json().await.ok()?;
    (envelope["ok"] == true).then(|| envelope["result"].clone())
}

/// As often as it takes; the report of the call that succeeded.
async fn build_in_the_end(stage: &mut Stage, project: &str, round: usize) -> Value {
    let root = stage.repository.root();
    for _ in 0..ATTEMPTS {
        let url = stage.server.url();
        // A file whose parser was killed twice is read by the next call.
        if let Some(result) = build(&url, &root, project).await
            && !result["report"]["factsMissing"].to_string().contains("parse_timeout")
        {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let url = stage.server.url();
    let body = json!({ "repoPath": root, "project_id": project, "stubEmbeddings": true });
    let said = http().post(format!("{url}/tools/build_index")).json(&body).send().await.unwrap().text().await;
    panic!("round {round}: it does not recover: {said:?}");
}

async fn one(connection: &mut PgConnection, text: String) -> i64 {
    sqlx::query(AssertSqlSafe(text)).fetch_one(connection).await.unwrap().get(0)
}

/// Plays the rounds; how long each took from the last kill to the answer.
async fn play(name: &str, rounds: usize, seed: u64) -> Vec<(Vec<&'static str>, Duration)> {
    let home = new_home(name);
    let data = data_directory(&home).await;
    let mut stage = Stage {
        server: Server::new(&home),
        data,
        repository: Repository::new(&[("readme.md", "# Coins\n\nHow coins are weighed.\n")]),
        dice: Dice(seed),
    };
    for file in 0..5 {
        stage.repository.write(
            &format!("part_{file}/m{file}.py"),
            &format!("def first_{file}(coin):\n    return coin\n"),
        );
    }
    let mut times = Vec::new();
    for round in 0..rounds {
        stage.edit();
        let (url, root) = (stage.server.url(), stage.repository.root());
        let disturbed = tokio::spawn(async move { build(&url, &root, "disturbed").await });
        let struck = tokio::task::block_in_place(|| stage.strike());
        let since = Instant::now();
        let report = build_in_the_end(&mut stage, "disturbed", round).await;
        times.push((struck.clone(), since.elapsed()));
        assert_eq!(report["report"]["vectorsPending"], 0, "round {round} {struck:?}: {report:#}");
        // Whatever the first call came to, it is over.
        let _ = tokio::time::timeout(Duration::from_secs(60), disturbed).await.expect("a call hangs");
        build_in_the_end(&mut stage, "calm", round).await;
        for project in ["disturbed", "calm"] {
            // Names and vectors of what is no more stay until somebody tidies up.
            let answer = http()
                .post(format!("{}/tools/cache_gc", stage.server.url()))
                .json(&json!({ "project_id": project }))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.json::<Value>().await.unwrap()["ok"], true, "round {round} {struck:?}");
        }

        let server = tokio::task::block_in_place(|| cluster(&home));
        let mut connection = PgConnection::connect_with(&server.connect_options()).await.unwrap();
        let (one_of, other) =
            (digest_over(&mut connection, "disturbed").await, digest_over(&mut connection, "calm").await);
        assert_equal(&format!("round {round} of seed {seed} {struck:?}"), &one_of, &other);
        let live = "SELECT count(*) FROM pairofcleats.jobs WHERE state IN ('queued', 'running')";
        assert_eq!(one(&mut connection, live.to_owned()).await, 0, "round {round} {struck:?}: a job is left");
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        assert_eq!(
            one(&mut connection, waiting.to_owned()).await,
            0,
            "round {round} {struck:?}: a lock is waited for"
        );
    }
    let cluster_folder = stage.data.parent().unwrap().to_owned();
    drop(stage);
    wait_for("all processes of the cluster to be gone", || processes_of(&cluster_folder).is_empty());
    times
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_rounds_of_random_kills_leave_nothing_wrong() {
    play("rounds-short", 5, 15).await;
}

/// The long form; docs/reliability.md has its command and its last figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half an hour: cargo test --test it -- --ignored --nocapture two_hundred_rounds"]
async fn two_hundred_rounds_of_random_kills_leave_nothing_wrong() {
    let times = play("rounds-long", 200, 2026).await;
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
        let count = times.iter().filter(|(struck, _)| struck.contains(kind)).count();
        eprintln!("{kind}: killed in {count} rounds");
    }
    let pairs = times.iter().filter(|(struck, _)| struck.len() > 1).count();
    eprintln!("pairs: {pairs}");
}
