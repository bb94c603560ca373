//! Answers by `git http-backend`, a CGI program: the request is in its environment and its input, and its output is the answer,
//! with a head of its own.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::tcp::ReadHalf;
use tokio::process::{Child, ChildStdout, Command};

use super::State;
use super::http::{Answer, FixedAnswer, Request};
use super::program;

const BUFFER_BYTES: usize = 16 * 1024;

/// A program that ends, with all programs that it started, when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A program that was waited for has no id.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Answers a request by git.
pub(super) async fn answer(
    state: &State,
    request: &Request,
    reader: &mut BufReader<ReadHalf<'_>>,
    answer: &mut Answer<'_>,
) -> io::Result<()> {
    let mut running = Running(command(state, request).spawn()?);
    let mut stdin = running.0.stdin.take().unwrap();
    let stdout = running.0.stdout.take().unwrap();
    let feed = async move {
        // The program may end before it has read everything.
        let _ = request.copy_body(reader, &mut stdin).await;
    };
    let ((), relayed) = tokio::join!(feed, relay(stdout, answer));
    relayed?;
    running.0.wait().await?;
    Ok(())
}

fn command(state: &State, request: &Request) -> Command {
    let mut command = Command::from(program::command(&state.home()));
    command.arg("http-backend").current_dir(state.repositories());
    command.env("GIT_PROJECT_ROOT", state.repositories()).env("GIT_HTTP_EXPORT_ALL", "1");
    command.env("GATEWAY_INTERFACE", "CGI/1.1").env("REMOTE_ADDR", "127.0.0.1");
    command.env("REQUEST_METHOD", &request.method).env("QUERY_STRING", &request.query);
    command.env("PATH_INFO", request.decoded_path());
    let variables = [
        ("CONTENT_TYPE", "content-type"),
        ("CONTENT_LENGTH", "content-length"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ("GIT_PROTOCOL", "git-protocol"),
    ];
    for (variable, header) in variables {
        match request.header(header) {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    command
}

/// Passes on what the program answers.
async fn relay(stdout: ChildStdout, answer: &mut Answer<'_>) -> io::Result<()> {
    let mut stdout = BufReader::new(stdout);
    let (mut status, mut headers) = (200, Vec::<(String, String)>::new());
    let mut line = String::new();
    loop {
        line.clear();
        if stdout.read_line(&mut line).await? == 0 {
            let plain = ("Content-Type", "text/plain".to_owned());
            return answer.send(&FixedAnswer::new(502, plain, "git http-backend did not answer\n")).await;
        }
        let Some((name, value)) = line.split_once(':') else {
            // The empty line that ends the head.
            break;
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            status = value.split(' ').next().unwrap_or_default().parse::<u16>().map_err(io::Error::other)?;
        } else if !name.eq_ignore_ascii_case("content-length") {
            // The answer is sent in chunks, which have a length each.
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    answer.head(status, &headers).await?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = stdout.read(&mut buffer).await?;
        if count == 0 {
            return answer.end().await;
        }
        answer.body(&buffer[..count]).await?;
    }
}
