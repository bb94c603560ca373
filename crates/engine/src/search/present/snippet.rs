//! Chooses the few lines of a chunk that contain most words of the query.

use languages::terms::parts;

/// The largest size of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::search) struct SnippetLimits {
    pub(in crate::search) lines: usize,
    pub(in crate::search) bytes: usize,
}

/// Returns the window of `content` that contains the most different words of the query, the first of equals, with the number of lines
/// before it. `None` if all lines are blank.
///
/// The head of the chunk is preferred unless a window contains at least `more` additional words, or any word if the head has none. The
/// window always contains the line `must` (counted from 0); of windows with equally many words, the one with a few lines above it is
/// preferred. `words` are lower-case. Common indentation is removed.
pub(in crate::search) fn snippet(
    content: &str,
    words: &[String],
    limits: SnippetLimits,
    more: usize,
    must: Option<usize>,
) -> Option<(usize, String)> {
    let lines: Vec<&str> = content.lines().collect();
    let query_words: Vec<String> =
        words.iter().flat_map(|word| parts(word)).filter(|word| word.len() > 2).collect();
    // For each line, whether it contains each of the words.
    let contains: Vec<Vec<bool>> = lines
        .iter()
        .map(|line| {
            let line = line.to_lowercase();
            query_words.iter().map(|word| line.contains(word.as_str())).collect()
        })
        .collect();
    let count_words = |from: usize| {
        let window = &contains[from..(from + limits.lines).min(lines.len())];
        (0..query_words.len()).filter(|word| window.iter().any(|line| line[*word])).count()
    };
    let last = lines.len().saturating_sub(limits.lines);
    // The head is preferred because it usually contains the name of the definition.
    let head = count_words(0);
    let must = must.filter(|must| *must < lines.len());
    let (first, last) = match must {
        Some(must) if must >= limits.lines => ((must + 1 - limits.lines).min(last), must.min(last)),
        Some(must) => (0, must.min(last)),
        None => (0, last),
    };
    let mut best = (head, 0);
    if first > 0 {
        let near = must.unwrap_or(first).saturating_sub(limits.lines / 4).clamp(first, last);
        best = (count_words(near), near);
    }
    let more = if head == 0 { 1 } else { more };
    for from in first.max(1)..=last {
        let count = count_words(from);
        if count > best.0 && (first > 0 || count - head >= more) {
            best = (count, from);
        }
    }
    let mut best = best.1;
    if let Some(must) = must
        && best <= must
        && lines[best..=must].iter().map(|line| line.len() + 1).sum::<usize>() > limits.bytes
    {
        // If the lines before it are too long, the snippet starts at the required line.
        best = must;
    }
    let window = &lines[best.min(lines.len())..(best + limits.lines).min(lines.len())];
    let shared = window.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).min()?;
    let cut: Vec<&str> = window.iter().map(|line| line.get(shared..).unwrap_or("").trim_end()).collect();
    Some((best, shorten(cut.join("\n").trim_end(), limits.bytes)))
}

/// Returns `text`, cut to at most `bytes` with `…` at the end.
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
    fn shows_the_lines_with_most_words() {
        let content = "fn head() {\n    let a = 1;\n    open_session();\n    close(session, cookie);\n}";
        assert_eq!(
            snippet(content, &words("session cookie"), LIMITS, 1, None).unwrap().1,
            "open_session();\nclose(session, cookie);"
        );
        assert_eq!(
            snippet(content, &words("unrelated"), LIMITS, 1, None).unwrap().1,
            "fn head() {\n    let a = 1;"
        );
    }

    #[test]
    fn the_required_line_is_shown() {
        let content: String = (0..30).map(|n| format!("line {n} says alpha\n")).collect();
        for must in 0..30 {
            for (lines, bytes) in [(2, 200), (4, 320), (4, 40), (40, 2_000)] {
                let limits = SnippetLimits { lines, bytes };
                let (above, text) =
                    snippet(&content, &words("alpha beta"), limits, usize::MAX, Some(must)).unwrap();
                assert!(text.contains(&format!("line {must} says")), "{must} of {limits:?}: {text}");
                assert!(
                    above <= must && (must >= lines || bytes < 200 || above == 0),
                    "the head is shown if it contains the line"
                );
            }
        }
        let content = "fn head() {\n    a();\n    b();\n    pickle();\n}";
        assert!(snippet(content, &words("pickle"), LIMITS, usize::MAX, None).unwrap().1.contains("pickle"));
        assert_eq!(
            snippet(content, &words("head pickle"), LIMITS, 2, None).unwrap().0,
            0,
            "the head has as many words"
        );
    }

    #[test]
    fn blank_content_has_no_snippet() {
        assert_eq!(snippet("", &words("a"), LIMITS, 1, None), None);
        assert_eq!(snippet(" \n\t\n", &words("a"), LIMITS, 1, None), None);
    }

    proptest! {
        #[test]
        fn never_longer_than_allowed(content in "\\PC{0,80}(\n\\PC{0,80}){0,6}", query in "\\PC{0,20}", lines in 1_usize..5, bytes in 3_usize..90, must in proptest::option::of(0_usize..8)) {
            if let Some((_, cut)) = snippet(&content, &words(&query), SnippetLimits { lines, bytes }, 1, must) {
                prop_assert!(cut.len() <= bytes);
                prop_assert!(cut.lines().count() <= lines);
            }
        }
    }
}
