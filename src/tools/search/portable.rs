//! Questions to a portable file: which one, and asking it where reads may block.

use std::path::PathBuf;
use std::sync::Arc;

use super::ask::{embedder, stages, tell};
use crate::app::blocking;
use crate::tools::{Call, repository};
use contract::{ErrorCode, Fault, Warning};
use engine::search::{self, Deps, Mode, Ranking, SearchAnswer, SearchRequest, Vectors};
use languages::terms::TERMS_VERSION;
use store::portable::{Limits, Reader, WordsBy};
use store::{Index, Project};
use upkeep::portable::{Part, file_name};

/// What can answer.
const BACKENDS: &[&str] = &["auto", "postgres", "sqlite", "sqlite-fts"];

/// What finds words in a portable file; none where Postgres is to answer.
pub(super) fn words_by(backend: Option<&str>, ann: Option<bool>) -> Result<Option<WordsBy>, Fault> {
    match backend {
        None | Some("auto" | "postgres") => Ok(None),
        Some("sqlite") => Ok(Some(WordsBy::Postings)),
        Some("sqlite-fts") if ann == Some(true) => {
            Err(Fault::new(ErrorCode::InvalidRequest, "The backend `sqlite-fts` compares no vectors.")
                .with_hint("Leave `ann` out, or ask the backend `sqlite`."))
        }
        Some("sqlite-fts") => Ok(Some(WordsBy::Fts)),
        Some(other) => Err(Fault::new(ErrorCode::InvalidRequest, format!("There is no backend `{other}`."))
            .with_hint(format!("Backends: {}.", BACKENDS.join(", ")))),
    }
}

/// The portable file of a project, and the names of the repositories that have these roots: a file knows names alone. Where
/// there is no file of the whole project, that of a single repository answers.
pub(super) async fn file_of(
    call: &Call,
    project: &Project,
    roots: Vec<String>,
) -> Result<(PathBuf, Vec<String>), Fault> {
    let folder = call.app.layout.project(project.id().as_str());
    let whole = folder.join(file_name(Part::All, None));
    if roots.is_empty() {
        return Ok((whole, Vec::new()));
    }
    let mut known = repository::all(call, project).await?;
    known.retain(|row| roots.contains(&row.root));
    let mut folders = known.iter().filter(|row| !row.is_records());
    let own = match (folders.next(), folders.next()) {
        (Some(only), None) => folder.join(file_name(Part::All, Some(&only.name))),
        _ => whole.clone(),
    };
    let file = blocking(move || Ok(if whole.is_file() { whole } else { own })).await?;
    Ok((file, known.into_iter().map(|row| row.name).collect()))
}

/// Asks a file.
pub(super) async fn ask(
    call: &Call,
    file: PathBuf,
    words_by: WordsBy,
    mut request: SearchRequest,
) -> Result<SearchAnswer, Fault> {
    if words_by == WordsBy::Fts {
        request.vectors = Vectors::Off;
    }
    let app = Arc::clone(&call.app);
    let dictionary = app.dictionaries.current().await;
    let (stop, on_stage) = (call.cancel.clone(), stages(call));
    let answer = blocking(move || {
        let reader = Reader::open(&file, Limits::from(&app.config.portable), words_by, &stop)?;
        let mut warnings = told(&reader, request.mode);
        let runtime = tokio::runtime::Handle::current();
        let embedder = match request.vectors {
            Vectors::Off => None,
            Vectors::Auto => runtime.block_on(embedder(&app, reader.model())),
        };
        let ranking = Ranking::default();
        let deps = Deps {
            embedder: embedder.as_ref(),
            dictionary: dictionary.as_deref(),
            settings: &app.config.search,
            ranking: &ranking,
            clock: &*app.clock,
            on_stage: &on_stage,
        };
        let asking = search::search(deps, Index::Portable(Box::new(reader)), &request);
        let mut answer = runtime.block_on(asking)?;
        answer.warnings.append(&mut warnings);
        Ok(answer)
    })
    .await?;
    tell(call, &answer);
    Ok(answer)
}

/// What the file's own making takes from an answer.
fn told(reader: &Reader, mode: Mode) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let held = reader.meta().mode.as_str();
    let whole = match mode {
        Mode::Code => "code",
        Mode::Records => "records",
        Mode::ExtractedProse => "extracted-prose",
        Mode::Prose | Mode::Both | Mode::All => "all",
    };
    if held != "all" && held != whole {
        let message = format!("The file was made with mode `{held}`: what it does not hold is not found.");
        warnings.push(Warning::new("file_partial", message));
    }
    let versions = reader.terms_versions().unwrap_or_default();
    if versions.iter().any(|version| *version != i64::from(TERMS_VERSION)) {
        let message =
            "The file was made by another version of this program: some words may be missed. Build it again.";
        warnings.push(Warning::new("file_outdated", message));
    }
    warnings
}
