//! The captures at both ends of a transfer, with changes that occur in real captures: different clocks, a NAT,
//! middleboxes, and packets that are missing in a capture.
//!
//! The truth comes from the IPv4 identifications. The simulated ends use each identification once, so a packet that
//! only the capture at its sender contains was lost. The identifications can be removed afterwards, so that a diagnosis
//! cannot use them.

use std::collections::{BTreeMap, BTreeSet};

use dupack_packet::captured::CaptureReader;

use super::limits::tape::{End, Tape};

/// Length of an IPv4 header without options, in bytes.
const IPV4: usize = 20;

/// A packet in a capture.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Capture time in nanoseconds since 1970.
    pub at: i64,
    pub from: End,
    /// Number of the packet among all packets of its sender.
    pub number: u16,
    bytes: Vec<u8>,
    length: u32,
}

impl Frame {
    /// Returns the number of data bytes, and the flags FIN, SYN and RST as bits.
    pub fn text(&self) -> (usize, u8) {
        let header = IPV4 + usize::from(self.bytes[IPV4 + 12] >> 4) * 4;
        (self.length as usize - header, self.bytes[IPV4 + 13] & 7)
    }

    fn seq(&self) -> u32 {
        u32::from_be_bytes(
            self.bytes[IPV4 + 4..IPV4 + 8]
                .try_into()
                .expect("four bytes"),
        )
    }

    /// Changes a 32-bit number of the TCP header at offset `at`: 4 for the sequence number, 8 for the ACK number.
    fn change(&mut self, at: usize, change: impl Fn(u32) -> u32) {
        let place = IPV4 + at..IPV4 + at + 4;
        let number = u32::from_be_bytes(self.bytes[place.clone()].try_into().expect("four bytes"));
        self.bytes[place].copy_from_slice(&change(number).to_be_bytes());
    }

    /// Returns the kind and the position of each TCP option in the packet.
    fn options(&self) -> Vec<(u8, std::ops::Range<usize>)> {
        let end = IPV4 + usize::from(self.bytes[IPV4 + 12] >> 4) * 4;
        let mut at = IPV4 + 20;
        let mut found = Vec::new();
        while at < end {
            let length = match self.bytes[at] {
                0 => break,
                1 => 1,
                _ => usize::from(self.bytes[at + 1]),
            };
            found.push((self.bytes[at], at..at + length));
            at += length;
        }
        found
    }
}

/// Counts of the fates of the packets that one end sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    pub sent: u64,
    pub lost_data: u64,
    pub lost_acks: u64,
    /// Number of packets that arrived after packets that were sent later.
    pub reordered: u64,
    pub duplicated: u64,
    /// Number of retransmissions of bytes that were already in an earlier packet which reaches the other end.
    pub needless: u64,
}

/// The captures at both ends.
#[derive(Clone, Debug)]
pub struct Pair {
    pub sender: Vec<Frame>,
    pub receiver: Vec<Frame>,
}

impl Pair {
    /// Returns both captures of a simulated transfer.
    pub fn of(tape: &Tape) -> Self {
        let frames = |end| {
            let mut reader = CaptureReader::new(tape.capture(end)).expect("a capture");
            let mut frames = Vec::new();
            while let Some(captured) = reader.next_packet().expect("memory") {
                let from_sender = captured.tcp().expect("TCP").source.port() == 50_000;
                let bytes = captured.bytes.to_vec();
                frames.push(Frame {
                    at: captured.at.as_unix_nanos() as i64,
                    from: if from_sender {
                        End::Sender
                    } else {
                        End::Receiver
                    },
                    number: u16::from_be_bytes([bytes[4], bytes[5]]),
                    bytes,
                    length: captured.original_len,
                });
            }
            frames
        };
        Self {
            sender: frames(End::Sender),
            receiver: frames(End::Receiver),
        }
    }

