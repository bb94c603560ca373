//! Options of an index run, as requested and as stored in the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::describe::RECORD_EXTENSIONS;
use languages::{self, Language};

/// Options of an index run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Read and chunk every file again; keeps vectors of unchanged text.
    pub full: bool,
    /// Allow a run that removes more than half of the indexed files.
    pub force: bool,
    /// Which files to index.
    pub mode: Mode,
    /// Read no files; only embed pending texts.
    pub vectors_only: bool,
    /// Update the project's portable file afterwards.
    pub sqlite: bool,
    /// Reuse vectors from portable files in this folder.
    pub artifacts: Option<String>,
}

impl Options {
    /// Whether a run with these options does everything that a run with `other` would do.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let modes = self.mode == Mode::All || self.mode.stored_mode() == other.mode.stored_mode();
        let reads = other.vectors_only || (!self.vectors_only && modes);
        let artifacts = other.artifacts.is_none() || self.artifacts == other.artifacts;
        reads
            && artifacts
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
    /// The mode that is stored with such files; none means any.
    #[must_use]
    pub fn stored_mode(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Code | Self::ExtractedProse => Some("code"),
            Self::Prose => Some("prose"),
            Self::Records => Some("records"),
        }
    }

    /// Whether a file could have this mode, judging by its path. The content may still decide otherwise.
    pub(super) fn may_include(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let is_record =
            name.rsplit_once('.').is_some_and(|(_, extension)| RECORD_EXTENSIONS.contains(&extension));
        let language = languages::detect(path, &[]);
        match self.stored_mode() {
            // Front matter can turn any document into a record.
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
            Mode::Code.may_include("a.rs")
                && Mode::ExtractedProse.may_include("a.rs")
                && Mode::Code.may_include("script")
        );
        assert!(!Mode::Code.may_include("a.md") && !Mode::Code.may_include("x/build.log"));
        assert!(
            Mode::Prose.may_include("a.md")
                && Mode::Prose.may_include("README")
                && !Mode::Prose.may_include("a.rs")
        );
        assert!(Mode::Records.may_include("a.md") && Mode::All.may_include("build.log"));
    }

    #[test]
    fn a_larger_run_does_the_work_of_a_smaller_one() {
        let of = |mode| Options { mode, ..Options::default() };
        assert!(of(Mode::All).covers(&of(Mode::Prose)) && of(Mode::Code).covers(&of(Mode::ExtractedProse)));
        assert!(!of(Mode::Prose).covers(&of(Mode::All)) && !of(Mode::Prose).covers(&of(Mode::Code)));
        let (full, vectors) =
            (Options { full: true, ..of(Mode::All) }, Options { vectors_only: true, ..of(Mode::All) });
        assert!(full.covers(&of(Mode::All)) && !of(Mode::All).covers(&full));
        assert!(of(Mode::Code).covers(&vectors) && !vectors.covers(&of(Mode::All)));
        let beside = Options { sqlite: true, artifacts: Some("ci".to_owned()), ..of(Mode::All) };
        assert!(beside.covers(&of(Mode::All)) && !of(Mode::All).covers(&beside));
    }

    #[test]
    fn jobs_of_before_are_read() {
        let options: Options = serde_json::from_str(r#"{"full":true,"force":false}"#).unwrap();
        assert_eq!(options, Options { full: true, ..Options::default() });
    }
}
