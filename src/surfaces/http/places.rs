//! Who has how many of the server's connections, and whose ends when there is no place left.
//!
//! A client is an address (see [`Client`]). It may have `server.connections_per_address_max` connections. When all
//! `server.connections_max` are taken, a newcomer gets the place of a client that has at least two more than itself: of the one
//! with the most, and there the connection that nobody reads, else one that idles, else the newest. Among the connections of
//! one client, and where nobody has too many, only what nobody reads or what idles makes place.
//!
//! A connection of a listed proxy carries the requests of many. It counts for the client that the proxy names from the beginning
//! of a request until its answer was taken; while it idles it counts for nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::forwarded::Client;
use super::running::{Running, Worth};
use contract::config::Server;

/// The places of all connections.
#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    per_client_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    seats: HashMap<u64, Seat>,
    counts: HashMap<Client, usize>,
}

#[derive(Debug)]
struct Seat {
    client: Option<Client>,
    /// Its request is over, so that it counts for its client only until the answer was taken.
    over: bool,
    running: Running,
    end: CancellationToken,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The client has as many as one client may have.
    Client,
    /// All are taken, and none of them by somebody who has more than this client.
    Server,
}

/// The place of a connection, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    /// Fires when the place was given to somebody else.
    pub(super) end: CancellationToken,
}

/// A request of a client over a proxy's connection, until this is dropped.
#[derive(Debug)]
pub(super) struct PassedOn(Arc<Place>);

/// A place, and whether somebody else lost it.
pub(super) type Given = (Place, bool);

impl Places {
    pub(super) fn new(server: &Server) -> Self {
        let max = server.connections_max.max(1);
        let per_client_max = match server.connections_per_address_max {
            0 => max.div_ceil(2),
            most => most.min(max),
        };
        Self { max, per_client_max, taken: Mutex::default() }
    }

    /// A place for a connection of `client`; of nobody's, where a listed proxy opened it.
    pub(super) fn take(
        self: &Arc<Self>,
        client: Option<Client>,
        running: Running,
        end: CancellationToken,
    ) -> Result<Given, Full> {
        let mut taken = self.taken();
        let is_full = |taken: &Taken| {
            taken.seats.len() >= self.max || (client.is_some() && taken.count(client) >= self.per_client_max)
        };
        if is_full(&taken) {
            taken.settle();
        }
        let own = taken.count(client);
        let loser = if client.is_some() && own >= self.per_client_max {
            Some(taken.cheapest(|seat| seat.client == client, Instant::now()).ok_or(Full::Client)?)
        } else if taken.seats.len() >= self.max {
            Some(taken.loser(client, own).ok_or(Full::Server)?)
        } else {
            None
        };
        if let Some(seat) = loser.and_then(|id| taken.remove(id)) {
            seat.end.cancel();
        }
        taken.next += 1;
        let id = taken.next;
        taken.seats.insert(id, Seat { client: None, over: false, running, end: end.clone() });
        taken.assign(id, client);
        Ok((Place { places: Arc::clone(self), id, end }, loser.is_some()))
    }

