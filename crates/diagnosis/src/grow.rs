//! Lists that grow by a quarter, up to a bound. A capture has thousands of streams, and a list that doubles takes up to
//! twice the memory that it needs.

/// Minimum growth in items.
const LEAST: usize = 16;

/// Makes space for at least `count` items, growing by at least a quarter if there is no space. The capacity stays below
/// `most` unless `count` is larger.
pub(crate) fn make_room<T>(list: &mut Vec<T>, count: usize, most: usize) {
    if count > list.capacity() {
        let quarter = (list.len() / 4).max(LEAST);
        let wanted = list.len().saturating_add(quarter).min(most).max(count);
        list.reserve_exact(wanted.saturating_sub(list.len()));
    }
}

/// Appends an item to a list that holds at most `most`.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    make_room(list, list.len() + 1, most);
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_wastes_at_most_a_quarter_and_respects_its_bound() {
        let mut list = Vec::new();
        for n in 0..10_000_u32 {
            push(&mut list, n, 10_000);
            assert!(list.capacity() <= (list.len() * 5 / 4).max(list.len() + LEAST));
            assert!(list.capacity() <= 10_000);
        }
        assert!(list.iter().copied().eq(0..10_000));
        // More items than the bound still find room.
        make_room(&mut list, 50_000, 10_000);
        assert_eq!(list.capacity(), 50_000);
    }
}
