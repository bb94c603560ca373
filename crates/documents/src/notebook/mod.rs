//! Jupyter notebooks as text, in the percent format of Jupytext: each cell begins with a line `# %%`, and prose is a comment. Outputs are
//! omitted: they are data, and change with every run.

mod json;
mod magics;

use std::borrow::Cow;

use json::{CellKind, NotebookFile};

/// A notebook.
#[derive(Debug)]
pub struct Notebook(NotebookFile);

impl Notebook {
    /// Reads a notebook; `None` if the text is not one, or has too many cells.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let file: NotebookFile = serde_json::from_str(text).ok()?;
        file.is_known().then_some(Self(file))
    }

    /// Returns the names of its language that the notebook declares, the most reliable one first.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.languages()
    }

    /// Returns the text, with `comment` before each line of prose. In an IPython kernel (`is_ipython`) commands that are not Python become
    /// comments as well. A text without cells is empty; one of more than `bytes_max` bytes ends soon after them.
    #[must_use]
    pub fn text(&self, comment: &str, is_ipython: bool, bytes_max: usize) -> String {
        let mut text = String::new();
        for cell in self.0.cells().filter(|cell| !cell.source.trim().is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(comment);
            text.push_str(match cell.kind() {
                CellKind::Code => " %%\n",
                CellKind::Markdown => " %% [markdown]\n",
                CellKind::Raw => " %% [raw]\n",
            });
            // A line of prose of one byte becomes some ten.
            if text.len() + cell.source.len() > bytes_max {
                text.push_str(&cell.source);
                break;
            }
            let source = cell.source.trim_end();
            match cell.kind() {
                CellKind::Code if is_ipython => magics::push_code(&mut text, source, comment),
                CellKind::Code => source.lines().for_each(|line| push_line(&mut text, line)),
                CellKind::Markdown | CellKind::Raw => {
                    let marks = "#".repeat(cell.heading_level());
                    let mark = if marks.is_empty() { marks } else { marks + " " };
                    source.lines().for_each(|line| push_prose(&mut text, &mark, line, comment));
                }
            }
        }
        // JSON can spell characters that no text may contain.
        if text.contains('\0') { text.replace('\0', "") } else { text }
    }
}

/// Returns the mark of line comments in a language, by its id.
#[must_use]
pub fn comment_mark(language: &str) -> &'static str {
    match language {
        "c" | "cpp" | "csharp" | "cuda" | "d" | "dart" | "fsharp" | "go" | "groovy" | "java"
        | "javascript" | "kotlin" | "php" | "rust" | "scala" | "solidity" | "swift" | "tsx"
        | "typescript" | "zig" => "//",
        "ada" | "elm" | "haskell" | "lua" | "plsql" | "sql" => "--",
        "erlang" | "latex" | "matlab" | "prolog" => "%",
        "clojure" | "emacs-lisp" | "lisp" | "racket" | "scheme" => ";;",
        _ => "#",
    }
}

/// Appends a line.
fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Appends a line as a comment; `mark` makes it a heading.
fn push_prose(text: &mut String, mark: &str, line: &str, comment: &str) {
    text.push_str(comment);
    if !line.trim().is_empty() {
        text.push(' ');
        // Not the mark of a cell.
        if line.trim_end() == "%%" {
            text.push(' ');
        }
        text.push_str(mark);
        text.push_str(&without_data(line));
    }
    text.push('\n');
}

/// The mark before the data of an image within a line.
const DATA_MARK: &str = ";base64,";
/// Shorter data are kept, because they can be an example.
const DATA_BYTES_MIN: usize = 100;

