//! Diagnosis for other programs: one JSON object, or tables as CSV.
//!
//! The names are stable and contain their units. Times are in seconds since the first packet of the capture.

mod both;
mod csv;
mod document;
mod groups;
mod requests;
mod shared;

pub use csv::{connections_csv, limits_csv, requests_csv, retransmissions_csv, stalls_csv};
pub use document::SCHEMA_VERSION;
pub use groups::{groups_csv, server_lines};

use both::BothEndsNumbers;
use document::{
    AnswerNumbers, BandNumbers, CandidateNumbers, ConnectionNumbers, Document, InDoubtNumbers,
    LeftOutPackets, Named, NotListed, PacketNumbers, PathNumbers, Quantity, ReplyNumbers,
    RetransmissionNumbers, SeenFrom, SenderNumbers, SentAgain, SilenceNumbers, SoonerNumbers,
    StallNumbers, StreamNumbers, SynNumbers, UntoldNumbers, WhatIfNumbers,
};
use dupack_tcp::time::{Duration, Instant};
use groups::GroupsNumbers;
use requests::RequestsNumbers;
use shared::SharedNumbers;

use crate::asking::{Asked, commands};
use crate::notes::notes;
use crate::story::{headline, story};
use crate::whatif::{Offer, Replies};
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::{Class, Retransmission};
use dupack_diagnosis::analyse::stalls::{Stall, StallKind};
use dupack_diagnosis::doubt::InDoubt;
use dupack_diagnosis::findings::{ConnectionFindings, StreamFindings};
use dupack_diagnosis::path::Path;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::read::silence::Silence;
use dupack_diagnosis::sender::{Identification, SenderReport};
use dupack_diagnosis::told::Told;
use dupack_diagnosis::untold::Untold;
use dupack_diagnosis::{Diagnosis, Extent};

/// Returns the whole diagnosis as one JSON object.
#[must_use]
pub fn json(diagnosis: &Diagnosis, asked: Option<&Asked>) -> String {
    let mut text = serde_json::to_string_pretty(&Document::of(diagnosis, asked))
        .unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}

/// Returns the JSON Schema of [`json`], with its version as `$id`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Document);
    schema.insert("title".to_owned(), "Diagnosis".into());
    let id = format!("urn:dupack:diagnosis:{SCHEMA_VERSION}");
    schema.insert("$id".to_owned(), id.into());
    schema.into()
}

fn secs(at: Instant) -> f64 {
    at.as_secs_f64()
}

fn long(span: Duration) -> f64 {
    span.as_secs_f64()
}

impl Document {
    fn of(diagnosis: &Diagnosis, asked: Option<&Asked>) -> Self {
        let worst = diagnosis.connections.first().map(|found| found.number);
        let kinds = diagnosis.tally.by_kind();
        let beyond = diagnosis.beyond;
        Self {
            schema_version: SCHEMA_VERSION,
            format: diagnosis.format.clone(),
            complete: diagnosis.extent == Extent::Whole,
            first_packet_unix_s: diagnosis
                .first
                .map(|first| first.as_unix_nanos() as f64 / 1e9),
            duration_s: long(diagnosis.duration),
            packets: kinds
                .into_iter()
                .map(|(kind, number)| (kind.to_string(), number))
                .collect(),
            notes: diagnosis.notes.clone(),
            left_out_packets: LeftOutPackets {
                filter: diagnosis.left_out.by_filter,
                since_until: diagnosis.left_out.by_time,
            },
            connections_all: diagnosis.connections_all,
            connections_without_data: diagnosis.without_data,
            not_listed: NotListed {
                connections: beyond.connections,
                bytes: beyond.bytes,
                retransmissions: beyond.retransmissions,
            },
            groups: GroupsNumbers::of(&diagnosis.groups),
            shared_bottlenecks: SharedNumbers::of(&diagnosis.shared),
            what_if: worst
                .zip(asked)
                .map(|(worst, asked)| WhatIfNumbers::of(worst, asked)),
            connections: diagnosis
                .connections
                .iter()
                .map(ConnectionNumbers::of)
                .collect(),
        }
    }
}

