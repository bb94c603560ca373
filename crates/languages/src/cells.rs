//! The cells of a notebook, whose text is in the percent format: each cell begins with a line `# %%`, in the comments of its
//! language. What one cell does has its own place in the notebook, so no chunk has lines of two cells.

use super::limits::ChunkLimits;
use super::lines::Lines;

/// The comments that begin the lines that begin a cell.
const COMMENTS: &[&str] = &["#", "//", "--", "%", ";;"];
/// The rest of such a line. It has to match exactly: a command such as `%%time` is a comment in a cell.
const MARKS: &[&str] = &[" %%", " %% [markdown]", " %% [raw]"];

/// Checks whether a line, or a comment, begins a cell.
pub(super) fn is_mark(line: &str) -> bool {
    let line = line.trim_end_matches(['\r', '\n']);
    COMMENTS.iter().any(|comment| line.strip_prefix(comment).is_some_and(|rest| MARKS.contains(&rest)))
}

/// The rows that begin a cell, in order.
#[derive(Debug, Default)]
pub(super) struct Cells(Vec<usize>);

impl Cells {
    /// Finds the cells of a text; empty unless it is that of a notebook.
    pub(super) fn find(lines: &Lines<'_>, limits: &ChunkLimits) -> Self {
        if !limits.cells {
            return Self::default();
        }
        Self((0..lines.count()).filter(|row| is_mark(lines.text(*row, *row))).collect())
    }

    /// Checks whether a cell begins at a row.
    pub(super) fn begin_at(&self, row: usize) -> bool {
        self.0.binary_search(&row).is_ok()
    }

    /// The first row after `first`, up to `last`, at which a cell begins.
    pub(super) fn border(&self, first: usize, last: usize) -> Option<usize> {
        let next = self.0.partition_point(|row| *row <= first);
        self.0.get(next).copied().filter(|row| *row <= last)
    }

    /// The rows up to `last`, divided where cells begin.
    pub(super) fn parts(&self, last: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut first) = (Vec::new(), 0);
        while let Some(border) = self.border(first, last) {
            parts.push((first, border - 1));
            first = border;
        }
        parts.push((first, last));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::covers;
    use crate::{by_name, chunk};

    /// The first lines of the chunks of a notebook's text.
    fn starts(text: &str, language: &str, limits: &ChunkLimits) -> Vec<u32> {
        let limits = ChunkLimits { cells: true, ..*limits };
        let chunked = chunk(text, by_name(language), &limits);
        covers(text, &chunked.chunks, language);
        chunked.chunks.iter().map(|chunk| chunk.start_line).collect()
    }

    const NOTEBOOK: &str = "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nimport os\n\n# %%\ndef f():\n    return os\n\nclass A:\n    def g(self):\n        return f()\n\n# %%\nf()\n";

    #[test]
    fn no_chunk_has_lines_of_two_cells() {
        let limits = ChunkLimits::default();
        // With a grammar and without one.
        for language in ["python", "r"] {
            assert_eq!(starts(NOTEBOOK, language, &limits), [1, 6, 9, 17], "{language}");
            let without_cells = chunk(NOTEBOOK, by_name(language), &limits);
            assert_eq!(without_cells.chunks.len(), 1, "{language}");
        }
        // Text that does not parse.
        assert_eq!(starts("# %%\nx = (1,\n\n# %%\ny = 2\n", "python", &limits), [1, 4]);
        assert_eq!(starts("// %%\nconst a = 1\n\n// %%\nconst b = 2\n", "javascript", &limits), [1, 4]);
        assert!(starts("", "python", &limits).is_empty());
    }

    #[test]
    fn cells_are_divided_like_files() {
        let limits = ChunkLimits { chars_target: 60, chars_max: 120, ..ChunkLimits::default() };
        let long =
            (0..20).map(|n| format!("def f{n}(value):\n    return value * {n}\n\n")).collect::<String>();
        let text = format!("# %%\n{long}# %%\nx = 1\n");
        let starts = starts(&text, "python", &limits);
        assert!(starts.len() > 5 && starts.contains(&62), "{starts:?}");
    }

    #[test]
    fn definitions_of_all_cells_are_known() {
        let limits = ChunkLimits { cells: true, ..ChunkLimits::default() };
        let chunked = chunk(NOTEBOOK, by_name("python"), &limits);
        let named: Vec<&str> =
            chunked.chunks.iter().flat_map(|chunk| &chunk.definitions).map(|one| one.name.as_str()).collect();
        assert_eq!(named, ["f", "A", "g"]);
        let prose: Vec<&str> =
            chunked.chunks.iter().flat_map(|chunk| &chunk.comments).map(|one| one.text.as_str()).collect();
        assert_eq!(prose, ["# Title\n\nWords."], "marks are not prose");
        assert_eq!(chunked.facts_missing, None);
        assert!(chunked.symbols.is_some_and(|symbols| symbols.is_sound()));
    }
}
