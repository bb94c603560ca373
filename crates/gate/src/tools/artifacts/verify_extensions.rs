//! `verify_extensions`: tests whether a vector extension is installed and works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{refuse_given, resolve_path};
use super::download_extensions::{ExtensionProvider, require_local_operator};
use crate::app::{Bulkhead, blocking};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, Warning};
use store::postgres::{VectorExtension, VectorProbe};
use tenancy::Scope;
use upkeep::install::extensions::{
    ExtensionProbe, ProbeReport, ProbeStep, built_in_entry, library_suffix, platform_name, probe_extension,
};
use upkeep::install::is_intact;

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "verify_extensions",
    title: "Verify extensions",
    description: "Test a vector extension: load it, create a small table, query the nearest vector, read it back. Leaves nothing behind.",
    toolset: Toolset::ARTIFACTS,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<VerifyExtensionsInput>,
    output: schema::generate_output_schema::<VerifyExtensionsOutput>,
    run: |call, arguments| run_typed(call, arguments, verify_extensions),
    ..ToolSpec::BASE
};

/// What happens if the extension does not work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AnnMode {
    /// The answer reports it.
    #[default]
    Auto,
    /// The call fails.
    Extension,
    /// Reserved.
    Js,
}

/// How the elements of a vector are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Encoding {
    /// Four bytes.
    #[default]
    Float32,
    /// Two bytes; pgvector.
    Float16,
    /// One byte; sqlite-vec.
    Int8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct VerifyExtensionsInput {
    /// Base of relative paths.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// sqlite-vec (default) or pgvector; repoPath, dir, path, platform, arch and module apply only to sqlite-vec.
    provider: Option<ExtensionProvider>,
    /// Folder of the extensions; default: that of the installation.
    dir: Option<String>,
    /// Path of the library, instead of one in the folder.
    path: Option<String>,
    /// linux or macos; default: this machine.
    platform: Option<String>,
    /// x86_64 or aarch64; default: this machine.
    arch: Option<String>,
    /// Module of the virtual table; default vec0.
    module: Option<String>,
    /// Name of the test table.
    table: Option<String>,
    /// Name of the vector column in the test table.
    column: Option<String>,
    /// float32 (default), float16 (pgvector) or int8 (sqlite-vec).
    encoding: Option<Encoding>,
    /// name=value, separated by commas: distance_metric, chunk_size (sqlite-vec); m, ef_construction (pgvector).
    #[schemars(length(max = 200))]
    options: Option<String>,
    /// auto (default): the answer says what does not work; extension: that is an error; js is reserved.
    ann_mode: Option<AnnMode>,
    /// false: only check that the extension is installed.
    load: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct VerifyExtensionsOutput {
    /// Settings of the test.
    config: ProbeConfig,
    /// Path of the library: relative to the installation, or as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Whether the extension is installed.
    exists: bool,
    /// Whether the library has the recorded checksum; absent if none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    intact: Option<bool>,
    /// Outcome of loading the extension.
    load: ProbeStep,
    /// Outcome of creating a table, inserting, searching the nearest vector and reading it back.
    smoke: ProbeStep,
    /// The vector that was read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_back: Option<String>,
    /// Versions of pgvector in the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgvector: Option<VectorExtension>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProbeConfig {
    provider: ExtensionProvider,
    ann_mode: AnnMode,
    module: String,
    table: String,
    column: String,
    encoding: Encoding,
    options: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_key: Option<String>,
}

async fn verify_extensions(
    call: Call,
    input: VerifyExtensionsInput,
) -> Result<VerifyExtensionsOutput, Fault> {
    call.require_operator()?;
    refuse_given(
        &[("annMode js", input.ann_mode == Some(AnnMode::Js))],
        "this server does not compare vectors in JavaScript",
    )?;
    let output = match input.provider.unwrap_or_default() {
        ExtensionProvider::SqliteVec => verify_sqlite_vec(&call, &input).await?,
        ExtensionProvider::Pgvector => verify_pgvector(&call, &input).await?,
    };
    let failed =
        !output.exists || [&output.load, &output.smoke].iter().any(|step| step.attempted && !step.ok);
    let is_untested = input.load != Some(false) && !output.smoke.attempted;
    if output.config.ann_mode == AnnMode::Extension && (failed || is_untested) {
        let reason = [&output.smoke, &output.load].into_iter().find_map(|step| step.reason.clone());
        let reason = reason.unwrap_or_else(|| "it is not installed".to_owned());
        return Err(Fault::new(
            ErrorCode::CapabilityMissing,
            format!("The extension does not work: {reason}."),
        )
        .with_hint("Install it with `download_extensions`; the details show which step failed.")
        .with_details(serde_json::json!({ "load": output.load, "exists": output.exists })));
    }
    Ok(output)
}

/// The settings of the test; `module` is the default of that field.
fn probe_config(
    input: &VerifyExtensionsInput,
    module: &str,
    options: &[(String, String)],
) -> Result<ProbeConfig, Fault> {
    let name =
        |given: &Option<String>, default: &str| checked_identifier(given.as_deref().unwrap_or(default));
    Ok(ProbeConfig {
        provider: input.provider.unwrap_or_default(),
        ann_mode: input.ann_mode.unwrap_or_default(),
        module: name(&input.module, module)?,
        table: name(&input.table, "dense_vectors_ann")?,
        column: name(&input.column, "embedding")?,
        encoding: input.encoding.unwrap_or_default(),
        options: options.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        platform_key: None,
    })
}

fn checked_identifier(name: &str) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // Postgres truncates longer identifiers, which would change the name.
    if starts && name.len() <= 63 && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    Err(invalid_request(format!("`{}` is not an identifier.", name.escape_debug()))
        .with_hint("Identifiers match ^[A-Za-z_][A-Za-z0-9_]*$ and have at most 63 characters."))
}

