//! Lists that grow by a quarter, up to a maximum. A capture has thousands of streams, and a list whose capacity doubles
//! takes up to twice the memory that it needs.

/// Minimum growth, in items.
const LEAST: usize = 16;

/// Increases the capacity to at least `count` items. If the capacity must grow, it grows by at least a quarter. It does
/// not exceed `most` unless `count` does.
pub(crate) fn make_room<T>(list: &mut Vec<T>, count: usize, most: usize) {
    if count > list.capacity() {
        let quarter = (list.len() / 4).max(LEAST);
        let wanted = list.len().saturating_add(quarter).min(most).max(count);
        list.reserve_exact(wanted.saturating_sub(list.len()));
    }
}

/// Appends an item to a list of at most `most` items.
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
        // The capacity exceeds the maximum if more items are requested.
        make_room(&mut list, 50_000, 10_000);
        assert_eq!(list.capacity(), 50_000);
    }
}
