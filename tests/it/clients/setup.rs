//! Installs the clients once a machine, beside the runtime assets of the tests, from lists with exact versions and hashes.
//!
//! A part is named after the hash of its list, made under a lock in a folder beside it and renamed when it is complete, so that
//! two tests at once install it once and one that was killed leaves nothing half done behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use platform::process::Program;
use upkeep::assets;

/// How long npm or pip may take for one part.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);

const NODE_MIN: (u32, u32) = (20, 0);
const PYTHON_MIN: (u32, u32) = (3, 11);

/// What is written in Python; each has packages of its own, because they exclude one another.
#[derive(Clone, Copy)]
pub(super) enum Python {
    Sdk1,
    Sdk2,
    SdkOfJune2025,
    Schemathesis,
}

impl Python {
    const fn name(self) -> &'static str {
        match self {
            Self::Sdk1 => "sdk-1",
            Self::Sdk2 => "sdk-2",
            Self::SdkOfJune2025 => "sdk-of-june-2025",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// The interpreter, which sees the part's packages.
    pub(super) fn command(self) -> Command {
        let mut command = python();
        command.env("PYTHONPATH", self.installed()).env("PYTHONNOUSERSITE", "1");
        command
    }

    /// A run of one of our scripts.
    pub(super) fn script(self, name: &str) -> Command {
        let mut command = self.command();
        // Beside the sources no bytecode is left.
        command.arg("-B").arg(sources().join("python").join(name));
        command
    }

    fn installed(self) -> PathBuf {
        let version = needs(python(), PYTHON_MIN, "Python 3.11 or newer with pip, as `python3`");
        let list = sources().join(format!("python/requirements-{}.txt", self.name()));
        part(&format!("python{}.{}-{}", version.0, version.1, self.name()), &list, |folder| {
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
    packed_files("compose").join("check_jsonschema/builtin_schemas/vendor/compose-spec.json")
}

/// The folder of the JSON schemas that CycloneDX publishes.
pub(crate) fn cyclonedx_schemas() -> PathBuf {
    packed_files("cyclonedx").join("cyclonedx/schema/_res")
}

/// Packages of which only files are read.
fn packed_files(name: &str) -> PathBuf {
    needs(python(), PYTHON_MIN, "Python 3.11 or newer with pip, as `python3`");
    let list = sources().join(format!("python/requirements-{name}.txt"));
    part(&format!("python-{name}"), &list, |folder| {
        let mut pip = python();
        pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
            .args(["--no-deps", "--require-hashes", "--only-binary", ":all:", "--target"])
            .arg(folder)
            .arg("--requirement")
            .arg(&list);
        pip
    })
}

/// A run of one of our scripts in JavaScript. They lie beside a link to the packages, where node looks for them.
pub(super) fn node_script(name: &str) -> Command {
    static STAGE: OnceLock<PathBuf> = OnceLock::new();
    let stage = STAGE.get_or_init(|| {
        let stage =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("node-clients-{}", std::process::id()));
        let _ = fs::remove_dir_all(&stage);
        fs::create_dir_all(&stage).unwrap();
        std::os::unix::fs::symlink(node_modules(), stage.join("node_modules")).unwrap();
        for script in fs::read_dir(sources().join("node")).unwrap().map(|entry| entry.unwrap()) {
            fs::copy(script.path(), stage.join(script.file_name())).unwrap();
        }
        stage
    });
    let mut command = node();
    command.arg(stage.join(name));
    command
}

/// A run of a program that a package brought along.
pub(super) fn node_program(path: &str) -> Command {
    let mut command = node();
    command.arg(node_modules().join(path));
    command
}

fn node_modules() -> PathBuf {
    needs(node(), NODE_MIN, "Node.js 20 or newer with npm");
    let list = sources().join("node/package-lock.json");
    let installed = part("node", &list, |folder| {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(sources().join("node").join(file), folder.join(file)).unwrap();
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"])
            .current_dir(folder);
        npm
    });
    installed.join("node_modules")
}

fn node() -> Command {
    Command::new("node")
}

fn python() -> Command {
    Command::new("python3")
}

/// Where scripts and lists stand.
pub(super) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The version of an interpreter; fails the test with what to install when it is missing or too old.
fn needs(mut interpreter: Command, least: (u32, u32), what: &str) -> (u32, u32) {
    interpreter.arg("--version");
    let output = Program::from(interpreter)
        .run(Duration::from_secs(30), &|| false)
        .unwrap_or_else(|fault| panic!("{fault} The tests with independent clients need {what}."));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    assert!(version >= least, "The tests with independent clients need {what}; found: {text}");
    version
}

/// The folder of one part; `install` gives the command that fills the folder it is given.
fn part(name: &str, list: &Path, install: impl FnOnce(&Path) -> Command) -> PathBuf {
    let cache = assets::test_home().home().with_file_name("pairofcleats-test-clients");
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
    let shown = format!("{command:?}");
    let output = Program::from(command)
        .run(INSTALL_LIMIT, &|| false)
        .unwrap_or_else(|fault| panic!("the test clients could not be installed: {fault} ({shown})"));
    assert!(
        output.status.success(),
        "the test clients could not be installed: {shown}: {}",
        super::said(&output)
    );
    fs::rename(&unfinished, &complete).unwrap();
    complete
}
