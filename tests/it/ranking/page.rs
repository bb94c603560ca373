//! A page of hits as it is written to golden files, and the comparison of a page with a golden file that allows for ties.

use serde_json::Value;

/// Scores that differ by less than this share of the best score count as tied: CPUs differ in the last bits of a vector.
const TIE: f64 = 0.001;
/// Answers round scores to four digits.
const ROUNDING: f64 = 0.000_1;
/// The beginning of a line whose hit matches a target.
const TARGET_MARK: &str = "* ";
/// The beginning of all other lines.
const OTHER_MARK: &str = "  ";

/// Hits, best first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Page(pub(super) Vec<Hit>);

/// The parts of a hit that ranking tests compare.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) file: String,
    /// First and last line, 1-based, inclusive.
    pub(super) lines: (u64, u64),
    /// Qualified name of what it defines, or its kind.
    pub(super) name: String,
    pub(super) score: f64,
}

impl Page {
    /// Reads the hits from an answer of `search`.
    pub(super) fn parse(answer: &Value) -> Self {
        let hit = |hit: &Value| Hit {
            file: hit["file"].as_str().unwrap().to_owned(),
            lines: (hit["startLine"].as_u64().unwrap(), hit["endLine"].as_u64().unwrap()),
            name: hit["name"].as_str().or(hit["kind"].as_str()).unwrap().to_owned(),
            score: hit["score"].as_f64().unwrap(),
        };
        Self(answer["hits"].as_array().unwrap().iter().map(hit).collect())
    }

    /// One line per hit; a star marks those for which `is_target` is true. The lines have no numbers, so that a hit that moves
    /// changes one line of the diff instead of all lines below it.
    pub(super) fn lines(&self, is_target: impl Fn(&Hit) -> bool) -> String {
        let mark = |hit: &Hit| if is_target(hit) { TARGET_MARK } else { OTHER_MARK };
        self.0.iter().map(|hit| format!("{}{}\n", mark(hit), hit.line())).collect()
    }
}

impl Hit {
    fn line(&self) -> String {
        format!("{}:{}-{} {}", self.file, self.lines.0, self.lines.1, self.name)
    }
}

/// The hits of a golden file in its order, if that order is as good as the one of `page`: except for ties, every hit scores at
/// least as much as all hits below it and all hits that the file omits.
pub(super) fn in_golden_order(golden: &str, page: &Page) -> Option<Page> {
    let lines = golden.lines().skip_while(|line| *line != super::queries::RANKED).skip(1);
    let find = |line: &str| {
        let line_without_mark = line.strip_prefix(TARGET_MARK).or_else(|| line.strip_prefix(OTHER_MARK))?;
        page.0.iter().find(|hit| hit.line() == line_without_mark).cloned()
    };
    let pinned: Vec<Hit> = lines.map(find).collect::<Option<_>>()?;
    let tie = page.0.first()?.score.abs() * TIE + ROUNDING;
    let left_out = page.0.iter().filter(|hit| !pinned.contains(hit));
    let mut best_below = left_out.map(|hit| hit.score).fold(f64::NEG_INFINITY, f64::max);
    for hit in pinned.iter().rev() {
        if hit.score + tie < best_below {
            return None;
        }
        best_below = best_below.max(hit.score);
    }
    Some(Page(pinned))
}

#[cfg(test)]
mod tests {
    use super::super::queries::RANKED;
    use super::*;

    fn page(hits: &[(&str, f64)]) -> Page {
        let hit = |(file, score): &(&str, f64)| Hit {
            file: (*file).to_owned(),
            lines: (1, 9),
            name: "f".to_owned(),
            score: *score,
        };
        Page(hits.iter().map(hit).collect())
    }

    fn golden(files: &[&str]) -> String {
        files.iter().fold(format!("query: f\n{RANKED}\n"), |text, file| text + "  " + file + ":1-9 f\n")
    }

    #[test]
    fn near_ties_may_trade_places() {
        let current_page = page(&[("a", 2.0), ("b", 1.0005), ("c", 1.0), ("d", 0.5)]);
        assert_eq!(in_golden_order(&golden(&["a", "c", "b"]), &current_page).unwrap().0[1].file, "c");
        // Also with a hit beyond the end of the page.
        assert!(in_golden_order(&golden(&["a", "c"]), &current_page).is_some());
    }

    #[test]
    fn a_hit_that_is_not_tied_may_not_move() {
        let current_page = page(&[("a", 2.0), ("b", 1.1), ("c", 1.0), ("d", 0.5)]);
        assert!(in_golden_order(&golden(&["a", "b", "c"]), &current_page).is_some());
        for changed in [&["a", "c", "b"][..], &["a", "c"], &["b", "a"], &["a", "gone"]] {
            assert_eq!(in_golden_order(&golden(changed), &current_page), None, "{changed:?}");
        }
    }
}