/// `name=value` pairs whose names are among `known`.
fn parse_options(text: Option<&str>, known: &[&str]) -> Result<Vec<(String, String)>, Fault> {
    let pairs = text.unwrap_or_default().split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if known.contains(&name.trim()) => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(invalid_request(format!("`{}` is not a known option.", pair.escape_debug()))
                .with_hint(format!("Options are name=value, separated by commas: {}.", known.join(", ")))),
        })
        .collect()
}

fn parse_number(name: &str, value: &str) -> Result<u32, Fault> {
    value.parse().map_err(|_| invalid_request(format!("`{name}` must be a number.")))
}

fn invalid_request(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}

async fn verify_pgvector(
    call: &Call,
    input: &VerifyExtensionsInput,
) -> Result<VerifyExtensionsOutput, Fault> {
    let given = [
        ("repoPath", input.repo_path.is_some()),
        ("dir", input.dir.is_some()),
        ("path", input.path.is_some()),
        ("platform", input.platform.is_some()),
        ("arch", input.arch.is_some()),
        ("module", input.module.is_some()),
        ("encoding int8", input.encoding == Some(Encoding::Int8)),
    ];
    refuse_given(&given, "it does not apply to pgvector, which is part of the database server")?;
    let pairs = parse_options(input.options.as_deref(), &["m", "ef_construction"])?;
    let config = probe_config(input, "vector", &pairs)?;
    let numbers = pairs.iter().map(|(name, value)| Ok((name.clone(), parse_number(name, value)?)));
    let probe = VectorProbe {
        table: config.table.clone(),
        column: config.column.clone(),
        half: config.encoding == Encoding::Float16,
        options: numbers.collect::<Result<_, Fault>>()?,
    };
    let database = call.app.store().await?.database();
    let extension = database.vector_extension().await?;
    for warning in &extension.warnings {
        call.warn(Warning::new("pgvector", warning.clone()));
    }
    let (smoke, read_back) = if input.load == Some(false) {
        (ProbeStep::skipped("load is false"), None)
    } else {
        let read = database.probe_vector_extension(&probe).await?;
        // A float16 holds 0.1 only approximately.
        let is_equal = if probe.half {
            read.starts_with("[0.0999") || read.starts_with("[0.1")
        } else {
            read == "[0.1,0.2,0.3]"
        };
        (
            if is_equal {
                ProbeStep::succeeded()
            } else {
                ProbeStep::failed("the vector that was read back differs")
            },
            Some(read),
        )
    };
    // Postgres loads the extension on first use, so loading cannot be tested separately.
    let load = smoke.clone();
    Ok(VerifyExtensionsOutput {
        config,
        path: None,
        exists: true,
        intact: None,
        load,
        smoke,
        read_back,
        pgvector: Some(extension),
    })
}

