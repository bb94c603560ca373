//! Who runs, who waits, who goes next and who is refused. Nothing here waits or keeps time.
//!
//! Each principal has a waiting line of its own. A free place goes to the principal that runs the fewest calls; among equals
//! their lines take turns. When too many wait in all, the newest call of the longest line makes room for a newcomer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tenancy::Principal;

/// A call that waits.
pub(super) type Ticket = u64;

/// Whose call it is, and whether that is the operator of this machine, who need not leave room for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Who {
    pub(super) id: Arc<str>,
    pub(super) is_local: bool,
}

impl From<&Principal> for Who {
    fn from(principal: &Principal) -> Self {
        Self { id: principal.id.as_str().into(), is_local: principal.is_local }
    }
}

/// What becomes of a call that arrives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It runs.
    Runs,
    /// It waits.
    Waits {
        /// Under this number.
        ticket: Ticket,
        /// While so many others wait.
        before: usize,
        /// This one, of a longer line, is refused for it.
        displaced: Option<Ticket>,
    },
    /// There is no place to wait.
    Refused,
}

/// The calls of one queue.
#[derive(Debug)]
pub(super) struct Line {
    places: usize,
    waiting_max: usize,
    tickets: Ticket,
    /// Rises by two with each call that begins to run, so that there is a number between any two.
    turn: u64,
    shares: BTreeMap<Arc<str>, Share>,
}

/// What one principal has of the queue.
#[derive(Debug, Default)]
struct Share {
    is_local: bool,
    running: usize,
    /// Calls that gave their place up while they wait for a run of another call.
    parked: usize,
    waiting: VecDeque<Ticket>,
    /// When a call of it last began to run.
    served: u64,
}

impl Share {
    fn is_empty(&self) -> bool {
        self.running == 0 && self.parked == 0 && self.waiting.is_empty()
    }
}

impl Line {
    pub(super) fn new(places: usize, waiting_max: usize) -> Self {
        Self { places, waiting_max, tickets: 0, turn: 0, shares: BTreeMap::new() }
    }

    /// How many calls run.
    pub(super) fn running(&self) -> usize {
        self.shares.values().map(|share| share.running).sum()
    }

    /// How many calls wait for a place.
    pub(super) fn waiting(&self) -> usize {
        self.shares.values().map(|share| share.waiting.len()).sum()
    }

    /// Places that a principal may have: one stays free for others, so that a newcomer never waits for a long run to end.
    fn places_of_one(&self, is_local: bool) -> usize {
        if is_local { self.places } else { self.places.saturating_sub(1).max(1) }
    }

    /// How many calls of a principal may wait: three quarters of all that may.
    fn waiting_of_one(&self, is_local: bool) -> usize {
        if is_local { self.waiting_max } else { self.waiting_max - self.waiting_max / 4 }
    }

    /// A call arrives.
    pub(super) fn arrive(&mut self, who: &Who) -> Arrival {
        let free = self.running() < self.places;
        let (places, waiting_max) = (self.places_of_one(who.is_local), self.waiting_of_one(who.is_local));
        let all = self.waiting();
        let share = self.share(who);
        let (waits, parked) = (share.waiting.len(), share.parked);
        let arrival = if free && waits == 0 && share.running < places && parked < waiting_max.max(1) {
            self.begin(&who.id);
            Arrival::Runs
        } else if waits + parked >= waiting_max {
            Arrival::Refused
        } else if all < self.waiting_max {
            self.wait(who, None)
        } else {
            match self.longest().filter(|(_, length)| *length >= waits + 2) {
                Some((longest, _)) => {
                    let displaced = self.shares.get_mut(&longest).and_then(|share| share.waiting.pop_back());
                    self.wait(who, displaced)
                }
                None => Arrival::Refused,
            }
        };
        self.forget(&who.id);
        arrival
    }

    /// A parked call wants to run now. It was let in before and is not refused again.
    pub(super) fn return_from_parking(&mut self, who: &Who) -> Arrival {
        let free = self.running() < self.places;
        let places = self.places_of_one(who.is_local);
        let share = self.share(who);
        share.parked = share.parked.saturating_sub(1);
        if free && share.waiting.is_empty() && share.running < places {
            self.begin(&who.id);
            return Arrival::Runs;
        }
        self.wait(who, None)
    }

    /// One more call of `who` waits for something else and needs no place.
    pub(super) fn park(&mut self, who: &Who) {
        self.share(who).parked += 1;
    }

