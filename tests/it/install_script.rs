//! `packaging/install.sh` with a small archive in place of a release: what it leaves behind, and what it says when it fails.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "#!/bin/sh\necho 'pairofcleats 1.2.3'\n";

/// A machine with a home, a folder for temporary files, and a release.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "temporary", "release", "work", "programs"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        let script = include_str!("../../packaging/install.sh");
        let script = script.replace("@VERSION@", "1.2.3").replace("@REPOSITORY@", "file:///nowhere");
        fs::write(machine.path("install.sh"), script).unwrap();
        machine.release(PROGRAM);
        machine
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Makes a release whose program is this text.
    fn release(&self, program: &str) {
        let name = format!("pairofcleats-1.2.3-{}-unknown-linux-gnu", std::env::consts::ARCH);
        let unpacked = self.path("release").join(&name);
        fs::create_dir_all(&unpacked).unwrap();
        fs::write(unpacked.join("pairofcleats"), program).unwrap();
        let pack = format!("tar -cJf {name}.tar.xz {name} && sha256sum {name}.tar.xz >{name}.tar.xz.sha256");
        let packed = shell(&pack).current_dir(self.path("release")).status().unwrap();
        assert!(packed.success());
    }

    /// The script, started in an empty folder.
    #[expect(clippy::disallowed_methods, reason = "the script needs the machine's programs")]
    fn command(&self) -> Command {
        let mut command = shell("exec sh ../install.sh");
        let programs = format!("{}:{}", self.path("programs").display(), std::env::var("PATH").unwrap());
        command.env_clear().env("PATH", programs).env("HOME", self.path("home"));
        command.env("TMPDIR", self.path("temporary")).current_dir(self.path("work")).stdin(Stdio::null());
        command.env("PAIROFCLEATS_RELEASES", format!("file://{}", self.path("release").display()));
        command
    }

    /// Puts a program in front of the machine's own.
    fn fake(&self, name: &str, text: &str) {
        let path = self.path("programs").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_relative_folder_is_meant_from_where_the_script_was_started() {
    let machine = Machine::new();
    let output = machine.command().env("PAIROFCLEATS_BIN", "my/bin").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let installed = machine.path("work/my/bin/pairofcleats");
    assert!(installed.is_file(), "{}", text(&output));
    assert!(text(&output).contains(&format!("is installed as {}", installed.display())), "{}", text(&output));
    assert_eq!(machine.names("work/my/bin"), ["pairofcleats"]);
    assert!(machine.names("temporary").is_empty());
}

#[test]
fn a_program_that_does_not_run_replaces_none_that_does() {
    let machine = Machine::new();
    assert!(machine.command().status().unwrap().success());
    machine.release("#!/bin/sh\necho 'no such library' >&2\nexit 127\n");
    let output = machine.command().output().unwrap();
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("does not run in") && shown.contains("no such library"), "{shown}");
    assert!(!shown.contains("is installed"), "{shown}");
    assert_eq!(machine.names("home/.local/bin"), ["pairofcleats"]);
    assert_eq!(fs::read_to_string(machine.path("home/.local/bin/pairofcleats")).unwrap(), PROGRAM);
}

#[test]
fn failures_are_reported_plainly_and_leave_nothing() {
    let machine = Machine::new();
    let output = machine.command().env_remove("HOME").output().unwrap();
    assert!(text(&output).contains("install.sh: HOME is not set, so"), "{}", text(&output));

    machine.fake(
        "cp",
        "#!/bin/sh\nfor last; do :; done\n: >\"$last\"\necho 'cp: No space left on device' >&2\nexit 1\n",
    );
    let output = machine.command().output().unwrap();
    let full = format!("the disk of {} is full", machine.path("home/.local/bin").display());
    assert!(output.status.code() == Some(1) && text(&output).contains(&full), "{}", text(&output));
    assert!(machine.names("home/.local/bin").is_empty() && machine.names("temporary").is_empty());

    for address in [
        "http://user:s3cret@127.0.0.1:1/x",
        "http://user:s3/s3cret@127.0.0.1:1/x",
        "http://127.0.0.1:1/x?token=s3cret",
    ] {
        let output = machine.command().env("PAIROFCLEATS_RELEASES", address).output().unwrap();
        let shown = text(&output);
        assert!(shown.contains("127.0.0.1:1/x/pairofcleats-1.2.3-"), "{shown}");
        assert!(shown.contains("could not be downloaded") && !shown.contains("s3"), "{shown}");
    }
}

/// A server that accepts and then says nothing: the script ends at once, and takes its folder and `curl` with it.
#[test]
fn a_signal_ends_the_script_and_leaves_nothing() {
    let machine = Machine::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let mut script = machine.command().env("PAIROFCLEATS_RELEASES", address).spawn().unwrap();
    let (mut connection, _) = server.accept().unwrap();
    assert_eq!(machine.names("temporary").len(), 1);
    let started = Instant::now();
    let process = rustix::process::Pid::from_child(&script);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(script.wait().unwrap().code(), Some(143));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(machine.names("temporary").is_empty(), "{:?}", machine.names("temporary"));
    connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut request = Vec::new();
    assert!(connection.read_to_end(&mut request).is_ok(), "the connection of curl is closed");
}

/// A stalled download ends by itself.
#[test]
fn downloads_have_limits_of_time() {
    let machine = Machine::new();
    machine.fake("curl", "#!/bin/sh\necho \"$@\" >&2\nexit 28\n");
    let output = machine.command().output().unwrap();
    for limit in ["--connect-timeout", "--speed-limit", "--speed-time"] {
        assert!(text(&output).contains(limit), "{}", text(&output));
    }
    assert!(!Path::new(&machine.path("home/.local")).exists());
}
