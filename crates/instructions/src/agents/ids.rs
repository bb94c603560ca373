//! Ids of imported entries: readable, the same each time, and unique within a file.

use std::collections::BTreeSet;

use platform::sha256;

use crate::entry::{ID_CHARS_MAX, is_id};

/// Characters reserved for the number of a repeated id.
const NUMBER_CHARS: usize = 8;
const BASE_CHARS_MAX: usize = 50;
const HEADING_CHARS_MAX: usize = ID_CHARS_MAX - NUMBER_CHARS - BASE_CHARS_MAX - 1;
const HASH_CHARS: usize = 8;

/// Assigns the ids of one file.
pub(super) struct Ids {
    base: String,
    taken: BTreeSet<String>,
}

impl Ids {
    /// Creates ids that begin with `prefix` and what distinguishes the file, such as its folder. `prefix` is an id.
    pub(super) fn new(prefix: &str, distinction: &str) -> Self {
        let base = if distinction.is_empty() {
            prefix.to_owned()
        } else {
            let chars = BASE_CHARS_MAX.saturating_sub(prefix.len() + 1);
            format!("{prefix}-{}", slug(distinction, chars))
        };
        Self { base, taken: BTreeSet::new() }
    }

    /// Returns an id for the section with this heading, or for the whole file.
    pub(super) fn for_heading(&mut self, heading: Option<&str>) -> String {
        let id = match heading {
            Some(heading) => format!("{}-{}", self.base, slug(heading, HEADING_CHARS_MAX)),
            None => self.base.clone(),
        };
        self.unused(id)
    }

    /// Accepts the id that a generated file states, unless it is malformed or was given before.
    pub(super) fn given(&mut self, id: &str) -> Option<String> {
        (is_id(id) && self.taken.insert(id.to_owned())).then(|| id.to_owned())
    }

    fn unused(&mut self, id: String) -> String {
        let mut candidate = id.clone();
        let mut number = 2_usize;
        while !self.taken.insert(candidate.clone()) {
            candidate = format!("{id}-{number}");
            number += 1;
        }
        candidate
    }
}

/// Reduces a text to lower-case ASCII letters and digits, with `-` between words. A hash represents the parts that get lost, because
/// they are in another script or too long, so that the slugs of two texts differ.
pub(super) fn slug(text: &str, chars_max: usize) -> String {
    let mut slug = String::new();
    let mut is_lossy = false;
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if let Some(latin) = transliterated(character) {
            slug.push_str(latin);
        } else if matches!(character, '\'' | '’') {
            // "don't" is one word.
        } else {
            is_lossy |= character.is_alphanumeric();
            if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        if slug.len() > chars_max {
            is_lossy = true;
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if !is_lossy && !slug.is_empty() {
        return slug.to_owned();
    }
    let mut hash = sha256::digest_hex(text.as_bytes());
    hash.truncate(HASH_CHARS);
    // All characters are ASCII.
    let room = chars_max.saturating_sub(HASH_CHARS + 1).min(slug.len());
    let start = slug[..room].trim_end_matches('-');
    if start.is_empty() { hash } else { format!("{start}-{hash}") }
}

/// Returns the ASCII form of a lower-case Latin letter with a mark.
fn transliterated(letter: char) -> Option<&'static str> {
    Some(match letter {
        'à' | 'á' | 'â' | 'ã' | 'å' | 'ā' | 'ă' | 'ą' => "a",
        'ä' | 'æ' => "ae",
        'ç' | 'ć' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => "e",
        'ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ø' | 'ō' | 'ő' => "o",
        'ö' | 'œ' => "oe",
        'ř' => "r",
        'ś' | 'š' | 'ş' | 'ș' => "s",
        'ß' => "ss",
        'ť' | 'ţ' | 'ț' => "t",
        'ù' | 'ú' | 'û' | 'ū' | 'ů' | 'ű' => "u",
        'ü' => "ue",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_readable() {
        let mut ids = Ids::new("agents", "");
        for (heading, expected) in [
            (None, "agents"),
            (Some("Testing & CI"), "agents-testing-ci"),
            (Some("testing, ci!"), "agents-testing-ci-2"),
            (Some("Don't panic"), "agents-dont-panic"),
            (Some("Größe prüfen"), "agents-groesse-pruefen"),
            (None, "agents-2"),
        ] {
            assert_eq!(ids.for_heading(heading), expected);
        }
        let hash = &sha256::digest_hex("日本".as_bytes())[..8];
        assert_eq!(ids.for_heading(Some("日本")), format!("agents-{hash}"));
        assert_eq!(Ids::new("agents", "web/App").for_heading(Some("Testing")), "agents-web-app-testing");
    }

    #[test]
    fn an_id_that_is_given_counts_once() {
        let mut ids = Ids::new("agents", "");
        assert_eq!(ids.given("own").as_deref(), Some("own"));
        assert_eq!((ids.given("own"), ids.given("../x")), (None, None));
    }

    #[test]
    fn texts_that_differ_in_what_is_lost_have_different_slugs() {
        let long = |end: &str| slug(&format!("{}{end}", "word ".repeat(30)), 40);
        assert_ne!(long("a"), long("b"));
        assert_ne!(slug("日", 40), slug("本", 40));
        assert!(slug("a 日", 40).starts_with("a-"));
        assert_ne!(slug("!", 40), "");
    }

    proptest! {
        #[test]
        fn every_id_is_an_id(distinction in ".{0,80}", headings in proptest::collection::vec(".{0,130}", 1..4)) {
            let mut ids = Ids::new("copilot", &distinction);
            for heading in headings.iter().chain(&headings) {
                let id = ids.for_heading(Some(heading));
                prop_assert!(is_id(&id), "{}", id);
            }
            let whole = ids.for_heading(None);
            prop_assert!(is_id(&whole), "{}", whole);
        }
    }
}
