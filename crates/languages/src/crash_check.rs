//! Recognises texts that would crash a grammar's scanner, before they are parsed.
//!
//! A scanner saves its state in a buffer of 1024 bytes. Three scanners miscount near the end of that buffer and abort
//! the process (an assertion in C); a fourth reads out of bounds. The limits here are well below these cases;
//! real code hardly ever reaches them.

/// Largest state in bytes that is considered safe with a buffer of 1024 bytes.
const STATE_BYTES_MAX: usize = 900;

/// Bash: the scanner tests characters of `{1..5}` with `isdigit`, which is undefined for values above one byte.
pub(super) fn bash(text: &str) -> bool {
    text.split('{').skip(1).any(|after| {
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        after.chars().next().is_some_and(|c| c > '\u{ff}')
    })
}

/// YAML: 4 bytes for each open block. A column can open two (a list in a map), and an indicator opens another.
pub(super) fn yaml(text: &str) -> bool {
    text.lines().any(|line| {
        let indent = line.len() - line.trim_start().len();
        let indicators = line
            .split_inclusive(['-', '?', ':'])
            .zip(line.split(['-', '?', ':']).skip(1))
            .filter(|(_, after)| after.is_empty() || after.starts_with(char::is_whitespace))
            .count();
        4 * (2 * (indent + 1) + indicators) > STATE_BYTES_MAX
    })
}

/// Python: 2 bytes for each level of indentation, which takes at least a column, after up to 257 for strings.
pub(super) fn python(text: &str) -> bool {
    text.lines().any(|line| 257 + 2 * (line.len() - line.trim_start().len()) > STATE_BYTES_MAX)
}

/// Ruby: for each open heredoc its word and 4 bytes, and for each open literal 5 bytes. The length of a word is stored in one
/// byte.
pub(super) fn ruby(text: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut bytes = 0;
    let mut braces = 0usize;
    for line in text.lines() {
        // A literal is inside another one only within the braces of an interpolation.
        braces = (braces + line.matches('{').count()).saturating_sub(line.matches('}').count());
        if let Some(at) = open.iter().position(|word| *word == line.trim()) {
            bytes -= 4 + open.remove(at).len();
        }
        for start in line.split("<<").skip(1) {
            let start = start.trim_start_matches(['-', '~']);
            let word = match start.chars().next() {
                Some(quote @ ('"' | '\'' | '`')) => start[1..].split(quote).next().unwrap_or_default(),
                _ => start.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
            };
            if word.len() > 100 {
                return true;
            }
            if !word.is_empty() {
                bytes += 4 + word.len();
                open.push(word);
            }
        }
        if bytes + 5 * braces > STATE_BYTES_MAX {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_code_passes() {
        assert!(!bash("for i in {1..5}; do echo ${i} … {é}; done"));
        assert!(!yaml(&"a:\n  - b: c\n    d: [1, 2]\n".repeat(1000)));
        assert!(!python(&"def f():\n        return 1\n".repeat(1000)));
        assert!(!ruby(&"x = <<~SQL\n  select 1\nSQL\nclass << self; end\n".repeat(1000)));
    }

    #[test]
    fn texts_that_crash_a_scanner_are_recognised() {
        assert!(bash("echo {1..🦀}"));
        assert!(yaml(&"- ".repeat(300)));
        assert!(yaml(&(0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<String>()));
        assert!(python(&format!("{}x", "\t".repeat(330))));
        assert!(ruby(&format!("<<{}\n", "A".repeat(300))));
        assert!(ruby(&format!("f({})\n", "<<A, ".repeat(300))));
    }
}
