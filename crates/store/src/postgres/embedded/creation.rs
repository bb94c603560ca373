//! Creates a cluster in a draft directory and renames it, so that a data directory is either complete or absent.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use contract::Fault;
use platform::process::{Program, ProgramOutput};

use super::access::DATABASE_USER;
use super::place::Place;
use super::{failure, log_file, tied_child};

/// Name of the database that the program uses.
pub(super) const DATABASE: &str = "pairofcleats";
/// The database that initdb creates, to which the first statement is sent.
const INITIAL_DATABASE: &str = "postgres";
/// Time limit of each step. A slow disk may need minutes; the callers that wait for the server have limits of their own.
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// Creates the data directory if it does not exist. Called only by the supervisor, which runs once for each cluster.
pub(super) fn ensure_data(place: &Place) -> Result<(), Fault> {
    if place.data().exists() {
        return Ok(());
    }
    let draft = place.data_draft();
    let created = prepare_draft(place, &draft)
        .and_then(|()| initialise(place, &draft))
        .and_then(|()| create_database(place, &draft))
        .and_then(|()| {
            put_in_place(&draft, &place.data(), &place.root)
                .map_err(|error| failure::io("put its new data directory in place", &place.root, error))
        });
    if created.is_err() {
        // The next start would remove it, but a full disk needs the space now.
        let _ = fs::remove_dir_all(&draft);
    }
    created
}

fn prepare_draft(place: &Place, draft: &Path) -> Result<(), Fault> {
    let prepare = || -> io::Result<()> {
        match fs::remove_dir_all(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(draft)?;
        place.account.own(draft)
    };
    prepare().map_err(|error| failure::io("create its data directory", draft, error))
}

fn initialise(place: &Place, draft: &Path) -> Result<(), Fault> {
    let mut command = tied_child::command(&place.account, &place.program("initdb"))
        .map_err(|error| failure::io("run initdb", &place.install, error))?;
    command
        .arg("-D")
        .arg(draft)
        .args(["-U", DATABASE_USER, "-A", "peer", "--encoding=UTF8", "--no-instructions"])
        // Sorts by byte, independent of the system's locales, with Unicode rules for case and character classes.
        .args(["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]);
    if cfg!(target_os = "linux") {
        // `put_in_place` flushes the whole file system, which is faster.
        command.arg("--no-sync");
    }
    let output = Program::from(command).run(STEP_TIMEOUT, &|| false)?;
    if output.status.success() {
        return Ok(());
    }
    Err(failure::from_log("The embedded Postgres could not create its cluster.", &last_lines(&output)))
}

/// Creates the database in single-user mode, which needs no running server, so that the directory is complete when it is
/// renamed.
fn create_database(place: &Place, draft: &Path) -> Result<(), Fault> {
    let mut command = tied_child::command(&place.account, &place.program("postgres"))
        .map_err(|error| failure::io("create its database", &place.install, error))?;
    command.args(["--single", "-D"]).arg(draft).arg(INITIAL_DATABASE);
    let statement = format!("CREATE DATABASE {DATABASE};\n");
    let output = Program::from(command).input(statement).run(STEP_TIMEOUT, &|| false)?;
    let log = last_lines(&output);
    // In single-user mode a failed statement does not change the exit status.
    if output.status.success() && !log.iter().any(|line| line.contains("ERROR:")) {
        return Ok(());
    }
    Err(failure::from_log("The embedded Postgres could not create its database.", &log))
}

fn last_lines(output: &ProgramOutput) -> Vec<String> {
    log_file::last_lines(&[output.stdout.as_slice(), output.stderr.as_slice()].concat())
}

fn put_in_place(draft: &Path, data: &Path, root: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(draft)?)?;
    fs::rename(draft, data)?;
    File::open(root)?.sync_all()
}
