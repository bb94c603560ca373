//! Where agents keep their files, as the rows of the client table say it.

/// A file or folder of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The folder that the path starts in.
    pub base: Base,
    /// The path below that folder.
    pub path: &'static str,
    /// The environment variable that moves the agent's folder, and the path below its value.
    pub moved_by: Option<(&'static str, &'static str)>,
}

/// A folder that paths start in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The user's home.
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// The folder of graphical programs: `~/Library/Application Support` on macOS, else as [`Base::Config`].
    Application,
    /// The root of the repository.
    Project,
}

impl Location {
    /// A path below the home.
    pub(super) const fn home(path: &'static str) -> Self {
        Self { base: Base::Home, path, moved_by: None }
    }

    /// A path below the folder of configuration files.
    pub(super) const fn config(path: &'static str) -> Self {
        Self { base: Base::Config, path, moved_by: None }
    }

    /// A path below the folder of graphical programs.
    pub(super) const fn application(path: &'static str) -> Self {
        Self { base: Base::Application, path, moved_by: None }
    }

    /// A path below the root of a repository.
    pub(super) const fn project(path: &'static str) -> Self {
        Self { base: Base::Project, path, moved_by: None }
    }

    /// The same file, where `variable` says that the agent's folder is.
    pub(super) const fn moved_by(self, variable: &'static str, path: &'static str) -> Self {
        Self { moved_by: Some((variable, path)), ..self }
    }

    /// The path in Markdown, for example `~/.codex/config.toml`.
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

/// How `pairofcleats install` finds an agent, and the files that it writes for it.
#[derive(Debug, Clone, Copy)]
pub struct Install {
    /// Files and folders of which one exists where the agent is used.
    pub signs: &'static [Location],
    /// Its programs. One on the path is a sign, too.
    pub programs: &'static [&'static str],
    /// Its configuration file: the first that exists, else the first of the list is created.
    pub files: &'static [Location],
    /// The same for one repository; none if the agent reads no such file.
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
    /// What we write of it.
    pub form: Form,
}

/// What we write of a file of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A section between markers, because people write the rest.
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
