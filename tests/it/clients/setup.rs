//! Installs the clients once per machine, beside the runtime assets of the tests, from lists with exact versions and hashes.
//!
//! Each package set is installed under a lock into a temporary folder, which is then renamed to a name with the hash of its
//! list: concurrent tests install it once, and a killed test leaves no incomplete set behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use platform::process::Program;
use upkeep::install::test_home;

/// Timeout of npm or pip for one package set.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);

const NODE_MIN: (u32, u32) = (20, 0);
const PYTHON_MIN: (u32, u32) = (3, 11);

/// The Python clients. Each has its own packages, because their dependencies conflict.
#[derive(Clone, Copy)]
pub(super) enum PythonClient {
    Sdk1,
    Sdk2,
    SdkOfJune2025,
    Schemathesis,
}

impl PythonClient {
    const fn name(self) -> &'static str {
        match self {
            Self::Sdk1 => "sdk-1",
            Self::Sdk2 => "sdk-2",
            Self::SdkOfJune2025 => "sdk-of-june-2025",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// The interpreter with the client's packages on its path.
    pub(super) fn command(self) -> Command {
        let mut command = python();
        command.env("PYTHONPATH", self.package_folder()).env("PYTHONNOUSERSITE", "1");
        command
    }

    /// A command that runs one of our scripts.
    pub(super) fn script(self, name: &str) -> Command {
        let mut command = self.command();
        // `-B`: no bytecode in the source tree.
        command.arg("-B").arg(client_sources().join("python").join(name));
        command
    }

    fn package_folder(self) -> PathBuf {
        let version = require_version(python(), PYTHON_MIN, "Python 3.11 or newer with pip, as `python3`");
        let list = client_sources().join(format!("python/requirements-{}.txt", self.name()));
        package_set(&format!("python{}.{}-{}", version.0, version.1, self.name()), &list, |folder| {
            let mut pip = python();
            pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
                .args(["--require-hashes", "--only-binary", ":all:", "--target"])
                .arg(folder)
                .arg("--requirement")
                .arg(&list);
            pip
        })
    }
}

/// The JSON schema of compose files, as the compose specification publishes it.
pub(crate) fn compose_schema() -> PathBuf {
    data_package("compose").join("check_jsonschema/builtin_schemas/vendor/compose-spec.json")
}

/// The folder of the JSON schemas that CycloneDX publishes.
pub(crate) fn cyclonedx_schemas() -> PathBuf {
    data_package("cyclonedx").join("cyclonedx/schema/_res")
}

/// Installs packages from which only data files are read.
fn data_package(name: &str) -> PathBuf {
    require_version(python(), PYTHON_MIN, "Python 3.11 or newer with pip, as `python3`");
    let list = client_sources().join(format!("python/requirements-{name}.txt"));
    package_set(&format!("python-{name}"), &list, |folder| {
        let mut pip = python();
        pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
            .args(["--no-deps", "--require-hashes", "--only-binary", ":all:", "--target"])
            .arg(folder)
            .arg("--requirement")
            .arg(&list);
        pip
    })
}

/// A command that runs one of our JavaScript scripts. The scripts are copied beside a link to `node_modules`, where node
/// looks for packages.
pub(super) fn node_script(name: &str) -> Command {
    static STAGE: OnceLock<PathBuf> = OnceLock::new();
    let stage = STAGE.get_or_init(|| {
        let stage =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("node-clients-{}", std::process::id()));
        let _ = fs::remove_dir_all(&stage);
        fs::create_dir_all(&stage).unwrap();
        std::os::unix::fs::symlink(node_modules(), stage.join("node_modules")).unwrap();
        for script in fs::read_dir(client_sources().join("node")).unwrap().map(|entry| entry.unwrap()) {
            fs::copy(script.path(), stage.join(script.file_name())).unwrap();
        }
        stage
    });
    let mut command = node();
    command.arg(stage.join(name));
    command
}

/// A command that runs a program of an installed package.
pub(super) fn node_program(path: &str) -> Command {
    let mut command = node();
    command.arg(node_modules().join(path));
    command
}

fn node_modules() -> PathBuf {
    npm_packages("node")
}

/// The coding agents, as npm packages.
pub(crate) struct AgentPackages(PathBuf);

/// Installs the coding agents.
pub(crate) fn agent_packages() -> AgentPackages {
    AgentPackages(npm_packages("agents"))
}

impl AgentPackages {
    /// A command that runs a script of a package.
    pub(crate) fn script(&self, path: &str) -> Command {
        let mut command = node();
        command.arg(self.0.join(path));
        command
    }

    /// The path of a program in the package for this system; `{os}` and `{cpu}` are npm's names of it.
    pub(crate) fn platform(&self, path: &str) -> PathBuf {
        let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        self.0.join(path.replace("{os}", os).replace("{cpu}", cpu))
    }
}

/// Installs the packages of a list in `tests/clients/`. Returns their `node_modules`.
pub(crate) fn npm_packages(name: &str) -> PathBuf {
    require_version(node(), NODE_MIN, "Node.js 20 or newer with npm");
    let sources = client_sources().join(name);
    let package_folder = package_set(name, &sources.join("package-lock.json"), |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(file), folder.join(file)).unwrap();
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"])
            .current_dir(folder);
        npm
    });
    package_folder.join("node_modules")
}

pub(crate) fn node() -> Command {
    Command::new("node")
}

fn python() -> Command {
    Command::new("python3")
}

/// Folder of the scripts and of the lists of packages.
pub(crate) fn client_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The version of an interpreter. Panics with what to install if it is missing or too old.
fn require_version(mut interpreter: Command, minimum: (u32, u32), requirement: &str) -> (u32, u32) {
    interpreter.arg("--version");
    let output = Program::from(interpreter)
        .run(Duration::from_secs(30), &|| false)
        .unwrap_or_else(|fault| panic!("{fault} The tests with independent clients need {requirement}."));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    assert!(version >= minimum, "The tests with independent clients need {requirement}; found: {text}");
    version
}

/// The folder of a package set; `install` returns the command that fills the folder it is given.
pub(crate) fn package_set(name: &str, list: &Path, install: impl FnOnce(&Path) -> Command) -> PathBuf {
    let cache = test_home().home().with_file_name("pairofcleats-test-clients");
    let hash = blake3::hash(&fs::read(list).unwrap()).to_hex();
    let complete = cache.join(format!("{name}-{}", &hash[..16]));
    let unfinished = cache.join(format!("{name}.unfinished"));
    fs::create_dir_all(&cache).unwrap();
    let lock = File::create(cache.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    if complete.exists() {
        return complete;
    }
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).unwrap();
    let command = install(&unfinished);
    let command_line = format!("{command:?}");
    let output = Program::from(command)
        .run(INSTALL_TIMEOUT, &|| false)
        .unwrap_or_else(|fault| panic!("the test clients could not be installed: {fault} ({command_line})"));
    assert!(
        output.status.success(),
        "the test clients could not be installed: {command_line}: {}",
        super::describe_output(&output)
    );
    fs::rename(&unfinished, &complete).unwrap();
    complete
}
