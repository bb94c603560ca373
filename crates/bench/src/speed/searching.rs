//! Search latency by kind of query, one query at a time: in process, over HTTP, with filters, and lexical only.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::corpus::Corpus;
use super::latency::{Latency, count, rounded};
use super::profile::{PostgresServer, Profile};
use super::queries::sample_queries;
use super::{HttpSearch, PROJECT};
use crate::{Experiment, Variant};
use contract::Fault;
use engine::search::{SearchRequest, Timings, VectorsUsed};
use store::{Access, Filter, Project, ProjectTx, breakdown};

/// Queries before the measurement, which fill connections, plans and the page cache.
const WARM_UP_QUERIES: usize = 30;
/// Share of the files that the selective filter matches.
const SELECTIVE_SHARE: f64 = 0.03;

/// The figures of one kind of query.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryKindResult {
    /// Name of the kind.
    pub kind: &'static str,
    /// Arguments of each search besides the query.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// Vector search of the last answer: `exact`, `hnsw` or `none`.
    pub vectors: String,
    /// Latency of the searches.
    #[serde(flatten)]
    pub latency: Latency,
    /// Resources used.
    pub profile: Profile,
}

/// Mean times of the stages of a hybrid search.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeanStages {
    /// Vector search that was used.
    pub vectors: String,
    /// Mean milliseconds of each stage.
    #[serde(flatten)]
    pub mean: Timings,
}

/// The part of the benchmark that searches.
pub(super) struct SearchBenchmark<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) project: &'a Project,
    pub(super) server: &'a PostgresServer,
    pub(super) http_search: &'a HttpSearch,
    pub(super) on_progress: &'a (dyn Fn(&str) + Sync),
}

/// The interface that a search uses.
#[derive(Clone, Copy, PartialEq)]
enum SearchInterface {
    InProcess,
    OverHttp,
}

impl SearchBenchmark<'_> {
    /// Measures every kind. No query is repeated, because query vectors are cached.
    pub(super) async fn run_all_kinds(
        &self,
        corpus: &Corpus,
        wanted: usize,
    ) -> Result<(Vec<QueryKindResult>, MeanStages), Fault> {
        let mut kinds = vec![
            ("hybrid", SearchInterface::InProcess, Value::Null),
            ("hybrid over HTTP", SearchInterface::OverHttp, Value::Null),
            ("words alone", SearchInterface::InProcess, json!({ "ann": false })),
        ];
        if let Some(folder) = corpus.folder_with(SELECTIVE_SHARE) {
            kinds.push((
                "hybrid, few pass",
                SearchInterface::InProcess,
                json!({ "path": format!("{folder}**") }),
            ));
        }
        if let Some(language) = self.most_common_language().await? {
            kinds.push(("hybrid, many pass", SearchInterface::InProcess, json!({ "lang": language })));
        }
        let texts: Vec<String> = corpus.files.iter().map(|file| corpus.text(file)).collect();
        let each = wanted + WARM_UP_QUERIES;
        let asked = sample_queries(&texts, each * (kinds.len() + 1));
        let each = (asked.len() / (kinds.len() + 1)).max(1);
        let mut parts = asked.chunks(each);
        let stages = self.stages(parts.next().unwrap_or_default()).await?;
        let mut results = Vec::new();
        for ((kind, interface, arguments), questions) in kinds.into_iter().zip(parts) {
            let result = self.run_kind(kind, interface, arguments, questions).await?;
            let Latency { p50_ms, p95_ms, .. } = result.latency;
            (self.on_progress)(&format!(
                "{kind}: p50 {p50_ms:.1} ms, p95 {p95_ms:.1} ms, {}",
                result.vectors
            ));
            results.push(result);
        }
        Ok((results, stages))
    }

    async fn run_kind(
        &self,
        kind: &'static str,
        interface: SearchInterface,
        arguments: Value,
        questions: &[String],
    ) -> Result<QueryKindResult, Fault> {
        let (warm_up, measured) = questions.split_at(WARM_UP_QUERIES.min(questions.len() / 2));
        for question in warm_up {
            self.search(interface, question, &arguments).await?;
        }
        let (mut times, mut vectors) = (Vec::with_capacity(measured.len()), String::new());
        let phase = self.server.begin();
        for question in measured {
            let (took, answer) = self.search(interface, question, &arguments).await?;
            times.push(took);
            answer["vectors"].as_str().unwrap_or_default().clone_into(&mut vectors);
        }
        Ok(QueryKindResult {
            kind,
            arguments,
            vectors,
            latency: Latency::from_times(times),
            profile: phase.end(),
        })
    }

    async fn search(
        &self,
        interface: SearchInterface,
        query: &str,
        filter: &Value,
    ) -> Result<(Duration, Value), Fault> {
        let mut arguments = json!({ "query": query, "project_id": PROJECT });
        for (name, value) in filter.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        let started = Instant::now();
        let answer = match interface {
            SearchInterface::InProcess => self.experiment.call("search", arguments).await?,
            SearchInterface::OverHttp => (self.http_search)(arguments).await?,
        };
        Ok((started.elapsed(), answer))
    }

    async fn most_common_language(&self) -> Result<Option<String>, Fault> {
        let mut tx =
            ProjectTx::begin(self.experiment.app.store().await?, self.project, Access::Search).await?;
        let languages = breakdown::languages(&mut tx, &Filter::EVERYTHING).await?;
        tx.commit().await?;
        Ok(languages.into_iter().find_map(|count| count.language))
    }

    async fn stages(&self, questions: &[String]) -> Result<MeanStages, Fault> {
        let (warm_up, measured) = questions.split_at(WARM_UP_QUERIES.min(questions.len() / 2));
        let variant = Variant::shipped();
        let (mut all, mut used) = (Vec::new(), VectorsUsed::None);
        for (at, question) in warm_up.iter().chain(measured).enumerate() {
            let request = SearchRequest { query: question.clone(), top: 10, ..SearchRequest::default() };
            let answer = self.experiment.search(self.project, &request, &variant).await?;
            if at >= warm_up.len() {
                all.push(answer.took);
                used = answer.vectors_used;
            }
        }
        let vectors = serde_json::to_value(used).ok().and_then(|word| word.as_str().map(str::to_owned));
        Ok(MeanStages { vectors: vectors.unwrap_or_default(), mean: mean_timings(&all) })
    }
}

fn mean_timings(all: &[Timings]) -> Timings {
    let of = |part: fn(&Timings) -> f64| rounded(all.iter().map(part).sum::<f64>() / count(all.len().max(1)));
    Timings {
        plan_ms: of(|took| took.plan_ms),
        lexical_ms: of(|took| took.lexical_ms),
        embed_ms: of(|took| took.embed_ms),
        dense_ms: of(|took| took.dense_ms),
        hydrate_ms: of(|took| took.hydrate_ms),
        rank_ms: of(|took| took.rank_ms),
        content_ms: of(|took| took.content_ms),
        total_ms: of(|took| took.total_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_means() {
        let took = |ms: f64| Timings { plan_ms: ms, total_ms: 2.0 * ms, ..Timings::default() };
        let mean = mean_timings(&[took(1.0), took(2.0)]);
        assert_eq!((mean.plan_ms, mean.total_ms, mean.rank_ms), (1.5, 3.0, 0.0));
    }
}
