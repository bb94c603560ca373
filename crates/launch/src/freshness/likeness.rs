//! Finds the replacements of cited lines: the lines of the new text that have the most words in common with them.

use std::cmp::Reverse;
use std::collections::HashSet;

/// Maximum number of lines of a text that are examined, and of bytes of each.
const LINES_READ_MAX: usize = 100_000;
const LINE_BYTES_READ_MAX: usize = 2_000;
/// Least similarity of lines, in thousandths.
const LIKENESS_MIN: usize = 500;

/// Returns the `count` lines of a text that are most similar to the sought ones, with the number of the first; among equally similar ones,
/// the nearest to `start_line`. `None` if no lines are similar enough.
pub(super) fn most_alike<'t>(
    sought: &[&str],
    text: &'t str,
    count: usize,
    start_line: u32,
) -> Option<(u32, Vec<&'t str>)> {
    let known: HashSet<String> = sought.iter().flat_map(|line| words(line)).collect();
    let wanted: usize = sought.iter().map(|line| words(line).count()).sum();
    let lines: Vec<&str> = text.lines().take(LINES_READ_MAX).collect();
    let size = count.min(lines.len());
    if wanted == 0 || size == 0 {
        return None;
    }
    // For each line, the number of known words, and of all words.
    let counts: Vec<(usize, usize)> = lines
        .iter()
        .map(|line| {
            words(line).fold((0, 0), |(same, all), word| (same + usize::from(known.contains(&word)), all + 1))
        })
        .collect();
    let windows = counts.windows(size).zip(1_u32..);
    let rated = windows.map(|(window, number)| {
        let same: usize = window.iter().map(|(same, _)| same).sum();
        let all: usize = window.iter().map(|(_, all)| all).sum();
        // The Dice coefficient.
        (2000 * same.min(wanted) / (wanted + all), Reverse(number.abs_diff(start_line)), number)
    });
    let (likeness, _, number) = rated.max()?;
    if likeness < LIKENESS_MIN {
        return None;
    }
    let skipped = usize::try_from(number).ok()?.checked_sub(1)?;
    Some((number, lines.into_iter().skip(skipped).take(size).collect()))
}

/// The words of the beginning of a line, in lower case.
fn words(line: &str) -> impl Iterator<Item = String> {
    let read = &line[..line.floor_char_boundary(LINE_BYTES_READ_MAX)];
    read.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_share_most_words_are_found() {
        let text = "# Shop\n\nCounts notes.\n\nReads all sales from TSV files\nof one day.\n";
        let (number, lines) = most_alike(&["Reads sales from CSV files", "of one day."], text, 2, 1).unwrap();
        assert_eq!((number, lines), (5, vec!["Reads all sales from TSV files", "of one day."]));
        assert_eq!(most_alike(&["Converts currencies at noon."], text, 1, 3), None);
        assert_eq!(most_alike(&["---"], text, 1, 3), None, "nothing has no words in common");
        assert_eq!(most_alike(&["Counts notes."], "", 1, 3), None);
    }

    #[test]
    fn of_equal_lines_the_nearest_counts() {
        let text = "Counts coins.\nx\nx\nCounts coins.\nx\nCounts coins.\n";
        assert_eq!(most_alike(&["Counts all coins."], text, 1, 5).map(|found| found.0), Some(6));
        assert_eq!(most_alike(&["Counts all coins."], text, 1, 3).map(|found| found.0), Some(4));
        let shorter = most_alike(&["Counts all coins."], "Counts coins.", 9, 3).unwrap();
        assert_eq!(shorter, (1, vec!["Counts coins."]));
    }

    #[test]
    fn a_long_line_costs_no_more_than_its_beginning() {
        let text = format!("Counts coins. {}\n", "x ".repeat(1 << 20));
        assert_eq!(most_alike(&["Counts coins."], &text, 1, 1), None, "the rest of it says something else");
        assert_eq!(words(&text).count(), 2 + (LINE_BYTES_READ_MAX - "Counts coins. ".len()) / 2);
    }
}
