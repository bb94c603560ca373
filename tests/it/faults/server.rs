//! A server process that tests kill, over its own home.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;
use serde_json::Value;
use sqlx::{Connection, PgConnection, Row};

use crate::harness::{PROGRAM, cluster};

/// `pairofcleats serve`, restarted on demand after it was killed.
pub(super) struct KillableServer {
    home: PathBuf,
    running: Option<(Child, String)>,
}

impl KillableServer {
    pub(super) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), running: None }
    }

    /// URL of the server; starts it first if it does not run.
    pub(super) fn url(&mut self) -> String {
        if let Some((child, url)) = &mut self.running
            && child.try_wait().unwrap().is_none()
        {
            return url.clone();
        }
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--port", "0", "--json"])
            .env("PAIROFCLEATS_HOME", &self.home)
            .env_remove("DATABASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = ready["result"]["url"]
            .as_str()
            .unwrap_or_else(|| panic!("the server printed no URL: {line}"))
            .to_owned();
        self.running = Some((child, url.clone()));
        url
    }

    pub(super) fn pid(&self) -> Option<i32> {
        Some(Pid::from_child(&self.running.as_ref()?.0).as_raw_nonzero().get())
    }
}

impl Drop for KillableServer {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Data directory of the cluster of a home.
pub(super) async fn data_directory(home: &Path) -> PathBuf {
    let server = tokio::task::block_in_place(|| cluster(home));
    let mut connection = PgConnection::connect_with(&server.connect_options()).await.unwrap();
    let row =
        sqlx::query("SELECT current_setting('data_directory')").fetch_one(&mut connection).await.unwrap();
    row.get::<String, _>(0).into()
}

/// The parser processes of a server.
pub(crate) fn parsers_of(server: i32) -> Vec<i32> {
    let server_pid = server.to_string();
    let is_parser = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().split(' ').nth(2) == Some(&server_pid)
            && argument(*pid) == "parser"
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_parser).collect()
}

/// The first argument of a process.
pub(super) fn argument(pid: i32) -> String {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split('\0').nth(1).unwrap_or_default().to_owned()
}
