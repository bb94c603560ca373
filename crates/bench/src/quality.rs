//! Short queries with known answers: NDCG@10 of chunks and of files by category, language and repository, and the recall within
//! token budgets. Each repository is asked in a project of its own, or all of them in one project.

mod absent;
mod figures;
mod leave_out;
mod place;
mod question;

use std::collections::BTreeMap;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kept::{KeptResults, program_hash};
use super::queries::{self, AnnotatedQuery, QuerySet};
use super::{Experiment, Options, Variant};
use contract::{ErrorCode, Fault};
use place::{Indexed, Standing};
use store::Project;

pub use absent::{AbsentFigures, AbsentShares};
pub use figures::{ConfidenceCounts, OrderFigures, QueryFigures, VariantResult};
pub use leave_out::{LeaveOut, LeaveOutScores};
pub use place::Place;
pub use question::QueryResult;

/// Number of concurrent queries.
const CONCURRENT_QUERIES: usize = 2;

/// The result of `bench quality`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QualityReport {
    /// Number of repositories measured; one counts for each query set that has it.
    pub repositories: usize,
    /// Chunks of all measured repositories.
    pub chunks: u64,
    /// Repositories that are missing from the corpus.
    pub missing: Vec<String>,
    /// Model that made the vectors.
    pub model: String,
    /// Name of the vectors, as given by `--vectors`.
    pub vectors: String,
    /// The tokenizer of the budgets.
    pub tokenizer: &'static str,
    /// Queries that should have been answered with vectors and were not, over all variants.
    pub questions_without_vectors: usize,
    /// The results of each variant in each place.
    pub variants: Vec<VariantResult>,
    /// Variants chosen by leaving repositories out, with `--leave-out`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<LeaveOut>,
}

/// The results of one repository in one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RepositoryResults {
    chunks: u64,
    /// By variant.
    results: Vec<Vec<QueryResult>>,
}

/// Indexes every repository and runs all queries with each variant.
///
/// # Errors
/// `INVALID_REQUEST` for an unknown repository in `only`; `INVALID_INPUT` for unreadable query files or if nothing could be
/// measured; faults of index runs and searches.
pub async fn measure(
    experiment: &Experiment,
    options: &Options,
    on_progress: &(dyn Fn(&str) + Sync),
) -> Result<QualityReport, Fault> {
    let sets = queries::read_sets(&options.questions, &options.only)?;
    let model = experiment.model().await?;
    let made_with = made_with(experiment, options, &model)?;
    let kept = KeptResults::open(options.kept.as_deref(), options.continues, made_with)?;
    let places: &[Place] = match options.modes {
        modes if !modes.one_project => &[Place::Alone],
        modes if modes.alone => &[Place::Alone, Place::Named, Place::NotNamed],
        _ => &[Place::Named, Place::NotNamed],
    };
    let mut run = Run {
        experiment,
        options,
        on_progress,
        sets: &sets,
        model,
        kept,
        missing: Vec::new(),
        measured: Vec::new(),
        started: Instant::now(),
        measured_now: 0,
        to_measure: places.len() * sets.len(),
    };
    let mut together: Option<(Project, Indexed)> = None;
    for &place in places {
        if place != Place::Alone && together.is_none() {
            together = Some(place::index_together(experiment, &options.corpus, &sets, on_progress).await?);
        }
        for set in &sets {
            run.measure_repository(place, set, together.as_ref()).await?;
        }
    }
    let report = run.report();
    if report.variants.iter().all(|variant| variant.all.questions + variant.confidence.absent_count() == 0) {
        let why = format!("Missing from the corpus: {}.", report.missing.join(", "));
        return Err(queries::nothing_to_measure(&why));
    }
    run.kept.finish(&report)?;
    Ok(report)
}

