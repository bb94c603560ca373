//! The entries of the setting `[[launch.sites]]`: the documentation sites that launch runs may change.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A documentation site. Runs name it; only the operator says where it is and what of it may be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSite {
    /// The name by which runs know it.
    pub name: String,
    /// The project whose runs may name it. Absent: the default workspace.
    #[serde(default)]
    pub project: Option<String>,
    /// The git repository of the site: for the forge `local`, the directory of a bare repository.
    pub repository: PathBuf,
    /// The branch that runs start from.
    #[serde(default = "main_branch")]
    pub base: String,
    /// Folders and files of the site that runs may change, relative to its root.
    pub allowed_paths: Vec<String>,
    /// Where the result is published.
    pub forge: Forge,
}

/// Where the result of a run is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// As a branch of a bare repository on this machine.
    Local,
}

impl LaunchSite {
    /// Whether runs of this project may name the site; `None` is the default workspace.
    #[must_use]
    pub fn belongs_to(&self, project: Option<&str>) -> bool {
        self.project.as_deref() == project
    }
}

fn main_branch() -> String {
    "main".to_owned()
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
        assert_eq!((listed[0].base.as_str(), listed[0].forge), ("main", Forge::Local));
        assert!(listed[0].belongs_to(None) && !listed[0].belongs_to(Some("shop")));
        assert!(listed[1].belongs_to(Some("shop")) && !listed[1].belongs_to(None));
    }

    #[test]
    fn unknown_forges_and_fields_are_refused() {
        let site = "[[launch.sites]]\nname = \"docs\"\nrepository = \"/x\"\nallowed_paths = []\n";
        for wrong in ["forge = \"sourceforge\"\n", "forge = \"local\"\ntoken = \"x\"\n", ""] {
            assert!(sites(&format!("{site}{wrong}")).is_err(), "{wrong}");
        }
    }
}
