//! The names of definitions that are spelled like an unknown one.

use std::collections::BTreeMap;

use crate::search::{Spelling, similarity};
use contract::Fault;
use languages::{fold, nfc};
use store::{ProjectTx, use_places};

/// Shorter names are similar to too many.
const NAME_CHARS_MIN: usize = 3;
/// Longer names are similar to none, because the comparison takes time in proportion to their length.
const NAME_CHARS_MAX: usize = 100;
/// Maximum number of names that are compared.
const COMPARED_MAX: i64 = 50_000;
/// Maximum number of names in an answer.
const NEAREST_MAX: usize = 5;

/// Returns the names of definitions in `repositories` that are spelled like `name`, the most similar first.
pub(super) async fn nearest_names(
    tx: &mut ProjectTx,
    repositories: &[i64],
    name: &str,
) -> Result<Vec<String>, Fault> {
    let length = name.chars().count();
    if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&length) {
        return Ok(Vec::new());
    }
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    let slack = length / 4 + 1;
    let known =
        use_places::defined_names(tx, repositories, (length - slack, length + slack + 3), COMPARED_MAX)
            .await?;
    Ok(most_similar(name, known))
}

/// Returns whether a name, requested as it is written, is read as that name.
fn is_read_again(name: &str) -> bool {
    match Spelling::parse(name) {
        Ok(Spelling::Name(readings)) => {
            readings.iter().any(|reading| reading.path.is_none() && reading.name.qualified() == nfc(name))
        }
        _ => false,
    }
}

fn most_similar(name: &str, known: Vec<String>) -> Vec<String> {
    let folded = fold(name);
    let mut similar: BTreeMap<String, f64> = BTreeMap::new();
    for other in known {
        if let Some(score) = similarity(&folded, &other).filter(|_| is_read_again(&other)) {
            similar.insert(other, score);
        }
    }
    let mut similar: Vec<(String, f64)> = similar.into_iter().collect();
    similar.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    similar.into_iter().take(NEAREST_MAX).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspelled_names_have_near_ones() {
        let known = || ["open_till", "close_till", "Till", "count"].map(str::to_owned).to_vec();
        assert_eq!(most_similar("opn_till", known())[0], "open_till");
        assert_eq!(most_similar("Tlil", known())[0], "Till");
        assert!(most_similar("zebra", known()).is_empty());
    }
}