/// Removes the data of images inside of a line. A single image can have more bytes than all the text.
fn without_data(line: &str) -> Cow<'_, str> {
    if !line.contains(DATA_MARK) {
        return Cow::Borrowed(line);
    }
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, data)) = rest.split_once(DATA_MARK) {
        kept.push_str(before);
        kept.push_str(DATA_MARK);
        let is_data = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let end = data.bytes().position(|byte| !is_data(byte)).unwrap_or(data.len());
        // Data are ASCII, so this is the boundary of a character.
        let (own, after) = data.split_at(end);
        kept.push_str(if own.len() < DATA_BYTES_MIN { own } else { "…" });
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(json: &str) -> String {
        Notebook::parse(json).unwrap().text("#", true, usize::MAX)
    }

    #[test]
    fn cells_become_the_percent_format() {
        let json = r##"{
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "\n", "Some *words*."]},
                {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "import os\n\ndef f():\n    return 1\n",
                 "outputs": [{"output_type": "stream", "text": ["never shown"]}]},
                {"cell_type": "raw", "metadata": {}, "source": ["as it is"]},
                {"cell_type": "code", "metadata": {}, "outputs": [], "source": []}
            ],
            "metadata": {"kernelspec": {"name": "python3", "language": "python"}, "language_info": {"name": "python", "version": "3.12"}},
            "nbformat": 4, "nbformat_minor": 5
        }"##;
        let expected = "# %% [markdown]\n# # Title\n#\n# Some *words*.\n\n# %%\nimport os\n\ndef f():\n    return 1\n\n# %% [raw]\n# as it is\n";
        assert_eq!(text_of(json), expected);
        let languages: Vec<String> = Notebook::parse(json).unwrap().languages().map(str::to_owned).collect();
        assert_eq!(languages, ["python", "python", "python3"]);
    }

    #[test]
    fn notebooks_of_version_3_have_worksheets_and_headings() {
        let json = r#"{"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 2, "source": ["Part"]},
            {"cell_type": "code", "collapsed": false, "input": ["x = 1"], "language": "python", "outputs": []}
        ]}]}"#;
        assert_eq!(text_of(json), "# %% [markdown]\n# ## Part\n\n# %%\nx = 1\n");
        assert_eq!(Notebook::parse(json).unwrap().languages().count(), 0);
    }

    #[test]
    fn invalid_notebooks_are_rejected() {
        let deep = format!("{{\"nbformat\": 4, \"cells\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
        let many = format!(
            "{{\"nbformat\": 4, \"cells\": [{}{{\"cell_type\": \"raw\"}}]}}",
            "{\"cell_type\": \"raw\"},".repeat(json::CELLS_MAX)
        );
        for text in [
            "",
            "not JSON",
            "[]",
            "{\"cells\": []}",
            "{\"nbformat\": 2, \"cells\": []}",
            "{\"nbformat\": 4}",
            "{\"nbformat\": 4, \"cells\": {}}",
            "{\"nbformat\": 4, \"cells\": [{\"source\": \"no type\"}]}",
            deep.as_str(),
            many.as_str(),
        ] {
            assert!(Notebook::parse(text).is_none(), "{}", text.chars().take(60).collect::<String>());
        }
    }

    #[test]
    fn an_empty_notebook_has_an_empty_text() {
        assert_eq!(text_of(r#"{"nbformat": 4, "cells": [], "metadata": {}}"#), "");
        assert_eq!(text_of(r#"{"nbformat": 4, "cells": [{"cell_type": "code", "source": " \n"}]}"#), "");
    }

    #[test]
    fn data_of_images_and_forbidden_characters_are_removed() {
        let data = "iVBORw0KGgo+/=".repeat(20);
        let json = format!(
            r#"{{"nbformat": 4, "cells": [{{"cell_type": "markdown", "source": "a\u0000b ![x](data:image/png;base64,{data}) é ;base64,QQ=="}}]}}"#
        );
        assert_eq!(text_of(&json), "# %% [markdown]\n# ab ![x](data:image/png;base64,…) é ;base64,QQ==\n");
    }

    #[test]
    fn prose_is_a_comment_of_the_language() {
        let json = r#"{"nbformat": 4, "cells": [
            {"cell_type": "markdown", "source": "Words"}, {"cell_type": "code", "source": "%% not a magic\nselect 1"}]}"#;
        let notebook = Notebook::parse(json).unwrap();
        let mark = comment_mark("sql");
        assert_eq!(
            notebook.text(mark, false, usize::MAX),
            "-- %% [markdown]\n-- Words\n\n-- %%\n%% not a magic\nselect 1\n"
        );
        assert_eq!((comment_mark("rust"), comment_mark("r"), comment_mark("julia")), ("//", "#", "#"));
    }
}
