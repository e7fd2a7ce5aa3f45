//! Option field of a TCP header.
//!
//! Options are laid out as in Linux, each on a word boundary, so that a full field contains three SACK blocks with
//! timestamps (RFC 2018 §3) and four without.
//!
//! The order of transmissions that the receiver echoes (LE §4.2) has no option kind of its own. It is sent as an
//! experimental option (RFC 4727, kind 253) in the shared format of RFC 6994:
//!
//! ```text
//! +----------+----------+---------------------+-------------------------------------------+
//! | kind 253 | length 8 | ExID 0x4C4F or 4C45 | low 32 bits of the order, most significant |
//! |          |          | ("LO" or "LE")      | byte first                                |
//! +----------+----------+---------------------+-------------------------------------------+
//! ```
//!
//! `LO` identifies the order of the segment itself, and `LE` the echo of an order. Neither identifier is registered
//! with IANA; they are for laboratories.

use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection;
pub use dupack_tcp::connection::Timestamps;
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

/// Maximum number of option bytes in a TCP header (RFC 9293 §3.1: data offset 15).
pub const MAX_OPTION_BYTES: usize = 40;

/// Experiment identifier of the order of a transmission: `LO`.
pub const ORDER_EXID: u16 = 0x4c4f;

/// Experiment identifier of the echo of an order: `LE`.
pub const ORDER_ECHO_EXID: u16 = 0x4c45;

/// Number of bytes that timestamps take in the header, including padding.
pub const TIMESTAMPS_BYTES: u16 = 12;

/// Number of bytes that an order takes in the header.
pub const ORDER_BYTES: u16 = 8;

const END: u8 = 0;
const NOP: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACC_ECN_0: u8 = 172;
const ACC_ECN_1: u8 = 174;
const EXPERIMENTAL: u8 = 253;

/// Low 32 bits of the position of a transmission in the order of sending (LE §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Order of the segment that carries the option.
    Sent(u32),
    /// Order of the transmission that caused the ACK with the option.
    Echo(u32),
}