    /// The most connections, of all and of one client.
    pub(super) fn limits(&self) -> [usize; 2] {
        [self.max, self.per_client_max]
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Counts this connection, which is a proxy's, for `client`; for nobody, where the proxy names none.
    ///
    /// # Errors
    /// [`Full::Client`] when the client has its share already.
    pub(super) fn pass_on(self: &Arc<Self>, client: Option<Client>) -> Result<PassedOn, Full> {
        let mut taken = self.places.taken();
        taken.assign(self.id, None);
        let most = self.places.per_client_max;
        if taken.count(client) >= most {
            taken.settle();
            if taken.count(client) >= most {
                return Err(Full::Client);
            }
        }
        taken.assign(self.id, client);
        Ok(PassedOn(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().remove(self.id);
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        if let Some(seat) = self.0.places.taken().seats.get_mut(&self.0.id) {
            seat.over = true;
        }
    }
}

impl Taken {
    fn count(&self, client: Option<Client>) -> usize {
        client.and_then(|client| self.counts.get(&client)).copied().unwrap_or(0)
    }

    /// Whose place a client gets that has `own`.
    fn loser(&self, client: Option<Client>, own: usize) -> Option<u64> {
        let now = Instant::now();
        let greedy = self.counts.iter().filter(|(_, count)| **count >= own + 2);
        if let Some((greediest, _)) = greedy.max_by_key(|(_, count)| **count) {
            let theirs = self.seats.iter().filter(|(_, seat)| seat.client == Some(*greediest));
            return theirs
                .map(|(id, seat)| (seat.running.worth(now), u64::MAX - id))
                .min()
                .map(|(_, id)| u64::MAX - id);
        }
        let own_seat = || self.cheapest(|seat| client.is_some() && seat.client == client, now);
        match own {
            0 => self.cheapest(|_| true, now),
            _ => own_seat(),
        }
    }

    /// The seat among those that is used least; none where all are used.
    fn cheapest(&self, among: impl Fn(&Seat) -> bool, now: Instant) -> Option<u64> {
        let those = self.seats.iter().filter(|(_, seat)| among(seat));
        let worth = those.map(|(id, seat)| (seat.running.worth(now), *id));
        worth.filter(|(worth, _)| *worth != Worth::Used).min().map(|(_, id)| id)
    }

    /// Counts connections of proxies that idle for nobody any more.
    fn settle(&mut self) {
        let now = Instant::now();
        let idles = |seat: &Seat| seat.over && matches!(seat.running.worth(now), Worth::Idle(_));
        let idle: Vec<u64> = self.seats.iter().filter(|(_, seat)| idles(seat)).map(|(id, _)| *id).collect();
        idle.into_iter().for_each(|id| self.assign(id, None));
    }

    fn assign(&mut self, id: u64, client: Option<Client>) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        seat.over = false;
        let before = std::mem::replace(&mut seat.client, client);
        self.uncount(before);
        if let Some(client) = client {
            *self.counts.entry(client).or_default() += 1;
        }
    }

    fn remove(&mut self, id: u64) -> Option<Seat> {
        let seat = self.seats.remove(&id)?;
        self.uncount(seat.client);
        Some(seat)
    }

    fn uncount(&mut self, client: Option<Client>) {
        let Some(client) = client else { return };
        if let Some(count) = self.counts.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn places(max: usize, per_client_max: usize) -> Arc<Places> {
        Arc::new(Places { max, per_client_max, taken: Mutex::default() })
    }

    fn client(last: u8) -> Option<Client> {
        Some(Client::from(IpAddr::from([192, 0, 2, last])))
    }

    fn take(places: &Arc<Places>, of: Option<Client>) -> Result<Given, Full> {
        places.take(of, Running::default(), CancellationToken::new())
    }

    #[test]
    fn a_client_has_its_share_and_the_rest_is_for_others() {
        let places = places(4, 2);
        let first = [take(&places, client(1)), take(&places, client(1))];
        assert_eq!(take(&places, client(1)).unwrap_err(), Full::Client);
        let (other, displaced) = take(&places, client(2)).unwrap();
        assert!(!displaced);
        drop(first);
        assert!(take(&places, client(1)).is_ok());
        drop(other);
        let taken = places.taken();
        assert!(taken.seats.is_empty() && taken.counts.is_empty(), "places are given back");
    }

    #[test]
    fn the_greediest_makes_place_for_a_newcomer() {
        let places = places(5, 5);
        let greedy: Vec<Place> = (0..3).map(|_| take(&places, client(1)).unwrap().0).collect();
        let modest: Vec<Place> = (0..2).map(|_| take(&places, client(2)).unwrap().0).collect();
        let (_newcomer, displaced) = take(&places, client(3)).unwrap();
        assert!(displaced && greedy[2].end.is_cancelled(), "the newest of those that are used");
        assert!(!greedy[0].end.is_cancelled() && modest.iter().all(|place| !place.end.is_cancelled()));
        assert_eq!(take(&places, client(3)).unwrap_err(), Full::Server, "nobody has two more than it");
        assert_eq!(take(&places, client(1)).unwrap_err(), Full::Server);
        assert!(take(&places, client(4)).unwrap().1, "who has nothing takes from who has two");
    }

    #[test]
    fn a_proxys_connection_counts_for_whom_it_serves() {
        let places = places(10, 2);
        let proxied: Vec<Arc<Place>> = (0..4).map(|_| Arc::new(take(&places, None).unwrap().0)).collect();
        let (one, two) = (client(1), client(2));
        let requests = [proxied[0].pass_on(one).unwrap(), proxied[1].pass_on(one).unwrap()];
        assert_eq!(proxied[2].pass_on(one).unwrap_err(), Full::Client);
        assert!(proxied[2].pass_on(two).is_ok(), "another client is not held up");
        assert_eq!(take(&places, client(1)).unwrap_err(), Full::Client, "directly neither");
        drop(requests);
        assert_eq!(proxied[3].pass_on(one).unwrap_err(), Full::Client, "its answers were not taken yet");
        places.taken().seats.values().for_each(|seat| seat.running.await_request(Some(Instant::now())));
        assert!(proxied[3].pass_on(one).is_ok() && take(&places, client(1)).is_ok());
        assert!(proxied[0].pass_on(None).is_ok(), "a proxy that names nobody");
    }

    #[test]
    fn the_default_share_is_half() {
        let overrides = contract::config::Overrides::default();
        let mut server = contract::config::load(&overrides).unwrap().0.server;
        for (all, share, expected) in [(1024, 0, 512), (1, 0, 1), (5, 0, 3), (10, 4, 4), (10, 20, 10)] {
            (server.connections_max, server.connections_per_address_max) = (all, share);
            assert_eq!(Places::new(&server).limits(), [all, expected]);
        }
    }
}
