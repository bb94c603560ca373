//! A page of hits as the golden files know it: places and names in their order, and how near two of them are.

use serde_json::Value;

/// Scores nearer to one another than this share of the best one are tied as far as golden files are concerned: CPUs differ in
/// the last bits of a vector, and quantisation can make a thousandth of that.
const TIE: f64 = 0.001;
/// Scores are answered with four digits.
const ROUNDING: f64 = 0.000_1;
/// What stands before a golden line that answers a target, and before all others.
const MARKS: [&str; 2] = ["* ", "  "];

/// Hits, best first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Page(pub(super) Vec<Hit>);

/// A hit without what the ranking does not decide.
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
    /// The hits of an answer of `search`.
    pub(super) fn of(answer: &Value) -> Self {
        let hit = |hit: &Value| Hit {
            file: hit["file"].as_str().unwrap().to_owned(),
            lines: (hit["startLine"].as_u64().unwrap(), hit["endLine"].as_u64().unwrap()),
            name: hit["name"].as_str().or(hit["kind"].as_str()).unwrap().to_owned(),
            score: hit["score"].as_f64().unwrap(),
        };
        Self(answer["hits"].as_array().unwrap().iter().map(hit).collect())
    }

    /// Ten lines at most, those that `marks` says yes to with a star. Without numbers, so that a hit that moves is one line
    /// of a diff and not all below it.
    pub(super) fn lines(&self, marks: impl Fn(&Hit) -> bool) -> String {
        self.0.iter().map(|hit| format!("{}{}\n", MARKS[usize::from(!marks(hit))], hit.line())).collect()
    }
}

impl Hit {
    fn line(&self) -> String {
        format!("{}:{}-{} {}", self.file, self.lines.0, self.lines.1, self.name)
    }
}

/// The hits of a golden file in its order, if `wide` could as well have come in that order: every hit that it shows
/// scores no less, but for a tie, than all that it shows below or not at all.
pub(super) fn in_golden_order(golden: &str, wide: &Page) -> Option<Page> {
    let lines = golden.lines().skip_while(|line| *line != super::questions::RANKED).skip(1);
    let find = |line: &str| {
        let place = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?;
        wide.0.iter().find(|hit| hit.line() == place).cloned()
    };
    let pinned: Vec<Hit> = lines.map(find).collect::<Option<_>>()?;
    let tie = wide.0.first()?.score.abs() * TIE + ROUNDING;
    let left_out = wide.0.iter().filter(|hit| !pinned.contains(hit));
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
    use super::super::questions::RANKED;
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
        files.iter().fold(format!("question: f\n{RANKED}\n"), |text, file| text + "  " + file + ":1-9 f\n")
    }

    #[test]
    fn near_ties_may_trade_places() {
        let wide = page(&[("a", 2.0), ("b", 1.0005), ("c", 1.0), ("d", 0.5)]);
        assert_eq!(in_golden_order(&golden(&["a", "c", "b"]), &wide).unwrap().0[1].file, "c");
        // … also at the end of the page.
        assert!(in_golden_order(&golden(&["a", "c"]), &wide).is_some());
    }

    #[test]
    fn what_is_no_tie_is_a_change() {
        let wide = page(&[("a", 2.0), ("b", 1.1), ("c", 1.0), ("d", 0.5)]);
        assert!(in_golden_order(&golden(&["a", "b", "c"]), &wide).is_some());
        for changed in [&["a", "c", "b"][..], &["a", "c"], &["b", "a"], &["a", "gone"]] {
            assert_eq!(in_golden_order(&golden(changed), &wide), None, "{changed:?}");
        }
    }
}
