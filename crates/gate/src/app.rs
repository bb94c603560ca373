//! The application state that all surfaces share.
//!
//! Creating an [`App`] opens nothing: the database and the model are opened on first use. So a server accepts clients at once.
//! If a part cannot be opened, only the call that needs it fails, and the next call tries again.

mod admission;
mod audit;
pub mod background_run;
mod cleaning;
mod dictionaries;
pub mod freshness;
pub mod index_job;
pub mod job_kind;
mod limits;
mod models;
mod pinning;
mod project_repositories;
mod unused_mirrors;
pub mod upkeep_job;
pub mod worker;
mod writers;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, RwLock, RwLockWriteGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::module::Modules;
use contract::clock::Clock;
use contract::config::{Config, Layout};
use contract::{ErrorCode, Fault, Refusal};
use embedding::Embedder;
use engine::highlighting::Highlighter;
use engine::indexing::parser::Parsing;
use engine::indexing::{Interfaces, RecordSource};
use mirrors::{Archives, Mirrors};
use platform::disk_space::DiskSpace;
use platform::process;
use platform::telemetry::{Gauges, Metrics};
use store::Store;
use store::postgres::Database;
use store::postgres::embedded::{self, EmbeddedOptions, EmbeddedServer};
use tenancy::{Principal, Workflow};
use upkeep::install::{AssetSelection, InstalledAssets, installed_assets};

pub use admission::{Admission, Bulkhead, CallSlot, Queues};
pub use audit::{Audit, Entrance};
pub use cleaning::Cleaning;
pub use dictionaries::Dictionaries;
pub use freshness::Freshness;
pub use limits::Limits;
pub use platform::task::blocking;
pub use unused_mirrors::{remove_mirror, unused_mirrors};
pub(crate) use writers::AUDIT;
pub use writers::{Writer, WriterKind, Writers};

/// The application.
pub struct App {
    /// The subsystems.
    pub modules: &'static Modules,
    /// The configuration.
    pub config: Config,
    /// Paths in the data directory.
    pub layout: Layout,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Admission queues of calls.
    pub queues: Queues,
    /// Rate limits of principals.
    pub limits: Limits,
    /// The audit log.
    pub audit: Audit,
    /// The state of the background writers.
    pub writers: Writers,
    /// Looks up the active project, if workflow-mcp is configured.
    pub workflow: Option<Workflow>,
    /// State of automatic refreshes.
    pub freshness: Freshness,
    /// Word lists that split unsegmented identifiers.
    pub dictionaries: Dictionaries,
    /// Metrics for Prometheus.
    pub metrics: Metrics,
    /// Number of open connections.
    pub connections: AtomicUsize,
    /// Number of running calls.
    pub calls: AtomicUsize,
    /// Start time of this process.
    pub started: Instant,
    /// Fires when the process shuts down: running jobs go back to the queue.
    pub shutdown: CancellationToken,
    /// Name of this process in job leases.
    pub worker: String,
    background: TaskTracker,
    /// The `pairofcleats` executable.
    pub program: PathBuf,
    /// Settings for parsing repository files.
    pub parsing: Parsing,
    /// Colours the code on pages.
    pub highlighter: Arc<Highlighter>,
    /// The parts of files that others can see, kept from one index run to the next.
    pub interfaces: Interfaces,
    embedder: OnceCell<Arc<dyn Embedder>>,
    models: models::LoadedModels,
    storage: OnceCell<Storage>,
    /// Locked for writing while this process installs runtime files.
    installation: RwLock<()>,
    /// Values of modules, by type.
    state: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// During shutdown: interval of checks whether calls are still running.
const DRAIN_POLL: Duration = Duration::from_millis(50);
/// Interval of checks that the embedded Postgres is running.
const REVIVE_INTERVAL: Duration = Duration::from_secs(2);

/// The time that a call waits for runtime files that this process installs: less than the time limit of a search.
const INSTALLATION_WAIT: Duration = Duration::from_secs(5);

struct Storage {
    store: Store,
    /// Keeps the embedded cluster running while this process lives.
    _server: Option<Arc<EmbeddedServer>>,
}

impl App {
    /// `program` is the `pairofcleats` executable, which also runs as the supervisor of the embedded Postgres and as the parser
    /// process of index runs.
    #[must_use]
    pub fn new(
        config: Config,
        layout: Layout,
        clock: Arc<dyn Clock>,
        program: PathBuf,
        modules: &'static Modules,
    ) -> Self {
        let layout = layout.with_disk_free_bytes_min(config.server.disk_free_bytes_min);
        let parsing = Parsing::Sandboxed {
            program: process::executable_path(&program),
            memory_bytes: config.indexing.parse_memory_bytes,
        };
        Self {
            queues: Queues::new(&config.queue),
            limits: Limits::new(config.access.calls_per_minute),
            audit: Audit::default(),
            writers: Writers::default(),
            workflow: Workflow::from_settings(&config.workflow, Arc::clone(&clock)),
            freshness: Freshness::default(),
            dictionaries: Dictionaries::new(&layout, &config.dictionaries),
            metrics: Metrics::new(),
            connections: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            background: TaskTracker::new(),
            started: clock.instant(),
            shutdown: CancellationToken::new(),
            worker: format!("{}-{}", std::process::id(), clock.now().as_nanosecond()),
            highlighter: Arc::new(Highlighter::new(parsing.clone())),
            parsing,
            interfaces: Interfaces::default(),
            program,
            embedder: OnceCell::new(),
            models: models::LoadedModels::default(),
            storage: OnceCell::new(),
            installation: RwLock::new(()),
            state: Mutex::default(),
            modules,
            config,
            layout,
            clock,
        }
    }

