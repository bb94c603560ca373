//! The startup time of a server.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use contract::Fault;

/// Timeout of the start.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Interval of readiness checks.
const POLL: Duration = Duration::from_millis(5);

/// Starts a server on `home`, waits until it is ready and stops it; returns the seconds until it was ready.
///
/// # Errors
/// `INTERNAL` if it does not start or is not ready in time.
pub(super) async fn startup_seconds(program: &Path, home: &Path) -> Result<f64, Fault> {
    let started = Instant::now();
    let mut server = Command::new(program)
        .args(["serve", "--port", "0", "--json"])
        .env("PAIROFCLEATS_HOME", home)
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let ready = tokio::time::timeout(START_TIMEOUT, wait_until_ready(&mut server)).await;
    let seconds = started.elapsed().as_secs_f64();
    stop(server).await?;
    ready.map_err(failed)??;
    Ok((seconds * 1e3).round() / 1e3)
}

async fn wait_until_ready(server: &mut Child) -> Result<(), Fault> {
    let mut line = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).await.map_err(failed)?;
    }
    let announced: serde_json::Value = serde_json::from_str(&line).map_err(failed)?;
    let url = announced["result"]["url"].as_str().unwrap_or_default();
    let address = url.trim_start_matches("http://").to_owned();
    while !is_ready(&address).await {
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn is_ready(address: &str) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET /health/ready HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer.starts_with(b"HTTP/1.1 200"))
    };
    ask.await.unwrap_or(false)
}

async fn stop(mut server: Child) -> Result<(), Fault> {
    let pid = server.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        // Ignore the error of a process that has already exited.
        let _ = kill_process(pid, Signal::TERM);
    }
    server.wait().await.map_err(failed)?;
    Ok(())
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::internal("The server of the benchmark did not start.", error)
}
