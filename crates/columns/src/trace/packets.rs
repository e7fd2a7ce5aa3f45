//! The table of packets: segments that were sent, dropped or delivered, with causes, and ACKs with their SACK blocks.

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

/// Builder of the table `packets`: a row per packet event of one flow.
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
    /// Creates an empty table for the packets of `flow`.
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

    /// Returns the schema of every batch of the table.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Adds a row if `event` is about a packet.
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

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns `true` if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows as a batch and empties the table.
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
    let packet = "For a data segment, its offset in segments. For an ACK, the first segment that it asks for; not a \
        whole number within a segment. For a dropped ACK, its index in sending order, from 0.";
    let transmission = "For a data segment, its index in the order of transmissions, from 1.";
    let blocks =
        "SACK blocks of an ACK: the first segment of each block, and the first segment after it.";
    let list = DataType::List(Arc::new(block_field()));
    Arc::new(Schema::new(vec![
        field("time_s", DataType::Float64, "s", "Time of the event."),
        field("event", words(), "", "Kind of event."),
        field("packet", DataType::Float64, "segments", packet),
        optional("transmission", DataType::UInt64, "", transmission),
        optional("why", words(), "", "Why the packet was sent or dropped."),
        optional("fate", words(), "", "Fate of a sent segment."),
        field("sack_blocks", list, "segments", blocks),
    ]))
}

/// Lists of SACK blocks, one list per row.
#[derive(Debug)]
struct Blocks {
    starts: Vec<f64>,
    ends: Vec<f64>,
    /// Start of each list, and the end of the last list.
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
