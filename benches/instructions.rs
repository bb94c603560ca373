//! The instruction catalog at its largest, beside a search over as many chunks, as ratios within one run.
//!
//! `cargo bench --bench instructions` indexes 10,000 Markdown files and imports 10,000 entries with the same texts, then measures
//! each method beside `search`. `-- --entries N` sets the number.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]
#![expect(clippy::cast_precision_loss, reason = "counts are small")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gate::app::App;
use platform::sha256;
use serde_json::{Value, json};

mod corpus;

const ENTRIES: usize = 10_000;
const BODY_BYTES: usize = 900;
const CALLS: usize = 60;
/// Calls before those that are measured.
const WARM_UP: usize = 3;
/// Maximum number of entries of one import.
const PART: usize = 1000;
const TRACKED: usize = 1000;
const GATES: usize = 200;

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-instructions");
    let count =
        std::env::args().skip_while(|arg| arg != "--entries").nth(1).map_or(ENTRIES, |n| n.parse().unwrap());
    let _ = std::fs::remove_dir_all(&folder);
    let sources = corpus::collect(count, BODY_BYTES, &folder.join("sources"));
    let texts: Vec<String> =
        (0..count).map(|at| format!("Rule {at}. {}", sources[at % sources.len()])).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&folder, &texts));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn measure(folder: &Path, texts: &[String]) {
    let app = corpus::app(&folder.join("home"), |config| config.instructions.mutation = true);
    println!("{} entries of about {BODY_BYTES} bytes, as Markdown files and as a catalog:", texts.len());
    measure_imports(&app, folder, texts).await;

    let query = |at: usize| -> String {
        let words = texts[at * 97 % texts.len()].chars().take(120);
        words.map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect()
    };
    let search = time(&app, "search", |at| json!({ "query": query(at), "project_id": "files" })).await;
    println!("  search over the files      {search}");
    let semantic = |at| json!({ "q": query(at), "semantic": true, "project_id": "rules" });
    let semantic = time(&app, "instructions_search", semantic).await;
    println!("  semantic search            {semantic}, {:.2}x of search", semantic.p50 / search.p50);

    let gate = |at: usize| {
        let condition = json!({ "category": format!("part-{at}"), "priorityLte": 50 });
        json!({ "id": format!("g{at}"), "severity": "error", "type": "count", "where": condition, "op": ">=", "value": 0 })
    };
    let gates: Vec<Value> = (0..GATES).map(gate).collect();
    let import = json!({ "entries": [], "gates": { "gates": gates }, "project_id": "rules" });
    corpus::call(&app, "instructions_import", import).await;
    for (label, tool, arguments) in [
        ("list, 1,000 in short", "instructions_list", json!({ "fields": "summary", "limit": 1000 })),
        ("list, all", "instructions_list", json!({})),
        ("get", "instructions_get", json!({ "id": "rule-00042" })),
        ("search for a substring", "instructions_search", json!({ "q": "rule 42." })),
        ("checksums", "instructions_checksums", json!({})),
        ("gates, 200", "gates_evaluate", json!({})),
        ("verify", "integrity_verify", json!({})),
        ("hot set", "usage_hotset", json!({})),
    ] {
        let arguments = |_| {
            let mut arguments = arguments.clone();
            arguments["project_id"] = "rules".into();
            arguments
        };
        let times = time(&app, tool, arguments).await;
        println!("  {label:<26} {times}, {:.2}x of search", times.p50 / search.p50);
    }
    measure_differences(&app, texts).await;
    let started = Instant::now();
    for at in 0..TRACKED {
        let id = format!("rule-{:05}", at % texts.len());
        corpus::call(&app, "usage_track", json!({ "id": id, "project_id": "rules" })).await;
    }
    println!("  track, {TRACKED} times          {:.2} ms each", milliseconds(started) / TRACKED as f64);
    app.store().await.unwrap().database().close().await;
}

