//! A set of rows, one bit each.

use crate::format::Layout;

/// A set of row numbers below a fixed bound; bit `r % 64` of word `r / 64` stands for row `r`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    rows: u32,
    count: u32,
}

impl Bitmap {
    /// The empty set over `rows` rows.
    pub fn none(rows: u32) -> Self {
        Self { words: vec![0; (rows as usize).div_ceil(64)], rows, count: 0 }
    }

    /// The full set over `rows` rows.
    pub fn all(rows: u32) -> Self {
        let mut words = vec![u64::MAX; (rows as usize).div_ceil(64)];
        if let (Some(last), over @ 1..) = (words.last_mut(), rows % 64) {
            *last = (1 << over) - 1;
        }
        Self { words, rows, count: rows }
    }

    /// The set of those of `members` that lie below `rows`.
    pub fn of(rows: u32, members: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Self::none(rows);
        for row in members {
            set.insert(row);
        }
        set
    }

    /// Adds `row`; rows out of bounds are ignored.
    pub fn insert(&mut self, row: u32) {
        if row < self.rows && !self.contains(row) {
            self.words[row as usize / 64] |= 1 << (row % 64);
            self.count += 1;
        }
    }

    /// Whether `row` is a member.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// The members that are also members of `other`.
    pub fn and(&self, other: &Self) -> Self {
        let words: Vec<u64> = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        let count = words.iter().map(|word| word.count_ones()).sum();
        Self { words, rows: self.rows.min(other.rows), count }
    }

    /// Its members that lie in `layer`, by their numbers there: a set over the rows the layer stores.
    pub fn of_layer(&self, layout: &Layout, layer: usize) -> Self {
        let mut own = Self::none(layout.stored(layer));
        for run in layout.runs_of(layer) {
            own.copy(self, run.first, run.start, run.len);
        }
        own.count = own.words.iter().map(|word| word.count_ones()).sum();
        own
    }

    /// Takes `len` bits of `other` from `from` to `to`, 64 at a time; leaves the count as it is.
    fn copy(&mut self, other: &Self, from: u32, to: u32, len: u32) {
        let mut done = 0;
        while done < len {
            let (source, target) = (from + done, to + done);
            // Up to the end of the target's word.
            let bits = (64 - target % 64).min(len - done);
            let word = other.words.get(source as usize / 64).copied().unwrap_or(0);
            let mut taken = word >> (source % 64);
            if source % 64 + bits > 64 {
                let next = other.words.get(source as usize / 64 + 1).copied().unwrap_or(0);
                taken |= next << (64 - source % 64);
            }
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            if let Some(word) = self.words.get_mut(target as usize / 64) {
                *word |= (taken & mask) << (target % 64);
            }
            done += bits;
        }
    }

    /// How many members there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The bound that all members lie below.
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Whether every row is a member.
    pub const fn is_all(&self) -> bool {
        self.count == self.rows
    }

    /// The words, for loops that read 64 rows at a time.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The rows that are no members, ascending.
    pub fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(at, &word)| {
                let mut left = !word;
                std::iter::from_fn(move || {
                    (left != 0).then(|| {
                        let bit = left.trailing_zeros();
                        left &= left - 1;
                        at as u32 * 64 + bit
                    })
                })
            })
            .take_while(|row| *row < self.rows)
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    at as u32 * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_of_a_layer_are_those_that_its_rows_are_called_by() {
        let mut stored = vec![0, 0];
        let mut runs = Vec::new();
        // Runs of many lengths and both layers, with gaps, so that words are cut everywhere.
        for at in 0..60_u32 {
            let (layer, len) = (usize::from(at % 3 == 0), at * 7 % 150);
            runs.push((layer, stored[layer] + at % 5, len));
            stored[layer] += at % 5 + len;
        }
        let layout = Layout::new(stored, runs);
        let set = Bitmap::of(layout.len(), (0..layout.len()).filter(|row| row * 7 % 11 < 5));
        for layer in 0..2 {
            let own = set.of_layer(&layout, layer);
            let expected = set.iter().filter_map(|row| layout.locate(row));
            let expected = expected.filter(|(l, _)| *l == layer).map(|(_, row)| row);
            assert_eq!(own, Bitmap::of(layout.stored(layer), expected));
        }
    }

    #[test]
    fn counts_and_members_agree() {
        for rows in [0, 1, 63, 64, 65, 200] {
            assert_eq!(Bitmap::all(rows).iter().count() as u32, rows);
            assert!(Bitmap::all(rows).is_all());
            let odd = Bitmap::of(rows, (0..300).filter(|row| row % 2 == 1));
            assert_eq!(odd.count(), rows / 2);
            assert_eq!(odd.iter().count() as u32, odd.count());
            assert_eq!(odd.and(&Bitmap::all(rows)), odd);
            assert!(!odd.contains(rows + 1));
        }
    }
}