    /// Replaces the configured embedder, for tests and benchmarks.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = OnceCell::new_with(Some(embedder));
        self
    }

    /// The same application with a value of a module, for tests; [`App::state`] finds it by its type.
    #[must_use]
    pub fn with_state<T: Any + Send + Sync>(mut self, value: T) -> Self {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// The value of this type, if there is one.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.get(&TypeId::of::<T>()).and_then(|value| Arc::clone(value).downcast().ok())
    }

    /// The value of this type, which the first use makes.
    #[must_use]
    pub fn state_or_default<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let value = state.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // Its key is its type.
        Arc::clone(value).downcast().unwrap_or_default()
    }

    /// The record source with this root.
    #[must_use]
    pub fn record_source(&self, root: &str) -> Option<&'static RecordSource> {
        self.modules.record_sources().find(|source| source.root == root)
    }

    /// The database, started or connected on first use.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if runtime files are not installed, `STORAGE_UNAVAILABLE` if the database cannot be reached; the next
    /// call tries again.
    pub async fn store(&self) -> Result<&Store, Fault> {
        let storage = self.storage.get_or_try_init(|| self.open_storage()).await?;
        Ok(&storage.store)
    }

    /// The configured embedding model for new projects, loaded on first use. For an existing project use [`App::embedder_for`].
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if the model or the runtime is missing or damaged.
    pub async fn embedder(&self) -> Result<&Arc<dyn Embedder>, Fault> {
        self.embedder
            .get_or_try_init(|| async {
                let installed = self.installed(AssetSelection { postgres: false, embedding: true }).await?;
                let files = installed.embedding.ok_or_else(|| {
                    Fault::new(ErrorCode::CapabilityMissing, "The embedding model is not installed.")
                        .with_hint("Run `pairofcleats bootstrap`.")
                })?;
                self.open_model(files).await
            })
            .await
    }

    /// Returns `true` if the configured model is loaded.
    #[must_use]
    pub fn has_embedder(&self) -> bool {
        self.embedder.initialized()
    }

    /// The database, if it is already open.
    #[must_use]
    pub fn opened_store(&self) -> Option<&Store> {
        self.storage.get().map(|storage| &storage.store)
    }

    /// The file systems whose free space is checked. The embedded database's is known only once the database is open, an external
    /// database's never.
    #[must_use]
    pub fn disk_space(&self) -> DiskSpace {
        self.opened_store()
            .map_or_else(|| DiskSpace::for_home(&self.layout), |store| store.disk_space().clone())
    }

    /// The mirrors of repositories that are given by their address.
    #[must_use]
    pub fn mirrors(&self) -> Mirrors {
        Mirrors::new(self.layout.mirrors(), self.config.git.clone(), self.disk_space())
    }

    /// The mirrors of archives.
    #[must_use]
    pub fn archives(&self) -> Archives {
        Archives::new(self.layout.archives(), (&self.config).into(), self.disk_space())
    }

    /// Starts the background tasks of a server: opens the database and the model early, works on queued jobs, restarts the
    /// embedded database and writes the audit log.
    pub fn start_background(self: &Arc<Self>) {
        let app = Arc::clone(self);
        tokio::spawn(async move {
            // A call that needs the failed part tries again and reports the error.
            let (store, model, _) = tokio::join!(app.store(), app.embedder(), app.dictionaries.current());
            for fault in [store.err(), model.err()].into_iter().flatten() {
                tracing::warn!("not ready yet: {}", fault.message);
            }
        });
        // Tracked, so that a running job is given back to the queue before the process exits.
        self.background.spawn(worker::run_worker_loops(Arc::clone(self), self.modules.job_kinds()));
        tokio::spawn(Arc::clone(self).revive_database());
        self.background.spawn(audit::write_entries(Arc::clone(self)));
        for task in self.modules.iter().flat_map(|module| module.background) {
            self.background.spawn(task(Arc::clone(self)));
        }
    }

    /// Counts a request that the gate of calls does not see towards the limit of its principal.
    ///
    /// # Errors
    /// As [`Limits::admit`].
    pub fn admit_request(&self, principal: &Principal) -> Result<(), Refusal> {
        let admitted = self.limits.admit(principal, self.clock.instant());
        admitted.inspect_err(|refusal| self.metrics.record_refusal(refusal.code().as_str()))
    }

    /// Starts the automatic refreshes that `[freshness]` and `[[sources]]` configure, and those of modules.
    pub fn start_refreshes(self: &Arc<Self>) {
        self.background.spawn(freshness::run_refreshes(Arc::clone(self)));
        for task in self.modules.iter().flat_map(|module| module.refreshes) {
            self.background.spawn(task(Arc::clone(self)));
        }
    }

    /// Has the modules finish what they began, at the end of a command.
    pub async fn finish_command(self: &Arc<Self>) {
        for ended in self.modules.iter().filter_map(|module| module.command_ended) {
            ended(self).await;
        }
    }

    /// A token that fires after shutdown once no call is running, or after `server.drain_ms`. Streams that carry answers end then.
    #[must_use]
    pub fn drained(self: &Arc<Self>) -> CancellationToken {
        let (app, drained) = (Arc::clone(self), CancellationToken::new());
        let fires = drained.clone();
        tokio::spawn(async move {
            app.shutdown.cancelled().await;
            let quiet = async {
                while app.calls.load(Ordering::Acquire) > 0 {
                    tokio::time::sleep(DRAIN_POLL).await;
                }
                // Leave time to send the last answer.
                tokio::time::sleep(DRAIN_POLL).await;
            };
            // Shorter than the drain limit of the connections, so that the streams end before their connections are killed.
            let limit = Duration::from_millis(app.config.server.drain_ms).saturating_sub(DRAIN_POLL * 2);
            // On a timeout the streams end as well.
            let _ = tokio::time::timeout(limit, quiet).await;
            fires.cancel();
        });
        drained
    }

    /// After `shutdown` fired: waits up to `server.drain_ms` for the background tasks to stop.
    pub async fn wait_stopped(&self) {
        self.background.close();
        let limit = Duration::from_millis(self.config.server.drain_ms);
        if tokio::time::timeout(limit, self.background.wait()).await.is_err() {
            tracing::warn!("background tasks did not stop in time");
        }
    }

    /// The metrics in OpenMetrics format.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let [(search_running, search_waiting), (index_running, index_waiting)] = self.queues.load();
        let [watched_repositories, polled_repositories] = self.freshness.load();
        self.metrics.to_openmetrics(Gauges {
            watched_repositories,
            polled_repositories,
            search_running,
            search_waiting,
            index_running,
            index_waiting,
            connections: self.connections.load(Ordering::Relaxed),
            uptime_seconds: self.clock.instant().duration_since(self.started).as_secs(),
        })
    }

    /// Restarts the embedded Postgres if its supervisor was killed.
    async fn revive_database(self: Arc<Self>) {
        while !self.shutdown.is_cancelled() {
            if let Some(store) = self.opened_store()
                && let Err(fault) = store.database().ensure_running().await
            {
                tracing::warn!("the embedded Postgres could not be restarted: {}", fault.message);
            }
            tokio::select! {
                () = self.shutdown.cancelled() => {}
                () = tokio::time::sleep(REVIVE_INTERVAL) => {}
            }
        }
    }

    async fn open_storage(&self) -> Result<Storage, Fault> {
        if let Some(options) = store::postgres::external(&self.config.database)? {
            let database = Database::connect(options, &self.config.database, true).await?;
            let store = Store::new(database).with_disk_space(DiskSpace::for_home(&self.layout));
            return Ok(Storage { store, _server: None });
        }
        let installed = self.installed(AssetSelection { postgres: true, embedding: false }).await?;
        let install = installed.postgres.ok_or_else(|| {
            Fault::new(ErrorCode::CapabilityMissing, "The embedded Postgres is not installed.")
                .with_hint("Run `pairofcleats bootstrap`, or set DATABASE_URL to your own Postgres.")
        })?;
        let options = EmbeddedOptions {
            install,
            cluster: self.layout.cluster(),
            supervisor: self.program.clone(),
            settings: self.config.embedded.clone(),
            disk_free_bytes_min: self.config.server.disk_free_bytes_min,
        };
        let server = Arc::new(blocking(move || embedded::ensure_running(&options)).await?);
        let database = Database::connect(server.connect_options(), &self.config.database, false).await?;
        let kept = Arc::clone(&server);
        let database = database.with_restart_callback(Arc::new(move || {
            let server = Arc::clone(&kept);
            Box::pin(blocking(move || server.restart_if_stopped().map(|()| server.connect_options())))
        }));
        let disk_space =
            DiskSpace::for_home(&self.layout).with_volume("the embedded database", server.directory());
        Ok(Storage { store: Store::new(database).with_disk_space(disk_space), _server: Some(server) })
    }

    /// Makes calls that need runtime files wait until the returned guard is dropped, or answer that the files are being installed.
    pub async fn begin_installation(&self) -> RwLockWriteGuard<'_, ()> {
        self.installation.write().await
    }

    /// The paths of installed runtime files. Downloads nothing.
    async fn installed(&self, wanted: AssetSelection) -> Result<InstalledAssets, Fault> {
        let Ok(_installed) = tokio::time::timeout(INSTALLATION_WAIT, self.installation.read()).await else {
            let mut fault =
                Fault::new(ErrorCode::CapabilityMissing, "The runtime files are being installed.")
                    .with_hint("Call again in a minute; nothing else is needed.");
            fault.retryable = true;
            return Err(fault);
        };
        let (layout, settings) = (self.layout.clone(), self.config.assets.clone());
        blocking(move || installed_assets(&layout, &settings, wanted)).await
    }
}
