//! Mixed calls of several callers while parts of the server die: every call is answered, one that asks for much does not
//! shut the others out, and memory stays where it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::server::Server;
use crate::harness::{Dice, Repository, http, new_home, run_json};

/// A call may wait for its turn and for a database that comes back; longer means that it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// One who calls, with a key of its own.
#[derive(Clone)]
struct Caller {
    url: String,
    key: String,
    project: &'static str,
    root: String,
}

/// What became of calls: by tool and outcome, and how long those of a caller took.
#[derive(Default)]
struct Counts {
    outcomes: BTreeMap<(String, String), u64>,
    times: BTreeMap<&'static str, Vec<Duration>>,
}

impl Caller {
    /// Calls a tool; its code, `ok`, or `lost`.
    async fn call(&self, tool: &str, arguments: &Value) -> String {
        let sent = http()
            .post(format!("{}/tools/{tool}", self.url))
            .bearer_auth(&self.key)
            .timeout(PATIENCE)
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

    /// Something that this caller may do, by chance.
    fn errand(&self, dice: &mut Dice) -> (&'static str, Value) {
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

    /// Calls until it is over. Now and then it goes away before the answer.
    async fn work(self, seed: u64, over: Arc<AtomicBool>, counts: Arc<Mutex<Counts>>) {
        let mut dice = Dice(seed);
        while !over.load(Ordering::Relaxed) {
            let (tool, arguments) = self.errand(&mut dice);
            if dice.roll(25) == 0 {
                let patience = Duration::from_millis(dice.roll(30));
                let _ = tokio::time::timeout(patience, self.call(tool, &arguments)).await;
                continue;
            }
            let since = Instant::now();
            let outcome = self.call(tool, &arguments).await;
            let mut counts = counts.lock().unwrap();
            *counts.outcomes.entry((tool.to_owned(), outcome)).or_default() += 1;
            counts.times.entry(self.project).or_default().push(since.elapsed());
        }
    }
}

/// What a process holds in memory, in KiB.
fn resident(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0)
}

/// A database connection of the server ends by SIGKILL, and with it all others for a moment; or a parser does.
fn disturb(cluster: &Path, server: i32, dice: &mut Dice) {
    let all = crate::embedded::cluster::processes_of(cluster);
    let line = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let victims: Vec<i32> = match dice.roll(2) {
        0 => all
            .into_iter()
            .filter(|pid| line(pid).contains("pairofcleats") && line(pid).starts_with("postgres:"))
            .collect(),
        _ => super::server::parsers_of(server),
    };
    if let Some(pid) = victims.first().and_then(|pid| Pid::from_raw(*pid)) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn key(home: &Path, project: &str) -> String {
    let arguments = ["keys", "create", "--name", project, "--project", project];
    let (code, answer) = run_json(home, &[&arguments[..], &["--scopes", "search,index,triage"]].concat());
    assert_eq!(code, 0, "{answer:#}");
    answer["result"]["key"].as_str().unwrap().to_owned()
}

/// Memory of the server at each look, in KiB.
async fn load(name: &str, time: Duration, faults: Duration) -> (Counts, Vec<u64>) {
    let home = new_home(name);
    let repositories = [Repository::new(&[]), Repository::new(&[])];
    for (at, repository) in repositories.iter().enumerate() {
        for file in 0..40 {
            let text = format!(
                "def weigh_{file}(coin, drawer):\n    total = coin.merchant({at})\n    return [total, {file}]\n"
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
    let keys = [0, 1].map(|at: usize| key(&home, projects[at]));
    let mut server = Server::new(&home);
    let (url, pid) = (server.url(), server.pid().unwrap());
    let data = super::server::data_directory(&home).await;
    let (over, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Counts::default())));
    let mut workers = Vec::new();
    for (at, many) in [(0, 24), (1, 2)] {
        let caller = Caller {
            url: url.clone(),
            key: keys[at].clone(),
            project: projects[at],
            root: roots[at].clone(),
        };
        for seed in 0..many {
            let work = caller.clone().work(seed + 100 * at as u64, Arc::clone(&over), Arc::clone(&counts));
            workers.push(tokio::spawn(work));
        }
    }
    let (until, mut dice) = (Instant::now() + time, Dice(7));
    let (mut next_fault, mut memory) = (Instant::now() + faults, Vec::new());
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_secs(1)).await;
        memory.push(resident(pid));
        repositories[0].write("m0.py", &format!("def weigh_0(coin):\n    return {}\n", dice.roll(1000)));
        if Instant::now() >= next_fault {
            disturb(data.parent().unwrap(), pid, &mut dice);
            next_fault = Instant::now() + faults;
        }
    }
    over.store(true, Ordering::Relaxed);
    for worker in workers {
        tokio::time::timeout(PATIENCE * 2, worker).await.expect("a caller hangs").unwrap();
    }
    assert_eq!(server.pid(), Some(pid), "the server was the same all the time");
    (std::mem::take(&mut *counts.lock().unwrap()), memory)
}

/// Every call has an answer, and its code is one that the call can have.
fn check(counts: &Counts) {
    let expected = |tool: &str, code: &str| match code {
        "ok" | "STORAGE_UNAVAILABLE" | "QUEUE_OVERLOADED" | "RATE_LIMITED" | "TOOL_TIMEOUT" => true,
        "NO_INDEX" | "NOT_FOUND" | "FORBIDDEN" | "VALIDATION_ERROR" | "INVALID_REQUEST" => tool == "search",
        _ => false,
    };
    let odd: Vec<_> = counts.outcomes.iter().filter(|((tool, code), _)| !expected(tool, code)).collect();
    assert!(odd.is_empty(), "{odd:?}");
    for tool in ["search", "search_code", "show_file", "index_status", "build_index", "triage_ingest"] {
        assert!(counts.outcomes.contains_key(&(tool.to_owned(), "ok".to_owned())), "{tool} never succeeded");
    }
    let modest = counts.times.get("modest").map_or(0, Vec::len);
    assert!(modest > 0, "the greedy one shut the other out");
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_calls_are_answered_while_parts_of_the_server_die() {
    let (counts, _) = load("load-short", Duration::from_secs(12), Duration::from_secs(4)).await;
    check(&counts);
}

/// The long form; docs/reliability.md has its command and its last figures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half an hour: cargo test --test it -- --ignored --nocapture half_an_hour_of_mixed_calls"]
async fn half_an_hour_of_mixed_calls() {
    let (counts, memory) = load("load-long", Duration::from_secs(1800), Duration::from_secs(20)).await;
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    let quarter = memory.len() / 4;
    let (second, last) = (mean(&memory[quarter..2 * quarter]), mean(&memory[3 * quarter..]));
    for ((tool, code), count) in &counts.outcomes {
        eprintln!("{tool} {code}: {count}");
    }
    for (caller, times) in &counts.times {
        let mut times = times.clone();
        times.sort();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        eprintln!(
            "{caller}: {} calls, median {:.0} ms, 99 % {:.0} ms, longest {:.0} ms",
            times.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    eprintln!("memory: second quarter {} MB, last quarter {} MB", second / 1024, last / 1024);
    check(&counts);
    assert!(last <= second + second / 20, "memory grows: {second} KiB, then {last} KiB");
}
