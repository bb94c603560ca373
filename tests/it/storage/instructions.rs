//! Every statement of the instruction catalog, run once.

use contract::Fault;
use store::instructions::{
    Change, DocumentRow, EntryHashes, EntryRow, EntryWrite, Since, UsageDelta, changes, documents, entries,
    state, usage,
};
use store::postgres::INSTRUCTIONS;
use store::{Access, Project, ProjectTx, Store, files, vectors};

fn row(id: &str) -> EntryRow {
    EntryRow {
        id: id.to_owned(),
        title: format!("Title of {id}"),
        body: "Body".to_owned(),
        rationale: Some("Because".to_owned()),
        priority: 7,
        audience: "all".to_owned(),
        requirement: "critical".to_owned(),
        categories: vec!["a b".to_owned(), "c".to_owned()],
        deprecated_by: None,
        source_hash: [1; 32],
        meta_hash: [2; 32],
        schema_version: "1".to_owned(),
        created_ms: 3,
        updated_ms: 4,
    }
}

fn change(revision: i64, added: &[&str], updated: &[&str], removed: &[&str]) -> Change {
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Change {
        revision,
        at_ms: 5,
        principal: "local".to_owned(),
        action: "instructions/import",
        added: ids(added),
        updated: ids(updated),
        removed: ids(removed),
        hash: [3; 32],
    }
}

pub(super) async fn run_statements(store: &Store, project: &Project) -> Result<(), Fault> {
    store::provision_module(store, project, &INSTRUCTIONS).await?;
    let mut tx = ProjectTx::begin(store, project, Access::Write).await?;
    let mut now = state::lock(&mut tx).await?;
    assert_eq!((now.revision, now.entries), (0, 0));
    let without_categories = EntryRow { categories: Vec::new(), rationale: None, ..row("b-2") };
    let write = |row: EntryRow| EntryWrite { folded: row.title.to_lowercase(), row };
    let written = [row("b"), without_categories.clone(), row("a")].map(write);
    entries::put(&mut tx, &written, 1, "local").await?;
    assert!(entries::any(&mut tx).await?);
    let texts = "Title of bBodyBecauseTitle of b-2BodyTitle of aBodyBecause";
    assert_eq!(entries::text_bytes(&mut tx).await?, i64::try_from(texts.len()).unwrap());
    assert_eq!(entries::ids(&mut tx, None).await?, ["a", "b", "b-2"]);
    assert_eq!(entries::ids(&mut tx, Some("a b")).await?, ["a", "b"]);
    assert_eq!(entries::containing(&mut tx, "of b").await?, ["b", "b-2"]);
    assert_eq!(entries::existing(&mut tx, &["z".to_owned(), "b".to_owned()]).await?, ["b"]);
    assert_eq!(entries::page(&mut tx, "a", 1).await?, [row("b")]);
    assert_eq!(entries::summaries(&mut tx, &["a".to_owned()]).await?[0].title, "Title of a");
    assert_eq!(entries::with_ids(&mut tx, &["b-2".to_owned()]).await?, [without_categories]);
    let hashes = EntryHashes { id: "a".to_owned(), source_hash: [9; 32], meta_hash: [8; 32], created_ms: 0 };
    entries::put_hashes(&mut tx, std::slice::from_ref(&hashes), 2, 6, "local").await?;
    let stored = &entries::hashes(&mut tx).await?[0];
    assert_eq!((stored.source_hash, stored.meta_hash), ([9; 32], [8; 32]));
    assert_eq!(entries::remove(&mut tx, &["b".to_owned(), "z".to_owned()]).await?, ["b"]);
    now.revision = 3;
    state::store(&mut tx, &now, 7).await?;
    assert_eq!(state::load(&mut tx).await?, now);
    let document = DocumentRow { content: "{}".to_owned(), hash: [4; 32] };
    documents::put(&mut tx, "gates", &document, 3, 7).await?;
    assert_eq!(documents::load(&mut tx, "gates").await?, Some(document));
    let delta = UsageDelta { id: "a".to_owned(), count: 2, first_ms: 8, last_ms: 9 };
    usage::add(&mut tx, std::slice::from_ref(&delta)).await?;
    usage::add(&mut tx, &[UsageDelta { last_ms: 1, ..delta }]).await?;
    let used = usage::load(&mut tx, Some(&["a".to_owned()])).await?;
    assert_eq!((used[0].count, used[0].last_ms), (4, 9));
    changes::append(&mut tx, &change(1, &["a", "b", "c"], &[], &[]), 10).await?;
    changes::append(&mut tx, &change(2, &["d"], &["a", "d"], &["b", "c"]), 10).await?;
    changes::append(&mut tx, &change(3, &["c"], &[], &["d"]), 10).await?;
    let since = changes::since(&mut tx, 1, 3).await?.unwrap_or_default();
    let since: Vec<(&str, Since)> = since.iter().map(|(id, what)| (id.as_str(), *what)).collect();
    let expected =
        [("a", Since::Updated), ("b", Since::Removed), ("c", Since::Updated), ("d", Since::CameAndWent)];
    assert_eq!(since, expected);
    assert_eq!(changes::since(&mut tx, 4, 3).await?, None);
    changes::append(&mut tx, &change(4, &[], &[], &[]), 2).await?;
    assert_eq!(changes::since(&mut tx, 1, 4).await?, None, "forgotten");
    files::paths_page(&mut tx, (0, ""), 5).await?;
    vectors::of_root(&mut tx, "instructions:catalog", 5).await?;
    tx.commit().await
}