impl ReplyNumbers {
    fn of(replies: &Replies) -> Self {
        let sooner = replies.most.iter().map(|reply| SoonerNumbers {
            answer: reply.number,
            captured_s: reply.captured,
            duration_s: reply.duration.mean,
            duration_low_s: reply.duration.low,
            duration_high_s: reply.duration.high,
        });
        Self {
            answers: replies.count,
            captured_p50_s: replies.captured.0,
            captured_max_s: replies.captured.1,
            p50_s: replies.predicted.0,
            max_s: replies.predicted.1,
            sooner: replies.sooner,
            most: sooner.collect(),
        }
    }
}

impl WhatIfNumbers {
    fn of(connection: u64, asked: &Asked) -> Self {
        let (refused, answers) = match asked {
            Asked::Answered(answers) => (None, answers.as_slice()),
            Asked::Refused(why) => (Some(why.clone()), &[][..]),
            Asked::Interrupted => (Some("interrupted".to_owned()), &[][..]),
        };
        let answers = answers.iter().map(|answer| AnswerNumbers {
            stack: answer.stack.to_string(),
            role: answer.role,
            offered: answer.offer == Offer::Given,
            duration_s: answer.duration.mean,
            duration_low_s: answer.duration.low,
            duration_high_s: answer.duration.high,
            captured_s: answer.captured,
            change: answer.change().mean,
            change_low: answer.change().low,
            change_high: answer.change().high,
            gain: answer.gain(),
            goodput_mbit_per_s: answer.goodput.mean,
            linux_commands: commands(&answer.stack),
            replies: answer.replies.as_ref().map(ReplyNumbers::of),
        });
        Self {
            connection,
            refused,
            answers: answers.collect(),
        }
    }
}

impl ConnectionNumbers {
    fn of(found: &ConnectionFindings) -> Self {
        Self {
            number: found.number,
            opener: found.addresses.opener.to_string(),
            answerer: found.addresses.answerer.to_string(),
            first_s: secs(found.first_at),
            last_s: secs(found.last_at),
            established_s: found.handshake.established_at.map(secs),
            syns_sent_again: found
                .handshake
                .again
                .kept()
                .iter()
                .map(|syn| SynNumbers {
                    sent_by: syn.side,
                    at_s: secs(syn.at),
                    packet: syn.packet,
                    cause: syn.cause,
                    waited_s: long(syn.waited),
                })
                .collect(),
            reset_s: found.ending.reset.map(|reset| secs(reset.at)),
            headline: headline(found),
            silence: found.silence.as_ref().map(SilenceNumbers::of),
            notes: notes(found),
            lost_s: found.lost().map(long),
            requests: found.requests.as_ref().map(RequestsNumbers::of),
            both_ends: found.both.as_deref().map(BothEndsNumbers::of),
            streams: found
                .all_streams()
                .map(|stream| StreamNumbers::of(found, stream))
                .collect(),
        }
    }
}

impl SilenceNumbers {
    fn of(silence: &Silence) -> Self {
        let asked = &silence.asked;
        Self {
            silent: silence.side,
            since_s: secs(silence.since),
            last_packet: silence.last,
            unanswered_data: asked.data,
            unanswered_keep_alives: asked.keep_alives,
            unanswered_fins: asked.fins,
            unanswered_for_s: long(asked.duration()),
        }
    }
}

