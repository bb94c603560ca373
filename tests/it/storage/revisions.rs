//! Files that only other revisions have are kept apart from those of the default branch; what both have is one row.

use std::collections::HashMap;

use contract::Fault;
use store::{
    Fence, FileViews, FileWrite, KnownNames, Project, RevisionRow, Store, revisions, write_versions,
};

use crate::storage::database::{VERSIONS, file, write, writing};

const ROOT: &str = "https://host/acme/shop";

fn revision(repository_id: i64, bit: i16, name: &str) -> RevisionRow {
    RevisionRow {
        repository_id,
        hidden_id: None,
        bit,
        name: name.to_owned(),
        kind: "tag".to_owned(),
        commit: "c0ffee".to_owned(),
    }
}

/// The file `a.rs` with another content.
fn version(modified_ns: i64) -> FileWrite {
    FileWrite { modified_ns, ..file("a.rs", &["cow"]) }
}

/// Runs every statement on revisions in a repository of its own, and removes what it wrote.
pub(crate) async fn run_statements(store: &Store, project: &Project, fence: Fence) -> Result<(), Fault> {
    let mut tx = writing(store, project).await;
    let repo = store::repositories::ensure(&mut tx, fence, ROOT, "shop", VERSIONS).await?;
    let patterns = ["v*".to_owned()];
    revisions::set_patterns(&mut tx, fence, repo, &patterns).await?;
    assert_eq!(revisions::patterns(&mut tx, ROOT).await?, patterns);
    assert_eq!(revisions::all_patterns(&mut tx).await?, HashMap::from([(repo, patterns.to_vec())]));
    let hidden = revisions::create_hidden(&mut tx, fence, (repo, "shop"), VERSIONS).await?;
    assert_eq!(revisions::hidden(&mut tx, repo).await?, Some(hidden));
    tx.commit().await?;

    write(store, project, fence, repo, &[file("a.rs", &["ant"]), file("b.rs", &["bee"])]).await;
    let mut tx = writing(store, project).await;
    let versions = [version(21), version(22)];
    write_versions(&mut tx, fence, hidden.id, &versions, &mut KnownNames::default()).await?;
    let state = revisions::files(&mut tx, repo).await?;
    assert_eq!(state.iter().filter(|file| file.is_hidden).count(), 2);
    let id = |path: &str, modified_ns: i64| {
        let is_it =
            |file: &&store::RevisionFile| (&*file.row.path, file.row.modified_ns) == (path, modified_ns);
        state.iter().find(is_it).unwrap().row.id
    };
    let (ours, shared, theirs, unused) = (id("a.rs", 20), id("b.rs", 20), id("a.rs", 21), id("a.rs", 22));
    let views = [(ours, 1), (shared, 3), (theirs, 2), (unused, 0)];
    let both = [revision(repo, 0, "v1"), revision(repo, 1, "v2")];
    revisions::publish(&mut tx, fence, repo, &both, &views).await?;
    let listed = revisions::list(&mut tx).await?;
    assert_eq!(listed.iter().map(|row| (&*row.name, row.view())).collect::<Vec<_>>(), [("v1", 1), ("v2", 2)]);
    assert_eq!(listed[0].hidden_id, Some(hidden.id));
    for (view, expected) in [(1, Some(ours)), (2, Some(theirs)), (4, None)] {
        let found = revisions::file(&mut tx, repo, view, "a.rs").await?;
        assert_eq!(found.map(|row| row.id), expected, "{view}");
    }
    let of_theirs = FileViews { file_id: theirs, repository_id: repo, is_default: false, views: 2 };
    assert_eq!(revisions::views_of(&mut tx, &[theirs]).await?, [of_theirs]);
    assert_eq!(revisions::unused_files(&mut tx, hidden.id).await?, [unused]);

    // The default branch loses two files, and the tags keep them.
    assert_eq!(store::files::delete(&mut tx, fence, &[unused]).await?, 1);
    assert_eq!(store::files::delete(&mut tx, fence, &[ours, shared]).await?, 2);
    assert_eq!(store::files::manifest(&mut tx, repo).await?, []);
    let kept = revisions::file(&mut tx, repo, 1, "a.rs").await?;
    assert_eq!(kept.map(|row| (row.id, row.chunks)), Some((ours, 1)));
    assert_eq!(store::chunks::by_file(&mut tx, ours).await?.len(), 1);
    tx.commit().await?;

    // It has one of them again.
    write(store, project, fence, repo, &[file("a.rs", &["ant"])]).await;
    let mut tx = writing(store, project).await;
    revisions::merge(&mut tx, fence, (repo, hidden.id)).await?;
    let again = store::files::get(&mut tx, repo, "a.rs").await?;
    assert_eq!(revisions::file(&mut tx, repo, 1, "a.rs").await?, again);
    assert_eq!(revisions::unused_files(&mut tx, hidden.id).await?, [ours]);

    revisions::remove(&mut tx, fence, repo).await?;
    assert_eq!(revisions::list(&mut tx).await?, []);
    assert_eq!(revisions::hidden(&mut tx, repo).await?, None);
    let left = revisions::files(&mut tx, repo).await?;
    let left: Vec<_> = left.iter().map(|file| (&*file.row.path, file.is_hidden, file.views)).collect();
    assert_eq!(left, [("a.rs", false, 0)]);
    store::repositories::delete(&mut tx, fence, repo).await?;
    tx.commit().await
}
