//! Runs `git` so that only what this program says counts: no configuration of users or the machine, no hooks, no prompts, one
//! protocol, no redirections, and limits of time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::credentials::Credentials;
use contract::config::{self, environment_variables};
use contract::{Fault, RepositoryAddress};
use platform::process::{Program, ProgramOutput};

/// Variables that the program inherits: where programs and certificates are, which proxy to use, and the user's agent of SSH keys.
const INHERITED: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "HTTPS_PROXY",
    "https_proxy",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "LD_LIBRARY_PATH",
];

/// Bytes a second below which a transfer counts as stalled.
const STALLED_BYTES: &str = "1000";

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

    /// Runs a command, in the repository at `git_dir` if there is one.
    ///
    /// # Errors
    /// Those of [`Program::run`]; a failed exit status is none.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        git_dir: Option<&Path>,
        arguments: impl IntoIterator<Item = A>,
        timeout: Duration,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<ProgramOutput, Fault> {
        let mut program = Program::new(&self.settings.program).env_clear();
        let own = environment_variables();
        for name in INHERITED {
            if let Some(value) = own.get(name) {
                program = program.env(name, value);
            }
        }
        for (name, value) in self.environment() {
            program = program.env(&name, value);
        }
        // A directory that is not there must not make git look for a repository around the current one.
        let git_dir = git_dir.unwrap_or(Path::new("/nonexistent"));
        program.env("GIT_DIR", git_dir).args(arguments).run(timeout, must_stop)
    }

    /// The environment that replaces all configuration. It also carries credentials, because other users can read the arguments
    /// of a program, but not its environment.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment: BTreeMap<String, String> = [
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_ALLOW_PROTOCOL", self.address.scheme()),
            ("GCM_INTERACTIVE", "never"),
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
            ("fetch.recurseSubmodules", "false"),
            // Many small objects are read more slowly than one file of them.
            ("fetch.unpackLimit", "1"),
            ("gc.auto", "0"),
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", STALLED_BYTES),
            ("http.lowSpeedTime", &stalled),
            ("maintenance.auto", "false"),
            // The directory of the address of a file may belong to another user. Serving a repository runs nothing of it.
            ("safe.directory", "*"),
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
