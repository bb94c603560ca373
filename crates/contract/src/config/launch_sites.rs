//! The entries of the settings `[[launch.sites]]` and `[[launch.forges]]`: the documentation sites that launch runs may change, and the
//! code hosts that take their branches.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Config;
use crate::RepositoryAddress;

/// The forge of a site whose branches stay in a repository on this machine.
pub const LOCAL_FORGE: &str = "local";

/// A documentation site. Runs name it; its location and the paths that may change are set only by the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSite {
    /// The name by which runs know it.
    pub name: String,
    /// The project whose runs may name it. Absent: the default workspace.
    #[serde(default)]
    pub project: Option<String>,
    /// The git repository of the site: the directory of a bare repository or, with a forge, also an address that is mirrored.
    pub repository: String,
    /// The branch that runs start from.
    #[serde(default = "main_branch")]
    pub base: String,
    /// Folders and files of the site that runs may change, relative to its root.
    pub allowed_paths: Vec<String>,
    /// The target of published results: `local`, a branch of the repository, or the name of a forge.
    pub forge: String,
    /// The repository on the forge, such as `acme/site`.
    #[serde(default)]
    pub repo: Option<String>,
    /// Commands of the operator that check the patched site, in the order in which they run.
    #[serde(default)]
    pub checks: Vec<CheckCommand>,
    /// Hosts to which pages may link and whose links are checked by requests, as `host` or `host:port`.
    #[serde(default)]
    pub external_hosts: Vec<String>,
    /// `true` if published pages are compared with their repository after each of its index runs.
    #[serde(default)]
    pub watch: bool,
}

/// A command that checks a site. It runs without a shell, confined, over a copy of the site's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckCommand {
    /// The name in reports; the command `site_build` belongs to the gate of that name.
    pub name: String,
    /// The program, by its absolute path or its name, and its arguments.
    pub argv: Vec<String>,
    /// `true` if a failure is an error; otherwise it is a warning.
    #[serde(default = "required")]
    pub required: bool,
    /// The folder of the copy that the command may write, empty at first; `.` for the whole copy. Absent: none.
    #[serde(default)]
    pub output: Option<String>,
    /// The longest time that it may take.
    #[serde(default = "check_timeout_ms")]
    pub timeout_ms: u64,
    /// The address space that each of its processes may have.
    #[serde(default = "check_memory_bytes")]
    pub memory_bytes_max: u64,
}

/// The location of a site's git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteLocation {
    /// The directory of a bare repository.
    Directory(PathBuf),
    /// An address; the server keeps a mirror of it.
    Address(RepositoryAddress),
}

/// A code host that takes branches and pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchForge {
    /// The name by which sites know it.
    pub name: String,
    /// The API that it speaks.
    pub kind: ForgeKind,
    /// The address of its API.
    pub api: String,
    /// A file whose first line is the token of the API.
    pub token_file: PathBuf,
    /// Owners whose repositories sites may name: users, organisations or groups.
    pub owners: Vec<String>,
    /// Hosts to which the forge may redirect a question; they get no token.
    #[serde(default)]
    pub redirect_hosts: Vec<String>,
    /// `true` if nothing may be published there.
    #[serde(default)]
    pub read_only: bool,
}

/// The API of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub, also Enterprise Server.
    Github,
    /// GitLab, also self-managed.
    Gitlab,
}

impl ForgeKind {
    /// Returns the kind as it is written in the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
        }
    }
}

impl Config {
    /// Returns the addresses of sites, whose mirrors hold the only copy of what was written for them and is not published.
    #[must_use]
    pub fn mirrored_addresses(&self) -> Vec<RepositoryAddress> {
        let address = |site: &LaunchSite| match site.location() {
            SiteLocation::Address(address) => Some(address),
            SiteLocation::Directory(_) => None,
        };
        self.launch.sites.iter().filter_map(address).collect()
    }
}

impl LaunchSite {
    /// Returns the location of the git repository. A value that cannot be an address is a directory.
    #[must_use]
    pub fn location(&self) -> SiteLocation {
        match RepositoryAddress::parse(&self.repository) {
            Some(Ok(address)) => SiteLocation::Address(address.repository()),
            _ => SiteLocation::Directory(PathBuf::from(&self.repository)),
        }
    }

    /// Checks whether runs of this project may name the site; `None` is the default workspace.
    #[must_use]
    pub fn belongs_to(&self, project: Option<&str>) -> bool {
        self.project.as_deref() == project
    }
}

fn main_branch() -> String {
    "main".to_owned()
}

