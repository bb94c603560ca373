//! Finds or fetches the repository of a run that is started from an address, and reads its description of its product.

use std::collections::BTreeMap;
use std::path::Path;

use contract::{ErrorCode, Fault, RepositoryAddress};
use history::{CommitFolder, CommitTree, RevisionPatterns};
use launch::addresses::{GithubRepository, ProductPage};
use launch::event::NOT_INDEXED;
use launch::infer::{FILE_BYTES_MAX, Metadata, files_to_read, infer, is_about};
use launch::quickstart::missing_fields;
use mirrors::Fetched;
use platform::safe_open::EntryKind;
use serde_json::{Value, json};
use store::{
    Access, ChunkSelection, GramQuery, Project, ProjectTx, RepositoryRow, files, grams, repositories,
};
use tenancy::AllowedRoots;
use tokio_util::sync::CancellationToken;

use super::repository::{
    ORIGINS_MAX, RunRepository, all_repositories, awaits_first_run, find_if_any, origin_of, pin,
};
use gate::app::{App, blocking};

/// Maximum number of entries of a folder, and of folders of a commit, that are looked at.
const ENTRIES_MAX: usize = 5_000;
const FOLDERS_MAX: usize = 500;
/// Maximum number of repositories whose purpose is read.
const READ_MAX: usize = 20;

/// A repository with its description of its product.
#[derive(Debug, Clone)]
pub struct DescribedRepository {
    /// The repository.
    pub repository: RunRepository,
    /// Its address or, without one, its name.
    pub named: String,
    /// The commit.
    pub commit: String,
    /// The metadata that was read of it.
    pub metadata: Metadata,
}

/// Returns the repository of a project with this address, or one that was cloned from it; `None` if no such repository is indexed.
///
/// # Errors
/// `INVALID_INPUT` if it is of no commit; storage faults.
pub async fn indexed_repository(
    app: &App,
    project: &Project,
    github: &GithubRepository,
) -> Result<Option<DescribedRepository>, Fault> {
    let rows = all_repositories(app.store().await?, project).await?;
    let found = find_if_any(rows, &app.config.indexing, project.id(), github.address.as_str()).await?;
    let Some(row) = found.filter(|row| !awaits_first_run(row)) else { return Ok(None) };
    described(app, project, Identity::of_github(github, row)).await.map(Some)
}

/// Fetches a repository that the project does not have, if it may be fetched, and reads its description of its product. `allowed` lists
/// what the caller may index; `None` if the caller may not index.
///
/// # Errors
/// `REPO_NOT_FOUND` if it may not be fetched, does not exist or is not accessible; else the fault of fetching it.
pub async fn fetched_repository(
    app: &App,
    project: Option<&Project>,
    allowed: Option<AllowedRoots>,
    github: &GithubRepository,
    cancel: &CancellationToken,
) -> Result<DescribedRepository, Fault> {
    let address = github.address.clone();
    if !allowed.is_some_and(|allowed| allowed.contains_address(&address)) {
        return Err(not_allowed(&address));
    }
    app.disk_space().require(0).await?;
    let (mirrors, cancel) = (app.mirrors(), cancel.clone());
    let (commit, files) = blocking(move || {
        let fetched = mirrors.fetch(&address, &RevisionPatterns::default(), &|| cancel.is_cancelled());
        let Fetched { git_dir, head, .. } = fetched.map_err(not_accessible)?;
        let files = files_of_commit(&git_dir, &head.commit)
            .map_err(|error| Fault::internal("The mirror of the repository could not be read.", error))?;
        Ok((head.commit, files))
    })
    .await?;
    let id = match project {
        Some(project) => {
            let mut tx = ProjectTx::begin(app.store().await?, project, Access::Search).await?;
            let row = repositories::get(&mut tx, github.address.as_str()).await?;
            tx.commit().await?;
            row.map_or(NOT_INDEXED, |row| row.id)
        }
        None => NOT_INDEXED,
    };
    Ok(DescribedRepository {
        repository: RunRepository::Fetched { id, commit: commit.clone() },
        named: github.address.as_str().to_owned(),
        commit,
        metadata: Metadata { owner: github.owner.clone(), name: github.name.clone(), files },
    })
}

fn not_allowed(address: &RepositoryAddress) -> Fault {
    let message = format!("The project has no repository {address}, and you may not have it fetched.");
    Fault::new(ErrorCode::RepoNotFound, message)
        .with_details(json!({ "field": "github_repo_url" }))
        .with_hint(
            "Index it with `build_index`. For that, the key needs the scope `index`, and the operator has to allow the address in the \
             project's own list in indexing.project_roots or, where the project has none, in indexing.roots.",
        )
}

/// Answers a refusal like a missing repository, because the host may refuse repositories that do not exist.
fn not_accessible(fault: Fault) -> Fault {
    let code = if fault.code == ErrorCode::Forbidden { ErrorCode::RepoNotFound } else { fault.code };
    Fault { code, ..fault }
}

