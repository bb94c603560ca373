//! Determines the files that an empty or partial answer does not cover: `_meta.coverage`, the one value behind every sentence about files
//! that are not indexed.

use std::path::Path;
use std::sync::Arc;

use super::open_file::CommitPlace;
use crate::app::{App, blocking};
use crate::tools::Call;
use crate::tools::repository::list_repositories;
use crate::tools::unindexed_directory::is_indexed;
use contract::{COVERAGE_NAMES_MAX, Coverage, ErrorCode, Fault, LeftOut, LeftOutFile, Occurrence, echo};
use engine::indexing::{FileTree, OpenRoot};
use engine::left_out::{LiteralParts, LookedInto, SCANNED, ScanBudget, Sought, coverage_of, look_into};
use engine::navigation::{Navigation, NavigationRequest, Subject};
use engine::search::{
    Confidence, ExactQuery, FilterValue, LineFinder, SearchAnswer, SearchRequest, Spelling,
};
use history::Head;
use store::{Access, Filter, Project, ProjectTx, RepositoryRow, Test, breakdown, file_lists};
use tenancy::AllowedRoots;

/// Maximum number of files that one answer looks into.
const FILES_MAX: i64 = 64;
/// Maximum number of languages that a message names.
const LANGUAGES_MAX: usize = 5;
/// An answer with fewer places or lines may lack some that are in files without an index.
const FEW: usize = 50;

/// Notes what the answer of a search does not cover. Fills in how many files an exact search passed over.
pub(super) async fn note_search(
    call: &Call,
    project: &Project,
    request: &SearchRequest,
    answer: &mut SearchAnswer,
) {
    let roots = &request.repository_roots;
    let is_first_page = request.offset == 0;
    if let (Some(exact), Some(matches)) = (&request.exact, &mut answer.matches) {
        let sought = if is_first_page && answer.total < FEW { sought_lines(request, exact) } else { None };
        let Some(mut coverage) = coverage(call, project, roots, sought).await else { return };
        matches.left_out =
            coverage.left_out.as_ref().map(|left_out| left_out.reasons.clone()).unwrap_or_default();
        if answer.total > 0 {
            coverage.searched.clear();
        }
        if is_first_page && (answer.total == 0 || coverage.left_out.is_some()) {
            call.set_coverage(coverage);
        }
        return;
    }
    let is_doubtful =
        answer.hits.is_empty() || matches!(answer.confidence, Some(Confidence::None | Confidence::Low));
    let parts = literal_parts(request);
    let is_defined = |name: &String| answer.hits.iter().any(|hit| defines(hit.name.as_deref(), name));
    let is_partial = is_first_page && parts.is_one_name && !parts.names.iter().any(is_defined);
    if !is_doubtful && !is_partial {
        return;
    }
    let sought = Sought::texts(parts.names, parts.phrases, request.case_tokens);
    note(call, project, roots, sought, is_doubtful).await;
}

/// Returns `true` if a hit is the definition of a name, ignoring case.
fn defines(hit: Option<&str>, name: &str) -> bool {
    let last = hit.and_then(|qualified| qualified.rsplit(['.', ':', '#']).next());
    last.is_some_and(|last| last.to_lowercase() == name.to_lowercase())
}

/// Returns the parts of a request that may occur literally: in the query, and in its filters.
fn literal_parts(request: &SearchRequest) -> LiteralParts {
    let mut parts = LiteralParts::of(&request.query);
    for filter in &request.filters {
        if let FilterValue::Texts(values) = &filter.value {
            parts
                .names
                .extend(values.iter().filter_map(|value| LiteralParts::of_filter(filter.field.name, value)));
        }
    }
    parts
}

fn sought_lines(request: &SearchRequest, exact: &ExactQuery) -> Option<Sought> {
    // The search itself has compiled it.
    let finder = LineFinder::new(&request.query, exact, request.case_tokens).ok()?;
    Some(Sought::lines(&request.query, finder))
}

/// Notes the coverage of a navigation that found few places: whether the name occurs in a file that is not indexed.
pub(super) async fn note_navigation(
    call: &Call,
    project: &Project,
    request: &NavigationRequest,
    found: &Navigation,
) {
    let name = match (found.symbol_name(), asked_name(&request.subject)) {
        _ if request.offset > 0 || found.total() >= FEW || found.is_definition() => None,
        (Some(name), _) => Some(name.to_owned()),
        (None, asked) => asked,
    };
    if let Some(name) = name {
        note(call, project, &request.repository_roots, Sought::texts([name], [], true), false).await;
    }
}

