//! The project in which a query is asked: that of its repository alone, or one with all others.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Experiment;
use crate::checkouts::{self, Checkout};
use crate::queries::{self, QuerySet, Repository};
use contract::{ErrorCode, Fault};
use store::Project;

/// The project in which a query is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// In a project that contains only its repository.
    Alone,
    /// In the project of all repositories; the query names its repository.
    Named,
    /// In the project of all repositories; the query does not name its repository.
    NotNamed,
}

impl Place {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Named => "named",
            Self::NotNamed => "notNamed",
        }
    }
}

/// An indexed repository and where it is asked.
pub(super) struct Standing {
    pub(super) place: Place,
    pub(super) project: Project,
    /// Its canonical root, which names it in a request.
    pub(super) root: String,
    /// Its name in the index.
    pub(super) repository: String,
    pub(super) chunks: u64,
}

/// The repositories of one project, by their name in the query sets: folder, name in the index, number of chunks.
pub(super) type Indexed = HashMap<String, (PathBuf, String, u64)>;

impl Standing {
    /// Indexes a repository into a project of its own; `None` if the corpus lacks it.
    pub(super) async fn alone(
        experiment: &Experiment,
        corpus: &Path,
        set: &QuerySet,
    ) -> Result<Option<Self>, Fault> {
        let Some(files) = copy(experiment, corpus, &set.repository)? else { return Ok(None) };
        let id = experiment.project_id("quality", &set.repository.name).await?;
        let report = experiment.index(&id, &files).await?;
        let indexed = (files, report.repository, report.chunks);
        Ok(Some(Self::new(Place::Alone, experiment.project(&id).await?, &indexed)?))
    }

    /// A repository of a project.
    pub(super) fn new(
        place: Place,
        project: Project,
        (files, repository, chunks): &(PathBuf, String, u64),
    ) -> Result<Self, Fault> {
        let root = files.canonicalize().map_err(|error| Fault::internal("A copy is gone.", error))?;
        let root = root.to_string_lossy().into_owned();
        Ok(Self { place, project, root, repository: repository.clone(), chunks: *chunks })
    }
}

/// Indexes all repositories into one project, whose id depends on which they are, so that no other one is a neighbour. Those
/// that the corpus lacks are not in the result.
///
/// # Errors
/// `INVALID_INPUT` if two query sets pin different states of one repository; faults of index runs.
pub(super) async fn index_together(
    experiment: &Experiment,
    corpus: &Path,
    sets: &[QuerySet],
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<(Project, Indexed), Fault> {
    let mut states: BTreeMap<&str, (String, &QuerySet)> = BTreeMap::new();
    for set in sets {
        let (name, state) = (set.repository.name.as_str(), set.repository.state());
        let (first, of) = states.entry(name).or_insert_with(|| (state.clone(), set));
        if *first != state {
            let message = format!("{} and {} pin different states of {name}.", of.name, set.name);
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint("Measure them in one project in separate runs."));
        }
    }
    let all: Vec<&str> = states.values().map(|(state, _)| state.as_str()).collect();
    let id = experiment.project_id("together", &short_hash(&all.join("\n"))).await?;
    let mut indexed = Indexed::new();
    for (at, (_, set)) in states.values().enumerate() {
        let name = &set.repository.name;
        let Some(files) = copy(experiment, corpus, &set.repository)? else { continue };
        let report = experiment.index(&id, &files).await?;
        on_progress(&format!("{name}: {} chunks in one project, {} of {}", report.chunks, at + 1, all.len()));
        indexed.insert(name.clone(), (files, report.repository, report.chunks));
    }
    if indexed.is_empty() {
        return Err(queries::nothing_to_measure("The corpus contains none of the repositories."));
    }
    Ok((experiment.project(&id).await?, indexed))
}

/// Copies the repository's files at the pinned commit; `None` if the corpus lacks them.
pub(super) fn copy(
    experiment: &Experiment,
    corpus: &Path,
    repository: &Repository,
) -> Result<Option<PathBuf>, Fault> {
    let checkout = Checkout {
        name: &repository.name,
        repository: &repository.repository,
        commit: &repository.commit,
        root: repository.root.as_deref(),
    };
    checkouts::copy_checkout(corpus, &checkout, &experiment.copies())
}

/// A few letters of a hash, for names.
pub(super) fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}