/// The repository of a project whose product and platform are those of a page.
///
/// # Errors
/// `INVALID_INPUT` with `missing_fields` if there is no such repository, or more than one; storage faults.
pub async fn repository_of_product(
    app: &App,
    project: &Project,
    page: &ProductPage,
) -> Result<DescribedRepository, Fault> {
    let rows = all_repositories(app.store().await?, project).await?;
    let allowed = AllowedRoots::for_project(&app.config.indexing, project.id());
    let all = blocking(move || {
        let rows = rows.into_iter().filter(|row| row.is_readable() && row.commit.is_some());
        Ok(rows.take(ORIGINS_MAX).map(|row| Identity::of_row(row, &allowed)).collect::<Vec<_>>())
    })
    .await?;
    let names = |these: &[Identity]| these.iter().take(READ_MAX).map(|one| one.named.clone()).collect();
    let mut suggested: Vec<String> = names(&all);
    let about: Vec<Identity> =
        all.into_iter().filter(|one| is_about(&one.owner, &one.name, &page.product_slug)).collect();
    if !about.is_empty() {
        suggested = names(&about);
    }
    let mut matching = Vec::new();
    for one in about.into_iter().take(READ_MAX) {
        let repository = described(app, project, one).await?;
        let inference = infer(&repository.metadata);
        let is_family = inference.family.decided() == Some(&page.product_slug);
        if is_family && inference.platform.decided() == Some(&page.platform) {
            matching.push(repository);
        }
    }
    if matching.len() == 1
        && let Some(only) = matching.pop()
    {
        return Ok(only);
    }
    if !matching.is_empty() {
        suggested = matching.into_iter().map(|one| one.named).collect();
    }
    let message = "The address does not tell which of the project's repositories the product is made from.";
    let suggested = suggested.into_iter().map(Value::String).collect();
    Err(missing_fields(message, vec![("github_repo_url", suggested)]))
}

/// A repository with the names that it has elsewhere.
struct Identity {
    row: RepositoryRow,
    owner: String,
    name: String,
    named: String,
}

impl Identity {
    fn of_github(github: &GithubRepository, row: RepositoryRow) -> Self {
        let named = github.address.as_str().to_owned();
        Self { row, owner: github.owner.clone(), name: github.name.clone(), named }
    }

    /// By its address, or that which its directory was cloned from. Blocks.
    fn of_row(row: RepositoryRow, allowed: &AllowedRoots) -> Self {
        let address = match row.is_folder() {
            true => origin_of(Path::new(&row.root), allowed),
            false => RepositoryAddress::parse(&row.root).and_then(Result::ok),
        };
        let (owner, name, named) = match &address {
            Some(address) => {
                let mut above = address.path().rsplit('/').skip(1);
                let owner = above.next().unwrap_or_default().to_owned();
                (owner, address.name().to_owned(), address.as_str().to_owned())
            }
            None => (String::new(), row.name.clone(), row.name.clone()),
        };
        Self { row, owner, name, named }
    }
}

/// Reads an indexed repository's description of its product.
async fn described(app: &App, project: &Project, identity: Identity) -> Result<DescribedRepository, Fault> {
    let Identity { row, owner, name, named } = identity;
    let commit = pin(&row, app, project.id(), None).await?;
    let files = files_of_index(app, project, &row).await?;
    let metadata = Metadata { owner, name, files };
    Ok(DescribedRepository { repository: RunRepository::Indexed(Box::new(row)), named, commit, metadata })
}

/// Returns the files of an index that describe the purpose of a repository.
async fn files_of_index(
    app: &App,
    project: &Project,
    row: &RepositoryRow,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut tx = ProjectTx::begin(app.store().await?, project, Access::Snapshot).await?;
    let manifest = files::manifest(&mut tx, row.id).await?;
    let searchable = manifest.iter().filter(|file| file.skipped.is_none());
    let chosen = files_to_read(searchable.map(|file| file.path.clone()));
    let paths: BTreeMap<i64, &str> = manifest
        .iter()
        .filter(|file| chosen.contains(&file.path))
        .map(|file| (file.id, file.path.as_str()))
        .collect();
    let ids: Vec<i64> = paths.keys().copied().collect();
    let mut texts =
        grams::texts_of_files(&mut tx, &ids, &ChunkSelection::All, &GramQuery::EVERYTHING).await?;
    tx.commit().await?;
    texts.sort_by_key(|text| (text.file_id, text.start_line, text.id));
    let mut found: BTreeMap<String, String> =
        paths.values().map(|path| ((*path).to_owned(), String::new())).collect();
    for text in texts {
        let file = paths.get(&text.file_id).and_then(|path| found.get_mut(*path));
        if let Some(file) = file.filter(|file| file.len() + text.content.len() < FILE_BYTES_MAX) {
            file.push_str(&text.content);
            if !file.ends_with('\n') {
                file.push('\n');
            }
        }
    }
    Ok(found)
}

/// Returns the files of a commit that describe the purpose of a repository.
fn files_of_commit(git_dir: &Path, commit: &str) -> std::io::Result<BTreeMap<String, String>> {
    let root = CommitTree::open(git_dir, commit)?.root()?;
    let mut paths = files_to_read(entry_names(&root, EntryKind::File).into_iter());
    for folder in entry_names(&root, EntryKind::Folder).iter().take(FOLDERS_MAX) {
        if let Ok(opened) = root.open_folder(folder.as_ref()) {
            let below =
                entry_names(&opened, EntryKind::File).into_iter().map(|name| format!("{folder}/{name}"));
            // Only the entries that are read are kept: folders that share their content let a small repository have millions of names.
            paths = files_to_read(paths.into_iter().chain(below));
        }
    }
    let mut found = BTreeMap::new();
    for path in paths {
        if let Ok(bytes) = root.read_with_metadata(&path, FILE_BYTES_MAX as u64).1 {
            found.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(found)
}

fn entry_names(folder: &CommitFolder, kind: EntryKind) -> Vec<String> {
    let (entries, _) = folder.entries(ENTRIES_MAX);
    let of_kind = entries.into_iter().filter(|entry| entry.kind == kind);
    of_kind.filter_map(|entry| entry.name.into_string().ok()).collect()
}
