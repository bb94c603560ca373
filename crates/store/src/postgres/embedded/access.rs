//! Access rules of the embedded server: only its own system user and root may connect, over the Unix socket, authenticated
//! by the kernel (`peer`).

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use contract::Fault;

use super::failure;
use super::place::Place;

/// The database superuser of the cluster; it does not depend on the name of the system user.
pub(super) const DATABASE_USER: &str = "postgres";

/// Writes `pg_hba.conf` and `pg_ident.conf` at every start, so that they match the user who runs the server now.
///
/// They are next to the data directory and not inside it: root must not write where the server's user could place a symlink.
pub(super) fn write_files(place: &Place) -> Result<(), Fault> {
    write_rules(&place.hba_file(), "local all all peer map=own\n")?;
    write_rules(&place.ident_file(), &ident(&place.account.name))
}

fn ident(account: &str) -> String {
    let account = account.replace('"', "\"\"");
    format!("own root {DATABASE_USER}\nown \"{account}\" {DATABASE_USER}\n")
}

fn write_rules(path: &Path, text: &str) -> Result<(), Fault> {
    replace_file(path, text).map_err(|error| failure::io("write its access rules", path, error))
}

/// Atomically replaces a file that everyone may read and only the user of this process may write.
pub(super) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    let written = || -> io::Result<()> {
        // A draft left by an earlier attempt may belong to another user.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&draft)?;
        file.write_all(text.as_bytes())?;
        // Set explicitly, because the umask may be strict and the server runs as another user.
        file.set_permissions(Permissions::from_mode(0o644))?;
        fs::rename(&draft, path)
    };
    written().inspect_err(|_| {
        // On a full disk the draft may be incomplete.
        let _ = fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(ident("CORP\\ann \"x\""), "own root postgres\nown \"CORP\\ann \"\"x\"\"\" postgres\n");
    }
}
