//! Tests of snapshots after each event, and of refused logs.

use proptest::prelude::*;

use super::*;
use crate::event::LogHead;
use crate::ids::Trace;
use crate::issue::{Rule, Severity};

/// A log under construction.
struct Log {
    events: Vec<Event>,
    head: LogHead,
}

impl Log {
    fn new() -> Self {
        let mut log = Self { events: Vec::new(), head: LogHead::EMPTY };
        log.add(EventBody::RunCreated(RunCreated {
            product_slug: "shop".to_owned(),
            config_hash: "ab".to_owned(),
            repository_id: 3,
            repo_sha: "c".repeat(40),
            site_profile: "docs".to_owned(),
            site_sha: "d".repeat(40),
        }));
        log
    }

    fn add(&mut self, body: EventBody) -> &mut Self {
        let ts_ms = 1_000 + i64::from(self.head.seq);
        let event = Event::seal("r", self.head, ts_ms, &body, &Trace::of_call(None, 0));
        self.head = event.head();
        self.events.push(event);
        self
    }

    fn step(&mut self, taken: Step) -> &mut Self {
        let from = self.snapshot().state;
        let to = step(from, taken).unwrap();
        self.add(EventBody::state_changed(from, to, taken))
    }

    fn write(&mut self, name: &str, version: u32) -> &mut Self {
        self.add(EventBody::ArtifactWritten(ArtifactWritten {
            name: name.to_owned(),
            version,
            sha256: "00".to_owned(),
            content_type: "text/markdown".to_owned(),
            schema_id: None,
            writer: "w".to_owned(),
            bytes: 1,
        }))
    }

    fn snapshot(&self) -> RunSnapshot {
        RunSnapshot::fold(&self.events).unwrap()
    }
}

/// Returns a run in a state, without any other events.
pub(crate) fn in_state(state: RunState) -> RunSnapshot {
    RunSnapshot { state, ..Log::new().snapshot() }
}

fn item(worker: &str, attempt: u16) -> ItemRef {
    ItemRef { worker: worker.to_owned(), scope_key: String::new(), attempt }
}

fn issue(subject: &str) -> Issue {
    let rule = Rule::fixable("code", "Title");
    Issue::new("links", &rule, Severity::Error, Some(("a.md", Some(3))), subject, String::new())
}

/// The steps from the beginning to the first validation.
const TO_VALIDATING: [Step; 8] = [
    Step::CloneInputs,
    Step::Ingest,
    Step::CollectFacts,
    Step::Plan,
    Step::BeginDrafts,
    Step::EndDrafts,
    Step::Link,
    Step::Validate,
];

fn validating() -> Log {
    let mut log = Log::new();
    for taken in TO_VALIDATING {
        log.step(taken);
    }
    log
}

#[test]
fn items_pass_through_their_states() {
    let mut log = Log::new();
    log.add(EventBody::WorkItemQueued(item("scout", 1)));
    assert_eq!(log.snapshot().unfinished(), [item("scout", 1)]);
    log.add(EventBody::WorkItemStarted { item: item("scout", 1), inputs_hash: "aa".to_owned() });
    log.add(EventBody::WorkItemFailed { item: item("scout", 1), error: Failure::new("INTERNAL", "m") });
    log.add(EventBody::WorkItemQueued(item("scout", 2)));
    log.add(EventBody::WorkItemStarted { item: item("scout", 2), inputs_hash: "aa".to_owned() });
    log.add(EventBody::WorkItemFinished { item: item("scout", 2), outputs: Vec::new(), report_ok: None });
    let snapshot = log.snapshot();
    assert!(snapshot.unfinished().is_empty());
    let (key, last) = snapshot.latest("scout", "").unwrap();
    assert_eq!((key.attempt, last.state, last.inputs_hash.as_str()), (2, ItemState::Finished, "aa"));
    assert_eq!((last.started_ms, last.finished_ms), (Some(1_005), Some(1_006)));
    assert_eq!(snapshot.items[&item("scout", 1)].state, ItemState::Failed);
    assert_eq!(snapshot.latest("facts", ""), None);
}

#[test]
fn a_fix_remembers_its_issue_and_whether_it_changed_something() {
    let mut log = validating();
    log.write(VALIDATION_REPORT, 4);
    let begin = EventBody::RunStateChanged {
        from: RunState::Validating,
        to: RunState::Fixing,
        step: Step::BeginFix,
        issue_id: Some("abc".to_owned()),
        job_id: Some("j".to_owned()),
    };
    log.add(begin);
    let fixing = Fixing { issue_id: "abc".to_owned(), report_version: 4, changed: None };
    assert_eq!((log.snapshot().fixing, log.snapshot().fix_attempts), (Some(fixing.clone()), 1));
    log.add(EventBody::WorkItemQueued(item(FIX, 1)));
    let mut without_change = Log { events: log.events.clone(), head: log.head };
    let finished = EventBody::WorkItemFinished { item: item(FIX, 1), outputs: Vec::new(), report_ok: None };
    without_change.add(finished.clone());
    assert_eq!(without_change.snapshot().fixing, Some(Fixing { changed: Some(false), ..fixing.clone() }));
    let patch = EventBody::PatchApplied {
        patch_ids: vec!["p".to_owned()],
        paths: vec!["a.md".to_owned()],
        tree: "t".to_owned(),
    };
    log.add(patch).add(finished);
    assert_eq!(log.snapshot().fixing, Some(Fixing { changed: Some(true), ..fixing }));
    assert_eq!(log.snapshot().site_tree.as_deref(), Some("t"));
    log.step(Step::EndFix);
    assert_eq!((log.snapshot().fixing, log.snapshot().state), (None, RunState::Validating));
}

