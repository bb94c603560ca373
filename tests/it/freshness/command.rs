//! `pairofcleats watch` and `serve` as real processes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{files_with, wait_for, wait_until};
use crate::harness::{PROGRAM, Repository, app, home, project};

/// A process of the program, whose output is collected.
struct Process {
    child: Child,
    stdout: Arc<Mutex<Vec<String>>>,
    stderr: Arc<Mutex<Vec<String>>>,
}

fn collect_lines(stream: impl Read + Send + 'static) -> Arc<Mutex<Vec<String>>> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            sink.lock().unwrap().push(line);
        }
    });
    lines
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .env("PAIROFCLEATS_HOME", home())
            .env_remove("DATABASE_URL")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) =
            (collect_lines(child.stdout.take().unwrap()), collect_lines(child.stderr.take().unwrap()));
        Self { child, stdout, stderr }
    }

    fn stderr_contains(&self, text: &str) -> bool {
        self.stderr.lock().unwrap().iter().any(|line| line.contains(text))
    }

    fn envelopes(&self) -> Vec<Value> {
        let lines = self.stdout.lock().unwrap();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    fn interrupt(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_reports_each_run_and_stops_on_a_signal() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def alpha_word():\n    return 1\n")]), project("cmd"));
    let root = repository.root();
    let watch = Process::start(&["watch", &root, "--project", &project, "--debounce", "100"]);
    let app = app();
    wait_until("the first line", async || {
        watch.stderr_contains("1 files") && watch.stderr_contains("Watching")
    })
    .await;
    repository.write("b.py", "def beta_word():\n    return 1\n");
    wait_for(&app, &project, "beta_word", &["b.py"]).await;
    wait_until("the line of the second run", async || watch.stderr_contains("2 files")).await;
    let away = repository.path().with_extension("away");
    std::fs::rename(repository.path(), &away).unwrap();
    wait_until("the missing repository to be reported", async || watch.stderr_contains("cannot be read"))
        .await;
    std::fs::rename(&away, repository.path()).unwrap();
    assert!(watch.stdout.lock().unwrap().is_empty(), "stdout is for --json");
    assert!(watch.interrupt().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_prints_one_envelope_per_run_and_exits_on_invalid_arguments() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def gamma_word():\n    return 1\n")]), project("json"));
    let root = repository.root();
    let watch = Process::start(&["watch", &root, "--project", &project, "--debounce", "100", "--json", "-q"]);
    wait_until("the first run", async || watch.envelopes().len() == 1).await;
    repository.write("b.py", "def delta_word():\n    return 1\n");
    wait_until("the second run", async || watch.envelopes().len() == 2).await;
    let runs = watch.envelopes();
    assert_eq!(
        (&runs[0]["ok"], &runs[1]["result"]["report"]["filesChanged"]),
        (&true.into(), &1.into()),
        "{runs:#?}"
    );
    assert!(watch.stderr.lock().unwrap().is_empty(), "{:?}", watch.stderr.lock().unwrap());
    assert!(watch.interrupt().success());

    for (arguments, code) in [
        (vec!["watch", "/no/such/folder"], 1),
        (vec!["watch", &root, "--project", "Not_One"], 1),
        (vec!["watch", &root, "--debounce", "soon"], 2),
    ] {
        let mut refused = Process::start(&arguments);
        assert_eq!(refused.child.wait().unwrap().code(), Some(code), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_server_keeps_watching_when_the_first_is_killed() {
    let (repository, project) =
        (Repository::new(&[("a.py", "def epsilon_word():\n    return 1\n")]), project("pair"));
    let list = format!("freshness.watch=[{{path={:?},project={project:?}}}]", repository.root());
    let serve = || {
        Process::start(&[
            "--json", "-v", "serve", "--port", "0", "--set", &list, "--set", "freshness.debounce_ms=100",
        ])
    };
    let (mut first, app) = (serve(), app());
    wait_until("the first server to watch", async || first.stderr_contains("watched repository=")).await;
    let second = serve();
    wait_until("the second server to watch", async || second.stderr_contains("watched repository=")).await;
    wait_for(&app, &project, "epsilon_word", &["a.py"]).await;
    for round in 0..3 {
        repository.write("a.py", &format!("def zeta_word_{round}():\n    return 1\n"));
        wait_for(&app, &project, &format!("zeta_word_{round}"), &["a.py"]).await;
    }
    first.child.kill().unwrap();
    repository.write("a.py", "def eta_word():\n    return 1\n");
    wait_for(&app, &project, "eta_word", &["a.py"]).await;
    assert!(files_with(&app, &project, "zeta_word_2").await.is_empty());
    assert!(second.interrupt().success());
}
