//! Runs `git` under the sole control of this program: no configuration of users or the machine, no hooks, no prompts, one protocol, no
//! redirections, and limits of time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::credentials::Credentials;
use super::unwritable::not_written;
use contract::config::{self, environment_variables};
use contract::{ErrorCode, Fault, RepositoryAddress};
use platform::process::{Program, ProgramOutput};

/// Variables that the program inherits: paths of programs and certificates, the proxy to use, and the user's agent of SSH keys.
const INHERITED: [&str; 17] = [
    "PATH", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH", "HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY",
    "no_proxy", "LD_LIBRARY_PATH",
];

/// The script that limits the memory of git, in KiB: private memory, so that packs may be mapped.
const LIMIT_MEMORY: &str = r#"ulimit -d 2097152; exec "$@""#;
/// The script that also writes the output of git to the file in its first argument, up to [`LIST_BYTES_MAX`], in blocks of 512 bytes: more
/// output ends the program.
const LIMIT_LIST: &str =
    r#"ulimit -d 2097152; ulimit -c 0; ulimit -f 32768; list=$1; shift; exec "$@" >"$list""#;
/// Longest list of references that is read, in bytes: those of about 200,000 branches and tags.
pub(super) const LIST_BYTES_MAX: usize = 16 << 20;
/// Exit statuses of the shell if a program does not exist, or cannot be started.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Longest time for asking for the version.
const VERSION_TIME: Duration = Duration::from_secs(10);

/// Bytes a second below which a transfer counts as stalled.
const STALLED_BYTES: &str = "1000";

/// The first version that can take all of its configuration from the environment. Earlier ones would read the user's as well.
const VERSION_MIN: Version = (2, 32, 0);
/// Versions in which serving a directory on this machine runs nothing from it (CVE-2024-32004): the first fixed one of each line, and
/// everything from the last one on.
const LOCAL_VERSIONS: [Version; 7] =
    [(2, 39, 4), (2, 40, 2), (2, 41, 1), (2, 42, 2), (2, 43, 4), (2, 44, 1), (2, 45, 1)];

/// A version of git.
type Version = (u32, u32, u32);

/// The versions of programs that were new enough, by the names of the programs. Each query costs a process.
static KNOWN_VERSIONS: Mutex<BTreeMap<String, Version>> = Mutex::new(BTreeMap::new());

/// The program, for one address.
pub(super) struct Git<'a> {
    settings: &'a config::Git,
    address: &'a RepositoryAddress,
    credentials: Credentials,
}

impl<'a> Git<'a> {
    /// Reads the credentials for the address.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if they cannot be read.
    pub(super) fn new(settings: &'a config::Git, address: &'a RepositoryAddress) -> Result<Self, Fault> {
        Ok(Self { settings, address, credentials: Credentials::for_address(settings, address)? })
    }

    /// Checks that the program is new enough. It is asked once per process; if it was too old, each time.
    ///
    /// # Errors
    /// `TOOLCHAIN_MISSING` if it is missing or too old.
    pub(super) fn require_version(&self, must_stop: &dyn Fn() -> bool) -> Result<(), Fault> {
        let is_local = self.address.local_directory().is_some();
        let known = known_versions(|versions| versions.get(&self.settings.program).copied());
        if known.is_some_and(|version| is_new_enough(version, is_local)) {
            return Ok(());
        }
        let output = self.run(None, ["version"], VERSION_TIME, must_stop)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(version) = version(&text).filter(|version| is_new_enough(*version, is_local)) {
            known_versions(|versions| versions.insert(self.settings.program.clone(), version));
            return Ok(());
        }
        if text.is_empty() {
            return Err(self.not_installed());
        }
        let needed = if is_local { "2.45.1, or with a fix of May 2024," } else { "2.32 or newer" };
        let message = format!("Fetching {} needs git {needed}; this is `{}`.", self.address, text.trim());
        Err(Fault::new(ErrorCode::ToolchainMissing, message)
            .with_hint("Install a newer git, or name one in git.program."))
    }

    fn not_installed(&self) -> Fault {
        let message =
            format!("`{}` is not installed, which fetching repositories needs.", self.settings.program);
        Fault::new(ErrorCode::ToolchainMissing, message)
            .with_hint("Install git on the server, or name it in git.program.")
    }

    /// Returns the option with which git serves a repository in a directory on this machine: the directory may belong to another user, and
    /// git does not pass its configuration on to the serving program. Serving a repository runs nothing from it.
    pub(super) fn upload_pack_option(&self) -> Option<String> {
        let program = self.settings.program.replace('\'', r"'\''");
        let is_local = self.address.local_directory().is_some();
        is_local.then(|| format!("--upload-pack='{program}' -c safe.directory='*' upload-pack"))
    }

    /// Runs a command, in the repository at `git_dir` if there is one.
    ///
    /// # Errors
    /// Those of [`Program::run`]; `TOOLCHAIN_MISSING` if git is missing; other failed exit statuses are not errors.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        git_dir: Option<&Path>,
        arguments: impl IntoIterator<Item = A>,
        timeout: Duration,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<ProgramOutput, Fault> {
        // A few bytes of a pack can ask for any amount of memory. The limit applies to all processes that git starts.
        let shell = Program::new("/bin/sh").args(["-c", LIMIT_MEMORY, "sh"]);
        self.run_with(shell, git_dir, arguments, timeout, must_stop)
    }