impl StreamNumbers {
    fn of(connection: &ConnectionFindings, stream: &StreamFindings) -> Self {
        let shares = &stream.shares;
        let happenings = &stream.happenings;
        let told = stream.limits_untold().is_none();
        let limits = Limit::ALL.into_iter();
        let limits = limits.map(|limit| (limit, long(shares.of(limit))));
        let kinds = StallKind::ALL.into_iter();
        let by_kind = kinds.map(|kind| (kind, long(stream.stalls.of(kind).time)));
        let longest = stream.stalls.longest.iter();
        let bands = shares.bands.iter().map(|band| BandNumbers {
            from_s: secs(band.from),
            until_s: secs(band.to),
            limit: band.limit,
        });
        Self {
            sent_by: stream.side,
            story: story(stream),
            bytes: stream.bytes(),
            began_s: secs(shares.started),
            ended_s: secs(shares.ended),
            duration_s: long(shares.duration()),
            goodput_bit_per_s: stream.goodput_told(),
            lost_s: stream.lost().map(long),
            limits_untold: stream.limits_untold().map(UntoldNumbers::of),
            limits_in_doubt: stream
                .limits_in_doubt()
                .map(|doubt| InDoubtNumbers::of(&doubt)),
            segment_bytes: stream.smss,
            rtt_min_s: stream.round_trips().map(|(least, _)| long(least)),
            rtt_mean_s: stream.round_trips().map(|(_, mean)| long(mean)),
            seen_from: SeenFrom {
                place: stream.vantage.place,
                to_sender_and_back_s: long(stream.vantage.to_sender),
                to_receiver_and_back_s: long(stream.vantage.to_receiver),
                by: stream.vantage.reason,
            },
            limits_s: told.then(|| limits.collect()),
            limits_over_time: bands.filter(|_| told).collect(),
            kernel_busy_s: told.then(|| long(shares.kernel.busy)),
            kernel_receive_window_limited_s: told.then(|| long(shares.kernel.receive_window)),
            kernel_send_buffer_limited_s: told.then(|| long(shares.kernel.sender_buffer)),
            segments: shares.segments,
            sent_again: stream
                .tells_retransmissions()
                .then(|| SentAgain::of(stream)),
            stalls: told.then(|| stream.stalls.count()),
            stalled_s: stream.stalled().map(long),
            stalled_by_kind_s: told.then(|| by_kind.collect()),
            longest_stalls: longest.filter(|_| told).map(StallNumbers::of).collect(),
            overtaken: stream.overtaken + stream.reordered,
            window_shut_times: stream.shut.times,
            window_shut_s: long(stream.shut.time),
            window_probes: happenings.window_probes(),
            keep_alives: happenings.keep_alives(),
            path: PathNumbers::of(&stream.path),
            sender: SenderNumbers::of(&stream.sender),
            packets: PacketNumbers::of(connection, stream.side),
        }
    }
}

impl UntoldNumbers {
    const fn of(untold: Untold) -> Self {
        Self {
            why: untold.why(),
            remedy: untold.remedy(),
        }
    }
}

impl InDoubtNumbers {
    fn of(doubt: &InDoubt) -> Self {
        let limits = Limit::ALL.into_iter();
        Self {
            limits: limits.filter(|limit| doubt.has(*limit)).collect(),
            or: doubt.causes().collect(),
            lost_at_least: doubt.hides_lost_time(),
        }
    }
}

impl From<Told<f64>> for Quantity {
    fn from(told: Told<f64>) -> Self {
        match told {
            Told::Between { value, low, high } => Self::Between { value, low, high },
            Told::AtLeast { bound, why, remedy } => Self::AtLeast {
                at_least: bound,
                why,
                remedy,
            },
            Told::CannotBeTold { why, remedy } => Self::CannotBeTold { why, remedy },
        }
    }
}

impl PathNumbers {
    fn of(path: &Path) -> Self {
        Self {
            least_rtt_s: path.least_rtt.map(|rtt| rtt.as_secs_f64()).into(),
            rate_bit_per_s: path.rate.into(),
            room_bytes: path.room.map(|room| room.bytes).into(),
            room_packets: path.room.map(|room| room.packets).into(),
            losses: path.losses,
            transmissions: path.transmissions,
            loss: path.loss.into(),
            random_loss: path.random_loss.into(),
            queue_share_of_losses: path.queue_share.into(),
            reordered: path.reordering.share.into(),
            policer_rate_bit_per_s: path.policer.map(|policer| policer.rate.into()),
            policer_burst_bytes: path.policer.map(|policer| policer.burst.into()),
            policer_link_bit_per_s: path.policer.map(|policer| policer.link.into()),
        }
    }
}

