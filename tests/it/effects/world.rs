//! The world of one call: two projects, three repositories and a folder, and what the call leaves behind in them.

use std::path::Path;
use std::sync::Arc;

use contract::clock::{Clock, SystemClock, iso_millis};
use gate::app::App;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::table::{Prepared, catalog_entry};
use crate::harness::{app_with, project, result, try_call};

/// Fields of an answer that differ between equal calls.
const VOLATILE_FIELDS: &[&str] = &[
    "ts", "chunk_id", "sha256", "durationMs", "requestId", "latency_ms", "uptimeMs", "ms", "jobId", "job_id",
    "id", "startedAt", "finishedAt", "indexedAt", "updatedAt", "lastUsedAt", "avgMs", "maxMs", "createdAt",
    "generatedAt", "last_indexed", "lastIndexed", "totalMs", "elapsedMs", "timings", "took", "walkMs",
    "chunkMs", "embedMs", "writeMs", "worker", "connections", "disk", "diskFreeBytes", "fence", "generation",
    "etag", "seconds", "lexicalSeconds", "wordsSeconds", "secondsLeft", "machine", "duration_ms", "at",
    "stats", "rowsPerSecond", "ts_ms", "durations", "freedBytes",
];

/// A world for one call, shared with no other call.
pub(super) struct World {
    pub(super) app: Arc<App>,
    /// The placeholders of the table with their values; a placeholder that begins with another one comes first.
    names: Vec<(&'static str, String)>,
    ours: String,
    folder: TempDir,
}

impl World {
    /// A world with the content that `prepared` names.
    pub(super) async fn new(prepared: Prepared) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap();
        let lists = dir.join("lists");
        let app = app_with(|config| config.dictionaries.dir = Some(lists));
        // The repositories have fixed names, so that lists have the same order in every world.
        for (path, text) in [
            ("shop/cash.py", "def drawer(coins):\n    return sum(coins)\n"),
            ("shop/guide.md", "# Drawer\n\nHow coins are counted.\n"),
            ("shop/report.jsonl", crate::triage::GENERIC),
            ("shop/other.jsonl", "{\"title\": \"Open door\"}\n"),
            ("bank/bank.py", "def vault(gold):\n    return len(gold)\n"),
            ("mill/mill.py", "def grind(corn):\n    return corn\n"),
            ("given/ours.txt", "drawer 10\ncoins 5\n"),
        ] {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (ours, theirs, fresh) = (project("effects"), project("others"), project("fresh"));
        std::fs::create_dir_all(dir.join("named")).unwrap();
        std::fs::write(dir.join("named/.pairofcleats.json"), json!({ "project_id": ours }).to_string())
            .unwrap();
        let mut world = Self {
            names: vec![
                ("$ROOT2", dir.join("bank").to_string_lossy().into_owned()),
                ("$ROOT3", dir.join("mill").to_string_lossy().into_owned()),
                ("$ROOT", dir.join("shop").to_string_lossy().into_owned()),
                ("$DIR", dir.to_string_lossy().into_owned()),
                ("$OURS", ours.clone()),
                ("$THEIRS", theirs),
                ("$FRESH", fresh),
            ],
            app,
            ours,
            folder,
        };
        world.prepare(prepared).await;
        world
    }

    async fn prepare(&mut self, prepared: Prepared) {
        use Prepared::{Catalog, Dictionary, Extension, Findings, Indexed, Leftovers, Nothing, Portable};
        if !matches!(prepared, Nothing | Extension | Dictionary) {
            for (repository, project) in [("$ROOT", "$OURS"), ("$ROOT2", "$OURS"), ("$ROOT3", "$THEIRS")] {
                self.call("build_index", json!({ "repoPath": repository, "project_id": project })).await;
            }
        }
        match prepared {
            Nothing | Indexed => {}
            Findings => {
                let report =
                    json!({ "source": "generic", "payload": crate::triage::GENERIC, "project_id": "$OURS" });
                let ingested = self.call("triage_ingest", report).await;
                let id = |at: usize| ingested["recordIds"][at].as_str().unwrap().to_owned();
                self.names.insert(0, ("$FINDING2", id(1)));
                self.names.insert(1, ("$FINDING", id(0)));
            }
            Catalog => {
                let entries = [("a", "Count twice.", "counting"), ("b", "Count the coins.", "style")];
                let entries = entries.map(|(id, body, category)| catalog_entry(id, body, category));
                let gates = json!({ "gates": [{ "id": "some", "severity": "error", "type": "count", "op": ">", "value": 0 }] });
                let rule = json!({ "id": "team/stuff", "pattern": "stuff", "severity": "low", "description": "d", "remediation": "r" });
                let criteria = json!({ "categories": [{ "id": "team", "rules": [rule] }] });
                let import = json!({ "entries": entries, "gates": gates, "criteria": criteria, "project_id": "$OURS" });
                self.call("instructions_import", import).await;
                let import =
                    json!({ "entries": [catalog_entry("c", "Grind.", "mill")], "project_id": "$THEIRS" });
                self.call("instructions_import", import).await;
                for project in ["$OURS", "$THEIRS"] {
                    crate::instructions::wait_until_indexed(&self.app, &self.names_of(project)).await;
                }
            }
            Portable => {
                self.call("build_sqlite_index", json!({ "project_id": "$OURS" })).await;
            }
            Leftovers => crate::upkeep::write_aged_file(&self.app, &self.ours, "exports/old.zip", 500, 90),
            Dictionary => {
                let list = json!({ "url": "ours=http://127.0.0.1:9/ours.txt", "from": "$DIR/given", "dir": "$DIR/words" });
                self.call("download_dictionaries", list).await;
            }
            Extension => {
                self.call("download_extensions", json!({ "dir": "$DIR/ext" })).await;
            }
        }
    }

