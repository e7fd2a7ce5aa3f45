//! Lists that grow by half. A capture has thousands of streams, and a list that doubles holds up to twice what it needs.

/// Room is made for so many at least.
const LEAST: usize = 16;

/// Makes room for `count` in all, and for half as many more as there are now, if there is none.
pub(crate) fn make_room<T>(list: &mut Vec<T>, count: usize) {
    if count > list.capacity() {
        let half = (list.len() / 2).max(LEAST);
        let more = count.saturating_sub(list.len()).max(half);
        list.reserve_exact(more);
    }
}

/// Appends an item.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    make_room(list, list.len() + 1);
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_no_more_than_half_too_much() {
        let mut list = Vec::new();
        for n in 0..10_000_u32 {
            push(&mut list, n);
            assert!(list.capacity() <= (list.len() * 3 / 2).max(list.len() + LEAST));
        }
        assert!(list.iter().copied().eq(0..10_000));
        make_room(&mut list, 50_000);
        assert_eq!(list.capacity(), 50_000);
    }
}
