//! Mixed calls of two callers while parts of the server are killed: every call is answered, a greedy caller does not starve
//! the other one, and memory does not grow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::server::KillableServer;
use crate::harness::{Dice, Repository, http, new_home, run_json};

/// Timeout of a call. A call may wait in the queue and for a restarting database; longer means that it hangs.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// A client with its own key.
#[derive(Clone)]
struct LoadClient {
    url: String,
    key: String,
    project: &'static str,
    root: String,
}

/// Number of calls by tool and outcome, and latencies by client.
#[derive(Default)]
struct CallStats {
    outcomes: BTreeMap<(String, String), u64>,
    latencies: BTreeMap<&'static str, Vec<Duration>>,
}

impl LoadClient {
    /// Calls a tool. Returns `ok`, the error code, or `lost` for no answer.
    async fn call(&self, tool: &str, arguments: &Value) -> String {
        let sent = http()
            .post(format!("{}/tools/{tool}", self.url))
            .bearer_auth(&self.key)
            .timeout(CALL_TIMEOUT)
            .json(arguments)
            .send()
            .await;
        let Ok(answer) = sent else { return "lost".to_owned() };
        let Ok(envelope) = answer.json::<Value>().await else { return "lost".to_owned() };
        match envelope["ok"] == true {
            true => "ok".to_owned(),
            false => envelope["error"]["code"].as_str().unwrap_or("lost").to_owned(),
        }
    }

    /// A random call that this client makes.
    fn random_call(&self, dice: &mut Dice) -> (&'static str, Value) {
        let word = ["coin", "drawer", "weigh", "total", "merchant", "receipt"][dice.roll(6) as usize];
        let project = self.project;
        match dice.roll(20) {
            0 => (
                "build_index",
                json!({ "repoPath": self.root, "project_id": project, "stubEmbeddings": true }),
            ),
            1 => ("index_status", json!({ "project_id": project })),
            2..5 => ("show_file", json!({ "path": "m1.py", "project_id": project })),
            5 => ("search", json!({ "query": "", "project_id": project })),
            6 => ("search", json!({ "query": word, "project_id": "somebody-elses" })),
            7 => (
                "triage_ingest",
                json!({ "source": "generic", "project_id": project,
                "payload": format!("{{\"title\": \"Loose {word} {}\"}}\n", dice.roll(40)) }),
            ),
            8..12 => {
                ("search_code", json!({ "query": format!("how to {word} a {word}"), "project_id": project }))
            }
            _ => ("search", json!({ "query": format!("{word} merchant"), "project_id": project, "top": 5 })),
        }
    }

    /// Calls in a loop until stopped. Some calls are abandoned before the answer.
    async fn run(self, seed: u64, stop: Arc<AtomicBool>, stats: Arc<Mutex<CallStats>>) {
        let mut dice = Dice(seed);
        while !stop.load(Ordering::Relaxed) {
            let (tool, arguments) = self.random_call(&mut dice);
            if dice.roll(25) == 0 {
                let timeout = Duration::from_millis(dice.roll(30));
                let _ = tokio::time::timeout(timeout, self.call(tool, &arguments)).await;
                continue;
            }
            let started = Instant::now();
            let outcome = self.call(tool, &arguments).await;
            let mut stats = stats.lock().unwrap();
            *stats.outcomes.entry((tool.to_owned(), outcome)).or_default() += 1;
            stats.latencies.entry(self.project).or_default().push(started.elapsed());
        }
    }
}

/// Resident memory of a process, in KiB.
fn resident_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0)
}

