//! Commands of a site: they see the patched site and nothing else, cannot reach any host, end within their limits, and end with their run.
//! The hostile ones are small real programs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use contract::config::CheckCommand;
use launch_runs::runs::copies_folder;
use platform::process::confined::{Protection, protections};
use serde_json::{Value, json};

use super::{Scene, app_for, code};
use crate::harness::{call, home};
use crate::models::wait_for;

/// A check that is a shell script.
fn script(name: &str, script: &str) -> CheckCommand {
    command(name, &["sh", "-c", script])
}

fn command(name: &str, argv: &[&str]) -> CheckCommand {
    CheckCommand {
        name: name.to_owned(),
        argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
        required: true,
        output: Some("public".to_owned()),
        timeout_ms: 60_000,
        memory_bytes_max: 4 << 30,
    }
}

async fn scene(checks: Vec<CheckCommand>) -> Scene {
    Scene::with(|config| config.launch.sites[0].checks = checks).await
}

/// Runs a run until it rests. Returns its id, its state, and its report.
async fn validated(scene: &Scene) -> (String, Value, Value) {
    let run = scene.start("shop").await;
    let status = scene.drive(&run).await;
    let report = serde_json::from_str(&scene.artifact(&run, "validation_report.json").await).unwrap();
    (run, status["state"].clone(), report)
}

/// The status of a gate.
fn gate<'r>(report: &'r Value, name: &str) -> &'r Value {
    let gates = report["gates"].as_array().unwrap();
    &gates.iter().find(|gate| gate["gate"] == name).unwrap()["status"]
}

/// Returns the messages of the issues of a gate, except those that are only information.
fn messages<'r>(report: &'r Value, gate: &str) -> Vec<(&'r str, &'r str)> {
    let issues = report["issues"].as_array().unwrap().iter();
    let of_gate = issues.filter(|issue| issue["gate"] == gate && issue["severity"] != "info");
    of_gate.map(|issue| (issue["code"].as_str().unwrap(), issue["message"].as_str().unwrap())).collect()
}

/// Checks whether this machine can confine these commands. If not, a run must start none of them and report the reason.
async fn can_confine(checks: &[CheckCommand]) -> bool {
    if lacking().is_empty() {
        return true;
    }
    let (_, state, report) = validated(&scene(checks.to_vec()).await).await;
    assert_eq!(state, "VALIDATING", "{report:#}");
    assert_none_ran(&report, checks);
    false
}

/// The protections that this machine lacks.
fn lacking() -> Vec<Protection> {
    let given = protections();
    Protection::ALL.into_iter().filter(|protection| !given.contains(protection)).collect()
}

/// Requires that a report says of each of these commands that it did not run, because this machine lacks a protection.
fn assert_none_ran(report: &Value, checks: &[CheckCommand]) {
    let lacking = lacking();
    let found = [messages(report, "site_build"), messages(report, "checks")].concat();
    for check in checks {
        let begin = format!("The command `{}` did not run. TOOLCHAIN_MISSING: ", check.name);
        let names_one = found.iter().any(|(_, message)| {
            message.starts_with(&begin) && lacking.iter().any(|one| message.contains(one.as_str()))
        });
        assert!(names_one, "{lacking:?} are missing, and nothing says so of {}: {report:#}", check.name);
    }
}

/// The processes whose command line has this text. Those that ended and were not reaped have none.
fn processes(text: &str) -> Vec<String> {
    let output = Command::new("ps").args(["-eo", "pid=,stat=,args="]).output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    lines.lines().filter(|line| line.contains(text) && !line.contains(" Z")).map(str::to_owned).collect()
}

