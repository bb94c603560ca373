//! The host itself: git's own client takes from it what its repositories have, and meets each fault.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use super::http::Cut;
use super::{GitHost, HostedRepository, SeenRequest, TreeEntry, program};
use crate::harness::Dice;

/// Longest time for a call; one that takes longer hangs.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Path of a client's first request.
const REFS: &str = "/ada/coins.git/info/refs?service=git-upload-pack";
/// The request for all refs, in two parts of 0x14 and 0x11 bytes.
const LS_REFS: (&str, &str) = ("0014command=ls-refs\n", "00010009peel\n0000");
const FETCH_HEAD: &str = "POST /ada/coins.git/git-upload-pack HTTP/1.1\r\nHost: localhost\r\n\
    Content-Type: application/x-git-upload-pack-request\r\n";
/// The id of an empty file.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// Git's own client, in a folder.
struct Client(TempDir);

impl Client {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Runs git. Returns what it prints, or what it says when it fails.
    async fn try_git(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = Command::from(program::command(self.0.path()));
        command.current_dir(self.0.path()).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(TIME_MAX, command.output()).await.expect("git hangs").unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(error) }
    }

    /// Runs git, which must succeed. Returns what it prints, trimmed.
    async fn git(&self, arguments: &[&str]) -> String {
        let printed = self.try_git(arguments).await.unwrap();
        String::from_utf8(printed).unwrap().trim().to_owned()
    }

    /// Returns git's message when it cannot list the refs at a URL.
    async fn refusal(&self, url: &str) -> String {
        self.try_git(&["ls-remote", url]).await.expect_err("git must fail")
    }
}

