//! The output of compilers' indexers is stored by path, and is valid for the content that it was made from.

use contract::Fault;
use store::{
    Fence, FileWrite, Project, ScipDocumentWrite, ScipFile, Store, SymbolsWrite, graph, scip, symbols,
};

use crate::storage::database::{VERSIONS, file, write, writing};

fn with_symbols(path: &str, hash: u8) -> FileWrite {
    let symbols = SymbolsWrite { halves: Some((vec![1], vec![2])), ..SymbolsWrite::default() };
    FileWrite { symbols: Some(symbols), content_hash: vec![hash; 32], ..file(path, &["x"]) }
}

fn document(path: &str, hash: u8) -> ScipDocumentWrite {
    ScipDocumentWrite { path: path.to_owned(), content_hash: vec![hash; 32], document: vec![hash] }
}

/// Runs every statement of SCIP in a repository of its own, and removes what it wrote.
pub(crate) async fn run_statements(store: &Store, project: &Project, fence: Fence) -> Result<(), Fault> {
    let mut tx = writing(store, project).await;
    let repo = store::repositories::ensure(&mut tx, fence, "/scip", "scip", VERSIONS).await?;
    tx.commit().await?;
    write(store, project, fence, repo, &[with_symbols("a.py", 1), with_symbols("b.py", 2)]).await;
    let mut tx = writing(store, project).await;
    let ids: Vec<i64> = store::files::manifest(&mut tx, repo).await?.iter().map(|row| row.id).collect();
    store::uses::replace(&mut tx, fence, &ids.iter().map(|id| (*id, Vec::new())).collect::<Vec<_>>()).await?;
    assert_eq!(symbols::unresolved(&mut tx, repo).await?.files, []);

    // The document of the second file is of another content; both files have to be resolved again.
    let documents = [document("a.py", 1), document("b.py", 9), document("gone.py", 3)];
    scip::replace(&mut tx, fence, repo, "tool 1.0", &documents).await?;
    assert_eq!(symbols::unresolved(&mut tx, repo).await?.files.len(), 2);
    assert_eq!(scip::documents(&mut tx, &ids).await?, [(ids[0], vec![1])]);
    assert_eq!(scip::known_files(&mut tx, repo).await?, [ids[0]]);
    scip::replace(&mut tx, fence, repo, "tool 1.1", &[document("b.py", 2)]).await?;
    assert_eq!(scip::known_files(&mut tx, repo).await?, ids);
    assert_eq!(scip::prune(&mut tx, fence, repo, false).await?, 1);

    let read = ScipFile { hash: vec![7; 32], refused: 1 };
    scip::record_file(&mut tx, fence, repo, "ci.scip", &read).await?;
    let read = ScipFile { refused: 0, ..read };
    scip::record_file(&mut tx, fence, repo, "ci.scip", &read).await?;
    assert_eq!(scip::files_read(&mut tx, repo).await?.get("ci.scip"), Some(&read));
    store::uses::replace(&mut tx, fence, &ids.iter().map(|id| (*id, Vec::new())).collect::<Vec<_>>()).await?;
    assert_eq!(scip::prune(&mut tx, fence, repo, true).await?, 2);
    assert_eq!(symbols::unresolved(&mut tx, repo).await?.files.len(), 2);
    assert!(scip::files_read(&mut tx, repo).await?.is_empty());

    let files = graph::graph_files(&mut tx, repo, "a.py", 10).await?;
    assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["b.py"]);
    assert_eq!(graph::graph_definitions(&mut tx, &ids).await?, []);
    assert_eq!(graph::graph_uses(&mut tx, &ids).await?, []);

    scip::replace(&mut tx, fence, repo, "tool 1.1", &[document("b.py", 2)]).await?;
    scip::record_file(&mut tx, fence, repo, "ci.scip", &read).await?;
    store::repositories::delete(&mut tx, fence, repo).await?;
    assert!(scip::files_read(&mut tx, repo).await?.is_empty());
    assert_eq!(scip::prune(&mut tx, fence, repo, true).await?, 0);
    tx.commit().await
}
