//! SYNs of those who are nobody, and of very many.
#![cfg(target_os = "linux")]

use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_wire::host::{Application, Supply};

use crate::lone_peer::{Everybody, against_host};

/// Takes all, and says nothing.
struct Listener;

impl Application for Listener {
    fn supply(&mut self, _: &mut [u8]) -> Supply {
        Supply::NothingNow
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}

fn listeners() -> Everybody {
    Everybody {
        application: || Box::new(Listener),
        change: |_| (),
    }
}

fn syn() -> Segment {
    let mut syn = Segment::new(SeqNumber(77));
    syn.flags = Flags::SYN;
    syn.window = 8000;
    syn
}

/// RFC 9293, MUST-63.
#[test]
fn a_syn_from_an_address_of_nobodys_gets_no_answer() {
    // The last is the host's own: a host that answers talks to itself.
    let nobodys = [
        "224.0.0.1",
        "255.255.255.255",
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
    ];
    let counters = against_host(
        listeners(),
        |_| (),
        |peer| {
            for source in nobodys {
                peer.send_as(source, 1000, &syn());
            }
            let answer = peer.ask(1000, 77, None).expect("an answer");
            assert!(answer.is(Flags::SYN));
        },
    );
    assert_eq!(counters.ignored, nobodys.len() as u64);
    // The answer, and a RST when the host stops.
    assert_eq!((counters.received, counters.sent.packets), (1, 2));
}