/// The name that a request spells.
fn asked_name(subject: &Subject) -> Option<String> {
    let Subject::Name { symbol, .. } = subject else { return None };
    match Spelling::parse(symbol) {
        Ok(Spelling::Name(readings)) => readings.first().map(|reading| reading.name.simple().to_owned()),
        _ => None,
    }
}

/// The fault of a navigation that found no definition, with what is not indexed. A name never comes from outside if its definition may
/// be in a file that was left out.
pub(super) async fn explain_unknown_name(
    call: &Call,
    project: &Project,
    request: &NavigationRequest,
    mut fault: Fault,
) -> Fault {
    let detail = fault.details.as_ref().and_then(|details| details["usedName"].as_str()).map(str::to_owned);
    let asked = detail.clone().or_else(|| asked_name(&request.subject));
    let Some(name) = asked.filter(|_| fault.code == ErrorCode::NotFound) else { return fault };
    let sought = Sought::texts([name.clone()], [], true);
    let Some(coverage) = coverage(call, project, &request.repository_roots, sought).await else {
        return fault;
    };
    let unread = unread_languages(call, project, &request.repository_roots).await.unwrap_or_default();
    let (shown, occurs) = (echo(&name), coverage.has_occurrences());
    let may_be_here = coverage.left_out.is_some() || !unread.is_empty();
    let known = match (detail.is_some() && may_be_here, occurs) {
        (true, true) => format!("`{shown}` is used in what is indexed, but nothing there defines it."),
        (true, false) => format!(
            "`{shown}` is used in what is indexed, but nothing there defines it: its definition may be in what is not read, or elsewhere."
        ),
        (false, _) => fault.message,
    };
    fault.message = format!("{known} {}", coverage.sentence());
    if !unread.is_empty() {
        let named = unread.iter().take(LANGUAGES_MAX).copied().collect::<Vec<_>>().join(", ");
        let dots = if unread.len() > LANGUAGES_MAX { ", …" } else { "" };
        fault.message.push_str(&format!(
            " Files in these languages are searched, but their definitions are not read: {named}{dots}."
        ));
    }
    call.set_coverage(coverage);
    fault
}

/// The titles of the programming languages without a grammar in the repositories with these roots (empty: in all), the language
/// with the most chunks first.
async fn unread_languages(
    call: &Call,
    project: &Project,
    roots: &[String],
) -> Result<Vec<&'static str>, Fault> {
    let rows = list_searched(call, project, roots).await?;
    let here = Filter::from(Test::Repositories(rows.iter().map(|row| row.id).collect()));
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let counted = breakdown::languages(&mut tx, &here).await?;
    tx.commit().await?;
    let known = counted.iter().filter_map(|count| languages::by_name(count.language.as_deref()?));
    let unread = known.filter(|language| language.is_code() && !language.has_grammar());
    Ok(unread.map(|language| language.title).collect())
}

/// The indexed repositories of files with these roots; empty: all.
async fn list_searched(
    call: &Call,
    project: &Project,
    roots: &[String],
) -> Result<Vec<RepositoryRow>, Fault> {
    let mut rows = list_repositories(call, project).await?;
    rows.retain(|row| {
        !row.is_records() && is_indexed(row) && (roots.is_empty() || roots.contains(&row.root))
    });
    Ok(rows)
}

/// Notes the files that an answer does not cover: always if it `is_doubtful`, else if the sought text occurs in omitted files.
async fn note(call: &Call, project: &Project, roots: &[String], sought: Option<Sought>, is_doubtful: bool) {
    let Some(mut coverage) = coverage(call, project, roots, sought).await else { return };
    if !is_doubtful {
        coverage.searched.clear();
    }
    if is_doubtful || coverage.has_occurrences() {
        call.set_coverage(coverage);
    }
}

/// Returns the coverage of the repositories with these roots; empty: of all. `None` if it cannot be found out, which does not fail the
/// call.
async fn coverage(
    call: &Call,
    project: &Project,
    roots: &[String],
    sought: Option<Sought>,
) -> Option<Coverage> {
    match find_coverage(call, project, roots, sought).await {
        Ok(coverage) => Some(coverage),
        Err(fault) => {
            tracing::debug!(%fault, "what an answer does not cover could not be found out");
            None
        }
    }
}

