//! Texts from outside may be longer than a row of an index in Postgres, about 2,700 bytes: each of them has a bound.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::Row;
use store::postgres::{INSTRUCTIONS, TRIAGE};
use store::triage::{RecordWrite, Related};
use store::{FileWrite, ProjectTx};

use crate::harness::{Dice, Repository, app, error, project, result};
use crate::storage::database::{Fresh, file, repository, searching, write, writing};

/// The texts in indexes, and what bounds each.
const BOUNDED: &[(&str, &str)] = &[
    ("api_keys.id", "made by this program"),
    ("chunks.content_hash", "a hash; checked in archives"),
    ("chunks.defines", "names of at most 120 characters; checked in archives"),
    ("files.facts_missing", "a word of this program; checked in archives"),
    ("files.path", "2,000 bytes: the walk skips longer ones; checked in archives"),
    ("instruction_documents.name", "a word of this program"),
    ("instruction_usage.id", "120 bytes, as an id of an entry; checked in archives"),
    ("instructions.id", "120 bytes: longer ones are refused; checked in archives"),
    ("instructions.requirement", "a word of this program"),
    ("jobs.id", "made by this program"),
    ("jobs.kind", "a word of this program"),
    ("jobs.project_id", "50 bytes, as an id of a project"),
    ("jobs.subject", "a root, or a word of this program"),
    ("mcp_sessions.id", "made by this program"),
    ("mcp_sessions.principal", "a key's id, or the issuer and a subject of at most 255 characters"),
    ("migrations.module", "a word of this program"),
    ("names.folded", "2,000 bytes: the rest is not stored; checked in archives"),
    ("project_modules.module", "a word of this program"),
    ("project_modules.project_id", "50 bytes, as an id of a project"),
    ("projects.id", "50 bytes, checked by the table"),
    ("projects.schema_name", "made from the id"),
    ("repositories.root", "2,000 bytes: longer ones are refused; checked in archives"),
    ("revisions.name", "255 bytes, as a name on a host; checked in archives"),
    ("scip_documents.path", "the path of a file; checked in archives"),
    ("scip_files.name", "255 bytes, as each name of a file; checked in archives"),
    ("source_repositories.address", "2,000 bytes, as every address"),
    ("source_repositories.project_id", "50 bytes, as an id of a project"),
    ("source_repositories.source", "64 bytes, as a name of a source"),
    ("sources.name", "64 bytes: longer names are refused"),
    ("triage_records.claims", "hashes"),
    ("triage_records.finding_id", "an id of a record; checked in archives"),
    ("triage_records.id", "made by this program; checked in archives"),
    ("triage_records.package", "2,000 bytes: the rest is not stored"),
    ("triage_records.scope", "a hash"),
    ("triage_records.vuln", "2,000 bytes: the rest is not stored"),
    ("vectors.hash", "a hash; checked in archives"),
    ("writers.process", "made by this program"),
    ("writers.writer", "a name in this program"),
];

/// Random letters, which no compression makes short enough for an index.
fn random_letters(seed: u64, length: usize) -> String {
    let mut dice = Dice(seed);
    (0..length).map(|_| char::from(b'a' + u8::try_from(dice.roll(26)).unwrap())).collect()
}

