//! A trace as CSV.

use std::fmt::Write;

use super::{Fate, Repeated, Trace, What};

/// cwnd, ssthresh, in flight and RTT over time: a line per change, with the cause of the last
/// window change at that time.
#[must_use]
pub fn windows_csv(trace: &Trace) -> String {
    let mut out = String::from(
        "time_s,cwnd_bytes,ssthresh_bytes,in_flight_bytes,in_flight_true_bytes,rtt_s,srtt_s,rto_s,window_cause\n",
    );
    let mut cause = String::new();
    let mut last = None;
    for event in &trace.events {
        match &event.what {
            What::Window(change) => cause = change.cause.to_string(),
            What::State(state) => {
                if last == Some(*state) {
                    continue;
                }
                last = Some(*state);
                let seconds = |d: Option<dupack_tcp::time::Duration>| {
                    d.map_or(String::new(), |d| format!("{:.9}", d.as_secs_f64()))
                };
                let _ = writeln!(
                    out,
                    "{:.9},{},{},{},{},{},{},{:.9},{}",
                    event.at.as_secs_f64(),
                    state.cwnd,
                    if state.ssthresh.is_finite() {
                        state.ssthresh.to_string()
                    } else {
                        String::new()
                    },
                    state.in_flight,
                    state.in_flight_true,
                    seconds(state.rtt),
                    seconds(state.srtt),
                    state.rto.as_secs_f64(),
                    cause,
                );
                cause.clear();
            }
            _ => {}
        }
    }
    out
}

/// Every packet: sent and why, dropped and why, arrived; every ACK with its blocks.
#[must_use]
pub fn packets_csv(trace: &Trace) -> String {
    let mut out = String::from("time_s,event,packet,transmission,why,fate,sack_blocks\n");
    let smss = trace.segment_bytes();
    for event in &trace.events {
        let time = event.at.as_secs_f64();
        let _ = match &event.what {
            What::Sent(sent) => {
                let kind = match sent.repeated {
                    Repeated::First => "send",
                    Repeated::Needed => "retransmit",
                    Repeated::Needless => "retransmit needlessly",
                };
                let fate = match sent.fate {
                    Fate::Open => "under way".to_owned(),
                    Fate::Arrived => "arrived".to_owned(),
                    Fate::Dropped(cause) => format!("dropped: {}", cause.name()),
                };
                let (number, order) = (sent.number, sent.order);
                writeln!(
                    out,
                    "{time:.9},{kind},{number},{order},{},{fate},",
                    sent.why
                )
            }
            What::DataDropped {
                number,
                order,
                cause,
            } => writeln!(out, "{time:.9},drop,{number},{order},{},,", cause.name()),
            What::DataArrived { number, order } => {
                writeln!(out, "{time:.9},arrive,{number},{order},,,")
            }
            What::AckArrived(ack) => {
                let packet = |seq: dupack_tcp::seq::SeqNumber| {
                    f64::from(seq.0.wrapping_sub(trace.sender.isn.0)) / smss
                };
                let blocks: Vec<String> = ack
                    .sacks
                    .as_slice()
                    .iter()
                    .map(|b| format!("{}-{}", packet(b.start), packet(b.end)))
                    .collect();
                writeln!(
                    out,
                    "{time:.9},ack,{},,,,{}",
                    packet(ack.ack),
                    blocks.join(" ")
                )
            }
            What::AckDropped { number, cause } => {
                writeln!(out, "{time:.9},drop ack,{number},,{},,", cause.name())
            }
            What::Window(_) | What::State(_) => Ok(()),
        };
    }
    out
}
