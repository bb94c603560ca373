//! The few lines of a chunk that say most of what was asked.

use languages::terms::parts;

/// Lines and bytes of a cut-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SnippetLimits {
    /// Most lines.
    pub(super) lines: usize,
    /// Most bytes.
    pub(super) bytes: usize,
}

/// The window of `content` in which most different words of the question stand, the earliest of equals, with the
/// number of lines before it. `None` when there is nothing to show.
///
/// A window is preferred to the head where it says at least `more` words more. `words` are lower-case. The result keeps the indentation that its lines do not share.
pub(super) fn snippet(
    content: &str,
    words: &[String],
    limits: SnippetLimits,
    more: usize,
) -> Option<(usize, String)> {
    let lines: Vec<&str> = content.lines().collect();
    let asked: Vec<String> =
        words.iter().flat_map(|word| parts(word)).filter(|word| word.len() > 2).collect();
    let says: Vec<Vec<bool>> = lines
        .iter()
        .map(|line| {
            let line = line.to_lowercase();
            asked.iter().map(|word| line.contains(word.as_str())).collect()
        })
        .collect();
    let value = |from: usize| {
        let window = &says[from..(from + limits.lines).min(lines.len())];
        (0..asked.len()).filter(|word| window.iter().any(|line| line[*word])).count()
    };
    let last = lines.len().saturating_sub(limits.lines);
    // Only a better window moves the cut away from the head, which usually names what it is.
    let head = value(0);
    let mut best = (head, 0);
    for from in 1..=last {
        let said = value(from);
        if said > best.0 && said - head >= more {
            best = (said, from);
        }
    }
    let window = &lines[best.1.min(lines.len())..(best.1 + limits.lines).min(lines.len())];
    let shared = window.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).min()?;
    let cut: Vec<&str> = window.iter().map(|line| line.get(shared..).unwrap_or("").trim_end()).collect();
    Some((best.1, shorten(cut.join("\n").trim_end(), limits.bytes)))
}

/// `text` cut to at most `bytes`, with `…` where it was cut.
#[must_use]
pub fn shorten(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end =
        (0..=bytes.saturating_sub('…'.len_utf8())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: SnippetLimits = SnippetLimits { lines: 2, bytes: 200 };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn shows_the_lines_that_say_most() {
        let content = "fn head() {\n    let a = 1;\n    open_session();\n    close(session, cookie);\n}";
        assert_eq!(
            snippet(content, &words("session cookie"), LIMITS, 1).unwrap().1,
            "open_session();\nclose(session, cookie);"
        );
        assert_eq!(
            snippet(content, &words("unrelated"), LIMITS, 1).unwrap().1,
            "fn head() {\n    let a = 1;"
        );
    }

    #[test]
    fn nothing_makes_no_snippet() {
        assert_eq!(snippet("", &words("a"), LIMITS, 1), None);
        assert_eq!(snippet(" \n\t\n", &words("a"), LIMITS, 1), None);
    }

    proptest! {
        #[test]
        fn never_longer_than_allowed(content in "\\PC{0,80}(\n\\PC{0,80}){0,6}", question in "\\PC{0,20}", lines in 1_usize..5, bytes in 3_usize..90) {
            if let Some((_, cut)) = snippet(&content, &words(&question), SnippetLimits { lines, bytes }, 1) {
                prop_assert!(cut.len() <= bytes);
                prop_assert!(cut.lines().count() <= lines);
            }
        }
    }
}
