//! A set of rows, one bit each.

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
