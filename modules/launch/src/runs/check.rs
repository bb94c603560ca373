//! Checks a documentation site without a run: the folder is read from disk, the repository from its index. It only reads.

use std::path::{Path, PathBuf};

use contract::{ErrorCode, Fault, ProjectId, escaped_line};
use launch::coverage::Coverage;
use launch::evidence::{Evidence, Questions, RepositoryFacts};
use launch::gate::{GateInput, Stopped, check_while};
use launch::report::{Profile, ValidationReport};
use launch::site::{Site, SiteLimits, counted_by_extension};
use launch::snippet::ParsedSnippet;
use store::{Access, Project, ProjectTx, RepositoryRow, repositories};
use tokio_util::sync::CancellationToken;

use super::disk_paths::DiskPaths;
use super::evidence::{read_evidence, stopped};
use super::folder_files::FolderFiles;
use super::page_secrets::PageSecrets;
use super::snippets::parse_site;
use gate::app::{App, blocking};

/// A site to check.
#[derive(Debug, Clone)]
pub struct SiteCheck {
    /// Its folder.
    pub site: PathBuf,
    /// The project whose index is asked.
    pub project: ProjectId,
    /// The repository that the site documents: its root or its name; `None` for the one that contains the site.
    pub repository: Option<String>,
    /// Strictness of the check.
    pub profile: Profile,
    /// `true` if the coverage is computed.
    pub coverage: bool,
}

/// A site that was checked.
#[derive(Debug)]
pub struct CheckedSite {
    /// Results of the gates.
    pub report: ValidationReport,
    /// Coverage of the documentation, if it was requested.
    pub coverage: Option<Coverage>,
    /// Number of pages.
    pub pages: usize,
    /// Documents in formats that are not read.
    pub unread: Vec<String>,
    /// Folder of the site in the repository, if it is in it.
    pub base: Option<String>,
    /// Name of the repository, if it is known.
    pub repository: Option<String>,
    /// The commit that was indexed.
    pub revision: Option<String>,
}

/// Checks a site.
///
/// # Errors
/// `INVALID_REQUEST` if the folder cannot be read or has no pages, `NO_INDEX` if the repository is named and not indexed, or needed for
/// the coverage; `CANCELLED`; storage faults.
pub async fn check_site(
    app: &App,
    request: SiteCheck,
    cancel: &CancellationToken,
    on_step: &(dyn Fn(&str) + Sync),
) -> Result<CheckedSite, Fault> {
    let folder = request.site.clone();
    let folder = blocking(move || canonical(&folder)).await?;
    let found = find_repository(app, &request, &folder).await?;
    let base = found.as_ref().ok().and_then(|found| base_of(&folder, &found.repository));
    on_step("reading pages");
    let (site, snippets, mut questions) = read_site(app, folder, base, found.as_ref().ok(), cancel).await?;
    on_step("reading the index");
    if request.coverage {
        questions = questions.with_public_definitions();
    }
    let facts = match &found {
        Ok(found) => {
            let store = app.store().await?;
            let facts = read_evidence(store, &found.project, &found.repository, questions, cancel).await?;
            Ok(with_files_on_disk(facts, &found.repository).await?)
        }
        Err(reason) => Err(reason.clone()),
    };
    on_step("running gates");
    let (profile, wants_coverage, cancel) = (request.profile, request.coverage, cancel.clone());
    let repository = found.ok().map(|found| found.repository);
    blocking(move || {
        let (report, coverage) = run_gates(&site, &snippets, &facts, profile, wants_coverage, &cancel)?;
        Ok(CheckedSite {
            report,
            coverage,
            pages: site.pages().len(),
            unread: site.unread().to_vec(),
            base: site.base().map(str::to_owned),
            repository: repository.as_ref().map(|row| row.name.clone()),
            revision: repository.and_then(|row| row.commit),
        })
    })
    .await
}

fn canonical(folder: &Path) -> Result<PathBuf, Fault> {
    let unusable = |why: String| {
        let shown = escaped_line(&folder.to_string_lossy());
        Fault::new(ErrorCode::InvalidRequest, format!("`{shown}` cannot be checked: {why}."))
            .with_hint("Name the folder of a documentation site.")
    };
    let path = folder.canonicalize().map_err(|error| unusable(error.to_string()))?;
    if path.is_dir() { Ok(path) } else { Err(unusable("it is not a folder".to_owned())) }
}

/// The repository that a site documents, in its project.
struct Documented {
    project: Project,
    repository: RepositoryRow,
}