/// A number of seconds that no other process of this machine sleeps, which identifies a process.
fn own_seconds(test: u32) -> String {
    format!("{}{test}", 10_000_000 + std::process::id())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_its_commands_accept_may_be_published() {
    let build = "set -e; test -f content/docs/old.md; grep -q 'Counts coins' content/docs/docs.md; \
         test -z \"$(ls -A public)\"; test -z \"$(env | grep PAIROFCLEATS)\"; test -z \"$DATABASE_URL\"; \
         echo kept > \"$TMPDIR/a\"; echo built > public/index.html; test \"$TMPDIR\" = \"$HOME\"";
    let checks = [
        script("site_build", build),
        script("links", "grep -q built public/index.html && test -z \"$(ls -A \"$TMPDIR\")\""),
        CheckCommand { output: Some(".".to_owned()), ..script("whole", "echo x >> content/docs/docs.md") },
    ];
    let scene = scene(checks.to_vec()).await;
    let copies = copies_folder(&scene.app.layout);
    let old = copies.join(format!("left-by-a-dead-process-{}", std::process::id()));
    fs::create_dir_all(old.join("site")).unwrap();
    let root = File::open(&old).unwrap();
    let now = root.metadata().unwrap().modified().unwrap();
    root.set_modified(now - Duration::from_secs(2 * 24 * 60 * 60)).unwrap();
    let (run, state, report) = validated(&scene).await;
    let left = fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(&run)).collect();
    assert!(left.is_empty() && !old.exists(), "{left:?}");
    if !lacking().is_empty() {
        assert_eq!((gate(&report, "site_build"), &state), (&json!("failed"), &json!("VALIDATING")));
        assert_none_ran(&report, &checks);
        return;
    }
    let messages = (messages(&report, "site_build"), messages(&report, "checks"));
    assert_eq!(messages, (Vec::new(), Vec::new()), "{report:#}");
    assert_eq!((gate(&report, "site_build"), gate(&report, "checks")), (&json!("passed"), &json!("passed")));
    assert_eq!(gate(&report, "external_links"), "skipped");
    assert_eq!(state, "READY_FOR_PR");
    scene.result("launch_open_pr", &run).await;
    let page = scene.site_git(&["show", &format!("launch/{run}/shop:content/docs/docs.md")]);
    assert!(!page.contains("\nx\n"), "a command changes nothing of what is published: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_an_error_or_a_warning() {
    let optional = CheckCommand { required: false, ..script("spelling", "echo 'no word: teh'; exit 4") };
    let checks = [optional, script("site_build", "echo no template >&2; exit 3")];
    let scene = scene(checks.to_vec()).await;
    let (run, state, report) = validated(&scene).await;
    assert_eq!((&state, gate(&report, "site_build")), (&json!("VALIDATING"), &json!("failed")));
    if !lacking().is_empty() {
        assert_none_ran(&report, &checks);
        return;
    }
    let built = "The command `site_build` ended with status 3. Its last lines:\nno template";
    assert_eq!(messages(&report, "site_build"), [("build_failed", built)]);
    let spelt = "The command `spelling` ended with status 4. Its last lines:\nno word: teh";
    assert_eq!(messages(&report, "checks"), [("check_failed", spelt)]);
    assert_eq!(gate(&report, "checks"), "passed", "in the profile local, a warning fails nothing");
    let refused = scene.error("launch_open_pr", &run).await;
    assert_eq!(code(&refused), "ILLEGAL_STATE");
}

/// Commands that try to read, write or use forbidden resources, each with words of the expected report.
fn hostile(seconds: &str, port: u16, canary: &Path) -> Vec<(CheckCommand, &'static str)> {
    let connect = format!(
        "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or die \"socket: $!\\n\"; \
         connect($s, sockaddr_in({port}, inet_aton('127.0.0.1'))) or die \"connect: $!\\n\"; print \"connected\\n\";"
    );
    let local = "use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die \"socket: $!\\n\"; print \"connected\\n\";";
    let datagrams = "use Socket; socketpair(my $s, my $t, AF_UNIX, SOCK_DGRAM, PF_UNSPEC) or die \"socketpair: $!\\n\"; print \"connected\\n\";";
    // A user namespace by `clone`, whose number is that of one of two architectures.
    let namespace = "use POSIX; my $clone = (POSIX::uname())[4] eq 'x86_64' ? 56 : 220; \
         my $child = syscall($clone, 0x10000011, 0, 0, 0, 0); die \"clone: $!\\n\" if $child < 0; print \"connected\\n\";";
    let leave = format!(
        "use POSIX; if (!fork) {{ POSIX::setsid(); if (!fork) {{ $SIG{{TERM}} = $SIG{{HUP}} = 'IGNORE'; sleep {seconds} }} exit }} \
         sleep 1; exit 5"
    );
    let outside = format!("echo x > {}; echo x > content/docs/old.md; exit 1", canary.display());
    let fork = format!("i=0; while [ $i -lt 200 ]; do sleep {seconds} & i=$((i+1)); done; echo all; exit 1");
    let stay = format!("trap '' TERM HUP INT; echo begun; while :; do sleep {seconds}; done");
    let memory = command("memory", &["perl", "-e", "my $x = 'a' x (3 << 30); print length $x"]);
    vec![
        (script("shadow", "cat /etc/shadow && echo readable"), "Permission denied"),
        (script("others", &format!("ls {} && echo readable", home().display())), "Permission denied"),
        (script("outside", &outside), "Permission denied"),
        (script("large", "exec dd if=/dev/zero of=public/large bs=1048576 count=10240"), "bytes of one file"),
        (CheckCommand { memory_bytes_max: 1 << 30, ..memory }, "limit of memory"),
        (command("network", &["perl", "-e", &connect]), "socket: Operation not permitted"),
        (command("local", &["perl", "-e", local]), "socket: Operation not permitted"),
        (command("datagrams", &["perl", "-e", datagrams]), "socketpair: Operation not permitted"),
        (command("namespace", &["perl", "-e", namespace]), "clone: Operation not permitted"),
        (script("forks", &fork), "limit of processes"),
        (command("leaves", &["perl", "-e", &leave]), "ended with status 5"),
        (CheckCommand { timeout_ms: 1500, ..script("stubborn", &stay) }, "limit of time"),
        (script("program", "cp /bin/true public/own && public/own"), "Permission denied"),
        (script("temporary", "cp /bin/true \"$TMPDIR/own\" && \"$TMPDIR/own\""), "Permission denied"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_commands_end_within_their_limits() {
    let (listener, seconds) = (TcpListener::bind("127.0.0.1:0").unwrap(), own_seconds(1));
    let canary = std::env::temp_dir().join(format!("pairofcleats-canary-{seconds}"));
    let checks = hostile(&seconds, listener.local_addr().unwrap().port(), &canary);
    let commands: Vec<CheckCommand> = checks.iter().map(|(check, _)| check.clone()).collect();
    if !can_confine(&commands).await {
        return;
    }
    let (_, state, report) = validated(&scene(commands).await).await;
    assert_eq!((&state, gate(&report, "checks")), (&json!("VALIDATING"), &json!("failed")), "{report:#}");
    let found = messages(&report, "checks");
    for (check, expected) in &checks {
        let named = format!("The command `{}` ", check.name);
        let message = found.iter().find(|(_, message)| message.starts_with(&named));
        let (found_as, message) = message.unwrap_or_else(|| panic!("{} passed: {report:#}", check.name));
        assert!(*found_as == "check_failed" && message.contains(expected), "{expected:?}: {message}");
        assert!(!message.contains("readable") && !message.contains("connected"), "{message}");
    }
    assert!(!canary.exists(), "{} was written", canary.display());
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "a client connected");
    assert_eq!(processes(&seconds), Vec::<String>::new(), "what commands started has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_required_protection_or_program_nothing_runs() {
    let lacking = Scene::with(|config| {
        config.launch.sites[0].checks = vec![script("site_build", "echo ran")];
        config.launch.sandbox_require.push("gravity".to_owned());
    })
    .await;
    let (run, state, report) = validated(&lacking).await;
    assert_eq!((&state, gate(&report, "site_build")), (&json!("VALIDATING"), &json!("failed")));
    let found = messages(&report, "site_build");
    assert!(
        matches!(&*found, [("build_not_run", why)] if why.contains("TOOLCHAIN_MISSING") && why.contains("gravity")),
        "{found:?}"
    );
    let refused = lacking.error("launch_open_pr", &run).await;
    assert_eq!(code(&refused), "ILLEGAL_STATE");

    let absent = || command("site_build", &["no-such-generator", "--minify"]);
    let (_, state, report) = validated(&scene(vec![absent()]).await).await;
    assert_eq!((&state, gate(&report, "site_build")), (&json!("VALIDATING"), &json!("failed")));
    let found = messages(&report, "site_build");
    assert!(
        matches!(&*found, [("build_not_run", why)] if why.contains("TOOLCHAIN_MISSING: `no-such-generator`")),
        "{found:?}"
    );
    let optional = CheckCommand { required: false, ..absent() };
    let (_, state, report) = validated(&scene(vec![optional]).await).await;
    assert_eq!((&state, gate(&report, "site_build")), (&json!("READY_FOR_PR"), &json!("skipped")));
    assert_eq!(messages(&report, "site_build").len(), 1, "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_validation_runs_the_commands_again() {
    let checks = [script("clock", "date +%s%N; exit 1")];
    if !can_confine(&checks).await {
        return;
    }
    let scene = scene(checks.to_vec()).await;
    let (run, _, first) = validated(&scene).await;
    let again = scene.result("launch_validate", &run).await["validation_report"].take();
    let (before, now) = (messages(&first, "checks"), messages(&again, "checks"));
    assert_eq!((before.len(), now.len()), (1, 1));
    assert_ne!(before, now, "an earlier result says nothing about today");
    let ids = |report: &Value| {
        report["issues"].as_array().unwrap().iter().find(|issue| issue["gate"] == "checks").unwrap()["issue_id"].clone()
    };
    assert_eq!(ids(&first), ids(&again), "it is the same issue");
}

/// Starts a run whose check runs until it is ended, and returns it with the call that waits for it.
async fn begin_check(scene: &Scene, seconds: &str) -> (String, tokio::task::JoinHandle<Value>) {
    let run = scene.start("shop").await;
    let (app, arguments) = (scene.app.clone(), scene.arguments(&run));
    let working = tokio::spawn(async move {
        loop {
            let envelope = call(&app, "launch_resume", arguments.clone()).await;
            if envelope["ok"] != true {
                return envelope;
            }
        }
    });
    wait_for("the command to run", async || {
        assert!(!working.is_finished(), "the call ended before the command ran");
        !processes(&format!("sleep {seconds}")).is_empty()
    })
    .await;
    (run, working)
}

fn endless(seconds: &str) -> CheckCommand {
    script("site_build", &format!("trap '' TERM; setsid sleep {seconds} & while :; do sleep {seconds}; done"))
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_run_ends_its_commands() {
    let seconds = own_seconds(2);
    let checks = [endless(&seconds)];
    if !can_confine(&checks).await {
        return;
    }
    let scene = scene(checks.to_vec()).await;
    let (run, working) = begin_check(&scene, &seconds).await;
    scene.result("launch_cancel", &run).await;
    let ended = working.await.unwrap();
    assert_eq!(code(&ended["error"]), "CANCELLED", "{ended:#}");
    wait_for("the processes to end", async || processes(&seconds).is_empty()).await;
    assert_eq!(scene.status(&run).await["state"], "CANCELLED");
    for tool in ["launch_resume", "launch_validate", "launch_open_pr"] {
        let refused = scene.error(tool, &run).await;
        assert_eq!(code(&refused), "CANCELLED", "{tool}: {refused:#}");
    }
    assert!(scene.published().is_empty());
}

/// Names the run that the process below advances.
const CHILD: &str = "PAIROFCLEATS_TEST_LAUNCH_CHECK";

/// Advances a run whose check does not end, in a process of its own that is killed. Not a test by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "commands_end_with_the_server_that_runs_them runs it in a process of its own"]
#[expect(clippy::disallowed_methods, reason = "a test passes its run on")]
async fn advance_to_a_check_that_does_not_end() {
    let Ok(named) = std::env::var(CHILD) else { return };
    let named: Value = serde_json::from_str(&named).unwrap();
    let text = |key: &str| named[key].as_str().unwrap();
    let app = app_for(home_of(&named), text("project"), Path::new(text("site")), |config| {
        config.launch.sites[0].checks = vec![endless(text("seconds"))];
    });
    let arguments = json!({ "run_id": text("run"), "project_id": text("project") });
    // It is killed long before.
    for _ in 0..20 {
        call(&app, "launch_resume", arguments.clone()).await;
    }
}

fn home_of(named: &Value) -> &Path {
    Path::new(named["home"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_end_with_the_server_that_runs_them() {
    let seconds = own_seconds(3);
    if !can_confine(&[endless(&seconds)]).await {
        return;
    }
    let scene = Scene::new().await;
    let run = scene.start("shop").await;
    let named = json!({
        "home": home(), "project": scene.project, "site": scene.site.path(), "run": run, "seconds": seconds,
    });
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "launch::checks::advance_to_a_check_that_does_not_end", "--nocapture"])
        .env(CHILD, named.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the command to run", async || {
        assert!(server.try_wait().unwrap().is_none(), "the server ended before the command ran");
        !processes(&format!("sleep {seconds}")).is_empty()
    })
    .await;
    server.kill().unwrap();
    server.wait().unwrap();
    wait_for("the command to end", async || processes(&format!("sleep {seconds}")).is_empty()).await;
}
