//! How two texts differ, by lines.

/// Lines shown on either side of a difference.
const AROUND: usize = 3;

/// The lines of both texts, `-` before those of the first alone, `+` before those of the second;
/// runs of common lines are shortened.
pub fn difference(before: &str, after: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // common[i][j]: lines in the longest common run of picks from a[i..] and b[j..].
    let mut common = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut marked = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            marked.push((' ', a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            marked.push(('-', a[i]));
            i += 1;
        } else {
            marked.push(('+', b[j]));
            j += 1;
        }
    }
    shortened(&marked)
}

fn shortened(marked: &[(char, &str)]) -> String {
    let near = |at: usize| {
        let around = at.saturating_sub(AROUND)..marked.len().min(at + AROUND + 1);
        marked[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut out = String::new();
    let mut left_out = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if near(at) {
            out.push_str(&format!("{mark} {line}\n"));
        } else if !left_out {
            out.push_str("  ...\n");
        }
        left_out = !near(at);
    }
    out
}

#[test]
fn a_changed_line_stands_between_its_neighbours() {
    let before = "a\nb\nc\nd\ne\nold\nf\n";
    let after = "a\nb\nc\nd\ne\nnew\nf\ng\n";
    assert_eq!(difference(before, after), "  ...\n  c\n  d\n  e\n- old\n+ new\n  f\n+ g\n");
}
