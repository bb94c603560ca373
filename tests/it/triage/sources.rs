//! A second record source besides findings: its entry in the table is enough for the index job to make its records searchable
//! and for `show_file` to show them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use contract::clock::SystemClock;
use contract::config::Layout;
use embedding::StubEmbedder;
use engine::indexing::{Document, Documents, Options, RecordSource};
use futures::FutureExt;
use futures::future::BoxFuture;
use gate::app::App;
use gate::app::index_job::{self, RequestingCall};
use gate::module::{Module, Modules, Records};
use serde_json::json;
use store::DecidedBy;
use tokio_util::sync::CancellationToken;
use triage::findings;

use crate::harness::{PROGRAM, Repository, app, home, modules, project, result, settings};

/// A record source with two notes.
struct Notes;

fn notes() -> Vec<Document> {
    let note = |path: &str, text: &str| Document {
        path: path.to_owned(),
        text: text.to_owned(),
        mode: "records",
        meta: vec!["recordtype=note".to_owned()],
        modified_ns: 1,
    };
    vec![
        note("notes/a.md", "# Passwords\n\nCredentials are hashed with argon2.\n"),
        note("notes/b.md", "# Releases\n\nA release is tagged by whoever cuts it.\n"),
    ]
}

impl Documents for Notes {
    fn page<'a>(
        &'a self,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, contract::Fault>> {
        let page = notes().into_iter().filter(|note| note.path.as_str() > after).take(limit).collect();
        async { Ok(page) }.boxed()
    }
}

static NOTES: RecordSource = RecordSource {
    root: "triage:notes",
    prepare: |store, project| Box::pin(findings::provision_tables(store, project)),
    has_any: |_, _| Box::pin(async { Ok(true) }),
    documents: |_, _, _| Box::new(Notes),
    document: |_, _, path, _| Box::pin(async move { Ok(notes().into_iter().find(|note| note.path == path)) }),
};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_source_in_the_table_is_indexed_and_shown() {
    static NOTES_MODULE: Module = Module {
        name: "notes",
        records: &[Records { source: &NOTES, is_hidden: |_, _| false }],
        ..Module::EMPTY
    };
    static WITH_NOTES: OnceLock<Modules> = OnceLock::new();
    let with_notes =
        WITH_NOTES.get_or_init(|| Modules::new(modules().iter().chain([&NOTES_MODULE]).collect()));
    let with_notes = App::new(
        settings(home()),
        Layout::new(home().to_owned()),
        Arc::new(SystemClock),
        PathBuf::from(PROGRAM),
        with_notes,
    );
    let with_notes = Arc::new(with_notes.with_embedder(Arc::new(StubEmbedder::default())));
    let id = project("sources");
    let repository = Repository::new(&[("hash.py", "def hash_password():\n    return 'argon2'\n")]);
    result(&with_notes, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
    let store = with_notes.store().await.unwrap();
    let project_id = contract::ProjectId::parse(&id).unwrap();
    let opened = tenancy::open(store, &project_id, DecidedBy::Argument).await.unwrap().unwrap();
    let cancel = CancellationToken::new();
    let requester = RequestingCall::without_slot(&with_notes, &cancel);
    index_job::run_records(&requester, &opened, &NOTES, Options::default(), |_| {}).await.unwrap();

    let arguments = json!({ "query": "credentials", "mode": "records", "project_id": id });
    let found = result(&with_notes, "search", arguments).await;
    assert_eq!(found["hits"][0]["file"], "notes/a.md", "{found:#}");
    let code = result(&with_notes, "search", json!({ "query": "argon2", "project_id": id })).await;
    assert!(code["hits"].as_array().unwrap().iter().all(|hit| hit["file"] == "hash.py"), "{code:#}");
    let show = json!({ "path": "notes/a.md", "project_id": id });
    let shown = result(&with_notes, "show_file", show.clone()).await;
    assert_eq!((&shown["repo"], &shown["changedSinceIndexed"]), (&json!("triage:notes"), &json!(false)));
    assert!(shown["text"].as_str().unwrap().contains("hashed with argon2"), "{shown:#}");
    // An application without this source shows the indexed text.
    let without = result(&app(), "show_file", show).await;
    assert!(without["text"].as_str().unwrap().contains("hashed with argon2"), "{without:#}");
}