impl SentAgain {
    fn of(stream: &StreamFindings) -> Self {
        let account = &stream.account;
        let classes = Class::ALL.into_iter();
        Self {
            segments: account.retransmissions,
            may_be_more: stream.may_lack_repairs(),
            bytes: account.retransmitted_bytes,
            by_class: classes.map(|class| (class, account.of(class))).collect(),
            needless: account.needless(),
            needless_by_dsack: account.needless_by_dsack,
            needless_by_timestamp: account.needless_by_timestamp,
            needless_by_time: account.needless_by_time,
            needless_by_arrival: account.needless_by_arrival,
            needless_overtaken: account.needless_overtaken,
            needless_by_timer: account.needless_by_timer,
            need_unknown: account.of_unknown_need,
            lost_first: account.lost_first,
            lost_again: account.lost_again,
            last: stream
                .retransmissions
                .iter()
                .map(RetransmissionNumbers::of)
                .collect(),
        }
    }
}

impl RetransmissionNumbers {
    fn of(again: &Retransmission) -> Self {
        Self {
            at_s: secs(again.at),
            packet: again.packet,
            start_byte: again.start,
            end_byte: again.end,
            transmission: again.transmission,
            cause: again.cause,
            set_off_by_packet: again.trigger,
            waited_s: long(again.waited),
            need: again.need,
            lost_again: again.lost,
        }
    }
}

impl StallNumbers {
    fn of(stall: &Stall) -> Self {
        Self {
            from_s: secs(stall.from),
            until_s: secs(stall.to),
            duration_s: long(stall.duration()),
            kind: stall.kind,
            due_to: stall.kind.culprit(),
            waited_for: stall.waited_for,
            packet_before: stall.before,
            packet_after: stall.after,
            in_flight_bytes: stall.flight,
            something_else_would_have_acted_after_s: stall.remedy.after().map(long),
        }
    }
}

impl SenderNumbers {
    fn of(report: &SenderReport) -> Self {
        let traits = &report.traits;
        Self {
            recovery: Named::of(&report.recovery),
            control: Named::of(&report.control),
            stack: report.stack.as_ref().map(|guess| guess.stack.clone()),
            dialect: report.stack.as_ref().map(|guess| guess.dialect),
            initial_window_segments: traits.initial_segments,
            paced: traits
                .timing
                .map(|timing| timing == dupack_diagnosis::sender::Timing::Paced),
            tail_loss_probes: traits.tail_loss_probes,
        }
    }
}

impl Named {
    fn of<N: ToString>(verdict: &Identification<N>) -> Self {
        let candidates = verdict.candidates.iter().map(|one| CandidateNumbers {
            name: one.name.to_string(),
            log_likelihood: one.score,
            evidence_for: one.evidence_for.clone(),
            evidence_against: one.evidence_against.clone(),
        });
        Self {
            name: verdict.name.as_ref().map(ToString::to_string),
            why: verdict.why.clone(),
            candidates: candidates.collect(),
        }
    }
}

impl PacketNumbers {
    fn of(connection: &ConnectionFindings, side: Side) -> Self {
        let sent = connection.counts.of(side);
        let heard = connection.counts.of(side.other());
        Self {
            sent: sent.packets,
            copies: sent.copies,
            with_data: sent.data_packets,
            data_bytes: sent.data_bytes,
            unique_bytes: sent.unique_bytes,
            with_bytes_seen_before: sent.retransmitted_packets,
            retransmitted_bytes: sent.retransmitted_bytes,
            out_of_order: sent.out_of_order_packets,
            heard: heard.packets,
            acks: heard.acks,
            acks_with_sack: heard.sacks,
            dsacks: heard.dsacks,
            duplicate_acks: heard.duplicate_acks,
            triple_duplicate_acks: heard.triple_duplicate_acks,
            zero_windows: heard.zero_windows,
        }
    }
}

#[cfg(test)]
mod tests;
