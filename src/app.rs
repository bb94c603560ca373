//! What is built once and shared by every surface.
//!
//! Building an [`App`] touches nothing: the database and the model are reached on first use, so a
//! client sees a server at once, a failure is the answer of the call that needed the missing part,
//! and the next call tries again.

mod audit;
mod dictionaries;
pub mod freshness;
pub mod index_job;
mod limits;
mod models;
mod pinning;
mod queue;
pub mod upkeep_job;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use contract::clock::Clock;
use contract::config::{Config, Layout};
use contract::{ErrorCode, Fault};
use embedding::Embedder;
use engine::indexing::parser::Parsing;
use platform::process;
use platform::room::Room;
use platform::telemetry::{Gauges, Metrics};
use store::Store;
use store::postgres::Database;
use store::postgres::embedded::{self, EmbeddedOptions, EmbeddedServer};
use tenancy::Workflow;
use upkeep::assets::{self, Installed, Wanted};

pub use audit::Audit;
pub use dictionaries::Dictionaries;
pub use freshness::Freshness;
pub use limits::Limits;
pub use queue::{Admission, Bulkhead, Queues, Seat};

/// The application.
pub struct App {
    /// What the operator chose.
    pub config: Config,
    /// Where files live.
    pub layout: Layout,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Admission of calls.
    pub queues: Queues,
    /// How often a principal may call.
    pub limits: Limits,
    /// Who did what.
    pub audit: Audit,
    /// Knows the active project, where the operator configured it.
    pub workflow: Option<Workflow>,
    /// What is kept fresh without being asked.
    pub freshness: Freshness,
    /// Splits names without marks.
    pub dictionaries: Dictionaries,
    /// Counts for Prometheus.
    pub metrics: Metrics,
    /// Open connections of the server.
    pub connections: AtomicUsize,
    /// Calls that run.
    pub calls: AtomicUsize,
    /// When this process began to serve.
    pub started: Instant,
    /// Fires when the process shuts down: running jobs go back to the queue.
    pub shutdown: CancellationToken,
    /// Names this process in job leases.
    pub worker: String,
    background: TaskTracker,
    program: PathBuf,
    /// Where files of repositories are parsed.
    pub parsing: Parsing,
    embedder: OnceCell<Arc<dyn Embedder>>,
    models: models::Models,
    storage: OnceCell<Storage>,
}

/// Between looks whether calls still run while the server stops.
const DRAIN_POLL: Duration = Duration::from_millis(50);
/// Between looks of a server at its embedded Postgres.
const REVIVAL: Duration = Duration::from_secs(2);

struct Storage {
    store: Store,
    /// Keeps the embedded cluster up while this process lives.
    _server: Option<Arc<EmbeddedServer>>,
}

impl App {
    /// An application over `config`; `program` is the `pairofcleats` executable, which the embedded
    /// Postgres needs for its supervisor and index runs for their parsers.
    #[must_use]
    pub fn new(config: Config, layout: Layout, clock: Arc<dyn Clock>, program: PathBuf) -> Self {
        let layout = layout.with_disk_free_bytes_min(config.server.disk_free_bytes_min);
        Self {
            queues: Queues::new(&config.queue),
            limits: Limits::new(config.access.calls_per_minute),
            audit: Audit::default(),
            workflow: Workflow::configured(&config.workflow, Arc::clone(&clock)),
            freshness: Freshness::default(),
            dictionaries: Dictionaries::new(&layout, &config.dictionaries),
            metrics: Metrics::new(),
            connections: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            background: TaskTracker::new(),
            started: clock.instant(),
            shutdown: CancellationToken::new(),
            worker: format!("{}-{}", std::process::id(), clock.now().as_nanosecond()),
            parsing: Parsing::Apart {
                program: process::own_file(&program),
                memory_bytes: config.indexing.parse_memory_bytes,
            },
            program,
            embedder: OnceCell::new(),
            models: models::Models::default(),
            storage: OnceCell::new(),
            config,
            layout,
            clock,
        }
    }