/// Kills a database backend of the server, which makes Postgres restart all others, or one of its parser processes.
fn kill_a_process(cluster: &Path, server: i32, dice: &mut Dice) {
    let all = crate::embedded::cluster::processes_of(cluster);
    let line = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let candidates: Vec<i32> = match dice.roll(2) {
        0 => all
            .into_iter()
            .filter(|pid| line(pid).contains("pairofcleats") && line(pid).starts_with("postgres:"))
            .collect(),
        _ => super::server::parsers_of(server),
    };
    if let Some(pid) = candidates.first().and_then(|pid| Pid::from_raw(*pid)) {
        // The process may have exited meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn create_key(home: &Path, project: &str) -> String {
    let arguments = ["keys", "create", "--name", project, "--project", project];
    let (code, answer) = run_json(home, &[&arguments[..], &["--scopes", "search,index,triage"]].concat());
    assert_eq!(code, 0, "{answer:#}");
    answer["result"]["key"].as_str().unwrap().to_owned()
}

/// Runs two clients for `duration` and kills a process every `kill_interval`. Also returns the server's memory once per second,
/// in KiB.
async fn run_load(name: &str, duration: Duration, kill_interval: Duration) -> (CallStats, Vec<u64>) {
    let home = new_home(name);
    let repositories = [Repository::new(&[]), Repository::new(&[])];
    for (index, repository) in repositories.iter().enumerate() {
        for file in 0..40 {
            let text = format!(
                "def weigh_{file}(coin, drawer):\n    total = coin.merchant({index})\n    return [total, {file}]\n"
            );
            repository.write(&format!("m{file}.py"), &text);
        }
    }
    let projects = ["greedy", "modest"];
    let roots = repositories.each_ref().map(Repository::root);
    let config = home.join("config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap() + "[indexing.project_roots]\n";
    for (project, root) in projects.iter().zip(&roots) {
        text += &format!("{project} = [{root:?}]\n");
    }
    std::fs::write(&config, text).unwrap();
    for (project, root) in projects.iter().zip(&roots) {
        let (code, answer) = run_json(&home, &["index", root, "--project", project, "--stub-embeddings"]);
        assert_eq!(code, 0, "{answer:#}");
    }
    let keys = [0, 1].map(|index: usize| create_key(&home, projects[index]));
    let mut server = KillableServer::new(&home);
    let (url, pid) = (server.url(), server.pid().unwrap());
    let data = super::server::data_directory(&home).await;
    let (stop, stats) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(CallStats::default())));
    let mut workers = Vec::new();
    for (index, connections) in [(0, 24), (1, 2)] {
        let client = LoadClient {
            url: url.clone(),
            key: keys[index].clone(),
            project: projects[index],
            root: roots[index].clone(),
        };
        for seed in 0..connections {
            let work = client.clone().run(seed + 100 * index as u64, Arc::clone(&stop), Arc::clone(&stats));
            workers.push(tokio::spawn(work));
        }
    }
    let (deadline, mut dice) = (Instant::now() + duration, Dice(7));
    let (mut next_fault, mut memory) = (Instant::now() + kill_interval, Vec::new());
    while Instant::now() < deadline {
        tokio::time::sleep(Duration::from_secs(1)).await;
        memory.push(resident_kib(pid));
        repositories[0].write("m0.py", &format!("def weigh_0(coin):\n    return {}\n", dice.roll(1000)));
        if Instant::now() >= next_fault {
            kill_a_process(data.parent().unwrap(), pid, &mut dice);
            next_fault = Instant::now() + kill_interval;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        tokio::time::timeout(CALL_TIMEOUT * 2, worker).await.expect("a caller hangs").unwrap();
    }
    assert_eq!(server.pid(), Some(pid), "the server was never restarted");
    (std::mem::take(&mut *stats.lock().unwrap()), memory)
}

/// Checks that every call was answered, with a code that this tool may return.
fn check(stats: &CallStats) {
    let expected = |tool: &str, code: &str| match code {
        "ok" | "STORAGE_UNAVAILABLE" | "QUEUE_OVERLOADED" | "RATE_LIMITED" | "TOOL_TIMEOUT" => true,
        "NO_INDEX" | "NOT_FOUND" | "FORBIDDEN" | "VALIDATION_ERROR" | "INVALID_REQUEST" => tool == "search",
        _ => false,
    };
    let unexpected: Vec<_> =
        stats.outcomes.iter().filter(|((tool, code), _)| !expected(tool, code)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    for tool in ["search", "search_code", "show_file", "index_status", "build_index", "triage_ingest"] {
        assert!(stats.outcomes.contains_key(&(tool.to_owned(), "ok".to_owned())), "{tool} never succeeded");
    }
    let modest = stats.latencies.get("modest").map_or(0, Vec::len);
    assert!(modest > 0, "the greedy client starved the other one");
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_calls_are_answered_while_parts_of_the_server_die() {
    let (stats, _) = run_load("load-short", Duration::from_secs(12), Duration::from_secs(4)).await;
    check(&stats);
}

/// The long form; docs/reliability.md has the command and the latest figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half an hour: cargo test --test it -- --ignored --nocapture half_an_hour_of_mixed_calls"]
async fn half_an_hour_of_mixed_calls() {
    let (stats, memory) = run_load("load-long", Duration::from_secs(1800), Duration::from_secs(20)).await;
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    let quarter = memory.len() / 4;
    let (second, last) = (mean(&memory[quarter..2 * quarter]), mean(&memory[3 * quarter..]));
    for ((tool, code), count) in &stats.outcomes {
        eprintln!("{tool} {code}: {count}");
    }
    for (client, latencies) in &stats.latencies {
        let mut latencies = latencies.clone();
        latencies.sort();
        let percentile =
            |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        eprintln!(
            "{client}: {} calls, median {:.0} ms, 99 % {:.0} ms, longest {:.0} ms",
            latencies.len(),
            percentile(0.5),
            percentile(0.99),
            percentile(1.0)
        );
    }
    eprintln!("memory: second quarter {} MB, last quarter {} MB", second / 1024, last / 1024);
    check(&stats);
    assert!(last <= second + second / 20, "memory grows: {second} KiB, then {last} KiB");
}
