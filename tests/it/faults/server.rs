//! A server whose processes die, over a home of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;
use serde_json::Value;
use sqlx::{Connection, PgConnection, Row};

use crate::harness::{PROGRAM, cluster};

/// `pairofcleats serve`, which is started again when it was killed.
pub(super) struct Server {
    home: PathBuf,
    running: Option<(Child, String)>,
}

impl Server {
    pub(super) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), running: None }
    }

    /// Its address; it is started first where it does not run.
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
        let url =
            ready["result"]["url"].as_str().unwrap_or_else(|| panic!("it does not serve: {line}")).to_owned();
        self.running = Some((child, url.clone()));
        url
    }

    pub(super) fn pid(&self) -> Option<i32> {
        Some(Pid::from_child(&self.running.as_ref()?.0).as_raw_nonzero().get())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the cluster of a home keeps its data.
pub(super) async fn data_directory(home: &Path) -> PathBuf {
    let server = tokio::task::block_in_place(|| cluster(home));
    let mut connection = PgConnection::connect_with(&server.connect_options()).await.unwrap();
    let row =
        sqlx::query("SELECT current_setting('data_directory')").fetch_one(&mut connection).await.unwrap();
    row.get::<String, _>(0).into()
}

/// The processes that parse for a server; its threads start them.
pub(crate) fn parsers_of(server: i32) -> Vec<i32> {
    let own = server.to_string();
    let is_own = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().split(' ').nth(2) == Some(&own)
            && argument(*pid) == "parser"
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_own).collect()
}

/// The first argument of a process.
pub(super) fn argument(pid: i32) -> String {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split('\0').nth(1).unwrap_or_default().to_owned()
}