/// Options of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes, including header options (RFC 6691); in a SYN.
    pub mss: Option<u16>,
    /// Window scale: shift of the windows that the sender of the SYN will advertise (RFC 7323 §2.2); in a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2); in a SYN.
    pub sack_permitted: Sack,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Counters of bytes by ECN marking (RFC 9768 §3.2.3).
    pub accurate_ecn: Option<EcnCounters>,
    /// Order of a transmission.
    pub order: Option<Order>,
    /// SACK blocks, the first of which may be a DSACK. If not all blocks fit, the last ones are left out.
    pub sacks: SackBlocks,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: Sack::Absent,
        timestamps: None,
        accurate_ecn: None,
        order: None,
        sacks: SackBlocks::NONE,
    };

    /// Parses an option field. Unknown options, and options of the wrong length, are skipped. An option that is longer
    /// than the field, or shorter than an option can be, ends the field (RFC 9293 §3.1, MUST-7: illegal lengths may
    /// occur). If there are two options of a kind, the last one counts.
    #[must_use]
    pub fn parse(mut field: &[u8]) -> Self {
        let mut options = Self::NONE;
        // These are the options of most segments, laid out as in RFC 7323, appendix A.
        if let [
            NOP,
            NOP,
            TIMESTAMPS,
            10,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            ref rest @ ..,
        ] = *field
        {
            options.timestamps = Some(Timestamps {
                value: u32::from_be_bytes([a, b, c, d]),
                echo: u32::from_be_bytes([e, f, g, h]),
            });
            field = rest;
        }
        loop {
            field = match *field {
                [] | [END, ..] => return options,
                [NOP, ref rest @ ..] => rest,
                [kind, len, ..] => {
                    let len = usize::from(len);
                    let (Some(value), Some(rest)) = (field.get(2..len), field.get(len..)) else {
                        return options;
                    };
                    options.read(kind, value);
                    rest
                }
                [_] => return options,
            };
        }
    }

    /// Returns the number of SACK blocks that do not fit into a header with these options.
    #[must_use]
    pub fn sacks_without_room(&self) -> usize {
        OptionField::of(self).sacks_left_out
    }

    /// Records one option.
    fn read(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MAXIMUM_SEGMENT_SIZE, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, &[]) => self.sack_permitted = Sack::Permitted,
            (SACK, blocks) => {
                if let (blocks, []) = blocks.as_chunks::<8>() {
                    self.sacks = read_sacks(blocks);
                }
            }
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some(Timestamps {
                    value: u32::from_be_bytes([a, b, c, d]),
                    echo: u32::from_be_bytes([e, f, g, h]),
                });
            }
            (ACC_ECN_0, counters) => {
                self.accurate_ecn = Some(read_counters(CounterOrder::Ect0First, counters));
            }
            (ACC_ECN_1, counters) => {
                self.accurate_ecn = Some(read_counters(CounterOrder::Ect1First, counters));
            }
            (EXPERIMENTAL, &[a, b, c, d, e, f]) => {
                let order = u32::from_be_bytes([c, d, e, f]);
                match u16::from_be_bytes([a, b]) {
                    ORDER_EXID => self.order = Some(Order::Sent(order)),
                    ORDER_ECHO_EXID => self.order = Some(Order::Echo(order)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Parses the complete counters, of which there are at most three. Remaining bytes are padding (RFC 9768 §3.2.3).
fn read_counters(order: CounterOrder, value: &[u8]) -> EcnCounters {
    let (fields, _) = value.as_chunks::<3>();
    let mut counters = [0; 3];
    for (counter, &[a, b, c]) in counters.iter_mut().zip(fields) {
        *counter = u32::from_be_bytes([0, a, b, c]);
    }
    EcnCounters::new(order, &counters[..fields.len().min(3)])
}

fn read_sacks(blocks: &[[u8; 8]]) -> SackBlocks {
    let mut sacks = SackBlocks::NONE;
    for &[a, b, c, d, e, f, g, h] in blocks {
        sacks.push(SackBlock {
            start: SeqNumber(u32::from_be_bytes([a, b, c, d])),
            end: SeqNumber(u32::from_be_bytes([e, f, g, h])),
        });
    }
    sacks
}

impl From<connection::Options> for Options {
    fn from(options: connection::Options) -> Self {
        Self {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps,
            accurate_ecn: options.accurate_ecn,
            order: None,
            sacks: options.sacks,
        }
    }
}

impl From<Options> for connection::Options {
    fn from(options: Options) -> Self {
        Self {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps,
            accurate_ecn: options.accurate_ecn,
            sacks: options.sacks,
        }
    }
}

/// Option field whose length is a multiple of four bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionField {
    bytes: [u8; MAX_OPTION_BYTES],
    len: usize,
    /// Number of SACK blocks that did not fit.
    sacks_left_out: usize,
}

impl OptionField {
    /// Lays out `options`.
    ///
    /// Everything except for SACK blocks takes at most 40 bytes, so only SACK blocks may not fit.
    pub(crate) fn of(options: &Options) -> Self {
        let mut field = Self {
            bytes: [0; MAX_OPTION_BYTES],
            len: 0,
            sacks_left_out: 0,
        };
        if let Some(mss) = options.mss {
            field.push(&[MAXIMUM_SEGMENT_SIZE, 4]);
            field.push(&mss.to_be_bytes());
        }
        // The two options share a word if both are present (otherwise RFC 7323, appendix A, pads with NOPs).
        let permitted = options.sack_permitted.is_on();
        if let Some(timestamps) = options.timestamps {
            match permitted {
                true => field.push(&[SACK_PERMITTED, 2]),
                false => field.push(&[NOP, NOP]),
            }
            field.push_timestamps(timestamps);
        }
        if let Some(counters) = &options.accurate_ecn {
            field.push_counters(counters);
        }
        if permitted && options.timestamps.is_none() {
            field.push(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some(shift) = options.window_scale {
            field.push(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        match options.order {
            Some(Order::Sent(order)) => field.push_order(ORDER_EXID, order),
            Some(Order::Echo(order)) => field.push_order(ORDER_ECHO_EXID, order),
            None => {}
        }
        field.push_sacks(&options.sacks);
        field
    }

    fn push_timestamps(&mut self, timestamps: Timestamps) {
        self.push(&[TIMESTAMPS, 10]);
        self.push(&timestamps.value.to_be_bytes());
        self.push(&timestamps.echo.to_be_bytes());
    }

    fn push_counters(&mut self, option: &EcnCounters) {
        let kind = match option.order() {
            CounterOrder::Ect0First => ACC_ECN_0,
            CounterOrder::Ect1First => ACC_ECN_1,
        };
        let counters = option.as_bytes();
        // There are at most three counters, so the length is at most 11.
        let length = 2 + 3 * counters.len();
        self.push(&[kind, length as u8]);
        for counter in counters {
            self.push(counter);
        }
        for _ in length..length.next_multiple_of(4) {
            self.push(&[NOP]);
        }
    }

    fn push_order(&mut self, exid: u16, order: u32) {
        self.push(&[EXPERIMENTAL, 8]);
        self.push(&exid.to_be_bytes());
        self.push(&order.to_be_bytes());
    }

    fn push_sacks(&mut self, sacks: &SackBlocks) {
        let blocks = sacks.as_slice();
        // Two NOPs, the kind and the length take four bytes; each block takes eight.
        let room = (MAX_OPTION_BYTES - self.len).saturating_sub(4) / 8;
        let fitting = &blocks[..blocks.len().min(room)];
        self.sacks_left_out = blocks.len() - fitting.len();
        if fitting.is_empty() {
            return;
        }
        // There are at most four blocks, so the length is at most 34.
        self.push(&[NOP, NOP, SACK, 2 + 8 * fitting.len() as u8]);
        for block in fitting {
            self.push(&block.start.0.to_be_bytes());
            self.push(&block.end.0.to_be_bytes());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        debug_assert!(end <= MAX_OPTION_BYTES, "options need {end} bytes");
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
            self.len = end;
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn blocks(count: u32) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        for i in 0..count {
            blocks.push(SackBlock {
                start: SeqNumber(1000 * i),
                end: SeqNumber(1000 * i + 500),
            });
        }
        blocks
    }

    #[test]
    fn every_combination_is_word_aligned_and_fits() {
        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        for (case, expected_left_out) in [
            ((None, None), 0),
            ((timestamps, None), 1),
            ((None, Some(Order::Echo(7))), 1),
            ((timestamps, Some(Order::Echo(7))), 2),
        ] {
            let field = OptionField::of(&Options {
                timestamps: case.0,
                order: case.1,
                sacks: blocks(4),
                ..Options::NONE
            });
            assert_eq!(field.len % 4, 0, "{case:?}");
            assert_eq!(field.sacks_left_out, expected_left_out, "{case:?}");
        }
        for sack_permitted in [Sack::Permitted, Sack::Absent] {
            for timestamps in [timestamps, None] {
                let field = OptionField::of(&Options {
                    mss: Some(1460),
                    window_scale: Some(14),
                    sack_permitted,
                    timestamps,
                    accurate_ecn: None,
                    order: Some(Order::Sent(1)),
                    sacks: SackBlocks::NONE,
                });
                assert_eq!(field.len % 4, 0, "{sack_permitted:?} {timestamps:?}");
            }
        }
    }

    #[test]
    fn counters_are_parsed_as_written() {
        for (order, kind) in [
            (CounterOrder::Ect0First, 172),
            (CounterOrder::Ect1First, 174),
        ] {
            for counters in [&[][..], &[1], &[1, 0x0001_0203], &[0x00ff_ffff, 2, 3]] {
                let options = Options {
                    accurate_ecn: Some(EcnCounters::new(order, counters)),
                    ..Options::NONE
                };
                let field = OptionField::of(&options);
                let written = field.as_slice();
                assert_eq!(written.len() % 4, 0);
                assert_eq!(written[..2], [kind, 2 + 3 * counters.len() as u8]);
                assert_eq!(Options::parse(written), options);
            }
        }
    }

    #[test]
    fn a_partial_counter_at_the_end_is_dropped() {
        let long = Options::parse(&[172, 13, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9]);
        let order = CounterOrder::Ect0First;
        assert_eq!(long.accurate_ecn, Some(EcnCounters::new(order, &[1, 2, 3])));
        let short = Options::parse(&[172, 7, 0, 0, 1, 0, 0, NOP]);
        assert_eq!(short.accurate_ecn, Some(EcnCounters::new(order, &[1])));
    }

    #[test]
    fn an_order_is_an_experimental_option() {
        let field = OptionField::of(&Options {
            order: Some(Order::Sent(0x0102_0304)),
            ..Options::NONE
        });
        assert_eq!(field.as_slice(), [253, 8, b'L', b'O', 1, 2, 3, 4]);
        let field = OptionField::of(&Options {
            order: Some(Order::Echo(5)),
            ..Options::NONE
        });
        assert_eq!(field.as_slice(), [253, 8, b'L', b'E', 0, 0, 0, 5]);
    }

    #[test]
    fn a_syn_has_the_option_layout_of_linux() {
        let field = OptionField::of(&Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: Sack::Permitted,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::NONE
        });
        assert_eq!(
            field.as_slice(),
            [
                2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7
            ]
        );
    }
}