/// Sends bytes to the host as they are.
async fn send(host: &GitHost, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(host.url().strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(request).await.unwrap();
    stream
}

/// Sends bytes to the host as they are. Returns its whole answer.
async fn exchange(host: &GitHost, request: &[u8]) -> String {
    let mut stream = send(host, request).await;
    let mut answer = Vec::new();
    timeout(TIME_MAX, stream.read_to_end(&mut answer)).await.expect("the host hangs").unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn get_request(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()
}

async fn get(host: &GitHost, target: &str) -> String {
    exchange(host, &get_request(target)).await
}

/// A repository with one small file.
fn small(host: &GitHost) -> HostedRepository {
    let repository = host.repository("ada/coins");
    repository.commit(&[("weigh.py", "def weigh():\n    return 1\n")], "First");
    repository
}

/// A repository whose pack has several hundred kilobytes.
fn large(host: &GitHost) -> HostedRepository {
    let (repository, mut dice) = (host.repository("ada/coins"), Dice(7));
    let text: String = (0..50_000).map(|_| format!("{:016x}\n", dice.next())).collect();
    repository.commit(&[("numbers.txt", &text)], "Numbers");
    repository
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIME_MAX, waiting).await.expect(what);
}

/// Counts the processes whose current directory is in a folder.
fn processes_below(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let folders = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|working| working.starts_with(folder)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_has_what_was_committed() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = host.repository("ada/coins");
    let files = [("src/weigh.py", "def weigh():\n"), ("a \"b\"\nc", "")];
    let first = repository.commit(&files, "First");
    let second = repository.remove(&["a \"b\"\nc"]);
    repository.branch("side");
    let third = repository.commit_to("side", &[("side.py", "x = 1\n")], "Third");
    let new = repository.commit_to("new", &[("src/weigh.py", "def weigh_all():\n")], "New");
    repository.tag("v1");
    let tag = repository.annotated_tag("v2", "Version 2");
    assert_eq!(repository.head(), second);
    assert_eq!(host.repository("eve/coins").commit(&files, "First"), first, "equal commits have equal ids");
    assert!(host.requests().is_empty(), "{:?}", host.requests());

    client.git(&["clone", "--quiet", "--mirror", &repository.url(), "copy"]).await;
    let format = "--format=%(refname) %(objectname)";
    assert_eq!(
        client.git(&["--git-dir=copy", "for-each-ref", format]).await,
        format!(
            "refs/heads/main {second}\nrefs/heads/new {new}\nrefs/heads/side {third}\nrefs/tags/v1 {second}\nrefs/tags/v2 {tag}"
        )
    );
    assert_eq!(
        client.git(&["--git-dir=copy", "rev-parse", "main~1", "v2^{}"]).await,
        format!("{first}\n{second}")
    );
    let listed = client.git(&["--git-dir=copy", "ls-tree", "-r", "--name-only", "side"]).await;
    assert_eq!(listed, "side.py\nsrc/weigh.py");
    assert_eq!(client.git(&["--git-dir=copy", "show", "new:src/weigh.py"]).await, "def weigh_all():");

    let seen = host.requests();
    let first = SeenRequest {
        method: "GET".to_owned(),
        path: "/ada/coins.git/info/refs".to_owned(),
        query: "service=git-upload-pack".to_owned(),
        has_authorization: false,
        git_protocol: Some("version=2".to_owned()),
    };
    assert_eq!(seen[0], first);
    let is_fetch =
        |seen: &SeenRequest| seen.method == "POST" && seen.path == "/ada/coins.git/git-upload-pack";
    assert!(seen.len() > 1 && seen[1..].iter().all(is_fetch), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_change_their_repositories() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = small(&host);
    let (first, url) = (repository.head(), repository.url());
    repository.commit_to("side", &[("side.py", "x = 1\n")], "Second");
    repository.set_default_branch("side");
    let dropped = repository.head();
    assert!(client.git(&["ls-remote", "--symref", &url, "HEAD"]).await.starts_with("ref: refs/heads/side\t"));
    repository.force_push_to(&first);
    repository.delete_branch("main");
    assert_eq!(
        client.git(&["-c", "protocol.version=0", "ls-remote", &url]).await,
        format!("{first}\tHEAD\n{first}\trefs/heads/side")
    );
    // Hosts also give commits that no branch has any more.
    client.git(&["init", "--quiet", "--bare", "one"]).await;
    client.git(&["--git-dir=one", "fetch", "--quiet", "--depth=1", &url, &dropped]).await;
    assert_eq!(client.git(&["--git-dir=one", "rev-list", "FETCH_HEAD"]).await, dropped);
    // … and histories without the content of files.
    let without_suffix = url.strip_suffix(".git").unwrap();
    client.git(&["clone", "--quiet", "--bare", "--filter=blob:none", without_suffix, "partial"]).await;
    let objects =
        client.git(&["--git-dir=partial", "rev-list", "--objects", "--missing=print", "HEAD"]).await;
    assert!(objects.lines().any(|line| line.starts_with('?')), "{objects}");

    assert!(repository.path().exists());
    repository.delete();
    assert!(client.refusal(&url).await.contains("not found"));
    assert!(get(&host, REFS).await.starts_with("HTTP/1.1 404"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_come_in_chunks_or_compressed() {
    use std::io::Write as _;

    let host = GitHost::start().await;
    small(&host);
    let (one, other) = LS_REFS;
    let chunked = format!(
        "{FETCH_HEAD}Git-Protocol: version=2\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n\
         14\r\n{one}\r\n11\r\n{other}\r\n0\r\n\r\n"
    );
    let answer = exchange(&host, chunked.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), "{answer}");
    assert!(answer.contains("refs/heads/main"), "{answer}");

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(format!("{one}{other}").as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let length = body.len();
    let mut compressed = format!(
        "{FETCH_HEAD}Git-Protocol: version=2\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes();
    compressed.extend_from_slice(&body);
    let answer = exchange(&host, &compressed).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("refs/heads/main"), "{answer}");

    let pushing = get(&host, "/ada/coins.git/info/refs?service=git-receive-pack").await;
    assert!(pushing.starts_with("HTTP/1.1 403"), "{pushing}");
    let head = exchange(&host, format!("HEAD {REFS} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_required_credentials_are_accepted() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = small(&host);
    let url_as = |user: &str| repository.url().replace("http://", &format!("http://{user}@"));
    // Their lengths differ in how base64 pads them.
    for password in ["a", "ab", "abc"] {
        repository.faults().require_credentials("ada", password);
        let listed = client.git(&["ls-remote", &url_as(&format!("ada:{password}"))]).await;
        assert!(listed.contains("refs/heads/main"), "{listed}");
        let refusal = client.refusal(&url_as("ada:wrong")).await;
        assert!(refusal.contains("Authentication failed"), "{refusal}");
        let refusal = client.refusal(&repository.url()).await;
        assert!(refusal.contains("terminal prompts disabled"), "{refusal}");
    }
    assert!(host.requests().iter().any(|seen| seen.has_authorization));

    let answer = get(&host, REFS).await;
    assert!(
        answer.starts_with("HTTP/1.1 401") && answer.contains("\r\nWWW-Authenticate: Basic "),
        "{answer}"
    );
    repository.faults().clear();
    host.faults().require_credentials("eve", "secret");
    assert!(get(&host, REFS).await.starts_with("HTTP/1.1 401"));
    client.git(&["clone", "--quiet", "--bare", &url_as("eve:secret"), "copy"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_meet_redirects_statuses_and_pages() {
    let (host, other, client) = (GitHost::start().await, GitHost::start().await, Client::new());
    let (repository, target) = (small(&host), small(&other));
    let commit = target.commit(&[("other.py", "x = 1\n")], "Second");
    host.faults().redirect_to(other.url());
    assert!(client.git(&["ls-remote", &repository.url()]).await.contains(&commit), "the other host answers");
    host.faults().clear();
    repository.faults().redirect_to(&target.url());
    assert!(client.git(&["ls-remote", &repository.url()]).await.contains(&commit), "the other host answers");
    assert!(get(&host, REFS).await.starts_with("HTTP/1.1 302"));
    repository.faults().clear();

    host.forget_requests();
    repository.faults().answer_with(503);
    let refusal = client.refusal(&repository.url()).await;
    assert!(refusal.contains("503"), "{refusal}");
    assert_eq!(host.requests().len(), 1, "requests that failed are known too");
    repository.faults().clear();
    repository.faults().garbage();
    let refusal = client.refusal(&repository.url()).await;
    assert!(refusal.contains("not valid"), "{refusal}");
    assert!(get(&host, REFS).await.contains("text/html"));
    repository.faults().clear();
    client.git(&["ls-remote", &repository.url()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_is_cut() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = large(&host);
    let url = repository.url();
    for bytes in [0, 100_000] {
        repository.faults().cut_after(bytes);
        let clone = ["clone", "--quiet", "--bare", url.as_str(), "copy"];
        client.try_git(&clone).await.expect_err("the pack is not complete");
        assert!(client.git(&["ls-remote", &url]).await.contains(&repository.head()));
    }
    repository.faults().cut_after(usize::MAX);
    client.git(&["clone", "--quiet", "--bare", &url, "copy"]).await;
    client.git(&["--git-dir=copy", "fsck"]).await;
}

#[test]
fn a_cut_counts_from_the_start_of_the_pack() {
    let answer = b"0008NAK\n0020\x01PACK\0\0\0\x02 and its objects";
    let start = 13_usize;
    for (left, size) in (0..40_usize).flat_map(|left| (1..40_usize).map(move |size| (left, size))) {
        let (mut cut, mut sent) = (Cut::after(left), 0);
        for part in answer.chunks(size) {
            let allowed = cut.allow(part);
            sent += allowed;
            if allowed < part.len() {
                break;
            }
        }
        // Parts before the one that ends the mark of a pack are sent by then.
        let sent_before = (start + 7) / size * size;
        assert_eq!(sent, (start + left).max(sent_before).min(answer.len()), "{left} in parts of {size}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_wait_or_trickle() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = small(&host);
    host.faults().delay(Duration::from_millis(300));
    let started = Instant::now();
    client.git(&["ls-remote", &repository.url()]).await;
    assert!(started.elapsed() >= Duration::from_millis(300));
    host.faults().clear();

    repository.faults().trickle();
    let started = Instant::now();
    let mut stream = send(&host, &get_request(REFS)).await;
    let mut answer = Vec::new();
    let reading = async {
        while !answer.ends_with(b"\r\n\r\n1\r\n0\r\n1\r\n0\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
    };
    timeout(TIME_MAX, reading).await.expect("the first two bytes come");
    assert!(started.elapsed() >= Duration::from_millis(400));
    let rest = timeout(Duration::from_millis(500), stream.read_to_end(&mut answer)).await;
    assert!(rest.is_err(), "the others come later");
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_may_be_hostile() {
    let (host, client) = (GitHost::start().await, Client::new());
    let repository = small(&host);
    let entries = [
        TreeEntry::file("..", "up\n"),
        TreeEntry::file(".git", "gitdir: /tmp\n"),
        TreeEntry::file("twice", ""),
        TreeEntry::file("twice", "again"),
        TreeEntry::file("two\nlines", "x"),
        TreeEntry::file(b"\xff\xfe", "x"),
        TreeEntry::symlink("link", "/etc/passwd"),
        TreeEntry::gitlink("module", &"1".repeat(40)),
        TreeEntry::folder("folder", vec![TreeEntry::file("a/b", "x")]),
        TreeEntry::raw("100664", "odd", EMPTY),
    ];
    let commit = repository.commit_tree_with(&entries, "Odd");
    assert_eq!(repository.head(), commit);
    client.git(&["clone", "--quiet", "--bare", &repository.url(), "copy"]).await;
    let listed =
        client.try_git(&["--git-dir=copy", "ls-tree", "-r", "-z", "--name-only", "HEAD"]).await.unwrap();
    let names = b"..\0.git\0twice\0twice\0two\nlines\0\xff\xfe\0link\0module\0folder/a/b\0odd\0";
    assert_eq!(listed, names);
    // Git shows the usual mode instead of an odd one, but the tree is as it was written.
    let tree = client.try_git(&["--git-dir=copy", "cat-file", "tree", "HEAD^{tree}"]).await.unwrap();
    let tree = String::from_utf8_lossy(&tree);
    for entry in ["100644 ..\0", "120000 link\0", "160000 module\0", "40000 folder\0", "100664 odd\0"] {
        assert!(tree.contains(entry), "{entry}");
    }
    assert_eq!(client.git(&["--git-dir=copy", "rev-list", "--count", "HEAD"]).await, "2");

    let url = repository.url();
    let checked = ["-c", "transfer.fsckObjects=true", "clone", "--bare", url.as_str(), "checked"];
    let refusal = client.try_git(&checked).await.expect_err("git refuses it if it is asked to check");
    assert!(refusal.contains("hasDotdot"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_the_host_started_ends_with_it() {
    let host = GitHost::start().await;
    let repository = large(&host);
    let folder = repository.path().canonicalize().unwrap();
    repository.faults().trickle();
    let body = format!("0032want {}\n00000009done\n", repository.head());
    let length = body.len();
    let request = format!("{FETCH_HEAD}Content-Length: {length}\r\n\r\n{body}");
    let mut stream = send(&host, request.as_bytes()).await;
    // The pack does not fit into the pipe, so the program waits.
    wait_until("git answers", || processes_below(&folder) > 0).await;
    drop(host);
    wait_until("no program is left", || processes_below(&folder) == 0).await;
    let mut rest = Vec::new();
    // Whether the connection is closed or reset does not matter.
    let _ = timeout(TIME_MAX, stream.read_to_end(&mut rest)).await.expect("the connection ends");
}
