//! Options at the end of a block: code, length, value, padding.

use super::super::Order;

/// Code that ends a list of options.
const END: u16 = 0;

/// Options of a block, in order. A damaged list ends where the damage begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub(super) const fn new(order: Order, bytes: &'a [u8]) -> Self {
        Self { order, rest: bytes }
    }

    pub(super) const fn order(&self) -> Order {
        self.order
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[a, b, c, d], rest) = self.rest.split_first_chunk()?;
        let (code, len) = (self.order.u16([a, b]), self.order.u16([c, d]));
        let len = usize::from(len);
        let value = rest.get(..len)?;
        // The last option may have no padding.
        self.rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        (code != END).then_some((code, value))
    }
}
