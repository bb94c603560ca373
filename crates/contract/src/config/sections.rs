//! The settings, one struct per section. `defaults.toml` has the default and the meaning of each field.
#![expect(missing_docs, reason = "each field is documented in defaults.toml, under the same name")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{LaunchForge, LaunchSite, SourceSettings};

macro_rules! sections {
    ($($(#[$meta:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $kind:ty),* $(,)? })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name { $($(#[$of_field])* pub $field: $kind),* }
        )*
    };
}

sections! {
    /// All settings.
    Config {
        database: Database, embedded: Embedded, assets: Assets, embedding: Embedding, indexing: Indexing, git: Git,
        search: Search, portable: Portable, queue: Queue, timeouts: Timeouts, tools: Tools, server: Server, mcp: Mcp,
        access: Access, oauth: Oauth, audit: Audit, workflow: Workflow,
        freshness: Freshness,
        downloads: Downloads,
        dictionaries: Dictionaries,
        triage: Triage,
        instructions: Instructions,
        launch: Launch,
        upkeep: Upkeep,
        terminal: Terminal,
        log: Log,
        sources: Vec<SourceSettings>,
    }
    /// The database: address of an external Postgres, connection pools, timeouts.
    Database {
        url: Option<String>, password_file: Option<PathBuf>, search_connections: u32, write_connections: u32, acquire_timeout_ms: u64,
        statement_timeout_ms: u64, search_statement_timeout_ms: u64, lock_timeout_ms: u64,
        maintenance_statement_timeout_ms: u64, answer_grace_ms: u64, first_answer_ms_max: u64, idle_in_transaction_ms_max: u64,
    }
    /// The embedded Postgres cluster.
    Embedded {
        run_as: Option<String>, linger_ms: u64, start_timeout_ms: u64, shared_buffers_mb: u32,
        maintenance_work_mem_mb: u32, connections_max: u32,
    }
    /// Sources of runtime files: Postgres, ONNX Runtime, models.
    Assets {
        package_index: Option<String>, python: String, model: String, ort_dylib_path: Option<PathBuf>, model_dir: Option<PathBuf>, manifest: Option<PathBuf>,
        variant: Variant, download_ms: u64,
    }
    /// Computing vectors.
    Embedding {
        threads: usize, tokens_max: usize, page_chunks: usize, query_cache_entries: usize, models_loaded_max: usize,
    }
    /// Index runs.
    Indexing {
        roots: Vec<PathBuf>, project_roots: BTreeMap<String, Vec<PathBuf>>, file_bytes_max: u64, document_bytes_max: u64, document_timeout_ms: u64, line_bytes_mean_max: usize, files_max: usize, walk_depth_max: usize, walk_ms_max: u64,
        archive_bytes_max: u64, archive_unpacked_bytes_max: u64,
        chunk_chars_target: usize, chunk_chars_max: usize, chunks_per_file_max: usize, parse_timeout_ms: u64, parse_memory_bytes: u64,
        symbols_bytes_max: usize, interfaces_bytes_max: u64, scip_folder: String, scip_file_bytes_max: u64,
        batch_files: usize, batch_chunks: usize, batch_ms: u64, redact_secrets: bool, delete_guard_files: usize,
        lease_ms: u64, heartbeat_ms: u64, progress_ms_max: u64, database_away_ms_max: u64, hnsw_rows_min: u64, facts: bool, risk: bool, risk_rules: Option<PathBuf>,
        history: bool, churn_commits: u32, history_commits_max: usize, history_ms_max: u64,
        /// Not a setting: the data directory of this program, which no run indexes.
        #[serde(skip)] data_directory: Option<PathBuf>,
    }
    /// Repositories that are given by their address.
    Git {
        program: String, webhook_secret_file: Option<PathBuf>, default_host: Option<String>, credentials: Vec<GitCredentials>, fetch_ms: u64, probe_ms: u64, stalled_s: u32, mirror_bytes_max: u64, mirrors_bytes_max: u64,
    }
    /// Authentication to a host.
    GitCredentials {
        url: String, username: Option<String>, password_file: Option<PathBuf>, password_env: Option<String>,
        helper: Option<String>, key_file: Option<PathBuf>,
    }
    /// Searches.
    Search {
        top_default: usize, top_max: usize, query_chars_max: usize, candidates: usize, exact_rows_max: u64,
        ef_search: u32, result_bytes_max: usize, context_lines_max: usize,
        filter_rows_max: usize, filter_names_max: usize, offset_max: usize, embed_wait_ms: u64,
        exact_top_default: usize, exact_top_max: usize, exact_matches_max: usize, exact_counted_max: usize, exact_candidates_max: usize, exact_scan_ms: u64,
    }
    /// Portable index files.
    Portable {
        file_bytes_max: u64, value_bytes_max: usize, check_bytes_max: u64, cache_bytes: usize, page_chunks: usize,
        changed_percent_max: u32,
    }
    /// Admission: slots and waiting calls of searches and index calls.
    Queue {
        search_running: usize, search_waiting_max: usize, search_wait_ms: u64, index_running: usize,
        index_waiting_max: usize, index_wait_ms: u64, launch_running: usize, launch_waiting_max: usize, launch_wait_ms: u64,
    }
    /// Time limits of calls; 0: no limit.
    Timeouts { default_ms: u64, index_ms: u64, search_ms: u64, artifacts_ms: u64, triage_ms: u64, instructions_ms: u64, launch_ms: u64 }
    /// The offered tools.
    Tools { toolsets: Vec<String>, read_only: bool }
    /// The HTTP server.
    Server {
        bind: String, port: u16, tls_certificate: Option<PathBuf>, tls_key: Option<PathBuf>, behind_proxy: bool,
        trusted_proxies: Vec<String>, forwarded_header: ForwardedHeader,
        hosts: Vec<String>, cors_origins: Vec<String>, body_bytes_max: usize, connections_max: usize,
        connections_per_address_max: usize, write_ms: u64,
        first_byte_ms: u64, header_ms: u64, body_chunk_ms: u64, body_ms: u64, idle_ms: u64, drain_ms: u64,
        unread_ms: u64, unread_bytes_max: u64,
        session_idle_ms: u64, sessions_max: usize, sse: bool, disk_free_bytes_min: u64,
    }
    /// Authentication with keys, and rate limits.
    Access { required: Required, insecure: bool, calls_per_minute: u32, key_cache_ms: u64 }
    /// Authentication with access tokens of an OAuth 2.1 authorization server.
    Oauth {
        issuer: Option<String>, audience: Option<String>, jwks_url: Option<String>, projects_claim: String,
        scopes_claim: String, jwks_cache_ms: u64, fetch_ms: u64, leeway_ms: u64,
        client_id: Option<String>, client_secret: Option<String>, sign_in_scopes: String,
    }
    /// The audit log of calls.
    Audit { enabled: bool, keep_days: u32, queries: bool }
    /// The service workflow-mcp, which returns the active project of a team.
    Workflow { url: Option<String>, timeout_ms: u64, cache_ms: u64 }
    /// Automatic index runs of servers.
    Freshness {
        watch: WatchedRepositories, every_ms: u64, debounce_ms: u64, debounce_max_ms: u64, poll_ms: u64,
        refresh_ms: u64, notice_ms: u64, repositories_max: usize, directories_max: usize,
    }
    /// A repository whose files are watched.
    WatchedRepository { path: PathBuf, project: Option<String> }
    /// Cleaning, garbage collection, deletion and import.
    Upkeep {
        batch_rows: u32, job_keep_days: u32, unfinished_keep_ms: u64, files_max: usize, listed_max: usize,
        delete_wait_ms: u64, import_bytes_max: u64,
    }
    /// Security findings: imported reports and context packs.
    Triage {
        input_bytes_max: usize, item_bytes_max: usize, items_max: usize, text_bytes_max: usize, list_max: usize,
        record_bytes_max: usize, listed_max: usize, store_raw_payload: bool, history_max: usize, evidence_hits_max: usize,
    }
    /// The instruction catalog.
    Instructions {
        enabled: bool, mutation: bool, semantic: bool, log_mutations: bool, entries_max: usize, body_bytes_max: usize,
        catalog_bytes_max: usize, changes_keep: u32, usage_flush_ms: u64, watch: bool, folders: Vec<InstructionFolder>,
    }
    /// Launch runs.
    Launch {
        enabled: bool, auto_advance: bool, auto_fix: bool, running_max: usize, runs_max: u32, artifact_bytes_max: usize,
        files_changed_max: u32, product_hosts: BTreeMap<String, String>, keep_days: u32, sites: Vec<LaunchSite>, forges: Vec<LaunchForge>, forge_ms: u64,
        sandbox_require: Vec<String>,
    }
    /// A folder of instruction files that belongs to a project.
    InstructionFolder { path: PathBuf, project: Option<String>, prune: Option<bool> }
    /// Downloads of dictionaries and extensions that the product's manifest does not list.
    Downloads {
        allow: Vec<AllowedDownload>, require_hash: bool, bytes_max: u64, timeout_ms: u64, redirects_max: usize,
        unpacked_bytes_max: u64, entry_bytes_max: u64, entries_max: usize, probe_ms: u64,
    }
    /// A file that callers may download.
    AllowedDownload { name: String, url: String, sha256: Option<String> }
    /// Word lists that split unsegmented identifiers.
    Dictionaries {
        enabled: Enabled, languages: Vec<String>, dir: Option<PathBuf>, words_max: usize, list_words_max: usize,
        line_bytes_max: usize,
    }
    /// The MCP surface.
    Mcp {
        transport: Transport, validation_errors: ValidationErrors, text: TextForm, message_bytes_max: usize,
        progress_interval_ms: u64,
        resources_page: usize, resources_max: usize,
    }
    /// The output of the command line on a terminal.
    Terminal { link_format: String }
    /// Logging to stderr, and spans.
    Log { filter: String, format: LogFormat, traces_url: Option<String> }
}

/// The repositories whose files a server watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "\"indexed\", or a list such as [{ path = \"/srv/shop\", project = \"client-a\" }]"
)]
pub enum WatchedRepositories {
    /// Every indexed repository of every project.
    All(Indexed),
    /// The listed repositories, which are indexed when the server starts.
    Listed(Vec<WatchedRepository>),
}