    /// A parked call is over.
    pub(super) fn unpark(&mut self, who: &Who) {
        let share = self.share(who);
        share.parked = share.parked.saturating_sub(1);
        self.forget(&who.id);
    }

    /// A call that ran is over; who runs now.
    pub(super) fn end(&mut self, who: &Who) -> Vec<Ticket> {
        let share = self.share(who);
        share.running = share.running.saturating_sub(1);
        let mut begun = Vec::new();
        while self.running() < self.places {
            let Some(next) = self.next() else { break };
            begun.extend(self.shares.get_mut(&next).and_then(|share| share.waiting.pop_front()));
            self.begin(&next);
        }
        self.forget(&who.id);
        begun
    }

    /// A call waits no more; false if it did not.
    pub(super) fn leave(&mut self, who: &Who, ticket: Ticket) -> bool {
        let share = self.share(who);
        let before = share.waiting.len();
        share.waiting.retain(|other| *other != ticket);
        let left = share.waiting.len() < before;
        self.forget(&who.id);
        left
    }

    /// The principal whose call goes next.
    fn next(&self) -> Option<Arc<str>> {
        let ready = self.shares.iter().filter(|(_, share)| {
            !share.waiting.is_empty() && share.running < self.places_of_one(share.is_local)
        });
        let next =
            ready.min_by_key(|(_, share)| (share.running, share.served, share.waiting.front().copied()));
        next.map(|(id, _)| Arc::clone(id))
    }

    /// The principal of which most calls wait.
    fn longest(&self) -> Option<(Arc<str>, usize)> {
        let longest = self.shares.iter().max_by_key(|(_, share)| share.waiting.len())?;
        Some((Arc::clone(longest.0), longest.1.waiting.len()))
    }

    fn wait(&mut self, who: &Who, displaced: Option<Ticket>) -> Arrival {
        let before = self.waiting();
        self.tickets += 1;
        let ticket = self.tickets;
        self.share(who).waiting.push_back(ticket);
        Arrival::Waits { ticket, before, displaced }
    }

    fn begin(&mut self, id: &Arc<str>) {
        self.turn += 2;
        if let Some(share) = self.shares.get_mut(id) {
            share.running += 1;
            share.served = self.turn;
        }
    }

    /// A newcomer comes before who was served last, and behind who waits longer than that.
    fn share(&mut self, who: &Who) -> &mut Share {
        let served = self.turn.saturating_sub(1);
        self.shares.entry(Arc::clone(&who.id)).or_insert_with(|| Share {
            is_local: who.is_local,
            served,
            ..Share::default()
        })
    }

