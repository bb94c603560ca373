//! Decides which calls of a queue run, wait, go next and are refused. Pure: nothing here waits or reads a clock.
//!
//! Each principal has its own waiting calls. A free slot goes to the principal with the fewest running calls; principals with
//! equally many take turns. When the queue is full, the newest waiting call of the principal with the most waiting calls is
//! displaced by a newcomer with fewer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tenancy::Principal;

/// Identifies a waiting call.
pub(super) type Ticket = u64;

/// The principal of a call. The local operator may use all slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requester {
    pub(super) id: Arc<str>,
    pub(super) is_local: bool,
}

impl From<&Principal> for Requester {
    fn from(principal: &Principal) -> Self {
        Self { id: principal.id.as_str().into(), is_local: principal.is_local }
    }
}

/// Outcome for a call that enters the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It has a slot and runs.
    Started,
    /// It waits.
    Waits {
        /// Its ticket.
        ticket: Ticket,
        /// The number of other waiting calls.
        others: usize,
        /// The waiting call that it displaced, which is refused.
        displaced: Option<Ticket>,
    },
    /// It may not even wait.
    Refused,
}

/// The running and waiting calls of one queue.
#[derive(Debug)]
pub(super) struct FairQueue {
    slots: usize,
    waiting_max: usize,
    last_ticket: Ticket,
    /// A logical clock. It advances by two with each call that starts, so that there is a time between any two starts.
    now: u64,
    principals: BTreeMap<Arc<str>, PrincipalCalls>,
}

/// The calls of one principal.
#[derive(Debug, Default)]
struct PrincipalCalls {
    is_local: bool,
    running: usize,
    /// Calls that released their slot while they wait for the run of another call.
    parked: usize,
    waiting: VecDeque<Ticket>,
    /// The logical time at which a call last started.
    last_start: u64,
}

impl PrincipalCalls {
    fn is_empty(&self) -> bool {
        self.running == 0 && self.parked == 0 && self.waiting.is_empty()
    }
}

impl FairQueue {
    pub(super) fn new(slots: usize, waiting_max: usize) -> Self {
        Self { slots, waiting_max, last_ticket: 0, now: 0, principals: BTreeMap::new() }
    }

    /// The number of running calls.
    pub(super) fn running(&self) -> usize {
        self.principals.values().map(|calls| calls.running).sum()
    }

    /// The number of waiting calls.
    pub(super) fn waiting(&self) -> usize {
        self.principals.values().map(|calls| calls.waiting.len()).sum()
    }

    /// Maximum number of slots of one principal: all but one if there are several, so that the first call of another principal never waits
    /// for a long run. The local operator may use all.
    fn slots_per_principal(&self, is_local: bool) -> usize {
        if is_local { self.slots } else { self.slots.saturating_sub(1).max(1) }
    }

    /// Maximum number of waiting calls of one principal: three quarters of the queue.
    fn waiting_per_principal(&self, is_local: bool) -> usize {
        if is_local { self.waiting_max } else { self.waiting_max - self.waiting_max / 4 }
    }

    /// Starts a new call, lets it wait, or refuses it.
    pub(super) fn arrive(&mut self, requester: &Requester) -> Arrival {
        let is_slot_free = self.running() < self.slots;
        let slots_max = self.slots_per_principal(requester.is_local);
        let waiting_max = self.waiting_per_principal(requester.is_local);
        let all_waiting = self.waiting();
        let calls = self.calls_of(requester);
        let (waiting, parked) = (calls.waiting.len(), calls.parked);
        let may_start = waiting == 0 && calls.running < slots_max && parked < waiting_max.max(1);
        let arrival = if is_slot_free && may_start {
            self.start(&requester.id);
            Arrival::Started
        } else if waiting + parked >= waiting_max {
            Arrival::Refused
        } else if all_waiting < self.waiting_max {
            self.wait(requester, None)
        } else {
            match self.greediest().filter(|(_, most)| *most >= waiting + 2) {
                Some((greediest, _)) => {
                    let displaced =
                        self.principals.get_mut(&greediest).and_then(|calls| calls.waiting.pop_back());
                    self.wait(requester, displaced)
                }
                None => Arrival::Refused,
            }
        };
        self.remove_if_empty(&requester.id);
        arrival
    }