fn required() -> bool {
    true
}

/// Three minutes: sites of thousands of pages are built in less.
fn check_timeout_ms() -> u64 {
    180_000
}

/// 4 GiB: generators in Go and Node reserve more than one before they use any of it.
fn check_memory_bytes() -> u64 {
    4 << 30
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::load::load_text;

    fn sites(text: &str) -> Result<Vec<LaunchSite>, crate::config::ConfigError> {
        load_text(text).map(|config: Config| config.launch.sites)
    }

    #[test]
    fn a_configuration_file_lists_sites() {
        assert_eq!(sites("").unwrap(), []);
        let listed = sites(
            "[launch]\nenabled = true\n[[launch.sites]]\nname = \"docs\"\nrepository = \"/srv/git/site.git\"\n\
             allowed_paths = [\"content\"]\nforge = \"local\"\n[[launch.sites]]\nname = \"kb\"\nproject = \"shop\"\n\
             repository = \"/srv/git/kb.git\"\nbase = \"trunk\"\nallowed_paths = []\nforge = \"local\"\n",
        )
        .unwrap();
        assert_eq!((listed[0].base.as_str(), listed[0].forge.as_str()), ("main", LOCAL_FORGE));
        assert_eq!(listed[0].location(), SiteLocation::Directory("/srv/git/site.git".into()));
        assert!(listed[0].belongs_to(None) && !listed[0].belongs_to(Some("shop")));
        assert!(listed.iter().all(|site| !site.watch), "nothing is watched by default");
        assert!(listed[1].belongs_to(Some("shop")) && !listed[1].belongs_to(None));
    }

    #[test]
    fn unknown_fields_are_refused() {
        let site = "[[launch.sites]]\nname = \"docs\"\nrepository = \"/x\"\nallowed_paths = []\n";
        for wrong in ["forge = \"local\"\ntoken = \"x\"\n", ""] {
            assert!(sites(&format!("{site}{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_configuration_file_lists_forges() {
        let forges = |text: &str| load_text(text).map(|config: Config| config.launch.forges);
        assert_eq!(forges("").unwrap(), []);
        let forge = "[[launch.forges]]\nname = \"hub\"\nkind = \"github\"\napi = \"https://api.github.com\"\n\
             token_file = \"/run/secrets/forge\"\nowners = [\"acme\"]\n";
        let listed = forges(forge).unwrap();
        assert_eq!((listed[0].kind, listed[0].kind.as_str()), (ForgeKind::Github, "github"));
        assert!(listed[0].redirect_hosts.is_empty() && !listed[0].read_only);
        for wrong in ["token = \"x\"\n", "kind = \"sourceforge\"\n"] {
            assert!(forges(&format!("{forge}{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn checks_have_defaults() {
        let site =
            "[[launch.sites]]\nname = \"docs\"\nrepository = \"/x\"\nallowed_paths = []\nforge = \"local\"\n";
        let listed = |checks: &str| sites(&format!("{site}{checks}"));
        assert!(listed("").unwrap()[0].checks.is_empty() && listed("").unwrap()[0].external_hosts.is_empty());
        let listed = listed(
            "checks = [{ name = \"site_build\", argv = [\"hugo\", \"--minify\"], output = \"public\" }, \
             { name = \"spelling\", argv = [\"/opt/spell\"], required = false, timeout_ms = 1000 }]\n",
        )
        .unwrap();
        let [build, spelling] = &*listed[0].checks else { panic!("{listed:?}") };
        assert!(build.required && !spelling.required);
        assert_eq!((build.output.as_deref(), spelling.output.as_deref()), (Some("public"), None));
        assert_eq!((build.timeout_ms, spelling.timeout_ms, build.memory_bytes_max), (180_000, 1000, 4 << 30));
    }

    #[test]
    fn a_repository_is_a_directory_or_an_address() {
        let site = |repository: &str| {
            let text = format!(
                "[[launch.sites]]\nname = \"docs\"\nrepository = \"{repository}\"\nallowed_paths = []\nforge = \"hub\"\n\
                 repo = \"acme/site\"\n"
            );
            sites(&text).unwrap().remove(0)
        };
        let mirrored = site("https://github.com/acme/site.git");
        let SiteLocation::Address(address) = mirrored.location() else { panic!("{mirrored:?}") };
        assert_eq!(
            (address.as_str(), mirrored.repo.as_deref()),
            ("https://github.com/acme/site", Some("acme/site"))
        );
        assert_eq!(site("/srv/x.git").location(), SiteLocation::Directory("/srv/x.git".into()));
    }
}
