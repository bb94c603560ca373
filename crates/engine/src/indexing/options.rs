//! How a run is to be made, as it is asked for and as it stands in the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::describe::RECORD_EXTENSIONS;
use languages::{self, Language};

/// How a run is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Read and chunk every file again; vectors of unchanged text are kept.
    pub full: bool,
    /// Allow a run that removes more than half of the indexed files.
    pub force: bool,
    /// Which files are looked at.
    pub mode: Mode,
    /// Read nothing; only make the vectors that the project lacks.
    pub vectors_only: bool,
    /// Refresh the project's portable file afterwards.
    pub sqlite: bool,
    /// Take vectors from portable files in this folder before anything is embedded.
    pub artifacts: Option<String>,
}

impl Options {
    /// Whether a run with these options does all that one with `other` would.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        let modes = self.mode == Mode::All || self.mode.of_files() == other.mode.of_files();
        let reads = other.vectors_only || (!self.vectors_only && modes);
        let beside = other.artifacts.is_none() || self.artifacts == other.artifacts;
        reads
            && beside
            && [(self.full, other.full), (self.force, other.force), (self.sqlite, other.sqlite)]
                .into_iter()
                .all(|(ours, theirs)| ours || !theirs)
    }
}

/// Which files a run looks at; others stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All of them.
    #[default]
    All,
    /// Code, configuration and data.
    Code,
    /// Documents.
    Prose,
    /// What comments say. They are stored with the chunks they stand in, so these are the files of `code`.
    ExtractedProse,
    /// Logs, traces and findings.
    Records,
}

impl Mode {
    /// The word that a file of this mode is stored with; none: every file counts.
    #[must_use]
    pub fn of_files(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Code | Self::ExtractedProse => Some("code"),
            Self::Prose => Some("prose"),
            Self::Records => Some("records"),
        }
    }

    /// Whether a file could be of this mode as far as its path says; what it holds decides where this is true.
    pub(super) fn may_be(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let is_record =
            name.rsplit_once('.').is_some_and(|(_, extension)| RECORD_EXTENSIONS.contains(&extension));
        let language = languages::detect(path, &[]);
        match self.of_files() {
            // Metadata makes a record of any file.
            None | Some("records") => true,
            Some("prose") => !is_record && language.is_none_or(Language::is_prose),
            Some(_) => !is_record && !language.is_some_and(Language::is_prose),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_say_what_a_file_cannot_be() {
        assert!(
            Mode::Code.may_be("a.rs") && Mode::ExtractedProse.may_be("a.rs") && Mode::Code.may_be("script")
        );
        assert!(!Mode::Code.may_be("a.md") && !Mode::Code.may_be("x/build.log"));
        assert!(Mode::Prose.may_be("a.md") && Mode::Prose.may_be("README") && !Mode::Prose.may_be("a.rs"));
        assert!(Mode::Records.may_be("a.md") && Mode::All.may_be("build.log"));
    }

    #[test]
    fn a_larger_run_does_the_work_of_a_smaller_one() {
        let of = |mode| Options { mode, ..Options::default() };
        assert!(of(Mode::All).cover(&of(Mode::Prose)) && of(Mode::Code).cover(&of(Mode::ExtractedProse)));
        assert!(!of(Mode::Prose).cover(&of(Mode::All)) && !of(Mode::Prose).cover(&of(Mode::Code)));
        let (full, vectors) =
            (Options { full: true, ..of(Mode::All) }, Options { vectors_only: true, ..of(Mode::All) });
        assert!(full.cover(&of(Mode::All)) && !of(Mode::All).cover(&full));
        assert!(of(Mode::Code).cover(&vectors) && !vectors.cover(&of(Mode::All)));
        let beside = Options { sqlite: true, artifacts: Some("ci".to_owned()), ..of(Mode::All) };
        assert!(beside.cover(&of(Mode::All)) && !of(Mode::All).cover(&beside));
    }

    #[test]
    fn jobs_of_before_are_read() {
        let options: Options = serde_json::from_str(r#"{"full":true,"force":false}"#).unwrap();
        assert_eq!(options, Options { full: true, ..Options::default() });
    }
}
