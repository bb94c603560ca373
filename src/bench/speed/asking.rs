//! Questions by kind, one after the other: the tool in this process, a server over HTTP, with filters, by words alone.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::corpus::Corpus;
use super::latency::{Latency, count, rounded};
use super::profile::{Profile, Server};
use super::wording::questions;
use super::{OverHttp, PROJECT};
use crate::bench::{Lab, Variant};
use contract::Fault;
use engine::search::{SearchRequest, Timings, VectorsUsed};
use store::{Access, Filter, Project, ProjectTx, breakdown};

/// Questions before the clock runs: connections, plans, pages.
const WARM_UP: usize = 30;
/// Share of the files that a selective filter lets through.
const SELECTIVE: f64 = 0.03;

/// One kind of questions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What kind.
    pub kind: &'static str,
    /// What each question was asked with besides.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub with: Value,
    /// How vectors were compared: `exact`, `hnsw`, `none`, as the last answer says.
    pub vectors: String,
    /// Times.
    #[serde(flatten)]
    pub latency: Latency,
    /// What it used.
    pub profile: Profile,
}

/// Mean milliseconds of the stages of a hybrid question.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stages {
    /// How vectors were compared.
    pub vectors: String,
    /// The means.
    #[serde(flatten)]
    pub mean: Timings,
}

/// What asks.
pub(super) struct Asking<'a> {
    pub(super) lab: &'a Lab,
    pub(super) project: &'a Project,
    pub(super) server: &'a Server,
    pub(super) over_http: &'a OverHttp,
    pub(super) tell: &'a (dyn Fn(&str) + Sync),
}

/// How a kind of questions is asked.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    InProcess,
    OverHttp,
}

impl Asking<'_> {
    /// All kinds; no question is asked twice, since the vectors of questions are remembered.
    pub(super) async fn all(&self, corpus: &Corpus, wanted: usize) -> Result<(Vec<Asked>, Stages), Fault> {
        let mut kinds = vec![
            ("hybrid", Way::InProcess, Value::Null),
            ("hybrid over HTTP", Way::OverHttp, Value::Null),
            ("words alone", Way::InProcess, json!({ "ann": false })),
        ];
        if let Some(folder) = corpus.folder_with(SELECTIVE) {
            kinds.push(("hybrid, few pass", Way::InProcess, json!({ "path": format!("{folder}**") })));
        }
        if let Some(language) = self.most_common_language().await? {
            kinds.push(("hybrid, many pass", Way::InProcess, json!({ "lang": language })));
        }
        let texts: Vec<String> = corpus.files.iter().map(|file| corpus.text(file)).collect();
        let each = wanted + WARM_UP;
        let asked = questions(&texts, each * (kinds.len() + 1));
        let each = (asked.len() / (kinds.len() + 1)).max(1);
        let mut parts = asked.chunks(each);
        let stages = self.stages(parts.next().unwrap_or_default()).await?;
        let mut results = Vec::new();
        for ((kind, way, with), questions) in kinds.into_iter().zip(parts) {
            let result = self.kind(kind, way, with, questions).await?;
            let Latency { p50_ms, p95_ms, .. } = result.latency;
            (self.tell)(&format!("{kind}: p50 {p50_ms:.1} ms, p95 {p95_ms:.1} ms, {}", result.vectors));
            results.push(result);
        }
        Ok((results, stages))
    }

    async fn kind(
        &self,
        kind: &'static str,
        way: Way,
        with: Value,
        questions: &[String],
    ) -> Result<Asked, Fault> {
        let (warm_up, measured) = questions.split_at(WARM_UP.min(questions.len() / 2));
        for question in warm_up {
            self.ask(way, question, &with).await?;
        }
        let (mut times, mut vectors) = (Vec::with_capacity(measured.len()), String::new());
        let phase = self.server.begin();
        for question in measured {
            let (took, answer) = self.ask(way, question, &with).await?;
            times.push(took);
            answer["vectors"].as_str().unwrap_or_default().clone_into(&mut vectors);
        }
        Ok(Asked { kind, with, vectors, latency: Latency::of(times), profile: phase.end() })
    }

    async fn ask(&self, way: Way, question: &str, with: &Value) -> Result<(Duration, Value), Fault> {
        let mut arguments = json!({ "query": question, "project_id": PROJECT });
        for (name, value) in with.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        let started = Instant::now();
        let answer = match way {
            Way::InProcess => self.lab.call("search", arguments).await?,
            Way::OverHttp => (self.over_http)(arguments).await?,
        };
        Ok((started.elapsed(), answer))
    }

    async fn most_common_language(&self) -> Result<Option<String>, Fault> {
        let mut tx = ProjectTx::begin(self.lab.app.store().await?, self.project, Access::Search).await?;
        let languages = breakdown::languages(&mut tx, &Filter::EVERYTHING).await?;
        tx.commit().await?;
        Ok(languages.into_iter().find_map(|count| count.language))
    }

    async fn stages(&self, questions: &[String]) -> Result<Stages, Fault> {
        let (warm_up, measured) = questions.split_at(WARM_UP.min(questions.len() / 2));
        let variant = Variant::shipped();
        let (mut all, mut used) = (Vec::new(), VectorsUsed::None);
        for (at, question) in warm_up.iter().chain(measured).enumerate() {
            let request = SearchRequest { query: question.clone(), top: 10, ..SearchRequest::default() };
            let answer = self.lab.ask(self.project, &request, &variant).await?;
            if at >= warm_up.len() {
                all.push(answer.took);
                used = answer.vectors_used;
            }
        }
        let vectors = serde_json::to_value(used).ok().and_then(|word| word.as_str().map(str::to_owned));
        Ok(Stages { vectors: vectors.unwrap_or_default(), mean: mean(&all) })
    }
}

fn mean(all: &[Timings]) -> Timings {
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
        let mean = mean(&[took(1.0), took(2.0)]);
        assert_eq!((mean.plan_ms, mean.total_ms, mean.rank_ms), (1.5, 3.0, 0.0));
    }
}
