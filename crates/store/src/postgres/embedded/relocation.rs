//! A cluster whose directory the server's user cannot reach lives elsewhere.
//!
//! Root's home is closed to others, and so is every `mktemp -d`. Opening such a directory is not ours to do; so the cluster
//! goes below a system directory, and a file in its own directory says where. A home that was deleted and made anew has
//! no such file and gets a new cluster, never the data of its predecessor.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use contract::Fault;

use super::account::Account;
use super::{failure, locks, place};

/// Where such clusters go: the first that works.
const BASES: [&str; 2] = ["/var/lib/pairofcleats/clusters", "/var/lib/pairofcleats-clusters"];

/// Says, in the cluster's own directory, where the cluster is.
const POINTER: &str = "moved-to";

/// `cluster` (canonical) if the account can reach it, else the directory that stands for it.
pub(super) fn reachable_root(account: &Account, cluster: PathBuf) -> Result<PathBuf, Fault> {
    if let Some(target) = pointed(&cluster) {
        return Ok(target);
    }
    let Some(barrier) = account.barrier(&cluster) else { return Ok(cluster) };
    if cluster.join("data").exists() {
        let who = &account.name;
        return Err(failure::unavailable("The user of the embedded Postgres can no longer reach its data.")
            .with_hint(format!(
                "Let {who} pass again (chmod o+x), or move the cluster to a directory it can reach."
            ))
            .with_details(json!({ "directory": barrier.display().to_string(), "user": who })));
    }
    relocate(account, &cluster)
        .map_err(|error| failure::io("find a place its user can reach", &cluster, error))
}

fn relocate(account: &Account, cluster: &Path) -> io::Result<PathBuf> {
    let pointer = cluster.join(POINTER);
    let lock = fs::File::options().create(true).append(true).open(cluster.join("moved-to.lock"))?;
    if !locks::take(&lock, locks::Kind::Exclusive, Instant::now() + Duration::from_secs(10))? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // Another process may have been faster.
    if let Some(target) = pointed(cluster) {
        return Ok(target);
    }
    let target = make_target(account, cluster)?;
    let draft = pointer.with_extension("new");
    fs::write(&draft, target.as_os_str().as_encoded_bytes())?;
    fs::rename(&draft, &pointer)?;
    Ok(target)
}

/// A fresh directory with a name made of the cluster's path, below the first base that can be used.
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
        // A predecessor of the same path keeps its data and its name.
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

/// The directory the pointer names. Only directories that [`make_target`] could have made count: the pointer may stand in
/// a directory of somebody who is not root.
fn pointed(cluster: &Path) -> Option<PathBuf> {
    let target = PathBuf::from(fs::read_to_string(cluster.join(POINTER)).ok()?);
    let named = target.file_name()?.to_str()?.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let based = BASES.iter().any(|base| target.parent() == Some(Path::new(base)));
    (named && based && target.is_dir()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_no_pointer_out_of_its_bases() {
        let cluster = tempfile::tempdir().unwrap();
        for target in ["/etc", "/var/lib/pairofcleats/clusters/..", "/var/lib/pairofcleats/clusters/ab/cd"] {
            fs::write(cluster.path().join(POINTER), target).unwrap();
            assert_eq!(pointed(cluster.path()), None);
        }
    }
}
