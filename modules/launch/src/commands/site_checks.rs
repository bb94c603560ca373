//! Checks of launch runs by `doctor`: whether their sites and the tokens of their forges are readable, and whether others can
//! read these tokens. No token is read for that.

use std::fs;
use std::path::{Path, PathBuf};

use contract::config::{LaunchForge, LaunchSite, SiteLocation};
use contract::escaped_line;
use gate::app::{App, blocking};
use history::SiteRepository;
use surfaces::cli::shell::DoctorCheck;

/// Checks the sites of launch runs and the token files of forges, if runs are enabled.
pub(super) async fn check_launch(app: &App) -> Vec<DoctorCheck> {
    let settings = &app.config.launch;
    if !settings.enabled {
        return Vec::new();
    }
    let (sites, forges) = (settings.sites.clone(), settings.forges.clone());
    let checked = blocking(move || {
        Ok(sites.iter().map(check_site).chain(forges.iter().map(check_token)).collect::<Vec<_>>())
    });
    checked.await.unwrap_or_default()
}

fn check_site(site: &LaunchSite) -> DoctorCheck {
    let name = format!("launch site {}", escaped_line(&site.name));
    let check = |ok, message: String, remedy: Option<&str>| DoctorCheck {
        name,
        ok,
        message,
        remedy: remedy.map(str::to_owned),
    };
    let directory: PathBuf = match site.location() {
        SiteLocation::Directory(directory) => directory,
        SiteLocation::Address(_) => {
            return check(true, "mirrored from its address when a run starts".to_owned(), None);
        }
    };
    let (shown, base) = (escaped_line(&directory.display().to_string()), escaped_line(&site.base));
    match SiteRepository::open(&directory).and_then(|repository| repository.branch(&site.base)) {
        Ok(Some(commit)) => {
            let commit = commit.get(..12).unwrap_or(&commit);
            check(true, format!("{shown} can be read; {base} is at {commit}"), None)
        }
        Ok(None) => check(
            false,
            format!("{shown} has no branch {base}"),
            Some("Name the branch that runs start from as `base` of the site."),
        ),
        Err(error) => check(
            false,
            format!("{shown}: {}", escaped_line(&error.to_string())),
            Some("Name a bare git repository that this user may read as `repository` of the site."),
        ),
    }
}

fn check_token(forge: &LaunchForge) -> DoctorCheck {
    let file = &forge.token_file;
    let problem = match fs::metadata(file) {
        Err(error) => Some(error.to_string()),
        Ok(found) if !found.is_file() => Some("it is not a file".to_owned()),
        Ok(found) if found.len() == 0 => Some("it is empty".to_owned()),
        Ok(found) if others_may_read(&found) => Some("every user of this machine can read it".to_owned()),
        // Opened, but not read.
        Ok(_) => fs::File::open(file).err().map(|error| error.to_string()),
    };
    let shown = escaped_line(&file.display().to_string());
    DoctorCheck {
        name: format!("token of the forge {}", escaped_line(&forge.name)),
        ok: problem.is_none(),
        message: match &problem {
            Some(problem) => format!("{shown}: {problem}"),
            None => format!("{shown} is there, and not for everybody"),
        },
        remedy: problem.map(|_| remedy(file)),
    }
}

fn remedy(file: &Path) -> String {
    let shown = escaped_line(&file.display().to_string());
    format!("Write the token alone into {shown}, and let only the server's user read it: chmod 600.")
}

#[cfg(unix)]
fn others_may_read(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.permissions().mode() & 0o004 != 0
}

#[cfg(not(unix))]
fn others_may_read(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::ForgeKind;

    fn forge(token_file: PathBuf) -> LaunchForge {
        LaunchForge {
            name: "host".to_owned(),
            kind: ForgeKind::Github,
            api: "https://api.example.com".to_owned(),
            token_file,
            owners: Vec::new(),
            redirect_hosts: Vec::new(),
            read_only: false,
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_token_file_that_others_can_read_is_found_and_its_content_is_not_shown() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(!check_token(&forge(file.clone())).ok, "it is not there");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(!check_token(&forge(file.clone())).ok, "it is empty");
        fs::write(&file, "secret").unwrap();
        assert!(check_token(&forge(file.clone())).ok);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let found = check_token(&forge(file));
        assert!(!found.ok && found.message.contains("every user"), "{found:?}");
        assert!(!format!("{found:?}").contains("secret"), "{found:?}");
        assert!(!check_token(&forge(folder.path().to_owned())).ok, "it is a folder");
    }
}
