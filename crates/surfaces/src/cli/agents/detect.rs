//! Finds the agents on this machine, and the locations of their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::clients::{Base, CLIENTS, Client, Install, Location};
use contract::config::path_variable;
use contract::{ErrorCode, Fault};

/// The properties of this machine that decide where agents keep their files.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    home: PathBuf,
    config: PathBuf,
    application: PathBuf,
    /// The values of the environment variables that the client table names.
    variables: BTreeMap<&'static str, PathBuf>,
    /// The folders that are searched for programs.
    program_folders: Vec<PathBuf>,
    /// The root of the repository that contains the current folder.
    project: PathBuf,
}

impl Machine {
    /// Reads the environment.
    pub(super) fn here() -> Result<Self, Fault> {
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
            Fault::new(ErrorCode::IllegalState, "The home of the user is unknown.").with_hint("Set HOME.")
        })?;
        // The XDG specification ignores relative paths.
        let config = path_variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let config = config.unwrap_or_else(|| home.join(".config"));
        let application =
            if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { config.clone() };
        let variables = CLIENTS.iter().filter_map(|client| client.install.as_ref()).flat_map(locations);
        let variables = variables.filter_map(|location| {
            let (name, _) = location.moved_by?;
            Some((name, std::path::absolute(path_variable(name)?).ok()?))
        });
        let variables = variables.collect();
        let program_folders =
            path_variable("PATH").map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default();
        let current = std::env::current_dir()
            .map_err(|error| Fault::internal("The current folder is unknown.", error))?;
        let project = current.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&current);
        let project = project.to_owned();
        Ok(Self { home, config, application, variables, program_folders, project })
    }

    /// Returns the root of the repository that contains the current folder, or the folder itself outside of any repository.
    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the path of a location.
    pub(super) fn path(&self, location: &Location) -> PathBuf {
        if let Some((variable, below)) = location.moved_by
            && let Some(moved) = self.variables.get(variable)
        {
            // `join` with an empty path would add a slash.
            return if below.is_empty() { moved.clone() } else { moved.join(below) };
        }
        let base = match location.base {
            Base::Home => &self.home,
            Base::Config => &self.config,
            Base::Application => &self.application,
            Base::Project => &self.project,
        };
        base.join(location.path)
    }

    /// Returns the first location that exists, or else the first one.
    pub(super) fn existing_or_first(&self, locations: &[Location]) -> Option<PathBuf> {
        let mut paths = locations.iter().map(|location| self.path(location));
        let existing = paths.clone().find(|path| path.symlink_metadata().is_ok());
        existing.or_else(|| paths.next())
    }

    /// Returns `true` if the agent is used on this machine.
    pub(super) fn uses(&self, install: &Install) -> bool {
        let is_program =
            |name: &&'static str| self.program_folders.iter().any(|folder| folder.join(name).is_file());
        install.signs.iter().any(|sign| self.path(sign).exists()) || install.programs.iter().any(is_program)
    }

    /// Returns the agents that are used on this machine.
    pub(super) fn agents(&self) -> Vec<&'static Client> {
        CLIENTS
            .iter()
            .filter(|client| client.install.as_ref().is_some_and(|install| self.uses(install)))
            .collect()
    }

    /// Formats a path with `~` for the home directory.
    pub(super) fn display(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Returns all locations of an agent.
fn locations(install: &'static Install) -> impl Iterator<Item = &'static Location> {
    let instructions = install.instructions.iter().map(|instructions| &instructions.file);
    install.signs.iter().chain(install.files).chain(instructions)
}
