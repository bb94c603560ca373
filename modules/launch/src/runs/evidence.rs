//! Answers the questions of gates and workers about a repository from its index, in one snapshot.

use std::collections::HashMap;

use contract::{ErrorCode, Fault};
use languages::Language;
use languages::facts::Detail;
use languages::terms::squash;
use launch::evidence::{KnownDefinition, KnownRisk, Questions, RepositoryBuilder, RepositoryFacts};
use store::graph::{graph_definitions, graph_files};
use store::{
    Access, ChunkSelection, FileRow, GramQuery, GraphDefinition, GraphFile, Project, ProjectTx,
    RepositoryRow, Store, chunks, files, grams, navigation, repositories,
};
use tokio_util::sync::CancellationToken;

use super::index_version::IndexVersion;

/// Files that are read at a time.
const PAGE_FILES: i64 = 200;
/// Maximum number of definitions whose risks are looked up, and of chunks that are read at a time.
const RISKS_MAX: usize = 5_000;
const PAGE_CHUNKS: usize = 500;

/// Reads the answers to these questions from an indexed repository.
///
/// # Errors
/// `CANCELLED`; storage faults.
pub(super) async fn read_evidence(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    questions: Questions,
    cancel: &CancellationToken,
) -> Result<RepositoryFacts, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    let manifest = files::manifest(&mut tx, repository.id).await?;
    let facts = facts_of(&mut tx, repository, &manifest, questions, cancel).await?;
    tx.commit().await?;
    Ok(facts)
}

/// The same, if the index is in this state; `None` if it has changed.
///
/// # Errors
/// `CANCELLED`; storage faults.
pub(super) async fn read_version(
    store: &Store,
    project: &Project,
    repository: &RepositoryRow,
    version: &IndexVersion,
    questions: Questions,
    cancel: &CancellationToken,
) -> Result<Option<RepositoryFacts>, Fault> {
    let mut tx = ProjectTx::begin(store, project, Access::Snapshot).await?;
    let row = repositories::with_id(&mut tx, repository.id).await?;
    let manifest = files::manifest(&mut tx, repository.id).await?;
    let facts = if IndexVersion::of(row.as_ref(), &manifest) == *version {
        Some(facts_of(&mut tx, repository, &manifest, questions, cancel).await?)
    } else {
        None
    };
    tx.commit().await?;
    Ok(facts)
}

/// The facts, all read in one snapshot.
async fn facts_of(
    tx: &mut ProjectTx,
    repository: &RepositoryRow,
    manifest: &[FileRow],
    questions: Questions,
    cancel: &CancellationToken,
) -> Result<RepositoryFacts, Fault> {
    let mut builder = RepositoryBuilder::new(questions);
    builder.set_name(repository.name.clone());
    for file in manifest {
        builder.add_path(&file.path);
    }
    let mut symbols = HashMap::new();
    let mut after = String::new();
    loop {
        check_cancelled(cancel)?;
        let files = graph_files(tx, repository.id, &after, PAGE_FILES).await?;
        let Some(last) = files.last() else { break };
        after.clone_from(&last.path);
        add_texts(tx, &mut builder, &files).await?;
        if builder.questions().asks_for_definitions() {
            let ids: Vec<i64> = files.iter().map(|file| file.id).collect();
            for definition in graph_definitions(tx, &ids).await? {
                add_definition(&mut builder, &files, definition, &mut symbols);
            }
        }
    }
    add_risks(tx, &mut builder, &symbols, cancel).await?;
    Ok(builder.finish())
}

/// Fails if the check, or the run that reads the repository, was cancelled.
pub(super) fn check_cancelled(cancel: &CancellationToken) -> Result<(), Fault> {
    if cancel.is_cancelled() { Err(stopped()) } else { Ok(()) }
}

/// The fault of a check or a run that was cancelled while it read a site or its repository.
pub(super) fn stopped() -> Fault {
    Fault::new(ErrorCode::Cancelled, "The work on the site was stopped.")
}