    /// Counts work that starts later as parked; false if its principal may not have more waiting calls.
    pub(super) fn arrive_parked(&mut self, requester: &Requester) -> bool {
        let waiting_max = self.waiting_per_principal(requester.is_local);
        let calls = self.calls_of(requester);
        let may_wait = calls.waiting.len() + calls.parked < waiting_max.max(1);
        if may_wait {
            calls.parked += 1;
        }
        self.remove_if_empty(&requester.id);
        may_wait
    }

    /// Starts a parked call or lets it wait. It is never refused, because it was admitted before.
    pub(super) fn resume_parked(&mut self, requester: &Requester) -> Arrival {
        let is_slot_free = self.running() < self.slots;
        let slots_max = self.slots_per_principal(requester.is_local);
        let calls = self.calls_of(requester);
        calls.parked = calls.parked.saturating_sub(1);
        if is_slot_free && calls.waiting.is_empty() && calls.running < slots_max {
            self.start(&requester.id);
            return Arrival::Started;
        }
        self.wait(requester, None)
    }

    /// Counts a call as parked. The caller ends its run with [`FairQueue::finish`].
    pub(super) fn add_parked(&mut self, requester: &Requester) {
        self.calls_of(requester).parked += 1;
    }

    /// Removes a parked call that ended.
    pub(super) fn remove_parked(&mut self, requester: &Requester) {
        let calls = self.calls_of(requester);
        calls.parked = calls.parked.saturating_sub(1);
        self.remove_if_empty(&requester.id);
    }

    /// Removes a running call. Returns the waiting calls that start instead.
    pub(super) fn finish(&mut self, requester: &Requester) -> Vec<Ticket> {
        let calls = self.calls_of(requester);
        calls.running = calls.running.saturating_sub(1);
        let mut started = Vec::new();
        while self.running() < self.slots {
            let Some(next) = self.next_principal() else { break };
            started.extend(self.principals.get_mut(&next).and_then(|calls| calls.waiting.pop_front()));
            self.start(&next);
        }
        self.remove_if_empty(&requester.id);
        started
    }

    /// Removes a waiting call; false if it was not waiting.
    pub(super) fn leave(&mut self, requester: &Requester, ticket: Ticket) -> bool {
        let calls = self.calls_of(requester);
        let before = calls.waiting.len();
        calls.waiting.retain(|other| *other != ticket);
        let has_left = calls.waiting.len() < before;
        self.remove_if_empty(&requester.id);
        has_left
    }

    /// The principal whose waiting call starts next.
    fn next_principal(&self) -> Option<Arc<str>> {
        let ready = self.principals.iter().filter(|(_, calls)| {
            !calls.waiting.is_empty() && calls.running < self.slots_per_principal(calls.is_local)
        });
        let next =
            ready.min_by_key(|(_, calls)| (calls.running, calls.last_start, calls.waiting.front().copied()));
        next.map(|(id, _)| Arc::clone(id))
    }

    /// The principal with the most waiting calls, and their number.
    fn greediest(&self) -> Option<(Arc<str>, usize)> {
        let (id, calls) = self.principals.iter().max_by_key(|(_, calls)| calls.waiting.len())?;
        Some((Arc::clone(id), calls.waiting.len()))
    }

    fn wait(&mut self, requester: &Requester, displaced: Option<Ticket>) -> Arrival {
        let others = self.waiting();
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.calls_of(requester).waiting.push_back(ticket);
        Arrival::Waits { ticket, others, displaced }
    }

    fn start(&mut self, id: &Arc<str>) {
        self.now += 2;
        if let Some(calls) = self.principals.get_mut(id) {
            calls.running += 1;
            calls.last_start = self.now;
        }
    }

