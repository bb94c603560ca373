//! Limits the number of connections, in total and for each client, and evicts connections when the limit is reached.
//!
//! A client is an address (see [`ClientAddress`]) and may have `server.connections_per_address_max` connections. When all
//! `server.connections_max` slots are taken, a new connection evicts one of the client with the most connections, provided that
//! client has at least two more than the new one: a connection whose client does not read, else an idle one, else the newest.
//! If there is no such client, or the new one has reached its own limit, only a connection that is idle or not being read is
//! evicted: one of the same client, or any one if that client has none.
//!
//! A connection of a trusted proxy carries requests of many clients. It counts for the client that the proxy names, from the start
//! of a request until its answer was read; while idle it counts for no client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection_state::{ConnectionState, EvictionCost};
use super::forwarded::ClientAddress;
use contract::config::Server;

/// The slots of all connections.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    max: usize,
    per_client_max: usize,
    table: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    last_id: u64,
    entries: HashMap<u64, SlotEntry>,
    counts: HashMap<ClientAddress, usize>,
}

#[derive(Debug)]
struct SlotEntry {
    client: Option<ClientAddress>,
    /// The handler of its forwarded request is done; it still counts for the client until the answer was read.
    request_done: bool,
    state: ConnectionState,
    evicted: CancellationToken,
}

/// The reason why no slot is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotsFull {
    /// The client has reached its own limit.
    Client,
    /// All slots are taken, and none may be evicted for this client.
    Server,
}

/// The slot of a connection; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    /// Fires when the connection was evicted.
    pub(super) evicted: CancellationToken,
}

/// Counts a proxy's connection for the client of its current request until dropped.
#[derive(Debug)]
pub(super) struct ForwardedRequest(Arc<ConnectionSlot>);

impl ConnectionSlots {
    pub(super) fn new(server: &Server) -> Self {
        let max = server.connections_max.max(1);
        let per_client_max = match server.connections_per_address_max {
            0 => max.div_ceil(2),
            configured => configured.min(max),
        };
        Self { max, per_client_max, table: Mutex::default() }
    }

    /// Takes a slot for a connection of `client`, which is `None` for a trusted proxy's connection. The returned flag is `true`
    /// if another connection was evicted.
    pub(super) fn take(
        self: &Arc<Self>,
        client: Option<ClientAddress>,
        state: ConnectionState,
        evicted: CancellationToken,
    ) -> Result<(ConnectionSlot, bool), SlotsFull> {
        let mut table = self.lock_table();
        let is_full = |table: &SlotTable| {
            table.entries.len() >= self.max
                || (client.is_some() && table.count(client) >= self.per_client_max)
        };
        if is_full(&table) {
            table.release_idle_proxies();
        }
        let own = table.count(client);
        let victim = if client.is_some() && own >= self.per_client_max {
            let idle = table.cheapest(|entry| entry.client == client, Instant::now());
            Some(idle.ok_or(SlotsFull::Client)?)
        } else if table.entries.len() >= self.max {
            Some(table.victim(client, own).ok_or(SlotsFull::Server)?)
        } else {
            None
        };
        if let Some(entry) = victim.and_then(|id| table.remove(id)) {
            entry.evicted.cancel();
        }
        table.last_id += 1;
        let id = table.last_id;
        let entry = SlotEntry { client: None, request_done: false, state, evicted: evicted.clone() };
        table.entries.insert(id, entry);
        table.assign(id, client);
        Ok((ConnectionSlot { slots: Arc::clone(self), id, evicted }, victim.is_some()))
    }

    /// Returns the limits on connections: in total and for one client.
    pub(super) fn limits(&self) -> [usize; 2] {
        [self.max, self.per_client_max]
    }

    fn lock_table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Counts this proxy's connection for `client`, which is `None` if the proxy does not name a client.
    ///
    /// # Errors
    /// [`SlotsFull::Client`] if the client has reached its limit.
    pub(super) fn assign_request(
        self: &Arc<Self>,
        client: Option<ClientAddress>,
    ) -> Result<ForwardedRequest, SlotsFull> {
        let mut table = self.slots.lock_table();
        table.assign(self.id, None);
        let limit = self.slots.per_client_max;
        if table.count(client) >= limit {
            table.release_idle_proxies();
            if table.count(client) >= limit {
                return Err(SlotsFull::Client);
            }
        }
        table.assign(self.id, client);
        Ok(ForwardedRequest(Arc::clone(self)))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock_table().remove(self.id);
    }
}

impl Drop for ForwardedRequest {
    fn drop(&mut self) {
        if let Some(entry) = self.0.slots.lock_table().entries.get_mut(&self.0.id) {
            entry.request_done = true;
        }
    }
}

impl SlotTable {
    fn count(&self, client: Option<ClientAddress>) -> usize {
        client.and_then(|client| self.counts.get(&client)).copied().unwrap_or(0)
    }

    /// Returns the connection to evict for a client that has `own` connections, if there is one.
    fn victim(&self, client: Option<ClientAddress>, own: usize) -> Option<u64> {
        let now = Instant::now();
        let larger = self.counts.iter().filter(|(_, count)| **count >= own + 2);
        if let Some((largest, _)) = larger.max_by_key(|(_, count)| **count) {
            let theirs = self.entries.iter().filter(|(_, entry)| entry.client == Some(*largest));
            // Complementing the id prefers the newest connection at equal cost.
            return theirs
                .map(|(id, entry)| (entry.state.eviction_cost(now), u64::MAX - id))
                .min()
                .map(|(_, id)| u64::MAX - id);
        }
        let own_connection = || self.cheapest(|entry| client.is_some() && entry.client == client, now);
        match own {
            0 => self.cheapest(|_| true, now),
            _ => own_connection(),
        }
    }

