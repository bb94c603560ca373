//! Finds texts that are equal, or have nearly the same words, whatever their titles are. Texts that say the same in other words are
//! not found here: that takes vectors.

use std::collections::HashMap;

use platform::sha256;

/// Words that two texts must share, as a fraction of the words that either has: 4 of 5.
const SHARED: (usize, usize) = (4, 5);
/// Limit on the steps of comparing words, about a tenth of a second; the remaining texts are not compared.
const WORK_MAX: usize = 100_000_000;

/// Two texts that are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlikePair {
    /// Their places in the list, the smaller first.
    pub places: (usize, usize),
    /// Words that both have, as a fraction of the words that either has; also 1 if the texts are equal.
    pub share: f64,
    /// `true` if the texts are equal except for white space.
    pub is_same: bool,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Alike {
    /// The pairs, in no order.
    pub pairs: Vec<AlikePair>,
    /// `true` if all texts were compared.
    pub is_complete: bool,
}

/// Returns the pairs of texts that are equal or share four of five words; about `pairs_max`, equal texts first. Of several equal
/// texts, only the first is compared with others.
#[must_use]
pub fn alike(texts: &[&str], pairs_max: usize, must_stop: &dyn Fn() -> bool) -> Alike {
    let mut found = Alike { pairs: Vec::new(), is_complete: true };
    let mut equal: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
    for (place, text) in texts.iter().enumerate() {
        let words: Vec<&str> = text.split_whitespace().collect();
        equal.entry(sha256::digest(words.join(" ").as_bytes())).or_default().push(place);
    }
    let mut groups: Vec<Vec<usize>> = equal.into_values().collect();
    groups.sort();
    for group in &groups {
        for (at, first) in group.iter().enumerate() {
            for second in &group[at + 1..] {
                if found.pairs.len() >= pairs_max {
                    return Alike { is_complete: false, ..found };
                }
                found.pairs.push(AlikePair { places: (*first, *second), share: 1.0, is_same: true });
            }
        }
    }
    let firsts: Vec<usize> = groups.iter().map(|group| group[0]).collect();
    compare_words(texts, &firsts, pairs_max, must_stop, &mut found);
    found
}

/// A text as its distinct words, the rarest first.
struct Words {
    place: usize,
    ranks: Vec<usize>,
}

/// Compares the words of texts. Two texts that share enough words share one of the rarest of each, so only texts that do are compared
/// (prefix filtering).
fn compare_words(
    texts: &[&str],
    places: &[usize],
    pairs_max: usize,
    must_stop: &dyn Fn() -> bool,
    found: &mut Alike,
) {
    let all = ranked_words(texts, places);
    let mut with_word: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut compared_with = vec![usize::MAX; all.len()];
    let mut work = 0;
    for (at, words) in all.iter().enumerate() {
        if work > WORK_MAX || found.pairs.len() >= pairs_max || must_stop() {
            found.is_complete = false;
            return;
        }
        let count = words.ranks.len();
        let rarest = &words.ranks[..count - least(count) + usize::from(count > 0)];
        for rank in rarest {
            let others = with_word.entry(*rank).or_default();
            for &other in others.iter() {
                work += 1;
                // The texts are in the order of their numbers of words.
                if compared_with[other] == at || all[other].ranks.len() < least(count) {
                    continue;
                }
                compared_with[other] = at;
                let shared = shared(&words.ranks, &all[other].ranks, &mut work);
                let either = count + all[other].ranks.len() - shared;
                if SHARED.1 * shared >= SHARED.0 * either {
                    let (one, two) = (all[other].place, words.place);
                    #[expect(clippy::cast_precision_loss, reason = "texts have fewer than 2^52 words")]
                    let share = shared as f64 / either as f64;
                    found.pairs.push(AlikePair {
                        places: (one.min(two), one.max(two)),
                        share,
                        is_same: false,
                    });
                }
            }
            others.push(at);
        }
    }
}

/// Returns the number of words that a text must share with a similar one.
fn least(count: usize) -> usize {
    (SHARED.0 * count).div_ceil(SHARED.1)
}