/// Returns the inputs that the results depend on.
fn made_with(
    experiment: &Experiment,
    options: &Options,
    model: &str,
) -> Result<BTreeMap<String, String>, Fault> {
    let variant = |one: &Variant| format!("{} {:?} {:?}", one.name, one.vectors, one.ranking);
    let variants: Vec<String> = options.variants.iter().map(variant).collect();
    let config = &experiment.app.config;
    let settings = json!([config.search, config.indexing, config.embedding]).to_string();
    Ok([
        ("program", program_hash()?),
        ("set of vectors", format!("{} {model}", options.vectors)),
        ("list of variants", variants.join("\n")),
        ("list of settings", place::short_hash(&settings)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

/// A run of the benchmark.
struct Run<'a> {
    experiment: &'a Experiment,
    options: &'a Options,
    on_progress: &'a (dyn Fn(&str) + Sync),
    sets: &'a [QuerySet],
    model: String,
    kept: KeptResults,
    missing: Vec<String>,
    measured: Vec<(Place, RepositoryResults)>,
    started: Instant,
    /// Number of repositories that were not taken over.
    measured_now: usize,
    /// Number of repositories over all places.
    to_measure: usize,
}

impl Run<'_> {
    /// Measures one repository, or takes its results from the file of a broken run, and reports its figures.
    async fn measure_repository(
        &mut self,
        place: Place,
        set: &QuerySet,
        together: Option<&(Project, Indexed)>,
    ) -> Result<(), Fault> {
        let asked = self.questions(place, set);
        let name = self.kept_name(place, set, &asked);
        let earlier = self.kept.get::<RepositoryResults>(&name);
        let (results, seconds) = match earlier {
            Some(results) => (results, None),
            None => {
                let standing = match together.filter(|_| place != Place::Alone) {
                    Some((project, indexed)) => indexed
                        .get(&set.repository.name)
                        .map(|repository| Standing::new(place, project.clone(), repository))
                        .transpose()?,
                    None => Standing::alone(self.experiment, &self.options.corpus, set).await?,
                };
                let Some(standing) = standing else {
                    self.to_measure -= 1;
                    if !self.missing.contains(&set.label()) {
                        self.missing.push(set.label());
                    }
                    return Ok(());
                };
                let began = Instant::now();
                let results = self.ask(&standing, set, &asked).await?;
                (results, Some(began.elapsed().as_secs_f64()))
            }
        };
        self.measured.push((place, results.clone()));
        self.measured_now += usize::from(seconds.is_some());
        self.report_progress(place, set, &results, seconds);
        if seconds.is_some() {
            let report = || serde_json::to_value(self.report()).unwrap_or_default();
            let report = if self.options.kept.is_some() { report() } else { Value::Null };
            self.kept.add(&name, &results, || report)?;
        }
        Ok(())
    }

    /// The repository's queries, and with `--absent` as many of the next repository in another language.
    fn questions<'s>(&'s self, place: Place, set: &'s QuerySet) -> Vec<(&'s AnnotatedQuery, Option<String>)> {
        // In one project, other repositories may answer queries that this one does not, unless it is named.
        let may_be_absent = place != Place::NotNamed;
        let listed = set.queries.iter().filter(|query| may_be_absent || !query.is_absent());
        let mut asked: Vec<_> = listed.map(|query| (query, None)).collect();
        if self.options.modes.absent && may_be_absent {
            let at = self.sets.iter().position(|other| std::ptr::eq(other, set)).unwrap_or_default();
            let mut following = self.sets.iter().cycle().skip(at + 1).take(self.sets.len());
            let other = following.find(|other| {
                other.repository.language != set.repository.language
                    && other.queries.iter().any(|query| !query.is_absent())
            });
            if let Some(other) = other {
                let answered = other.queries.iter().filter(|query| !query.is_absent());
                asked.extend(answered.map(|query| (query, Some(other.label()))));
            }
        }
        asked
    }

    /// The name of a repository's results in the file: identifies its state, the queries and the project.
    fn kept_name(&self, place: Place, set: &QuerySet, asked: &[(&AnnotatedQuery, Option<String>)]) -> String {
        let neighbours: Vec<String> = match place {
            Place::Alone => Vec::new(),
            _ => self.sets.iter().map(|set| set.repository.state()).collect(),
        };
        let state = json!([set.repository.state(), asked, neighbours]).to_string();
        format!("{} {}/{} {}", place.word(), set.name, set.repository.name, place::short_hash(&state))
    }

    async fn ask(
        &self,
        standing: &Standing,
        set: &QuerySet,
        asked: &[(&AnnotatedQuery, Option<String>)],
    ) -> Result<RepositoryResults, Fault> {
        let mut results = Vec::new();
        for variant in &self.options.variants {
            let answers = stream::iter(asked)
                .map(|(query, about)| {
                    let question = (set, *query, about.as_deref());
                    question::run_query(self.experiment, standing, question, variant)
                })
                .buffered(CONCURRENT_QUERIES);
            results.push(answers.try_collect::<Vec<_>>().await?);
        }
        Ok(RepositoryResults { chunks: standing.chunks, results })
    }

    /// Reports a repository's NDCG with each variant, the rate of queries unless they were taken over, and the time left.
    #[expect(clippy::cast_precision_loss, reason = "counts of queries and repositories")]
    fn report_progress(
        &self,
        place: Place,
        set: &QuerySet,
        results: &RepositoryResults,
        seconds: Option<f64>,
    ) {
        let scores = self.options.variants.iter().zip(&results.results).map(|(variant, results)| {
            let answered: Vec<_> = results.iter().filter(|result| !result.absent).collect();
            match answered.len() {
                0 => format!("{} -", variant.name),
                _ => format!("{} {:.3}", variant.name, QueryFigures::from_results(&answered).ndcg10),
            }
        });
        let asked: usize = results.results.iter().map(Vec::len).sum();
        let (done, all) = (self.measured.len(), self.to_measure);
        let each = self.started.elapsed().as_secs_f64() / self.measured_now.max(1) as f64;
        let rate = seconds.map_or("taken over".to_owned(), |seconds| {
            format!("{:.1} queries/s", asked as f64 / seconds.max(1e-3))
        });
        (self.on_progress)(&format!(
            "{} ({}): {} chunks, NDCG@10 {}; {rate}; {done} of {all}, about {:.0} s left",
            set.label(),
            place.word(),
            results.chunks,
            scores.collect::<Vec<_>>().join(", "),
            each * all.saturating_sub(done) as f64,
        ));
    }

    /// The report on the measurements so far.
    fn report(&self) -> QualityReport {
        let places = [Place::Alone, Place::Named, Place::NotNamed];
        let of_place = |place: Place| self.measured.iter().filter(move |(of, _)| *of == place);
        let results = |place: Place, at: usize| -> Vec<&QueryResult> {
            of_place(place).flat_map(|(_, results)| &results.results[at]).collect()
        };
        let mut variants = Vec::new();
        let measured_places = places.into_iter().filter(|place| of_place(*place).next().is_some());
        for place in measured_places.clone() {
            for (at, variant) in self.options.variants.iter().enumerate() {
                let alone = (place != Place::Alone).then(|| results(Place::Alone, at));
                let alone = alone.filter(|alone| !alone.is_empty());
                let details = self.options.details;
                let of = results(place, at);
                variants.push(VariantResult::from_results(variant, place, &of, alone.as_deref(), details));
            }
        }
        let first = measured_places.clone().next().unwrap_or(Place::Alone);
        let leave_out = |place: Place| {
            let each = self.options.variants.iter().enumerate();
            let candidates: Vec<_> = each.map(|(at, variant)| (variant, results(place, at))).collect();
            leave_out::choose(place, &candidates)
        };
        let leave_out = if self.options.modes.leave_out {
            measured_places.flat_map(leave_out).collect()
        } else {
            Vec::new()
        };
        QualityReport {
            repositories: of_place(first).count(),
            chunks: of_place(first).map(|(_, results)| results.chunks).sum(),
            missing: self.missing.clone(),
            model: self.model.clone(),
            vectors: self.options.vectors.clone(),
            tokenizer: "cl100k_base",
            questions_without_vectors: variants.iter().map(|variant| variant.questions_without_vectors).sum(),
            variants,
            leave_out,
        }
    }
}

impl QualityReport {
    /// The failure of a run whose figures do not measure what they claim to.
    ///
    /// # Errors
    /// `GATE_FAILED` if queries were answered without their vectors, unless `allow_degraded`.
    pub fn verdict(&self, allow_degraded: bool) -> Result<(), Fault> {
        require_vectors(self.questions_without_vectors, allow_degraded)
    }
}

/// Fails if queries were answered without their vectors.
pub(super) fn require_vectors(questions_without_vectors: usize, allow_degraded: bool) -> Result<(), Fault> {
    if questions_without_vectors == 0 || allow_degraded {
        return Ok(());
    }
    let message = format!(
        "{questions_without_vectors} queries were answered without their vectors, so the figures are wrong."
    );
    Err(Fault::new(ErrorCode::GateFailed, message).with_hint(
        "Repeat the run on a machine with less load, or accept the figures with --allow-degraded.",
    ))
}
