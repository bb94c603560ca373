//! A new cluster: made aside and renamed, so that a data directory is either whole or not there.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use contract::Fault;
use platform::process::{Output, Program};

use super::access::DATABASE_USER;
use super::place::Place;
use super::{failure, log_file, tied_child};

/// The database of the product.
pub(super) const DATABASE: &str = "pairofcleats";
/// Longest time of each step; a slow disk may take minutes, and whoever waits for the server has a limit of its own.
const CREATION: Duration = Duration::from_secs(600);

/// Makes the data directory if there is none. Called by the one supervisor.
pub(super) fn ensure_data(place: &Place) -> Result<(), Fault> {
    if place.data().exists() {
        return Ok(());
    }
    let draft = place.data_draft();
    let made = prepare_draft(place, &draft)
        .and_then(|()| initialise(place, &draft))
        .and_then(|()| create_database(place, &draft))
        .and_then(|()| {
            publish(&draft, &place.data(), &place.root)
                .map_err(|error| failure::io("put its new data directory in place", &place.root, error))
        });
    if made.is_err() {
        // The next start removes it in any case; on a full disk the space is wanted now.
        let _ = fs::remove_dir_all(&draft);
    }
    made
}

fn prepare_draft(place: &Place, draft: &Path) -> Result<(), Fault> {
    let prepare = || -> io::Result<()> {
        match fs::remove_dir_all(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(draft)?;
        place.account.take(draft)
    };
    prepare().map_err(|error| failure::io("make its data directory", draft, error))
}

fn initialise(place: &Place, draft: &Path) -> Result<(), Fault> {
    let mut command = tied_child::command(&place.account, &place.program("initdb"))
        .map_err(|error| failure::io("run initdb", &place.install, error))?;
    command
        .arg("-D")
        .arg(draft)
        .args(["-U", DATABASE_USER, "-A", "peer", "--encoding=UTF8", "--no-instructions", "--no-sync"])
        // Sorts by byte whatever the system's locales are, and still knows the letters of all scripts.
        .args(["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]);
    let output = Program::from(command).run(CREATION, &|| false)?;
    if output.status.success() {
        return Ok(());
    }
    Err(failure::from_log("The embedded Postgres could not make its cluster.", &said(&output)))
}

/// In single-user mode: no server has to be up, and the directory is whole when it is published.
fn create_database(place: &Place, draft: &Path) -> Result<(), Fault> {
    let mut command = tied_child::command(&place.account, &place.program("postgres"))
        .map_err(|error| failure::io("make its database", &place.install, error))?;
    command.args(["--single", "-D"]).arg(draft).arg(DATABASE_USER);
    let statement = format!("CREATE DATABASE {DATABASE};\n");
    let output = Program::from(command).input(statement).run(CREATION, &|| false)?;
    let said = said(&output);
    // A failed statement does not change the exit status of this mode.
    if output.status.success() && !said.iter().any(|line| line.contains("ERROR:")) {
        return Ok(());
    }
    Err(failure::from_log("The embedded Postgres could not make its database.", &said))
}

fn said(output: &Output) -> Vec<String> {
    log_file::last_lines(&[output.stdout.as_slice(), output.stderr.as_slice()].concat())
}

fn publish(draft: &Path, data: &Path, root: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(draft)?)?;
    fs::rename(draft, data)?;
    File::open(root)?.sync_all()
}
