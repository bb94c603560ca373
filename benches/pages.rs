//! Time and weight of pages, compared with the calls that they are made of.
//!
//! `cargo bench --bench pages` indexes files, then asks in turns for `POST /search` and for the page of the same query, and for a
//! file of 5,000 lines as a page and by `show_file`; prints the times, their ratios, and the compressed bytes of a page without its
//! code.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use reqwest::{Client, Url, header};
use serde_json::{Value, json};
use surfaces::http::{listen, router_with};

mod corpus;

use corpus::{MODULES, median};

const FILES: usize = 400;
const HEAD_BYTES: usize = 2_500;
const ROUNDS: usize = 60;
const LINES: usize = 5_000;

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-pages");
    let _ = std::fs::remove_dir_all(&folder);
    let repository = folder.join("repository");
    let texts = corpus::collect(FILES, HEAD_BYTES, &repository);
    std::fs::write(repository.join("long.py"), long_file()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&folder, &repository, &texts));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Functions with calls, texts, numbers and comments.
fn long_file() -> String {
    let mut text = String::new();
    for at in 0..LINES / 5 {
        let _ = write!(
            text,
            "def step_{at}(value, limit={at}):\n    # Adds {at} unless it is too much.\n    \
             if value + {at} > limit:\n        raise ValueError(\"too much: {at}\")\n    return step_{next}(value)\n",
            next = at / 2
        );
    }
    text
}

async fn measure(folder: &Path, repository: &Path, texts: &[String]) {
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let app = corpus::app(&folder.join("home"), |config| config.server.port = 0);
    let listening = listen(&app).await.unwrap();
    let url = format!("http://{}", listening.address());
    let (serving, router) = (Arc::clone(&app), router_with(&app, &MODULES, MODULES.gate().tools()));
    let server = tokio::spawn(async move { listening.serve_router(&serving, router).await });
    corpus::call(&app, "build_index", json!({ "repoPath": repository })).await;

    let site = Site { url, client: Client::new() };
    let queries = corpus::sample_queries(texts, ROUNDS);
    let name = "repository";
    let (mut calls, mut pages, mut file_calls, mut file_pages) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS + 5 {
        let query = &queries[round % queries.len()];
        let call = site.call("/search", json!({ "query": query })).await;
        let page = site.page("/", &[("q", query)]).await;
        let arguments = json!({ "file": "long.py", "repoPath": name, "startLine": 1, "endLine": LINES });
        let file_call = site.call("/tools/show_file", arguments).await;
        let file_page = site.page(&format!("/p/default/r/{name}/-/long.py"), &[]).await;
        // The first rounds warm the caches and start the process that colours.
        if round >= 5 {
            calls.push(call);
            pages.push(page);
            file_calls.push(file_call);
            file_pages.push(file_page);
        }
    }
    let (calls, pages) = (median(calls), median(pages));
    let (file_calls, file_pages) = (median(file_calls), median(file_pages));
    println!("p50 of {ROUNDS} rounds, {FILES} files:");
    println!("  POST /search              {calls:7.1} ms");
    println!("  the page of the search    {pages:7.1} ms   {:.2}x", pages / calls);
    println!("  show_file, {LINES} lines     {file_calls:7.1} ms");
    println!("  the page of the file      {file_pages:7.1} ms   {:.2}x", file_pages / file_calls);
    println!("  weight of a page without code, compressed: {} bytes", site.weight().await);

    app.shutdown.cancel();
    server.await.unwrap();
    app.store().await.unwrap().database().close().await;
}

/// The server as a browser sees it.
struct Site {
    url: String,
    client: Client,
}

impl Site {
    async fn call(&self, path: &str, arguments: Value) -> f64 {
        let started = Instant::now();
        let response = self.client.post(format!("{}{path}", self.url)).json(&arguments).send().await.unwrap();
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["ok"], true, "{answer}");
        started.elapsed().as_secs_f64() * 1e3
    }

    async fn page(&self, path: &str, parameters: &[(&str, &str)]) -> f64 {
        let url = Url::parse_with_params(&format!("{}{path}", self.url), parameters).unwrap();
        let started = Instant::now();
        let response = self.client.get(url).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.status());
        drop(response.bytes().await.unwrap());
        started.elapsed().as_secs_f64() * 1e3
    }

    /// The bytes of the first page with its style, its script and its icon, as a browser gets them.
    async fn weight(&self) -> usize {
        let html = self.client.get(format!("{}/", self.url)).send().await.unwrap().text().await.unwrap();
        let assets = html.split('"').filter(|part| part.starts_with("/assets/"));
        let mut bytes = 0;
        for path in assets.chain(["/"]) {
            let request =
                self.client.get(format!("{}{path}", self.url)).header(header::ACCEPT_ENCODING, "gzip");
            bytes += request.send().await.unwrap().bytes().await.unwrap().len();
        }
        bytes
    }
}