/// The texts as files, and as entries: imported, and then indexed.
async fn measure_imports(app: &Arc<App>, folder: &Path, texts: &[String]) {
    let repository = folder.join("repository");
    std::fs::create_dir_all(&repository).unwrap();
    for (at, text) in texts.iter().enumerate() {
        std::fs::write(repository.join(format!("rule-{at:05}.md")), format!("# Rule {at}\n\n{text}\n"))
            .unwrap();
    }
    let started = Instant::now();
    corpus::call(app, "build_index", json!({ "repoPath": repository, "project_id": "files" })).await;
    let indexing = milliseconds(started);
    let entries: Vec<Value> = texts.iter().enumerate().map(|(at, text)| entry(at, text)).collect();
    let started = Instant::now();
    for part in entries.chunks(PART) {
        corpus::call(app, "instructions_import", json!({ "entries": part, "project_id": "rules" })).await;
    }
    let importing = milliseconds(started);
    wait_until_indexed(app).await;
    let in_all = milliseconds(started);
    println!("  files indexed              {:.1} s", indexing / 1e3);
    println!("  entries imported           {:.1} s", importing / 1e3);
    println!("  … and indexed              {:.1} s, {:.2}x of the files", in_all / 1e3, in_all / indexing);
}

/// The difference of ten entries, and the bytes that one bucket's difference moves.
async fn measure_differences(app: &Arc<App>, texts: &[String]) {
    let every = (texts.len() / 10).max(1);
    let known: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let body = if at % every == 0 {
                "changed".to_owned()
            } else {
                instructions::canonical::normalised_text(text)
            };
            json!({ "id": format!("rule-{at:05}"), "sourceHash": sha256::digest_hex(body.as_bytes()) })
        })
        .collect();
    let times = time(app, "instructions_diff", |_| json!({ "known": known, "project_id": "rules" })).await;
    println!("  difference of 10           {times}");
    let bucket = |id: &str| sha256::digest_hex(id.as_bytes())[..2].to_owned();
    let wanted = bucket("rule-00000");
    let of_bucket: Vec<&Value> =
        known.iter().filter(|known| bucket(known["id"].as_str().unwrap()) == wanted).collect();
    let arguments = json!({ "known": of_bucket, "buckets": [wanted], "project_id": "rules" });
    let answer = corpus::call(app, "instructions_diff", arguments.clone()).await;
    let moved = (answer.to_string().len() + arguments.to_string().len()) as f64;
    let mut full = 0;
    let mut cursor = Value::Null;
    loop {
        let page =
            corpus::call(app, "instructions_diff", json!({ "cursor": cursor, "project_id": "rules" })).await;
        full += page.to_string().len();
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    println!(
        "  difference of one bucket   {moved} bytes, {:.2} % of all entries",
        moved / full as f64 * 100.0
    );
}

fn entry(at: usize, text: &str) -> Value {
    json!({ "id": format!("rule-{at:05}"), "title": format!("Rule {at}"), "body": text, "priority": at % 100 + 1,
        "audience": "all", "requirement": "recommended", "categories": [format!("part-{}", at % GATES)] })
}

async fn wait_until_indexed(app: &Arc<App>) {
    loop {
        let status = corpus::call(app, "index_status", json!({ "project_id": "rules" })).await;
        let jobs = status["jobs"].as_array().cloned().unwrap_or_default();
        if jobs.iter().all(|job| !matches!(job["state"].as_str(), Some("queued" | "running"))) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Percentiles of durations in milliseconds.
struct Times {
    p50: f64,
    p95: f64,
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.1} ms, p95 {:.1} ms", self.p50, self.p95)
    }
}

async fn time(app: &Arc<App>, tool: &str, arguments: impl Fn(usize) -> Value) -> Times {
    let mut taken = Vec::with_capacity(CALLS);
    for at in 0..CALLS + WARM_UP {
        let arguments = arguments(at);
        let started = Instant::now();
        corpus::call(app, tool, arguments).await;
        if at >= WARM_UP {
            taken.push(milliseconds(started));
        }
    }
    taken.sort_by(f64::total_cmp);
    Times { p50: taken[taken.len() / 2], p95: taken[taken.len() * 95 / 100] }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
