//! Word lists that split unsegmented identifiers: `getusername` into `get`, `user`, `name`.
//!
//! A name is split in the most likely way, by the frequencies of the words, and only if that is likely
//! enough: `github` is not split into `git hub`. A word that is itself in the list is not split,
//! except inside a longer name, where a compound also yields its two halves (`username`: `user`, `name`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Version of the rules in this file; part of the fingerprint.
const VERSION: u32 = 1;
/// Shorter parts of names, in bytes, are not split: too many of them are ambiguous.
const PART_BYTES_MIN: usize = 7;
/// Longer parts, in bytes, are not split: they are usually keys or hashes, and would take time.
const PART_BYTES_MAX: usize = 48;
/// Longest word, in bytes, that is used.
const WORD_BYTES_MAX: usize = 24;
/// Shorter words, in bytes, are used only if they are in [`SHORT_WORDS`].
const WORD_BYTES_MIN: usize = 3;
/// Words of two letters that are common in identifiers.
const SHORT_WORDS: &[&str] = &[
    "as", "at", "by", "db", "do", "id", "if", "in", "io", "ip", "is", "my", "no", "ok", "of", "on", "or",
    "os", "to", "ui", "up",
];
/// Fewest bytes of each half of a compound.
const HALF_BYTES_MIN: usize = 4;
/// Highest cost of a split in nats per letter: likely splits cost 1.4 to 2.2, wrong ones 3 or more.
const NATS_PER_LETTER_MAX: f32 = 2.4;
/// Cost in nats of a word without a count: that of a frequency of one in 100,000.
const NATS_UNCOUNTED: f32 = 11.5;

/// The known words with their costs: the negative logarithms of their frequencies, in nats.
#[derive(Debug, Default, PartialEq)]
pub struct Dictionary {
    nats: HashMap<Box<str>, f32>,
    fingerprint: [u8; 32],
}

