//! Tests that compare the queue with a model, and tests of its limits.

use super::*;
use crate::random::Stream;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
    let mut order = Vec::new();
    while let Some((time, slot)) = queue.earliest() {
        order.push((time.as_nanos(), slot.0));
        queue.clear(slot);
    }
    order
}

#[test]
fn ties_are_broken_by_insertion_and_not_by_slot() {
    let mut queue = EventQueue::with(0, 3, 5);
    for (slot, time) in [(3, 70), (0, 70), (4, 70), (1, 50), (2, 90)] {
        let number = queue.number();
        queue.set(EventSlot(slot), at(time), number);
    }
    assert_eq!(
        drain(&mut queue),
        [(50, 1), (70, 3), (70, 0), (70, 4), (90, 2)]
    );
}

#[test]
fn an_entry_can_be_moved_both_ways() {
    let mut queue = EventQueue::with(0, 1, 2);
    let (first, second, third) = (queue.number(), queue.number(), queue.number());
    queue.set(EventSlot(0), at(100), first);
    queue.set(EventSlot(1), at(50), second);
    queue.set(EventSlot(1), at(150), third);
    assert_eq!(queue.pending(EventSlot(1)), Some(at(150)));
    assert_eq!(queue.earliest(), Some((at(100), EventSlot(0))));
    queue.set(EventSlot(1), at(10), third);
    assert_eq!(queue.earliest(), Some((at(10), EventSlot(1))));
}

/// The queue, and a list that is searched for its smallest entry and must agree with the queue.
struct Compared {
    queue: EventQueue,
    model: Vec<Option<(u64, u64)>>,
}

impl Compared {
    fn new(in_row: usize, on_wheel: usize, others: usize) -> Self {
        Self {
            queue: EventQueue::with(in_row, on_wheel, in_row + on_wheel + others),
            model: vec![None; in_row + on_wheel + others],
        }
    }

    fn set(&mut self, slot: usize, time: u64) {
        let number = self.queue.number();
        self.queue.set(EventSlot(slot as u32), at(time), number);
        self.model[slot] = Some((time, number.0));
    }

    fn clear(&mut self, slot: usize) {
        self.queue.clear(EventSlot(slot as u32));
        self.model[slot] = None;
    }

    fn check(&mut self) -> Option<(Instant, EventSlot)> {
        let slots = 0..self.model.len();
        let expected = slots
            .clone()
            .filter_map(|s| self.model[s].map(|key| (key, s)))
            .min()
            .map(|((time, _), s)| (at(time), EventSlot(s as u32)));
        assert_eq!(self.queue.earliest(), expected);
        for slot in slots {
            let due = self.model[slot].map(|(time, _)| at(time));
            assert_eq!(self.queue.pending(EventSlot(slot as u32)), due);
        }
        expected
    }
}

#[test]
fn the_queue_agrees_with_a_sorted_list() {
    // The times increase and decrease, and are often equal.
    let mut stream = Stream::derive(3, "event queue");
    // The wheel holds some of the slots, all of them, or none. The row holds all or some of them.
    let wheels = [(0, 37, 50), (0, 20, 50), (0, 0, 50), (0, 20, 100_000_000)];
    let rows = [(37, 0, 50), (20, 0, 50), (20, 0, 100_000_000)];
    for (in_row, on_wheel, span) in wheels.into_iter().chain(rows) {
        let mut compared = Compared::new(in_row, on_wheel, 37 - in_row - on_wheel);
        for _ in 0..20_000 {
            let slot = stream.below(37) as usize;
            if stream.below(4) == 0 {
                compared.clear(slot);
            } else {
                compared.set(slot, stream.below(span));
            }
            compared.check();
        }
    }
}

#[test]
fn the_queue_agrees_with_a_sorted_list_as_time_advances() {
    // This is the usage pattern of a run. The distance between events changes by powers of ten, so the wheel is
    // refitted, and late entries are in the tree for a while.
    let mut stream = Stream::derive(4, "event queue");
    let mut compared = Compared::new(0, 20, 10);
    let mut now = 0;
    for slot in 0..30 {
        compared.set(slot, stream.below(1000));
    }
    let mut refits = 0;
    for step in 0..60_000 {
        let width = compared.queue.near.width_ns();
        let (time, slot) = compared.check().expect("an entry is always pending");
        refits += u32::from(compared.queue.near.width_ns() != width);
        assert!(time.as_nanos() >= now);
        now = time.as_nanos();
        let reach = 10_u64.pow(2 + (step / 10_000) % 6);
        let late = if stream.below(10) == 0 { 100_000 } else { 1 };
        compared.set(slot.index(), now + stream.below(reach) * late);
        // Another entry is moved or removed.
        let other = stream.below(30) as usize;
        match stream.below(3) {
            0 if other != slot.index() => compared.clear(other),
            1 => compared.set(other, now + stream.below(reach)),
            _ => {}
        }
    }
    assert!(refits > 3, "{refits}");
}

#[test]
fn a_row_agrees_with_a_sorted_list_as_time_advances() {
    // This is the usage pattern of a run: the slot that is due moves on or becomes idle, and other slots are added.
    let mut stream = Stream::derive(5, "event queue");
    for links in [1, 2, 20, row::MAX_ENTRIES] {
        let mut compared = Compared::new(links, 0, 5);
        compared.set(0, 0);
        for step in 0..20_000 {
            let (time, first) = compared.check().expect("an entry is always pending");
            let number = compared.queue.number();
            let span = if step % 3000 < 1500 { 3 } else { 1000 };
            let due = time.as_nanos() + stream.below(span);
            let idle = (0..links).find(|&slot| compared.model[slot].is_none());
            let alone = compared.model.iter().flatten().count() == 1;
            match (first.index() < links, stream.below(3)) {
                (false, _) if alone => compared.set(first.index(), due),
                (false, _) => compared.clear(first.index()),
                (true, 0) if !alone => {
                    compared.queue.move_on(first, None);
                    compared.model[first.index()] = None;
                }
                (true, _) => {
                    compared.queue.move_on(first, Some((at(due), number)));
                    compared.model[first.index()] = Some((due, number.0));
                }
            }
            if let Some(slot) = idle
                && stream.below(3) > 0
            {
                let number = compared.queue.number();
                compared.queue.add(EventSlot(slot as u32), at(due), number);
                compared.model[slot] = Some((due, number.0));
            }
            if stream.below(10) == 0 {
                compared.set(links + stream.below(5) as usize, due);
            }
        }
    }
}

#[test]
fn any_number_of_slots_comes_out_in_order() {
    for (slots, in_row) in
        (1..=70).flat_map(|slots| [(slots, 0), (slots, slots.min(row::MAX_ENTRIES))])
    {
        let on_wheel = if in_row == 0 { slots / 2 } else { 0 };
        let mut queue = EventQueue::with(in_row, on_wheel, slots);
        for slot in 0..slots as u32 {
            let number = queue.number();
            queue.set(EventSlot(slot), at(u64::from(slot * 37 % 71)), number);
        }
        let order = drain(&mut queue);
        assert_eq!(order.len(), slots);
        assert!(order.is_sorted_by_key(|&(time, _)| time), "{slots} slots");
    }
}

#[test]
fn a_queue_of_one_slot_works() {
    let mut queue = EventQueue::with(1, 0, 1);
    let number = queue.number();
    assert_eq!(queue.earliest(), None);
    queue.set(EventSlot(0), at(1), number);
    assert_eq!(drain(&mut queue), [(1, 0)]);
}
