//! Generates queries from the words of the files, deterministically: names, questions with names, and sentences.

use std::collections::HashSet;

/// Minimum number of letters of a name.
const NAME_LETTERS_MIN: usize = 5;
/// Number of words of a sentence.
const SENTENCE_WORDS: std::ops::RangeInclusive<usize> = 5..=14;

/// Returns at most `wanted` distinct queries about `texts`, alternating between a name, a question with two names, and a sentence from a
/// comment or a document (or three names if no sentence is found).
pub(super) fn sample_queries(texts: &[String], wanted: usize) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut questions = Vec::with_capacity(wanted);
    let tries = wanted.saturating_mul(8);
    for at in 0..tries {
        if questions.len() == wanted || texts.is_empty() {
            break;
        }
        // A large prime stride, so that consecutive queries come from different folders.
        let text = &texts[(at * 7919) % texts.len()];
        let Some(question) = query(text, at) else { continue };
        if seen.insert(question.clone()) {
            questions.push(question);
        }
    }
    questions
}

fn query(text: &str, at: usize) -> Option<String> {
    let names = names(text);
    let name = |nth: usize| names.get((at * 31 + nth * 17) % names.len().max(1)).copied();
    Some(match at % 3 {
        0 => name(1)?.to_owned(),
        1 => format!("how is {} handled when {} fails", name(1)?, name(2)?),
        _ => {
            let sentences: Vec<&str> = text.lines().filter_map(sentence).collect();
            match sentences.get(at % sentences.len().max(1)) {
                Some(sentence) => (*sentence).to_owned(),
                None => format!("{} {} {}", name(1)?, name(2)?, name(3)?),
            }
        }
    })
}

/// Words of the text that look like names.
fn names(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_name = |word: &&str| {
        word.chars().filter(|c| c.is_alphabetic()).count() >= NAME_LETTERS_MIN && word.len() <= 60
    };
    words.filter(is_name).collect()
}

/// The text of a prose or comment line if it is a sentence.
fn sentence(line: &str) -> Option<&str> {
    let text = line.trim().trim_start_matches(['/', '*', '#', '!', '-', '>', ' ']).trim_end();
    let words = text.split_whitespace();
    let plain =
        |word: &str| word.trim_matches([',', '.', ':', '`', '\'', ';']).chars().all(char::is_alphabetic);
    (SENTENCE_WORDS.contains(&words.clone().count()) && words.clone().all(plain)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_of_the_texts_and_no_two_are_one() {
        let texts: Vec<String> = (0..40)
            .map(|n| format!("// Opens the connection number{n} again after a failure.\nfn reconnect_{n}(target{n}: Target) {{}}\n"))
            .collect();
        let made = sample_queries(&texts, 60);
        assert_eq!(made.len(), 60);
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 60);
        assert_eq!(made, sample_queries(&texts, 60), "the same in every run");
        assert!(made.iter().any(|question| question.starts_with("how is ")));
        assert!(made.iter().any(|question| !question.contains(' ')));
        assert!(sample_queries(&[], 5).is_empty());
    }

    #[test]
    fn code_is_not_a_sentence() {
        assert_eq!(
            sentence("  /// Reads the state of one project again."),
            Some("Reads the state of one project again.")
        );
        for line in ["let a = b + c * d - e;", "// short one", "# Title", ""] {
            assert_eq!(sentence(line), None, "{line}");
        }
    }
}
