//! Who may connect: the user the server runs as, and root. By the kernel's word (peer), over the socket alone.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use contract::Fault;

use super::failure;
use super::place::Place;

/// The superuser of the cluster, whatever the system user is called.
pub(super) const DATABASE_USER: &str = "postgres";

/// Writes the two access files, at every start, so that they fit whoever runs the server now.
///
/// They stand beside the data directory and not in it: root must not write where the server's user could have put a link.
pub(super) fn write_files(place: &Place) -> Result<(), Fault> {
    replace(&place.hba_file(), "local all all peer map=own\n")?;
    replace(&place.ident_file(), &ident(&place.account.name))
}

fn ident(account: &str) -> String {
    let account = account.replace('"', "\"\"");
    format!("own root {DATABASE_USER}\nown \"{account}\" {DATABASE_USER}\n")
}

fn replace(path: &Path, text: &str) -> Result<(), Fault> {
    publish(path, text).map_err(|error| failure::io("write its access rules", path, error))
}

/// Puts a file in place that the server's user may read and nobody else but this process's user may write.
pub(super) fn publish(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    let written = || -> io::Result<()> {
        // A draft of an earlier attempt may belong to somebody else.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&draft)?;
        file.write_all(text.as_bytes())?;
        // Explicit, because the umask may be strict and the server is another user.
        file.set_permissions(Permissions::from_mode(0o644))?;
        fs::rename(&draft, path)
    };
    written().inspect_err(|_| {
        // On a full disk it may be half there.
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
