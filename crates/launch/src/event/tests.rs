//! Tests of the form of events, and of changes that break their chain.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::issue::{Rule, Severity};

fn trace() -> Trace {
    Trace::of_call(Some("request"), 7).below_call()
}

fn item() -> ItemRef {
    ItemRef { worker: "write".to_owned(), scope_key: "docs".to_owned(), attempt: 2 }
}

/// One event of each type.
#[expect(clippy::too_many_lines, reason = "one of each type")]
fn bodies() -> Vec<EventBody> {
    let rule = Rule::new("code", "Title");
    let issue = Issue::new("links", &rule, Severity::Error, Some(("a.md", Some(3))), "x", "m".to_owned());
    let failure = Failure::new("INTERNAL", "It failed.").with_details(json!({ "b": 1, "a": [2] }));
    vec![
        EventBody::RunCreated(RunCreated {
            product_slug: "shop".to_owned(),
            config_hash: "ab".to_owned(),
            repository_id: 3,
            repo_sha: "c".repeat(40),
            site_profile: "docs".to_owned(),
            site_sha: "d".repeat(40),
        }),
        EventBody::InputsPending(InputsPending {
            reason: "not indexed".to_owned(),
            job_id: "j".to_owned(),
            attached: true,
        }),
        EventBody::WorkItemQueued(item()),
        EventBody::WorkItemStarted { item: item(), inputs_hash: "00".to_owned() },
        EventBody::WorkItemFinished {
            item: item(),
            outputs: vec![ArtifactRef { name: "a.json".to_owned(), sha256: "11".to_owned() }],
            report_ok: Some(false),
        },
        EventBody::WorkItemFailed { item: item(), error: failure.clone() },
        EventBody::ArtifactWritten(ArtifactWritten {
            name: "a.json".to_owned(),
            version: 1,
            sha256: "11".to_owned(),
            content_type: "application/json".to_owned(),
            schema_id: None,
            writer: "write".to_owned(),
            bytes: 9,
        }),
        EventBody::GateRunStarted { gate: "links".to_owned() },
        EventBody::GateRunFinished { gate: "links".to_owned(), status: GateStatus::Failed, issues: 1 },
        EventBody::IssueOpened(issue),
        EventBody::IssueResolved { issue_id: "0123456789ab".to_owned() },
        EventBody::PatchApplied {
            patch_ids: vec!["patch_001".to_owned()],
            paths: vec!["a.md".to_owned()],
            tree: "e".repeat(40),
        },
        EventBody::state_changed(RunState::Created, RunState::ClonedInputs, Step::CloneInputs),
        EventBody::ResumeRewind {
            state: RunState::Drafting,
            boundary: RunState::PlanReady,
            dropped: vec![item()],
        },
        EventBody::ToolCalled {
            tool: "launch_resume".to_owned(),
            principal: "local".to_owned(),
            outcome: "ok".to_owned(),
        },
        EventBody::PublishPrepared {
            publish_key: "k".to_owned(),
            branch: "launch/r/shop".to_owned(),
            principal: Some("key:ada".to_owned()),
        },
        EventBody::PrOpened {
            opened: PrOpened {
                branch: "b".to_owned(),
                commit_sha: "f".repeat(40),
                pr_url: "/launch/runs/r".to_owned(),
                pr_number: None,
            },
            principal: Some("key:ada".to_owned()),
        },
        EventBody::SiteRebased(SiteRebased {
            from_sha: "b".repeat(40),
            site_sha: "c".repeat(40),
            tree: "d".repeat(40),
        }),
        EventBody::RunCompleted { artifacts: 12 },
        EventBody::RunFailed { failure },
        EventBody::RunCancelled { principal: "local".to_owned() },
    ]
}

fn log(bodies: &[EventBody]) -> Vec<Event> {
    let mut head = LogHead::EMPTY;
    let mut events = Vec::new();
    for (body, ts) in bodies.iter().zip(1_000..) {
        let event = Event::seal("r", head, ts, body, &trace());
        head = event.head();
        events.push(event);
    }
    events
}

