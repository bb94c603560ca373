//! Formats the report of `bench quality` as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::quality::{
    AbsentFigures, ConfidenceCounts, LeaveOut, LeaveOutScores, OrderFigures, QualityReport, QueryFigures,
    VariantResult,
};
use engine::search::Confidence;

/// Formats one line for each variant, then each variant by set, category, language and repository.
pub(super) fn quality_table(report: &QualityReport) -> String {
    let mut text = format!(
        "{} repositories, {} chunks, vectors {} ({})\n",
        report.repositories, report.chunks, report.vectors, report.model
    );
    push_missing(&mut text, &report.missing);
    push_heading(&mut text, "NDCG@10", &format!("  {:>7} {:>7}", "@2k", "compact"));
    for measured in &report.variants {
        let recall = |name: &str| {
            measured.token_recall.get(name).and_then(|at| at.get(&2_000)).copied().unwrap_or(0.0)
        };
        let recall = format!("  {:>7.4} {:>7.4}", recall("chunks"), recall("compact"));
        push_figures(&mut text, &name(measured), &measured.all, &recall);
    }
    for measured in &report.variants {
        push_variant(&mut text, measured);
    }
    report.leave_out.iter().for_each(|choice| push_leave_out(&mut text, choice));
    text
}

/// Returns the name of the variant, and where it was queried if not in projects of its own.
fn name(measured: &VariantResult) -> String {
    format!("{} ({})", measured.variant, measured.place.word())
}

fn push_heading(text: &mut String, title: &str, more: &str) {
    let _ = writeln!(text, "\n{title:<38} {:>7} {:>7} {:>7} {:>7}{more}", "list", "files", "first", "three");
}

/// Appends a variant by groups and repositories, and the confidence that its answers report.
fn push_variant(text: &mut String, measured: &VariantResult) {
    push_heading(text, &name(measured), "  queries");
    let groups = [&measured.sets, &measured.categories, &measured.languages, &measured.by_repository];
    for (at, group) in groups.into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        for (name, figures) in group {
            push_figures(text, name, figures, &format!("  {:>7}", figures.questions));
        }
    }
    if let Some(all) = &measured.as_alone {
        push_order(text, all, &measured.as_alone_by_repository);
    }
    push_confidence(text, &measured.confidence);
    if let Some(absent) = &measured.absent {
        push_absent(text, absent);
    }
    if measured.questions_without_vectors > 0 {
        let _ = writeln!(text, "answered without their vectors: {}", measured.questions_without_vectors);
    }
}

fn push_figures(text: &mut String, name: &str, figures: &QueryFigures, more: &str) {
    let QueryFigures { ndcg10, ndcg10_files, right_first, right_among_three, .. } = figures;
    let _ = writeln!(
        text,
        "{name:<38} {ndcg10:>7.4} {ndcg10_files:>7.4} {right_first:>7.4} {right_among_three:>7.4}{more}"
    );
}

/// Appends how closely the answers match those of each repository alone.
fn push_order(text: &mut String, all: &OrderFigures, repositories: &BTreeMap<String, OrderFigures>) {
    let _ = writeln!(text, "\n{:<38} {:>7} {:>10}  queries", "as alone", "top 3", "same order");
    let repositories = repositories.iter().map(|(name, figures)| (name.as_str(), figures));
    for (name, figures) in [("all", all)].into_iter().chain(repositories) {
        let OrderFigures { questions, top3_overlap, same_order } = figures;
        let _ = writeln!(text, "{name:<38} {top3_overlap:>7.4} {same_order:>10.4}  {questions:>7}");
    }
}

/// Appends the number of queries by correctness and confidence of the answer.
fn push_confidence(text: &mut String, confidence: &ConfidenceCounts) {
    let _ = writeln!(text, "\n{:<38} {:>7} {:>7} {:>7} {:>7}", "confidence", "high", "medium", "low", "none");
    let rows = [("right", &confidence.right), ("wrong", &confidence.wrong), ("absent", &confidence.absent)];
    for (name, counts) in rows.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        let of = |level| counts.get(&level).copied().unwrap_or(0);
        let levels = [Confidence::High, Confidence::Medium, Confidence::Low, Confidence::None].map(of);
        let _ =
            writeln!(text, "{name:<38} {:>7} {:>7} {:>7} {:>7}", levels[0], levels[1], levels[2], levels[3]);
    }
}

/// Appends the shares of absent answers that are recognised.
fn push_absent(text: &mut String, figures: &AbsentFigures) {
    let _ = writeln!(
        text,
        "\nright answers kept at medium or high: {:.4} of {}; 95 % reach a likelihood of {:.4}",
        figures.right_kept, figures.right, figures.threshold
    );
    let _ = writeln!(text, "{:<38} {:>11} {:>11}  queries", "absent", "low or none", "at 95 %");
    let rows = [
        ("all", Some(&figures.absent)),
        ("listed", figures.listed.as_ref()),
        ("of other repositories", figures.of_others.as_ref()),
    ];
    for (name, shares) in rows.into_iter().filter_map(|(name, shares)| Some((name, shares?))) {
        let _ = writeln!(
            text,
            "{name:<38} {:>11.4} {:>11.4}  {:>7}",
            shares.low_or_none, shares.below_threshold, shares.questions
        );
    }
}

/// Appends the scores of the variants that the other repositories choose.
fn push_leave_out(text: &mut String, choice: &LeaveOut) {
    let _ = writeln!(
        text,
        "\n{} ({}), best of {}: {}\n{:<38} {:>7} {:>7} {:>8}  queries",
        choice.search,
        choice.place.word(),
        choice.variants.join(", "),
        choice.best,
        "NDCG@10",
        "first",
        "fitted",
        "left out"
    );
    let languages = choice.languages.iter().map(|(name, scores)| (name.as_str(), scores));
    for (name, scores) in [("all", &choice.all)].into_iter().chain(languages) {
        let LeaveOutScores { questions, first, fitted, left_out } = scores;
        let _ = writeln!(text, "{name:<38} {first:>7.4} {fitted:>7.4} {left_out:>8.4}  {questions:>7}");
    }
    let others: Vec<String> = choice
        .chosen
        .iter()
        .filter(|(_, variant)| **variant != choice.best)
        .map(|(repository, variant)| format!("{repository}: {variant}"))
        .collect();
    if !others.is_empty() {
        let _ = writeln!(text, "chosen otherwise: {}", others.join(", "));
    }
}

/// Lists what the corpus lacks.
pub(super) fn push_missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "missing from the corpus: {}", missing.join(", "));
    }
}
