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
    /// The files to index.
    pub mode: Mode,
    /// Read no files; only embed pending texts.
    pub vectors_only: bool,
    /// Update the project's portable file afterwards.
    pub sqlite: bool,
    /// Reuse vectors from portable files in this folder.
    pub artifacts: Option<String>,
    /// Read the facts in these SCIP files about the repository's files.
    pub scip: Vec<String>,
    /// From now on, also index the branches and tags that match these patterns; `None`: those of earlier runs.
    pub revisions: Option<Vec<String>>,
}

impl Options {
    /// Returns whether a run with these options does everything that a run with `other` would do.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let covers_mode = self.mode == Mode::All || self.mode.stored_mode() == other.mode.stored_mode();
        let covers_files = other.vectors_only || (!self.vectors_only && covers_mode);
        let covers_artifacts = other.artifacts.is_none() || self.artifacts == other.artifacts;
        let covers_scip = other.scip.iter().all(|path| self.scip.contains(path));
        let covers_revisions = other.revisions.is_none() || self.revisions == other.revisions;
        covers_files
            && covers_revisions
            && covers_artifacts
            && covers_scip
            && [(self.full, other.full), (self.force, other.force), (self.sqlite, other.sqlite)]
                .into_iter()
                .all(|(own, others)| own || !others)
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
    /// Returns the mode that is stored with such files; `None` for all modes.
    #[must_use]
    pub fn stored_mode(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Code | Self::ExtractedProse => Some("code"),
            Self::Prose => Some("prose"),
            Self::Records => Some("records"),
        }
    }

    /// Returns whether a file with this path can have this mode. The content may still give it another one.
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
    fn paths_exclude_modes() {
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
    fn a_run_covers_runs_that_do_less() {
        let with_mode = |mode| Options { mode, ..Options::default() };
        assert!(
            with_mode(Mode::All).covers(&with_mode(Mode::Prose))
                && with_mode(Mode::Code).covers(&with_mode(Mode::ExtractedProse))
        );
        assert!(
            !with_mode(Mode::Prose).covers(&with_mode(Mode::All))
                && !with_mode(Mode::Prose).covers(&with_mode(Mode::Code))
        );
        let (full, vectors) = (
            Options { full: true, ..with_mode(Mode::All) },
            Options { vectors_only: true, ..with_mode(Mode::All) },
        );
        assert!(full.covers(&with_mode(Mode::All)) && !with_mode(Mode::All).covers(&full));
        assert!(with_mode(Mode::Code).covers(&vectors) && !vectors.covers(&with_mode(Mode::All)));
        let with_files = Options { sqlite: true, artifacts: Some("ci".to_owned()), ..with_mode(Mode::All) };
        let with_revisions = Options { revisions: Some(vec!["v1.*".to_owned()]), ..with_mode(Mode::All) };
        assert!(
            with_revisions.covers(&with_mode(Mode::All)) && !with_mode(Mode::All).covers(&with_revisions)
        );
        let with_scip = Options { scip: vec!["/a.scip".to_owned()], ..with_mode(Mode::All) };
        assert!(with_scip.covers(&with_mode(Mode::All)) && !with_mode(Mode::All).covers(&with_scip));
        assert!(with_files.covers(&with_mode(Mode::All)) && !with_mode(Mode::All).covers(&with_files));
    }

    #[test]
    fn options_of_older_versions_are_read() {
        let options: Options = serde_json::from_str(r#"{"full":true,"force":false}"#).unwrap();
        assert_eq!(options, Options { full: true, ..Options::default() });
    }
}