#[test]
fn every_type_is_read_as_it_is_written() {
    for body in bodies() {
        let (kind, payload) = body.stored();
        assert!(kind.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'), "{kind}");
        assert!(!payload.contains('\n'), "{payload}");
        assert_eq!(EventBody::read(&kind, &payload).unwrap(), body, "{kind}");
    }
    assert!(EventBody::read("RUN_PAUSED", "{}").is_err());
}

#[test]
fn keys_of_payloads_are_sorted() {
    let failure = Failure::new("c", "m").with_details(json!({ "b": 1, "a": 2 }));
    let (_, payload) = EventBody::RunFailed { failure }.stored();
    assert_eq!(payload, r#"{"failure":{"code":"c","details":{"a":2,"b":1},"message":"m"}}"#);
}

#[test]
fn a_log_is_chained_from_its_first_event() {
    let events = log(&bodies());
    let last = events.last().unwrap().head();
    assert_eq!(verify_chain(LogHead::EMPTY, &events), Ok(last));
    let (first, rest) = events.split_at(4);
    let middle = verify_chain(LogHead::EMPTY, first).unwrap();
    assert_eq!(verify_chain(middle, rest), Ok(last));
}

#[test]
fn events_of_one_item_share_a_span_and_a_call_has_its_own() {
    let events = log(&bodies());
    let span = |kind: &str| events.iter().find(|event| event.kind == kind).unwrap().span_id.clone();
    assert_eq!(span("WORK_ITEM_STARTED"), span("WORK_ITEM_FINISHED"));
    assert_ne!(span("WORK_ITEM_STARTED"), span("RUN_CREATED"));
    assert_eq!(span("TOOL_CALLED"), Trace::of_call(Some("request"), 7).call_span());
    let parent = |kind: &str| events.iter().find(|event| event.kind == kind).unwrap().parent_span_id.clone();
    assert_eq!((parent("TOOL_CALLED"), parent("RUN_CREATED")), (None, Some(span("TOOL_CALLED"))));
}

#[test]
fn every_field_is_covered_by_the_hash() {
    let events = log(&bodies()[..3]);
    let changes: [fn(&mut Event); 9] = [
        |event| event.run_id.push('x'),
        |event| event.seq += 1,
        |event| event.event_id.push('0'),
        |event| event.ts_ms += 1,
        |event| event.kind.push('X'),
        |event| event.payload = event.payload.replace('d', "e"),
        |event| event.trace_id.push('0'),
        |event| event.span_id.push('0'),
        |event| event.parent_span_id = None,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = events.clone();
        change(&mut changed[1]);
        assert_eq!(verify_chain(LogHead::EMPTY, &changed), Err(BrokenChain { seq: 2 }), "change {number}");
    }
    let mut without = events;
    without.remove(1);
    assert_eq!(verify_chain(LogHead::EMPTY, &without), Err(BrokenChain { seq: 2 }));
}

proptest! {
    /// Replacing any single event by another one breaks the chain there or right after.
    #[test]
    fn a_replaced_event_is_noticed(order in prop::collection::vec(0_usize..20, 2..30), at in 0_usize..30, other in 0_usize..20) {
        let bodies = bodies();
        let chosen: Vec<EventBody> = order.iter().map(|index| bodies[*index].clone()).collect();
        let mut events = log(&chosen);
        let at = at % events.len();
        prop_assume!(bodies[other] != chosen[at]);
        let head = if at == 0 { LogHead::EMPTY } else { events[at - 1].head() };
        events[at] = Event::seal("r", head, events[at].ts_ms, &bodies[other], &trace());
        let broken = verify_chain(LogHead::EMPTY, &events);
        // The last event has no follower; its replacement is noticed by the number and hash in the run's row.
        let is_last = at + 1 == events.len();
        prop_assert_eq!(broken.is_ok(), is_last);
    }
}
