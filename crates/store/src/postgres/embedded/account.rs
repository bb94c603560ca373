//! The Unix user that the server runs as: Postgres refuses to run as root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use contract::{ErrorCode, Fault};
use platform::process::Program;

use super::failure;

/// Tried in this order when root starts the cluster and `embedded.run_as` is unset.
const SERVICE_USERS: [&str; 2] = ["postgres", "nobody"];
/// Time limit of the `id` command, which may query a directory service.
const ID_TIMEOUT: Duration = Duration::from_secs(10);

/// The user that owns the data directory and runs the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// `true` if this process is root, so that child processes have to switch to the account.
    pub(super) switched: bool,
}

impl Account {
    /// Chooses the account: the user of this process, or an unprivileged user if that is root.
    pub(super) fn choose(run_as: Option<&str>) -> Result<Self, Fault> {
        let uid = rustix::process::geteuid();
        if !uid.is_root() {
            let gid = rustix::process::getegid().as_raw();
            return Ok(Self { name: name_of(uid.as_raw())?, uid: uid.as_raw(), gid, switched: false });
        }
        if let Some(name) = run_as {
            return by_name(name).filter(|account| account.uid != 0).ok_or_else(|| unusable_run_as(name));
        }
        SERVICE_USERS.iter().find_map(|name| by_name(name)).ok_or_else(|| {
            failure::unavailable("Postgres cannot run as root, and there is no unprivileged user for it.")
                .with_hint("Set embedded.run_as to an unprivileged user, or start as one.")
        })
    }

    /// The owner of the data directory if it exists already, because Postgres refuses to run for anyone else; else `self`.
    pub(super) fn or_owner_of(self, data: &Path) -> Result<Self, Fault> {
        let Ok(metadata) = fs::metadata(data) else { return Ok(self) };
        if metadata.uid() == self.uid {
            return Ok(self);
        }
        if !self.switched || metadata.uid() == 0 {
            return Err(failure::unavailable("The embedded Postgres cluster belongs to another user.")
                .with_hint(
                    "Start as the user who created it, or set PAIROFCLEATS_HOME to a directory of your own.",
                ));
        }
        Ok(Self {
            name: name_of(metadata.uid())?,
            uid: metadata.uid(),
            gid: metadata.gid(),
            switched: self.switched,
        })
    }

    /// The first directory on the path to `directory` (inclusive) that the account may not traverse, if any.
    ///
    /// Only mode bits are checked; if an ACL denies access, the server itself reports an error.
    pub(super) fn barrier(&self, directory: &Path) -> Option<PathBuf> {
        if !self.switched {
            return None;
        }
        let mut path: Vec<&Path> = directory.ancestors().collect();
        path.reverse();
        path.into_iter().find(|step| !self.has_permission(step, 0o1)).map(Path::to_path_buf)
    }

    /// Returns `true` if the account has the permission `bit` (1 execute, 2 write, 4 read) on `path`.
    pub(super) fn has_permission(&self, path: &Path, bit: u32) -> bool {
        let Ok(metadata) = fs::metadata(path) else { return false };
        let class = if metadata.uid() == self.uid {
            6
        } else if metadata.gid() == self.gid {
            3
        } else {
            0
        };
        (metadata.mode() >> class) & bit == bit
    }

    /// Makes `command` run as the account.
    pub(super) fn apply_to(&self, command: &mut Command) {
        if self.switched {
            // The standard library also drops root's supplementary groups here.
            command.uid(self.uid).gid(self.gid);
        }
    }

    /// Changes the owner of `path`, which this process created, to the account.
    pub(super) fn own(&self, path: &Path) -> std::io::Result<()> {
        if self.switched { std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid)) } else { Ok(()) }
    }
}

fn unusable_run_as(name: &str) -> Fault {
    Fault::new(ErrorCode::ValidationError, "The user in embedded.run_as does not exist or is root.")
        .with_hint("Name an existing unprivileged user, or leave the setting out.")
        .with_details(
            json!({ "field": "embedded.run_as", "value": name, "constraint": "an unprivileged user" }),
        )
}

fn by_name(name: &str) -> Option<Account> {
    let (uid, gid) = users()
        .into_iter()
        .find(|user| user.name == name)
        .map(|user| (user.uid, user.gid))
        .or_else(|| Some((id(&["-u", name])?.parse().ok()?, id(&["-g", name])?.parse().ok()?)))?;
    Some(Account { name: name.to_owned(), uid, gid, switched: true })
}

/// The name of a user id. The server identifies its clients by this name, and initdb refuses to run without one.
fn name_of(uid: u32) -> Result<String, Fault> {
    users()
        .into_iter()
        .find(|user| user.uid == uid)
        .map(|user| user.name)
        .or_else(|| id(&["-un", &uid.to_string()]))
        .ok_or_else(|| {
            failure::unavailable(format!("User id {uid} has no name on this system, and Postgres needs one."))
                .with_hint("Add the user to /etc/passwd, start as a user with a name, or set DATABASE_URL.")
        })
}

struct User {
    name: String,
    uid: u32,
    gid: u32,
}

fn users() -> Vec<User> {
    parse_users(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn parse_users(passwd: &str) -> Vec<User> {
    passwd
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, uid, gid, ..] = fields.as_slice() else { return None };
            Some(User { name: (*name).to_owned(), uid: uid.parse().ok()?, gid: gid.parse().ok()? })
        })
        .collect()
}

/// Runs the `id` command, because users may be defined in a directory service instead of `/etc/passwd`.
fn id(arguments: &[&str]) -> Option<String> {
    let result = Program::new("id").args(arguments).run(ID_TIMEOUT, &|| false);
    let output = result.ok().filter(|output| output.status.success())?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!answer.is_empty()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn reads_users_and_skips_malformed_lines() {
        let users =
            parse_users("# comment\nroot:x:0:0:root:/root:/bin/sh\npg:x:101:104::/var:/bin/sh\nbad:x:y:1\n");
        let seen: Vec<_> = users.iter().map(|user| (user.name.as_str(), user.uid, user.gid)).collect();
        assert_eq!(seen, [("root", 0, 0), ("pg", 101, 104)]);
    }

    #[test]
    fn a_private_directory_is_a_barrier_for_another_user() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o711)).unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let owner = fs::metadata(home.path()).unwrap();
        // Neither the owner nor in its group, so only the bits for others count.
        let other_user = Account {
            name: "x".into(),
            uid: owner.uid() + 54_321,
            gid: owner.gid() + 54_321,
            switched: true,
        };

        assert_eq!(other_user.barrier(&inner).as_deref(), Some(home.path()));
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(other_user.barrier(&inner), None);
    }

    #[test]
    fn run_as_must_be_an_unprivileged_user() {
        if !rustix::process::geteuid().is_root() {
            // A process that is not root cannot switch users, so the setting has no effect.
            assert!(!Account::choose(Some("root")).unwrap().switched);
            return;
        }
        for name in ["root", "no-such-user-here"] {
            assert_eq!(Account::choose(Some(name)).unwrap_err().code, ErrorCode::ValidationError);
        }
    }
}