async fn find_coverage(
    call: &Call,
    project: &Project,
    roots: &[String],
    sought: Option<Sought>,
) -> Result<Coverage, Fault> {
    let rows = list_searched(call, project, roots).await?;
    let mut coverage = coverage_of(&rows);
    let Some(sought) = sought else { return Ok(coverage) };
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    let reasons: Vec<String> = SCANNED.iter().map(|reason| reason.as_str().to_owned()).collect();
    let mut tx = ProjectTx::begin(call.app.store().await?, project, Access::Search).await?;
    let (candidates, total) = file_lists::left_out(&mut tx, &ids, &reasons, FILES_MAX).await?;
    tx.commit().await?;
    if candidates.is_empty() {
        return Ok(coverage);
    }
    let total = total.unsigned_abs();
    // A run that goes on has no report yet.
    let left_out = coverage.left_out.get_or_insert_with(|| LeftOut { count: total, ..LeftOut::default() });
    left_out.sought = sought.all().iter().map(|text| echo(text)).collect();
    let scan = Scan { app: Arc::clone(&call.app), project: project.clone(), rows, candidates, sought };
    let (occurrences, read) = blocking(move || Ok(scan.run())).await?;
    // The search ends at the last place that an answer names.
    if occurrences.len() < COVERAGE_NAMES_MAX {
        left_out.not_looked_into = total.saturating_sub(read);
    }
    left_out.occurrences = occurrences;
    if left_out.examples.is_empty() {
        left_out.examples = left_out.occurrences.iter().map(|occurrence| occurrence.file.clone()).collect();
    }
    Ok(coverage)
}

/// A search in the files of several repositories.
struct Scan {
    app: Arc<App>,
    project: Project,
    rows: Vec<RepositoryRow>,
    candidates: Vec<file_lists::LeftOutFile>,
    sought: Sought,
}

impl Scan {
    /// Returns the occurrences, and the number of files that were read. Blocks.
    fn run(self) -> (Vec<Occurrence>, u64) {
        let redacts = self.app.config.indexing.redact_secrets;
        let (mut budget, mut occurrences, mut read) = (ScanBudget::default(), Vec::new(), 0);
        let mut opened: Option<(i64, Option<OpenRoot>)> = None;
        for file in &self.candidates {
            if opened.as_ref().is_none_or(|(id, _)| *id != file.repository_id) {
                opened = Some((file.repository_id, self.open_root(file.repository_id)));
            }
            let Some((_, Some(root))) = &opened else { continue };
            match look_into(root, &file.path, &self.sought, redacts, &mut budget) {
                LookedInto::NotRead => continue,
                LookedInto::Absent => {}
                LookedInto::Occurs(text, line) => {
                    occurrences.push(Occurrence { text: echo(&text), file: self.named(file), line })
                }
            }
            read += 1;
            if occurrences.len() == COVERAGE_NAMES_MAX {
                break;
            }
        }
        (occurrences, read)
    }

    fn named(&self, file: &file_lists::LeftOutFile) -> LeftOutFile {
        let repository = self.rows.iter().find(|row| row.id == file.repository_id);
        let repo = repository.filter(|_| self.rows.len() > 1).map(|row| row.name.clone());
        LeftOutFile { file: file.path.clone(), repo, reason: file.reason.clone() }
    }

    /// The files of a repository, as they were indexed where a mirror has them; `None` if they may not be read, or are not here.
    fn open_root(&self, id: i64) -> Option<OpenRoot> {
        let row = self.rows.iter().find(|row| row.id == id)?;
        let root = Path::new(&row.root);
        AllowedRoots::for_project(&self.app.config.indexing, self.project.id()).check(root).ok()?;
        if row.has_path() && root.is_dir() {
            return OpenRoot::open(root).ok();
        }
        let places = CommitPlace::list(row, None, (&self.app.mirrors(), &self.app.archives()));
        places.into_iter().find_map(|CommitPlace { git_dir, commit, folder }| {
            let tree = FileTree::Commit { git_dir, head: Head { branch: None, commit }, folder };
            OpenRoot::open_in(root, &tree).ok()
        })
    }
}
