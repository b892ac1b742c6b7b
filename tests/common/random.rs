//! Numbers from a seed, the same everywhere.
#![allow(dead_code, reason = "each test file is a crate of its own and uses its part of this")]

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// Seeds beside each other give streams that have nothing in common.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0xa076_1d64_78bd_642f);
        Self(random.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn from(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most + 1 - least)
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Each of `list` with the chance `percent`.
    pub fn some(&mut self, list: &[&str], percent: usize) -> Vec<String> {
        let chosen: Vec<&str> = list.iter().copied().filter(|_| self.chance(percent)).collect();
        chosen.into_iter().map(str::to_owned).collect()
    }

    /// `least..=most` of `list`, one after the other, with repetitions.
    pub fn words(&mut self, list: &[&str], least: usize, most: usize) -> String {
        let count = self.from(least, most);
        (0..count).map(|_| self.pick(list)).collect::<Vec<_>>().join(" ")
    }
}