/// Adds the texts of some files. Reads only the requested files, and those that may contain a requested name.
async fn add_texts(
    tx: &mut ProjectTx,
    builder: &mut RepositoryBuilder,
    files: &[GraphFile],
) -> Result<(), Fault> {
    let language_of = |file: &GraphFile| file.language.as_deref().and_then(languages::by_name);
    let is_prose = |language: Option<&'static Language>| language.is_some_and(Language::is_prose);
    let is_read = |file: &&GraphFile| builder.reads_text(&file.path, is_prose(language_of(file)));
    let ids: Vec<i64> = files.iter().filter(is_read).map(|file| file.id).collect();
    let mut texts = match ids.is_empty() {
        true => Vec::new(),
        false => grams::texts_of_files(tx, &ids, &ChunkSelection::All, &GramQuery::EVERYTHING).await?,
    };
    texts.sort_by_key(|text| (text.file_id, text.start_line, text.id));
    for file in files {
        let language = language_of(file);
        if let Some(language) = language.filter(|language| language.is_code()) {
            builder.add_code_language(language.id);
        }
        let first = texts.partition_point(|text| text.file_id < file.id);
        let of_file = texts.iter().skip(first).take_while(|text| text.file_id == file.id);
        let pieces = of_file.map(|text| (u32::try_from(text.start_line).unwrap_or(1), text.content.as_str()));
        builder.add_text(&file.path, is_prose(language), pieces);
    }
    Ok(())
}

/// Adds a definition, and keeps its symbol if its name was asked for.
fn add_definition(
    builder: &mut RepositoryBuilder,
    files: &[GraphFile],
    definition: GraphDefinition,
    symbols: &mut HashMap<i64, (String, u32)>,
) {
    let Some(file) = files.iter().find(|file| file.id == definition.file_id) else { return };
    let line = u32::try_from(definition.line).unwrap_or(1);
    if symbols.len() < RISKS_MAX && builder.questions().names.contains(&squash(&definition.name)) {
        symbols.insert(definition.symbol, (file.path.clone(), line));
    }
    builder.add_definition(KnownDefinition {
        path: file.path.clone(),
        line,
        name: definition.name,
        qualified: definition.qualified,
        kind: definition.kind,
        is_exported: definition.exported,
    });
}

/// Adds the flows of untrusted input around these definitions.
async fn add_risks(
    tx: &mut ProjectTx,
    builder: &mut RepositoryBuilder,
    symbols: &HashMap<i64, (String, u32)>,
    cancel: &CancellationToken,
) -> Result<(), Fault> {
    let mut ids: Vec<i64> = symbols.keys().copied().collect();
    ids.sort_unstable();
    for ids in ids.chunks(PAGE_CHUNKS) {
        check_cancelled(cancel)?;
        let definitions = navigation::definitions_by_symbols(tx, ids).await?;
        let mut of_chunks: Vec<i64> = definitions.iter().map(|one| one.chunk_id).collect();
        of_chunks.sort_unstable();
        of_chunks.dedup();
        let details = chunks::details(tx, &of_chunks).await?;
        let risks: HashMap<i64, KnownRisk> = details
            .iter()
            .filter_map(|chunk| Some((chunk.chunk.id, risk(chunk.detail.as_deref()?)?)))
            .collect();
        for definition in &definitions {
            let place = definition.symbol.and_then(|symbol| symbols.get(&symbol));
            if let (Some((path, line)), Some(risk)) = (place, risks.get(&definition.chunk_id)) {
                builder.add_risk(path, *line, risk.clone());
            }
        }
    }
    Ok(())
}

/// Returns the worst of the flows in the facts of a chunk; a dangerous operation that no input reaches is not a risk.
fn risk(detail: &str) -> Option<KnownRisk> {
    let risk = serde_json::from_str::<Detail>(detail).ok()?.risk?;
    let severity = risk.flows.iter().map(|flow| flow.severity).max()?;
    let mut operations: Vec<String> = risk.flows.into_iter().map(|flow| flow.sink).collect();
    operations.sort();
    operations.dedup();
    Some(KnownRisk { severity, operations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use languages::risk::Severity;

    #[test]
    fn only_what_input_reaches_is_a_risk() {
        let sink = r#"{"name":"exec","ruleId":"r","line":3,"tags":[],"category":"command","confidence":0.8,"severity":"high"}"#;
        assert_eq!(risk(&format!(r#"{{"risk":{{"severity":"high","sinks":[{sink}]}}}}"#)), None);
        let flow = r#"{"source":"argv","sink":"exec","category":"command","severity":"high","tags":[],"scope":"local","confidence":0.8,
            "ruleIds":[],"function":null,"evidence":{"sourceLine":2,"sinkLine":3,"steps":[],"excerpt":""}}"#;
        let found = risk(&format!(r#"{{"risk":{{"severity":"high","flows":[{flow}]}}}}"#)).unwrap();
        assert_eq!((found.severity, found.operations), (Severity::High, vec!["exec".to_owned()]));
        assert_eq!((risk("{}"), risk("[")), (None, None));
    }
}
