//! The locations of agents' files, as the rows of the client table give them.

/// A file or folder of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The folder that the path is relative to.
    pub base: Base,
    /// The path below that folder.
    pub path: &'static str,
    /// The environment variable that moves the agent's folder, and the path below its value.
    pub moved_by: Option<(&'static str, &'static str)>,
}

/// A folder that paths are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The user's home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// The folder of graphical programs: `~/Library/Application Support` on macOS, else as [`Base::Config`].
    Application,
    /// The root of the repository.
    Project,
}

impl Location {
    /// Returns a path below the home directory.
    pub(super) const fn home(path: &'static str) -> Self {
        Self { base: Base::Home, path, moved_by: None }
    }

    /// Returns a path below the folder of configuration files.
    pub(super) const fn config(path: &'static str) -> Self {
        Self { base: Base::Config, path, moved_by: None }
    }

    /// Returns a path below the folder of graphical programs.
    pub(super) const fn application(path: &'static str) -> Self {
        Self { base: Base::Application, path, moved_by: None }
    }

    /// Returns a path below the root of a repository.
    pub(super) const fn project(path: &'static str) -> Self {
        Self { base: Base::Project, path, moved_by: None }
    }

    /// Returns the same file, in the folder that `variable` may move.
    pub(super) const fn moved_by(self, variable: &'static str, path: &'static str) -> Self {
        Self { moved_by: Some((variable, path)), ..self }
    }

    /// Formats the path for Markdown, for example `~/.codex/config.toml`.
    #[must_use]
    pub fn display_quoted(&self) -> String {
        match self.base {
            Base::Home => format!("`~/{}`", self.path),
            Base::Config => format!("`~/.config/{}`", self.path),
            Base::Application => {
                format!("`~/.config/{0}` (macOS: `~/Library/Application Support/{0}`)", self.path)
            }
            Base::Project => format!("`{}`", self.path),
        }
    }
}

/// Signs by which `pairofcleats install` detects an agent, and the files that it writes for it.
#[derive(Debug, Clone, Copy)]
pub struct Install {
    /// Files and folders that exist where the agent is used; one of them suffices.
    pub signs: &'static [Location],
    /// Names of its programs. A program on `PATH` is a sign, too.
    pub programs: &'static [&'static str],
    /// Its configuration file: the first that exists; if none does, the first of the list is created.
    pub files: &'static [Location],
    /// The same for one repository; empty if the agent reads no such file.
    pub project_files: &'static [Location],
    /// Its files of instructions.
    pub instructions: &'static [Instructions],
    /// The same for one repository.
    pub project_instructions: &'static [Instructions],
}

/// A file of instructions that an agent reads.
#[derive(Debug, Clone, Copy)]
pub struct Instructions {
    /// The file.
    pub file: Location,
    /// The part of the file that we write.
    pub form: Form,
}

/// The part of a file of instructions that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A section between markers, because the user writes the rest.
    Section,
    /// The whole file, which starts with this text.
    File(&'static str),
}

impl Instructions {
    pub(super) const fn section(file: Location) -> Self {
        Self { file, form: Form::Section }
    }

    pub(super) const fn file(file: Location, start: &'static str) -> Self {
        Self { file, form: Form::File(start) }
    }
}
