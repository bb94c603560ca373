//! Links to other hosts: requests go only to the hosts that the site profile lists.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use launch::evidence::Questions;
use launch::worker::{LINK, PAGE_PLAN, SiteView, Worker, WorkerError, WorkerInput, WorkerOutput};
use launch_runs::runs::WorkerTable;
use serde_json::Value;

use super::{Scene, app_with_workers, bare_site, product, workers};
use crate::harness::{home, project};

/// A server that records what is asked, as method and path.
struct Recorder {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// A server whose path `/away` leads to another port.
    fn start(other: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let record = Arc::clone(&record);
                thread::spawn(move || answer(&stream, other, &record));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

fn answer(stream: &TcpStream, other: u16, record: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(first)) = lines.next() else { return };
    // The rest of the head, which ends with an empty line.
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let asked = first.rsplit_once(' ').map_or("", |(asked, _)| asked);
    record.lock().unwrap().push(asked.to_owned());
    let head = match asked {
        "HEAD /ok" | "GET /no-head" => "200 OK\r\n".to_owned(),
        "HEAD /no-head" => "405 Method Not Allowed\r\n".to_owned(),
        "HEAD /moved" => "302 Found\r\nLocation: /ok\r\n".to_owned(),
        "HEAD /away" => format!("302 Found\r\nLocation: http://127.0.0.1:{other}/\r\n"),
        "HEAD /broken" | "GET /broken" => "500 Internal Server Error\r\n".to_owned(),
        _ => "404 Not Found\r\n".to_owned(),
    };
    let mut stream = stream;
    // The client may be gone.
    let _ = write!(stream, "HTTP/1.1 {head}Content-Length: 0\r\nConnection: close\r\n\r\n");
}

/// Text added to a page, by the slug of the product.
static ADDED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

static LINK_WITH_LINKS: Worker = Worker {
    name: LINK,
    version: 1,
    artifacts: &[PAGE_PLAN, "drafts/"],
    site: SiteView::Base,
    parses: false,
    asks: |_| Questions::default(),
    run: link,
};

fn link(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let usual = workers::TABLE.iter().find(|worker| worker.name == LINK).expect("there is one");
    let mut output = (usual.run)(input)?;
    let added = ADDED.lock().unwrap().get(&input.item.config.product_slug).cloned().unwrap_or_default();
    let page = output.changes.iter_mut().find(|change| change.path.ends_with("docs.md"));
    page.expect("there is a page").bytes.extend(added.into_bytes());
    Ok(output)
}

/// The usual workers; the one that links also adds links.
fn table() -> WorkerTable {
    let replaced = |worker: &&'static Worker| if worker.name == LINK { &LINK_WITH_LINKS } else { *worker };
    Box::leak(workers::TABLE.iter().map(replaced).collect::<Vec<_>>().into_boxed_slice())
}

/// Validates a run whose page has these links, and returns the report. Of the site, these hosts are listed.
async fn report(slug: &str, links: &[String], hosts: Vec<String>) -> Value {
    let text: String = links.iter().map(|link| format!("\n[there]({link})\n")).collect();
    ADDED.lock().unwrap().insert(slug.to_owned(), text);
    let (project, site) = (project("launch"), bare_site());
    let app = app_with_workers(table(), home(), &project, site.path(), |config| {
        config.launch.sites[0].external_hosts = hosts;
    });
    let scene = Scene { app, project, repository: product(), site }.indexed().await;
    let run = scene.start(slug).await;
    scene.drive(&run).await;
    serde_json::from_str(&scene.artifact(&run, "validation_report.json").await).unwrap()
}

/// Returns the issues of the gate as code and the end of the link, sorted, except those that are only information.
fn found(report: &Value) -> Vec<(String, String)> {
    let issues = report["issues"].as_array().unwrap().iter();
    let of_gate = issues.filter(|issue| issue["gate"] == "external_links" && issue["severity"] != "info");
    let mut found: Vec<(String, String)> = of_gate
        .map(|issue| {
            let message = issue["message"].as_str().unwrap();
            let link = message.split('`').nth(1).unwrap_or_default();
            let path = link.rsplit_once('/').map_or("", |(_, path)| path);
            (issue["code"].as_str().unwrap().to_owned(), path.to_owned())
        })
        .collect();
    found.sort();
    found
}

fn status(report: &Value) -> &Value {
    let gates = report["gates"].as_array().unwrap();
    &gates.iter().find(|gate| gate["gate"] == "external_links").unwrap()["status"]
}

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_hosts_are_asked() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let other_port = other.local_addr().unwrap().port();
    let server = Recorder::start(other_port);
    let at = |path: &str| format!("http://127.0.0.1:{}/{path}", server.port);
    let mut links: Vec<String> =
        ["ok#part", "ok", "no-head", "moved", "away", "broken", "gone#part"].map(at).to_vec();
    links.push(format!("http://127.0.0.1:{other_port}/"));
    links.push(format!("http://user:secret@127.0.0.1:{}/user", server.port));
    let report = report("linked", &links, vec![format!("127.0.0.1:{}", server.port)]).await;
    let expected = [
        ("external_link_gone", "gone#part"),
        ("external_link_unclear", "away"),
        ("external_link_unclear", "broken"),
    ];
    assert_eq!(found(&report), expected.map(|(code, path)| (code.to_owned(), path.to_owned())), "{report:#}");
    assert_eq!(status(&report), "failed");
    let asked = [
        "GET /broken", "GET /gone", "GET /no-head", "HEAD /away", "HEAD /broken", "HEAD /gone",
        "HEAD /moved", "HEAD /no-head", "HEAD /ok", "HEAD /ok",
    ];
    assert_eq!(server.asked(), asked);
    other.set_nonblocking(true).unwrap();
    assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "the host is not listed");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_list_no_host_is_asked() {
    let server = Recorder::start(9);
    let links = [format!("http://127.0.0.1:{}/gone", server.port)];
    let unlisted = report("unlisted", &links, Vec::new()).await;
    assert_eq!((status(&unlisted).as_str(), found(&unlisted)), (Some("skipped"), Vec::new()));
    // Listed without its port, a host is not this machine.
    let without_port = report("without-port", &links, vec!["127.0.0.1".to_owned()]).await;
    assert_eq!((status(&without_port).as_str(), found(&without_port)), (Some("passed"), Vec::new()));
    assert_eq!(server.asked(), Vec::<String>::new());
}
