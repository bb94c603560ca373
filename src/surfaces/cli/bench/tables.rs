//! Results as people read them.

use std::fmt::Write;

use crate::bench::{issues, quality, speed};

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

/// Runs, questions, limits.
pub(super) fn speed(report: &speed::Report) -> String {
    let speed::Report { indexed, edited, stages, limits, memory, .. } = report;
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let mut text = format!(
        "{} files, {} MB, {} chunks, {} vectors, {}, {} cores\n\n",
        indexed.files,
        megabytes(report.bytes),
        indexed.chunks,
        indexed.vectors,
        report.model,
        report.cores
    );
    let _ = writeln!(
        text,
        "{:<22} {:>9} {:>7} {:>9} {:>9} {:>9}",
        "", "seconds", "own", "Postgres", "read MB", "written"
    );
    for (name, profile) in [("first run", &indexed.first), ("unchanged", &indexed.unchanged)] {
        profiled(&mut text, name, profile);
    }
    let _ = writeln!(
        text,
        "words ready after {:.1} s, then {:.0} vectors/s: {:.0} % of the {:.0} that the model alone makes",
        indexed.lexical_seconds,
        indexed.vectors_per_second,
        limits.embedding_reached * 100.0,
        limits.model_vectors_per_second
    );
    let _ = writeln!(
        text,
        "one file: searchable after {:.0} ms (p95 {:.0}), complete after {:.0} ms ({} edits)\n",
        edited.searchable.p50_ms, edited.searchable.p95_ms, edited.complete.p50_ms, edited.searchable.count
    );
    let _ = writeln!(
        text,
        "{:<22} {:>7} {:>7} {:>7} {:>7} {:>7}  {:<6} {:>5} {:>9}",
        "ms", "p50", "p95", "p99", "max", "mean", "", "own", "Postgres"
    );
    for asked in &report.asked {
        timed(&mut text, asked.kind, &asked.latency);
        let _ = writeln!(
            text,
            "  {:<6} {:>4.0}% {:>8.0}%",
            asked.vectors,
            asked.profile.own_cores * 100.0,
            asked.profile.postgres_cores * 100.0
        );
    }
    let mean = &stages.mean;
    let _ = writeln!(
        text,
        "stages, means: plan {:.1}, words {:.1}, embedding {:.1}, vectors {:.1} ({}), facts {:.1}, ranking {:.1}, contents {:.1}: {:.1} ms\n",
        mean.plan_ms,
        mean.lexical_ms,
        mean.embed_ms,
        mean.dense_ms,
        stages.vectors,
        mean.hydrate_ms,
        mean.rank_ms,
        mean.content_ms,
        mean.total_ms
    );
    timed(&mut text, "vectors, exact", &limits.exact);
    let _ = writeln!(
        text,
        "  {:.1} GB/s of the {:.1} that one core sums up",
        limits.exact_gb_per_second, limits.memory_gb_per_second
    );
    if let Some(hnsw) = &limits.hnsw {
        timed(&mut text, "vectors, HNSW", &hnsw.latency);
        let _ = writeln!(text, "  recall@10 {:.3}, recall@200 {:.3}", hnsw.recall_at_10, hnsw.recall_at_200);
    }
    let _ = writeln!(
        text,
        "memory: {:.0} MB, Postgres {:.0} MB; on disk: {} MB",
        memory.own_mb,
        memory.postgres_mb,
        megabytes(report.project_bytes)
    );
    text
}

fn profiled(text: &mut String, name: &str, profile: &speed::Profile) {
    let _ = writeln!(
        text,
        "{name:<22} {:>9.2} {:>6.0}% {:>8.0}% {:>9.1} {:>9.1}",
        profile.seconds,
        profile.own_cores * 100.0,
        profile.postgres_cores * 100.0,
        profile.read_mb,
        profile.written_mb
    );
}

fn timed(text: &mut String, name: &str, latency: &speed::Latency) {
    let speed::Latency { p50_ms, p95_ms, p99_ms, max_ms, mean_ms, .. } = latency;
    let _ = write!(text, "{name:<22} {p50_ms:>7.1} {p95_ms:>7.1} {p99_ms:>7.1} {max_ms:>7.1} {mean_ms:>7.1}");
}

fn missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "not in the corpus: {}", missing.join(", "));
    }
}
