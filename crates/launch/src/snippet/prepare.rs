//! Turns code as pages show it into code that a parser can read. Line numbers do not change.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// Marks of omissions and placeholders: dots, `<name>`, a template.
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?m)\.\.\.|…|\{\{|\{%|(?:^|[\s"'=/:])<[A-Za-z][A-Za-z0-9 _-]*>|\[[A-Z][A-Z_ ]+\]|\bYOUR_"#)
});

/// Returns `true` if code has omissions, so that it need not parse.
pub(super) fn leaves_out(code: &str) -> bool {
    LEFT_OUT.is_match(code)
}

/// Returns the code of a block in a form that its parser can read.
pub(super) fn prepared<'c>(language: &str, code: &'c str) -> Cow<'c, str> {
    let code = without_indentation(code);
    match language {
        "python" if is_session(&code) => Cow::Owned(python_session(&code)),
        "rust" => Cow::Owned(rust_program(&code)),
        "go" if !["package ", "func ", "import "].iter().any(|word| code.contains(word)) => {
            Cow::Owned(format!("package p; func _() {{ {code}\n}}"))
        }
        "php" if !code.contains("<?") => Cow::Owned(format!("<?php {code}")),
        _ => code,
    }
}

/// Returns a Rust example as a program: with the lines that a book hides, and its statements in a function.
fn rust_program(code: &str) -> String {
    let shown =
        code.lines().map(|line| if line == "#" { "" } else { line.strip_prefix("# ").unwrap_or(line) });
    let code = shown.collect::<Vec<&str>>().join("\n");
    if code.contains("fn main") || code.contains("#![") { code } else { format!("fn main() {{ {code}\n}}") }
}

/// The code without the spaces that all of its lines begin with.
fn without_indentation(code: &str) -> Cow<'_, str> {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common =
        code.lines().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or_default();
    if common == 0 {
        return Cow::Borrowed(code);
    }
    let lines = code.lines().map(|line| line.get(common..).unwrap_or_default());
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns `true` if code is a session of Python's prompt.
fn is_session(code: &str) -> bool {
    code.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with(">>> "))
}

/// Returns the input of a session; its output becomes blank lines.
fn python_session(code: &str) -> String {
    let typed = |line: &str| {
        let typed = line.strip_prefix(">>> ").or_else(|| line.strip_prefix("... "));
        typed.unwrap_or_default().to_owned()
    };
    code.lines().map(typed).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_where_they_are() {
        assert_eq!(prepared("python", "    a = 1\n\n      b\n"), "a = 1\n\n  b");
        assert_eq!(
            prepared("python", ">>> f(1)\n2\n>>> def g():\n...     pass\n"),
            "f(1)\n\ndef g():\n    pass"
        );
        assert_eq!(
            prepared("rust", "# use a::b;\n#\n#[test]\nfn c() {}\n"),
            "fn main() { use a::b;\n\n#[test]\nfn c() {}\n}"
        );
        assert_eq!(prepared("rust", "fn main() {}\n"), "fn main() {}");
        assert_eq!(prepared("go", "a := 1\n"), "package p; func _() { a := 1\n\n}");
        assert_eq!(prepared("php", "$a = 1;"), "<?php $a = 1;");
        assert!(matches!(prepared("json", "{}\n"), Cow::Borrowed("{}\n")));
    }

    #[test]
    fn what_is_left_out_is_seen() {
        for code in ["f(...)", "{ … }", "run <your file>", "a: {{ b }}", "[OPTIONS]", "key = YOUR_KEY"] {
            assert!(leaves_out(code), "{code}");
        }
        for code in ["let v: Vec<u8> = vec![];", "a[0]", "x = 1.0", "a < b && c > d"] {
            assert!(!leaves_out(code), "{code}");
        }
    }
}
