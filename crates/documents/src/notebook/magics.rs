//! Commands of IPython in code cells: `%time`, `!ls`, `help?`, and cells in other languages. They become comments, so that the
//! grammar can read the rest.

use super::{push_line, push_prose};

/// Commands whose cell is not Python: other languages, and texts of files.
const OTHER_LANGUAGES: &[&str] = &[
    "R", "bash", "bigquery", "cmd", "cython", "file", "html", "javascript", "js", "julia", "latex",
    "markdown", "md", "perl", "ruby", "script", "sh", "sql", "svg", "system", "sx", "writefile",
];

/// Appends the code of a cell.
pub(super) fn push_code(text: &mut String, source: &str, comment: &str) {
    let is_other = cell_command(source)
        .is_some_and(|command| OTHER_LANGUAGES.iter().any(|name| name.eq_ignore_ascii_case(command)));
    let mut before = "";
    for line in source.lines() {
        if is_other {
            push_prose(text, "", line, comment);
        } else if is_command(line) && !continues(before) {
            let indent = line.len() - line.trim_start().len();
            let (indent, command) = line.split_at(indent);
            text.push_str(indent);
            push_prose(text, "", command, comment);
        } else {
            push_line(text, line);
        }
        before = line;
    }
}

/// Returns the name of the command that a cell begins with: `bash` of `%%bash -e`.
fn cell_command(source: &str) -> Option<&str> {
    let command = source.lines().find(|line| !line.trim().is_empty())?.trim_start().strip_prefix("%%")?;
    command.split_whitespace().next()
}

/// Checks whether a line is a command instead of Python.
fn is_command(line: &str) -> bool {
    let line = line.trim();
    let name = line.strip_prefix("%%").or_else(|| line.strip_prefix('%'));
    if let Some(name) = name {
        // `% b` continues an expression.
        return name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    }
    let asks = |line: &str| {
        let of = line.trim_matches('?');
        of.len() < line.len()
            && !of.is_empty()
            && of.chars().all(|c| c.is_alphanumeric() || "._*%".contains(c))
    };
    line.starts_with('!') || asks(line)
}

/// Checks whether an expression continues on the next line, which is then not a command.
fn continues(line: &str) -> bool {
    line.trim_end().ends_with(['\\', '(', '[', '{', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        let mut text = String::new();
        push_code(&mut text, source, "#");
        text
    }

    #[test]
    fn commands_become_comments() {
        assert_eq!(
            code("%matplotlib inline\n!pip install x\nfor a in b:\n    %timeit f(a)\nlen?\nx = 5 % 3\n"),
            "# %matplotlib inline\n# !pip install x\nfor a in b:\n    # %timeit f(a)\n# len?\nx = 5 % 3\n"
        );
        assert_eq!(code("%%time\nx = f()\n"), "# %%time\nx = f()\n");
        assert_eq!(code("print('what?')\nx = (a,\n%b)\n% c\n"), "print('what?')\nx = (a,\n%b)\n% c\n");
    }

    #[test]
    fn cells_in_other_languages_become_comments() {
        assert_eq!(code("%%bash -e\nls |\n\n  sort\n"), "# %%bash -e\n# ls |\n#\n#   sort\n");
        assert_eq!(code("\n%%HTML\n<p>\n"), "#\n# %%HTML\n# <p>\n");
    }
}
