//! Results as people read them.

use std::fmt::Write;

use crate::bench::{issues, quality, scale};

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

/// A line a condition and size, then a line a number of projects.
pub(super) fn scale(report: &scale::Report) -> String {
    let settings = &report.settings;
    let mut text = format!(
        "{} real chunks, {}, shared_buffers {} MB, maintenance_work_mem {} MB\n",
        report.corpus_chunks, report.model, settings.shared_buffers_mb, settings.maintenance_work_mem_mb
    );
    for size in &report.sizes {
        let grown = &size.grown;
        let _ = writeln!(
            text,
            "\n{} chunks, {} vectors, {} MB: rows {:.1} s, statistics {:.1} s, terms index {:.1} s, vectors {:.1} s, \
             HNSW {:.1} s ({} MB); server {} MB, program {} MB; one file {:.3} s\n{:<16} {:>7} {:>8} {:>8}  {:>7} {:>7} {:>7}  \
             {:>7} {:>7} {:>7} {:>7}",
            grown.chunks,
            grown.vectors,
            grown.database_mb,
            grown.rows_seconds,
            grown.statistics_seconds,
            grown.terms_index_seconds,
            grown.vectors_seconds,
            grown.hnsw_seconds,
            grown.hnsw_server_mb,
            size.server_mb,
            size.program_mb,
            size.reindexed.seconds,
            "",
            "share",
            "p50 ms",
            "p95 ms",
            "dense",
            "least",
            "answer",
            "plan",
            "words",
            "vectors",
            "rows"
        );
        for asked in &size.asked {
            let stages = &asked.stages_ms;
            let _ = writeln!(
                text,
                "{:<16} {:>6.2}% {:>8.1} {:>8.1}  {:>7.4} {:>7.2} {:>7.4}  {:>7.1} {:>7.1} {:>7.1} {:>7.1}  {}",
                asked.condition,
                asked.share * 100.0,
                asked.p50_ms,
                asked.p95_ms,
                asked.dense_recall,
                asked.dense_recall_min,
                asked.answer_recall,
                stages.plan,
                stages.lexical,
                stages.dense,
                stages.hydrate,
                asked.path.join(", ")
            );
        }
    }
    many(&mut text, &report.projects);
    text
}

fn many(text: &mut String, projects: &[scale::Many]) {
    if projects.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8} {:>9} {:>9} {:>7}",
        "projects",
        "provision",
        "index",
        "first",
        "p50 ms",
        "p95 ms",
        "kB each",
        "catalogs",
        "backend MB",
        "server",
        "list ms",
        "status ms",
        "report ms",
        "start s"
    );
    for many in projects {
        let _ = writeln!(
            text,
            "{:>8} {:>9.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8} {:>9} {:>10} {:>8} {:>8.1} {:>9.1} {:>9.1} {:>7.2}",
            many.projects,
            many.provision_ms,
            many.index_ms,
            many.first_p50_ms,
            many.warm_p50_ms,
            many.warm_p95_ms,
            many.database_kb_each,
            many.catalogs_mb,
            many.backend_mb,
            many.server_mb,
            many.list_ms,
            many.status_ms,
            many.report_ms,
            many.start_seconds
        );
    }
}

fn missing(text: &mut String, missing: &[String]) {
    if !missing.is_empty() {
        let _ = writeln!(text, "not in the corpus: {}", missing.join(", "));
    }
}