impl Dictionary {
    /// Reads word lists. Each line has a word, optionally followed by its count. Skips lines that begin with `#` and words with
    /// other characters than lower-case letters. Uses the `words_max` most frequent counted words of each list, and all words
    /// without a count.
    #[must_use]
    pub fn from_lists<'a>(lists: impl IntoIterator<Item = &'a str>, words_max: usize) -> Self {
        let mut nats = HashMap::new();
        for list in lists {
            let mut counted: Vec<(&str, u64)> = Vec::new();
            let mut sum = 0_u64;
            for (word, count) in list.lines().filter_map(entry) {
                sum = sum.saturating_add(count.unwrap_or(0));
                match count {
                    Some(count) if is_usable(word) => counted.push((word, count.max(1))),
                    None if is_usable(word) => keep(&mut nats, word, NATS_UNCOUNTED),
                    _ => {}
                }
            }
            counted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            #[expect(clippy::cast_precision_loss, reason = "a share needs no more")]
            for (word, count) in counted.into_iter().take(words_max) {
                keep(&mut nats, word, (sum.max(1) as f32 / count as f32).ln());
            }
        }
        let fingerprint = fingerprint(&nats);
        Self { nats, fingerprint }
    }

    /// The number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nats.len()
    }

    /// Returns `true` if it has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nats.is_empty()
    }

    /// A hash that differs between dictionaries that split any name differently; never all zeros.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Splits a lower-cased part of a name, and calls `emit` with each word if there are several.
    pub fn split<'p>(&self, part: &'p str, emit: &mut dyn FnMut(&'p str)) {
        if part.len() < PART_BYTES_MIN || part.len() > PART_BYTES_MAX || self.nats.contains_key(part) {
            return;
        }
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        for word in self.cut(letters, WORD_BYTES_MIN, SHORT_WORDS) {
            emit(word);
            if word.len() >= 2 * HALF_BYTES_MIN {
                self.cut(word, HALF_BYTES_MIN, &[]).into_iter().for_each(&mut *emit);
            }
        }
    }

    /// The cheapest split of `text` into at least two words, in order; empty if none is likely enough.
    fn cut<'p>(&self, text: &'p str, bytes_min: usize, shorter: &[&str]) -> Vec<&'p str> {
        if text.len() > PART_BYTES_MAX {
            return Vec::new();
        }
        // For each `end`: the lowest cost of the first `end` bytes, and where their last word begins.
        let mut best = [(f32::INFINITY, 0_usize); PART_BYTES_MAX + 1];
        best[0].0 = 0.0;
        for end in 1..=text.len() {
            for start in end.saturating_sub(WORD_BYTES_MAX)..end {
                let before = best[start].0;
                let Some(word) = text.get(start..end).filter(|word| word.len() < text.len()) else {
                    continue;
                };
                if before.is_infinite() || (word.len() < bytes_min && !shorter.contains(&word)) {
                    continue;
                }
                if let Some(nats) = self.nats.get(word)
                    && before + nats < best[end].0
                {
                    best[end] = (before + nats, start);
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 48")]
        let letters = text.chars().count() as f32;
        if best[text.len()].0 > NATS_PER_LETTER_MAX * letters {
            return Vec::new();
        }
        let mut words = Vec::new();
        let mut end = text.len();
        while end > 0 {
            let start = best[end].1;
            words.push(&text[start..end]);
            end = start;
        }
        words.reverse();
        words
    }
}

/// The word of a line, and its count.
fn entry(line: &str) -> Option<(&str, Option<u64>)> {
    let mut fields = line.split_whitespace();
    let word = fields.next().filter(|word| !word.starts_with('#'))?;
    Some((word, fields.next().and_then(|count| count.parse().ok())))
}

fn is_usable(word: &str) -> bool {
    let long_enough = word.len() >= WORD_BYTES_MIN || SHORT_WORDS.contains(&word);
    long_enough
        && word.len() <= WORD_BYTES_MAX
        && word.chars().all(|c| c.is_alphabetic() && !c.is_uppercase())
}

/// Adds a word; a word that is in several lists gets its lowest cost.
fn keep(nats: &mut HashMap<Box<str>, f32>, word: &str, cost: f32) {
    match nats.entry(word.into()) {
        Entry::Occupied(mut known) => *known.get_mut() = known.get().min(cost),
        Entry::Vacant(place) => _ = place.insert(cost),
    }
}

fn fingerprint(nats: &HashMap<Box<str>, f32>) -> [u8; 32] {
    let mut words: Vec<(&str, f32)> = nats.iter().map(|(word, nats)| (&**word, *nats)).collect();
    words.sort_by(|a, b| a.0.cmp(b.0));
    let mut hasher = blake3::Hasher::new();
    hasher.update(&VERSION.to_le_bytes());
    for (word, nats) in words {
        hasher.update(word.as_bytes()).update(b"\0").update(&nats.to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Some words with their counts in a corpus of English on the web.
    const ENGLISH: &str = "the\t23135851162\nof\t13151942776\nto\t12136980858\non\t3750423199\nby\t3350048871\n\
        is\t4705743816\nget\t605984508\nuser\t316446229\nname\t464532702\nusername\t39130223\nparse\t3698919\n\
        http\t14610476\nrequest\t124620318\nhas\t1046033822\nher\t545547246\ngit\t400000\nhub\t20000000\n\
        together\t60000000\nelement\t30000000\nid\t110000000\ndatabase\t103731642\ndata\t300000000\nbase\t120000000\n\
        valid\t40000000\nset\t250000000\nrest\t100000000000\n";

    fn english() -> Dictionary {
        Dictionary::from_lists([ENGLISH], 1_000)
    }

    fn words(dictionary: &Dictionary, part: &str) -> Vec<String> {
        let mut found = Vec::new();
        dictionary.split(part, &mut |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn unsegmented_identifiers_are_split() {
        let english = english();
        for (part, expected) in [
            ("getusername", vec!["get", "username", "user", "name"]),
            ("parsehttprequest", vec!["parse", "http", "request"]),
            ("getelementbyid", vec!["get", "element", "by", "id"]),
            ("isvalid", vec!["is", "valid"]),
            ("setdatabase2", vec!["set", "database", "data", "base"]),
        ] {
            assert_eq!(words(&english, part), expected);
        }
    }

    #[test]
    fn words_short_parts_and_unlikely_splits_stay_whole() {
        let english = english();
        for part in
            ["username", "together", "hasher", "github", "isget", "kubernetes", "deadbeefdeadbeef", ""]
        {
            assert!(words(&english, part).is_empty(), "{part}: {:?}", words(&english, part));
        }
        assert!(words(&english, &"name".repeat(13)).is_empty(), "too long");
        assert!(!words(&english, &"name".repeat(12)).is_empty());
        assert!(words(&Dictionary::default(), "getusername").is_empty());
    }

    #[test]
    fn counts_are_optional_and_unusable_lines_are_skipped() {
        let own = Dictionary::from_lists(["# ours\nfrobnicate\nwidget\nit's\nb2b\nX\n\nGadget\n"], 1);
        assert_eq!(own.len(), 2, "only words_max counted words, and every one without a count");
        assert_eq!(words(&own, "frobnicatewidget"), ["frobnicate", "widget"]);
        let both = Dictionary::from_lists([ENGLISH, "frobnicate\nuser\n"], 1_000);
        assert_eq!(words(&both, "frobnicateuser"), ["frobnicate", "user"]);
        assert_eq!(words(&both, "getusername"), words(&english(), "getusername"));
        let few = Dictionary::from_lists([ENGLISH], 3);
        assert_eq!(few.len(), 3);
        assert!(few.nats.contains_key("the"), "the most frequent ones");
        assert_eq!(
            words(&Dictionary::from_lists(["größe\nändern\n"], 1), "größeändern"),
            ["größe", "ändern"]
        );
    }

    #[test]
    fn the_fingerprint_depends_on_words_and_costs_but_not_on_their_order() {
        let of = |text: &str| Dictionary::from_lists([text], 10).fingerprint();
        assert_eq!(of("aaa 1\nbbb 1\n"), of("bbb 1\naaa 1\n"));
        assert_ne!(of("aaa 1\nbbb 1\n"), of("aaa 2\nbbb 1\n"));
        assert_ne!(of("aaa 1\nbbb 1\n"), of("aaa 1\nccc 1\n"));
        assert_ne!(of(""), [0; 32]);
    }

    proptest! {
        #[test]
        fn pieces_come_out_of_the_part_in_order(part in "[a-zé]{0,60}", list in "([a-zé]{2,6}( [0-9]{1,9})?\n){0,40}") {
            let dictionary = Dictionary::from_lists([list.as_str()], 100);
            let mut at = 0;
            dictionary.split(&part, &mut |word| {
                let start = word.as_ptr() as usize - part.as_ptr() as usize;
                assert!(start >= at && word.len() < part.len() && !word.is_empty());
                at = start;
            });
        }
    }
}