    /// Runs a command that prints a list, which is written to `file`, because it may be longer than the retained output of programs.
    /// Returns the first [`LIST_BYTES_MAX`] bytes of the list; a longer one ends the command.
    ///
    /// # Errors
    /// As [`Self::run`]; `STORAGE_UNAVAILABLE` if the file cannot be written.
    pub(super) fn run_for_list<A: AsRef<OsStr>>(
        &self,
        file: &Path,
        arguments: impl IntoIterator<Item = A>,
        timeout: Duration,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<(ProgramOutput, Vec<u8>), Fault> {
        // Created here, because the message of a shell that cannot create it could be mistaken for one of the host.
        File::create(file).map_err(not_written)?;
        let shell = Program::new("/bin/sh").args(["-c", LIMIT_LIST, "sh"]).arg(file);
        let output = self.run_with(shell, None, arguments, timeout, must_stop);
        let list = read_start(file);
        let _ = fs::remove_file(file);
        Ok((output?, list.map_err(not_written)?))
    }

    /// Runs git by a shell, whose script takes the program and its arguments.
    fn run_with<A: AsRef<OsStr>>(
        &self,
        shell: Program,
        git_dir: Option<&Path>,
        arguments: impl IntoIterator<Item = A>,
        timeout: Duration,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<ProgramOutput, Fault> {
        let mut program = shell.arg(&self.settings.program).env_clear();
        let own = environment_variables();
        for name in INHERITED {
            if let Some(value) = own.get(name) {
                program = program.env(name, value);
            }
        }
        // Without it, git would send the credentials that the user's netrc file has for a host. A credential helper needs it.
        let home = own.get("HOME").filter(|_| self.credentials.has_helper());
        program = program.env("HOME", home.map_or("/nonexistent", String::as_str));
        for (name, value) in self.environment() {
            program = program.env(&name, value);
        }
        // If the directory is missing, git must not search for a repository around the current one.
        let git_dir = git_dir.unwrap_or(Path::new("/nonexistent"));
        let output = program.env("GIT_DIR", git_dir).args(arguments).run(timeout, must_stop)?;
        // Git may have been removed since its version was queried.
        if output.status.code().is_some_and(|code| NOT_STARTED.contains(&code)) {
            known_versions(|versions| versions.remove(&self.settings.program));
            return Err(self.not_installed());
        }
        Ok(output)
    }

    /// Returns the environment that replaces all configuration. It also contains credentials, because other users can read the arguments of
    /// a program, but not its environment.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment: BTreeMap<String, String> = [
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOC_LIMIT", "1536m"),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_ALLOW_PROTOCOL", self.address.scheme()),
            ("GCM_INTERACTIVE", "never"),
            // The formats that are read here, whatever later versions prefer.
            ("GIT_DEFAULT_HASH", "sha1"),
            ("GIT_DEFAULT_REF_FORMAT", "files"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        environment
            .insert("GIT_SSH_COMMAND".to_owned(), self.credentials.ssh_command(self.settings.stalled_s));
        let stalled = self.settings.stalled_s.max(1).to_string();
        let mut configuration: Vec<(String, String)> = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("credential.helper", ""),
            ("core.bigFileThreshold", "16m"),
            ("fetch.recurseSubmodules", "false"),
            ("pack.threads", "2"),
            ("pack.windowMemory", "128m"),
            // Many small objects are slower to read than one pack.
            ("fetch.unpackLimit", "1"),
            ("gc.auto", "0"),
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", STALLED_BYTES),
            ("http.lowSpeedTime", &stalled),
            ("maintenance.auto", "false"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        configuration.extend(self.credentials.configuration());
        environment.insert("GIT_CONFIG_COUNT".to_owned(), configuration.len().to_string());
        for (number, (name, value)) in configuration.into_iter().enumerate() {
            environment.insert(format!("GIT_CONFIG_KEY_{number}"), name);
            environment.insert(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        environment
    }
}

/// Reads or changes the known versions.
fn known_versions<T>(change: impl FnOnce(&mut BTreeMap<String, Version>) -> T) -> T {
    change(&mut KNOWN_VERSIONS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The first [`LIST_BYTES_MAX`] bytes of a file.
fn read_start(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LIST_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns `true` if a program that prints this version can fetch from hosts.
#[must_use]
pub fn is_supported_version(text: &str) -> bool {
    version(text).is_some_and(|version| is_new_enough(version, false))
}

/// Parses the numbers of `git version 2.47.3`.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.strip_prefix("git version ")?.split(|letter: char| !letter.is_ascii_digit());
    let third = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or_default();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?, third(numbers.next())))
}

fn is_new_enough(version: Version, is_local: bool) -> bool {
    if !is_local {
        return version >= VERSION_MIN;
    }
    let same_line = |fixed: &Version| (fixed.0, fixed.1) == (version.0, version.1);
    LOCAL_VERSIONS
        .iter()
        .find(|fixed| same_line(fixed))
        .or(LOCAL_VERSIONS.last())
        .is_some_and(|fixed| version >= *fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_every_system_prints_them() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47, 3)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39, 5)));
        assert_eq!(version("git version 3.0.windows.1\n"), Some((3, 0, 0)));
        assert_eq!(version("something else"), None);
    }

    #[test]
    fn old_versions_are_refused_and_for_directories_those_with_a_known_hole() {
        for (version, remote, local) in [
            ((2, 31, 9), false, false),
            ((2, 32, 0), true, false),
            ((2, 39, 3), true, false),
            ((2, 39, 5), true, true),
            ((2, 45, 0), true, false),
            ((2, 45, 2), true, true),
            ((3, 0, 0), true, true),
        ] {
            assert_eq!(
                (is_new_enough(version, false), is_new_enough(version, true)),
                (remote, local),
                "{version:?}"
            );
        }
    }
}