    /// The calls of a principal. A new one goes before the principal whose call started last, and after all others.
    fn calls_of(&mut self, requester: &Requester) -> &mut PrincipalCalls {
        let last_start = self.now.saturating_sub(1);
        self.principals.entry(Arc::clone(&requester.id)).or_insert_with(|| PrincipalCalls {
            is_local: requester.is_local,
            last_start,
            ..PrincipalCalls::default()
        })
    }

    fn remove_if_empty(&mut self, id: &Arc<str>) {
        if self.principals.get(id).is_some_and(PrincipalCalls::is_empty) {
            self.principals.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(number: usize) -> Requester {
        Requester { id: format!("key:{number}").into(), is_local: false }
    }

    fn ticket(arrival: &Arrival) -> Ticket {
        let Arrival::Waits { ticket, .. } = arrival else { panic!("{arrival:?}") };
        *ticket
    }

    #[test]
    fn one_principal_cannot_use_all_slots_or_the_whole_queue() {
        let mut queue = FairQueue::new(2, 8);
        assert_eq!(queue.arrive(&key(1)), Arrival::Started);
        for _ in 0..6 {
            ticket(&queue.arrive(&key(1)));
        }
        assert_eq!(queue.arrive(&key(1)), Arrival::Refused, "three quarters of the queue");
        assert_eq!(queue.arrive(&key(2)), Arrival::Started, "the second slot is left for others");
        let local = Requester { id: "local".into(), is_local: true };
        let mut queue = FairQueue::new(2, 1);
        assert_eq!((queue.arrive(&local), queue.arrive(&local)), (Arrival::Started, Arrival::Started));
        ticket(&queue.arrive(&local));
    }

    #[test]
    fn a_call_is_displaced_only_by_a_principal_with_fewer() {
        let mut queue = FairQueue::new(1, 4);
        assert_eq!(queue.arrive(&key(1)), Arrival::Started);
        let greedy: Vec<_> = (0..3).map(|_| ticket(&queue.arrive(&key(1)))).collect();
        ticket(&queue.arrive(&key(2)));
        let Arrival::Waits { displaced, others, .. } = queue.arrive(&key(3)) else { panic!() };
        assert_eq!((displaced, others), (Some(greedy[2]), 3));
        assert_eq!(queue.arrive(&key(3)), Arrival::Refused, "it would have as many waiting calls");
        assert_eq!(queue.waiting(), 4);
    }

    #[test]
    fn principals_take_turns() {
        let mut queue = FairQueue::new(1, 100);
        let mut owner = BTreeMap::new();
        queue.arrive(&key(0));
        for number in [0, 0, 0, 1, 1, 1, 2, 2, 2] {
            owner.insert(ticket(&queue.arrive(&key(number))), number);
        }
        let (mut order, mut running) = (Vec::new(), 0);
        while let Some(next) = queue.finish(&key(running)).pop() {
            running = owner[&next];
            order.push(running);
        }
        assert_eq!(order, [1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert!(queue.principals.is_empty(), "idle principals are removed");
    }

    #[test]
    fn a_parked_call_holds_no_slot_and_counts_for_its_own_principal() {
        let mut queue = FairQueue::new(1, 4);
        assert_eq!(queue.arrive(&key(1)), Arrival::Started);
        let waits = ticket(&queue.arrive(&key(2)));
        queue.add_parked(&key(1));
        assert_eq!(queue.finish(&key(1)), [waits]);
        assert_eq!((queue.running(), queue.waiting()), (1, 0));
        ticket(&queue.resume_parked(&key(1)));
        assert_eq!(queue.finish(&key(2)).len(), 1);
        for _ in 0..3 {
            queue.add_parked(&key(1));
        }
        queue.finish(&key(1));
        assert_eq!(queue.arrive(&key(1)), Arrival::Refused, "its parked calls count as waiting");
        assert_eq!(queue.arrive(&key(2)), Arrival::Started);
    }

    #[test]
    fn work_that_starts_later_counts_towards_the_share_of_its_principal() {
        let mut queue = FairQueue::new(2, 4);
        assert!((0..3).all(|_| queue.arrive_parked(&key(1))));
        assert!(!queue.arrive_parked(&key(1)), "three quarters of the queue");
        assert!(queue.arrive_parked(&key(2)));
        assert_eq!(
            (0..3).map(|_| queue.resume_parked(&key(1))).filter(|next| *next == Arrival::Started).count(),
            1
        );
        assert_eq!(queue.resume_parked(&key(2)), Arrival::Started);
    }

    proptest! {
        /// In any sequence of events: no limit is exceeded, no slot is free while a call could use it, only greedy principals
        /// are refused, and the principal with the fewest running calls goes first.
        #[test]
        fn shares_are_fair(
            slots in 1_usize..5,
            waiting_max in 0_usize..12,
            steps in prop::collection::vec((0_usize..5, 0_u8..4, any::<prop::sample::Index>()), 1..300),
        ) {
            let mut queue = FairQueue::new(slots, waiting_max);
            let (mut waits, mut runs): (Vec<(usize, Ticket)>, Vec<usize>) = (Vec::new(), Vec::new());
            let all: Vec<Requester> = (0..5).map(|n| Requester { is_local: n == 0, ..key(n) }).collect();
            for (number, step, index) in steps {
                let requester = &all[number];
                let most = |n: usize| if n == 0 { slots } else { (slots - 1).max(1) };
                match step {
                    0 | 1 => {
                        let mine = waits.iter().filter(|(n, _)| *n == number).count();
                        let longest = (0..5)
                            .map(|n| waits.iter().filter(|(other, _)| *other == n).count()).max().unwrap_or(0);
                        let own_max = if number == 0 { waiting_max } else { waiting_max - waiting_max / 4 };
                        match queue.arrive(requester) {
                            Arrival::Started => runs.push(number),
                            Arrival::Refused => prop_assert!(
                                mine >= own_max || (waits.len() >= waiting_max && longest < mine + 2)
                            ),
                            Arrival::Waits { ticket, displaced, others } => {
                                prop_assert_eq!(others, waits.len() - usize::from(displaced.is_some()));
                                if let Some(displaced) = displaced {
                                    let at = waits.iter().position(|(_, t)| *t == displaced).unwrap();
                                    let (owner, _) = waits.remove(at);
                                    let left = waits.iter().filter(|(n, _)| *n == owner).count();
                                    prop_assert_eq!(left + 1, longest);
                                    prop_assert!(
                                        !waits.iter().any(|(n, t)| *n == owner && *t > displaced), "the displaced call was not the newest"
                                    );
                                }
                                waits.push((number, ticket));
                            }
                        }
                    }
                    2 if !runs.is_empty() => {
                        let ended = runs.swap_remove(index.index(runs.len()));
                        for started in queue.finish(&all[ended]) {
                            let at = waits.iter().position(|(_, t)| *t == started).unwrap();
                            let (owner, _) = waits.remove(at);
                            let running = |n: usize| runs.iter().filter(|other| **other == n).count();
                            prop_assert!(
                                waits.iter().all(|(n, _)| running(*n) >= running(owner) || running(*n) >= most(*n))
                            );
                            runs.push(owner);
                        }
                    }
                    3 if !waits.is_empty() => {
                        let (owner, ticket) = waits.swap_remove(index.index(waits.len()));
                        prop_assert!(queue.leave(&all[owner], ticket));
                        prop_assert!(!queue.leave(&all[owner], ticket));
                    }
                    _ => {}
                }
                prop_assert_eq!((queue.running(), queue.waiting()), (runs.len(), waits.len()));
                prop_assert!(runs.len() <= slots && waits.len() <= waiting_max);
                for number in 0..5 {
                    let running = runs.iter().filter(|n| **n == number).count();
                    prop_assert!(running <= most(number));
                    let waiting = waits.iter().any(|(n, _)| *n == number);
                    prop_assert!(!waiting || runs.len() == slots || running == most(number), "a slot is idle");
                }
            }
        }
    }
}
