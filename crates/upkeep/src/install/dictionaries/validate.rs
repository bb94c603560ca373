//! Validates word lists. The fault for an invalid list has the number of the first invalid line.

use serde_json::json;

use contract::config::Dictionaries;
use contract::{ErrorCode, Fault};

/// Returns the number of words in a list.
///
/// # Errors
/// `DOWNLOAD_VERIFY_FAILED` for a file that is not a word list: binary, not UTF-8, with lines that are too long, with
/// no words or with too many lines.
pub(super) fn count_words(name: &str, bytes: &[u8], settings: &Dictionaries) -> Result<u64, Fault> {
    let refused = |why: String, line: Option<usize>| {
        let message = format!("`{name}` is not a word list: {why}.");
        Fault::new(ErrorCode::DownloadVerifyFailed, message)
            .with_hint("A list is UTF-8 text with one word per line, optionally followed by its frequency.")
            .with_details(json!({ "name": name, "line": line }))
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        refused("it is not UTF-8".to_owned(), Some(line))
    })?;
    let mut words = 0;
    for (index, line) in text.lines().enumerate() {
        let number = Some(index + 1);
        if line.len() > settings.line_bytes_max {
            return Err(refused(format!("a line has more than {} bytes", settings.line_bytes_max), number));
        }
        if line.contains(|c: char| c.is_control() && c != '\t') {
            return Err(refused("it contains control characters".to_owned(), number));
        }
        if index >= settings.list_words_max {
            return Err(refused(format!("it has more than {} lines", settings.list_words_max), number));
        }
        let word = line.split_whitespace().next().filter(|word| !word.starts_with('#'));
        words += u64::from(word.is_some_and(|word| word.starts_with(char::is_alphabetic)));
    }
    if words == 0 { Err(refused("it contains no word".to_owned(), None)) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::Enabled;

    #[test]
    fn only_word_lists_are_accepted() {
        let settings = Dictionaries {
            enabled: Enabled::Auto,
            languages: Vec::new(),
            dir: None,
            words_max: 1,
            list_words_max: 4,
            line_bytes_max: 20,
        };
        let count = |bytes: &[u8]| count_words("x", bytes, &settings).map_err(|fault| fault.message);
        assert_eq!(count(b"# ours\nuser\t12\nname\r\n\n"), Ok(2));
        for (bytes, why) in [
            (&b"user\nna\xffme\n"[..], "UTF-8"),
            (b"\x7fELF\x01", "control"),
            (b"user\0name", "control"),
            (b"", "no word"),
            (b"# only this\n12 13\n", "no word"),
            (b"a\nb\nc\nd\ne\n", "more than 4 lines"),
            (b"user\nnamenamenamenamenames\n", "more than 20 bytes"),
        ] {
            let message = count(bytes).unwrap_err();
            assert!(message.contains(why), "{message}");
        }
        let fault = count_words("x", b"user\nna\xffme\n", &settings).unwrap_err();
        assert_eq!(fault.details.unwrap()["line"], 2);
    }
}