    /// The value of a placeholder.
    fn names_of(&self, placeholder: &str) -> String {
        self.fill_in(&json!(placeholder)).as_str().unwrap().to_owned()
    }

    /// `value` with the placeholders replaced.
    pub(super) fn fill_in(&self, value: &Value) -> Value {
        let mut text = value.to_string();
        for (placeholder, name) in &self.names {
            text = text.replace(placeholder, name);
        }
        serde_json::from_str(&text).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        result(&self.app, tool, self.fill_in(&arguments)).await
    }

    /// Makes a call and returns its answer and what it left behind, with placeholders for names, so that two worlds can be compared.
    pub(super) async fn observe(&self, tool: &str, arguments: &Value) -> Value {
        let answer = match try_call(&self.app, tool, self.fill_in(arguments)).await {
            Ok(mut envelope) => {
                let warnings = envelope["_meta"]["warnings"].take();
                json!({ "result": envelope["result"], "error": envelope["error"], "warnings": warnings })
            }
            Err(refusal) => json!({ "refused": refusal.to_fault().message }),
        };
        let mut observed =
            json!({ "answered": answer, "left_behind": self.left_behind(tool, &answer).await });
        remove_volatile(&mut observed);
        let mut text = observed.to_string();
        if let Some(record) = answer["result"]["recordId"].as_str() {
            text = text.replace(record, "$RECORD");
        }
        for (placeholder, name) in &self.names {
            text = text.replace(name.as_str(), placeholder).replace(&name.replace('-', "_"), placeholder);
        }
        serde_json::from_str(&text).unwrap()
    }

    /// Returns what a call may have left behind: files and records.
    async fn left_behind(&self, tool: &str, answer: &Value) -> Value {
        let mut left_behind = json!({ "folder": files(self.folder.path()), "project": files(&self.app.layout.project(&self.ours)) });
        if tool.starts_with("triage") {
            if let Some(path) = answer["result"]["path"].as_str().filter(|path| path.starts_with("triage/")) {
                let arguments = json!({ "path": path, "project_id": self.ours });
                left_behind["record"] = text_of(&try_call(&self.app, "show_file", arguments).await.unwrap());
            }
            let all =
                json!({ "query": "NOT lang:rust", "mode": "records", "top": 50, "project_id": self.ours });
            let found = try_call(&self.app, "search", all).await.unwrap();
            left_behind["records"] = found["result"]["hits"].as_array().map_or(Value::Null, |hits| {
                let mut texts: Vec<&str> = hits.iter().filter_map(|hit| hit["headline"].as_str()).collect();
                texts.sort_unstable();
                json!(texts)
            });
        }
        left_behind
    }
}

fn text_of(shown: &Value) -> Value {
    shown["result"]["text"].clone()
}

/// The sorted paths of the files below a folder, without hidden files.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                // Hidden files are locks and partial files.
                if !name.rsplit('/').next().unwrap_or_default().starts_with('.') {
                    found.push(name);
                }
            }
        }
    }
    found.sort();
    found
}

/// Removes what differs between equal calls: times, ids and lines with today's date.
fn remove_volatile(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let is_time =
                |name: &str| ["Ms", "_ms", "Seconds", "_seconds"].iter().any(|end| name.ends_with(end));
            if object.get("what").is_some_and(|what| what == "jobs") {
                // The report of a job has times, and so differs in length.
                object.remove("bytes");
            }
            object.retain(|name, _| !VOLATILE_FIELDS.contains(&name.as_str()) && !is_time(name));
            object.values_mut().for_each(remove_volatile);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_volatile),
        Value::String(text) => {
            let today = iso_millis(SystemClock.now())[..10].to_owned();
            if text.contains(&today) {
                let lines = text.lines().filter(|line| !line.contains(&today));
                *text = lines.collect::<Vec<_>>().join("\n");
            }
        }
        _ => {}
    }
}
