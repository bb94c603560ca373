//! Results as people read them.

use std::fmt::Write;

use crate::bench::{issues, quality};

/// A line a variant, then the first one by category and language.
pub(super) fn quality(report: &quality::Report) -> String {
    let mut text = format!(
        "{} repositories, {} chunks, {}\n\n{:<38} {:>7} {:>7}  {:>7} {:>7}\n",
        report.repositories, report.chunks, report.model, "NDCG@10", "list", "files", "@2k", "compact"
    );
    missing(&mut text, &report.missing);
    for measured in &report.variants {
        let recall = |name: &str| {
            measured.token_recall.get(name).and_then(|at| at.get(&2_000)).copied().unwrap_or(0.0)
        };
        line(
            &mut text,
            &measured.variant,
            &measured.all,
            &format!("  {:>7.4} {:>7.4}", recall("chunks"), recall("compact")),
        );
    }
    let Some(first) = report.variants.first() else { return text };
    for group in [&first.categories, &first.languages] {
        text.push('\n');
        group.iter().for_each(|(name, figures)| {
            line(&mut text, name, figures, &format!("  {:>4}", figures.questions))
        });
    }
    text
}

fn line(text: &mut String, name: &str, figures: &quality::Figures, more: &str) {
    let _ = writeln!(text, "{name:<38} {:>7.4} {:>7.4}{more}", figures.ndcg10, figures.ndcg10_files);
}

/// A line a variant.
pub(super) fn issues(report: &issues::Report) -> String {
    let mut text = format!(
        "{} issues, {} chunks, {}\n\n{:<38} {:>7} {:>7} {:>7} {:>9}\n",
        report.issues, report.chunks, report.model, "", "Acc@1", "Acc@5", "Acc@10", "p50 ms"
    );
    missing(&mut text, &report.missing);
    for measured in &report.variants {
        let _ = writeln!(
            text,
            "{:<38} {:>7.1} {:>7.1} {:>7.1} {:>9.1}",
            measured.variant, measured.acc1, measured.acc5, measured.acc10, measured.p50_ms
        );
    }
    text
}

fn missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "not in the corpus: {}", missing.join(", "));
    }
}
