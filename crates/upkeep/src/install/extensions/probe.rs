//! Tests in a child process whether SQLite can load a library and compare vectors with it.
//!
//! A library could crash or hang the process that loads it. Python's `sqlite3` module is tried first, then the
//! `sqlite3` program; each is killed after a time limit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use contract::{ErrorCode, Fault};
use platform::process::Program;

/// Loads the library, runs each statement, and prints the first column of the result, one row per line.
const SCRIPT: &str = "import sqlite3, sys\n\
    c = sqlite3.connect(':memory:')\n\
    if not hasattr(c, 'enable_load_extension'): sys.exit(77)\n\
    c.enable_load_extension(True)\n\
    c.load_extension(sys.argv[1])\n\
    print('loaded')\n\
    for s in sys.argv[2:]:\n\
    \x20   for r in c.execute(s): print(r[0])\n";
/// Exit status of the script if this Python cannot load libraries.
const EXIT_UNSUPPORTED: i32 = 77;
/// Printed by both programs once the library is loaded.
const LOADED: &str = "loaded";
/// The number of last lines of stderr that a reason quotes.
const REASON_LINES: usize = 3;

/// The library to test and the table to create with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionProbe {
    /// The library.
    pub library: PathBuf,
    /// Name of the virtual table module.
    pub module: String,
    /// Name of the table.
    pub table: String,
    /// Name of its column.
    pub column: String,
    /// `true` if the column has int8 elements instead of float32.
    pub int8: bool,
    /// The option `distance_metric` of the column.
    pub distance: Option<String>,
    /// The option `chunk_size` of the table.
    pub chunk_size: Option<u32>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProbeStep {
    /// Whether it was tried.
    pub attempted: bool,
    /// Whether it worked.
    pub ok: bool,
    /// Why not, or why it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ProbeStep {
    /// Creates a step that succeeded.
    #[must_use]
    pub fn succeeded() -> Self {
        Self { attempted: true, ok: true, reason: None }
    }

    /// Creates a step that failed.
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { attempted: true, ok: false, reason: Some(reason.into()) }
    }

    /// Creates a step that was not attempted.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self { attempted: false, ok: false, reason: Some(reason.into()) }
    }
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Loading the library.
    pub load: ProbeStep,
    /// Creating and filling a table, and finding the nearest vector by a query.
    pub smoke: ProbeStep,
    /// The inserted vector, as SQLite prints it.
    pub read_back: Option<String>,
}

/// Loads the library and runs the statements. Blocks for at most `limit` for each of two programs.
///
/// # Errors
/// `CANCELLED`. Other failures are part of the report.
pub fn probe_extension(
    probe: &ExtensionProbe,
    python: &str,
    limit: Duration,
    cancelled: &dyn Fn() -> bool,
) -> Result<ProbeReport, Fault> {
    let statements = probe.statements();
    let with_python = Program::new(python).args(["-I", "-c", SCRIPT]).arg(&probe.library).args(&statements);
    let python_reason = match run_program(with_python, limit, cancelled)? {
        ProgramResult::Unsupported(reason) => reason,
        ProgramResult::Output { lines, error } => return Ok(probe.evaluate(&lines, &error)),
    };
    let Some(load) = load_command(&probe.library) else { return Ok(no_program(&python_reason)) };
    let with_sqlite = Program::new("sqlite3")
        .args(["-batch", "-bail", ":memory:", &load, &format!("SELECT '{LOADED}'")])
        .args(&statements);
    match run_program(with_sqlite, limit, cancelled)? {
        ProgramResult::Unsupported(reason) => Ok(no_program(&format!("{python_reason}; {reason}"))),
        ProgramResult::Output { lines, error } => Ok(probe.evaluate(&lines, &error)),
    }
}

fn no_program(reason: &str) -> ProbeReport {
    let reason = format!("no program here can load a library into SQLite: {reason}");
    let smoke = ProbeStep::skipped("the library was not loaded");
    ProbeReport { load: ProbeStep::skipped(reason), smoke, read_back: None }
}

/// The result of a child process.
enum ProgramResult {
    /// The program cannot load libraries, for this reason.
    Unsupported(String),
    /// The lines of stdout; the error is empty after success.
    Output { lines: Vec<String>, error: String },
}

fn run_program(
    program: Program,
    limit: Duration,
    cancelled: &dyn Fn() -> bool,
) -> Result<ProgramResult, Fault> {
    let name = program.name();
    match program.run(limit, cancelled) {
        Ok(output) if output.status.code() == Some(EXIT_UNSUPPORTED) => {
            Ok(ProgramResult::Unsupported(format!("the sqlite3 of `{name}` was built without it")))
        }
        Ok(output) => {
            let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
            let ended = format!("`{name}` ended with {}", output.status);
            let error = match output.stderr_tail(REASON_LINES) {
                _ if output.status.success() => String::new(),
                tail if tail.trim().is_empty() => ended,
                tail => tail,
            };
            Ok(ProgramResult::Output { lines, error })
        }
        Err(fault) if fault.code == ErrorCode::ToolchainMissing => {
            Ok(ProgramResult::Unsupported(format!("`{name}` is not installed")))
        }
        Err(fault) if fault.code == ErrorCode::ToolTimeout => Ok(ProgramResult::Output {
            lines: Vec::new(),
            error: format!("`{name}` was ended after {limit:?}"),
        }),
        Err(fault) => Err(fault),
    }
}