    /// Returns the matching connection with the lowest eviction cost; `None` if all are active.
    fn cheapest(&self, matches: impl Fn(&SlotEntry) -> bool, now: Instant) -> Option<u64> {
        let candidates = self.entries.iter().filter(|(_, entry)| matches(entry));
        let costs = candidates.map(|(id, entry)| (entry.state.eviction_cost(now), *id));
        costs.filter(|(cost, _)| *cost != EvictionCost::Active).min().map(|(_, id)| id)
    }

    /// Stops counting idle proxy connections for the client of their last request.
    fn release_idle_proxies(&mut self) {
        let now = Instant::now();
        let is_idle = |entry: &SlotEntry| {
            entry.request_done && matches!(entry.state.eviction_cost(now), EvictionCost::Idle(_))
        };
        let idle: Vec<u64> =
            self.entries.iter().filter(|(_, entry)| is_idle(entry)).map(|(id, _)| *id).collect();
        idle.into_iter().for_each(|id| self.assign(id, None));
    }

    fn assign(&mut self, id: u64, client: Option<ClientAddress>) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.request_done = false;
        let before = std::mem::replace(&mut entry.client, client);
        self.decrement(before);
        if let Some(client) = client {
            *self.counts.entry(client).or_default() += 1;
        }
    }

    fn remove(&mut self, id: u64) -> Option<SlotEntry> {
        let entry = self.entries.remove(&id)?;
        self.decrement(entry.client);
        Some(entry)
    }

    fn decrement(&mut self, client: Option<ClientAddress>) {
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

    fn slots(max: usize, per_client_max: usize) -> Arc<ConnectionSlots> {
        Arc::new(ConnectionSlots { max, per_client_max, table: Mutex::default() })
    }

    fn client(last: u8) -> Option<ClientAddress> {
        Some(ClientAddress::from(IpAddr::from([192, 0, 2, last])))
    }

    fn take(
        slots: &Arc<ConnectionSlots>,
        of: Option<ClientAddress>,
    ) -> Result<(ConnectionSlot, bool), SlotsFull> {
        slots.take(of, ConnectionState::default(), CancellationToken::new())
    }

    #[test]
    fn a_client_has_its_share_and_the_rest_is_for_others() {
        let slots = slots(4, 2);
        let first = [take(&slots, client(1)), take(&slots, client(1))];
        assert_eq!(take(&slots, client(1)).unwrap_err(), SlotsFull::Client);
        let (other, evicted) = take(&slots, client(2)).unwrap();
        assert!(!evicted);
        drop(first);
        assert!(take(&slots, client(1)).is_ok());
        drop(other);
        let table = slots.lock_table();
        assert!(table.entries.is_empty() && table.counts.is_empty(), "slots are given back");
    }

    #[test]
    fn the_greediest_makes_place_for_a_newcomer() {
        let slots = slots(5, 5);
        let greedy: Vec<ConnectionSlot> = (0..3).map(|_| take(&slots, client(1)).unwrap().0).collect();
        let modest: Vec<ConnectionSlot> = (0..2).map(|_| take(&slots, client(2)).unwrap().0).collect();
        let (_newcomer, evicted) = take(&slots, client(3)).unwrap();
        assert!(evicted && greedy[2].evicted.is_cancelled(), "the newest of those that are used");
        assert!(!greedy[0].evicted.is_cancelled() && modest.iter().all(|slot| !slot.evicted.is_cancelled()));
        assert_eq!(take(&slots, client(3)).unwrap_err(), SlotsFull::Server, "no client has two more than it");
        assert_eq!(take(&slots, client(1)).unwrap_err(), SlotsFull::Server);
        assert!(take(&slots, client(4)).unwrap().1, "who has nothing takes from who has two");
    }

    #[test]
    fn a_proxys_connection_counts_for_the_client_that_it_serves() {
        let slots = slots(10, 2);
        let proxied: Vec<Arc<ConnectionSlot>> =
            (0..4).map(|_| Arc::new(take(&slots, None).unwrap().0)).collect();
        let (one, two) = (client(1), client(2));
        let requests = [proxied[0].assign_request(one).unwrap(), proxied[1].assign_request(one).unwrap()];
        assert_eq!(proxied[2].assign_request(one).unwrap_err(), SlotsFull::Client);
        assert!(proxied[2].assign_request(two).is_ok(), "another client is not held up");
        assert_eq!(take(&slots, client(1)).unwrap_err(), SlotsFull::Client, "directly neither");
        drop(requests);
        assert_eq!(
            proxied[3].assign_request(one).unwrap_err(),
            SlotsFull::Client,
            "its answers were not taken yet"
        );
        slots
            .lock_table()
            .entries
            .values()
            .for_each(|entry| entry.state.set_waiting_for_request(Some(Instant::now())));
        assert!(proxied[3].assign_request(one).is_ok() && take(&slots, client(1)).is_ok());
        assert!(proxied[0].assign_request(None).is_ok(), "a proxy that names no client");
    }

    #[test]
    fn the_default_share_is_half() {
        let overrides = contract::config::Overrides::default();
        let mut server = contract::config::load(&overrides).unwrap().0.server;
        for (all, share, expected) in [(1024, 0, 512), (1, 0, 1), (5, 0, 3), (10, 4, 4), (10, 20, 10)] {
            (server.connections_max, server.connections_per_address_max) = (all, share);
            assert_eq!(ConnectionSlots::new(&server).limits(), [all, expected]);
        }
    }
}
