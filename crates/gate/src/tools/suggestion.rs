//! The calls that `show_file` proposes for `_meta.next`.

/// Proposals of `show_file` for the next call, in addition to its result.
#[derive(Debug, Clone, Default)]
pub(super) struct Suggestion {
    /// A query for the callers of the shown definition.
    pub(super) query: Option<String>,
    /// Line of the shown definition, and whether it can be called; only where its uses are resolved.
    pub(super) definition: Option<(usize, bool)>,
    /// First and last of the requested lines that a limit cut: those after the shown ones, else those before.
    pub(super) unshown_lines: Option<(usize, usize)>,
}
