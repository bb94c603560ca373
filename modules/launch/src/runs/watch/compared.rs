//! The files that claims cite, as the index has them. Only files whose content is not known to support all their citations are read.

use std::collections::{BTreeMap, BTreeSet};

use contract::Fault;
use launch::claim::Claim;
use launch::evidence::{KnownDefinition, RepositoryBuilder, RepositoryFacts};
use launch::freshness::{cited_files, questions};
use launch::{licence, manifest};
use platform::sha256;
use store::graph::graph_definitions;
use store::{
    Access, ChunkSelection, FileRow, GramQuery, Project, ProjectTx, RepositoryState, Store, files, grams,
    repositories,
};

use super::DueRun;
use super::check::Claimed;

/// Files whose texts are read at a time.
const PAGE_FILES: usize = 200;

/// The files that are compared, and a hash of each one that is cited.
pub(super) struct ComparedFiles {
    /// The files that are not known to support their citations.
    pub(super) paths: BTreeSet<String>,
    /// For each cited file that exists, a hash of its content and of its citations.
    pub(super) hashes: BTreeMap<String, String>,
    /// The files that are compared, as they are now.
    pub(super) facts: RepositoryFacts,
}

/// Reads the files that the claims cite, all in one snapshot. `fresh_files` are hashes of those that need not be read. `None` if the index
/// has changed since the pages were found to be due.
///
/// # Errors
/// Storage faults.
pub(super) async fn read_cited(
    store: &Store,
    project: &Project,
    due: &DueRun,
    claimed: &Claimed,
    fresh_files: &BTreeMap<String, String>,
) -> Result<Option<ComparedFiles>, Fault> {
    let repository_id = due.repository.id;
    let cited = cited_files(&claimed.sentences, &claimed.claims);
    let paths: Vec<String> = cited.keys().map(|path| (*path).to_owned()).collect();
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    let row = repositories::with_id(&mut tx, repository_id).await?;
    let is_due = row.is_some_and(|row| {
        row.state == RepositoryState::Ready && row.generation == due.repository.generation
    });
    if !is_due {
        tx.commit().await?;
        return Ok(None);
    }
    let rows = files::with_paths(&mut tx, repository_id, &paths).await?;
    let hashes: BTreeMap<String, String> = rows
        .iter()
        .filter_map(|row| Some((row.path.clone(), hash_of(row, cited.get(row.path.as_str())?))))
        .collect();
    // Which licence a product has follows from all files that name one, so the hash of one of them says nothing.
    let is_known = |path: &String| {
        !tells_licence(path) && hashes.get(path).is_some_and(|hash| fresh_files.get(path) == Some(hash))
    };
    let paths: BTreeSet<String> = paths.into_iter().filter(|path| !is_known(path)).collect();
    let mut read: Vec<FileRow> = rows.into_iter().filter(|row| paths.contains(&row.path)).collect();
    if paths.iter().any(|path| tells_licence(path)) {
        let all = files::manifest(&mut tx, repository_id).await?;
        read.extend(all.into_iter().filter(|row| tells_licence(&row.path) && !paths.contains(&row.path)));
    }
    let facts = facts_of(&mut tx, &read, &paths, &claimed.claims).await?;
    tx.commit().await?;
    Ok(Some(ComparedFiles { paths, hashes, facts }))
}

fn hash_of(row: &FileRow, claims: &BTreeSet<&str>) -> String {
    let mut hasher = sha256::Hasher::default();
    hasher.update(&row.content_hash);
    claims.iter().for_each(|claim| hasher.update(claim.as_bytes()));
    hasher.hex()
}

/// Returns `true` if a file can say which licence the product has.
fn tells_licence(path: &str) -> bool {
    !path.contains('/') && (licence::is_licence_file(path) || manifest::is_manifest(path))
}

/// Returns the facts about the claims in these files.
async fn facts_of(
    tx: &mut ProjectTx,
    rows: &[FileRow],
    paths: &BTreeSet<String>,
    claims: &BTreeMap<String, Claim>,
) -> Result<RepositoryFacts, Fault> {
    let mut builder = RepositoryBuilder::new(questions(paths, claims));
    let rows: Vec<&FileRow> = rows.iter().filter(|row| row.skipped.is_none()).collect();
    for page in rows.chunks(PAGE_FILES) {
        let ids: Vec<i64> = page.iter().map(|row| row.id).collect();
        let mut texts = grams::texts_of_files(tx, &ids, &ChunkSelection::All, &GramQuery::EVERYTHING).await?;
        texts.sort_by_key(|text| (text.file_id, text.start_line, text.id));
        for row in page {
            let first = texts.partition_point(|text| text.file_id < row.id);
            let of_file = texts.iter().skip(first).take_while(|text| text.file_id == row.id);
            let pieces =
                of_file.map(|text| (u32::try_from(text.start_line).unwrap_or(1), text.content.as_str()));
            builder.add_path(&row.path);
            builder.add_text(&row.path, false, pieces);
        }
        for definition in graph_definitions(tx, &ids).await? {
            let Some(row) = page.iter().find(|row| row.id == definition.file_id) else { continue };
            builder.add_definition(KnownDefinition {
                path: row.path.clone(),
                line: u32::try_from(definition.line).unwrap_or(1),
                name: definition.name,
                qualified: definition.qualified,
                kind: definition.kind,
                is_exported: definition.exported,
            });
        }
    }
    Ok(builder.finish())
}
