//! A conversation that is captured at each endpoint. Both captures show the same durations of its requests.

use dupack_diagnosis::Requests;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// One-way delay between both endpoints, in seconds.
const WAY: f64 = 0.0015;

/// Transmission time of a full segment, in seconds.
const GAP: f64 = 0.001;

/// A conversation over a link with a queue of answers.
struct Conversation {
    /// The captures at the client and at the server.
    ends: [Script; 2],
    at: f64,
    client: u32,
    server: u32,
    /// Duration of each request at the client, in seconds.
    durations: Vec<f64>,
}

/// Time at which the last segment of an answer is acknowledged. If the number of segments is even, this segment is
/// acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Last {
    /// The segment is acknowledged by a separate ACK after 40 ms, unless the next request is sent before.
    Delayed,
    /// The segment is acknowledged by the next request.
    Riding,
}

impl Conversation {
    fn new() -> Self {
        let mut conversation = Self {
            ends: [
                Script::new(Ip::V4, Link::Raw),
                Script::new(Ip::V4, Link::Raw),
            ],
            at: 0.1,
            client: 1000,
            server: 5000,
            durations: Vec::new(),
        };
        let syn = |at, ack: Option<u32>| {
            let (end, seq) = match ack {
                Some(_) => (End::Server, 4999),
                None => (End::Client, 999),
            };
            let syn = packet(at, end, seq).syn(1460, Some(7));
            ack.map_or(syn, |ack| syn.ack(ack))
        };
        conversation.client_sends(0.0, |at| syn(at, None));
        conversation.server_sends(WAY, |at| syn(at, Some(1000)));
        let ack = |at| packet(at, End::Client, 1000).ack(5000).window(500);
        conversation.client_sends(2.0 * WAY, ack);
        conversation
    }

    /// Adds a packet that the client sends at time `at`.
    fn client_sends(&mut self, at: f64, packet: impl Fn(f64) -> Packet) {
        self.ends[0].add(packet(at));
        self.ends[1].add(packet(at + WAY));
    }

    /// Adds a packet that the server sends at time `at`.
    fn server_sends(&mut self, at: f64, packet: impl Fn(f64) -> Packet) {
        self.queued(at, 0.0, packet);
    }

    /// Adds a packet that the server sends at time `at` and that waits in a queue for `wait` seconds.
    fn queued(&mut self, at: f64, wait: f64, packet: impl Fn(f64) -> Packet) {
        self.ends[0].add(packet(at + WAY + wait));
        self.ends[1].add(packet(at));
    }

    /// Adds a request and its answer of `segments` segments, which are sent at once. The next request follows after
    /// `think` seconds.
    fn turn(&mut self, segments: u32, think: f64, last: Last) {
        let (asked, first, at) = (self.client, self.server, self.at);
        let request = |at| packet(at, End::Client, asked).ack(first).window(500);
        self.client_sends(at, |at| request(at).len(200).push());
        let client = asked + 200;
        let begun = at + WAY + 1e-4;
        let end = |n: u32| first + (n + 1) * 1448;
        let ack = |at, number| packet(at, End::Client, client).ack(number).window(500);
        for n in 0..segments {
            let data = |at| {
                packet(at, End::Server, first + n * 1448)
                    .ack(client)
                    .len(1448)
            };
            let pushed = n + 1 == segments;
            let wait = f64::from(n) * GAP;
            let sent = |at| if pushed { data(at).push() } else { data(at) };
            self.queued(begun, wait, sent);
            let arrived = begun + WAY + wait;
            if n % 2 == 1 {
                self.client_sends(arrived, |at| ack(at, end(n)));
            } else if pushed && last == Last::Delayed && think > 0.04 {
                self.client_sends(arrived + 0.04, |at| ack(at, end(n)));
            }
        }
        let over = begun + WAY + f64::from(segments - 1) * GAP;
        self.durations.push(over - at);
        self.client = client;
        self.server = first + segments * 1448;
        self.at = over + think;
    }

    /// Returns the requests according to the capture at each endpoint.
    fn told(&self) -> [(Requests, String); 2] {
        [0, 1].map(|end| {
            let told = Told::of(&self.ends[end]);
            let requests = told.connection().requests.clone();
            (requests.expect("requests"), told.screen())
        })
    }
}

#[test]
fn both_ends_show_the_same_durations_whenever_the_last_ack_comes() {
    for last in [Last::Riding, Last::Delayed] {
        for think in [0.001, 0.026, 0.2] {
            let mut talk = Conversation::new();
            for n in 0..60 {
                talk.turn([1, 3, 2, 7, 5, 6][n % 6], think, last);
            }
            let mut durations = talk.durations.clone();
            durations.sort_by(f64::total_cmp);
            let [p50, p95] = [durations[29], durations[56]];
            for (requests, screen) in talk.told() {
                assert_eq!(requests.count, 60, "{screen}");
                let near = |told: dupack_tcp::time::Duration, right: f64| {
                    let told = told.as_secs_f64();
                    assert!(
                        (told - right).abs() < 0.0015,
                        "{last:?} {think}: {told} is not {right}\n{screen}"
                    );
                };
                near(requests.duration.p50, p50);
                near(requests.duration.p95, p95);
                // If an ACK waited for the next request or for a timer, the network did not delay it.
                assert!(
                    !screen.contains("late packets"),
                    "{last:?} {think}\n{screen}"
                );
                // Data that is outstanding only because its ACK is delayed has arrived.
                let on_its_way = screen.contains("on its way and not yet");
                assert!(!on_its_way || think < 0.01, "{last:?} {think}\n{screen}");
            }
        }
    }
}
