//! `verify_extensions`: whether a vector extension is there and works, by trying it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::download_extensions::{Provider, in_person_only};
use super::given::{path, refuse};
use crate::app::{Bulkhead, blocking};
use crate::tools::spec::typed;
use crate::tools::{Call, Effects, TimeoutClass, ToolSpec, Toolset, schema};
use contract::{ErrorCode, Fault, Warning};
use store::postgres::{VectorExtension, VectorProbe};
use tenancy::Scope;
use upkeep::extensions::{self, Attempt, BUILT_IN, Catalog, Probe, Probed, platform};

pub(crate) const TOOL: ToolSpec = ToolSpec {
    name: "verify_extensions",
    title: "Verify extensions",
    description: "Test a vector extension: load it, create a small table, query the nearest vector, read it back; nothing is kept.",
    toolset: Toolset::Artifacts,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: TimeoutClass::Default,
    input: schema::of::<Input>,
    output: schema::of_answer::<Output>,
    run: |call, arguments| typed(call, arguments, run),
};

/// What must be there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AnnMode {
    /// What is not there is told.
    #[default]
    Auto,
    /// What is not there is a failure.
    Extension,
    /// Reserved.
    Js,
}

/// How a number of a vector is kept.
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
struct Input {
    /// What relative paths are below.
    #[schemars(length(min = 1, max = 4096))]
    repo_path: Option<String>,
    /// sqlite-vec (default) or pgvector; repoPath, dir, path, platform, arch and module are of sqlite-vec.
    provider: Option<Provider>,
    /// Folder of the extensions; default: the installation's.
    dir: Option<String>,
    /// The library itself, instead of one in the folder.
    path: Option<String>,
    /// linux or macos; default: this machine.
    platform: Option<String>,
    /// x86_64 or aarch64; default: this machine.
    arch: Option<String>,
    /// Module of the virtual table; default vec0.
    module: Option<String>,
    /// Name of the table that is tried.
    table: Option<String>,
    /// Name of its column.
    column: Option<String>,
    /// float32 (default), float16 (pgvector) or int8 (sqlite-vec).
    encoding: Option<Encoding>,
    /// name=value with commas: distance_metric, chunk_size (sqlite-vec); m, ef_construction (pgvector).
    #[schemars(length(max = 200))]
    options: Option<String>,
    /// auto (default): what does not work is told; extension: it is an error; js is reserved.
    ann_mode: Option<AnnMode>,
    /// false: only look whether it is there.
    load: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// What was tried.
    config: Tried,
    /// The library: in the installation's folder, or as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Whether it is there.
    exists: bool,
    /// Whether its bytes are the recorded ones; absent where none are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    intact: Option<bool>,
    /// Loading it.
    load: Attempt,
    /// Table, insert, nearest, read back.
    smoke: Attempt,
    /// The vector as it was read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_back: Option<String>,
    /// pgvector in the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pgvector: Option<VectorExtension>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Tried {
    provider: Provider,
    ann_mode: AnnMode,
    module: String,
    table: String,
    column: String,
    encoding: Encoding,
    options: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform_key: Option<String>,
}

async fn run(call: Call, input: Input) -> Result<Output, Fault> {
    call.require_operator()?;
    refuse(
        &[("annMode js", input.ann_mode == Some(AnnMode::Js))],
        "vectors are not compared in a script here",
    )?;
    let output = match input.provider.unwrap_or_default() {
        Provider::SqliteVec => sqlite_vec(&call, &input).await?,
        Provider::Pgvector => pgvector(&call, &input).await?,
    };
    let failed =
        !output.exists || [&output.load, &output.smoke].iter().any(|tried| tried.attempted && !tried.ok);
    let untried = input.load != Some(false) && !output.smoke.attempted;
    if output.config.ann_mode == AnnMode::Extension && (failed || untried) {
        let reason = [&output.smoke, &output.load].into_iter().find_map(|tried| tried.reason.clone());
        let reason = reason.unwrap_or_else(|| "it is not there".to_owned());
        return Err(Fault::new(
            ErrorCode::CapabilityMissing,
            format!("The extension does not work: {reason}."),
        )
        .with_hint("Bring it with `download_extensions`; details say what was tried.")
        .with_details(serde_json::json!({ "load": output.load, "exists": output.exists })));
    }
    Ok(output)
}

/// The settings of the test; `module` has the provider's own name.
fn tried(input: &Input, module: &str, options: &[(String, String)]) -> Result<Tried, Fault> {
    let name = |given: &Option<String>, default: &str| identifier(given.as_deref().unwrap_or(default));
    Ok(Tried {
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

fn identifier(name: &str) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // What Postgres cuts would be another name.
    if starts && name.len() <= 63 && name.chars().all(fits) {
        return Ok(name.to_owned());
    }
    Err(invalid(format!("`{}` is no identifier.", name.escape_debug()))
        .with_hint("Identifiers match ^[A-Za-z_][A-Za-z0-9_]*$ and have at most 63 characters."))
}

/// `name=value` pairs whose names are among `known`.
fn options(text: Option<&str>, known: &[&str]) -> Result<Vec<(String, String)>, Fault> {
    let pairs = text.unwrap_or_default().split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if known.contains(&name.trim()) => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(invalid(format!("`{}` is no option.", pair.escape_debug())).with_hint(format!(
                "Options are name=value with commas between them: {}.",
                known.join(", ")
            ))),
        })
        .collect()
}

fn number(name: &str, value: &str) -> Result<u32, Fault> {
    value.parse().map_err(|_| invalid(format!("`{name}` wants a number.")))
}

fn invalid(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}