/// Finds the repository: the one that is named, or that contains the site. The inner error says why it was not found, for checks that need
/// none.
async fn find_repository(
    app: &App,
    request: &SiteCheck,
    folder: &Path,
) -> Result<Result<Documented, String>, Fault> {
    let is_needed = request.repository.is_some() || request.coverage;
    match indexed_repository(app, request, folder).await {
        Ok(found) => Ok(Ok(found)),
        Err(fault)
            if !is_needed && matches!(fault.code, ErrorCode::NoIndex | ErrorCode::CapabilityMissing) =>
        {
            Ok(Err("the repository is not indexed".to_owned()))
        }
        Err(fault) => Err(fault),
    }
}

async fn indexed_repository(app: &App, request: &SiteCheck, folder: &Path) -> Result<Documented, Fault> {
    let store = app.store().await?;
    let project = tenancy::require(store, &request.project).await?;
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    let indexed = rows.into_iter().filter(|row| !row.is_records() && row.chunks > 0);
    let found = match &request.repository {
        Some(named) => {
            let mut indexed = indexed;
            indexed.find(|row| row.root == *named || row.name == *named)
        }
        // Of nested repositories, the innermost.
        None => indexed
            .filter(|row| row.is_folder() && folder.starts_with(&row.root))
            .max_by_key(|row| row.root.len()),
    };
    found.map(|repository| Documented { project, repository }).ok_or_else(|| {
        let shown = match &request.repository {
            Some(named) => escaped_line(named),
            None => escaped_line(&folder.to_string_lossy()),
        };
        Fault::new(ErrorCode::NoIndex, format!("The project has no index of `{shown}`."))
            .with_hint("Index the repository with `pairofcleats index PATH`, or name it with --repo.")
    })
}

/// The evidence, which also looks for files of the repository that its index leaves out, if it is a folder of this machine.
async fn with_files_on_disk(
    facts: RepositoryFacts,
    repository: &RepositoryRow,
) -> Result<RepositoryFacts, Fault> {
    if !repository.is_folder() {
        return Ok(facts);
    }
    let root = PathBuf::from(&repository.root);
    let files = blocking(move || Ok(DiskPaths::open(&root))).await?;
    Ok(match files {
        Some(files) => facts.with_unindexed(Box::new(files)),
        None => facts,
    })
}

/// The folder of a site in a repository, if it is in it.
fn base_of(folder: &Path, repository: &RepositoryRow) -> Option<String> {
    let below = folder.strip_prefix(&repository.root).ok().filter(|_| repository.is_folder())?;
    below.to_str().map(str::to_owned)
}

/// Reads the pages of a site, parses the code in them, and collects the questions about the repository.
async fn read_site(
    app: &App,
    folder: PathBuf,
    base: Option<String>,
    found: Option<&Documented>,
    cancel: &CancellationToken,
) -> Result<(Site, Vec<ParsedSnippet>, Questions), Fault> {
    let within = match (&base, found) {
        (Some(_), Some(found)) => PathBuf::from(&found.repository.root),
        _ => folder.clone(),
    };
    let (parsing, cancel) = (app.parsing.clone(), cancel.clone());
    blocking(move || {
        let limits = SiteLimits::default();
        let files = FolderFiles::open(&folder, &within, limits)?;
        let site = Site::read(&files, base.as_deref(), &limits);
        if site.pages().is_empty() && site.problems().is_empty() {
            let shown = escaped_line(&folder.to_string_lossy());
            let others = match site.unread() {
                [] => String::new(),
                unread => format!(
                    " It has documents in formats that are not read: {}.",
                    counted_by_extension(unread)
                ),
            };
            return Err(Fault::new(
                ErrorCode::InvalidRequest,
                format!("`{shown}` has no Markdown pages.{others}"),
            )
            .with_hint("Name the folder of a documentation site; its pages end in .md."));
        }
        let snippets = parse_site(&parsing, &site, &cancel)?;
        let questions = Questions::new(&site, &snippets, None);
        Ok((site, snippets, questions))
    })
    .await
}

fn run_gates(
    site: &Site,
    snippets: &[ParsedSnippet],
    facts: &Result<RepositoryFacts, String>,
    profile: Profile,
    wants_coverage: bool,
    cancel: &CancellationToken,
) -> Result<(ValidationReport, Option<Coverage>), Fault> {
    let evidence = match facts {
        Ok(facts) => Ok(facts as &dyn Evidence),
        Err(reason) => Err(reason.as_str()),
    };
    let input =
        GateInput { site, snippets, evidence, claims: None, run: None, secrets: &PageSecrets, profile };
    let report = check_while(&input, &mut |_| !cancel.is_cancelled()).map_err(|Stopped| stopped())?;
    let coverage = match evidence {
        Ok(evidence) if wants_coverage => Some(Coverage::new(site, evidence, &report)),
        _ => None,
    };
    Ok((report, coverage))
}
