//! Every packet: sent and why, dropped and why, arrived; every ACK with its blocks.

use std::sync::Arc;

use arrow_array::builder::UInt64Builder;
use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use dupack_lab::trace::rows::{PacketEvent, PacketRow, Why};
use dupack_lab::trace::{Event, Fate, Flow};

use crate::field::{field, optional, words};
use crate::sweep::batch;
use crate::words::Met;

/// Makes the table `packets`: a row per event of a packet of one flow.
#[derive(Debug)]
pub struct Packets {
    flow: Flow,
    schema: SchemaRef,
    times: Vec<f64>,
    events: Met<PacketEvent>,
    packets: Vec<f64>,
    transmissions: UInt64Builder,
    why: Met<Why>,
    fates: Met<Fate>,
    blocks: Blocks,
}

impl Packets {
    /// A table of packets of `flow`.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        Self {
            flow: *flow,
            schema: schema(),
            times: Vec::new(),
            events: Met::default(),
            packets: Vec::new(),
            transmissions: UInt64Builder::new(),
            why: Met::default(),
            fates: Met::default(),
            blocks: Blocks::default(),
        }
    }

    /// The schema of all its batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Adds `event`, if it is a packet's.
    pub fn event(&mut self, event: &Event) {
        let Some(row) = PacketRow::of(event, &self.flow) else {
            return;
        };
        self.times.push(row.at.as_secs_f64());
        self.events.push(Some(row.event));
        self.packets.push(row.packet);
        self.transmissions.append_option(row.transmission);
        self.why.push(row.why);
        self.fates.push(row.fate);
        self.blocks.push(row.sack_blocks());
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows so far as a batch; the table is empty after that.
    #[must_use]
    pub fn take(&mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Float64Array::from(std::mem::take(&mut self.times))),
            self.events.take(),
            Arc::new(Float64Array::from(std::mem::take(&mut self.packets))),
            Arc::new(self.transmissions.finish()),
            self.why.take(),
            self.fates.take(),
            std::mem::take(&mut self.blocks).column(),
        ];
        batch(self.schema.clone(), columns)
    }
}

fn schema() -> SchemaRef {
    let packet = "Of a data segment, its offset in segments. Of an ACK, the first segment that it asks for, which is \
        no whole number within a segment. Of an ACK that was dropped, its place in the order of sending, from 0.";
    let transmission = "Of a data segment, its place in the order of transmissions, from 1.";
    let blocks = "What an ACK selectively acknowledges: the first segment of each block, and the first after it.";
    let list = DataType::List(Arc::new(block_field()));
    Arc::new(Schema::new(vec![
        field("time_s", DataType::Float64, "s", "When it happened."),
        field("event", words(), "", "What happened."),
        field("packet", DataType::Float64, "segments", packet),
        optional("transmission", DataType::UInt64, "", transmission),
        optional("why", words(), "", "Why it was sent, or dropped."),
        optional("fate", words(), "", "What became of a segment sent."),
        field("sack_blocks", list, "segments", blocks),
    ]))
}

/// Lists of blocks, a list per row.
#[derive(Debug)]
struct Blocks {
    starts: Vec<f64>,
    ends: Vec<f64>,
    /// Where each list begins, and the last ends.
    offsets: Vec<i32>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            ends: Vec::new(),
            offsets: vec![0],
        }
    }
}

impl Blocks {
    fn push(&mut self, blocks: impl Iterator<Item = (f64, f64)>) {
        for (start, end) in blocks {
            self.starts.push(start);
            self.ends.push(end);
        }
        self.offsets.push(self.starts.len() as i32);
    }

    fn column(self) -> ArrayRef {
        let ends: [ArrayRef; 2] = [
            Arc::new(Float64Array::from(self.starts)),
            Arc::new(Float64Array::from(self.ends)),
        ];
        let blocks = StructArray::new(ends_fields(), ends.to_vec(), None);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Arc::new(ListArray::new(
            Arc::new(block_field()),
            offsets,
            Arc::new(blocks),
            None,
        ))
    }
}

fn ends_fields() -> Fields {
    let end = |name| Field::new(name, DataType::Float64, false);
    Fields::from(vec![end("start"), end("end")])
}

fn block_field() -> Field {
    Field::new("item", DataType::Struct(ends_fields()), false)
}