/// Returns the texts that have words, sorted by their number of words.
fn ranked_words(texts: &[&str], places: &[usize]) -> Vec<Words> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut texts_with: Vec<usize> = Vec::new();
    let mut all: Vec<Words> = Vec::new();
    for &place in places {
        let lower = texts[place].to_lowercase();
        let mut own: Vec<usize> = lower
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| {
                if let Some(number) = numbers.get(word) {
                    return *number;
                }
                numbers.insert(word.to_owned(), texts_with.len());
                texts_with.push(0);
                texts_with.len() - 1
            })
            .collect();
        own.sort_unstable();
        own.dedup();
        own.iter().for_each(|number| texts_with[*number] += 1);
        if !own.is_empty() {
            all.push(Words { place, ranks: own });
        }
    }
    let mut by_rarity: Vec<usize> = (0..texts_with.len()).collect();
    by_rarity.sort_by_key(|number| texts_with[*number]);
    let mut rank_of = vec![0; by_rarity.len()];
    for (rank, number) in by_rarity.into_iter().enumerate() {
        rank_of[number] = rank;
    }
    for words in &mut all {
        words.ranks.iter_mut().for_each(|number| *number = rank_of[*number]);
        words.ranks.sort_unstable();
    }
    all.sort_by_key(|words| (words.ranks.len(), words.place));
    all
}

/// Counts the words in both of two sorted lists.
fn shared(one: &[usize], other: &[usize], work: &mut usize) -> usize {
    let (mut at, mut at_other, mut count) = (0, 0, 0);
    while at < one.len() && at_other < other.len() {
        *work += 1;
        match one[at].cmp(&other[at_other]) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => at_other += 1,
            std::cmp::Ordering::Equal => {
                (at, at_other, count) = (at + 1, at_other + 1, count + 1);
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn found(texts: &[&str]) -> Vec<(usize, usize, bool)> {
        let alike = alike(texts, 200, &|| false);
        assert!(alike.is_complete);
        let mut pairs: Vec<_> =
            alike.pairs.iter().map(|pair| (pair.places.0, pair.places.1, pair.is_same)).collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn equal_texts_and_texts_of_the_same_words_are_alike() {
        let branches = "At least 80 percent of the branches of each package must be covered by tests.";
        for (one, other, expected) in [
            ("Use tabs.", "Use tabs.", Some(true)),
            ("Use tabs.\n\nAlways.", "Use  tabs.\nAlways. ", Some(true)),
            ("Use tabs, always.", "use TABS always", Some(false)),
            (branches, &branches.replace("80", "90"), Some(false)),
            (branches, &format!("{branches} Generated code is exempt from this rule."), None),
            ("Use tabs.", "Use spaces.", None),
            ("Never commit secrets.", "Keep passwords out of the repository.", None),
            ("...", "---", None),
            ("", "", Some(true)),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|is_same| (0, 1, is_same)).collect();
            assert_eq!(found(&[one, other]), expected, "{one} | {other}");
        }
    }

    #[test]
    fn many_copies_and_many_near_copies_are_bounded() {
        let copies = vec!["the same text"; 10_000];
        let alike_copies = alike(&copies, 200, &|| false);
        assert_eq!((alike_copies.pairs.len(), alike_copies.is_complete), (200, false));
        let words: String = (0..300).map(|at| format!("w{at} ")).collect();
        // Each pair shares just too few words.
        let near: Vec<String> = (0..2000)
            .map(|at| format!("{words}{}", (0..40).map(|own| format!("o{at}x{own} ")).collect::<String>()))
            .collect();
        let near: Vec<&str> = near.iter().map(String::as_str).collect();
        let started = std::time::Instant::now();
        assert!(alike(&near, 200, &|| false).pairs.is_empty());
        assert!(started.elapsed().as_secs() < 30, "the work is bounded");
        assert!(!alike(&["a", "b"], 200, &|| true).is_complete);
    }

    proptest! {
        #[test]
        fn no_pair_is_missed(
            texts in prop::collection::vec(prop::collection::vec("[a-h]", 0..12), 0..12),
        ) {
            let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let sets: Vec<BTreeSet<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
            let mut expected = Vec::new();
            for one in 0..texts.len() {
                for other in one + 1..texts.len() {
                    let is_first = |place: usize| texts[..place].iter().all(|text| *text != texts[place]);
                    let (shared, either) =
                        (sets[one].intersection(&sets[other]).count(), sets[one].union(&sets[other]).count());
                    if texts[one] == texts[other] {
                        expected.push((one, other, true));
                    } else if shared > 0 && 5 * shared >= 4 * either && is_first(one) && is_first(other) {
                        expected.push((one, other, false));
                    }
                }
            }
            prop_assert_eq!(found(&texts), expected);
        }
    }
}