    /// Nothing is kept of a principal without calls.
    fn forget(&mut self, id: &Arc<str>) {
        if self.shares.get(id).is_some_and(Share::is_empty) {
            self.shares.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(number: usize) -> Who {
        Who { id: format!("key:{number}").into(), is_local: false }
    }

    fn ticket(arrival: &Arrival) -> Ticket {
        let Arrival::Waits { ticket, .. } = arrival else { panic!("{arrival:?}") };
        *ticket
    }

    #[test]
    fn one_principal_leaves_a_place_and_room_to_wait() {
        let mut line = Line::new(2, 8);
        assert_eq!(line.arrive(&key(1)), Arrival::Runs);
        for _ in 0..6 {
            ticket(&line.arrive(&key(1)));
        }
        assert_eq!(line.arrive(&key(1)), Arrival::Refused, "three quarters of the line");
        assert_eq!(line.arrive(&key(2)), Arrival::Runs, "the second place is for others");
        let local = Who { id: "local".into(), is_local: true };
        let mut line = Line::new(2, 1);
        assert_eq!((line.arrive(&local), line.arrive(&local)), (Arrival::Runs, Arrival::Runs));
        ticket(&line.arrive(&local));
    }

    #[test]
    fn the_longest_line_makes_room_and_equals_do_not() {
        let mut line = Line::new(1, 4);
        assert_eq!(line.arrive(&key(1)), Arrival::Runs);
        let greedy: Vec<_> = (0..3).map(|_| ticket(&line.arrive(&key(1)))).collect();
        ticket(&line.arrive(&key(2)));
        let Arrival::Waits { displaced, before, .. } = line.arrive(&key(3)) else { panic!() };
        assert_eq!((displaced, before), (Some(greedy[2]), 3));
        assert_eq!(line.arrive(&key(3)), Arrival::Refused, "it would be as greedy");
        assert_eq!(line.waiting(), 4);
    }

    #[test]
    fn lines_take_turns() {
        let mut line = Line::new(1, 100);
        let mut owner = BTreeMap::new();
        line.arrive(&key(0));
        for number in [0, 0, 0, 1, 1, 1, 2, 2, 2] {
            owner.insert(ticket(&line.arrive(&key(number))), number);
        }
        let (mut order, mut running) = (Vec::new(), 0);
        while let Some(next) = line.end(&key(running)).pop() {
            running = owner[&next];
            order.push(running);
        }
        assert_eq!(order, [1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert!(line.shares.is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn a_parked_call_holds_no_place_and_counts_for_its_own_principal() {
        let mut line = Line::new(1, 4);
        assert_eq!(line.arrive(&key(1)), Arrival::Runs);
        let waits = ticket(&line.arrive(&key(2)));
        line.park(&key(1));
        assert_eq!(line.end(&key(1)), [waits]);
        assert_eq!((line.running(), line.waiting()), (1, 0));
        ticket(&line.return_from_parking(&key(1)));
        assert_eq!(line.end(&key(2)).len(), 1);
        for _ in 0..3 {
            line.park(&key(1));
        }
        line.end(&key(1));
        assert_eq!(line.arrive(&key(1)), Arrival::Refused, "as many as may wait");
        assert_eq!(line.arrive(&key(2)), Arrival::Runs);
    }

    proptest! {
        /// Whatever comes and goes: no bound is passed, no place idle while somebody may have it, nobody refused who is
        /// modest, and whoever runs least goes first.
        #[test]
        fn shares_are_fair(
            places in 1_usize..5,
            waiting_max in 0_usize..12,
            steps in prop::collection::vec((0_usize..5, 0_u8..4, any::<prop::sample::Index>()), 1..300),
        ) {
            let mut line = Line::new(places, waiting_max);
            let (mut waits, mut runs): (Vec<(usize, Ticket)>, Vec<usize>) = (Vec::new(), Vec::new());
            let all: Vec<Who> = (0..5).map(|n| Who { is_local: n == 0, ..key(n) }).collect();
            for (number, step, index) in steps {
                let who = &all[number];
                let most = |n: usize| if n == 0 { places } else { (places - 1).max(1) };
                match step {
                    0 | 1 => {
                        let mine = waits.iter().filter(|(n, _)| *n == number).count();
                        let longest = (0..5)
                            .map(|n| waits.iter().filter(|(other, _)| *other == n).count()).max().unwrap_or(0);
                        let own_max = if number == 0 { waiting_max } else { waiting_max - waiting_max / 4 };
                        match line.arrive(who) {
                            Arrival::Runs => runs.push(number),
                            Arrival::Refused => prop_assert!(
                                mine >= own_max || (waits.len() >= waiting_max && longest < mine + 2)
                            ),
                            Arrival::Waits { ticket, displaced, before } => {
                                prop_assert_eq!(before, waits.len() - usize::from(displaced.is_some()));
                                if let Some(displaced) = displaced {
                                    let at = waits.iter().position(|(_, t)| *t == displaced).unwrap();
                                    let (owner, _) = waits.remove(at);
                                    let left = waits.iter().filter(|(n, _)| *n == owner).count();
                                    prop_assert_eq!(left + 1, longest);
                                    prop_assert!(
                                        !waits.iter().any(|(n, t)| *n == owner && *t > displaced), "the newest"
                                    );
                                }
                                waits.push((number, ticket));
                            }
                        }
                    }
                    2 if !runs.is_empty() => {
                        let ended = runs.swap_remove(index.index(runs.len()));
                        for begun in line.end(&all[ended]) {
                            let at = waits.iter().position(|(_, t)| *t == begun).unwrap();
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
                        prop_assert!(line.leave(&all[owner], ticket));
                        prop_assert!(!line.leave(&all[owner], ticket));
                    }
                    _ => {}
                }
                prop_assert_eq!((line.running(), line.waiting()), (runs.len(), waits.len()));
                prop_assert!(runs.len() <= places && waits.len() <= waiting_max);
                for number in 0..5 {
                    let running = runs.iter().filter(|n| **n == number).count();
                    prop_assert!(running <= most(number));
                    let waiting = waits.iter().any(|(n, _)| *n == number);
                    prop_assert!(!waiting || runs.len() == places || running == most(number), "an idle place");
                }
            }
        }
    }
}