async fn verify_sqlite_vec(
    call: &Call,
    input: &VerifyExtensionsInput,
) -> Result<VerifyExtensionsOutput, Fault> {
    let pairs = parse_options(input.options.as_deref(), &["distance_metric", "chunk_size"])?;
    refuse_given(
        &[("encoding float16", input.encoding == Some(Encoding::Float16))],
        "sqlite-vec does not have this encoding",
    )?;
    require_local_operator(call, &[("dir", input.dir.is_some()), ("path", input.path.is_some())])?;
    refuse_given(
        &[("dir", input.dir.is_some() && input.path.is_some())],
        "`path` already names the library",
    )?;
    let repo_path = input.repo_path.as_deref();
    let is_unused = repo_path.is_some() && input.dir.is_none() && input.path.is_none();
    refuse_given(&[("repoPath", is_unused)], "no path of the call is relative to it")?;
    let platform = platform_name(input.platform.as_deref(), input.arch.as_deref())?;
    let is_this_platform = platform == platform_name(None, None)?;
    let mut config = probe_config(input, "vec0", &pairs)?;
    config.platform_key = Some(platform.clone());
    let library = LibraryFile::resolve(call, input, &platform)?;
    let exists = library.file.is_file();
    let (load, smoke, read_back) = if !exists || !is_this_platform || input.load == Some(false) {
        let why = match (exists, is_this_platform) {
            (false, _) => "it is not installed",
            (true, false) => "it is for another platform",
            (true, true) => "load is false",
        };
        (ProbeStep::skipped(why), ProbeStep::skipped(why), None)
    } else {
        let ProbeReport { load, smoke, read_back } =
            probe_sqlite_vec(call, &config, &pairs, &library.file).await?;
        (load, smoke, read_back)
    };
    let intact = library.intact(exists).await?;
    Ok(VerifyExtensionsOutput {
        config,
        path: Some(library.display_path),
        exists,
        intact,
        load,
        smoke,
        read_back,
        pgvector: None,
    })
}

async fn probe_sqlite_vec(
    call: &Call,
    config: &ProbeConfig,
    pairs: &[(String, String)],
    file: &Path,
) -> Result<ProbeReport, Fault> {
    let option = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let probe = ExtensionProbe {
        library: file.to_owned(),
        module: config.module.clone(),
        table: config.table.clone(),
        column: config.column.clone(),
        int8: config.encoding == Encoding::Int8,
        distance: option("distance_metric").map(|name| checked_identifier(&name)).transpose()?,
        chunk_size: option("chunk_size").map(|size| parse_number("chunk_size", &size)).transpose()?,
    };
    let (python, cancel) = (call.app.config.assets.python.clone(), call.cancel.clone());
    let limit = Duration::from_millis(call.app.config.downloads.probe_ms);
    blocking(move || probe_extension(&probe, &python, limit, &|| cancel.is_cancelled())).await
}

/// The sqlite-vec library to test.
struct LibraryFile {
    file: PathBuf,
    display_path: String,
    sha256: Option<String>,
}

impl LibraryFile {
    fn resolve(call: &Call, input: &VerifyExtensionsInput, platform: &str) -> Result<Self, Fault> {
        let repo_path = input.repo_path.as_deref();
        if let Some(given) = &input.path {
            return Ok(Self {
                file: resolve_path(call, repo_path, given)?,
                display_path: given.clone(),
                sha256: None,
            });
        }
        let (folder, display_path) = match &input.dir {
            Some(dir) => (resolve_path(call, repo_path, dir)?, dir.as_str()),
            None => (call.app.layout.extensions(), "extensions"),
        };
        let recorded = built_in_entry(&folder, platform);
        let below = recorded.as_ref().map_or_else(
            || format!("{platform}/vec0.{}", library_suffix(platform)),
            |entry| entry.file.clone(),
        );
        let display_path = Path::new(display_path).join(&below).to_string_lossy().into_owned();
        Ok(Self { file: folder.join(below), display_path, sha256: recorded.map(|entry| entry.sha256) })
    }

    async fn intact(&self, exists: bool) -> Result<Option<bool>, Fault> {
        let Some(expected) = self.sha256.clone().filter(|_| exists) else { return Ok(None) };
        let file = self.file.clone();
        blocking(move || Ok(Some(is_intact(&file, &expected)))).await
    }
}
