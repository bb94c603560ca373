//! An application instance with its own home and embedded database, so that benchmarks do not touch the user's index.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::variant::Variant;
use super::vector_cache::CachedEmbedder;
use super::vectors;
use contract::clock::SystemClock;
use contract::config::{Config, Layout, Search};
use contract::{ErrorCode, Fault, ProjectId};
use embedding::Embedder;
use engine::indexing::RunReport;
use engine::search::{self, SearchAnswer, SearchDeps, SearchRequest};
use gate::app::App;
use gate::module::Modules;
use gate::tools::{self, Caller, Request, Surface};
use store::{Index, Project};

/// Folders of the installation that the experiment links to and only reads.
const SHARED_FOLDERS: [&str; 3] = ["runtime", "models", "dictionaries"];

/// An application for benchmarks.
pub struct Experiment {
    /// The application.
    pub app: Arc<App>,
    home: PathBuf,
}

impl Experiment {
    /// Opens an experiment below the installation's home. It uses the installation's models and settings, but always an
    /// embedded database of its own.
    ///
    /// # Errors
    /// File system errors.
    pub fn open(
        mut config: Config,
        layout: &Layout,
        program: PathBuf,
        modules: &'static Modules,
    ) -> Result<Self, Fault> {
        let home = layout.home().join("bench");
        let unusable = |error| Fault::internal(format!("{} cannot be used.", home.display()), error);
        std::fs::create_dir_all(&home).map_err(unusable)?;
        for folder in SHARED_FOLDERS {
            let (from, link) = (layout.home().join(folder), home.join(folder));
            if from.is_dir() && !link.exists() {
                std::os::unix::fs::symlink(from, link).map_err(unusable)?;
            }
        }
        config.database.url = None;
        let app = App::new(config, Layout::new(home.clone()), Arc::new(SystemClock), program, modules);
        Ok(Self { app: Arc::new(app), home })
    }

    /// Replaces the configured embedder.
    #[must_use]
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>, program: PathBuf) -> Self {
        let Self { app, home } = self;
        let layout = app.layout.clone();
        let app = App::new(app.config.clone(), layout, Arc::new(SystemClock), program, app.modules)
            .with_embedder(embedder);
        Self { app: Arc::new(app), home }
    }

    /// Selects the vectors named `name` (see [`vectors::embedder_named`]) and caches them in a file across benchmark runs.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if no model is installed; `INVALID_REQUEST` for an unknown name.
    pub async fn with_vectors(self, name: &str, program: PathBuf) -> Result<Self, Fault> {
        let embedder = vectors::embedder_named(name, Arc::clone(self.app.embedder().await?))?;
        let cache = CachedEmbedder::open(embedder, &self.home)?;
        Ok(self.with_embedder(Arc::new(cache), program))
    }

    /// The experiment's home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder for copies of checkouts.
    #[must_use]
    pub fn copies(&self) -> PathBuf {
        self.home.join("copies")
    }

    /// Indexes `folder` into `project` with the tool `build_index`.
    ///
    /// # Errors
    /// The fault of the run.
    pub async fn index(&self, project: &str, folder: &Path) -> Result<RunReport, Fault> {
        // `force`, because two query sets may use different parts of one repository.
        let arguments = json!({ "repoPath": folder, "project_id": project, "force": true });
        let mut answer = self.call("build_index", arguments).await?;
        serde_json::from_value(answer["report"].take())
            .map_err(|error| Fault::internal("The report of an index run could not be read.", error))
    }

    /// Calls a tool as the operator.
    ///
    /// # Errors
    /// The fault of the tool.
    pub async fn call(&self, tool: &str, arguments: serde_json::Value) -> Result<serde_json::Value, Fault> {
        let request = Request::new(tool, arguments, Caller::local(Surface::Cli));
        let envelope = tools::call(&self.app, request).await.map_err(|refusal| refusal.to_fault())?;
        match (envelope.result, envelope.error) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(Fault::new(error.code, error.message)),
            (None, None) => Err(Fault::new(ErrorCode::Internal, "A tool returned an empty answer.")),
        }
    }

    /// Opens a project.
    ///
    /// # Errors
    /// `NO_INDEX` if it was never indexed; storage faults.
    pub async fn project(&self, id: &str) -> Result<Project, Fault> {
        let id = ProjectId::parse(id)?;
        tenancy::require(self.app.store().await?, &id).await
    }

    /// Searches a project with a variant of the ranking.
    ///
    /// # Errors
    /// The faults of [`search::execute()`].
    pub async fn search(
        &self,
        project: &Project,
        request: &SearchRequest,
        variant: &Variant,
    ) -> Result<SearchAnswer, Fault> {
        self.search_with_settings(project, request, variant, &self.app.config.search).await
    }

    /// Searches with other settings.
    ///
    /// # Errors
    /// The faults of [`search::execute()`].
    pub async fn search_with_settings(
        &self,
        project: &Project,
        request: &SearchRequest,
        variant: &Variant,
        settings: &Search,
    ) -> Result<SearchAnswer, Fault> {
        let embedder = self.app.embedder_for(project.model()).await?;
        let dictionary = self.app.dictionaries.current().await;
        let deps =
            SearchDeps { dictionary: dictionary.as_deref(), settings, ..self.deps(&embedder, variant) };
        let request = SearchRequest { vectors: variant.vectors, ..request.clone() };
        search::execute(deps, Index::Postgres(self.app.store().await?, project), &request).await
    }

    /// The dependencies of a search, without dictionaries.
    #[must_use]
    pub fn deps<'a>(&'a self, embedder: &'a Arc<dyn Embedder>, variant: &'a Variant) -> SearchDeps<'a> {
        SearchDeps {
            embedder: Some(embedder),
            dictionary: None,
            settings: &self.app.config.search,
            ranking: &variant.ranking,
            clock: &*self.app.clock,
            on_stage: &|_| (),
        }
    }

    /// Id and variant of the embedding model.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if no model is installed.
    pub async fn model(&self) -> Result<String, Fault> {
        let model = self.app.embedder().await?.model();
        Ok(format!("{} {}", model.id, model.variant))
    }

    /// A project id that contains a hash of the model, because each model needs projects of its own.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if no model is installed.
    pub async fn project_id(&self, kind: &str, name: &str) -> Result<String, Fault> {
        let hash = blake3::Hash::from(self.app.embedder().await?.model().hash).to_hex();
        let name: String =
            name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
        Ok(format!("{kind}-{}-{}", words.join("-"), &hash[..6]))
    }

    /// Closes the connections to the database, which stops once no process uses it.
    pub async fn close(&self) {
        if let Some(store) = self.app.opened_store() {
            store.database().close().await;
        }
    }
}