#[test]
fn an_issue_can_open_again() {
    let mut log = validating();
    let (first, second) = (issue("one"), issue("two"));
    log.add(EventBody::IssueOpened(first.clone())).add(EventBody::IssueOpened(second.clone()));
    log.add(EventBody::IssueResolved { issue_id: first.issue_id.clone() });
    let open: Vec<String> = log.snapshot().open_issues().iter().map(|issue| issue.issue_id.clone()).collect();
    assert_eq!(open, [second.issue_id]);
    log.add(EventBody::IssueOpened(first.clone()));
    let snapshot = log.snapshot();
    assert_eq!(snapshot.open_issues().len(), 2);
    let tracked = &snapshot.issues[&first.issue_id];
    assert_eq!((tracked.opened_seq, tracked.closed_seq), (snapshot.seq, None));
}

#[test]
fn the_latest_version_of_an_artifact_counts() {
    let mut log = Log::new();
    log.write("a.md", 1).write("b.md", 1).write("a.md", 2);
    let snapshot = log.snapshot();
    let versions: Vec<(&str, u32)> =
        snapshot.artifacts.iter().map(|(name, artifact)| (name.as_str(), artifact.version)).collect();
    assert_eq!(versions, [("a.md", 2), ("b.md", 1)]);
}

#[test]
fn the_end_of_a_run_has_a_time() {
    let mut log = validating();
    assert_eq!(log.snapshot().finished_ms, None);
    log.step(Step::Fail).add(EventBody::RunFailed { failure: Failure::new("FIX_EXHAUSTED", "m") });
    let snapshot = log.snapshot();
    assert_eq!((snapshot.state, snapshot.finished_ms), (RunState::Failed, Some(1_009)));
    assert_eq!(snapshot.failure.map(|failure| failure.code).as_deref(), Some("FIX_EXHAUSTED"));
}

#[test]
fn logs_that_no_run_has_are_refused() {
    let refused = |bodies: Vec<EventBody>| {
        let mut log = Log::new();
        for body in bodies {
            log.add(body);
        }
        RunSnapshot::fold(&log.events).unwrap_err().seq
    };
    assert_eq!(RunSnapshot::fold(&[]).unwrap_err().seq, 0);
    let created = Log::new().events[0].body().unwrap();
    assert_eq!(refused(vec![created]), 2);
    let skips = EventBody::state_changed(RunState::Created, RunState::Done, Step::Finish);
    assert_eq!(refused(vec![skips]), 2);
    let lies = EventBody::state_changed(RunState::Ingested, RunState::ClonedInputs, Step::CloneInputs);
    assert_eq!(refused(vec![lies]), 2);
    let finished =
        EventBody::WorkItemFinished { item: item("scout", 1), outputs: Vec::new(), report_ok: None };
    assert_eq!(refused(vec![finished]), 2);
    assert_eq!(refused(vec![EventBody::IssueResolved { issue_id: "abc".to_owned() }]), 2);
    let mut log = Log::new();
    log.add(EventBody::GateRunStarted { gate: "links".to_owned() });
    assert_eq!(RunSnapshot::fold(&log.events[1..]).unwrap_err().seq, 2, "it does not begin");
}

#[test]
fn the_json_lists_items_with_their_keys() {
    let mut log = Log::new();
    log.add(EventBody::WorkItemQueued(item("scout", 1)));
    let value = log.snapshot().to_json();
    assert_eq!(value["schema_version"], SNAPSHOT_SCHEMA_VERSION);
    assert_eq!((&value["items"][0]["worker"], &value["items"][0]["attempt"]), (&"scout".into(), &1.into()));
}

proptest! {
    /// Adding events one after another gives the same result at each event as folding the log up to there.
    #[test]
    fn applying_is_folding(taken in prop::collection::vec(0_usize..6, 0..40)) {
        let mut log = Log::new();
        let mut applied = log.snapshot();
        for (number, choice) in taken.into_iter().enumerate() {
            let attempt = u16::try_from(number).unwrap();
            match choice {
                0 => log.add(EventBody::WorkItemQueued(item("scout", attempt))),
                1 => log.write("a.md", u32::from(attempt)),
                2 => log.add(EventBody::IssueOpened(issue(&number.to_string()))),
                3 => match TO_VALIDATING.get(usize::from(log.snapshot().state as u8)) {
                    Some(next) => log.step(*next),
                    None => log.write("b.md", u32::from(attempt)),
                },
                4 => log.add(EventBody::InputsPending(InputsPending { reason: "r".to_owned(), job_id: "j".to_owned(), attached: false })),
                _ => log.add(EventBody::ToolCalled { tool: "t".to_owned(), principal: "p".to_owned(), outcome: "ok".to_owned() }),
            };
            applied.apply(log.events.last().unwrap()).unwrap();
            prop_assert_eq!(&applied, &log.snapshot());
        }
    }
}

#[test]
fn a_run_waits_until_it_does_something_again() {
    let waiting = || {
        EventBody::InputsPending(InputsPending {
            reason: "not indexed".to_owned(),
            job_id: "j".to_owned(),
            attached: true,
        })
    };
    let mut log = Log::new();
    log.add(waiting()).step(Step::CloneInputs);
    assert_eq!(log.snapshot().pending, None);
    log.step(Step::Ingest).add(waiting());
    assert!(log.snapshot().pending.is_some());
    let mut without_item = Log { events: log.events.clone(), head: log.head };
    without_item.step(Step::CollectFacts);
    assert_eq!(without_item.snapshot().pending, None);
    log.add(EventBody::WorkItemQueued(item("facts", 1)));
    log.add(EventBody::WorkItemStarted { item: item("facts", 1), inputs_hash: "aa".to_owned() });
    assert_eq!(log.snapshot().pending, None);
}
