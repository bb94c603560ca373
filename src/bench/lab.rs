//! An application in a home of its own, with an embedded database of its own: what is measured disturbs nobody's index.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::memo::Memo;
use super::variant::Variant;
use super::vectors;
use crate::app::App;
use crate::tools::{self, Caller, Request, Surface};
use contract::clock::SystemClock;
use contract::config::{Config, Layout, Search};
use contract::{ErrorCode, Fault, ProjectId};
use embedding::Embedder;
use engine::indexing::RunReport;
use engine::search::{self, Deps, SearchAnswer, SearchRequest};
use store::{DecidedBy, Index, Project};

/// Folders of the installation that are shared: what is installed there is only read.
const SHARED: [&str; 3] = ["runtime", "models", "dictionaries"];

/// Where measuring happens.
pub struct Lab {
    /// The application.
    pub app: Arc<App>,
    home: PathBuf,
}

impl Lab {
    /// A lab below the installation's home, with its models and its settings but for the database, which is always an
    /// embedded one of the lab's own.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(mut config: Config, layout: &Layout, program: PathBuf) -> Result<Self, Fault> {
        let home = layout.home().join("bench");
        let unusable = |error| Fault::internal(format!("{} cannot be used.", home.display()), error);
        std::fs::create_dir_all(&home).map_err(unusable)?;
        for folder in SHARED {
            let (from, link) = (layout.home().join(folder), home.join(folder));
            if from.is_dir() && !link.exists() {
                std::os::unix::fs::symlink(from, link).map_err(unusable)?;
            }
        }
        config.database.url = None;
        let app = App::new(config, Layout::new(home.clone()), Arc::new(SystemClock), program);
        Ok(Self { app: Arc::new(app), home })
    }

    /// The same with an embedder in the place of the configured one.
    #[must_use]
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>, program: PathBuf) -> Self {
        let Self { app, home } = self;
        let layout = app.layout.clone();
        let app =
            App::new(app.config.clone(), layout, Arc::new(SystemClock), program).with_embedder(embedder);
        Self { app: Arc::new(app), home }
    }

    /// The same with the vectors that `named` names ([`vectors::named`]), none of which is made twice, from one run to
    /// the next.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when no model is installed; `INVALID_REQUEST` for another name.
    pub async fn remembering(self, named: &str, program: PathBuf) -> Result<Self, Fault> {
        let embedder = vectors::named(named, Arc::clone(self.app.embedder().await?))?;
        let memo = Memo::open(embedder, &self.home)?;
        Ok(self.with_embedder(Arc::new(memo), program))
    }

    /// Its home.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A folder for copies of checkouts.
    #[must_use]
    pub fn copies(&self) -> PathBuf {
        self.home.join("copies")
    }

    /// Indexes `folder` into `project`, as the tool does.
    ///
    /// # Errors
    /// The run's own fault.
    pub async fn index(&self, project: &str, folder: &Path) -> Result<RunReport, Fault> {
        // Two sets of questions can ask about different parts of one repository.
        let arguments = json!({ "repoPath": folder, "project_id": project, "force": true });
        let mut answer = self.call("build_index", arguments).await?;
        serde_json::from_value(answer["report"].take())
            .map_err(|error| Fault::internal("The report of a run cannot be read.", error))
    }

    /// Calls a tool as the operator.
    ///
    /// # Errors
    /// The tool's own fault.
    pub async fn call(&self, tool: &str, arguments: serde_json::Value) -> Result<serde_json::Value, Fault> {
        let request = Request::new(tool, arguments, Caller::local(Surface::Cli));
        let envelope = tools::call(&self.app, request).await.map_err(|refusal| refusal.to_fault())?;
        match (envelope.result, envelope.error) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(Fault::new(error.code, error.message)),
            (None, None) => Err(Fault::new(ErrorCode::Internal, "A tool answered nothing.")),
        }
    }

    /// A project that was indexed.
    ///
    /// # Errors
    /// `NO_INDEX` when it was not; storage faults.
    pub async fn project(&self, id: &str) -> Result<Project, Fault> {
        let id = ProjectId::parse(id)?;
        let found = tenancy::open(self.app.store().await?, &id, DecidedBy::Argument).await?;
        found.ok_or_else(tenancy::no_index)
    }

    /// Asks a project, with a variant of the ranking.
    ///
    /// # Errors
    /// As [`search::search`].
    pub async fn ask(
        &self,
        project: &Project,
        request: &SearchRequest,
        variant: &Variant,
    ) -> Result<SearchAnswer, Fault> {
        self.ask_with(project, request, variant, &self.app.config.search).await
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// As [`search::search`].
    pub async fn ask_with(
        &self,
        project: &Project,
        request: &SearchRequest,
        variant: &Variant,
        settings: &Search,
    ) -> Result<SearchAnswer, Fault> {
        let embedder = self.app.embedder_for(project.model()).await?;
        let dictionary = self.app.dictionaries.current().await;
        let deps = Deps { dictionary: dictionary.as_deref(), settings, ..self.deps(&embedder, variant) };
        let request = SearchRequest { vectors: variant.vectors, ..request.clone() };
        search::search(deps, Index::Postgres(self.app.store().await?, project), &request).await
    }

    /// What a search needs, without word lists.
    #[must_use]
    pub fn deps<'a>(&'a self, embedder: &'a Arc<dyn Embedder>, variant: &'a Variant) -> Deps<'a> {
        Deps {
            embedder: Some(embedder),
            dictionary: None,
            settings: &self.app.config.search,
            ranking: &variant.ranking,
            clock: &*self.app.clock,
            on_stage: &|_| (),
        }
    }

    /// The model that makes the vectors.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when none is installed.
    pub async fn model(&self) -> Result<String, Fault> {
        let model = self.app.embedder().await?.model();
        Ok(format!("{} {}", model.id, model.variant))
    }

    /// A project's id for vectors of this model: those of different models lie in different projects.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when no model is installed.
    pub async fn project_id(&self, kind: &str, name: &str) -> Result<String, Fault> {
        let hash = blake3::Hash::from(self.app.embedder().await?.model().hash).to_hex();
        let name: String =
            name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
        Ok(format!("{kind}-{}-{}", words.join("-"), &hash[..6]))
    }

    /// Leaves the database; it ends once nobody uses it.
    pub async fn close(&self) {
        if let Some(store) = self.app.opened_store() {
            store.database().close().await;
        }
    }
}