    /// The same application with a ready embedder, for tests that need no model.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = OnceCell::new_with(Some(embedder));
        self
    }

    /// The database, started or connected on first use.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when runtime files are not installed, `STORAGE_UNAVAILABLE` when the
    /// database cannot be reached; the next call tries again.
    pub async fn store(&self) -> Result<&Store, Fault> {
        let storage = self.storage.get_or_try_init(|| self.open_storage()).await?;
        Ok(&storage.store)
    }

    /// The configured embedding model, loaded on first use: what a new project is pinned to. A project that is there
    /// has its own, [`App::embedder_for`].
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` when the model or the runtime is not installed or damaged.
    pub async fn embedder(&self) -> Result<&Arc<dyn Embedder>, Fault> {
        self.embedder
            .get_or_try_init(|| async {
                let installed = self.installed(Wanted { postgres: false, embedding: true }).await?;
                let files = installed.embedding.ok_or_else(|| {
                    Fault::new(ErrorCode::CapabilityMissing, "The embedding model is not installed.")
                        .with_hint("Run `pairofcleats bootstrap`.")
                })?;
                self.open_model(files).await
            })
            .await
    }

    /// Whether the embedding model was loaded already.
    #[must_use]
    pub fn has_embedder(&self) -> bool {
        self.embedder.initialized()
    }

    /// The database, if something reached it already.
    #[must_use]
    pub fn opened_store(&self) -> Option<&Store> {
        self.storage.get().map(|storage| &storage.store)
    }

    /// The file systems that must keep room, as far as they are known yet: of an external database nothing is.
    #[must_use]
    pub fn room(&self) -> Room {
        self.opened_store().map_or_else(|| Room::of_home(&self.layout), |store| store.room().clone())
    }

    /// Starts what a server does beside answering: reaches the database and loads the model before the
    /// first call needs them, and takes up index jobs that nobody does.
    pub fn start_background(self: &Arc<Self>) {
        let app = Arc::clone(self);
        tokio::spawn(async move {
            // A failure here is the answer of the first call that needs the part.
            let (store, model, _) = tokio::join!(app.store(), app.embedder(), app.dictionaries.current());
            for fault in [store.err(), model.err()].into_iter().flatten() {
                tracing::warn!("not ready yet: {}", fault.message);
            }
        });
        // Waited for at the end: a run that was taken up here is given back before the process is gone.
        self.background.spawn(index_job::work(Arc::clone(self)));
        tokio::spawn(Arc::clone(self).revive_database());
        self.background.spawn(audit::write(Arc::clone(self)));
    }

    /// Starts to keep indexes fresh as `[freshness]` says, beside what [`App::start_background`] starts.
    pub fn keep_fresh(self: &Arc<Self>) {
        self.background.spawn(freshness::keep(Arc::clone(self)));
    }

    /// Fires once the server stops and no call runs any more, or runs for longer than `server.drain_ms`: then
    /// streams that carry answers end. For whoever holds streams open; before the stop it costs nothing.
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
                // The last answer is on its way out.
                tokio::time::sleep(DRAIN_POLL).await;
            };
            let limit = Duration::from_millis(app.config.server.drain_ms).saturating_sub(DRAIN_POLL * 2);
            // Over the limit or not, now they end.
            let _ = tokio::time::timeout(limit, quiet).await;
            fires.cancel();
        });
        drained
    }

    /// Waits, for at most `server.drain_ms`, until what `start_background` started has put its work down.
    /// For the end of a process, after `shutdown` fired.
    pub async fn stopped(&self) {
        self.background.close();
        let limit = Duration::from_millis(self.config.server.drain_ms);
        if tokio::time::timeout(limit, self.background.wait()).await.is_err() {
            tracing::warn!("stopped with background work still open");
        }
    }

    /// The counts, as Prometheus reads them.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let [(search_running, search_waiting), (index_running, index_waiting)] = self.queues.load();
        let [watched, polled] = self.freshness.load();
        self.metrics.text(Gauges {
            watched,
            polled,
            search_running,
            search_waiting,
            index_running,
            index_waiting,
            connections: self.connections.load(Ordering::Relaxed),
            uptime_seconds: self.clock.instant().duration_since(self.started).as_secs(),
        })
    }

    /// Brings the embedded Postgres back when its supervisor was killed, which nobody else would notice.
    async fn revive_database(self: Arc<Self>) {
        while !self.shutdown.is_cancelled() {
            if let Some(store) = self.opened_store()
                && let Err(fault) = store.database().revive().await
            {
                tracing::warn!("the embedded Postgres could not be started again: {}", fault.message);
            }
            tokio::select! {
                () = self.shutdown.cancelled() => {}
                () = tokio::time::sleep(REVIVAL) => {}
            }
        }
    }

    async fn open_storage(&self) -> Result<Storage, Fault> {
        if let Some(options) = store::postgres::external(&self.config.database)? {
            let database = Database::connect(options, &self.config.database, true).await?;
            let store = Store::new(database).with_room(Room::of_home(&self.layout));
            return Ok(Storage { store, _server: None });
        }
        let installed = self.installed(Wanted { postgres: true, embedding: false }).await?;
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
        let database = database.revived_by(Arc::new(move || {
            let server = Arc::clone(&kept);
            Box::pin(blocking(move || server.revive().map(|()| server.connect_options())))
        }));
        let room = Room::of_home(&self.layout).and("the embedded database", server.directory());
        Ok(Storage { store: Store::new(database).with_room(room), _server: Some(server) })
    }

    /// Installed runtime files; nothing is downloaded here.
    async fn installed(&self, wanted: Wanted) -> Result<Installed, Fault> {
        let (layout, settings) = (self.layout.clone(), self.config.assets.clone());
        blocking(move || assets::installed(&layout, &settings, wanted)).await
    }
}

/// Runs blocking work off the async threads.
///
/// # Errors
/// The work's own fault; `INTERNAL` if it panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::internal("A background step failed unexpectedly.", error)),
    }
}