/// The setting value `indexed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indexed {
    /// `indexed`.
    Indexed,
}

/// The variant of the model's graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// int8 where the CPU has VNNI, fp32 elsewhere.
    Auto,
    /// The quantised graph with 8-bit integers.
    Int8,
    /// The original graph with 32-bit floats.
    Fp32,
}

/// The use of installed word lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enabled {
    /// Installed word lists are used.
    Auto,
    /// No word lists are used.
    Off,
}

/// The condition under which a request must carry a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Required {
    /// A key is required unless only this machine can reach the server.
    Auto,
    /// A key is always required.
    Always,
}

/// The header in which proxies forward the client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, which most proxies set.
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The framing of MCP messages on stdin and stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// One message per line.
    Lines,
    /// Messages with a `Content-Length` header, for older clients.
    Legacy,
}

/// The way in which invalid arguments are reported over MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValidationErrors {
    /// JSON-RPC error -32602.
    Protocol,
    /// A tool result with `isError`, as the newer protocol revisions recommend.
    Tool,
}

/// The form of the text of a tool result, beside the structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextForm {
    /// The envelope as JSON, for clients that parse the text.
    Envelope,
    /// Locations, code and hints as plain text with fewer tokens, for models.
    Short,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text, for people.
    Text,
    /// JSON, for programs.
    Json,
}
