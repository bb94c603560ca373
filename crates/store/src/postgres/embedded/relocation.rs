//! Places a cluster elsewhere if the server's user cannot reach its configured directory.
//!
//! Root's home directory is closed to other users, and so is every `mktemp -d`. The program must not open such a directory,
//! so it puts the cluster below a system directory and writes its path to a file in the configured directory. If the
//! configured directory is deleted and created again, that file is gone and a new cluster is made; old data is never reused.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use contract::Fault;
use contract::config::RELOCATED_CLUSTERS;

use super::account::Account;
use super::{failure, locks, place};

/// Parent directories of relocated clusters; the first usable one is taken.
const BASES: [&str; 2] = RELOCATED_CLUSTERS;

/// File in the configured directory that holds the path of the relocated cluster.
const POINTER: &str = "moved-to";

/// The directory of the cluster: `cluster` (canonical) if the account can reach it, else where it was relocated to.
pub(super) fn reachable_root(account: &Account, cluster: PathBuf) -> Result<PathBuf, Fault> {
    if let Some(target) = pointer_target(&cluster) {
        return Ok(target);
    }
    let Some(barrier) = account.barrier(&cluster) else { return Ok(cluster) };
    if cluster.join("data").exists() {
        let who = &account.name;
        return Err(failure::unavailable("The user of the embedded Postgres can no longer reach its data.")
            .with_hint(format!(
                "Let {who} traverse the directory again (chmod o+x), or move the cluster to a directory it can reach."
            ))
            .with_details(json!({ "directory": barrier.display().to_string(), "user": who })));
    }
    relocate(account, &cluster)
        .map_err(|error| failure::io("find a place its user can reach", &cluster, error))
}

fn relocate(account: &Account, cluster: &Path) -> io::Result<PathBuf> {
    let pointer = cluster.join(POINTER);
    let lock = fs::File::options().create(true).append(true).open(cluster.join("moved-to.lock"))?;
    if !locks::acquire(&lock, locks::LockKind::Exclusive, Instant::now() + Duration::from_secs(10))? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // Another process may have relocated it meanwhile.
    if let Some(target) = pointer_target(cluster) {
        return Ok(target);
    }
    let target = make_target(account, cluster)?;
    let draft = pointer.with_extension("new");
    fs::write(&draft, target.as_os_str().as_encoded_bytes())?;
    fs::rename(&draft, &pointer)?;
    Ok(target)
}

/// Creates a directory named after a hash of the cluster's path, below the first usable base.
fn make_target(account: &Account, cluster: &Path) -> io::Result<PathBuf> {
    let name = place::path_digest(cluster);
    let mut last = io::Error::from(io::ErrorKind::PermissionDenied);
    for base in BASES.map(Path::new) {
        match place::make_directories(base, 0o711) {
            Ok(()) if account.barrier(base).is_none() => {}
            Ok(()) => continue,
            Err(error) => {
                last = error;
                continue;
            }
        }
        // An earlier cluster of the same path keeps its directory; the new one gets a suffix.
        for suffix in 1_u32.. {
            let target = base.join(if suffix == 1 { name.clone() } else { format!("{name}-{suffix}") });
            match DirBuilder::new().mode(0o711).create(&target) {
                Ok(()) => {
                    fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
                    fs::write(target.join("origin"), cluster.as_os_str().as_encoded_bytes())?;
                    return Ok(target);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
    Err(last)
}

/// The directory that the pointer file names. Only paths that [`make_target`] could have created are accepted, because the
/// file may be in a directory of an unprivileged user.
fn pointer_target(cluster: &Path) -> Option<PathBuf> {
    let target = PathBuf::from(fs::read_to_string(cluster.join(POINTER)).ok()?);
    let named = target.file_name()?.to_str()?.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let based = BASES.iter().any(|base| target.parent() == Some(Path::new(base)));
    (named && based && target.is_dir()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_pointers_outside_of_the_bases() {
        let cluster = tempfile::tempdir().unwrap();
        for target in ["/etc", "/var/lib/pairofcleats/clusters/..", "/var/lib/pairofcleats/clusters/ab/cd"] {
            fs::write(cluster.path().join(POINTER), target).unwrap();
            assert_eq!(pointer_target(cluster.path()), None);
        }
    }
}