async fn pgvector(call: &Call, input: &Input) -> Result<Output, Fault> {
    let given = [
        ("repoPath", input.repo_path.is_some()),
        ("dir", input.dir.is_some()),
        ("path", input.path.is_some()),
        ("platform", input.platform.is_some()),
        ("arch", input.arch.is_some()),
        ("module", input.module.is_some()),
        ("encoding int8", input.encoding == Some(Encoding::Int8)),
    ];
    refuse(&given, "it says nothing of pgvector, which is part of the database server")?;
    let pairs = options(input.options.as_deref(), &["m", "ef_construction"])?;
    let config = tried(input, "vector", &pairs)?;
    let numbers = pairs.iter().map(|(name, value)| Ok((name.clone(), number(name, value)?)));
    let probe = VectorProbe {
        table: config.table.clone(),
        column: config.column.clone(),
        half: config.encoding == Encoding::Float16,
        options: numbers.collect::<Result<_, Fault>>()?,
    };
    let database = call.app.store().await?.database();
    let found = database.vector_extension().await?;
    for warning in &found.warnings {
        call.warn(Warning::new("pgvector", warning.clone()));
    }
    let (smoke, read_back) = if input.load == Some(false) {
        (Attempt::skipped("load is false"), None)
    } else {
        let read = database.probe_vector_extension(&probe).await?;
        let right = if probe.half {
            read.starts_with("[0.0999") || read.starts_with("[0.1")
        } else {
            read == "[0.1,0.2,0.3]"
        };
        (if right { Attempt::good() } else { Attempt::failed("it answered something else") }, Some(read))
    };
    // Postgres loads it by itself once it is asked.
    let load = smoke.clone();
    Ok(Output {
        config,
        path: None,
        exists: true,
        intact: None,
        load,
        smoke,
        read_back,
        pgvector: Some(found),
    })
}

async fn sqlite_vec(call: &Call, input: &Input) -> Result<Output, Fault> {
    let pairs = options(input.options.as_deref(), &["distance_metric", "chunk_size"])?;
    refuse(&[("encoding float16", input.encoding == Some(Encoding::Float16))], "sqlite-vec has none")?;
    in_person_only(call, &[("dir", input.dir.is_some()), ("path", input.path.is_some())])?;
    refuse(&[("dir", input.dir.is_some() && input.path.is_some())], "path names the library already")?;
    let repo_path = input.repo_path.as_deref();
    let lone = repo_path.is_some() && input.dir.is_none() && input.path.is_none();
    refuse(&[("repoPath", lone)], "no path of the call is relative to it")?;
    let platform = platform(input.platform.as_deref(), input.arch.as_deref())?;
    let here = platform == extensions::platform(None, None)?;
    let mut config = tried(input, "vec0", &pairs)?;
    config.platform_key = Some(platform.clone());
    let place = Place::of(call, input, &platform)?;
    let exists = place.file.is_file();
    let (load, smoke, read_back) = if !exists || !here || input.load == Some(false) {
        let why = match (exists, here) {
            (false, _) => "it is not there",
            (true, false) => "it is of another platform",
            (true, true) => "load is false",
        };
        (Attempt::skipped(why), Attempt::skipped(why), None)
    } else {
        let Probed { load, smoke, read_back } = probed(call, &config, &pairs, &place.file).await?;
        (load, smoke, read_back)
    };
    let intact = place.intact(exists).await?;
    Ok(Output { config, path: Some(place.shown), exists, intact, load, smoke, read_back, pgvector: None })
}

async fn probed(
    call: &Call,
    config: &Tried,
    pairs: &[(String, String)],
    file: &Path,
) -> Result<Probed, Fault> {
    let of = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let probe = Probe {
        library: file.to_owned(),
        module: config.module.clone(),
        table: config.table.clone(),
        column: config.column.clone(),
        int8: config.encoding == Encoding::Int8,
        distance: of("distance_metric").map(|name| identifier(&name)).transpose()?,
        chunk_size: of("chunk_size").map(|size| number("chunk_size", &size)).transpose()?,
    };
    let (python, cancel) = (call.app.config.assets.python.clone(), call.cancel.clone());
    let limit = Duration::from_millis(call.app.config.downloads.probe_ms);
    blocking(move || extensions::probe(&probe, &python, limit, &|| cancel.is_cancelled())).await
}

/// The library, how it is told, and what it must be.
struct Place {
    file: PathBuf,
    shown: String,
    sha256: Option<String>,
}

impl Place {
    fn of(call: &Call, input: &Input, platform: &str) -> Result<Self, Fault> {
        let repo_path = input.repo_path.as_deref();
        if let Some(given) = &input.path {
            return Ok(Self { file: path(call, repo_path, given)?, shown: given.clone(), sha256: None });
        }
        let (folder, shown) = match &input.dir {
            Some(dir) => (path(call, repo_path, dir)?, dir.as_str()),
            None => (call.app.layout.extensions(), "extensions"),
        };
        let recorded = Catalog::read(&folder).entry(BUILT_IN, platform).cloned();
        let below = recorded.as_ref().map_or_else(
            || format!("{platform}/vec0.{}", extensions::suffix(platform)),
            |entry| entry.file.clone(),
        );
        let shown = Path::new(shown).join(&below).to_string_lossy().into_owned();
        Ok(Self { file: folder.join(below), shown, sha256: recorded.map(|entry| entry.sha256) })
    }

    async fn intact(&self, exists: bool) -> Result<Option<bool>, Fault> {
        let Some(expected) = self.sha256.clone().filter(|_| exists) else { return Ok(None) };
        let file = self.file.clone();
        blocking(move || Ok(Some(extensions::is_intact(&file, &expected)))).await
    }
}