/// A migration that adds a text to an index has to say above what bounds it.
#[tokio::test(flavor = "multi_thread")]
async fn every_text_in_an_index_has_a_bound() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, _) = repository(&fresh.store, &project).await;
    for module in [TRIAGE, INSTRUCTIONS] {
        store::provision_module(&fresh.store, &project, &module).await.unwrap();
    }
    assert!(store::lexical::ensure_terms_index(&fresh.store, &project, fence, 64).await.unwrap());
    let indexed = sqlx::query(
        "SELECT c.relname || '.' || a.attname \
         FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indrelid \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey) \
         WHERE n.nspname IN ('pairofcleats', $1) AND a.attlen = -1 \
           AND a.atttypid NOT IN ('int2[]'::regtype, 'int4[]'::regtype, 'int8[]'::regtype)",
    );
    let rows = indexed.bind(project.id().schema_name()).fetch_all(&mut fresh.raw().await).await.unwrap();
    let found: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let bounded: BTreeSet<String> = BOUNDED.iter().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(found, bounded);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_is_too_long_for_an_index_is_refused() {
    let (app, project) = (app(), project("deep"));
    let above = Repository::new(&[]);
    let letters = random_letters(1, 3_600);
    let parts: Vec<&str> = (0..15).map(|part| &letters[240 * part..240 * (part + 1)]).collect();
    let root = |depth: usize| format!("{}/{}", above.root(), parts[..depth].join("/"));
    std::fs::create_dir_all(root(15)).unwrap();
    std::fs::write(root(15) + "/a.py", "def a():\n    return 1\n").unwrap();
    let build = |depth: usize| json!({ "repoPath": root(depth), "project_id": project });
    let refused = error(&app, "build_index", build(15)).await;
    assert_eq!(refused["code"], "INVALID_REQUEST", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().ends_with("bytes, more than 2000."), "{refused:#}");
    assert!(refused["hint"].is_string(), "{refused:#}");
    let built = result(&app, "build_index", build(7)).await;
    assert_eq!(built["report"]["files"], 1, "a root and a path in it of almost 2,000 bytes each: {built:#}");
}

/// A repository's own risk rules name sources and sinks with texts of any length.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_any_length_are_found_by_their_beginning() {
    const FIELD: i16 = 14;
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    let (fence, repo) = repository(&fresh.store, &project).await;
    let long = random_letters(2, 5_000);
    let with_name = |path: &str, name: &str| -> FileWrite {
        let mut file = file(path, &["ant"]);
        file.chunks[0].facts = vec![(FIELD, name.to_owned())];
        file
    };
    write(&fresh.store, &project, fence, repo, &[with_name("a.rs", &long)]).await;
    assert!(store::lexical::ensure_terms_index(&fresh.store, &project, fence, 64).await.unwrap());
    // `Ⱥ` takes two bytes, and three in lower case.
    let grows = format!("{}{}", &long[..1_000], "Ⱥ".repeat(500)) + &random_letters(3, 1_000);
    write(&fresh.store, &project, fence, repo, &[with_name("b.rs", &format!("b{long}"))]).await;
    write(&fresh.store, &project, fence, repo, &[with_name("c.rs", &grows)]).await;
    let mut tx = searching(&fresh.store, &project).await;
    let found = async |tx: &mut ProjectTx, text: &str| {
        store::names::containing(tx, &[FIELD], &[text.to_owned()], 5).await.unwrap().len()
    };
    assert_eq!(found(&mut tx, &long[..500]).await, 3);
    assert_eq!(found(&mut tx, &long[..1_900]).await, 2);
    assert_eq!(found(&mut tx, &long[2_000..2_100]).await, 0);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_related_by_the_beginning_of_an_id() {
    let fresh = Fresh::new().await;
    let project = fresh.project("p").await;
    store::provision_module(&fresh.store, &project, &TRIAGE).await.unwrap();
    let long = |seed: u64| Related { vuln: Some(random_letters(seed, 8_000)), ..Related::default() };
    let package = Related { package: Some(random_letters(9, 8_000)), ..Related::default() };
    let decision = |digit: &str, related: &Related| RecordWrite {
        id: digit.repeat(40),
        finding_id: Some("f".repeat(40)),
        status: Some("accept".to_owned()),
        expires_ms: None,
        related: related.clone(),
        identity: None,
        is_fixed: false,
        content_hash: [1; 32],
        record: "{}".to_owned(),
    };
    let mut tx = writing(&fresh.store, &project).await;
    let decisions = [decision("1", &long(7)), decision("2", &long(8)), decision("3", &package)];
    assert_eq!(store::triage::put(&mut tx, &decisions, 5).await.unwrap().len(), 3);
    for (related, digit) in [(long(7), "1"), (long(8), "2"), (package, "3")] {
        let related = store::triage::history(&mut tx, &"e".repeat(40), &related, 5).await.unwrap();
        let ids: Vec<String> = related.into_iter().map(|row| row.id).collect();
        assert_eq!(ids, [digit.repeat(40)]);
    }
    tx.commit().await.unwrap();
    fresh.remove().await;
}