/// Returns the command that loads a library; `None` for a path with characters that the `sqlite3` program would interpret.
fn load_command(library: &Path) -> Option<String> {
    let path = library.to_str()?;
    (!path.contains(['"', '\\', '\n', '\r', '\''])).then(|| format!(".load \"{path}\""))
}

impl ExtensionProbe {
    fn statements(&self) -> Vec<String> {
        let Self { module, table, column, .. } = self;
        let distance =
            self.distance.iter().map(|name| format!(" distance_metric={name}")).collect::<String>();
        let chunks = self.chunk_size.iter().map(|size| format!(", chunk_size={size}")).collect::<String>();
        let (kind, read) = if self.int8 { ("int8", "vec_int8") } else { ("float", "vec_f32") };
        let vector = |text: &str| format!("{read}('{text}')");
        let (near, far) =
            if self.int8 { ("[1,2,3]", "[9,-8,7]") } else { ("[0.1,0.2,0.3]", "[0.9,-0.8,0.7]") };
        vec![
            format!("CREATE VIRTUAL TABLE {table} USING {module}({column} {kind}[3]{distance}{chunks})"),
            format!(
                "INSERT INTO {table}(rowid, {column}) VALUES (1, {}), (2, {})",
                vector(near),
                vector(far)
            ),
            format!("SELECT rowid FROM {table} WHERE {column} MATCH {} AND k = 1", vector(near)),
            format!("SELECT vec_to_json({column}) FROM {table} WHERE rowid = 1"),
        ]
    }

    fn evaluate(&self, lines: &[String], error: &str) -> ProbeReport {
        let reason = || if error.is_empty() { "unexpected output".to_owned() } else { error.to_owned() };
        if lines.first().map(String::as_str) != Some(LOADED) {
            let smoke = ProbeStep::skipped("the library was not loaded");
            return ProbeReport { load: ProbeStep::failed(reason()), smoke, read_back: None };
        }
        let expected = if self.int8 { "[1,2,3]" } else { "[0.100000,0.200000,0.300000]" };
        let smoke = match &lines[1..] {
            [nearest, read] if nearest == "1" && read == expected => ProbeStep::succeeded(),
            _ => ProbeStep::failed(reason()),
        };
        ProbeReport { load: ProbeStep::succeeded(), smoke, read_back: lines.get(2).cloned() }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn probe_of(library: &Path) -> ExtensionProbe {
        ExtensionProbe {
            library: library.to_owned(),
            module: "vec0".into(),
            table: "t".into(),
            column: "c".into(),
            int8: false,
            distance: Some("cosine".into()),
            chunk_size: Some(8),
        }
    }

    /// Writes a shell script that replaces Python.
    fn program(folder: &Path, text: &str) -> String {
        let path = folder.join("python");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn the_output_of_a_program_decides_the_report() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("it's.so");
        for (text, load, smoke) in [
            ("echo loaded; echo 1; echo '[0.100000,0.200000,0.300000]'", true, true),
            ("echo loaded; echo 2; echo '[0.100000,0.200000,0.300000]'", true, false),
            ("echo loaded; echo no such module >&2; exit 1", true, false),
            ("echo not a library >&2; exit 1", false, false),
            ("kill -SEGV $$", false, false),
            ("sleep 600", false, false),
        ] {
            let python = program(folder.path(), text);
            let limit = if text.starts_with("sleep") { Duration::from_millis(100) } else { LIMIT };
            let probed = probe_extension(&probe_of(&library), &python, limit, &|| false).unwrap();
            assert_eq!((probed.load.ok, probed.smoke.ok), (load, smoke), "{text}: {probed:?}");
            assert!(probed.load.attempted && probed.load.ok == probed.load.reason.is_none());
        }
        // No program can load it: Python was built without extensions, and `sqlite3` would interpret the quote in the path.
        let python = program(folder.path(), "exit 77");
        let probed = probe_extension(&probe_of(&library), &python, LIMIT, &|| false).unwrap();
        assert!(!probed.load.attempted && probed.load.reason.unwrap().contains("built without"));
        let cancelled =
            probe_extension(&probe_of(&library), &program(folder.path(), "sleep 600"), LIMIT, &|| true);
        assert_eq!(cancelled.unwrap_err().code, ErrorCode::Cancelled);
    }

    #[test]
    fn statements_contain_every_option() {
        let statements = probe_of(Path::new("x")).statements();
        assert_eq!(
            statements[0],
            "CREATE VIRTUAL TABLE t USING vec0(c float[3] distance_metric=cosine, chunk_size=8)"
        );
        let statements =
            ExtensionProbe { int8: true, distance: None, chunk_size: None, ..probe_of(Path::new("x")) }
                .statements();
        assert_eq!(statements[0], "CREATE VIRTUAL TABLE t USING vec0(c int8[3])");
        assert!(statements[1].contains("vec_int8('[1,2,3]')"));
    }
}