    /// Returns the capture at an end.
    pub fn at(&self, end: End) -> &[Frame] {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    /// Determines the fates of the packets of an end from their numbers.
    pub fn fates(&self, from: End) -> Fates {
        let far = if from == End::Sender {
            End::Receiver
        } else {
            End::Sender
        };
        let of = |end| self.at(end).iter().filter(move |frame| frame.from == from);
        let mut places: BTreeMap<u16, usize> = BTreeMap::new();
        let mut fates = Fates::default();
        for (place, frame) in of(far).enumerate() {
            match places.get(&frame.number) {
                Some(_) => fates.duplicated += 1,
                None => {
                    places.insert(frame.number, place);
                }
            }
        }
        // Lowest position, in the order of arrival, of a packet that was sent after `frame`. The packets are visited in
        // reverse order of sending.
        let mut earliest = usize::MAX;
        let mut sent: Vec<&Frame> = of(from).collect();
        for frame in sent.iter().rev() {
            if let Some(&place) = places.get(&frame.number) {
                fates.reordered += u64::from(place > earliest);
                earliest = earliest.min(place);
            }
        }
        let mut came = BTreeSet::new();
        for frame in sent.drain(..) {
            fates.sent += 1;
            let arrived = places.contains_key(&frame.number);
            let has_data = frame.text().0 > 0;
            match (arrived, has_data) {
                (false, true) => fates.lost_data += 1,
                (false, false) => fates.lost_acks += 1,
                (true, _) => {}
            }
            fates.needless += u64::from(has_data && came.contains(&frame.seq()));
            if has_data && arrived {
                came.insert(frame.seq());
            }
        }
        fates
    }

    /// Sets the receiver's clock ahead by `ahead_s` seconds, and makes it fast by `ppm` parts per million.
    pub fn clock(&mut self, ahead_s: f64, ppm: f64) {
        let first = self.sender.first().map_or(0, |frame| frame.at);
        for frame in &mut self.receiver {
            let gained = (frame.at - first) as f64 * ppm * 1e-6;
            frame.at += (ahead_s * 1e9) as i64 + gained as i64;
        }
    }

    /// Moves the receiver's clock forward by `by_s` seconds once, in the middle of the transfer.
    pub fn set_clock(&mut self, by_s: f64) {
        let middle = self.receiver.len() / 2;
        for frame in self.receiver.iter_mut().skip(middle) {
            frame.at += (by_s * 1e9) as i64;
        }
    }

    /// Removes the first packets of the transfer from both captures.
    pub fn without_beginning(&mut self, packets: usize) {
        let from = self.sender[packets].at;
        let until = self.receiver.iter().position(|frame| frame.at >= from);
        self.sender.drain(..packets);
        self.receiver.drain(..until.unwrap_or(0));
    }

    /// Simulates segmentation offload at the sender: its capture shows up to ten segments that are sent at the same
    /// time as one packet. Returns the number of packets that disappear from the capture.
    pub fn offload(&mut self) -> usize {
        let before = self.sender.len();
        let mut merged: Vec<Frame> = Vec::new();
        for frame in self.sender.drain(..) {
            let size = frame.text().0 as u32;
            let joins = merged.last().is_some_and(|last: &Frame| {
                let length = last.text().0 as u32;
                let is_next = frame.seq() == last.seq().wrapping_add(length) && size > 0;
                let is_full =
                    length > 0 && length.is_multiple_of(size.max(1)) && length < 10 * size;
                let options = IPV4 + 20..;
                let is_alike = frame.bytes.get(options.clone()) == last.bytes.get(options);
                let is_at_once = frame.at - last.at < 50_000;
                frame.from == End::Sender
                    && last.from == End::Sender
                    && is_next
                    && is_full
                    && is_alike
                    && is_at_once
            });
            match merged.last_mut().filter(|_| joins) {
                Some(last) => {
                    last.length += size;
                    let total = (last.length as u16).to_be_bytes();
                    last.bytes[2..4].copy_from_slice(&total);
                }
                None => merged.push(frame),
            }
        }
        self.sender = merged;
        before - self.sender.len()
    }

    /// Puts a NAT in front of the sender. In the receiver's capture, the sender has a different address and port.
    pub fn nat(&mut self) {
        for frame in &mut self.receiver {
            let (address, port) = match frame.from {
                End::Sender => (12, IPV4),
                End::Receiver => (16, IPV4 + 2),
            };
            frame.bytes[address..address + 4].copy_from_slice(&[203, 0, 113, 9]);
            frame.bytes[port..port + 2].copy_from_slice(&6000_u16.to_be_bytes());
        }
    }

    /// Puts a middlebox on the path that adds `by` to the sender's sequence numbers and translates ACKs and SACK
    /// blocks.
    pub fn move_numbers(&mut self, by: u32) {
        for frame in &mut self.receiver {
            match frame.from {
                End::Sender => frame.change(4, |seq| seq.wrapping_add(by)),
                End::Receiver => {
                    frame.change(8, |ack| ack.wrapping_add(by));
                    for (kind, place) in frame.options() {
                        let blocks = place.skip(2).step_by(4);
                        for at in blocks.filter(|_| kind == 5) {
                            frame.change(at - IPV4, |edge| edge.wrapping_add(by));
                        }
                    }
                }
            }
        }
    }

    /// Adds `by` to the timestamps in the receiver's capture.
    pub fn move_timestamps(&mut self, by: u32) {
        for frame in &mut self.receiver {
            let stamps = frame.options().into_iter().find(|(kind, _)| *kind == 8);
            if let Some((_, place)) = stamps {
                for at in [place.start + 2, place.start + 6] {
                    frame.change(at - IPV4, |stamp| stamp.wrapping_add(by));
                }
            }
        }
    }

    /// Puts a middlebox on the path that lowers the MSS of the sender's SYN and removes its window scale.
    pub fn change_syn(&mut self, mss: u16) {
        let is_syn = |frame: &&mut Frame| frame.from == End::Sender && frame.text().1 == 2;
        for frame in self.receiver.iter_mut().filter(is_syn) {
            for (kind, place) in frame.options() {
                match kind {
                    2 => {
                        frame.bytes[place.start + 2..place.end].copy_from_slice(&mss.to_be_bytes())
                    }
                    3 => frame.bytes[place].fill(1),
                    _ => {}
                }
            }
        }
    }

    /// Removes the IPv4 identifications from both captures.
    pub fn without_identification(&mut self) {
        for frame in self.sender.iter_mut().chain(&mut self.receiver) {
            frame.bytes[4..6].fill(0);
        }
    }

    /// Makes the path duplicate every `one_in`-th packet of an end. The copy arrives 50 µs later.
    pub fn duplicate(&mut self, from: End, one_in: usize) {
        let frames = match from {
            End::Sender => &mut self.receiver,
            End::Receiver => &mut self.sender,
        };
        let copies = frames
            .iter()
            .filter(|frame| frame.from == from)
            .skip(5)
            .step_by(one_in);
        let copies: Vec<Frame> = copies
            .cloned()
            .map(|mut frame| {
                frame.at += 50_000;
                frame
            })
            .collect();
        frames.extend(copies);
        frames.sort_by_key(|frame| frame.at);
    }

    /// Removes every `one_in`-th data packet of `from` from the capture at `end`, and returns the number of removed
    /// packets.
    pub fn miss(&mut self, end: End, from: End, one_in: usize) -> u64 {
        let frames = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        let (mut seen, mut missed) = (0, 0);
        frames.retain(|frame| {
            let counts = frame.from == from && frame.text().0 > 0;
            seen += usize::from(counts);
            let is_missed = counts && seen % one_in == 0;
            missed += u64::from(is_missed);
            !is_missed
        });
        missed
    }

    /// Returns the capture at an end as a pcap file with times in nanoseconds.
    pub fn file(&self, end: End) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 101_u32] {
            file.extend(word.to_le_bytes());
        }
        for frame in self.at(end) {
            let at = frame.at as u64;
            let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
            let lengths = [frame.bytes.len() as u64, u64::from(frame.length)];
            for word in [seconds, nanos].into_iter().chain(lengths) {
                file.extend((word as u32).to_le_bytes());
            }
            file.extend(&frame.bytes);
        }
        file
    }
}
