//! Searches a portable index file: chooses the file and searches it on a blocking thread.

use std::path::PathBuf;
use std::sync::Arc;

use super::execute::{embedder, pass_on_warnings, report_stages};
use crate::app::blocking;
use crate::tools::{Call, repository};
use contract::{ErrorCode, Fault, Warning};
use engine::search::{self, Mode, Ranking, SearchAnswer, SearchDeps, SearchRequest, Vectors};
use languages::terms::TERMS_VERSION;
use store::portable::{LexicalBackend, Limits, Reader};
use store::{Index, Project};
use upkeep::portable::{IndexPart, portable_file_name};

/// Values of `backend`.
const BACKENDS: &[&str] = &["auto", "postgres", "sqlite", "sqlite-fts"];

/// The lexical index of the portable file that `backend` names; `None` for Postgres.
///
/// # Errors
/// `INVALID_REQUEST` for an unknown backend, or one that does not support the value of `ann`.
pub(super) fn lexical_index(
    backend: Option<&str>,
    ann: Option<bool>,
) -> Result<Option<LexicalBackend>, Fault> {
    match backend {
        None | Some("auto" | "postgres") => Ok(None),
        Some("sqlite") => Ok(Some(LexicalBackend::Postings)),
        Some("sqlite-fts") if ann == Some(true) => {
            Err(Fault::new(ErrorCode::InvalidRequest, "The backend `sqlite-fts` does not search vectors.")
                .with_hint("Omit `ann`, or use the backend `sqlite`."))
        }
        Some("sqlite-fts") => Ok(Some(LexicalBackend::Fts)),
        Some(other) => Err(Fault::new(ErrorCode::InvalidRequest, format!("Unknown backend `{other}`."))
            .with_hint(format!("Backends: {}.", BACKENDS.join(", ")))),
    }
}

/// The portable file of a project, and the names of the repositories with these roots, because a file stores names instead of
/// roots. If the project has no file and only one repository is searched, returns the file of that repository.
pub(super) async fn find_portable_file(
    call: &Call,
    project: &Project,
    roots: Vec<String>,
) -> Result<(PathBuf, Vec<String>), Fault> {
    let folder = call.app.layout.project(project.id().as_str());
    let whole = folder.join(portable_file_name(IndexPart::All, None));
    if roots.is_empty() {
        return Ok((whole, Vec::new()));
    }
    let mut known = repository::list_repositories(call, project).await?;
    known.retain(|row| roots.contains(&row.root));
    let mut folders = known.iter().filter(|row| !row.is_records());
    let own = match (folders.next(), folders.next()) {
        (Some(only), None) => folder.join(portable_file_name(IndexPart::All, Some(&only.name))),
        _ => whole.clone(),
    };
    let file = blocking(move || Ok(if whole.is_file() { whole } else { own })).await?;
    Ok((file, known.into_iter().map(|row| row.name).collect()))
}

/// Searches a portable file; the answer includes warnings about the file itself.
pub(super) async fn search_portable(
    call: &Call,
    file: PathBuf,
    lexical_backend: LexicalBackend,
    mut request: SearchRequest,
) -> Result<SearchAnswer, Fault> {
    if lexical_backend == LexicalBackend::Fts {
        request.vectors = Vectors::Off;
    }
    let app = Arc::clone(&call.app);
    let dictionary = app.dictionaries.current().await;
    let (stop, on_stage) = (call.cancel.clone(), report_stages(call));
    let answer = blocking(move || {
        let reader = Reader::open(&file, Limits::from(&app.config.portable), lexical_backend, &stop)?;
        let mut warnings = file_warnings(&reader, request.mode);
        let runtime = tokio::runtime::Handle::current();
        let embedder = match request.vectors {
            Vectors::Off => None,
            Vectors::Auto => runtime.block_on(embedder(&app, reader.model())),
        };
        let ranking = Ranking::default();
        let deps = SearchDeps {
            embedder: embedder.as_ref(),
            dictionary: dictionary.as_deref(),
            settings: &app.config.search,
            ranking: &ranking,
            clock: &*app.clock,
            on_stage: &on_stage,
        };
        let searching = search::execute(deps, Index::Portable(Box::new(reader)), &request);
        let mut answer = runtime.block_on(searching)?;
        answer.warnings.append(&mut warnings);
        Ok(answer)
    })
    .await?;
    pass_on_warnings(call, &answer);
    Ok(answer)
}

/// Warns if the file lacks the searched mode or was built by another version.
fn file_warnings(reader: &Reader, mode: Mode) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let file_mode = reader.meta().mode.as_str();
    let needed_mode = match mode {
        Mode::Code => "code",
        Mode::Records => "records",
        Mode::ExtractedProse => "extracted-prose",
        Mode::Prose | Mode::Both | Mode::All => "all",
    };
    if file_mode != "all" && file_mode != needed_mode {
        let message = format!("The file was built with mode `{file_mode}` and contains no other modes.");
        warnings.push(Warning::new("file_partial", message));
    }
    let versions = reader.terms_versions().unwrap_or_default();
    if versions.iter().any(|version| *version != i64::from(TERMS_VERSION)) {
        let message = "The file was built by another version of this program, so some terms may not match. Build it again.";
        warnings.push(Warning::new("file_outdated", message));
    }
    warnings
}
